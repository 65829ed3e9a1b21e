import { MONTHS } from '../../schemas/risk.ts';
import type { RiskGrid } from './risk-grid.ts';

/**
 * MESH from which a pixel counts as hail of each class, smallest first: 19, 25.4, 50.8 and 101.6 mm. MESH overstates common hail
 * and seldom reaches the size of the largest stones.
 */
export const CLASS_MIN_MM = [19, 29, 53, 90] as const;
export const [ANY, SEVERE, SIGNIFICANT, GIANT] = [0, 1, 2, 3] as const;

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

/** Circular smoothing over the days of the year, standard deviation in days. */
const SEASON_SD_DAYS = 15;
const SHARES = monthShares(SEASON_SD_DAYS);

/** Hail of one storm date at a cell: the largest MESH within 10 km of its centre. */
export interface HailDay {
  readonly cell: number;
  /** 0 for 1 January. */
  readonly day_of_year: number;
  readonly mm: number;
}

/** Days with hail, filled date by date. */
export type HailCounts = ReturnType<typeof countHail>;

/** Empty counts. `available` is 1 for cells with sufficient radar coverage; hail in other cells does not count. */
export function countHail({ cells }: RiskGrid, available: Float64Array) {
  const zeros = () => new Float64Array(cells.length);
  const days = CLASS_MIN_MM.map(zeros);
  const monthly = CLASS_MIN_MM.map(() => MONTHS.map(zeros));
  const observed = new Float64Array(YEAR_DAYS);
  return {
    /** Days with hail by class and cell. */
    days,
    /** The same, distributed over the months around their date: by class, month and cell. */
    monthly,
    /** Adds a storm date with the share of its scans that were published, 0..1. */
    observe: (day_of_year: number, share: number) => {
      observed[day_of_year] += share;
    },
    add: ({ cell, day_of_year, mm }: HailDay) => {
      if (available[cell] === 0) return;
      const shares = SHARES[day_of_year];
      for (const [k, min_mm] of CLASS_MIN_MM.entries()) {
        if (mm < min_mm) return;
        days[k][cell] += 1;
        for (const [month, counts] of monthly[k].entries()) counts[cell] += shares[month];
      }
    },
    /** Observed years of each month of the year. */
    years: () =>
      Float64Array.from(MONTHS, (_, month) => {
        const days = observed.reduce((sum, share, day) => sum + share * SHARES[day][month], 0);
        return days / MONTH_DAYS[month];
      }),
  };
}
