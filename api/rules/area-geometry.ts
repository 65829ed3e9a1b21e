import { geohash } from '../../schemas/geo/geohash.ts';
import { geodesicAreaKm2, ringCentroid } from '../../schemas/geo/hull.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { ANSWERED_POSITIONS_MAX, SUBMITTED_POSITIONS_MAX } from '../../schemas/resources/area.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { shown } from '../http/decode.ts';
import { boxOf } from './areas.ts';
import { conusFault } from './conus-fault.ts';
import { counterClockwise, fromMicroRing, isFlat, toMicroRing } from './geo/micro-ring.ts';
import { selfContact } from './geo/self-contact.ts';
import { thinRing } from './geo/thin-ring.ts';
import { rounded } from './rounded.ts';

/** What a point takes of the quota of square miles. */
const POINT_AREA_SQ_MI = 1;

const SQ_KM_PER_SQ_MI = (METRES_PER_MILE / 1000) ** 2;

/** Why a geometry is not valid for an area: a JSON pointer into the geometry, empty for the whole, and the reason. */
export interface GeometryFault {
  readonly pointer: string;
  readonly reason: string;
}

/** Geometry of an area. */
export interface AreaShape {
  /** Outer ring of a polygon as answers show it: six decimals, counter-clockwise, at most 499 positions; null for a point. */
  readonly ring: Ring | null;
  /** The ring as it was submitted, for matching: six decimals, counter-clockwise; null where `ring` has all its vertices, and for a point. */
  readonly submitted: Ring | null;
  /** The point of a point area. */
  readonly point: Position | null;
  readonly bbox: Bbox;
  readonly centroid_geohash4: string;
  /** Geodesic, of the ring as it was submitted; for a point the nominal square mile. */
  readonly area_sq_mi: number;
}

/** True for a fault, false for a result. */
export function isFault<Value extends object>(found: Value | GeometryFault): found is GeometryFault {
  return 'reason' in found;
}

/** Shape of a point area. */
export function pointShape(point: Position): AreaShape | GeometryFault {
  const outside = conusFault(point.lat, point.lon);
  if (outside !== null) return { pointer: '', reason: outside };
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
 * positions and at each of them alone. `polygonShape` checks whether the ring bounds an area.
 */
export function submittedRing(geometry: unknown): Ring | GeometryFault {
  const fault = (pointer: string, reason: string): GeometryFault => ({ pointer, reason });
  if (typeof geometry !== 'object' || geometry === null || Array.isArray(geometry))
    return fault('', 'is no object, expected a GeoJSON Polygon');
  const { type, coordinates }: { type?: unknown; coordinates?: unknown } = geometry;
  if (type !== 'Polygon') return fault('/type', `is ${wordFor(type)}, expected Polygon`);
  if (!Array.isArray(coordinates)) return fault('/coordinates', 'is no list, expected a list with one ring');
  if (coordinates.length > 1)
    return fault('/coordinates', `has ${coordinates.length} rings, expected the outer ring only, without holes`);
  const [positions]: unknown[] = coordinates;
  if (!Array.isArray(positions)) return fault('/coordinates', 'has no ring, expected the outer ring');
  if (positions.length < 4)
    return fault('/coordinates/0', `has ${positions.length} positions, expected 4 or more, the last like the first`);
  if (positions.length > SUBMITTED_POSITIONS_MAX)
    return fault('/coordinates/0', `has ${positions.length} positions, expected at most ${SUBMITTED_POSITIONS_MAX}`);
  const ring: Ring = [];
  for (const [index, position] of positions.entries()) {
    if (!isPosition(position))
      return fault(`/coordinates/0/${index}`, 'is no position, expected [longitude, latitude]');
    const [lon, lat] = position;
    const outside = conusFault(lat, lon);
    if (outside !== null) return fault(`/coordinates/0/${index}`, outside);
    ring.push([lon, lat]);
  }
  return ring;
}

/**
 * Shape of a polygon area from its submitted ring, or the reason why the ring bounds no area. The ring is rounded to six decimals,
 * loses positions that repeat the one before, and becomes counter-clockwise. Takes some tenths of a second for
 * twenty thousand positions.
 */
export function polygonShape(submitted: Ring): AreaShape | GeometryFault {
  const fault = (reason: string): GeometryFault => ({ pointer: '/coordinates/0', reason });
  const [first, last] = [submitted[0], submitted.at(-1)] as [number[], number[]];
  const ends = toMicroRing([first, last]);
  if (ends.x.length > 1) return fault(`is not closed: begins at ${first.join(' ')} and ends at ${last.join(' ')}`);
  const ring = toMicroRing(submitted);
  if (ring.x.length < 3) return fault(`has ${ring.x.length} different positions, expected 3 or more`);
  if (isFlat(ring)) return fault('has no area, all its positions lie on a line');
  const contact = selfContact(ring);
  if (contact !== null) return fault(contact);
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
  return (
    Array.isArray(value) &&
    (value.length === 2 || value.length === 3) &&
    value.every((part) => typeof part === 'number' && Number.isFinite(part))
  );
}

function wordFor(type: unknown): string {
  if (type === undefined) return 'missing';
  return typeof type === 'string' ? `'${shown(type)}'` : 'no text';
}
