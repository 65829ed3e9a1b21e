import type { EveningStatistics } from './evening-statistics.ts';
import type { PlainsStatistics } from './evening-storms.ts';
import type { FieldStatistics } from './field-statistics.ts';
import type { SeasonStatistics } from './season-statistics.ts';

/** One statistic of the simulator, its accepted range and its value on real data. */
export interface AcceptanceRow {
  readonly what: string;
  readonly simulated: number;
  /** Target of the simulator; null where only a range is known. */
  readonly target: number | null;
  readonly low: number;
  readonly high: number;
  /** Figure of real data or of the literature, with its source; empty where there is none. */
  readonly real: string;
}

/** Accepted relative deviation from a target. */
const BAND = 0.25;

export function isAccepted({ simulated, low, high }: AcceptanceRow): boolean {
  return simulated >= low && simulated <= high;
}

// R2: 24 h maximum of 28 Feb 2024 over the CONUS, a marginal day. R3: rain rates of 10 June 2019, 20 frames; cores are where the
// rate is capped for hail, or reaches 50 mm/h. R4: 1066 observed object-hours, May-June 2015. PS: 137 cases of 16 ProbSevere objects.

/** Rows of marginal days and the real one. Statistics of few pixels or swaths have a range instead of a target. */
export function marginalRows(day: EveningStatistics): AcceptanceRow[] {
  const [q50, q90, q99, q999] = day.quantiles_mm as [number, number, number, number];
  return [
    near('positive pixels, 50 % quantile, mm', q50, 2.6, 'R2 2.6'),
    near('positive pixels, 90 % quantile, mm', q90, 8.9, 'R2 8.9'),
    near('positive pixels, 99 % quantile, mm', q99, 19.8, 'R2 19.8'),
    near('positive pixels, 99.9 % quantile, mm', q999, 32.9, 'R2 32.9'),
    near('Weibull shape', day.weibull_shape, 0.98, 'R2 0.98'),
    near('Weibull scale, mm', day.weibull_scale_mm, 3.8, 'R2 3.8'),
    near('area e-folding above 10 mm, mm', day.area_e_folding_mm, 4.9, 'R2 4.9'),
    near('area ratio 25/19 mm', day.area_ratio_25_19, 0.32, 'R2 .32'),
    row('area ratio 38/19 mm', day.area_ratio_38_19, 0.005, 0.12, 'R2 .03, 91 pixels'),
    near('swath length at 19 mm, median, km', day.swath_length_median_km, 8.3, 'R2 8.3'),
    near('swath length at 19 mm, p90, km', day.swath_length_p90_km, 18.9, 'R2 18.9'),
    near('swath width at 19 mm, median, km', day.swath_width_median_km, 3.4, 'R2 3.4'),
    row('swath width at 19 mm, p90, km', day.swath_width_p90_km, 3.9, 10, 'R2 8.2, 29 swaths'),
    row('area ratio 50.8/19 mm', day.area_ratio_50_19, 0, 0.034, 'R2 .002, May .034'),
    ...shapeRows(day),
    ...commonRows(day),
  ];
}

/** Rows of severe evenings of the Plains, all together: motion and survival of storms, and swaths. */
export function plainsRows(storms: PlainsStatistics): AcceptanceRow[] {
  return [
    near('motion over 14 min, error of speed, rms, km/h', storms.motion_speed_kmh, 11.5, 'R3 12-14, known 10-13'),
    near('motion over 14 min, error of direction, rms, deg', storms.motion_direction_deg, 20, 'R3 19-21'),
    // The cases come from at most 16 storms, so the real share has a standard error of .12 or more: sqrt(.32 x .68 / 16).
    row(
      '19-25 mm, still 19 mm after 15 min, share',
      storms.small_survival,
      0.2,
      0.44,
      'PS .30-.34, standard error .12',
    ),
    near('38 mm and more, still 19 mm after 15 min, share', storms.large_survival, 0.9, 'PS .83-.97'),
    near('swath width at 19 mm, median, km', storms.swath_width_median_km, 4.2, '24 h fields 4.2'),
    near('swath length at 19 mm, p90, km', storms.swath_length_p90_km, 44, '24 h fields 44'),
    near('area ratio 38/19 mm', storms.area_ratio_38_19, 0.11, '24 h fields .11'),
    row('area ratio 25/19 mm', storms.area_ratio_25_19, 0.4, 0.65, 'R2 .32, expected .5'),
    row('area ratio 50.8/19 mm', storms.area_ratio_50_19, 0.002, 0.034, 'R2 .002, May .034'),
    row('longest swath at 19 mm of an evening, median, km', storms.longest_swath_km, 60, 200, 'expected 60-200'),
    ...shapeRows(storms),
    row('reports with a cell nearby within an hour, share', storms.reports_detected, 0.8, 1, 'expected > .8'),
  ];
}

