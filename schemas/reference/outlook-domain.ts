import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import ring from '../../data/reference/outlook-domain.json' with { type: 'json' };
import type { Position } from '../geo/position.ts';
import type { Ring } from '../geo/rings.ts';

/**
 * Border of the area that convective outlooks are made for: the 48 states, 11 to 30 km beyond their outline, with bays and
 * lakes filled. One closed ring, clockwise, so that the area lies to the right. Lines of an outlook that do not close end at it.
 */
export const OUTLOOK_DOMAIN: Ring = ring;

const DOMAIN = { type: 'Polygon' as const, coordinates: [OUTLOOK_DOMAIN] };

/** True for a place that convective outlooks cover. Elsewhere the absence of an area has no meaning. */
export function isInOutlookDomain({ lat, lon }: Position): boolean {
  return booleanPointInPolygon([lon, lat], DOMAIN);
}
