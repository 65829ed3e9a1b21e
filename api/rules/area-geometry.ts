import { geohash } from '../../schemas/geo/geohash.ts';
import { geodesicAreaKm2, ringCentroid } from '../../schemas/geo/hull.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { ANSWERED_POSITIONS_MAX, SUBMITTED_POSITIONS_MAX } from '../../schemas/resources/area.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { shown } from '../http/decode.ts';
import { ApiError } from '../http/errors.ts';
import { boxOf } from './areas.ts';
import { counterClockwise, fromMicroRing, isFlat, toMicroRing } from './geo/micro-ring.ts';
import { selfContact } from './geo/self-contact.ts';
import { thinRing } from './geo/thin-ring.ts';
import { conusFault } from './region.ts';
import { rounded } from './rounded.ts';

/** What a point takes of the quota of square miles. */
const POINT_AREA_SQ_MI = 1;

const SQ_KM_PER_SQ_MI = (METRES_PER_MILE / 1000) ** 2;

export interface AreaShape {
  /** Outer ring of a polygon as answers show it: six decimals, counter-clockwise, at most 499 positions; null for a point. */
  readonly ring: Ring | null;
  /** The ring as it was submitted, for matching: six decimals, counter-clockwise; null where `ring` has all its vertices, and for a point. */
  readonly submitted: Ring | null;
  readonly point: Position | null;
  readonly bbox: Bbox;
  readonly centroid_geohash4: string;
  /** Geodesic, of the ring as it was submitted; for a point the nominal square mile. */
  readonly area_sq_mi: number;
}

/** Shape of a point area; throws ApiError bad_request outside CONUS. */
export function pointShape(point: Position): AreaShape {
  const outside = conusFault(point.lat, point.lon);
  if (outside !== null) throw new ApiError('bad_request', `/point: ${outside}`);
  const [lon, lat] = [rounded(point.lon, 5), rounded(point.lat, 5)];
  return {
    ring: null,
    submitted: null,
    point,
    bbox: [lon, lat, lon, lat],
    centroid_geohash4: geohash(point.lat, point.lon, 4),
    area_sq_mi: POINT_AREA_SQ_MI,
  };
}

/**
 * The outer ring of a GeoJSON Polygon as it was submitted, elevations left out. Cheap: looks at the form, at the number of
 * positions and at each of them alone; throws ApiError bad_request. `polygonShape` checks whether the ring bounds an area.
 */
export function submittedRing(geometry: unknown): Ring {
  const fault = (pointer: string, reason: string) => new ApiError('bad_request', `/geometry${pointer}: ${reason}`);
  if (typeof geometry !== 'object' || geometry === null || Array.isArray(geometry))
    throw fault('', 'is no object, expected a GeoJSON Polygon');
  const { type, coordinates }: { type?: unknown; coordinates?: unknown } = geometry;
  if (type !== 'Polygon') throw fault('/type', `is ${wordFor(type)}, expected Polygon`);
  if (!Array.isArray(coordinates)) throw fault('/coordinates', 'is no list, expected a list with one ring');
  if (coordinates.length > 1)
    throw fault('/coordinates', `has ${coordinates.length} rings, expected the outer ring only, without holes`);
  const [positions]: unknown[] = coordinates;
  if (!Array.isArray(positions)) throw fault('/coordinates', 'has no ring, expected the outer ring');
  if (positions.length < 4)
    throw fault('/coordinates/0', `has ${positions.length} positions, expected 4 or more, the last like the first`);
  if (positions.length > SUBMITTED_POSITIONS_MAX)
    throw fault('/coordinates/0', `has ${positions.length} positions, expected at most ${SUBMITTED_POSITIONS_MAX}`);
  const ring: Ring = [];
  for (const [index, position] of positions.entries()) {
    if (!isPosition(position)) throw fault(`/coordinates/0/${index}`, 'is no position, expected [longitude, latitude]');
    const [lon, lat] = position;
    const outside = conusFault(lat, lon);
    if (outside !== null) throw fault(`/coordinates/0/${index}`, outside);
    ring.push([lon, lat]);
  }
  return ring;
}

/**
 * Shape of a polygon area from its submitted ring, or the reason why the ring bounds no area. The ring is rounded to six decimals,
 * loses positions that repeat the one before, and becomes counter-clockwise. Takes some tenths of a second for
 * twenty thousand positions.
 */
export function polygonShape(submitted: Ring): AreaShape | string {
  const [first, last] = [submitted[0], submitted.at(-1)] as [number[], number[]];
  const ends = toMicroRing([first, last]);
  if (ends.x.length > 1) return `is not closed: begins at ${first.join(' ')} and ends at ${last.join(' ')}`;
  const ring = toMicroRing(submitted);
  if (ring.x.length < 3) return `has ${ring.x.length} different positions, expected 3 or more`;
  if (isFlat(ring)) return 'has no area, all its positions lie on a line';
  const contact = selfContact(ring);
  if (contact !== null) return contact;
  const whole = counterClockwise(ring);
  const thinned = thinRing(whole, ANSWERED_POSITIONS_MAX - 1);
  const exact = fromMicroRing(whole);
  const centroid = ringCentroid(exact);
  return {
    ring: thinned === whole ? exact : fromMicroRing(thinned),
    submitted: thinned === whole ? null : exact,
    point: null,
    bbox: boxOf([[exact]]),
    centroid_geohash4: geohash(centroid.lat, centroid.lon, 4),
    area_sq_mi: geodesicAreaKm2(submitted) / SQ_KM_PER_SQ_MI,
  };
}

function isPosition(value: unknown): value is [number, number] {
  return Array.isArray(value) && (value.length === 2 || value.length === 3) && value.every(Number.isFinite);
}

function wordFor(type: unknown): string {
  if (type === undefined) return 'missing';
  return typeof type === 'string' ? `'${shown(type)}'` : 'no text';
}
