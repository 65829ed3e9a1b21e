import type { CommittedScan } from '../../schemas/manifest.ts';
import { BadInput } from '../error.ts';
import type { ProductTimes } from '../publish/commit.ts';
import type { DateCommit } from '../publish/commit-dates.ts';
import { LIVE_WINDOW_MIN } from '../publish/live-window.ts';
import type { ScanProducts, Segment } from '../publish/segment.ts';
import { readBlockage } from '../publish/terrain.ts';
import type { SourceFile } from '../sources/names.ts';
import { allOrFirstError } from '../sources/parallel.ts';
import { filesOf, type ScanPlan } from '../sources/plan.ts';
import { emptyMaximum, maximumRows, updateDayMaximum } from '../swath/accumulate.ts';
import { archiveFile, dateOf, refuseOtherProvenance } from './raw-archive.ts';
import type { ReadScan } from './read-ahead.ts';
import { READ_AHEAD } from './read-ahead.ts';
import type { HourOfScans } from './redo-plan.ts';
import { reflectivityOf } from './reflectivity.ts';
import { type Context, isStopped, type Run } from './run.ts';
import { processScan, type ScanResult } from './scan.ts';
import { encodeTrackingState, stateAt, type TrackingState } from './tracking-state.ts';

/** A staged segment and the figures of the scans in it. */
export interface ProcessedSegment {
  readonly storm_date: string;
  readonly simulated: boolean;
  readonly segment: Segment;
  readonly feeds: ProductTimes;
  readonly detections: number;
  readonly cells: number;
  /** Scans that may be in the live window; a day that is made again must not be held in memory as a whole. */
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
  const { context, reading, tally } = run;
  const products: ScanProducts[] = [];
  const files: SourceFile[] = [];
  const maximum = emptyMaximum();
  let state = before;
  for (const planned of hour) {
    await between();
    if (isStopped(run)) break;
    const processed = await reading.read(planned, upcoming(planned), (read) => processAndArchive(context, read, state));
    tally.done.add(planned.scan_id);
    context.settings.log.progress('scans', tally.done.size, tally.all);
    if (processed === null) continue;
    products.push(processed.result.products);
    files.push(...filesOf(processed.scan));
    updateDayMaximum(maximum, processed.result.ofDay);
    state = processed.result.state;
  }
  const first = products[0];
  if (first === undefined) return { segments: [], state };
  const { storm_date, simulated } = first;
  const segment = await context.root.stage(products, maximumRows(maximum, storm_date), encodeTrackingState(state));
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

/** Processes one scan that was read, and copies its raw files into the archive. */
async function processAndArchive(context: Context, { scan, input }: ReadScan, before: TrackingState) {
  const { root } = context;
  const storm_date = dateOf(context, scan.scan_id);
  const provenance = input.simulated ? 'simulated' : 'observed';
  refuseOtherProvenance(context, storm_date, scan.mesh.location, provenance);
  if (context.terrain === undefined) context.terrain = await readBlockage(root.engine, root.path);
  const { terrain } = context;
  const result = blamedOnMesh(scan, () =>
    processScan(input, stateAt(before, scan.scan_time), { storm_date, inputs: scan.inputs, terrain }),
  );
  await allOrFirstError(filesOf(scan).map((file) => archiveFile(context, file, provenance)));
  const reflectivity = reflectivityOf(context, scan, input.reflectivity_tiles);
  return { scan, result: { ...result, products: { ...result.products, reflectivity } } };
}

/** What the work makes of a scan; what it finds wrong is the fault of the MESH file. */
function blamedOnMesh({ mesh }: ScanPlan, work: () => ScanResult): ScanResult {
  try {
    return work();
  } catch (error) {
    if (error instanceof BadInput) throw new BadInput(error.stage, mesh.location, error.reason, { cause: error });
    throw error;
  }
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
  const isLive = (scan: ScanProducts) => last_ms - scan.scan_time <= LIVE_WINDOW_MIN * 60_000;
  return [...made.map((one) => ({ ...one, fresh: one.fresh.filter(isLive) })), ...newest];
}

/** The scans after one of them that are worth reading ahead. */
export function aheadIn(order: readonly ScanPlan[]): (scan: ScanPlan) => readonly ScanPlan[] {
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
    const simulated = own[0]?.simulated ?? root.heads.get(storm_date)?.provenance === 'simulated';
    return {
      storm_date,
      provenance: simulated ? 'simulated' : 'observed',
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
    scans: scans.length,
    redone,
    newest: scans.at(-1) ?? null,
    detections,
    cells,
    dates: [...dates].sort(),
  });
}
