import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { Table } from '../../schemas/columns.ts';
import { newId } from '../../schemas/ids.ts';
import { layout } from '../../schemas/layout.ts';
import { MANIFEST_VERSION, type Manifest, type RootName } from '../../schemas/manifest.ts';
import type { DayMax } from '../../schemas/tables/day-max.ts';
import { DAY_TABLES } from '../../schemas/tables/index.ts';
import { scanId, timestamp } from '../../schemas/time.ts';
import { type Engine, openEngine } from '../duckdb.ts';
import { DiskRefusal, isDiskRefusal, PipelineError } from '../error.ts';
import {
  commitEdits,
  type Edit,
  type Feeds,
  finishHeads,
  placeFiles,
  type StagedFile,
  switchCurrent,
} from './commit.ts';
import { monthEdit, regroup, unfinishedHours } from './compact.ts';
import { DERIVED_SEGMENT, deriveDay } from './day.ts';
import { type LiveScan, liveScan, liveScanIds, newestScan, readLiveScans, stageLive } from './live-window.ts';
import { type Lock, takeLock } from './lock.ts';
import { listPartitions, readCurrent, readNewest } from './manifests.ts';
import { type ScanProducts, type Segment, stageSegment } from './segment.ts';
import { type PublishedTable, publishStatic } from './static.ts';
import { readIfPresent, replaceFile } from './store.ts';
import { clearStaging, type Swept, sweep } from './sweep.ts';
import { sweepRaw } from './sweep-raw.ts';

/** Segments of one storm date that are published together, in place of others. */
export interface DateCommit {
  readonly storm_date: string;
  readonly source: Manifest['source'];
  readonly drop_segments: readonly string[];
  readonly segments: readonly Segment[];
  readonly feeds: Feeds;
}

/** A data root that this process may write: it holds the lock, the newest lists, and the live window. */
export interface Root {
  readonly path: string;
  readonly engine: Engine;
  /** Folder for files on their way; emptied when the root is closed. */
  readonly staging: string;
  /** Newest manifest of every storm date. */
  readonly heads: ReadonlyMap<string, Manifest>;
  readonly stage: (products: readonly ScanProducts[], dayMax: readonly DayMax[], state: Uint8Array) => Promise<Segment>;
  /** Publishes dates together: readers see all of it or none of it. `fresh` are the scans whose rows are at hand. */
  readonly commit: (dates: readonly DateCommit[], fresh: readonly ScanProducts[], now_ms: number) => Promise<void>;
  /** Publishes files of a date that holds no scans, in place of segments. */
  readonly publishDay: (
    storm_date: string,
    source: Manifest['source'],
    drop_segments: readonly string[],
    files: readonly StagedFile[],
    closed: boolean,
    now_ms: number,
  ) => Promise<void>;
  /** Draws tiers, the event day and the daily archive of a date again. */
  readonly derive: (storm_date: string, now_ms: number) => Promise<void>;
  /** Joins the segments of finished hours. Returns how many hours were joined. */
  readonly rollUp: (storm_date: string, now_ms: number) => Promise<number>;
  /** Turns a finished date into day files; false when it is closed already. */
  readonly closeDay: (storm_date: string, now_ms: number) => Promise<boolean>;
  /** Joins the closed dates of a month; false when fewer than `least` (default 1) closed or changed since. */
  readonly joinMonth: (month: string, now_ms: number, least?: number) => Promise<boolean>;
  /** Publishes the rows of a table that belongs to no date, in place of all it held. */
  readonly publishStatic: (
    table: Table,
    rows: readonly Record<string, unknown>[],
    now_ms: number,
  ) => Promise<PublishedTable>;
  /** Takes everything of a date off its list, so that data of the other kind may take its place. */
  readonly clear: (storm_date: string, now_ms: number) => Promise<void>;
  /** Deletes what nobody needs any more, and raw files that came so many days ago; null keeps those for ever. */
  readonly sweep: (now_ms: number, raw_keep_days: number | null) => Promise<Swept>;
  /** Throws RootLost when the root was moved away or its lock was deleted; every write below it must come after such a look. */
  readonly check: () => void;
  readonly close: () => Promise<void>;
}

