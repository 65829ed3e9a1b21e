import { MONTHS } from '../../schemas/risk.ts';
import type { RiskGrid } from './risk-grid.ts';
import { daysOfMonth, monthShares, YEAR_DAYS } from './smoothing.ts';

/**
 * MESH from which a pixel counts as hail of each class, smallest first: 19, 25.4, 50.8 and 101.6 mm. MESH overstates common hail
 * and seldom reaches the size of the largest stones.
 */
export const CLASS_MIN_MM = [19, 29, 53, 90] as const;
export const [ANY, SEVERE, SIGNIFICANT, GIANT] = [0, 1, 2, 3] as const;

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

/** Accumulator of days with hail, filled date by date. */
export interface HailCounts {
  /** Adds a storm date with the share of its scans that were published, 0..1. */
  readonly observe: (day: { readonly day_of_year: number; readonly share: number }) => void;
  readonly add: (day: HailDay) => void;
  /** Observed years of each month of the year. */
  readonly years: () => Float64Array;
  /** Days with hail by class and cell. */
  readonly days: readonly Float64Array[];
  /** The same, distributed over the months around their date: by class, month and cell. */
  readonly monthly: readonly (readonly Float64Array[])[];
}

/** Empty counts. `available` is 1 for cells with sufficient radar coverage; hail in other cells does not count. */
export function countHail({ cells }: RiskGrid, available: Float64Array): HailCounts {
  const zeros = () => new Float64Array(cells.length);
  const days = CLASS_MIN_MM.map(zeros);
  const monthly = CLASS_MIN_MM.map(() => MONTHS.map(zeros));
  const observed = new Float64Array(YEAR_DAYS);
  return {
    days,
    monthly,
    observe: ({ day_of_year, share }) => {
      observed[day_of_year] += share;
    },
    add: ({ cell, day_of_year, mm }) => {
      if (available[cell] === 0) return;
      const shares = SHARES[day_of_year];
      for (const [k, min_mm] of CLASS_MIN_MM.entries()) {
        if (mm < min_mm) return;
        days[k][cell] += 1;
        for (const [month, counts] of monthly[k].entries()) counts[cell] += shares[month];
      }
    },
    years: () =>
      Float64Array.from(MONTHS, (_, month) => {
        const days = observed.reduce((sum, share, day) => sum + share * SHARES[day][month], 0);
        return days / daysOfMonth(month);
      }),
  };
}
