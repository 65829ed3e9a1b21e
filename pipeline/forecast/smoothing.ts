import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import { GEOHASH4_LON_DEG } from '../../schemas/geo/geohash4.ts';
import type { RiskGrid } from './risk-grid.ts';

/** Standard deviations at which a Gaussian is cut off; its weight there is 1 %. */
const CUT_SD = 3;
/** Days of the year on a circle; 29 February counts as the 28th. */
export const YEAR_DAYS = 365;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** Day of the year of a date `YYYY-MM-DD`, 0 for 1 January. */
export function dayOfYear(date: string): number {
  const [month, day] = [Number(date.slice(5, 7)), Number(date.slice(8, 10))];
  const before = MONTH_DAYS.slice(0, month - 1).reduce((sum, days) => sum + days, 0);
  return before + Math.min(day, MONTH_DAYS[month - 1]) - 1;
}

/**
 * Weights of the months for each day of the year, smoothed with a circular Gaussian of this standard deviation in days: 365 rows
 * of 12. A row sums to 1, a column to the days of its month.
 */
export function monthShares(sd_days: number): readonly Float64Array[] {
  const kernel = Float64Array.from({ length: YEAR_DAYS }, (_, apart) => {
    const days = Math.min(apart, YEAR_DAYS - apart);
    return Math.exp(-(days ** 2) / (2 * sd_days ** 2));
  });
  const mass = kernel.reduce((sum, weight) => sum + weight, 0);
  return Array.from({ length: YEAR_DAYS }, (_, day) => {
    const shares = new Float64Array(MONTH_DAYS.length);
    let other = 0;
    for (const [month, days] of MONTH_DAYS.entries())
      for (let n = 0; n < days; n++, other++) shares[month] += kernel[(day - other + YEAR_DAYS) % YEAR_DAYS] / mass;
    return shares;
  });
}

/** Days of a month in a year of 365; month 0 is January. */
export function daysOfMonth(month: number): number {
  return MONTH_DAYS[month];
}

/** Weights between the cells of a grid, by distance. */
export interface Kernel {
  /** Calls `weigh` for every cell within reach of a cell, itself included. */
  readonly around: (cell: number, weigh: (other: number, weight: number) => void) => void;
}

/** Gaussian kernel of weight 1 at the centre. */
export function gaussianKernel(grid: RiskGrid, sd_km: number): Kernel {
  return kernelOf(grid, CUT_SD * sd_km, (km) => Math.exp(-(km ** 2) / (2 * sd_km ** 2)));
}

/** Kernel of weight 1 within a radius. */
export function diskKernel(grid: RiskGrid, radius_km: number): Kernel {
  return kernelOf(grid, radius_km, () => 1);
}

function kernelOf(grid: RiskGrid, reach_km: number, weightAt: (km: number) => number): Kernel {
  const { cells, rows, cols, index } = grid;
  const lats = new Map(cells.map(({ row, lat }) => [row, lat]));
  const lines = Array.from({ length: rows }, (_, row) => linesOf(lats, row, reach_km, weightAt));
  return {
    around: (cell, weigh) => {
      const { row, col } = cells[cell];
      for (const { other_row, weights } of lines[row]) {
        const last = Math.min(cols - 1, col + weights.length - 1);
        for (let at = Math.max(0, col - weights.length + 1); at <= last; at++) {
          const other = index[other_row * cols + at];
          if (other >= 0) weigh(other, weights[Math.abs(at - col)]);
        }
      }
    },
  };
}

/** Weights of the cells of one row for a cell of another, by distance in columns. */
interface Line {
  readonly other_row: number;
  readonly weights: Float64Array;
}

function linesOf(
  lats: ReadonlyMap<number, number>,
  row: number,
  reach_km: number,
  weightAt: (km: number) => number,
): Line[] {
  const lat = lats.get(row);
  if (lat === undefined) return [];
  return [...lats].flatMap(([other_row, other_lat]) => {
    const weights: number[] = [];
    for (let apart = 0; ; apart++) {
      const km = roughDistanceKm({ lat, lon: 0 }, { lat: other_lat, lon: apart * GEOHASH4_LON_DEG });
      if (km > reach_km) break;
      weights.push(weightAt(km));
    }
    return weights.length === 0 ? [] : [{ other_row, weights: Float64Array.from(weights) }];
  });
}

/** Weighted sum of the values around each cell. */
export function sumsAround({ cells }: RiskGrid, kernel: Kernel, values: Float64Array): Float64Array {
  const sums = new Float64Array(cells.length);
  for (const [cell, value] of values.entries())
    if (value !== 0)
      kernel.around(cell, (other, weight) => {
        sums[other] += weight * value;
      });
  return sums;
}

/** Sum of the weights around each cell. */
export function weightSums(grid: RiskGrid, kernel: Kernel): Float64Array {
  return sumsAround(grid, kernel, new Float64Array(grid.cells.length).fill(1));
}

/**
 * Values spread over the surrounding cells, those of each cell with its own kernel: `choice` is the index of the kernel in
 * `kernels`, whose `weightSums` are `masses`. Conserves the sum over the grid.
 */
export function spread(
  { cells }: RiskGrid,
  kernels: readonly Kernel[],
  masses: readonly Float64Array[],
  choice: Uint8Array,
  values: Float64Array,
): Float64Array {
  const spreadOut = new Float64Array(cells.length);
  for (const [cell, value] of values.entries()) {
    if (value === 0) continue;
    const chosen = choice[cell];
    const share = value / masses[chosen][cell];
    kernels[chosen].around(cell, (other, weight) => {
      spreadOut[other] += weight * share;
    });
  }
  return spreadOut;
}
