import { detectionQuality } from '../../schemas/geo/beam.ts';
import type { Blockage } from '../../schemas/geo/blockage.ts';
import { colLon, rowLat } from '../../schemas/geo/lattice.ts';
import { hailDayFreezingLevelKm } from '../../schemas/reference/freezing-level.ts';
import { groundM } from '../../schemas/reference/terrain.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';

/** Quality varies slowly: it is computed at the centre of blocks of this many pixels of 0.01 degrees, 0.1 degrees wide. */
const BLOCK_PX = 10;
/** Cached blocks; the cache is cleared when it is full. */
const CACHE_MAX = 20_000;

/** Radar coverage and climatological freezing level of a place; independent of the scan. */
interface PlaceQuality {
  /** Radar detection-quality index 0..1. */
  readonly hdqi: number;
  /** Height of the 0 C level above sea level on a hail day of the month, km. */
  readonly freezing_level_km: number;
  /** Height of the same level above the ground, km; never below 0. */
  readonly freezing_above_ground_km: number;
}

/** Blocks by terrain, then by place and month. */
const caches = new WeakMap<object, Map<number, PlaceQuality>>();
const NO_TERRAIN = {};

/**
 * Quality of the 0.1 degree block that contains a lattice pixel, in the UTC month of an instant. `terrain`: beam blockage; null
 * when unknown.
 */
export function placeQuality(row: number, col: number, time_ms: number, terrain: Blockage | null): PlaceQuality {
  const cache = caches.get(terrain ?? NO_TERRAIN) ?? new Map<number, PlaceQuality>();
  caches.set(terrain ?? NO_TERRAIN, cache);
  const month = new Date(time_ms).getUTCMonth() + 1;
  const blockRow = Math.floor(row / BLOCK_PX);
  const blockCol = Math.floor(col / BLOCK_PX);
  const place = blockRow * 1000 + blockCol;
  const key = place * 12 + month - 1;
  const known = cache.get(key);
  if (known) return known;
  if (cache.size >= CACHE_MAX) cache.clear();
  const middle = (BLOCK_PX - 1) / 2;
  const position = {
    lat: rowLat(blockRow * BLOCK_PX + middle),
    lon: colLon(blockCol * BLOCK_PX + middle),
  };
  const freezing_level_km = hailDayFreezingLevelKm(position.lat, month);
  const ground_m = groundM(position, terrain);
  const { hdqi } = detectionQuality(position, {
    sites: WSR88D,
    freezing_level_km,
    ground_m,
    blockage: terrain?.blocked,
  });
  const quality = {
    hdqi,
    freezing_level_km,
    freezing_above_ground_km: Math.max(0, freezing_level_km - ground_m / 1000),
  };
  cache.set(key, quality);
  return quality;
}
