import { FORECAST_MODELS, type ForecastModel } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, scanId } from '../../schemas/time.ts';
import { BadInput } from '../error.ts';

/** Longest lead that the interface forecasts. */
const LONGEST_H = 48;
/** Runs that start at a multiple of this reach the longest lead; all others end after `SHORT_H`. */
const LONG_RUN_EVERY_H = 6;
const SHORT_H = 18;

/** One hour of one run. */
export interface ModelHourName {
  readonly model: ForecastModel;
  /** Start of the run and end of the hour, epoch milliseconds. */
  readonly run_time: number;
  readonly valid_time: number;
}

/** Keys of the files of one hour of a run in the public buckets. */
export function modelKeys({ model, run_time, valid_time }: ModelHourName): string[] {
  const [date = '', time = ''] = scanId(run_time).split('T');
  const hour = time.slice(0, 2);
  const lead = (digits: number) => String((valid_time - run_time) / MS_PER_HOUR).padStart(digits, '0');
  if (model === 'hrrr') return [`hrrr.${date}/conus/hrrr.t${hour}z.wrfsfcf${lead(2)}.grib2`];
  if (model === 'nam') return [`nam.${date}/nam.t${hour}z.awp211${lead(2)}.tm00.grib2`];
  return ['2dfld', 'prslev'].map((part) => `rrfs.${date}/${hour}/rrfs.t${hour}z.${part}.3km.f${lead(3)}.conus.grib2`);
}

/** Model, date, hour and lead in the key of any model. */
const KEY = /(hrrr|rrfs|nam)\.(\d{8})\/(?:\w+\/)?\1\.t(\d\d)z\.(?:[\w.]+f|awp211)(\d{2,3})\.[a-z\d.]+$/;

/** The hour that a path with a bucket key at its end belongs to; null for any other path. */
export function parseModelKey(path: string): ModelHourName | null {
  const [, found, date = '', hour = '', lead = ''] = KEY.exec(path) ?? [];
  const model = FORECAST_MODELS.find((one) => one === found);
  const run_time = Date.parse(`${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}T${hour}:00:00Z`);
  if (model === undefined || Number.isNaN(run_time)) return null;
  const name = { model, run_time, valid_time: run_time + Number(lead) * MS_PER_HOUR };
  // Date.parse accepts 31 June: the key of the parsed name must be the path.
  return modelKeys(name).some((key) => `/${path}`.endsWith(`/${key}`)) ? name : null;
}

/**
 * Hours between the runs of a model whose files we read, and the age at which its newest run shows that the model has stopped. The
 * fields of RRFS are complete for every third hour, nearly four hours after the start of the run.
 * Source: RRFS v1 product tables of the National Weather Service, the bucket's listing in autumn 2026.
 */
export const SCHEDULE: Readonly<Record<ForecastModel, { readonly every_h: number; readonly oldest_h: number }>> = {
  hrrr: { every_h: 1, oldest_h: 4 },
  rrfs: { every_h: 3, oldest_h: 8 },
  nam: { every_h: 6, oldest_h: 12 },
};

/** Hours that a run forecasts, up to the longest lead of the interface. */
export function horizonHours(run_time: number): number {
  return (run_time / MS_PER_HOUR) % LONG_RUN_EVERY_H === 0 ? LONGEST_H : SHORT_H;
}

/**
 * Starts of the runs that a blend of the 48 hours after `now` may use, newest first: the three newest runs and the three
 * newest long runs.
 */
export function usefulRuns(now: number, model: ForecastModel): number[] {
  const newestOf = (every_h: number) => Math.floor(now / MS_PER_HOUR / every_h) * every_h;
  const hours = new Set(
    [SCHEDULE[model].every_h, LONG_RUN_EVERY_H].flatMap((every_h) =>
      [0, 1, 2].map((k) => newestOf(every_h) - k * every_h),
    ),
  );
  return [...hours].sort((a, b) => b - a).map((hour) => hour * MS_PER_HOUR);
}

