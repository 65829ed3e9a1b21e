import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { CollectionName } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import { dueForDeletion, markForDeletion, vouchedTime } from '../../schemas/deletion-clock.ts';
import type { Head } from '../../schemas/head.ts';
import { newId } from '../../schemas/ids.ts';
import { foreignFolders, layout } from '../../schemas/layout.ts';
import {
  DAILY,
  ingestedAt,
  MANIFEST_VERSION,
  type Manifest,
  REFLECTIVITY,
  type RootName,
} from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { type DayMax, dayMax } from '../../schemas/tables/day-max.ts';
import { DAY_TABLES, SCORE_TABLES } from '../../schemas/tables/index.ts';
import { scores } from '../../schemas/tables/scores.ts';
import { MS_PER_HOUR, scanId, timestamp } from '../../schemas/time.ts';
import { type Engine, openEngine } from '../duckdb.ts';
import { DiskRefusal, isDiskRefusal, PipelineError } from '../error.ts';
import { deviceOf, readIfPresent, replaceFile } from '../files.ts';
import { type CollectionSegment, publishCollection } from './collection.ts';
import {
  type Change,
  commitEdits,
  type Edit,
  editOf,
  type Feeds,
  finishHeads,
  placeFiles,
  type StagedFile,
  samePartition,
  switchCurrent,
} from './commit.ts';
import { monthEdit, regroup, unfinishedHours } from './compact.ts';
import { type DateHead, type Dates, openDates } from './dates.ts';
import { DERIVED_SEGMENT, deriveDay, SCORE_SEGMENT } from './day.ts';
import { keepRootClock, lastPublished, lookAtRootClock } from './deletion-clock.ts';
import { type LiveWindow, newestScan, openLiveWindow } from './live-window.ts';
import { type Lock, takeLock } from './lock.ts';
import { readCurrent, readHead, readNewest } from './manifests.ts';
import { expiredReflectivity, replacedReflectivity } from './reflectivity.ts';
import { type ScanProducts, type Segment, stageSegment } from './segment.ts';
import { type PublishedTable, publishStatic, type StaticContent } from './static.ts';
import { clearStaging, type Swept, sweep } from './sweep.ts';
import { sweepRaw } from './sweep-raw.ts';

/** Segments that are made of the published rows of their date: they bring no rows of their own. */
const FROM_ROWS: ReadonlySet<string> = new Set([DERIVED_SEGMENT, SCORE_SEGMENT]);

/** Segments of one storm date that are published together, in place of others. */
export interface DateCommit {
  readonly storm_date: string;
  readonly provenance: MixedProvenance;
  readonly drop_segments: readonly string[];
  readonly segments: readonly Segment[];
  readonly feeds: Feeds;
}

