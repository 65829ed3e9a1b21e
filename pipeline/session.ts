import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { Blockage } from '../schemas/geo/blockage.ts';
import type { CommittedScan } from '../schemas/manifest.ts';
import { addDays, monthOf, scanId, scanTime, stormDateStart, utcDate } from '../schemas/time.ts';
import { type Chain, type HourOfScans, MEMORY_MAX_GAP_MS, planChains } from './chains.ts';
import { BadInput, PipelineError } from './error.ts';
import { LIVE_WINDOW_MIN } from './publish/live.ts';
import { readBlockage } from './publish/read-blockage.ts';
import { type DateCommit, isUnsettled, type Root } from './publish/root.ts';
import type { ScanProducts, Segment } from './publish/segment.ts';
import { sha256 } from './publish/store.ts';
import {
  admit,
  corrected,
  dateOf,
  emptyInbox,
  isKept,
  keep,
  keepUnused,
  keptAround,
  kindOf,
  putAside,
  type RawFiles,
  type Rejected,
  refuseOtherKind,
  refuseOtherKinds,
  type SessionSettings,
  scansByDate,
} from './raw-files.ts';
import { openReading, type Reading } from './read-ahead.ts';
import {
  emptyMemory,
  type Memory,
  packMemory,
  processScan,
  raiseByScan,
  type ScanResult,
  unpackMemory,
} from './scan.ts';
import type { SourceFile } from './sources/names.ts';
import { filesOf, planScans, type ScanPlan } from './sources/plan.ts';
import { emptyMaximum, maximumRows } from './swath/accumulate.ts';
import type { Readers } from './workers.ts';

/** Closed dates of the running month that wait to be joined: a question about a year opens a file for each of them. */
const JOIN_RUNNING_AFTER = 7;
/** A storm date is closed once the data clock is this far past its end. */
const CLOSE_AFTER_MS = 60 * 60_000;
const MS_PER_DAY = 24 * 60 * 60_000;

/** What a run did. */
export interface RunSummary {
  /** Scans published for the first time, published again, and given but left alone because nothing about them changed. */
  readonly scans: number;
  readonly redone: number;
  readonly skipped: number;
  readonly detections: number;
  readonly cells: number;
  readonly rejected: Readonly<Rejected>;
  /** Files of known products that no scan takes; they are kept. */
  readonly unused: number;
  readonly duplicates: number;
  /** Storm dates whose tables changed. */
  readonly dates: readonly string[];
}

/** Works raw files into a data root: plans, reads ahead, processes in order, publishes. */
export interface Session {
  /** Brings the root up to date with these files and everything kept before. */
  readonly ingest: (files: readonly SourceFile[]) => Promise<RunSummary>;
  /** Makes every scan of a storm date again from the raw files that were kept. */
  readonly rebuild: (storm_date: string) => Promise<RunSummary>;
  /** Takes data of the other kind off the storm dates of these files, so that they can take their place. */
  readonly replace: (files: readonly SourceFile[]) => Promise<string[]>;
  /** Draws what follows from whole dates, joins finished hours, and turns dates that are over into day files. */
  readonly settle: () => Promise<void>;
}

/** Opens a session on a root; one at a time. */
export function openSession(root: Root, readers: Readers, settings: SessionSettings): Session {
  const context: Context = {
    ...{ root, readers, settings },
    ...{ kept: new Map(), kinds: new Map(), memory: emptyMemory, terrain: undefined },
  };
  return {
    ingest: (files) => run(context, files, null),
    rebuild: (storm_date) => run(context, [], storm_date),
    replace: (files) => replaceOtherKind(context, files),
    settle: () => settle(context),
  };
}

interface Context extends RawFiles {
  /** Memory after the scan that was processed last. */
  memory: Memory;
  /** What terrain blocks, read with the first scan: while a session holds the root nobody replaces it. */
  terrain: Blockage | null | undefined;
}

/** What a run adds up while it goes. */
interface Tally {
  scans: number;
  redone: number;
  detections: number;
  cells: number;
  /** Scans that were worked on. */
  readonly done: Set<string>;
  /** Scans that the run expects to work on. */
  all: number;
  readonly rejected: Rejected;
  readonly dates: Set<string>;
}