/** Bytes from `start` up to, not including, `end`; to the end of the file where that is null. */
export interface ByteRange {
  readonly start: number;
  readonly end: number | null;
}

/** One field of a GRIB2 file in its index, with the bytes of its message; fields of one message share them. */
interface IndexEntry extends ByteRange {
  readonly name: string;
  readonly level: string;
}

/** `number:offset:d=YYYYMMDDHH:NAME:level:forecast:`, the number with a fraction for fields that share a message. */
const LINE = /^\d+(?:\.\d+)?:(\d{1,15}):d=(\d{10}):([^:]+):([^:]+):[^:]*:/;

/**
 * Fields of an index file (`.idx`), in file order. Throws BadInput for a line in another format, for descending offsets, and
 * for another run than expected: byte ranges from the wrong index would cut messages in two.
 */
export function parseIndex(text: string, subject: string, run_time: number): IndexEntry[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw new BadInput('sources', subject, 'index without a line, expected one for each field');
  const run = scanId(run_time).replace('T', '').slice(0, 10);
  const entries: { start: number; name: string; level: string }[] = [];
  for (const [k, line] of lines.entries()) {
    const [, digits, date, name = '', level = ''] = LINE.exec(line.trim()) ?? [];
    const bad = (found: string) => new BadInput('sources', subject, `line ${k + 1} ${found}`);
    if (date === undefined) throw bad(`is '${line.trim().slice(0, 60)}', expected number:offset:d=date:name:level:`);
    if (date !== run) throw bad(`is of run ${date}, expected ${run}`);
    const least = entries.at(-1)?.start ?? 0;
    if (Number(digits) < least) throw bad(`begins at ${digits}, expected at least ${least}`);
    entries.push({ start: Number(digits), name, level });
  }
  return entries.map((entry) => ({ ...entry, end: entries.find(({ start }) => start > entry.start)?.start ?? null }));
}

/** A field by its name, on the first of these levels that an index lists. */
interface FieldSelector {
  readonly name: string;
  readonly levels: readonly string[];
}

/** The fields that the hail forecast uses, by their names in index files. */
export const HAIL_FIELDS: readonly FieldSelector[] = [
  { name: 'REFC', levels: ['entire atmosphere', 'entire atmosphere (considered as a single layer)'] },
  { name: 'MXUPHL', levels: ['5000-2000 m above ground'] },
  { name: 'HAIL', levels: ['surface'] },
  { name: 'CAPE', levels: ['255-0 mb above ground', '180-0 mb above ground', '90-0 mb above ground', 'surface'] },
  ...['700 mb', '500 mb'].flatMap((level) => [
    { name: 'TMP', levels: [level] },
    { name: 'HGT', levels: [level] },
  ]),
  { name: 'HGT', levels: ['0C isotherm'] },
  { name: 'HGT', levels: ['surface'] },
  { name: 'VUCSH', levels: ['0-6000 m above ground'] },
  { name: 'VVCSH', levels: ['0-6000 m above ground'] },
  { name: 'SPFH', levels: ['2 m above ground'] },
];

/** Byte ranges of the messages that hold the selected fields, ascending; adjacent messages share a range. */
export function selectRanges(entries: readonly IndexEntry[], selectors: readonly FieldSelector[]): ByteRange[] {
  const selected = selectors.flatMap(({ name, levels }) => {
    const level = levels.find((each) => entries.some((entry) => entry.name === name && entry.level === each));
    return entries.filter((entry) => entry.name === name && entry.level === level);
  });
  const ranges: ByteRange[] = [];
  for (const { start, end } of selected.toSorted((a, b) => a.start - b.start)) {
    const last = ranges.at(-1);
    if (last?.end === start) ranges[ranges.length - 1] = { start: last.start, end };
    else if (last === undefined || (last.end !== null && last.end < start)) ranges.push({ start, end });
  }
  return ranges;
}