/**
 * Opens a data root for writing: takes its lock, names it, removes what dead runs left in staging, and finishes a commit whose
 * process was killed between its manifests and the switch. Throws Conflict naming the holder when the root is taken.
 */
export async function openRoot(
  path: string,
  command: string,
  storm_day_start_hour: number,
  now_ms: number,
): Promise<Root> {
  let lock: Lock | undefined;
  try {
    lock = takeLock(path, command, now_ms);
    await nameRoot(path, now_ms);
    await clearStaging(path);
    await finishHeads(path);
    return await opened(path, lock, storm_day_start_hour, now_ms);
  } catch (error) {
    lock?.release();
    throw explainDisk(path, error);
  }
}

async function opened(path: string, lock: Lock, storm_day_start_hour: number, now_ms: number): Promise<Root> {
  const heads = await readHeads(path, storm_day_start_hour);
  const staging = join(path, layout.staged(randomBytes(6).toString('hex')));
  await fs.mkdir(staging, { recursive: true });
  const engine = await openEngine(staging);
  let live: readonly LiveScan[] = [];
  let liveIsOurs = false;

  /** Brings the live window up to date, and replaces the switch. */
  const switchOver = async (fresh: readonly ScanProducts[], at_ms: number, redone: boolean) => {
    const newest_ms = newestScan(heads.values());
    if (newest_ms === null) return;
    const wanted = liveScanIds(heads.values(), newest_ms);
    const known = new Map<string, LiveScan>(
      redone || !liveIsOurs ? [] : live.map((scan) => [scanId(scan.scan_time), scan]),
    );
    const inWindow = new Set(wanted);
    for (const scan of fresh) {
      const id = scanId(scan.scan_time);
      if (inWindow.has(id)) known.set(id, liveScan(scan));
    }
    const missing = wanted.filter((id) => !known.has(id));
    const holders = [...heads.values()].filter((head) => head.scans.some((scan) => inWindow.has(scan.scan_id)));
    for (const scan of await readLiveScans(engine, path, holders, missing)) known.set(scanId(scan.scan_time), scan);
    live = wanted.map((id) => known.get(id) as LiveScan);
    liveIsOurs = true;
    const { current, files } = await stageLive(staging, live, heads.values(), at_ms);
    lock.check();
    await placeFiles(path, files);
    await switchCurrent(path, current);
  };

  const publish = async (edits: readonly Edit[], at_ms: number) => {
    const changes = edits.map((edit) => ({ previous: heads.get(edit.partition) ?? null, edit }));
    for (const manifest of await commitEdits(path, changes, at_ms, lock.check)) heads.set(manifest.partition, manifest);
  };

  const guarded = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      lock.check();
      return await work();
    } catch (error) {
      // What fails because the root has gone fails for that reason.
      lock.check();
      throw explainDisk(path, error);
    }
  };

  const head = (storm_date: string): Manifest => {
    const manifest = heads.get(storm_date);
    if (manifest === undefined)
      throw new PipelineError('publish', storm_date, 'has no published scans, expected a date with some');
    return manifest;
  };

  await finishInterrupted(path, heads, () => switchOver([], now_ms, true));
  return {
    path,
    engine,
    staging,
    heads,
    stage: (products, dayMax, state) => guarded(() => stageSegment(engine, staging, products, dayMax, state)),
    commit: (dates, fresh, at_ms) =>
      guarded(async () => {
        const redone = dates.some((date) => date.drop_segments.length > 0);
        await publish(
          dates.map((date) => scanEdit(date, storm_day_start_hour)),
          at_ms,
        );
        await switchOver(fresh, at_ms, redone);
      }),
    publishDay: (storm_date, source, drop_segments, add_files, closed, at_ms) =>
      guarded(async () => {
        const changed_tables = [...new Set(add_files.flatMap(({ entry }) => entry.table ?? []))];
        const edit: Edit = {
          partition: storm_date,
          source,
          storm_day_start_hour,
          drop_segments,
          add_scans: [],
          feeds: {},
          add_files,
          relist_files: [],
          changed_tables,
          closed,
          dates: null,
        };
        await publish([edit], at_ms);
        await switchOver([], at_ms, false);
      }),
    derive: (storm_date, at_ms) =>
      guarded(async () => {
        const manifest = head(storm_date);
        const files = await deriveDay(engine, path, staging, manifest);
        await publish(
          [
            {
              ...regroupNothing(manifest),
              drop_segments: [DERIVED_SEGMENT],
              add_files: files,
              changed_tables: changedDayTables(manifest, files),
            },
          ],
          at_ms,
        );
        await switchOver([], at_ms, false);
      }),
    rollUp: (storm_date, at_ms) =>
      guarded(async () => {
        const hours = unfinishedHours(head(storm_date));
        for (const segments of hours)
          await publish([await regroup(engine, path, staging, head(storm_date), segments, false)], at_ms);
        if (hours.length > 0) await switchOver([], at_ms, false);
        return hours.length;
      }),
    closeDay: (storm_date, at_ms) =>
      guarded(async () => {
        const manifest = head(storm_date);
        if (manifest.closed) return false;
        const segments = [...new Set(manifest.scans.map((scan) => scan.segment))];
        const edit = await regroup(engine, path, staging, manifest, segments, true);
        const files = await deriveDay(engine, path, staging, manifest);
        await publish(
          [
            {
              ...edit,
              drop_segments: [...segments, DERIVED_SEGMENT],
              add_files: [...edit.add_files, ...files],
              changed_tables: [...edit.changed_tables, ...changedDayTables(manifest, files)],
            },
          ],
          at_ms,
        );
        await switchOver([], at_ms, false);
        return true;
      }),
    joinMonth: (month, at_ms, least = 1) =>
      guarded(async () => {
        const partition = layout.monthPartition(month);
        const days = [...heads.values()].filter((day) => day.closed && day.partition.startsWith(month));
        const previous = await readNewest(path, partition);
        if (days.filter((day) => previous?.dates?.[day.partition] !== day.commit).length < least) return false;
        const edit = await monthEdit(engine, path, staging, month, days, previous);
        await commitEdits(path, [{ previous, edit }], at_ms, lock.check);
        return true;
      }),
    publishStatic: (table, rows, at_ms) =>
      guarded(() => publishStatic(engine, path, staging, table, rows, storm_day_start_hour, at_ms, lock.check)),
    clear: (storm_date, at_ms) =>
      guarded(async () => {
        const manifest = head(storm_date);
        const segments = [...new Set(manifest.files.map((file) => file.segment))];
        const changed_tables = Object.keys(manifest.table_commits);
        await publish([{ ...regroupNothing(manifest), closed: false, drop_segments: segments, changed_tables }], at_ms);
        await switchOver([], at_ms, true);
      }),
    sweep: (at_ms, raw_keep_days) =>
      guarded(async () => {
        const swept = await sweep(path, at_ms);
        if (raw_keep_days === null) return swept;
        const raw = await sweepRaw(path, heads, raw_keep_days, at_ms);
        return { files: swept.files + raw.files, bytes: swept.bytes + raw.bytes };
      }),
    check: lock.check,
    close: async () => {
      try {
        engine.close();
        await fs.rm(staging, { recursive: true, force: true });
      } finally {
        lock.release();
      }
    },
  };
}

