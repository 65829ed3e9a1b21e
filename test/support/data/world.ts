import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { ExecutionContext } from 'ava';
import { type Log, silent } from '../../../pipeline/log.ts';
import { compactDay, compactMonth } from '../../../pipeline/publish/compact.ts';
import { openRoot } from '../../../pipeline/publish/open-root.ts';
import type { Root } from '../../../pipeline/publish/root.ts';
import type { RunSummary } from '../../../pipeline/scans/ingest.ts';
import { type ReadPool, readAndPaint } from '../../../pipeline/scans/read.ts';
import { openSession, type Session } from '../../../pipeline/scans/session.ts';
import { writeScans } from '../../../pipeline/simulate/evening.ts';
import { listFolder } from '../../../pipeline/sources/folder.ts';
import { SCAN_PRODUCT, type SourceFile } from '../../../pipeline/sources/names.ts';
import { planScans } from '../../../pipeline/sources/plan.ts';
import type { Window } from '../../../schemas/geo/lattice.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { monthOf } from '../../../schemas/time.ts';
import { copyFolder, prepared } from './prepared.ts';

/** The tiny world: 150 x 200 pixels over Oklahoma, 90 minutes around a midnight, storms of all kinds. */
const WINDOW: Window = { row0: 1900, col0: 3200, rows: 150, cols: 200 };
const DATES = ['2026-05-01', '2026-05-02'] as const;
/** A data clock just after the evening: its dates are still open. */
export const NOW_MS = Date.parse('2026-05-02T00:55:00Z');
/** A data clock at which both dates of the evening are over and joined into their month. */
export const MONTH_LATER_MS = Date.parse('2026-06-02T12:00:00Z');

/** Where tests write: in memory where the machine offers enough of it, because what they wait for otherwise is the disk. */
export const SCRATCH = roomy('/dev/shm') ? '/dev/shm' : tmpdir();

function roomy(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize > 2 ** 30;
}

/** One scan of the tiny world: its raw files, MESH first. */
export interface RawScan {
  readonly scan_id: string;
  readonly time_ms: number;
  readonly files: readonly SourceFile[];
}

/** Copies that this test process has made. */
const copies: string[] = [];

/** A copy of a folder for this test process alone; it disappears with it. */
export function ownCopy(folder: string): string {
  const copy = mkdtempSync(join(SCRATCH, 'hail-copy-'));
  if (copies.length === 0)
    process.once('exit', () => {
      for (const each of copies) rmSync(each, { recursive: true, force: true });
    });
  copies.push(copy);
  copyFolder(folder, copy);
  return copy;
}

/** The evening over a window, around the midnight between two dates; simulated once for all test processes. */
export function worldOver(window: Window) {
  let evening: Promise<RawScan[]> | undefined;
  /** Every scan of the evening, about 45 of them, in order. */
  const rawScans = () => {
    evening ??= readEvening(window);
    return evening;
  };
  /** Scans of the evening from `HH:MM` (before midnight 23:, after it 00:) to `HH:MM`, the end not included. */
  const scansBetween = async (from: string, to: string) => {
    const at = (clock: string) => Date.parse(`${DATES[clock.startsWith('23') ? 0 : 1]}T${clock}:00Z`);
    return (await rawScans()).filter(({ time_ms }) => time_ms >= at(from) && time_ms < at(to));
  };
  /** The twelve scans around midnight that most tests work with, six on each side. */
  return { rawScans, scansBetween, midnight: () => scansBetween('23:48', '00:12') };
}

export const { rawScans, scansBetween, midnight } = worldOver(WINDOW);

async function readEvening(window: Window): Promise<RawScan[]> {
  const name = `evening-${Object.values(window).join('-')}`;
  const span = { from_ms: Date.parse(`${DATES[0]}T23:20:00Z`), to_ms: Date.parse(`${DATES[1]}T00:50:00Z`) };
  const { files } = await listFolder(ownCopy(await prepared(name, (out) => simulate(window, { ...span, out }))));
  const byTime = Map.groupBy(files, (file) => file.time_ms);
  return planScans(files).scans.map(({ scan_id, scan_time, mesh }) => ({
    scan_id,
    time_ms: scan_time,
    files: [mesh, ...(byTime.get(scan_time) ?? []).filter((file) => file.product !== SCAN_PRODUCT)],
  }));
}

async function simulate(window: Window, run: Parameters<typeof writeScans>[1]): Promise<void> {
  const scenario = { seed: 41, window, day_type: 'outbreak', steady: true, sites: WSR88D } as const;
  for await (const _ of writeScans(scenario, run));
}

/** All raw files of some scans. */
export function filesOf(scans: readonly RawScan[]): SourceFile[] {
  return scans.flatMap((scan) => scan.files);
}

/** A scratch folder that disappears with the test. */
export async function scratch(t: ExecutionContext, name = 'root'): Promise<string> {
  const folder = await fs.mkdtemp(join(SCRATCH, 'hail-test-'));
  t.teardown(() => fs.rm(folder, { recursive: true, force: true }));
  return join(folder, name);
}

/** A copy of a folder for one test. */
export async function copyOf(t: ExecutionContext, folder: string): Promise<string> {
  const copy = await scratch(t);
  copyFolder(folder, copy);
  return copy;
}

/** Copies raw files flat into a folder, as somebody would deliver them; returns the folder. */
export async function deliver(folder: string, files: readonly SourceFile[]): Promise<string> {
  await fs.mkdir(folder, { recursive: true });
  for (const file of files) await fs.copyFile(file.location, join(folder, file.name));
  return folder;
}

