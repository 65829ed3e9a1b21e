import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { Blockage } from '../../schemas/geo/blockage.ts';
import type { CommittedScan } from '../../schemas/manifest.ts';
import { addDays, monthOf, scanId, scanTime, stormDateStart, utcDate } from '../../schemas/time.ts';
import { BadInput, PipelineError, Unreadable } from '../error.ts';
import type { Feeds } from '../publish/commit.ts';
import { LIVE_WINDOW_MIN } from '../publish/live.ts';
import { readBlockage } from '../publish/read-blockage.ts';
import { type DateCommit, isDerivationDue, type Root } from '../publish/root.ts';
import type { ScanProducts, Segment } from '../publish/segment.ts';
import { sha256 } from '../publish/store.ts';
import { processScan, type ScanResult } from '../scan.ts';
import type { SourceFile } from '../sources/names.ts';
import { allOrFirstError } from '../sources/parallel.ts';
import { openPile, type Pile } from '../sources/pile.ts';
import { filesOf, planScans, type ScanPlan } from '../sources/plan.ts';
import { emptyMaximum, maximumRows, updateDayMaximum } from '../swath/accumulate.ts';
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
  type Postponed,
  postpone,
  putAside,
  type RawFiles,
  type Rejected,
  refuseOtherKind,
  refuseOtherKinds,
  type SessionSettings,
  scansByDate,
} from './raw-archive.ts';
import { openReading, READ_AHEAD, type Reading } from './read-ahead.ts';
import type { ReadPool } from './read-pool.ts';
import { type Chain, type HourOfScans, planChains, type Redo } from './redo-plan.ts';
import {
  decodeTrackingState,
  emptyTrackingState,
  encodeTrackingState,
  stateAt,
  TRACKING_MAX_GAP_MS,
  type TrackingState,
} from './tracking-state.ts';

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
  /** Files that wait for a later run: ahead of the clock, or not to be read at present. */
  readonly postponed: readonly Postponed[];
  /** Files of known products that no scan takes; they are kept. */
  readonly unused: number;
  readonly duplicates: number;
  /** Storm dates whose tables changed. */
  readonly dates: readonly string[];
}

/** Works raw files into a data root: plans, reads ahead, processes in order, publishes. */
export interface Session {
  /**
   * Brings the root up to date with these files and everything kept before. While scans are made again and files put aside,
   * `arrived` is asked for what came since: new scans among it are published at once, they wait for nothing that is late.
   */
  readonly ingest: (files: readonly SourceFile[], arrived?: Arrived) => Promise<RunSummary>;
  /** Makes every scan of a storm date again from the raw files that were kept. */
  readonly rebuild: (storm_date: string) => Promise<RunSummary>;
  /** Takes data of the other kind off the storm dates of these files, so that they can take their place. */
  readonly replace: (files: readonly SourceFile[]) => Promise<string[]>;
  /**
   * Draws what follows from whole dates, joins finished hours, and turns dates that are over into day files. Stops between
   * two of them when `isPressed` says that something else has become more urgent; true when nothing is left.
   */
  readonly finishDates: (isPressed?: () => boolean) => Promise<boolean>;
}

/** Files that arrived since the last call; never waits for any. */
export type Arrived = () => readonly SourceFile[];

/** Opens a session on a root; one at a time. */
export function openSession(root: Root, readers: ReadPool, settings: SessionSettings): Session {
  const context: Context = {
    ...{ root, readers, settings },
    ...{ kept: new Map(), kinds: new Map(), said: new Set<string>(), memory: emptyTrackingState, terrain: undefined },
  };
  return {
    ingest: (files, arrived = () => []) => run(context, files, null, arrived),
    rebuild: (storm_date) => run(context, [], storm_date, () => []),
    replace: (files) => replaceOtherKind(context, files),
    finishDates: (isPressed = () => false) => finishDates(context, isPressed),
  };
}

interface Context extends RawFiles {
  /** TrackingState after the scan that was processed last. */
  memory: TrackingState;
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
  readonly postponed: Postponed[];
  readonly dates: Set<string>;
}

/** A run while it goes. */
interface Run {
  readonly context: Context;
  /** Storm date whose scans are all made again. */
  readonly rebuild: string | null;
  readonly arrived: Arrived;
  readonly pile: Pile;
  readonly reading: Reading;
  readonly given: SourceFile[];
  readonly admitted: SourceFile[];
  /** Files that cannot be used: they are put aside once every scan that can be made is published. */
  readonly unusable: { readonly file: SourceFile; readonly fault: BadInput }[];
  readonly tally: Tally;
  /** True while published scans are made again. */
  redoing: boolean;
}