/** Gives a data root its name, once: readers tell by it a root that vanished from one that never held anything. */
async function nameRoot(path: string, now_ms: number): Promise<void> {
  const file = join(path, layout.root);
  if ((await readIfPresent(file)) !== null) return;
  const name: RootName = {
    manifest_version: MANIFEST_VERSION,
    root_id: newId('root', now_ms),
    created_at: timestamp(now_ms),
  };
  await replaceFile(file, `${JSON.stringify(name)}\n`);
}

async function readHeads(path: string, storm_day_start_hour: number): Promise<Map<string, Manifest>> {
  const heads = new Map<string, Manifest>();
  for (const date of (await listPartitions(path)).dates) {
    const head = await readNewest(path, date);
    if (head === null) continue; // its first commit was killed before the head was moved
    if (head.storm_day_start_hour !== storm_day_start_hour)
      throw new PipelineError(
        'publish',
        date,
        `was published with storm days that start at ${head.storm_day_start_hour} UTC, expected ${storm_day_start_hour} (HAIL_STORM_DAY_START_HOUR)`,
      );
    heads.set(date, head);
  }
  return heads;
}

/** Replaces the switch when a killed process had moved a head but not yet the switch. */
async function finishInterrupted(
  path: string,
  heads: ReadonlyMap<string, Manifest>,
  switchOver: () => Promise<void>,
): Promise<void> {
  const current = await readCurrent(path);
  const newest_ms = newestScan(heads.values());
  if (newest_ms === null) return;
  const open = [...heads.values()].filter((head) => !head.closed);
  const pinned = current?.open_dates ?? {};
  const agrees =
    current?.scan_id === scanId(newest_ms) &&
    open.length === Object.keys(pinned).length &&
    open.every((head) => pinned[head.partition] === head.commit);
  if (!agrees) await switchOver();
}

