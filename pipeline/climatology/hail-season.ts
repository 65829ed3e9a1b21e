import table from '../../data/reference/hail-season.json' with { type: 'json' };
import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';

/** Standard deviation of the Gaussian by which regions are weighted around a place, km: their middles lie 500 to 900 km apart. */
const REGION_SD_KM = 250;

/**
 * Share of each month, January first, in the days with hail of a year at a place of the contiguous United States; the twelve sum
 * to 1. A mean of the regions of the table, weighted by how near their middles are: a fallback where little was observed.
 */
export function hailSeason(place: Position): number[] {
  const distances2 = table.map((region) => (roughDistanceKm(place, region) / REGION_SD_KM) ** 2);
  // Relative to the nearest, so that a place far from all of them has the season of that one, and not 0 / 0.
  const nearest2 = Math.min(...distances2);
  const weights = distances2.map((distance2) => Math.exp((nearest2 - distance2) / 2));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return Array.from(
    { length: 12 },
    (_, month) => table.reduce((share, { months }, k) => share + weights[k] * months[month], 0) / sum,
  );
}
