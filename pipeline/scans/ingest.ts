import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { Blockage } from '../../schemas/geo/blockage.ts';
import type { CommittedScan, PublishedFile } from '../../schemas/manifest.ts';
import { MS_PER_DAY, MS_PER_HOUR, MS_PER_MIN, scanId, scanTime } from '../../schemas/time.ts';
import { BadInput, PipelineError, PROVENANCE_STAGE, Unreadable } from '../error.ts';
import { sha256 } from '../files.ts';
import type { ScanInput } from '../grid.ts';
import { commitScans, type DateCommit } from '../publish/commit-dates.ts';
import type { ProductTimes } from '../publish/edit.ts';
import { LIVE_WINDOW_MIN } from '../publish/live.ts';
import { type ScanProducts, type Segment, stageSegment } from '../publish/segment.ts';
import { readBlockage } from '../publish/tables.ts';
import type { SourceFile } from '../sources/names.ts';
import { allOrFirstError } from '../sources/parallel.ts';
import { filesOf, inputsHash, planScanAt, planScans, type ScanPlan } from '../sources/plan.ts';
import { dayMaxRows, emptyDayMaximum, updateDayMaximum } from '../swath/accumulate.ts';
import { REFLECTIVITY_VERSION } from '../tiles/reflectivity-tiles.ts';
import { planWork, type Redo, type Work } from './plan.ts';
import {
  archiveFile,
  archiveUnused,
  type Deferred,
  dateOf,
  deferFile,
  deferUnreadable,
  emptyInbox,
  isArchived,
  learnProvenances,
  type PlanContext,
  planningFiles,
  provenanceOn,
  type RawArchive,
  type Rejected,
  rejectFile,
  selectWorthwhile,
} from './raw-archive.ts';
import { openReadAhead, READ_AHEAD, type ReadAhead, type ReadPool } from './read.ts';
import { processScan, type ScanResult } from './scan.ts';
import {
  decodeTrackingState,
  emptyTrackingState,
  encodeTrackingState,
  stateAt,
  TRACKING_MAX_GAP_MS,
  type TrackingState,
} from './state.ts';

/** State that a session keeps from run to run. */
export interface Context extends RawArchive {
  readonly readPool: ReadPool;
  /** State after the scan that was processed last. */
  tracking: TrackingState;
  /** Terrain blockage, read with the first scan; it does not change while a session holds the root. */
  terrain: Blockage | null | undefined;
}

/** Result of a run. */
export type RunSummary = Awaited<ReturnType<typeof finishRun>>;

interface Run {
  readonly context: Context;
  readonly readAhead: ReadAhead;
  /** Given files that are worth planning with. */
  readonly accepted: readonly SourceFile[];
  /** Accepted and archived files; a file at fault is removed. */
  readonly files: Set<SourceFile>;
  /** Files that the run rejects at its end. */
  readonly unusable: { readonly file: SourceFile; readonly stage: string; readonly reason: string }[];
  readonly deferred: Deferred[];
  /** Given files that an earlier run rejected. */
  readonly rejected_before: number;
  /** Scans that were processed or found unusable. */
  readonly done: Set<string>;
  readonly dates: Set<string>;
  readonly tally: { scans: number; redone: number; detections: number; cells: number };
}

/** Scans that were made and are not published. */
interface Made {
  readonly hours: readonly MadeHour[];
  /** Scans that may be in the live window; a date that is made again must not stay in memory as a whole. */
  readonly fresh: readonly ScanProducts[];
  /** State after the last scan. */
  readonly state: TrackingState;
}

/** A staged hour of scans of one storm date. */
interface MadeHour {
  readonly storm_date: string;
  readonly simulated: boolean;
  readonly segment: Segment;
  readonly files: readonly SourceFile[];
}

/**
 * Brings the data root up to date with raw files and everything archived before. Publishes new scans, makes dirty dates again,
 * and rejects the files that cannot be used. `rebuild` is a storm date whose scans are all made again.
 */
