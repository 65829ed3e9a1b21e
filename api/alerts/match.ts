import { isWithinKm } from '../../schemas/geo/distance.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';
import { yieldToEventLoop } from '../http/event-loop.ts';
import { type RingTree, ringTree } from '../rules/ring-tree.ts';
import { HALF_PIXEL_DEG, type PlaceIndex } from './place-index.ts';

/** Detections of one scan, as columns; row k of each is detection k. */
export interface ScanHail {
  readonly length: number;
  readonly lat: ArrayLike<number>;
  readonly lon: ArrayLike<number>;
  readonly size_mm: ArrayLike<number>;
}

/** Reads the rings of polygon areas by id; deleted areas are left out. */
export type ReadRings = (ids: readonly string[]) => Promise<ReadonlyMap<string, Ring>>;

/** Detections in one box of the grid, largest first. */
interface Tile {
  readonly members: number[];
  /** Largest size, mm. */
  readonly max_mm: number;
  readonly box: [west: number, south: number, east: number, north: number];
}

/** Side of a tile, degrees: a few pixels, so that a large storm is a few hundred tiles, not thousands of pixels. */
const TILE_DEG = 0.05;
/** Tiles between two yields to the event loop. */
const TILES_PER_TURN = 200;
/** Rings in memory at a time, up to 20,000 positions each: about 20 MB. */
const RINGS_PER_READ = 10;

/**
 * The largest matching detection of each place that a scan hits, as detection number by place number; of equal sizes the first.
 * A detection matches when it has the place's smallest size or more, and the centre of its pixel lies in the circle or the pixel
 * overlaps the polygon (a narrow polygon may hold no centre).
 */
export async function matchScan(
  { places, tree, min_size_mm }: PlaceIndex,
  hail: ScanHail,
  readRings: ReadRings,
): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>();
  if (tree === null || hail.length === 0) return found;
  const tiles = tilesOf(hail);
  const best_mm = new Float64Array(places.length);
  /** Tiles that may hit a polygon, by its place. */
  const near = new Map<number, Tile[]>();

  const at = (detection: number): Position => ({ lat: hail.lat[detection], lon: hail.lon[detection] });
  const take = (place: number, { members }: Tile, inside: (detection: number) => boolean) => {
    for (const detection of members) {
      const size_mm = hail.size_mm[detection];
      if (size_mm < min_size_mm[place] || size_mm <= best_mm[place]) return;
      if (!inside(detection)) continue;
      best_mm[place] = size_mm;
      found.set(place, detection);
      return;
    }
  };

  for (const [k, tile] of tiles.entries()) {
    if (k > 0 && k % TILES_PER_TURN === 0) await yieldToEventLoop();
    tree.search(...tile.box, (place) => {
      if (min_size_mm[place] > tile.max_mm || best_mm[place] >= tile.max_mm) return false;
      const { shape } = places[place];
      if (shape.kind === 'circle') take(place, tile, (detection) => isWithinKm(shape, at(detection), shape.radius_km));
      else if (near.get(place)?.push(tile) === undefined) near.set(place, [tile]);
      return false;
    });
  }

  const polygons = [...near];
  for (let from = 0; from < polygons.length; from += RINGS_PER_READ) {
    const part = polygons.slice(from, from + RINGS_PER_READ);
    const rings = await readRings(part.map(([place]) => places[place].id));
    for (const [place, tilesNear] of part) {
      const ring = rings.get(places[place].id);
      if (ring === undefined) continue;
      const tree = ringTree(ring);
      for (const tile of tilesNear) take(place, tile, (detection) => isOver(tree, at(detection)));
      await yieldToEventLoop();
    }
  }
  return found;
}

/** Detections grouped into tiles; the tile with the largest detection first. */
function tilesOf({ length, lat, lon, size_mm }: ScanHail): Tile[] {
  const order = Uint32Array.from({ length }, (_, k) => k).sort((a, b) => size_mm[b] - size_mm[a] || a - b);
  const tiles = new Map<number, Tile>();
  for (const k of order) {
    const key = Math.floor(lat[k] / TILE_DEG) * 100_000 + Math.floor(lon[k] / TILE_DEG);
    const tile = tiles.get(key);
    if (tile === undefined) {
      const box: Bbox = [lon[k], lat[k], lon[k], lat[k]];
      tiles.set(key, { members: [k], max_mm: size_mm[k], box: [...box] });
      continue;
    }
    const { members, box } = tile;
    members.push(k);
    box[0] = Math.min(box[0], lon[k]);
    box[1] = Math.min(box[1], lat[k]);
    box[2] = Math.max(box[2], lon[k]);
    box[3] = Math.max(box[3], lat[k]);
  }
  return [...tiles.values()];
}

/** True when the pixel around a position overlaps an area; a shared edge is no overlap. */
export function isOver(tree: RingTree, at: Position): boolean {
  return tree.passesThrough(at, HALF_PIXEL_DEG) || tree.holds(at);
}
