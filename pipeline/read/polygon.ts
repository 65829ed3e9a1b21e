import { bbox as boxOf } from '@turf/bbox';
import { kinks } from '@turf/kinks';
import { rewind } from '@turf/rewind';
import type { Bbox } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { findConflicts } from '../../schemas/geo/validity.ts';
import { polygonToWkt } from '../../schemas/geo/wkt.ts';
import { quoted } from './rejected-item.ts';

/** Warnings have up to 20 positions by rule, discussions 35 in practice; the search for crossings costs their square. */
const MAX_POSITIONS = 200;

/** Discussions reach over a third of the country; the whole of it spans 58 degrees. A polygon across the date line spans 359. */
const MAX_SPAN_DEG = 60;

/** A valid polygon as the tables store it. */
export interface CheckedPolygon {
  /** WKT, shell counter-clockwise. */
  readonly geometry: string;
  readonly bbox: Bbox;
  /** Positions of the ring, the closing one included. */
  readonly positions: number;
}

/**
 * A polygon of one ring, checked and wound counter-clockwise, or the reason why it is invalid: not closed, fewer than three
 * different positions, positions that are no numbers or off the globe, edges that cross, touch or lie on each other, or a shape that
 * no warning has: larger than the country, or across the date line.
 * `rings` is the unchecked value of `coordinates`.
 */
export function checkPolygon(rings: unknown): CheckedPolygon | string {
  const ring = checkedRing(rings);
  if (typeof ring === 'string') return ring;
  const polygon = { type: 'Polygon' as const, coordinates: [ring] };
  const [kink] = kinks(polygon).features;
  if (kink !== undefined) {
    const [lon = 0, lat = 0] = kink.geometry.coordinates;
    return `edges cross or touch at ${lon.toFixed(2)} ${lat.toFixed(2)}, expected a simple polygon`;
  }
  const { coordinates } = rewind(polygon) as typeof polygon;
  // Kinks does not find edges that lie on each other, and with them rings without area.
  const [conflict] = findConflicts([coordinates]);
  if (conflict !== undefined) return conflict.reason;
  const [west, south, east, north] = boxOf(polygon);
  const span_deg = Math.max(east - west, north - south);
  if (span_deg > MAX_SPAN_DEG)
    return `spans ${Math.round(span_deg)} degrees, expected at most ${MAX_SPAN_DEG}: it crosses 180 degrees of longitude or is too large`;
  const bbox: Bbox = [west, south, east, north];
  return { geometry: polygonToWkt(coordinates), bbox, positions: ring.length };
}

function checkedRing(rings: unknown): Ring | string {
  if (!Array.isArray(rings) || !Array.isArray(rings[0])) return `coordinates are ${quoted(rings)}, expected one ring`;
  if (rings.length !== 1) return `${rings.length} rings, expected one`;
  const positions = rings[0] as unknown[];
  if (positions.length > MAX_POSITIONS) return `${positions.length} positions, expected at most ${MAX_POSITIONS}`;
  const ring = positionsOf(positions);
  if (typeof ring === 'string') return ring;
  if (String(ring[0]) !== String(ring.at(-1)) || positions.length < 2)
    return `ring is not closed, expected the first position ${quoted(positions[0])} at its end`;
  if (ring.length < 4) return `${ring.length - 1} different positions, expected 3 or more`;
  return ring;
}

/** Longitudes and latitudes without repeats, or the reason why one of them is none. */
export function positionsOf(ring: readonly unknown[]): Ring | string {
  const wrong = ring.find((position) => !isPosition(position));
  if (wrong !== undefined) return `position ${quoted(wrong)}, expected longitude and latitude`;
  return withoutRepeats((ring as Ring).map(([lon, lat]) => [lon, lat]));
}

/** True for a pair of numbers on the globe. */
function isPosition(value: unknown): value is readonly [number, number] {
  if (!Array.isArray(value) || value.length < 2) return false;
  const [lon, lat] = value as unknown[];
  return typeof lon === 'number' && typeof lat === 'number' && Math.abs(lon) <= 180 && Math.abs(lat) <= 90;
}

/** A ring without positions that repeat the one before. */
function withoutRepeats(ring: Ring): Ring {
  return ring.filter((position, i) => i === 0 || String(position) !== String(ring[i - 1]));
}

/** A ring with its first position at its end. */
export function closed(ring: Ring): Ring {
  const [first] = ring;
  return first === undefined || String(first) === String(ring.at(-1)) ? ring : [...ring, first];
}

/** Geometry and box of a polygon as the tables store them; all null without one. */
export function shapeOf(polygon: CheckedPolygon | null) {
  const [west = null, south = null, east = null, north = null] = polygon?.bbox ?? [];
  return { geometry: polygon?.geometry ?? null, west, south, east, north };
}