export async function ingestFiles(
  context: Context,
  files: readonly SourceFile[],
  rebuild: string | null = null,
): Promise<RunSummary> {
  const run = await startRun(context, files, rebuild);
  if (rebuild !== null) await refuseLostScans(run, rebuild);
  // A stream publishes new scans before it makes published ones again.
  if (context.settings.each_scan) await appendScans(run, await workOf(run));
  await remakeDates(run, await workOf(run, rebuild), rebuild);
  await appendScans(run, await workOf(run));
  return finishRun(run);
}

async function startRun(context: Context, files: readonly SourceFile[], rebuild: string | null): Promise<Run> {
  context.root.check();
  const deferred: Deferred[] = [];
  const worthwhile = await selectWorthwhile(context, files, deferred);
  const rejected_before = files.length - worthwhile.length - deferred.length;
  await learnProvenances(context, worthwhile);
  const { accepted, archived } = await planningFiles(context, worthwhile, rebuild);
  return {
    context,
    readAhead: openReadAhead(context.readPool, context.root, (scan) => paintsReflectivity(context, scan)),
    accepted,
    files: new Set([...accepted, ...archived]),
    unusable: [],
    deferred,
    rejected_before,
    done: new Set(),
    dates: new Set(),
    tally: { scans: 0, redone: 0, detections: 0, cells: 0 },
  };
}

/** Throws when a published scan of a date cannot be made again: a date is rebuilt as a whole or not at all. */
async function refuseLostScans({ context, files }: Run, storm_date: string): Promise<void> {
  const planned = new Set(planScans([...files]).scans.map(({ scan_id }) => scan_id));
  const published = (await context.root.manifest(storm_date))?.scans ?? [];
  const lost = published.filter(({ scan_id }) => !planned.has(scan_id));
  if (lost.length === 0) return;
  throw new PipelineError(
    'rebuild',
    storm_date,
    `raw files of ${lost.length} published scans are gone (${lost[0]?.scan_id} first), expected them in the archive`,
  );
}

/** A scan that a run would make, with the names of its files. */
export interface PlannedScan {
  readonly scan_id: string;
  readonly storm_date: string;
  readonly status: 'new' | 'redo' | 'late';
  readonly files: readonly string[];
  /** Why a late scan waits; null for any other. */
  readonly reason: string | null;
}

/**
 * Scans that a run with these files would make, by time; takes no lock and writes nothing. Grids are not decoded, so a file that
 * cannot be used is found by the run only.
 */
export async function planIngest(context: PlanContext, given: readonly SourceFile[]): Promise<PlannedScan[]> {
  const { accepted, archived } = await planningFiles(context, await selectWorthwhile(context, given, []));
  const files = new Set([...accepted, ...archived]);
  const { append, redo, late } = await workOf({ context, files });
  const line = (scan: ScanPlan, status: PlannedScan['status'], reason: string | null = null): PlannedScan => ({
    scan_id: scan.scan_id,
    storm_date: dateOf(context, scan.scan_time),
    status,
    files: filesOf(scan).map(({ name }) => name),
    reason,
  });
  return [
    ...append.map((scan) => line(scan, 'new')),
    ...redo.flatMap(([rest]) => {
      const published = new Set(rest?.replaces.map(({ scan_id }) => scan_id));
      return (rest?.scans ?? []).map((scan) => line(scan, published.has(scan.scan_id) ? 'redo' : 'new'));
    }),
    ...late.map(({ scan, loss }) => line(scan, 'late', lateReason(loss))),
  ].sort((a, b) => (a.scan_id < b.scan_id ? -1 : 1));
}

/** Work with some files and the scans that are published by now. */
async function workOf(
  { context, files }: Pick<Run, 'files'> & { readonly context: PlanContext },
  rebuild?: string | null,
) {
  const { scans } = planScans([...files]);
  const committed = await committedSince(context, scans[0]?.scan_time ?? 0);
  return planWork(scans, committed, (scan_id) => dateOf(context, scanTime(scan_id)), rebuild);
}

/** Publishes new scans that come after everything published: a stream each by itself, other runs an hour at a time. */
async function appendScans(run: Run, { append }: Work): Promise<void> {
  const { context } = run;
  for (const group of context.settings.each_scan ? append.map((scan) => [scan]) : hoursOf(context, append)) {
    if (isStopped(run)) return;
    const state = await stateBefore(context, group[0] as ScanPlan);
    const made = await makeHour(run, { hours: [], fresh: [], state }, group, append);
    await publish(run, made, []);
    context.tracking = made.state;
  }
}

