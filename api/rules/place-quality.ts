import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { hailDayFreezingLevelKm } from '../../schemas/reference/freezing-level.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import type { DetectionQualityBlock } from '../../schemas/resources/detection-quality.ts';
import { qualityAt } from './detection-quality.ts';

/** Blocks remembered by pixel and month; when more are asked for, all are forgotten and made again to the same values. */
const KEPT_MAX = 20_000;
const kept = new Map<number, DetectionQualityBlock>();
const groundOf = new Map(WSR88D.map(({ id, ground_m }) => [id, ground_m]));

/** Month of the year, 1 to 12, of an instant. */
export function monthOfYear(time_ms: number): number {
  return new Date(time_ms).getUTCMonth() + 1;
}

/** Detection-quality block at the centre of a pixel; remembered, because a busy answer asks for hundreds. */
export function pixelQuality(position: Position, month: number): DetectionQualityBlock {
  const key = (latRow(position.lat) * 7000 + lonCol(position.lon)) * 12 + month - 1;
  const known = kept.get(key);
  if (known !== undefined) return known;
  if (kept.size >= KEPT_MAX) kept.clear();
  const { block } = qualityAt(position, month);
  kept.set(key, block);
  return block;
}

/** Climatological height of the 0 C level on a day with hail, km: above sea level, and above the ground of the nearest radar. */
export function freezingLevel(position: Position, month: number): { sea_km: number; ground_km: number } {
  const sea_km = hailDayFreezingLevelKm(position.lat, month);
  const { nearest_radar } = pixelQuality(position, month);
  const ground_m = (nearest_radar && groundOf.get(nearest_radar.id)) ?? 0;
  return { sea_km, ground_km: Math.max(0, sea_km - ground_m / 1000) };
}