function scanEdit(date: DateCommit, storm_day_start_hour: number): Edit {
  const files = date.segments.flatMap((segment) => segment.files);
  const tables = files.map((file) => file.entry.table).filter((table) => table !== null);
  return {
    partition: date.storm_date,
    source: date.source,
    storm_day_start_hour,
    drop_segments: date.drop_segments,
    add_scans: date.segments.flatMap((segment) => segment.scans),
    add_files: files,
    feeds: date.feeds,
    relist_files: [],
    // A scan without hail still changes what is known of every table: its absence is an answer.
    changed_tables: [...new Set([...tables, 'detections', 'cells', 'tracks', 'day-max'])],
    closed: false,
    dates: null,
  };
}

function regroupNothing(manifest: Manifest): Edit {
  const { partition, source, storm_day_start_hour, closed } = manifest;
  return {
    partition,
    source,
    storm_day_start_hour,
    closed,
    drop_segments: [],
    add_scans: [],
    feeds: {},
    add_files: [],
    relist_files: [],
    changed_tables: [],
    dates: null,
  };
}

/** Entry of a manifest's table commits that says when what follows from the whole date was drawn last. */
const DAILY = 'daily';

/** True when scans were published since the tiers, the event day and the daily archive of a date were drawn. */
export function isDerivationDue(manifest: Manifest): boolean {
  const { [DAILY]: drawn = 0, ...tables } = manifest.table_commits;
  const derived = new Set<string>(DAY_TABLES.map(({ name }) => name));
  return Object.entries(tables).some(([table, commit]) => !derived.has(table) && commit > drawn);
}

/** Day tables whose content is not what the list had, and the mark that they were drawn. */
function changedDayTables(
  manifest: Manifest,
  files: readonly { entry: { table: string | null; sha256: string } }[],
): string[] {
  const hashOf = (list: readonly { table: string | null; sha256: string }[], table: string) =>
    list.find((file) => file.table === table)?.sha256;
  const entries = files.map((file) => file.entry);
  return [
    DAILY,
    ...DAY_TABLES.map(({ name }) => name).filter((name) => hashOf(manifest.files, name) !== hashOf(entries, name)),
  ];
}

function explainDisk(path: string, error: unknown): unknown {
  return isDiskRefusal(error) && !(error instanceof DiskRefusal) ? new DiskRefusal('publish', path, error) : error;
}
