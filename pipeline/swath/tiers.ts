import { LATTICE, pixelAreaKm2 } from '../../schemas/geo/lattice.ts';
import { traceMultiPolygon } from '../../schemas/geo/rings.ts';
import { multiPolygonToWkt } from '../../schemas/geo/wkt.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import type { Swath } from '../../schemas/tables/derived.ts';
import type { DayMax } from '../../schemas/tables/radar.ts';

/** Columns of the day maximum that tiers use. */
export type TierPixel = Pick<DayMax, 'row' | 'col' | 'max_mm' | 'interpolated' | 'first_detected' | 'last_detected'>;

/** Pixel-scans (detections) at or above each bound of the size bands, by bound in mm. */
export type PixelScans = ReadonlyMap<number, number>;

/**
 * Cumulative tiers of a storm date, smallest bound first; a tier without pixels is absent. Interpolated pixels count for the
 * polygon and its area, not for the largest size, the times and the number of detections. `area_km2` is the sum of the exact pixel
 * areas. A pixel may have two rows, one of them interpolated. Throws RangeError when `pixelScans` lacks a bound.
 */
export function drawTiers(rows: readonly TierPixel[], storm_date: string, pixelScans: PixelScans): Swath[] {
  const seen = rows.filter((row) => !row.interpolated);
  const max_size_mm = seen.reduce((largest, row) => Math.max(largest, row.max_mm), 0);
  return SIZE_BANDS.flatMap(({ threshold_mm, category }) => {
    const tier = rows.filter((row) => row.max_mm >= threshold_mm);
    if (tier.length === 0) return [];
    const n_detections = pixelScans.get(threshold_mm);
    if (n_detections === undefined) throw new RangeError(`no count of pixel-scans at ${threshold_mm} mm was given`);
    const pixels = distinctPixels(tier);
    return {
      storm_date,
      threshold_mm,
      category,
      area_km2: pixels.rows.reduce((sum, row) => sum + pixelAreaKm2(row), 0),
      pixels: pixels.rows.length,
      n_detections,
      max_size_mm,
      first_detected: extreme(Math.min, tier, 'first_detected'),
      last_detected: extreme(Math.max, tier, 'last_detected'),
      geometry: multiPolygonToWkt(traceMultiPolygon(pixels)),
    };
  });
}

function distinctPixels(tier: readonly TierPixel[]) {
  const keys = Uint32Array.from(new Set(tier.map((pixel) => pixel.row * LATTICE.cols + pixel.col))).sort();
  return {
    rows: Uint16Array.from(keys, (key) => Math.floor(key / LATTICE.cols)),
    cols: Uint16Array.from(keys, (key) => key % LATTICE.cols),
  };
}

function extreme(
  pick: (a: number, b: number) => number,
  tier: readonly TierPixel[],
  field: 'first_detected' | 'last_detected',
): number | null {
  let found: number | null = null;
  for (const pixel of tier) {
    const time = pixel[field];
    if (time !== null) found = found === null ? time : pick(found, time);
  }
  return found;
}
