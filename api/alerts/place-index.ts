import Flatbush from 'flatbush';
import type { Kysely } from 'kysely';
import { boxAround } from '../../schemas/geo/around.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { forEachInChunks } from '../http/event-loop.ts';
import type { Database } from '../records/schema.ts';
import type { EventFormats } from '../webhooks/formats.ts';
import { placeVersions, readPlaces, type WatchedPlace } from './places.ts';

/** Half a pixel of the lattice, degrees: a polygon smaller than a pixel is hit by the pixel over it. */
export const HALF_PIXEL_DEG = LATTICE.step / 2;

/** Spatial index of watched places, immutable. Item k of each array is place k. */
export interface PlaceIndex {
  readonly places: readonly WatchedPlace[];
  /** Position of a place in `places`, by its id. */
  readonly at: ReadonlyMap<string, number>;
  readonly tree: Flatbush | null;
  /** Smallest size that matches each place, mm; an array of its own because every box of a scan reads it. */
  readonly min_size_mm: Float64Array;
}

const PLACES_PER_TURN = 5_000;

/** Builds an index; yields to other requests. */
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

/** Box that holds the centres of all pixels that may match a place. */
function reachOf({ shape }: WatchedPlace): Bbox {
  if (shape.kind === 'circle') return boxAround(shape, shape.radius_km);
  const [west, south, east, north] = shape.bbox;
  return [west - HALF_PIXEL_DEG, south - HALF_PIXEL_DEG, east + HALF_PIXEL_DEG, north + HALF_PIXEL_DEG];
}

/** Bounding box of a place. */
export function boxOf({ shape }: WatchedPlace): Bbox {
  return shape.kind === 'circle' ? boxAround(shape, shape.radius_km) : shape.bbox;
}

/** Origin of distances to a place: the centre of the circle, or of the bounding box. */
export function centreOf({ shape }: WatchedPlace): Position {
  if (shape.kind === 'circle') return shape;
  const [west, south, east, north] = shape.bbox;
  return { lat: (south + north) / 2, lon: (west + east) / 2 };
}

/**
 * Index of the places that are watched now, kept between calls: a few hundred bytes for each place, without the rings of areas.
 * A call reads the versions of all places and the rows of changed ones; without a change it returns the same index.
 */
export function rememberIndex(rows: Kysely<Database>, formats: EventFormats): () => Promise<PlaceIndex> {
  let known: ReadonlyMap<string, WatchedPlace> = new Map();
  let index: PlaceIndex | null = null;
  return async () => {
    const versions = await placeVersions(rows, formats);
    const changed = [...versions].flatMap(([id, version]) => (known.get(id)?.version === version ? [] : [id]));
    if (changed.length === 0 && versions.size === known.size && index !== null) return index;
    const read = await readPlaces(rows, changed);
    const next = new Map([...known].filter(([id]) => versions.has(id)));
    // A changed place that was removed after its version was read is not in `read`.
    for (const id of changed) next.delete(id);
    for (const place of read) next.set(place.id, place);
    const made = await indexPlaces([...next.values()]);
    known = next;
    index = made;
    return made;
  };
}
