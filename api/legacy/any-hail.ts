/**
 * In the earlier variant a subscription is told of any hail in its circle beside that of its threshold: a second watch of the
 * same circle, whose alerts have a location of their own, so that each of the two has its one open alert.
 */
const SUFFIX = ':any';

/** The location of the watch for any hail of a subscription. */
export function anyHailOf(subscription_id: string): string {
  return `${subscription_id}${SUFFIX}`;
}

/** True for the location of a watch for any hail. */
export function isAnyHail(location_id: string): boolean {
  return location_id.endsWith(SUFFIX);
}

/** The subscription or area that a location belongs to. */
export function ownerOf(location_id: string): string {
  return isAnyHail(location_id) ? location_id.slice(0, -SUFFIX.length) : location_id;
}