async function run(
  context: Context,
  given: readonly SourceFile[],
  rebuild: string | null,
  arrived: Arrived,
): Promise<RunSummary> {
  const { root, settings } = context;
  const run = startRun(context, rebuild, arrived);
  await take(run, given);
  if (rebuild !== null) await refuseLostScans(run, rebuild);
  if (settings.each_scan) await workByUrgency(run);
  else for (const chain of await plannedChains(run)) await workThrough(run, chain);
  await putAsideUnusable(run);
  const plans = planScans(run.pile.all());
  const { admitted, tally } = run;
  const unused = await keepUnused(context, run.given, plans.unused, tally.postponed);
  if (settings.move_raw) await emptyInbox(context, admitted, plans.duplicates);
  const { scans, redone, detections, cells, rejected, postponed } = tally;
  const waits = new Set(postponed.map(({ location }) => location));
  return {
    ...{ scans, redone, detections, cells, rejected, postponed, unused },
    // Given files and their copies in the archive are the same thing, not duplicates.
    duplicates: planScans(admitted.filter((file) => !isKept(root, file))).duplicates.length,
    skipped: planScans(admitted).scans.filter(
      ({ scan_id, mesh }) => !tally.done.has(scan_id) && !waits.has(mesh.location),
    ).length,
    dates: [...tally.dates].sort(),
  };
}

function startRun(context: Context, rebuild: string | null, arrived: Arrived): Run {
  const pile = openPile();
  const tally: Tally = {
    ...{ scans: 0, redone: 0, detections: 0, cells: 0, done: new Set(), all: 0 },
    ...{ rejected: [], postponed: [], dates: new Set() },
  };
  const reading = openReading(context.readers, pile, context.settings.storm_day_start_hour, (file, fault) => {
    if (!(fault instanceof Unreadable)) run.unusable.push({ file, fault });
    // A published scan is not made again from less than it was made from.
    else if (run.redoing && isKept(context.root, file)) throw fault;
    else postpone(context, file, { stage: 'read', reason: fault.reason, is_gone: fault.is_gone }, tally.postponed);
  });
  const run: Run = {
    ...{ context, rebuild, arrived, pile, reading, tally },
    ...{ given: [], admitted: [], unusable: [], redoing: false },
  };
  return run;
}

/** Takes files, and those kept around their times, into a run. */
async function take(run: Run, files: readonly SourceFile[]): Promise<void> {
  const { context, rebuild } = run;
  context.root.check();
  const worthwhile = await admit(context, files, run.tally.postponed);
  await refuseOtherKinds(context, worthwhile);
  const times = worthwhile.map((file) => file.time_ms);
  if (rebuild !== null) times.push(stormDateStart(rebuild, context.settings.storm_day_start_hour));
  const kept = await keptAround(context, times);
  const admitted = await corrected(context.root, worthwhile, kept);
  run.given.push(...files);
  run.admitted.push(...admitted);
  run.pile.add([...admitted, ...kept]);
}

/** Throws when a published scan of a date cannot be made again: a date is rebuilt as a whole or left as it is. */
async function refuseLostScans({ context, pile }: Run, storm_date: string): Promise<void> {
  const planned = new Set(planScans(pile.all()).scans.map(({ scan_id }) => scan_id));
  const published = (await context.root.manifest(storm_date))?.scans ?? [];
  const lost = published.filter(({ scan_id }) => !planned.has(scan_id));
  if (lost.length === 0) return;
  throw new PipelineError(
    'rebuild',
    storm_date,
    `raw files of ${lost.length} published scans are gone (${lost[0]?.scan_id} first), expected them in the archive`,
  );
}

/** What there is to do with the files of a run, given what is published by now. */
async function plannedChains(run: Run): Promise<Chain[]> {
  const { context, rebuild, pile, tally } = run;
  const plans = planScans(pile.all()).scans;
  const committed = (await committedSince(context.root, plans[0]?.scan_time ?? 0)).map((scan) =>
    rebuild !== null && dateOf(context, scan.scan_id) === rebuild ? { ...scan, inputs: 'to be made again' } : scan,
  );
  const chains = planChains(plans, committed, context.settings.storm_day_start_hour, (scan, loss) => {
    if (rebuild !== null) throw loss;
    if (isSwept(context, scan)) dropLate(run, scan, loss);
    else postponeLate(run, [scan], loss);
  });
  tally.all = tally.done.size + chains.flatMap(scansOf).filter(({ scan_id }) => !tally.done.has(scan_id)).length;
  return chains;
}