async function run(context: Context, given: readonly SourceFile[], rebuild: string | null): Promise<RunSummary> {
  const { root, settings } = context;
  const rejected: Rejected = [];
  const worthwhile = await admit(context, given, rejected);
  await refuseOtherKinds(context, worthwhile);
  const times = worthwhile.map((file) => file.time_ms);
  if (rebuild !== null) times.push(stormDateStart(rebuild, settings.storm_day_start_hour));
  const kept = await keptAround(context, times);
  const admitted = await corrected(root, worthwhile, kept);
  const files = new Set([...admitted, ...kept]);
  const plans = planScans([...files]);
  const committed = committedSince(root, plans.scans[0]?.scan_time ?? 0).map((scan) =>
    rebuild !== null && dateOf(context, scan.scan_id) === rebuild ? { ...scan, inputs: 'to be made again' } : scan,
  );
  const chains = planChains(plans.scans, committed, settings.storm_day_start_hour);
  const all = chains.flatMap((chain) => [...chain.redo.flatMap((redo) => redo.hours), ...chain.append]).flat().length;
  const tally: Tally = {
    scans: 0,
    redone: 0,
    detections: 0,
    cells: 0,
    done: new Set(),
    all,
    rejected,
    dates: new Set(),
  };
  const reading = openReading(context.readers, files, settings.storm_day_start_hour, (file, stage, reason) =>
    putAside(context, file, stage, reason, rejected),
  );
  for (const chain of chains) await runChain(context, reading, chain, tally);
  const unused = await keepUnused(context, given, rejected.length > 0 ? planScans([...files]).unused : plans.unused);
  if (settings.move_raw) await emptyInbox(context, admitted, plans.duplicates);
  const { scans, redone, detections, cells } = tally;
  return {
    ...{ scans, redone, detections, cells, rejected, unused },
    // Given files and their copies in the archive are the same thing, not duplicates.
    duplicates: planScans(admitted.filter((file) => !isKept(root, file))).duplicates.length,
    skipped: planScans(admitted).scans.filter(({ scan_id }) => !tally.done.has(scan_id)).length,
    dates: [...tally.dates].sort(),
  };
}

/** One stretch of scans that depend on each other: what must be made again first, in one commit; then what is new. */
async function runChain(context: Context, reading: Reading, chain: Chain, tally: Tally): Promise<void> {
  const order = [...chain.redo.flatMap((redo) => redo.hours), ...chain.append].flat();
  const upcoming = (scan: ScanPlan) => order.slice(order.indexOf(scan) + 1);
  await redoChain(context, reading, chain, upcoming, tally);
  // A redo that ended early left the memory of an earlier scan behind.
  const next = chain.append[0]?.[0];
  if (next !== undefined) context.memory = await memoryBefore(context, next.scan_time, new Set());
  for (const hour of chain.append) {
    const pieces = context.settings.each_scan ? hour.map((scan) => [scan]) : [hour];
    for (const piece of pieces) {
      if (context.settings.signal?.aborted) return;
      await publish(context, await makeHour(context, reading, piece, upcoming, tally), [], tally);
    }
  }
}

async function redoChain(
  context: Context,
  reading: Reading,
  { redo, last_changed }: Chain,
  upcoming: (scan: ScanPlan) => readonly ScanPlan[],
  tally: Tally,
): Promise<void> {
  const first = redo.flatMap(({ hours }) => hours).flat()[0];
  if (first === undefined) return;
  const replaced = new Set(redo.flatMap(({ replaces }) => replaces.map((scan) => scan.scan_id)));
  context.memory = await memoryBefore(context, first.scan_time, replaced);
  let made: readonly Made[] = [];
  const dropped: CommittedScan[] = [];
  for (const [index, { replaces, hours }] of redo.entries()) {
    for (const hour of hours) made = withNewest(made, await makeHour(context, reading, hour, upcoming, tally));
    dropped.push(...replaces);
    const last = replaces.at(-1)?.scan_id ?? '';
    // When the next scan would remember just what it remembered before, everything from there on stays as it is.
    if (last >= last_changed && checkpointAfter(context.root, last)?.sha256 === sha256(packMemory(context.memory))) {
      tally.all -= redo.slice(index + 1).flatMap((later) => later.hours.flat()).length;
      break;
    }
  }
  await publish(context, made, dropped, tally);
}