export interface OpenSettings {
  readonly now_ms?: number;
  readonly each_scan?: boolean;
  readonly move_raw?: boolean;
  readonly storm_day_start_hour?: number;
  readonly log?: Log;
  readonly readPool?: ReadPool;
  readonly raw_keep_days?: number;
  /** None is painted unless this is given. */
  readonly reflectivity_keep_hours?: number;
  readonly signal?: AbortSignal;
}

/** A pool without threads. */
const readPool: ReadPool = { read: readAndPaint, close: async () => {} };

/** Opens a data root, works on it, and closes it. */
export async function onRoot<Result>(
  path: string,
  settings: OpenSettings,
  work: (opened: { readonly root: Root; readonly session: Session }) => Promise<Result>,
): Promise<Result> {
  const { now_ms = NOW_MS, storm_day_start_hour = 0 } = settings;
  const log = settings.log ?? silent;
  const root = await openRoot(path, 'test', storm_day_start_hour, now_ms, log);
  try {
    const session = openSession(root, settings.readPool ?? readPool, {
      storm_day_start_hour,
      now: () => now_ms,
      log,
      move_raw: settings.move_raw ?? false,
      each_scan: settings.each_scan ?? false,
      raw_keep_days: settings.raw_keep_days ?? null,
      reflectivity_keep_hours: settings.reflectivity_keep_hours ?? 0,
      ...(settings.signal === undefined ? {} : { signal: settings.signal }),
    });
    return await work({ root, session });
  } finally {
    await root.close();
  }
}

/** One run of a process: opens the root, ingests files, finishes dates, closes. */
export function ingest(
  path: string,
  given: readonly RawScan[] | readonly SourceFile[],
  settings: OpenSettings = {},
): Promise<RunSummary> {
  return onRoot(path, settings, async ({ session }) => {
    const run = await session.ingest(given.flatMap((one) => ('files' in one ? one.files : [one])));
    await session.finishDates();
    return run;
  });
}

/** A raw file with other content under the same name, in a folder of its own. */
export async function altered(folder: string, file: SourceFile, content: Uint8Array): Promise<SourceFile> {
  const location = join(folder, basename(file.name));
  await fs.mkdir(dirname(location), { recursive: true });
  await fs.writeFile(location, content);
  return { ...file, location, bytes: content.length };
}

/** How a data root came about, as far as its content depends on it. */
export type PublishSettings = Pick<OpenSettings, 'now_ms' | 'each_scan' | 'reflectivity_keep_hours'>;

/** A data root that saw these scans in one run, made once for all test processes; not to be written to. */
export async function preparedRoot(scans: readonly RawScan[], settings: PublishSettings = {}): Promise<string> {
  return prepared(`root-${await publicationOf(scans, settings)}`, (root) => ingest(root, scans, settings));
}

/** The same once its dates are over, closed and joined into their month; made once for all test processes, not to be written to. */
export async function preparedMonth(scans: readonly RawScan[]): Promise<string> {
  return prepared(`month-${await publicationOf(scans)}`, async (folder) => {
    copyFolder(await preparedRoot(scans), folder);
    await onRoot(folder, { now_ms: MONTH_LATER_MS }, async ({ root }) => {
      const dates = [...root.heads.keys()];
      for (const date of dates) await compactDay(root, date, MONTH_LATER_MS);
      for (const month of new Set(dates.map(monthOf))) await compactMonth(root, month, MONTH_LATER_MS);
    });
  });
}

/** A name for what a data root is published from: the bytes of every file, and how. */
export async function publicationOf(scans: readonly RawScan[], settings: PublishSettings = {}): Promise<string> {
  const { now_ms = NOW_MS, each_scan = false, reflectivity_keep_hours = 0 } = settings;
  const hash = createHash('sha256').update(`${now_ms} ${each_scan} ${reflectivity_keep_hours}`);
  for (const { name, location } of filesOf(scans)) hash.update(name).update(await fs.readFile(location));
  return hash.digest('hex').slice(0, 16);
}

/** Leaves in a new data root what one `ingest` of these scans leaves there. */
export async function publish(root: string, scans: readonly RawScan[], settings: PublishSettings = {}): Promise<void> {
  if (existsSync(root) && readdirSync(root).length > 0) throw new Error(`${root} holds something, expected a new root`);
  copyFolder(await preparedRoot(scans, settings), root);
}

/** A data root of the test's own that saw these scans. */
export async function publishedRoot(
  t: ExecutionContext,
  scans: readonly RawScan[],
  settings: PublishSettings = {},
): Promise<string> {
  const root = await scratch(t);
  await publish(root, scans, settings);
  return root;
}

/** Octet 20 of section 1 of a GRIB2 file, which begins at byte 16: where the simulator leaves its mark. */
const PRODUCTION_STATUS_AT = 35;

/** The same scans as a radar centre would have sent them: without the mark of simulated data. */
export async function asObserved(t: ExecutionContext, scans: readonly RawScan[]): Promise<RawScan[]> {
  const folder = await scratch(t, 'observed');
  const observed = async (file: SourceFile) => {
    const bytes = gunzipSync(await fs.readFile(file.location));
    bytes[PRODUCTION_STATUS_AT] = 0;
    return altered(folder, file, gzipSync(bytes));
  };
  return Promise.all(scans.map(async (scan) => ({ ...scan, files: await Promise.all(scan.files.map(observed)) })));
}