function scansOf(chain: Chain): ScanPlan[] {
  return [...chain.redo.flatMap((redo) => redo.hours), ...chain.append].flat();
}

/** Works through a stretch in order of time: what must be made again first, then what is new. */
async function workThrough(run: Run, chain: Chain): Promise<void> {
  await redoChain(run, chain);
  await append(run, chain);
}

/**
 * Publishes what is new first, then makes again what late files have changed, one stretch after the other. What was
 * published meanwhile has changed the plan.
 */
async function workByUrgency(run: Run): Promise<void> {
  const tried = new Set<string>();
  while (!run.context.settings.signal?.aborted) {
    const chains = await plannedChains(run);
    for (const chain of chains) await append(run, chain);
    if (!chains.some(({ redo }) => redo.length > 0)) return;
    const late = (await plannedChains(run)).find((chain) => chain.redo.length > 0 && !tried.has(nameOf(chain)));
    if (late === undefined) return;
    tried.add(nameOf(late));
    await redoChain(run, late);
  }
}

/** A name that two chains share when there is the same to do. */
function nameOf(chain: Chain): string {
  return scansOf(chain)
    .map(({ scan_id, inputs }) => `${scan_id} ${inputs}`)
    .join();
}

/** Publishes the scans of a stretch that come after everything published there. Returns them as segments. */
async function append(run: Run, { append: hours }: Chain): Promise<Redo[]> {
  const { context } = run;
  const published: Redo[] = [];
  const upcoming = aheadIn(hours.flat());
  const first = hours[0]?.[0];
  if (first === undefined) return published;
  context.memory = await stateBefore(context, first.scan_time, new Set());
  for (const hour of hours) {
    const pieces = context.settings.each_scan ? hour.map((scan) => [scan]) : [hour];
    for (const piece of pieces) {
      if (context.settings.signal?.aborted) return published;
      const { made, memory } = await makeHour(run, piece, upcoming, context.memory);
      await publish(context, made, [], run.tally);
      context.memory = memory;
      published.push(...made.map(({ segment }) => ({ replaces: segment.scans, hours: [piece] })));
    }
  }
  return published;
}

/** Makes published scans again from the first that late files change on, and publishes them in one commit. */
async function redoChain(run: Run, chain: Chain): Promise<void> {
  if (chain.redo.length === 0) return;
  run.redoing = true;
  try {
    await redo(run, chain);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    // What is published stays as it is; the late files wait until it can be made again.
    postponeLate(run, scansOf(chain), error);
  } finally {
    run.redoing = false;
  }
}

/** True for a scan so old that raw files of its time have been deleted by their age: what it changes can never be made again. */
function isSwept({ settings: { raw_keep_days, now } }: Context, { scan_time }: ScanPlan): boolean {
  return raw_keep_days !== null && now() - scan_time > raw_keep_days * MS_PER_DAY;
}

/** Leaves a late scan out of the run for good: its own files are put aside at the end. */
function dropLate({ context, pile, unusable }: Run, scan: ScanPlan, { stage, subject, reason }: PipelineError): void {
  for (const file of filesOf(scan))
    if (pile.has(file) && !isKept(context.root, file)) {
      pile.remove(file);
      unusable.push({ file, fault: new BadInput(stage, file.location, `${subject} ${reason}`) });
    }
}

/** Leaves the files of scans that are late for a time at which what is published can be made again. */
function postponeLate({ context, pile, tally }: Run, scans: readonly ScanPlan[], fault: PipelineError): void {
  const reason = `what it changes cannot be made again: ${fault.message}`;
  const waiting = new Set(tally.postponed.map(({ location }) => location));
  for (const file of new Set(scans.flatMap(filesOf)))
    if (pile.has(file) && !isKept(context.root, file) && !waiting.has(file.location))
      postpone(context, file, { stage: 'plan', reason }, tally.postponed);
}