/** A staged segment and the scans in it. */
interface Made {
  readonly storm_date: string;
  readonly simulated: boolean;
  readonly segment: Segment;
  readonly detections: number;
  readonly cells: number;
  /** Scans that the live window may want; a day that is made again must not be held in memory as a whole. */
  readonly fresh: readonly ScanProducts[];
}

/** Adds what was just made, and forgets the rows of scans that it has moved out of the live window. */
function withNewest(made: readonly Made[], newest: readonly Made[]): Made[] {
  const last_ms = newest.at(-1)?.fresh.at(-1)?.scan_time ?? 0;
  const isLive = (scan: ScanProducts) => last_ms - scan.scan_time <= LIVE_WINDOW_MIN * 60_000;
  return [...made.map((one) => ({ ...one, fresh: one.fresh.filter(isLive) })), ...newest];
}

/** Reads and processes scans of one hour and stages them as a segment; nothing when none of them can be read. */
async function makeHour(
  context: Context,
  reading: Reading,
  hour: HourOfScans,
  upcoming: (scan: ScanPlan) => readonly ScanPlan[],
  tally: Tally,
): Promise<Made[]> {
  const products: ScanProducts[] = [];
  const maximum = emptyMaximum();
  for (const planned of hour) {
    const found = await reading.read(planned, upcoming(planned));
    tally.done.add(planned.scan_id);
    context.settings.report.progress('scans', tally.done.size, tally.all);
    if (found === null) continue;
    const { scan, input } = found;
    const storm_date = dateOf(context, scan.scan_id);
    refuseOtherKind(context.root, storm_date, input.simulated ? 'simulated' : 'observed');
    const before = recent(context.memory, scan.scan_time);
    if (context.terrain === undefined) context.terrain = await readBlockage(context.root.engine, context.root.path);
    const terrain = context.terrain;
    const result = processed(() => processScan(input, before, storm_date, scan.inputs, terrain));
    if (result instanceof BadInput) {
      await reading.refuse(scan.mesh, result);
      continue;
    }
    await Promise.all(filesOf(scan).map((file) => keep(context, file, input.simulated ? 'simulated' : 'observed')));
    raiseByScan(maximum, input, result, before);
    products.push(result.products);
    context.memory = result.memory;
  }
  const first = products[0];
  if (first === undefined) return [];
  const { storm_date, simulated } = first;
  const segment = await context.root.stage(products, maximumRows(maximum, storm_date), packMemory(context.memory));
  const sum = (of: (scan: ScanProducts) => number) => products.reduce((total, scan) => total + of(scan), 0);
  return [
    {
      ...{ storm_date, simulated, segment },
      detections: sum((scan) => scan.detections.length),
      cells: sum((scan) => scan.cells.length),
      fresh: products,
    },
  ];
}

/** A scan's result, or why the scan cannot be used. */
function processed(work: () => ScanResult): ScanResult | BadInput {
  try {
    return work();
  } catch (error) {
    if (error instanceof BadInput) return error;
    throw error;
  }
}

/** Publishes staged segments in place of the dropped scans' segments. */
async function publish(
  context: Context,
  made: readonly Made[],
  dropped: readonly CommittedScan[],
  tally: Tally,
): Promise<void> {
  if (made.length + dropped.length === 0) return;
  const { root, settings } = context;
  const dates = new Set([
    ...made.map(({ storm_date }) => storm_date),
    ...dropped.map(({ scan_id }) => dateOf(context, scan_id)),
  ]);
  const commits = [...dates].sort().map((storm_date): DateCommit => {
    const own = made.filter((one) => one.storm_date === storm_date);
    const simulated = own[0]?.simulated ?? root.heads.get(storm_date)?.source === 'simulated';
    return {
      storm_date,
      source: simulated ? 'simulated' : 'observed',
      drop_segments: [
        ...new Set(
          dropped.filter(({ scan_id }) => dateOf(context, scan_id) === storm_date).map(({ segment }) => segment),
        ),
      ],
      segments: own.map(({ segment }) => segment),
    };
  });
  await root.commit(
    commits,
    made.flatMap((one) => one.fresh),
    settings.now(),
  );
  const scans = made.flatMap(({ segment }) => segment.scans.map((scan) => scan.scan_id));
  const again = new Set(dropped.map(({ scan_id }) => scan_id));
  const redone = scans.filter((scan_id) => again.has(scan_id)).length;
  const detections = made.reduce((sum, one) => sum + one.detections, 0);
  const cells = made.reduce((sum, one) => sum + one.cells, 0);
  tally.redone += redone;
  tally.scans += scans.length - redone;
  tally.detections += detections;
  tally.cells += cells;
  for (const date of dates) tally.dates.add(date);
  settings.report.info('Scan:Commit:Done', {
    ...{ scans: scans.length, redone, newest: scans.at(-1) ?? null, detections, cells },
    dates: [...dates].sort(),
  });
}

