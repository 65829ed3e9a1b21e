import { stormDateStart } from '../../schemas/time.ts';
import { BadInput, PipelineError, Unreadable } from '../error.ts';
import type { SourceFile } from '../sources/names.ts';
import { openFileIndex, planScans, type ScanPlan } from '../sources/plan.ts';
import { committedSince, stateBefore } from './checkpoints.ts';
import { leaveOutLate } from './late-files.ts';
import { aheadIn, processSegment, publishSegments } from './process-segment.ts';
import {
  archivedAround,
  archiveUnused,
  corrected,
  dateOf,
  emptyInbox,
  isArchived,
  learnProvenances,
  type Postponed,
  postpone,
  putAside,
  type Rejected,
  selectWorthwhile,
  withContentHashes,
} from './raw-archive.ts';
import { type Drop, openReading } from './read-ahead.ts';
import { redoStretch } from './redo.ts';
import { planStretches, type Redo, type StretchPlan, scansOf } from './redo-plan.ts';
import { paintsReflectivity } from './reflectivity.ts';
import { type Arrived, type Context, isStopped, type Run, type Tally } from './run.ts';

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

/** What a run does besides taking in its files. */
export interface RunRequest {
  /** Storm date whose scans are all made again; null in a usual run. */
  readonly rebuild: string | null;
  readonly arrived: Arrived;
}

/**
 * Brings the data root up to date with some raw files and everything archived before: takes the files in, plans which scans
 * they make, publishes those, and puts aside what cannot be used.
 */
export async function ingestFiles(
  context: Context,
  files: readonly SourceFile[],
  request: RunRequest,
): Promise<RunSummary> {
  const run = startRun(context, request);
  await takeIn(run, files);
  if (request.rebuild !== null) await refuseLostScans(run, request.rebuild);
  if (context.settings.each_scan) await publishNewestFirst(run);
  else await publishInOrder(run);
  refuseContradicting(run);
  await putAsideUnusable(run);
  const unused = await archiveLeftovers(run);
  return summaryOf(run, unused);
}

/** A run that has taken nothing in yet. */
function startRun(context: Context, { rebuild, arrived }: RunRequest): Run {
  const pile = openFileIndex();
  const tally: Tally = {
    scans: 0,
    redone: 0,
    detections: 0,
    cells: 0,
    done: new Set(),
    all: 0,
    rejected: [],
    postponed: [],
    dates: new Set(),
  };
  const drop: Drop = (file, fault) => {
    if (!(fault instanceof Unreadable)) run.unusable.push({ file, fault });
    // A published scan is not made again from less than it was made from.
    else if (run.redoing && isArchived(context.root, file)) throw fault;
    else postpone(context, file, { stage: 'read', reason: fault.reason, is_gone: fault.is_gone }, tally.postponed);
  };
  const reading = openReading(context.readPool, pile, context.settings.storm_day_start_hour, drop, (scan) =>
    paintsReflectivity(context, scan),
  );
  const run: Run = {
    context,
    rebuild,
    arrived,
    pile,
    reading,
    tally,
    given: [],
    accepted: [],
    unusable: [],
    redoing: false,
  };
  return run;
}

