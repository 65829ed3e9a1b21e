import type { CommittedScan } from '../../schemas/manifest.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { MS_PER_HOUR, MS_PER_MIN } from '../../schemas/time.ts';
import { BadInput, Unreadable } from '../error.ts';
import type { ProductTimes } from '../publish/commit.ts';
import type { DateCommit } from '../publish/commit-dates.ts';
import { LIVE_WINDOW_MIN } from '../publish/live-window.ts';
import type { ScanProducts, Segment } from '../publish/segment.ts';
import { readBlockage } from '../publish/terrain.ts';
import type { SourceFile } from '../sources/names.ts';
import { filesOf, inputHash, type ScanPlan } from '../sources/plan.ts';
import { dayMaxRows, emptyDayMaximum, updateDayMaximum } from '../swath/accumulate.ts';
import { REFLECTIVITY_VERSION } from '../tiles/reflectivity-tiles.ts';
import { archiveFile, dateOf, provenanceFault } from './raw-archive.ts';
import { type FileFault, type Outcome, READ_AHEAD, type ReadScan } from './read-ahead.ts';
import { type Context, dropFile, isStopped, type Run } from './run.ts';
import type { HourOfScans } from './run-plan.ts';
import { processScan, type ScanResult } from './scan.ts';
import { secondsSince } from './seconds-since.ts';
import { encodeTrackingState, stateAt, type TrackingState } from './tracking-state.ts';

/** A scan that was read and processed, with its raw files archived. */
interface ProcessedScan {
  readonly plan: ScanPlan;
  readonly result: ScanResult;
}

/** A staged segment and the figures of the scans in it. */
export interface ProcessedSegment {
  readonly storm_date: string;
  readonly simulated: boolean;
  readonly segment: Segment;
  readonly feeds: ProductTimes;
  readonly detections: number;
  readonly cells: number;
  /** Scans that may be in the live window; a day that is made again must not stay in memory as a whole. */
  readonly fresh: readonly ScanProducts[];
}

/**
 * Reads and processes scans of one hour and stages them as a segment; no segment when none of them can be read. `before` is
 * the state before the first of them; `between` is called before each.
 */
export async function processSegment(
  run: Run,
  hour: HourOfScans,
  upcoming: (scan: ScanPlan) => readonly ScanPlan[],
  before: TrackingState,
  between: () => Promise<void> = async () => {},
): Promise<{ readonly segments: ProcessedSegment[]; readonly state: TrackingState }> {
  const { context, tally } = run;
  const products: ScanProducts[] = [];
  const files: SourceFile[] = [];
  const maximum = emptyDayMaximum();
  let state = before;
  for (const planned of hour) {
    await between();
    if (isStopped(run)) break;
    const processed = await readAndProcess(run, planned, upcoming(planned), state);
    tally.done.add(planned.scan_id);
    context.settings.log.progress('scans', tally.done.size, tally.all);
    if (processed === null) continue;
    products.push(processed.result.products);
    files.push(...filesOf(processed.plan));
    updateDayMaximum(maximum, processed.result.ofDay);
    state = processed.result.state;
  }
  const first = products[0];
  if (first === undefined) return { segments: [], state };
  const { storm_date, simulated } = first;
  const segment = await context.root.stage(products, dayMaxRows(maximum, storm_date), encodeTrackingState(state));
  const sum = (of: (scan: ScanProducts) => number) => products.reduce((total, scan) => total + of(scan), 0);
  const processed = {
    storm_date,
    simulated,
    segment,
    feeds: newestOfEach(files),
    detections: sum((scan) => scan.detections.length),
    cells: sum((scan) => scan.cells.length),
    fresh: products,
  };
  return { segments: [processed], state };
}

/**
 * The scan from the files that can be used: a file at fault is dropped, and the scan is planned again without it. Null when
 * its MESH file cannot be used.
 */
async function readAndProcess(
  run: Run,
  planned: ScanPlan,
  upcoming: readonly ScanPlan[],
  before: TrackingState,
): Promise<ProcessedScan | null> {
  while (true) {
    const read = await run.readAhead.read(planned, upcoming);
    if (read === null) return null;
    const processed = read.ok ? await processAndArchive(run.context, read.scan, before) : read;
    if (processed.ok) return processed.scan;
    dropFile(run, processed);
  }
}

/** Processes one scan that was read, and copies its raw files into the archive. */
async function processAndArchive(
  context: Context,
  { plan, input }: ReadScan,
  before: TrackingState,
): Promise<Outcome<ProcessedScan>> {
  const { root } = context;
  const { scan_time, inputs, mesh } = plan;
  const storm_date = dateOf(context, plan.scan_id);
  const provenance = input.simulated ? 'simulated' : 'observed';
  const fault = provenanceFault(context, storm_date, mesh.location, provenance);
  if (fault !== null) return { ok: false, file: mesh, fault };
  if (context.terrain === undefined) context.terrain = await readBlockage(root.engine, root.path);
  const { terrain } = context;
  let result: ScanResult;
  try {
    result = processScan(input, stateAt(before, scan_time), { storm_date, inputs, terrain });
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    return { ok: false, file: mesh, fault: error };
  }
  const unreadable = await archiveScan(context, plan, provenance);
  if (unreadable !== null) return unreadable;
  const painted = reflectivityInputs(context, plan);
  // Without an archive that was painted the listed one stays.
  const reflectivity = painted === null ? null : { inputs: painted, archive: input.reflectivity_tiles ?? null };
  return { ok: true, scan: { plan, result: { ...result, products: { ...result.products, reflectivity } } } };
}

