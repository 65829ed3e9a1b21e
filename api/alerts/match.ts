import Flatbush from 'flatbush';
import { isWithinKm } from '../../schemas/geo/distance.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { forEachInChunks, yieldToEventLoop } from '../http/event-loop.ts';
import type { ScanDetections } from '../queries/scan-detections.ts';
import { type RingTree, ringTree } from '../rules/ring-tree.ts';
import { boxOf, type WatchedPlace } from './places.ts';

/** Detections of one scan, as far as their matches depend on them. */
export type ScanHail = Pick<ScanDetections, 'length' | 'lat' | 'lon' | 'size_mm'>;

/** Half a pixel of the lattice, degrees: a polygon smaller than a pixel is hit by the pixel over it. */
const HALF_PIXEL_DEG = LATTICE.step / 2;
/** Places between two yields to the event loop. */
const PLACES_PER_TURN = 1_000;
/** Rings in memory at a time, up to 20,000 positions each: about 20 MB. */
const RINGS_PER_READ = 10;

/**
 * The largest matching detection of each place that a scan hits, as detection number by place id; of equal sizes the first.
 * A detection matches when it has the place's smallest size or more, and the centre of its pixel lies in the circle or the pixel
 * overlaps the polygon (a narrow polygon may hold no centre). `readRings` leaves out areas that were deleted.
 */
export async function matchScan(
  places: readonly WatchedPlace[],
  { length, lat, lon, size_mm }: ScanHail,
  readRings: (ids: readonly string[]) => Promise<ReadonlyMap<string, Ring>>,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  if (length === 0 || places.length === 0) return found;
  /** Detection numbers by rank: the largest detection has rank 0. */
  const ranked = Uint32Array.from({ length }, (_, k) => k).sort((a, b) => size_mm[b] - size_mm[a] || a - b);
  const tree = new Flatbush(length);
  for (const k of ranked) tree.add(lon[k], lat[k], lon[k], lat[k]);
  tree.finish();
  const at = (rank: number): Position => ({ lat: lat[ranked[rank]], lon: lon[ranked[rank]] });
  /** Ranks of the detections in the box around a place that have its size, largest first. */
  const near = (place: WatchedPlace, margin_deg: number) => {
    const [west, south, east, north] = boxOf(place);
    const box = [west - margin_deg, south - margin_deg, east + margin_deg, north + margin_deg] as const;
    const isLarge = (rank: number) => size_mm[ranked[rank]] >= place.min_size_mm;
    return tree.search(...box, isLarge).sort((a, b) => a - b);
  };
  const take = (place: WatchedPlace, margin_deg: number, isHit: (hail: Position) => boolean) => {
    const rank = near(place, margin_deg).find((one) => isHit(at(one)));
    if (rank !== undefined) found.set(place.id, ranked[rank]);
  };

  const polygons: WatchedPlace[] = [];
  await forEachInChunks(places, PLACES_PER_TURN, (place) => {
    const { shape } = place;
    if (shape.kind === 'polygon') {
      if (near(place, HALF_PIXEL_DEG).length > 0) polygons.push(place);
    } else take(place, 0, (hail) => isWithinKm(shape, hail, shape.radius_km));
  });
  for (let from = 0; from < polygons.length; from += RINGS_PER_READ) {
    const part = polygons.slice(from, from + RINGS_PER_READ);
    const rings = await readRings(part.map(({ id }) => id));
    for (const place of part) {
      const ring = rings.get(place.id);
      if (ring === undefined) continue;
      const area = ringTree(ring);
      take(place, HALF_PIXEL_DEG, (hail) => isOver(area, hail));
      await yieldToEventLoop();
    }
  }
  return found;
}

/** True when the pixel around a position overlaps an area; a shared edge is no overlap. */
export function isOver(tree: RingTree, at: Position): boolean {
  return tree.passesThrough(at, HALF_PIXEL_DEG) || tree.holds(at);
}