/** Rows of streaks of 10 mm, 15 km and more: how parallel they are, and how straight. */
function shapeRows({ axes_apart_deg, off_axis }: FieldStatistics): AcceptanceRow[] {
  return [
    row('axes of neighbouring streaks apart, median, deg', axes_apart_deg, 10, 20, 'R2 15.4'),
    row('streak off its axis, median, share of length', off_axis, 0.015, 0.03, 'R2 .022'),
  ];
}

/** Rows of an outbreak day, with values of the literature. */
export function outbreakRows(day: EveningStatistics): AcceptanceRow[] {
  const [peak50, peak95] = day.hourly_peaks_mm as [number, number];
  return [
    row('area e-folding above 10 mm, mm', day.area_e_folding_mm, 8, 12, 'expected 8-12'),
    row('area ratio 25/19 mm', day.area_ratio_25_19, 0.4, 0.65, 'expected .5'),
    row('area ratio 38/19 mm', day.area_ratio_38_19, 0.07, 0.23, 'expected .15'),
    row('swath length at 19 mm, p90, km', day.swath_length_p90_km, 20, 100, 'expected 20-80'),
    row('swath width at 19 mm, median, km', day.swath_width_median_km, 2.3, 8, 'expected 3-8'),
    row('hourly storm maxima, median, mm', peak50, 25, 45, 'R4 34.6'),
    row('hourly storm maxima, p95, mm', peak95, 50, 90, 'R4 66.2'),
    row(
      'significant over severe reports',
      day.significant_reports / day.severe_reports,
      0.03,
      0.13,
      'climatology .066',
    ),
    ...commonRows(day),
  ];
}

function commonRows(day: EveningStatistics): AcceptanceRow[] {
  return [
    row('core area at 19 mm in a scan, median, km2', day.core_area_km2[0], 5, 60, 'expected 5-60'),
    row('hail at a point, median, min', day.duration_median_min, 4, 10, 'expected 4-10'),
    row('hail at a point, p95, min', day.duration_p95_min, 8, 25, 'expected < 25'),
    row('speed of storms, median, km/h', day.speed_median_kmh, 33, 60, 'expected 35-60'),
    row('correlation of maxima 10 min apart', day.autocorrelation_10_min, 0.58, 0.82, 'expected .6-.8'),
    row('life of ordinary cells, mean, min', day.ordinary_life_mean_min, 22, 27, 'North Dakota 23.6'),
  ];
}

export function seasonRows(seasons: SeasonStatistics): AcceptanceRow[] {
  return [
    row('births from 20 to 02 UTC, share', seasons.evening_share, 0.5, 0.85, 'peak 21-01 UTC'),
    row('hour with most births, UTC', seasons.peak_hour, 21, 23.9, 'peak 21-01 UTC'),
    row('Gulf and S Plains, April and May, share', seasons.south_spring_share, 0.3, 0.7, 'peak Apr-May'),
    row('central, May and June, share', seasons.central_may_june_share, 0.3, 0.8, 'peak May-Jun'),
    row('N and High Plains, June and July, share', seasons.north_june_july_share, 0.3, 0.85, 'peak Jun-Jul'),
  ];
}

/** Rows with the median over several days; NaN where a day has no value. */
export function medianRows(days: readonly (readonly AcceptanceRow[])[]): AcceptanceRow[] {
  const [first = []] = days;
  return first.map((one, i) => {
    const figures = days.map((rows) => (rows[i] as AcceptanceRow).simulated).sort((a, b) => a - b);
    const isWhole = !figures.some(Number.isNaN);
    return { ...one, simulated: isWhole ? figures[(figures.length - 1) >> 1] : Number.NaN };
  });
}

function row(what: string, simulated: number, low: number, high: number, real: string): AcceptanceRow {
  return { what, simulated, target: null, low, high, real };
}

function near(what: string, simulated: number, target: number, real: string): AcceptanceRow {
  return { what, simulated, target, low: (1 - BAND) * target, high: (1 + BAND) * target, real };
}

/** Text table: simulated | target | accepted range | real, with a mark on values outside the range. */
export function formatRows(rows: readonly AcceptanceRow[]): string {
  const cells = rows.map((one) => [
    one.what,
    readable(one.simulated),
    one.target === null ? '-' : readable(one.target),
    `${readable(one.low)} - ${readable(one.high)}`,
    one.real,
    isAccepted(one) ? '' : 'OUTSIDE',
  ]);
  const all = [['', 'simulated', 'target', 'accepted', 'real', ''], ...cells];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => (line[column] as string).length))) ?? [];
  return all
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function readable(value: number): string {
  return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}
