import type { ForecastModel } from '../../schemas/tables/forecast.ts';
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
  /** Start of the run, epoch milliseconds. */
  readonly run_time: number;
  readonly lead_h: number;
}

/** Files that one hour consists of. */
const PARTS: Readonly<Record<ForecastModel, readonly string[]>> = {
  hrrr: ['wrfsfc'],
  rrfs: ['2dfld', 'prslev'],
  nam: ['awp211'],
};

/** Keys of the files of one hour of a run in the public buckets. */
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

/** The hour that a path with a bucket key at its end belongs to; null for any other path. */
export function parseModelKey(path: string): ModelHourName | null {
  for (const [model, pattern] of PATTERNS) {
    const [, date = '', hour = '', lead = ''] = pattern.exec(path) ?? [];
    const run_time = Date.parse(`${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}T${hour}:00:00Z`);
    const name = { model, run_time, lead_h: Number(lead) };
    // Date.parse accepts 31 June: the key of the parsed name must be the path.
    if (!Number.isNaN(run_time) && modelKeys(name).some((key) => path === key || path.endsWith(`/${key}`))) return name;
  }
  return null;
}

/**
 * Hours between the runs of a model whose files we read, and the age at which its newest run shows that the model has stopped. The
 * fields of RRFS are complete for every third hour, nearly four hours after the start of the run.
 * Source: RRFS v1 product tables of the National Weather Service, the bucket's listing in autumn 2026.
 */
const SCHEDULE: Readonly<Record<ForecastModel, { readonly every_h: number; readonly oldest_h: number }>> = {
  hrrr: { every_h: 1, oldest_h: 4 },
  rrfs: { every_h: 3, oldest_h: 8 },
  nam: { every_h: 6, oldest_h: 12 },
};

/** Age of the newest run, hours, from which a model counts as stopped. */
export function oldestRunHours(model: ForecastModel): number {
  return SCHEDULE[model].oldest_h;
}

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

/** One field of a GRIB2 file in its index; fields of one message share an offset. */
export interface IndexEntry {
  readonly offset: number;
  /** First byte of the next message; null for the last message, which ends with the file. */
  readonly end: number | null;
  readonly name: string;
  readonly level: string;
}

/** Bytes from `start` up to, not including, `end`; to the end of the file where that is null. */
export interface ByteRange {
  readonly start: number;
  readonly end: number | null;
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
  const entries: Omit<IndexEntry, 'end'>[] = [];
  for (const [k, line] of lines.entries()) {
    const [, digits, date, name = '', level = ''] = LINE.exec(line.trim()) ?? [];
    const bad = (found: string) => new BadInput('sources', subject, `line ${k + 1} ${found}`);
    if (date === undefined) throw bad(`is '${line.trim().slice(0, 60)}', expected number:offset:d=date:name:level:`);
    if (date !== run) throw bad(`is of run ${date}, expected ${run}`);
    const least = entries.at(-1)?.offset ?? 0;
    if (Number(digits) < least) throw bad(`begins at ${digits}, expected at least ${least}`);
    entries.push({ offset: Number(digits), name, level });
  }
  return entries.map((entry) => ({
    ...entry,
    end: entries.find(({ offset }) => offset > entry.offset)?.offset ?? null,
  }));
}

/** A field by its name, on the first of these levels that an index lists. */
export interface FieldSelector {
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
  for (const { offset, end } of selected.toSorted((a, b) => a.offset - b.offset)) {
    const last = ranges.at(-1);
    if (last?.end === offset) ranges[ranges.length - 1] = { start: last.start, end };
    else if (last === undefined || (last.end !== null && last.end < offset)) ranges.push({ start: offset, end });
  }
  return ranges;
}