/** Makes each dirty date again, in one commit together with the dates after it whose tracks change with it. */
async function remakeDates(run: Run, { redo, late }: Work, rebuild: string | null): Promise<void> {
  for (const { scan, loss } of late) {
    if (rebuild !== null) throw loss;
    leaveOutLate(run, scan, loss);
  }
  const made = new Set<string>();
  for (const rest of redo) {
    if (isStopped(run)) return;
    if (made.has(rest[0]?.storm_date ?? '')) continue;
    try {
      for (const storm_date of await remake(run, rest)) made.add(storm_date);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      // The published scans stay; the late files wait until these can be made again.
      for (const { scans } of rest) for (const scan of scans) deferLate(run, scan, error);
    }
  }
}

/** Makes the rest of a date again and publishes it. Returns the dates that were made. */
async function remake(run: Run, redo: Redo): Promise<string[]> {
  const { context } = run;
  const replaced: CommittedScan[] = [];
  const dates: string[] = [];
  let made: Made | undefined;
  for (const { storm_date, replaces, scans } of redo) {
    for (const hour of hoursOf(context, scans)) {
      made ??= { hours: [], fresh: [], state: await stateBefore(context, hour[0] as ScanPlan) };
      made = await makeHour(run, made, hour, scans, true);
      if (isStopped(run)) return [];
    }
    replaced.push(...replaces);
    dates.push(storm_date);
    const checkpoint = await checkpointAfter(context, replaces.at(-1)?.scan_id);
    // The next date starts from the state that it was made from: it stays.
    if (made !== undefined && checkpoint?.sha256 === sha256(encodeTrackingState(made.state))) break;
  }
  if (made === undefined) return dates;
  await publish(run, made, replaced);
  context.tracking = made.state;
  return dates;
}

/** Scans by storm date and UTC hour. */
function hoursOf(context: Context, scans: readonly ScanPlan[]): ScanPlan[][] {
  const hour = ({ scan_time }: ScanPlan) => `${dateOf(context, scan_time)} ${Math.floor(scan_time / MS_PER_HOUR)}`;
  return [...Map.groupBy(scans, hour).values()];
}

/**
 * Reads and processes the scans of one hour, and stages the usable ones as a segment. `made` holds the hours before it.
 * `order`: all scans of the work, which are read ahead. Ends early when the run is stopped.
 */
async function makeHour(
  run: Run,
  made: Made,
  hour: readonly ScanPlan[],
  order: readonly ScanPlan[],
  isRedo = false,
): Promise<Made> {
  const { root, settings } = run.context;
  const products: ScanProducts[] = [];
  const files: SourceFile[] = [];
  const maximum = emptyDayMaximum();
  let { state } = made;
  let at = order.indexOf(hour[0] as ScanPlan);
  for (const planned of hour) {
    if (isStopped(run)) break;
    at += 1;
    const scan = await makeScan(run, planned, order.slice(at, at + READ_AHEAD), state, isRedo);
    run.done.add(planned.scan_id);
    settings.log.progress('scans', at, order.length);
    if (scan === null) continue;
    products.push(scan.result.products);
    files.push(...filesOf(scan.plan));
    updateDayMaximum(maximum, scan.result.ofDay);
    state = scan.result.state;
  }
  const [first, last] = [products[0], products.at(-1)];
  if (first === undefined || last === undefined) return { ...made, state };
  const { storm_date, simulated } = first;
  const segment = await stageSegment(root, products, dayMaxRows(maximum, storm_date), encodeTrackingState(state));
  const isLive = ({ scan_time }: ScanProducts) => last.scan_time - scan_time <= LIVE_WINDOW_MIN * MS_PER_MIN;
  return {
    hours: [...made.hours, { storm_date, simulated, segment, files }],
    fresh: [...made.fresh, ...products].filter(isLive),
    state,
  };
}

