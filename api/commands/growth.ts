import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { counted, readableBytes } from '../../schemas/command-line.ts';
import { layout } from '../../schemas/layout.ts';

/** Number of the newest whole dates that the mean of a day is taken from. */
const DATES = 7;
/** Days left below which the finding is a note or a fault. Two days leave the operator one evening to act. */
const NOTE_BELOW_DAYS = 14;
const FAULT_BELOW_DAYS = 2;

/** Disk space of one date, bytes. */
interface DateBytes {
  readonly raw: number;
  readonly published: number;
}

/** How fast a data root grows and how long the disk lasts. */
interface Growth {
  /** Mean of the dates that were measured, bytes. */
  readonly per_day: DateBytes;
  readonly dates: number;
  readonly free_bytes: number;
  /** Whole days of data that still fit; null without a date to measure. */
  readonly days_left: number | null;
}

/** Finding of `doctor` on the growth of a data root. */
interface GrowthFinding {
  readonly status: 'ok' | 'note' | 'fault';
  readonly message: string;
}

/** Measures how fast the data root grows and how many days are left on its disk. */
export function growthFinding(data_root: string, raw_keep_days: number | null): GrowthFinding {
  if (!existsSync(data_root))
    return { status: 'note', message: `${data_root} is not there: nothing can be said of its disk` };
  const disk = statfsSync(data_root);
  const growth = growthOf(bytesByDate(data_root), disk.bavail * disk.bsize, raw_keep_days);
  const free = `${readableBytes(growth.free_bytes)} are free`;
  if (growth.days_left === null) return { status: 'ok', message: `no date has data yet, ${free}` };
  const { raw, published } = growth.per_day;
  const kept = raw_keep_days === null ? 'kept for ever' : `kept for ${counted(raw_keep_days, 'day')}`;
  const day = `a day of data takes ${readableBytes(raw + published)} (mean of ${counted(growth.dates, 'date')}), ${readableBytes(raw)} of it raw files that are ${kept}`;
  const status = growth.days_left < FAULT_BELOW_DAYS ? 'fault' : growth.days_left < NOTE_BELOW_DAYS ? 'note' : 'ok';
  return { status, message: `${day}; ${free}: ${counted(growth.days_left, 'day')} left` };
}

/**
 * Growth from the disk space of dates. The newest date may still be running and counts only when there is no other. Raw files
 * with a limited lifetime stop growing once that many days are there.
 */
export function growthOf(
  dates: ReadonlyMap<string, DateBytes>,
  free_bytes: number,
  raw_keep_days: number | null,
): Growth {
  const sorted = [...dates.keys()].sort();
  const whole = (sorted.length > 1 ? sorted.slice(0, -1) : sorted).slice(-DATES);
  const mean = (part: keyof DateBytes) =>
    whole.reduce((sum, date) => sum + (dates.get(date) as DateBytes)[part], 0) / Math.max(1, whole.length);
  const per_day = { raw: mean('raw'), published: mean('published') };
  return {
    per_day,
    dates: whole.length,
    free_bytes,
    days_left: whole.length === 0 ? null : daysLeft(per_day, free_bytes, raw_keep_days, dates),
  };
}

function daysLeft(
  { raw, published }: DateBytes,
  free_bytes: number,
  raw_keep_days: number | null,
  dates: ReadonlyMap<string, DateBytes>,
): number {
  if (raw_keep_days === null) return Math.floor(free_bytes / Math.max(1, raw + published));
  const here = [...dates.values()].filter((date) => date.raw > 0).length;
  const filling_days = Math.max(0, raw_keep_days - here);
  const until_full = free_bytes / Math.max(1, raw + published);
  if (until_full <= filling_days) return Math.floor(until_full);
  return Math.floor((free_bytes - filling_days * raw) / Math.max(1, published));
}

/** Bytes below every folder `date=…` of a data root, raw files apart from what is published; without reflectivity, which is not kept. */
function bytesByDate(data_root: string): Map<string, DateBytes> {
  const found = new Map<string, DateBytes>();
  const add = (part: keyof DateBytes, folder: string) => {
    for (const name of namesIn(folder)) {
      const date = /^date=(\d{4}-\d{2}-\d{2})$/.exec(name)?.[1];
      if (date === undefined) continue;
      const before = found.get(date) ?? { raw: 0, published: 0 };
      found.set(date, { ...before, [part]: before[part] + bytesIn(join(folder, name)) });
    }
  };
  for (const [part, top] of [
    ['raw', layout.raw],
    ['published', layout.tables],
    ['published', layout.tiles],
  ] as const)
    for (const name of namesIn(join(data_root, top)))
      if (`${top}/${name}` !== layout.reflectivity) add(part, join(data_root, top, name));
  add('published', join(data_root, layout.state));
  return found;
}

function bytesIn(folder: string): number {
  return namesIn(folder).reduce(
    (sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

/** Names in a folder; none when it does not exist, or was deleted meanwhile. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}
