import { nearestSite } from '../../schemas/geo/beam.ts';
import type { Blockage } from '../../schemas/geo/blockage.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { hailDayFreezingLevelKm } from '../../schemas/reference/freezing-level.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import type { DetectionQualityBlock } from '../../schemas/resources/detection-quality.ts';
import { qualityAt } from './detection-quality.ts';

/** Most values kept of each kind. One more clears them all; they are computed again to the same values. */
const KEPT_MAX = 20_000;
/** Blocks by terrain, then by pixel and month. A replaced terrain takes its blocks with it. */
const blocks = new WeakMap<object, Map<number, DetectionQualityBlock>>();
const NO_TERRAIN = {};
/** Height of the ground of the nearest radar by pixel, m. */
const grounds = new Map<number, number>();

/** Month of the year, 1 to 12, of an instant. */
export function monthOfYear(time_ms: number): number {
  return new Date(time_ms).getUTCMonth() + 1;
}

/** Detection-quality block at the centre of a pixel; kept, because one answer may need hundreds. */
export function pixelQuality(position: Position, month: number, terrain: Blockage | null): DetectionQualityBlock {
  const kept = blocks.get(terrain ?? NO_TERRAIN) ?? new Map<number, DetectionQualityBlock>();
  blocks.set(terrain ?? NO_TERRAIN, kept);
  return remembered(kept, pixelOf(position) * 12 + month - 1, () => qualityAt(position, month, terrain).block);
}

/** Climatological height of the 0 C level on a day with hail, km: above sea level, and above the ground of the nearest radar. */
export function freezingLevel(position: Position, month: number): { sea_km: number; ground_km: number } {
  const sea_km = hailDayFreezingLevelKm(position.lat, month);
  const ground_m = remembered(grounds, pixelOf(position), () => nearestSite(position, WSR88D)?.ground_m ?? 0);
  return { sea_km, ground_km: Math.max(0, sea_km - ground_m / 1000) };
}

/** A number for the place of a pixel, on the lattice or not: two pixels never share one. */
function pixelOf({ lat, lon }: Position): number {
  const row = Math.floor((lat + 90) * LATTICE.per_degree + 1e-6);
  const col = Math.floor((lon + 180) * LATTICE.per_degree + 1e-6);
  return row * 360 * LATTICE.per_degree + col;
}

function remembered<Value>(kept: Map<number, Value>, key: number, make: () => Value): Value {
  const known = kept.get(key);
  if (known !== undefined) return known;
  if (kept.size >= KEPT_MAX) kept.clear();
  const value = make();
  kept.set(key, value);
  return value;
}