/** One scan from the files that can be used: each file at fault is left out, and the scan is planned without it. */
async function makeScan(
  run: Run,
  planned: ScanPlan,
  upcoming: readonly ScanPlan[],
  before: TrackingState,
  isRedo: boolean,
): Promise<{ readonly plan: ScanPlan; readonly result: ScanResult } | null> {
  while (true) {
    const plan = currentPlan(run, planned);
    if (plan === null) return null;
    const ahead = upcoming.flatMap((next) => currentPlan(run, next) ?? []);
    try {
      const input = await run.readAhead(plan, ahead);
      return { plan, result: await processAndArchive(run.context, plan, input, before) };
    } catch (error) {
      leaveOut(run, plan, error, isRedo);
    }
  }
}

/** The plan of a scan from the files that are left in the run. */
function currentPlan({ files }: Run, planned: ScanPlan): ScanPlan | null {
  const isWhole = filesOf(planned).every((file) => files.has(file));
  return isWhole ? planned : planScanAt(files, planned.scan_time);
}

/** Processes one scan that was read, and copies its raw files into the archive. */
async function processAndArchive(
  context: Context,
  plan: ScanPlan,
  input: ScanInput,
  before: TrackingState,
): Promise<ScanResult> {
  const { root } = context;
  const { scan_time, inputs, mesh } = plan;
  const storm_date = dateOf(context, scan_time);
  const provenance = input.simulated ? 'simulated' : 'observed';
  const expected = provenanceOn(context, storm_date) ?? provenance;
  context.provenances.set(storm_date, expected);
  if (expected !== provenance) {
    const reason = `${provenance} data, expected ${expected} data as storm date ${storm_date} holds (hail-pipeline ingest --replace takes those away)`;
    throw new BadInput(PROVENANCE_STAGE, mesh.location, reason);
  }
  if (context.terrain === undefined) context.terrain = await readBlockage(root.engine, root.path);
  const result = processScan(input, stateAt(before, scan_time), { storm_date, inputs, terrain: context.terrain });
  // A correction takes the place of its predecessor once its scan is published.
  const files = filesOf(plan).filter(({ precedence }) => precedence !== 1);
  await allOrFirstError(files.map((file) => archiveFile(context, file, provenance)));
  const painted = reflectivityInputs(context, plan);
  // Without an archive that was painted the listed one stays.
  const reflectivity = painted === null ? null : { inputs: painted, archive: input.reflectivity_tiles ?? null };
  return { ...result, products: { ...result.products, reflectivity } };
}

/**
 * Leaves a file at fault out of a run: a bad one is rejected at the end, an unreadable one is deferred. Throws any other error,
 * and the fault of an archived file while scans are made again: a published scan is not replaced by one of fewer files.
 */
function leaveOut({ context, files, unusable, deferred }: Run, plan: ScanPlan, error: unknown, isRedo: boolean): void {
  if (!(error instanceof BadInput || error instanceof Unreadable)) throw error;
  // The tracker knows a scan by its id only.
  const isOf = ({ location }: SourceFile) => location === error.subject || plan.scan_id === error.subject;
  const file = filesOf(plan).find(isOf);
  if (file === undefined || (isRedo && error instanceof Unreadable && isArchived(context.root, file))) throw error;
  if (error instanceof BadInput) unusable.push({ file, stage: error.stage, reason: error.reason });
  else deferUnreadable(context, file, error, deferred);
  files.delete(file);
}

/** Leaves a late scan out of a run: its files are rejected when raw files of its time were deleted by age, else deferred. */
function leaveOutLate(run: Run, scan: ScanPlan, loss: PipelineError): void {
  const { context, files, unusable } = run;
  const { raw_keep_days, now } = context.settings;
  if (raw_keep_days === null || now() - scan.scan_time <= raw_keep_days * MS_PER_DAY) {
    deferLate(run, scan, loss);
    return;
  }
  for (const file of filesOf(scan))
    if (!isArchived(context.root, file) && files.delete(file))
      unusable.push({ file, stage: loss.stage, reason: `${loss.subject} ${loss.reason}` });
}