/** Takes files, and those archived around their times, into a run. */
async function takeIn(run: Run, files: readonly SourceFile[]): Promise<void> {
  const { context, rebuild } = run;
  context.root.check();
  const worthwhile = await selectWorthwhile(context, files, run.tally.postponed);
  await learnProvenances(context, worthwhile);
  const times = worthwhile.map((file) => file.time_ms);
  if (rebuild !== null) times.push(stormDateStart(rebuild, context.settings.storm_day_start_hour));
  const archived = await archivedAround(context, times);
  const accepted = await withContentHashes(context.root, await corrected(context.root, worthwhile, archived));
  run.given.push(...files);
  run.accepted.push(...accepted);
  run.pile.add([...accepted, ...archived]);
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

/** Publishes stretch after stretch in order of time: what must be made again first, then what is new. */
async function publishInOrder(run: Run): Promise<void> {
  for (const stretch of await planWork(run)) {
    await redoStretch(run, stretch, publishArrived);
    await publishNew(run, stretch);
  }
}

/**
 * Publishes what is new first, then makes again what late files have changed, one stretch after the other. What was published
 * meanwhile has changed the plan.
 */
async function publishNewestFirst(run: Run): Promise<void> {
  const tried = new Set<string>();
  while (!isStopped(run)) {
    const stretches = await planWork(run);
    for (const stretch of stretches) await publishNew(run, stretch);
    if (!stretches.some(({ redo }) => redo.length > 0)) return;
    const late = (await planWork(run)).find((stretch) => stretch.redo.length > 0 && !tried.has(nameOf(stretch)));
    if (late === undefined) return;
    tried.add(nameOf(late));
    await redoStretch(run, late, publishArrived);
  }
}

/** A name that two plans of a stretch share when there is the same to do. */
function nameOf(stretch: StretchPlan): string {
  return scansOf(stretch)
    .map(({ scan_id, inputs }) => `${scan_id} ${inputs}`)
    .join();
}

/** What there is to do with the files of a run, given what is published by now. */
async function planWork(run: Run): Promise<StretchPlan[]> {
  const { context, rebuild, pile, tally } = run;
  const plans = planScans(pile.all()).scans;
  const committed = (await committedSince(context.root, plans[0]?.scan_time ?? 0)).map((scan) =>
    rebuild !== null && dateOf(context, scan.scan_id) === rebuild ? { ...scan, inputs: 'to be made again' } : scan,
  );
  const stretches = planStretches(plans, committed, context.settings.storm_day_start_hour, (scan, loss) => {
    if (rebuild !== null) throw loss;
    leaveOutLate(run, scan, loss);
  });
  tally.all = tally.done.size + stretches.flatMap(scansOf).filter(({ scan_id }) => !tally.done.has(scan_id)).length;
  return stretches;
}

/** Publishes the scans of a stretch that come after everything published there. Returns them as segments. */
async function publishNew(run: Run, { append: hours }: StretchPlan): Promise<Redo[]> {
  const { context } = run;
  const published: Redo[] = [];
  const upcoming = aheadIn(hours.flat());
  const first = hours[0]?.[0];
  if (first === undefined) return published;
  context.tracking = await stateBefore(context, first.scan_time, new Set());
  for (const hour of hours) {
    const pieces = context.settings.each_scan ? hour.map((scan) => [scan]) : [hour];
    for (const piece of pieces) {
      if (isStopped(run)) return published;
      const { segments, state } = await processSegment(run, piece, upcoming, context.tracking);
      await publishSegments(run, segments);
      context.tracking = state;
      published.push(...segments.map(({ segment }) => ({ replaces: segment.scans, hours: [piece] })));
    }
  }
  return published;
}

/** Publishes the new scans among what arrived since, and leaves what is late to the next plan. */
async function publishArrived(run: Run): Promise<Redo[]> {
  const files = run.arrived();
  if (files.length === 0) return [];
  const { redoing } = run;
  run.redoing = false;
  await takeIn(run, files);
  const published: Redo[] = [];
  for (const stretch of await planWork(run)) published.push(...(await publishNew(run, stretch)));
  run.redoing = redoing;
  return published;
}

/** Leaves files out whose place another file of their product and time has taken; they are put aside by name. */
function refuseContradicting(run: Run): void {
  const { accepted, pile, unusable } = run;
  if (isStopped(run) || accepted.every(({ sha256 }) => sha256 === undefined)) return;
  for (const { file, taken } of planScans(pile.all()).contradicting) {
    const reason = `holds other content than '${taken.key}' of the same product and time, which is used: ${taken.bytes} bytes to ${file.bytes}`;
    pile.remove(file);
    unusable.push({ file, fault: new BadInput('sources', file.location, reason) });
  }
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

/** Archives what no scan takes, and empties the inbox of what is archived by now. Returns how many files no scan takes. */
async function archiveLeftovers({ context, pile, given, accepted, tally }: Run): Promise<number> {
  const plans = planScans(pile.all());
  const unused = await archiveUnused(context, given, plans.unused, tally.postponed);
  if (context.settings.move_raw) await emptyInbox(context, accepted, plans.duplicates);
  return unused;
}

function summaryOf({ context, accepted, tally }: Run, unused: number): RunSummary {
  const { scans, redone, detections, cells, rejected, postponed } = tally;
  const waiting = new Set(postponed.map(({ location }) => location));
  const isLeftAlone = ({ scan_id, mesh }: ScanPlan) => !tally.done.has(scan_id) && !waiting.has(mesh.location);
  return {
    scans,
    redone,
    detections,
    cells,
    rejected,
    postponed,
    unused,
    // Given files and their copies in the archive are the same thing, not duplicates.
    duplicates: planScans(accepted.filter((file) => !isArchived(context.root, file))).duplicates.length,
    skipped: planScans(accepted).scans.filter(isLeftAlone).length,
    dates: [...tally.dates].sort(),
  };
}