/** A data root that this process may write: it holds the lock, the heads of all dates, and the live window. */
export interface Root {
  readonly path: string;
  readonly engine: Engine;
  readonly storm_day_start_hour: number;
  /** Folder for files on their way; emptied when the root is closed. */
  readonly staging: string;
  /** What is published of every storm date, in short. */
  readonly heads: Dates['heads'];
  /** The newest list of a storm date; null when nothing was published for it. */
  readonly manifest: Dates['manifest'];
  readonly stage: (products: readonly ScanProducts[], dayMax: readonly DayMax[], state: Uint8Array) => Promise<Segment>;
  /** Publishes dates together: readers see all of it or none of it. `fresh` are the scans whose rows are at hand. */
  readonly commit: (dates: readonly DateCommit[], fresh: readonly ScanProducts[], now_ms: number) => Promise<void>;
  /** Publishes files that belong to no scan of a date, in place of segments; without files those segments are gone. */
  readonly publishDay: (
    storm_date: string,
    provenance: MixedProvenance,
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
  /** Publishes the rows of a static table, in place of all it held. */
  readonly publishStatic: (table: Table, content: StaticContent, now_ms: number) => Promise<PublishedTable>;
  /** Publishes segments of a collection in place of those of the same names; false when they are published already. */
  readonly publishCollection: (
    name: CollectionName,
    segments: readonly CollectionSegment[],
    drop_segments: readonly string[],
    now_ms: number,
  ) => Promise<boolean>;
  /** Takes everything of a date off its list, so that data of the other provenance may take its place. */
  readonly clear: (storm_date: string, now_ms: number) => Promise<void>;
  /** Drops archives of reflectivity from the lists whose scans are older than `keep_hours` before the newest one. Returns their count; the sweep deletes the files. */
  readonly expireReflectivity: (keep_hours: number, now_ms: number) => Promise<number>;
  /**
   * Deletes what no list names any more, and a share of the raw files that are over their term and were marked a day ago; null
   * keeps those for ever. `now_ms`: the machine's clock.
   */
  readonly sweep: (now_ms: number, raw_keep_days: number | null) => Promise<Swept>;
  /** Throws RootLost when the root was moved away or its lock was deleted; every write below it must come after such a look. */
  readonly check: () => void;
  readonly close: () => Promise<void>;
}

/** What publishing works with. */
interface Publisher {
  readonly path: string;
  readonly staging: string;
  readonly storm_day_start_hour: number;
  readonly lock: Lock;
  readonly engine: Engine;
  readonly dates: Dates;
  readonly live: LiveWindow;
  /** When the root had been published to last as it was opened, by the clock of the machine, epoch milliseconds; null: never. */
  readonly published_ms: number | null;
  /** When the clock was looked at last, monotonic milliseconds. */
  looked_ms: number;
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
    const [foreign] = foreignFolders((folder) => deviceOf(join(path, folder)));
    if (foreign !== undefined) throw new PipelineError('publish', join(path, foreign.path), foreign.reason);
    await nameRoot(path, now_ms);
    await clearStaging(path);
    await finishHeads(path);
    const dates = await openDates(path, storm_day_start_hour);
    const staging = join(path, layout.staged(randomBytes(6).toString('hex')));
    await fs.mkdir(staging, { recursive: true });
    const engine = await openEngine(staging);
    const live = openLiveWindow(engine, path, staging, dates);
    const published_ms = await lastPublished(path);
    const looked_ms = performance.now();
    const publisher = { path, staging, storm_day_start_hour, lock, engine, dates, live, published_ms, looked_ms };
    await finishInterrupted(publisher, now_ms);
    return rootOf(publisher);
  } catch (error) {
    lock?.release();
    throw explainDisk(path, error);
  }
}

