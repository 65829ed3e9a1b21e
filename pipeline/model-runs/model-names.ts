import type { ForecastModel } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';

/** Longest lead that is of use: the interface forecasts 48 hours. */
const LONGEST_H = 48;
/** Runs at these hours go furthest; all others end after 18 hours. */
const LONG_RUN_EVERY_H = 6;
const SHORT_H = 18;

/** One hour of one run. */
export interface ModelHourName {
  readonly model: ForecastModel;
  /** Start of the run, epoch milliseconds. */
  readonly run_time: number;
  readonly lead_h: number;
}

/** Parts that the files of one hour come in. */
const PARTS: Readonly<Record<ForecastModel, readonly string[]>> = {
  hrrr: ['wrfsfc'],
  rrfs: ['2dfld', 'prslev'],
  nam: ['awp211'],
};

/** Keys of the files that together are one hour of a run, in the layout of the public buckets. */
export function modelKeys({ model, run_time, lead_h }: ModelHourName): string[] {
  const compact = new Date(run_time).toISOString().replaceAll(/[-:T]/g, '');
  const [date, hour] = [compact.slice(0, 8), compact.slice(8, 10)];
  const lead = (digits: number) => String(lead_h).padStart(digits, '0');
  return PARTS[model].map((part) => {
    if (model === 'hrrr') return `hrrr.${date}/conus/hrrr.t${hour}z.${part}f${lead(2)}.grib2`;
    if (model === 'rrfs') return `rrfs.${date}/${hour}/rrfs.t${hour}z.${part}.3km.f${lead(3)}.conus.grib2`;
    return `nam.${date}/nam.t${hour}z.${part}${lead(2)}.tm00.grib2`;
  });
}

const PATTERNS: readonly (readonly [ForecastModel, RegExp])[] = [
  ['hrrr', /(?:^|\/)hrrr\.(\d{8})\/conus\/hrrr\.t(\d\d)z\.wrfsfcf(\d\d)\.grib2$/],
  ['rrfs', /(?:^|\/)rrfs\.(\d{8})\/\d\d\/rrfs\.t(\d\d)z\.(?:2dfld|prslev)\.3km\.f(\d{3})\.conus\.grib2$/],
  ['nam', /(?:^|\/)nam\.(\d{8})\/nam\.t(\d\d)z\.awp211(\d\d)\.tm00\.grib2$/],
];

/** The hour that a path in a bucket's layout names; null for any other path. */
export function parseModelKey(path: string): ModelHourName | null {
  for (const [model, pattern] of PATTERNS) {
    const [, date = '', hour = '', lead = ''] = pattern.exec(path) ?? [];
    const run_time = Date.parse(`${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}T${hour}:00:00Z`);
    const name = { model, run_time, lead_h: Number(lead) };
    // The name made from what was read must be the name: a date such as 31 June would pass otherwise.
    if (!Number.isNaN(run_time) && modelKeys(name).some((key) => path === key || path.endsWith(`/${key}`))) return name;
  }
  return null;
}

/** Hours that a run forecasts, as far as they are of use. */
export function horizonHours(run_time: number): number {
  return (run_time / MS_PER_HOUR) % LONG_RUN_EVERY_H === 0 ? LONGEST_H : SHORT_H;
}

/**
 * Starts of the runs that a blend of the 48 hours after `now` may use, newest first: the last three of every hour, and the
 * last three long ones.
 */
export function usefulRuns(now: number): number[] {
  const newest = Math.floor(now / MS_PER_HOUR);
  const longest = Math.floor(newest / LONG_RUN_EVERY_H) * LONG_RUN_EVERY_H;
  const hours = new Set([0, 1, 2].flatMap((k) => [newest - k, longest - k * LONG_RUN_EVERY_H]));
  return [...hours].sort((a, b) => b - a).map((hour) => hour * MS_PER_HOUR);
}