/** Copies the raw files of a scan into the archive. Returns the first that cannot be read, null when all are archived. */
async function archiveScan(context: Context, plan: ScanPlan, provenance: Provenance): Promise<FileFault | null> {
  const files = filesOf(plan);
  const copies = await Promise.allSettled(files.map((file) => archiveFile(context, file, provenance)));
  for (const [index, copy] of copies.entries()) {
    const file = files[index] as SourceFile;
    if (copy.status === 'fulfilled') continue;
    if (copy.reason instanceof Unreadable && copy.reason.subject === file.location)
      return { ok: false, file, fault: copy.reason };
    throw copy.reason;
  }
  return null;
}

/** Hash of the inputs of a scan's reflectivity archive; null without the product, and for a scan older than archives are kept. */
function reflectivityInputs({ settings }: Context, { scan_time, companions }: ScanPlan): string | null {
  const { reflectivity_keep_hours: hours, now } = settings;
  const file = companions.max_reflectivity_dbz;
  if (file === undefined || hours === 0 || now() - scan_time >= hours * MS_PER_HOUR) return null;
  return inputHash(`reflectivity ${REFLECTIVITY_VERSION}`, file);
}

/** True for a scan whose reflectivity is to be painted: it is young enough, and none painted from the same file is listed. */
export async function paintsReflectivity(context: Context, plan: ScanPlan): Promise<boolean> {
  const inputs = reflectivityInputs(context, plan);
  if (inputs === null) return false;
  const manifest = await context.root.manifest(dateOf(context, plan.scan_id));
  const published = manifest?.scans.find(({ scan_id }) => scan_id === plan.scan_id);
  if (published?.reflectivity !== inputs) return true;
  return !manifest?.files.some(({ kind, first_scan }) => kind === 'reflectivity-tiles' && first_scan === plan.scan_id);
}

/** Newest time of each product among some files. */
function newestOfEach(files: readonly SourceFile[]): ProductTimes {
  const feeds: Record<string, number> = {};
  for (const { product, time_ms } of files) feeds[product] = Math.max(time_ms, feeds[product] ?? time_ms);
  return feeds;
}

/** Adds the newest segments, and drops the rows of scans that have left the live window because of them. */
export function withNewest(made: readonly ProcessedSegment[], newest: readonly ProcessedSegment[]): ProcessedSegment[] {
  const last_ms = newest.at(-1)?.fresh.at(-1)?.scan_time ?? 0;
  const isLive = (scan: ScanProducts) => last_ms - scan.scan_time <= LIVE_WINDOW_MIN * MS_PER_MIN;
  return [...made.map((one) => ({ ...one, fresh: one.fresh.filter(isLive) })), ...newest];
}

/** The scans after one of them that are worth reading ahead. */
export function upcomingIn(order: readonly ScanPlan[]): (scan: ScanPlan) => readonly ScanPlan[] {
  const places = new Map(order.map((scan, index) => [scan, index]));
  return (scan) => {
    const next = (places.get(scan) ?? order.length) + 1;
    return order.slice(next, next + READ_AHEAD);
  };
}

/** Publishes staged segments in place of the dropped scans' segments. */
export async function publishSegments(
  { context, tally }: Run,
  made: readonly ProcessedSegment[],
  dropped: readonly CommittedScan[] = [],
): Promise<void> {
  if (made.length + dropped.length === 0) return;
  const { root, settings } = context;
  const dates = new Set([
    ...made.map(({ storm_date }) => storm_date),
    ...dropped.map(({ scan_id }) => dateOf(context, scan_id)),
  ]);
  const commits = [...dates].sort().map((storm_date): DateCommit => {
    const own = made.filter((one) => one.storm_date === storm_date);
    const ownDropped = dropped.filter(({ scan_id }) => dateOf(context, scan_id) === storm_date);
    const simulated = own[0]?.simulated ?? root.heads.get(storm_date)?.provenance === 'simulated';
    return {
      storm_date,
      provenance: simulated ? 'simulated' : 'observed',
      drop_segments: [...new Set(ownDropped.map(({ segment }) => segment))],
      segments: own.map(({ segment }) => segment),
      // Those of an hour come after those of the hour before.
      feeds: Object.assign({}, ...own.map(({ feeds }) => feeds)),
    };
  });
  const fresh = made.flatMap((one) => one.fresh);
  const begun_ms = performance.now();
  await root.commit(commits, fresh, settings.now());
  const seconds = secondsSince(begun_ms);
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
  const newest = scans.at(-1) ?? null;
  const figures = { scans: scans.length, redone, newest, detections, cells, dates: [...dates].sort(), seconds };
  settings.log.info('Scan:Commit:Done', figures);
}