function rootOf(publisher: Publisher): Root {
  const { path, engine, staging, dates, lock, storm_day_start_hour } = publisher;
  const guarded = <Result>(work: () => Promise<Result>) => guard(publisher, work);
  return {
    path,
    engine,
    storm_day_start_hour,
    staging,
    heads: dates.heads,
    manifest: dates.manifest,
    check: lock.check,
    stage: (products, maxima, state) => guarded(() => stageSegment(engine, staging, products, maxima, state)),
    commit: (commits, fresh, now_ms) => guarded(() => commitScans(publisher, commits, fresh, now_ms)),
    publishDay: (storm_date, provenance, drop_segments, add_files, closed, now_ms) =>
      guarded(async () => {
        const previous = await dates.manifest(storm_date);
        const dropped = previous?.files.filter((file) => drop_segments.includes(file.segment));
        const touched = [...(dropped ?? []), ...add_files.map(({ entry }) => entry)];
        const changed_tables = [...new Set(touched.flatMap(({ table }) => table ?? []))];
        const partition = { partition: storm_date, provenance, storm_day_start_hour, closed };
        const isMadeOfRows = touched.length > 0 && touched.every(({ segment }) => FROM_ROWS.has(segment));
        const ingested_at = previous !== null && isMadeOfRows ? ingestedAt(previous) : null;
        await publish(
          publisher,
          [editOf(partition, { drop_segments, add_files, changed_tables, ingested_at })],
          now_ms,
        );
      }),
    derive: (storm_date, now_ms) => guarded(() => derive(publisher, storm_date, now_ms)),
    rollUp: (storm_date, now_ms) => guarded(() => rollUp(publisher, storm_date, now_ms)),
    closeDay: (storm_date, now_ms) => guarded(() => closeDay(publisher, storm_date, now_ms)),
    joinMonth: (month, now_ms, least = 1) => guarded(() => joinMonth(publisher, month, now_ms, least)),
    publishStatic: (table, content, now_ms) =>
      guarded(() => publishStatic(engine, path, staging, table, content, storm_day_start_hour, now_ms, lock.check)),
    publishCollection: (name, segments, drop_segments, now_ms) =>
      guarded(() =>
        publishCollection(
          { engine, path, staging, storm_day_start_hour, check: lock.check },
          name,
          segments,
          drop_segments,
          now_ms,
        ),
      ),
    clear: (storm_date, now_ms) => guarded(() => clear(publisher, storm_date, now_ms)),
    expireReflectivity: (keep_hours, now_ms) => guarded(() => expireReflectivity(publisher, keep_hours, now_ms)),
    sweep: (now_ms, raw_keep_days) => guarded(() => sweepAll(publisher, now_ms, raw_keep_days)),
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

/** Does work on a root that is still ours; what fails because the root has gone fails for that reason. */
async function guard<Result>({ path, lock }: Publisher, work: () => Promise<Result>): Promise<Result> {
  try {
    lock.check();
    return await work();
  } catch (error) {
    lock.check();
    throw explainDisk(path, error);
  }
}

/** The one way into the lists: commits the edits together, then brings the live snapshot up to date and moves the switch. */
async function publish(
  publisher: Publisher,
  edits: readonly Edit[],
  now_ms: number,
  fresh: readonly ScanProducts[] = [],
  redone = false,
): Promise<void> {
  await commitLists(publisher, edits, now_ms);
  await moveSwitch(publisher, now_ms, fresh, redone);
}

async function commitLists({ path, dates, lock }: Publisher, edits: readonly Edit[], now_ms: number): Promise<void> {
  const changes: Change[] = [];
  for (const edit of edits) changes.push({ previous: await dates.manifest(edit.partition), edit });
  for (const manifest of await commitEdits(path, changes, now_ms, lock.check)) dates.update(manifest);
}

async function moveSwitch(
  { path, live, lock }: Publisher,
  now_ms: number,
  fresh: readonly ScanProducts[],
  redone: boolean,
): Promise<void> {
  const staged = await live.stage(fresh, now_ms, redone);
  if (staged === null) return;
  lock.check();
  await placeFiles(path, staged.files);
  await switchCurrent(path, staged.current);
}

async function commitScans(
  publisher: Publisher,
  commits: readonly DateCommit[],
  fresh: readonly ScanProducts[],
  now_ms: number,
): Promise<void> {
  const redone = commits.some((date) => date.drop_segments.length > 0);
  const edits: Edit[] = [];
  for (const date of commits) {
    const previous = await publisher.dates.manifest(date.storm_date);
    const edit = scanEdit(date, previous, publisher.storm_day_start_hour);
    const scored = previous?.table_commits[scores.name] !== undefined;
    edits.push(date.drop_segments.length > 0 && scored ? withoutScores(edit) : edit);
  }
  await publish(publisher, edits, now_ms, fresh, redone);
}

async function derive(publisher: Publisher, storm_date: string, now_ms: number): Promise<void> {
  const { engine, path, staging } = publisher;
  const manifest = await publishedList(publisher, storm_date);
  const add_files = await deriveDay(engine, path, staging, manifest);
  const changed_tables = changedDayTables(manifest, add_files);
  await publish(
    publisher,
    [
      editOf(samePartition(manifest), {
        drop_segments: [DERIVED_SEGMENT],
        add_files,
        changed_tables,
        ingested_at: ingestedAt(manifest),
      }),
    ],
    now_ms,
  );
}

async function rollUp(publisher: Publisher, storm_date: string, now_ms: number): Promise<number> {
  const { engine, path, staging } = publisher;
  const hours = unfinishedHours(await publishedList(publisher, storm_date));
  for (const segments of hours) {
    const manifest = await publishedList(publisher, storm_date);
    await commitLists(publisher, [await regroup(engine, path, staging, manifest, segments, false)], now_ms);
  }
  if (hours.length > 0) await moveSwitch(publisher, now_ms, [], false);
  return hours.length;
}

async function closeDay(publisher: Publisher, storm_date: string, now_ms: number): Promise<boolean> {
  const { engine, path, staging } = publisher;
  const manifest = await publishedList(publisher, storm_date);
  if (manifest.closed) return false;
  const segments = [...new Set(manifest.scans.map((scan) => scan.segment))];
  const day = await regroup(engine, path, staging, manifest, segments, true);
  const derived = await deriveDay(engine, path, staging, manifest);
  const edit = editOf(day, {
    ...day,
    drop_segments: [...segments, DERIVED_SEGMENT],
    add_files: [...day.add_files, ...derived],
    changed_tables: [...day.changed_tables, ...changedDayTables(manifest, derived)],
  });
  await publish(publisher, [edit], now_ms);
  return true;
}

async function joinMonth(publisher: Publisher, month: string, now_ms: number, least: number): Promise<boolean> {
  const { engine, path, staging, dates, lock } = publisher;
  const closed = [...dates.heads.values()].filter((day) => day.closed && day.partition.startsWith(month));
  const previous = await readNewest(path, layout.monthPartition(month));
  const isJoined = ({ partition, table_commits }: DateHead) => {
    const commit = previous?.dates?.[partition];
    return commit !== undefined && (table_commits[dayMax.name] ?? 0) <= commit;
  };
  if (closed.filter((day) => !isJoined(day)).length < least) return false;
  const days: Head[] = [];
  for (const { partition } of closed) {
    const head = await readHead(path, partition);
    if (head === null)
      throw new PipelineError('publish', layout.head(partition), 'is missing, expected the head of a published date');
    days.push(head);
  }
  const edit = await monthEdit(engine, path, staging, month, days, previous);
  await commitEdits(path, [{ previous, edit }], now_ms, lock.check);
  return true;
}

async function clear(publisher: Publisher, storm_date: string, now_ms: number): Promise<void> {
  const manifest = await publishedList(publisher, storm_date);
  const drop_segments = [...new Set(manifest.files.map((file) => file.segment))];
  const changed_tables = Object.keys(manifest.table_commits);
  await publish(
    publisher,
    [editOf(samePartition(manifest), { closed: false, drop_segments, changed_tables })],
    now_ms,
    [],
    true,
  );
}

async function expireReflectivity(publisher: Publisher, keep_hours: number, now_ms: number): Promise<number> {
  const { heads, manifest } = publisher.dates;
  // Counted from the newest scan: a clock that was set wrong takes nothing off the lists.
  const from_ms = keep_hours === 0 ? now_ms : Math.min(now_ms, newestScan(heads.values()) ?? now_ms);
  const edits: Edit[] = [];
  for (const { partition, reflectivity_archives } of heads.values()) {
    const list = reflectivity_archives === 0 ? null : await manifest(partition);
    const drop_segments = expiredReflectivity(list, from_ms - keep_hours * MS_PER_HOUR);
    if (list !== null && drop_segments.length > 0)
      edits.push(
        editOf(samePartition(list), {
          drop_segments,
          changed_tables: [REFLECTIVITY],
          ingested_at: ingestedAt(list),
        }),
      );
  }
  if (edits.length > 0) await publish(publisher, edits, now_ms);
  return edits.reduce((sum, { drop_segments }) => sum + drop_segments.length, 0);
}

async function sweepAll(publisher: Publisher, now_ms: number, raw_keep_days: number | null): Promise<Swept> {
  const { path, dates } = publisher;
  const monotonic_ms = performance.now();
  const clock = await lookAtRootClock(path, dates.heads, {
    wall_ms: now_ms,
    run_ms: monotonic_ms - publisher.looked_ms,
    newest_own_ms: publisher.published_ms,
  });
  publisher.looked_ms = monotonic_ms;
  const swept = await sweep(path, vouchedTime(clock));
  if (raw_keep_days === null) {
    await keepRootClock(path, clock);
    return swept;
  }
  const due = dueForDeletion(clock, RAW_FILES);
  // Before anything is deleted: a process that is killed meanwhile has looked all the same.
  await keepRootClock(path, due.clock);
  if (due.until_ms === null) return swept;
  const raw = await sweepRaw(path, dates.heads, raw_keep_days, due.until_ms);
  if (raw.is_done) await keepRootClock(path, markForDeletion(due.clock, RAW_FILES));
  return { files: swept.files + raw.files, bytes: swept.bytes + raw.bytes };
}

/** Kind of what is marked for deletion. */
const RAW_FILES = 'raw files';

/** The newest list of a date that was published. */
async function publishedList({ dates }: Publisher, storm_date: string): Promise<Manifest> {
  const manifest = await dates.manifest(storm_date);
  if (manifest === null)
    throw new PipelineError('publish', storm_date, 'has no published scans, expected a date with some');
  return manifest;
}

/** Gives a data root its name, once: with it readers distinguish a root that vanished from one that was never written. */
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

/** Replaces the switch when a killed process had moved a head but not yet the switch. */
async function finishInterrupted(publisher: Publisher, now_ms: number): Promise<void> {
  const { path, dates } = publisher;
  const current = await readCurrent(path);
  const newest_ms = newestScan(dates.heads.values());
  if (newest_ms === null) return;
  const open = [...dates.heads.values()].filter((head) => !head.closed);
  const pinned = current?.open_dates ?? {};
  const agrees =
    current?.scan_id === scanId(newest_ms) &&
    open.length === Object.keys(pinned).length &&
    open.every((head) => pinned[head.partition] === head.commit);
  if (!agrees) await moveSwitch(publisher, now_ms, [], true);
}

function scanEdit(date: DateCommit, previous: Manifest | null, storm_day_start_hour: number): Edit {
  const { storm_date, provenance, drop_segments, segments, feeds } = date;
  const files = segments.flatMap((segment) => segment.files);
  const replaced = replacedReflectivity(previous, drop_segments, segments);
  const isPainted = replaced.length > 0 || files.some(({ entry }) => entry.kind === 'reflectivity-tiles');
  const tables = files.map((file) => file.entry.table).filter((table) => table !== null);
  return editOf(
    { partition: storm_date, provenance, storm_day_start_hour, closed: false },
    {
      drop_segments: [...drop_segments, ...replaced],
      feeds,
      add_scans: segments.flatMap((segment) => segment.scans),
      add_files: files,
      // A scan without hail still changes what is known of every table: its absence is an answer.
      changed_tables: [
        ...new Set([...tables, 'detections', 'cells', 'tracks', 'day-max']),
        ...(isPainted ? [REFLECTIVITY] : []),
      ],
    },
  );
}

/** Scores of scans that others replace judge what is there no more. */
function withoutScores(edit: Edit): Edit {
  return {
    ...edit,
    drop_segments: [...edit.drop_segments, SCORE_SEGMENT],
    changed_tables: [...edit.changed_tables, scores.name],
  };
}

/** True when scans were published since the tiers, the event day and the daily archive of a date were drawn. */
export function isDerivationDue({ table_commits }: Pick<Manifest, 'table_commits'>): boolean {
  const { [DAILY]: drawn = 0, ...tables } = table_commits;
  const derived = new Set<string>([...[...DAY_TABLES, ...SCORE_TABLES].map(({ name }) => name), REFLECTIVITY]);
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
  if (isDiskRefusal(error) && !(error instanceof DiskRefusal)) return new DiskRefusal('publish', path, error);
  // Files come to their places by rename, which readers see whole or not at all; no copy does that.
  if (error instanceof Error && 'code' in error && error.code === 'EXDEV')
    return new PipelineError('publish', path, 'lies on several file systems (EXDEV), expected all of it on one', {
      cause: error,
    });
  return error;
}