async function redo(run: Run, { redo: planned, last_changed }: Chain): Promise<void> {
  const { context, tally } = run;
  const segments = [...planned];
  const first = segments.flatMap(({ hours }) => hours).flat()[0];
  const replaced = new Set(segments.flatMap(({ replaces }) => replaces.map((scan) => scan.scan_id)));
  let memory = first === undefined ? emptyTrackingState : await stateBefore(context, first.scan_time, replaced);
  let made: readonly Made[] = [];
  const dropped: CommittedScan[] = [];
  const upcoming = aheadIn(segments.flatMap(({ hours }) => hours).flat());
  for (let index = 0; index < segments.length; index++) {
    const { replaces, hours } = segments[index] as Redo;
    for (const hour of hours) {
      const next = await makeHour(run, hour, upcoming, memory, async () => {
        for (const segment of await publishArrived(run)) if (isNextTo(segments, segment)) segments.push(segment);
      });
      if (context.settings.signal?.aborted) return;
      made = withNewest(made, next.made);
      memory = next.memory;
    }
    dropped.push(...replaces);
    const last = replaces.at(-1)?.scan_id ?? '';
    // When the next scan would remember just what it remembered before, everything from there on stays as it is.
    if (
      last >= last_changed &&
      (await checkpointAfter(context, last))?.sha256 === sha256(encodeTrackingState(memory))
    ) {
      tally.all -= segments.slice(index + 1).flatMap((later) => later.hours.flat()).length;
      break;
    }
  }
  await publish(context, made, dropped, tally);
  // What was remembered of the newest scan came from before the redo.
  context.memory = emptyTrackingState;
}

/** True for a segment that follows others so closely that its scans depend on theirs. */
function isNextTo(segments: readonly Redo[], { replaces }: Redo): boolean {
  const last = segments.at(-1)?.replaces.at(-1)?.scan_id;
  const first = replaces[0]?.scan_id;
  if (last === undefined || first === undefined) return false;
  return first > last && scanTime(first) - scanTime(last) <= TRACKING_MAX_GAP_MS;
}

/** Publishes the new scans among what arrived since, and leaves what is late to the next plan. */
async function publishArrived(run: Run): Promise<Redo[]> {
  const files = run.arrived();
  if (files.length === 0) return [];
  const { redoing } = run;
  run.redoing = false;
  await take(run, files);
  const published: Redo[] = [];
  for (const chain of await plannedChains(run)) published.push(...(await append(run, chain)));
  run.redoing = redoing;
  return published;
}

/** Puts aside what cannot be used, and publishes in between what arrives. */
async function putAsideUnusable(run: Run): Promise<void> {
  const { context, unusable, tally } = run;
  for (let next = unusable.shift(); next !== undefined; next = unusable.shift()) {
    const { file, fault } = next;
    try {
      await putAside(context, file, fault.stage, fault.reason, tally.rejected);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      postpone(context, file, { stage: 'read', reason: error.reason, is_gone: error.is_gone }, tally.postponed);
    }
    await publishArrived(run);
  }
}

/** The scans after one of them that are worth reading ahead. */
function aheadIn(order: readonly ScanPlan[]): (scan: ScanPlan) => readonly ScanPlan[] {
  const places = new Map(order.map((scan, index) => [scan, index]));
  return (scan) => {
    const next = (places.get(scan) ?? order.length) + 1;
    return order.slice(next, next + READ_AHEAD);
  };
}

