/**
 * A subscription may be watched twice: for its own threshold, and for any hail, which some event formats report as well. The second
 * watch has a location id of its own, so that each of the two has one open alert at most.
 */
const SUFFIX = ':any';

/** Location id of the any-hail watch of a subscription. */
export function anyHailOf(subscription_id: string): string {
  return `${subscription_id}${SUFFIX}`;
}

export function isAnyHail(location_id: string): boolean {
  return location_id.endsWith(SUFFIX);
}

/** Id of the subscription or area of a location. */
export function ownerOf(location_id: string): string {
  return isAnyHail(location_id) ? location_id.slice(0, -SUFFIX.length) : location_id;
}
