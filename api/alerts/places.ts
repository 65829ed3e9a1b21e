import Flatbush from 'flatbush';
import { boxAround } from '../../schemas/geo/around.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { forEachInChunks } from '../event-loop.ts';
import type { WatchedPlace } from './watched.ts';

/** Half a pixel of the lattice, degrees: a polygon smaller than a pixel is hit by the pixel over it. */
export const HALF_PIXEL_DEG = LATTICE.step / 2;

/** Subscriptions and areas by where they lie; made anew when one of them changes. Item k of everything is place k. */
export interface PlaceIndex {
  readonly places: readonly WatchedPlace[];
  /** Position of a place in `places`, by its id. */
  readonly at: ReadonlyMap<string, number>;
  readonly tree: Flatbush | null;
  /** Smallest size that each asks for, mm: read once for every box of a scan, so kept beside the places. */
  readonly min_size_mm: Float64Array;
}

const PLACES_PER_TURN = 5_000;

/** Makes the index of places, letting other requests go on meanwhile. */
export async function indexPlaces(places: readonly WatchedPlace[]): Promise<PlaceIndex> {
  const tree = places.length === 0 ? null : new Flatbush(places.length);
  const min_size_mm = new Float64Array(places.length);
  const at = new Map<string, number>();
  await forEachInChunks(places, PLACES_PER_TURN, (place, k) => {
    tree?.add(...reachOf(place));
    min_size_mm[k] = place.min_size_mm;
    at.set(place.id, k);
  });
  tree?.finish();
  return { places, at, tree, min_size_mm };
}

/** Box outside of which no centre of a pixel matters to a place. */
function reachOf({ shape }: WatchedPlace): Bbox {
  if (shape.kind === 'circle') return boxAround(shape, shape.radius_km);
  const [west, south, east, north] = shape.bbox;
  return [west - HALF_PIXEL_DEG, south - HALF_PIXEL_DEG, east + HALF_PIXEL_DEG, north + HALF_PIXEL_DEG];
}

/** Box around a place itself. */
export function boxOf({ shape }: WatchedPlace): Bbox {
  return shape.kind === 'circle' ? boxAround(shape, shape.radius_km) : shape.bbox;
}

/** What distances to a place are measured from: its point, or the middle of its box. */
export function centreOf({ shape }: WatchedPlace): Position {
  if (shape.kind === 'circle') return shape;
  const [west, south, east, north] = shape.bbox;
  return { lat: (south + north) / 2, lon: (west + east) / 2 };
}