async function replaceOtherKind(context: Context, files: readonly SourceFile[]): Promise<string[]> {
  const { root, settings } = context;
  const cleared: string[] = [];
  for (const [date, scans] of scansByDate(context, files)) {
    const kind = await kindOf(context.readers, scans);
    const head = root.heads.get(date);
    if (kind === null || head === undefined || head.scans.length === 0 || head.source === kind) continue;
    await root.clear(date, settings.now());
    cleared.push(date);
  }
  return cleared;
}

async function settle({ root, settings }: Context): Promise<void> {
  const now_ms = settings.now();
  const isOver = (date: string) =>
    now_ms >= stormDateStart(addDays(date, 1), settings.storm_day_start_hour) + CLOSE_AFTER_MS;
  const work = [...root.heads.values()]
    .filter((head) => (isOver(head.partition) ? !head.closed : isUnsettled(head)))
    .map((head) => head.partition);
  for (const [index, date] of work.entries()) {
    if (isOver(date)) await root.closeDay(date, now_ms);
    else {
      await root.rollUp(date, now_ms);
      await root.derive(date, now_ms);
    }
    settings.report.progress('storm dates', index + 1, work.length);
  }
  const thisMonth = monthOf(utcDate(now_ms));
  const closed = [...root.heads.values()].filter((head) => head.closed).map((head) => monthOf(head.partition));
  for (const month of new Set(closed)) await root.joinMonth(month, now_ms, month < thisMonth ? 1 : JOIN_RUNNING_AFTER);
}

/** Published scans from a day before an instant on, by time. */
function committedSince(root: Root, time_ms: number): CommittedScan[] {
  const since = scanId(Math.max(0, time_ms - MS_PER_DAY));
  return [...root.heads.values()]
    .flatMap((head) => head.scans.filter((scan) => scan.scan_id >= since))
    .sort((a, b) => (a.scan_id < b.scan_id ? -1 : 1));
}

/** The memory, as far as it still matters at an instant. */
function recent(memory: Memory, time_ms: number): Memory {
  return memory.scan_time !== null && time_ms - memory.scan_time > MEMORY_MAX_GAP_MS ? emptyMemory : memory;
}

/** Memory before an instant: after the last published scan that stays, from the checkpoint unless it is still at hand. */
async function memoryBefore(context: Context, time_ms: number, replaced: ReadonlySet<string>): Promise<Memory> {
  const before = committedSince(context.root, time_ms).findLast(
    ({ scan_id }) => scanTime(scan_id) < time_ms && !replaced.has(scan_id),
  );
  if (before === undefined || time_ms - scanTime(before.scan_id) > MEMORY_MAX_GAP_MS) return emptyMemory;
  if (context.memory.scan_time === scanTime(before.scan_id)) return context.memory;
  const checkpoint = checkpointAfter(context.root, before.scan_id);
  if (checkpoint === undefined)
    throw new PipelineError(
      'track',
      before.scan_id,
      'has no checkpoint in its manifest, expected one after every segment',
    );
  return unpackMemory(await fs.readFile(join(context.root.path, checkpoint.path)));
}

function checkpointAfter(root: Root, scan_id: string) {
  for (const head of root.heads.values()) {
    const found = head.files.find((file) => file.kind === 'state' && file.last_scan === scan_id);
    if (found) return found;
  }
  return undefined;
}