/** Defers the files of a late scan until the published scans after it can be made again. */
function deferLate({ context, files, deferred }: Run, scan: ScanPlan, fault: PipelineError): void {
  const reason = lateReason(fault);
  for (const file of filesOf(scan))
    if (files.has(file) && !isArchived(context.root, file) && !deferred.some((one) => one.location === file.location))
      deferFile(context, file, { stage: 'plan', reason, is_gone: false }, deferred);
}

function lateReason(fault: PipelineError): string {
  return `what it changes cannot be made again: ${fault.message}`;
}

/** Publishes staged hours in place of the segments of replaced scans. */
async function publish(run: Run, { hours, fresh }: Made, replaced: readonly CommittedScan[]): Promise<void> {
  const { context, tally } = run;
  const { root, settings } = context;
  if (hours.length + replaced.length === 0) return;
  const replacedOn = Map.groupBy(replaced, ({ scan_id }) => dateOf(context, scanTime(scan_id)));
  const madeOn = Map.groupBy(hours, ({ storm_date }) => storm_date);
  const dates = [...new Set([...madeOn.keys(), ...replacedOn.keys()])].sort();
  const commits = dates.map((storm_date): DateCommit => {
    const own = madeOn.get(storm_date) ?? [];
    const simulated = own[0]?.simulated ?? root.heads.get(storm_date)?.source === 'simulated';
    return {
      storm_date,
      provenance: simulated ? 'simulated' : 'observed',
      drop_segments: [...new Set(replacedOn.get(storm_date)?.map(({ segment }) => segment))],
      segments: own.map(({ segment }) => segment),
      feeds: newestOfEach(own.flatMap(({ files }) => files)),
    };
  });
  const begun_ms = performance.now();
  await commitScans(root, commits, fresh, settings.now());
  const seconds = Math.round(performance.now() - begun_ms) / 1000;
  for (const { files, simulated } of hours)
    for (const file of files)
      if (file.precedence === 1) await archiveFile(context, file, simulated ? 'simulated' : 'observed');
  const scans = hours.flatMap(({ segment }) => segment.scans.map(({ scan_id }) => scan_id));
  const entries = hours.flatMap(({ segment }) => segment.files.map(({ entry }) => entry));
  const rowsOf = (name: string) => entries.reduce((sum, { table, rows }) => sum + (table === name ? rows : 0), 0);
  const [detections, cells] = [rowsOf('detections'), rowsOf('cells')];
  const again = new Set(replaced.map(({ scan_id }) => scan_id));
  const redone = scans.filter((scan_id) => again.has(scan_id)).length;
  tally.redone += redone;
  tally.scans += scans.length - redone;
  tally.detections += detections;
  tally.cells += cells;
  for (const date of dates) run.dates.add(date);
  const newest = scans.at(-1) ?? null;
  settings.log.info('Scan:Commit:Done', { scans: scans.length, redone, newest, detections, cells, dates, seconds });
}

/** Newest time of each product among some files. */
function newestOfEach(files: readonly SourceFile[]): ProductTimes {
  const feeds: Record<string, number> = {};
  for (const { product, time_ms } of files) feeds[product] = Math.max(time_ms, feeds[product] ?? time_ms);
  return feeds;
}

/** Hash of the inputs of a scan's reflectivity archive; null without the product, and for a scan older than archives are kept. */
function reflectivityInputs({ settings }: Context, { scan_time, companions }: ScanPlan): string | null {
  const { reflectivity_keep_hours: hours, now } = settings;
  const file = companions.max_reflectivity_dbz;
  if (file === undefined || hours === 0 || now() - scan_time >= hours * MS_PER_HOUR) return null;
  return inputsHash([`reflectivity ${REFLECTIVITY_VERSION}`, file]);
}

/** True for a scan young enough whose reflectivity is not published from the same file. */
async function paintsReflectivity(context: Context, plan: ScanPlan): Promise<boolean> {
  const inputs = reflectivityInputs(context, plan);
  if (inputs === null) return false;
  const manifest = await context.root.manifest(dateOf(context, plan.scan_time));
  const published = manifest?.scans.find(({ scan_id }) => scan_id === plan.scan_id);
  if (published?.reflectivity !== inputs) return true;
  return !manifest?.files.some(({ kind, first_scan }) => kind === 'reflectivity-tiles' && first_scan === plan.scan_id);
}