/** A staged segment and the scans in it. */
interface Made {
  readonly storm_date: string;
  readonly simulated: boolean;
  readonly segment: Segment;
  readonly feeds: Feeds;
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

/**
 * Reads and processes scans of one hour and stages them as a segment; nothing when none of them can be read. `before` is
 * the memory before the first of them, `between` is called before each.
 */
async function makeHour(
  run: Run,
  hour: HourOfScans,
  upcoming: (scan: ScanPlan) => readonly ScanPlan[],
  before: TrackingState,
  between: () => Promise<void> = async () => {},
): Promise<{ readonly made: Made[]; readonly memory: TrackingState }> {
  const { context, reading, tally } = run;
  const products: ScanProducts[] = [];
  const files: SourceFile[] = [];
  const maximum = emptyMaximum();
  let memory = before;
  for (const planned of hour) {
    await between();
    if (context.settings.signal?.aborted) break;
    if (context.terrain === undefined) context.terrain = await readBlockage(context.root.engine, context.root.path);
    const terrain = context.terrain;
    const worked = await reading.read(planned, upcoming(planned), async ({ scan, input }) => {
      const kind = input.simulated ? 'simulated' : 'observed';
      const storm_date = dateOf(context, scan.scan_id);
      refuseOtherKind(context, storm_date, scan.scan_id, kind);
      const known = stateAt(memory, scan.scan_time);
      const result = processed(scan, () => processScan(input, known, { storm_date, inputs: scan.inputs, terrain }));
      await allOrFirstError(filesOf(scan).map((file) => keep(context, file, kind)));
      return { scan, result };
    });
    tally.done.add(planned.scan_id);
    context.settings.log.progress('scans', tally.done.size, tally.all);
    if (worked === null) continue;
    const { scan, result } = worked;
    updateDayMaximum(maximum, result.ofDay);
    products.push(result.products);
    files.push(...filesOf(scan));
    memory = result.state;
  }
  const first = products[0];
  if (first === undefined) return { made: [], memory };
  const { storm_date, simulated } = first;
  const segment = await context.root.stage(products, maximumRows(maximum, storm_date), encodeTrackingState(memory));
  const sum = (of: (scan: ScanProducts) => number) => products.reduce((total, scan) => total + of(scan), 0);
  const made = {
    ...{ storm_date, simulated, segment, feeds: newestOfEach(files) },
    detections: sum((scan) => scan.detections.length),
    cells: sum((scan) => scan.cells.length),
    fresh: products,
  };
  return { made: [made], memory };
}

/** What the work makes of a scan; what it finds wrong is the fault of the MESH file. */
function processed({ mesh }: ScanPlan, work: () => ScanResult): ScanResult {
  try {
    return work();
  } catch (error) {
    if (error instanceof BadInput) throw new BadInput(error.stage, mesh.location, error.reason, { cause: error });
    throw error;
  }
}

/** Newest time of each product among some files. */
function newestOfEach(files: readonly SourceFile[]): Feeds {
  const feeds: Record<string, number> = {};
  for (const { product, time_ms } of files) feeds[product] = Math.max(time_ms, feeds[product] ?? time_ms);
  return feeds;
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
      // Those of an hour come after those of the hour before.
      feeds: Object.assign({}, ...own.map(({ feeds }) => feeds)),
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
  settings.log.info('Scan:Commit:Done', {
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
    if (kind === null || head === undefined || head.scan_count === 0 || head.source === kind) continue;
    await root.clear(date, settings.now());
    context.kinds.set(date, kind);
    cleared.push(date);
  }
  return cleared;
}

async function finishDates({ root, settings }: Context, isPressed: () => boolean): Promise<boolean> {
  const now_ms = settings.now();
  const isOver = (date: string) =>
    now_ms >= stormDateStart(addDays(date, 1), settings.storm_day_start_hour) + CLOSE_AFTER_MS;
  const work = [...root.heads.values()]
    .filter((head) => (isOver(head.partition) ? !head.closed : isDerivationDue(head)))
    .map((head) => head.partition);
  for (const [index, date] of work.entries()) {
    if (isPressed()) return false;
    if (isOver(date)) await root.closeDay(date, now_ms);
    else {
      await root.rollUp(date, now_ms);
      if (isPressed()) return false;
      await root.derive(date, now_ms);
    }
    settings.log.progress('storm dates', index + 1, work.length);
  }
  const thisMonth = monthOf(utcDate(now_ms));
  const closed = [...root.heads.values()].filter((head) => head.closed).map((head) => monthOf(head.partition));
  for (const month of new Set(closed)) {
    if (isPressed()) return false;
    await root.joinMonth(month, now_ms, month < thisMonth ? 1 : JOIN_RUNNING_AFTER);
  }
  return true;
}

/** Published scans from a day before an instant on, by time. */
async function committedSince(root: Root, time_ms: number): Promise<CommittedScan[]> {
  const since = scanId(Math.max(0, time_ms - MS_PER_DAY));
  const scans: CommittedScan[] = [];
  for (const { partition, last_scan } of root.heads.values()) {
    const manifest = last_scan !== null && last_scan >= since ? await root.manifest(partition) : null;
    for (const scan of manifest?.scans ?? []) if (scan.scan_id >= since) scans.push(scan);
  }
  return scans.sort((a, b) => (a.scan_id < b.scan_id ? -1 : 1));
}

/** TrackingState before an instant: after the last published scan that stays, from the checkpoint unless it is still at hand. */
async function stateBefore(context: Context, time_ms: number, replaced: ReadonlySet<string>): Promise<TrackingState> {
  const before = (await committedSince(context.root, time_ms)).findLast(
    ({ scan_id }) => scanTime(scan_id) < time_ms && !replaced.has(scan_id),
  );
  if (before === undefined || time_ms - scanTime(before.scan_id) > TRACKING_MAX_GAP_MS) return emptyTrackingState;
  if (context.memory.scan_time === scanTime(before.scan_id)) return context.memory;
  const checkpoint = await checkpointAfter(context, before.scan_id);
  if (checkpoint === undefined)
    throw new PipelineError(
      'track',
      before.scan_id,
      'has no checkpoint in its manifest, expected one after every segment',
    );
  return decodeTrackingState(await fs.readFile(join(context.root.path, checkpoint.path)));
}

async function checkpointAfter(context: Context, scan_id: string) {
  const manifest = await context.root.manifest(dateOf(context, scan_id));
  return manifest?.files.find((file) => file.kind === 'state' && file.last_scan === scan_id);
}
