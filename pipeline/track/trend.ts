import type { Trend } from '../../schemas/tables/radar.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { median } from './median.ts';

/** Window of the growth rate. */
const TREND_WINDOW_MIN = 10;
/** Fewest scans with a growth rate; before them the trend is `steady`. */
const TREND_SCANS_MIN = 4;
const CHANGE_MM_PER_MIN = 0.25;
const RAPID_MM_PER_MIN = 1;
const RAPID_RISE_SIZE_MIN_MM = 19; // below severe size a fast rise is only `intensifying`

/** Largest size of a cell in one scan. */
export interface SizeAt {
  readonly scan_time: number;
  readonly size_mm: number;
}

/** Trend of a track: the published word, and the word of the last scan alone. */
export interface TrendState {
  readonly word: Trend;
  readonly called: Trend;
}

export const STEADY: TrendState = { word: 'steady', called: 'steady' };

/** Sizes within the trend window at `now`. */
export function recentSizes(sizes: readonly SizeAt[], now: number): SizeAt[] {
  return sizes.filter((size) => now - size.scan_time <= TREND_WINDOW_MIN * MS_PER_MIN);
}

/** Theil-Sen slope of sizes over time in mm/min: the median of all pairwise slopes; null before four scans. */
export function growthRate(sizes: readonly SizeAt[]): number | null {
  if (sizes.length < TREND_SCANS_MIN) return null;
  const slopes = sizes.flatMap((a, i) =>
    sizes.slice(i + 1).map((b) => (b.size_mm - a.size_mm) / ((b.scan_time - a.scan_time) / MS_PER_MIN)),
  );
  return median(slopes);
}

/** Trend of a growth rate and the current size. */
export function trendWord(growth: number | null, size_mm: number): Trend {
  if (growth === null) return 'steady';
  if (growth <= -RAPID_MM_PER_MIN) return 'rapidly_weakening';
  if (growth <= -CHANGE_MM_PER_MIN) return 'weakening';
  if (growth < CHANGE_MM_PER_MIN) return 'steady';
  return growth >= RAPID_MM_PER_MIN && size_mm >= RAPID_RISE_SIZE_MIN_MM ? 'rapidly_intensifying' : 'intensifying';
}

/** Trend after one more scan. Hysteresis: the word changes when two consecutive scans call for the same new word. */
export function nextTrend(before: TrendState, called: Trend): TrendState {
  return { word: called === before.called ? called : before.word, called };
}