/** Published scans from a day before an instant on, by time. */
async function committedSince({ root }: PlanContext, time_ms: number): Promise<CommittedScan[]> {
  const since = scanId(Math.max(0, time_ms - MS_PER_DAY));
  const scans: CommittedScan[] = [];
  for (const { partition, scans: held } of root.heads.values()) {
    const manifest = (held.last ?? '') >= since ? await root.manifest(partition) : null;
    for (const scan of manifest?.scans ?? []) if (scan.scan_id >= since) scans.push(scan);
  }
  return scans.sort((a, b) => (a.scan_id < b.scan_id ? -1 : 1));
}

/** State before a scan: after the last published one, from its checkpoint unless the session holds it. */
async function stateBefore(context: Context, { scan_id, scan_time }: ScanPlan): Promise<TrackingState> {
  const before = (await committedSince(context, scan_time)).findLast((scan) => scan.scan_id < scan_id)?.scan_id;
  if (before === undefined || scan_time - scanTime(before) > TRACKING_MAX_GAP_MS) return emptyTrackingState;
  if (context.tracking.scan_time === scanTime(before)) return context.tracking;
  const checkpoint = await checkpointAfter(context, before);
  if (checkpoint === undefined)
    throw new PipelineError('track', before, 'has no checkpoint in its manifest, expected one after every segment');
  return decodeTrackingState(await fs.readFile(join(context.root.path, checkpoint.path)));
}

/** Checkpoint after a published scan, as its manifest lists it. */
async function checkpointAfter(context: Context, scan_id: string | undefined): Promise<PublishedFile | undefined> {
  if (scan_id === undefined) return undefined;
  const manifest = await context.root.manifest(dateOf(context, scanTime(scan_id)));
  return manifest?.files.find((file) => file.kind === 'state' && file.last_scan === scan_id);
}

/** Rejects the files that cannot be used, archives those that no scan takes, and empties the inbox. */
async function finishRun(run: Run) {
  const { context, files, accepted, unusable, deferred, done, dates, tally } = run;
  const plans = planScans([...files]);
  for (const { file, taken } of isStopped(run) ? [] : plans.contradicting) {
    files.delete(file);
    const reason = `holds other content than '${taken.key}' of the same product and time, which is used: ${taken.bytes} bytes to ${file.bytes}`;
    unusable.push({ file, stage: 'sources', reason });
  }
  const orDefer = async (file: SourceFile, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      deferUnreadable(context, file, error, deferred);
    }
  };
  const rejected: Rejected = [];
  for (const { file, stage, reason } of unusable)
    await orDefer(file, () => rejectFile(context, file, stage, reason, rejected));
  const isOurs = (file: SourceFile) => isArchived(context.root, file);
  const unused = plans.unused.filter((file) => !isOurs(file));
  for (const file of unused) await orDefer(file, () => archiveUnused(context, file));
  if (context.settings.move_raw) await emptyInbox(context, accepted, plans.duplicates);
  const waiting = new Set(deferred.map(({ location }) => location));
  const isLeftAlone = ({ scan_id, mesh }: ScanPlan) => !done.has(scan_id) && !waiting.has(mesh.location);
  return {
    /** Scans published for the first time and published again, with their rows. */
    ...tally,
    rejected,
    rejected_before: run.rejected_before,
    /** Files deferred to a later run: ahead of the clock, or not readable at present. */
    postponed: deferred,
    /** Files of known products that no scan takes; they are archived. */
    unused: unused.filter(({ location }) => !waiting.has(location)).length,
    /** Given files and their copies in the archive are no duplicates. */
    duplicates: planScans(accepted.filter((file) => !isOurs(file))).duplicates.length,
    /** Scans given without a change. */
    skipped: planScans(accepted).scans.filter(isLeftAlone).length,
    /** Storm dates whose tables changed. */
    dates: [...dates].sort(),
  };
}

/** True once the run has to end at the next commit. */
function isStopped({ context }: Run): boolean {
  return context.settings.signal?.aborted === true;
}
