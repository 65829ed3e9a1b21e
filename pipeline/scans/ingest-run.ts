import fs from 'node:fs/promises';
import { join } from 'node:path';
import { type CommittedScan, type PublishedFile, provenanceOfDate } from '../../schemas/manifest.ts';
import { MS_PER_DAY, scanId, scanTime, stormDateStart } from '../../schemas/time.ts';
import { PipelineError, Unreadable } from '../error.ts';
import { sha256 } from '../files.ts';
import type { SourceFile } from '../sources/names.ts';
import { type Contradiction, filesOf, openFileIndex, planScans, type ScanPlan } from '../sources/plan.ts';
import {
  type ProcessedSegment,
  paintsReflectivity,
  processSegment,
  publishSegments,
  upcomingIn,
  withNewest,
} from './process-segment.ts';
import {
  archiveFile,
  archiveUnused,
  type Deferred,
  dateOf,
  deferUnreadable,
  emptyInbox,
  isArchived,
  learnProvenances,
  type PlanContext,
  planningFiles,
  type Rejected,
  rejectFile,
  selectWorthwhile,
  unarchived,
} from './raw-archive.ts';
import { openReadAhead } from './read-ahead.ts';
import { type Context, deferLate, isStopped, leaveOutLate, type Run, type TakeArrivals } from './run.ts';
import { planRun, type Redo, type StretchPlan, scansOf } from './run-plan.ts';
import {
  decodeTrackingState,
  emptyTrackingState,
  encodeTrackingState,
  TRACKING_MAX_GAP_MS,
  type TrackingState,
} from './tracking-state.ts';

/** Result of a run. */
export interface RunSummary {
  /** Scans published for the first time, published again, and given but left alone because nothing about them changed. */
  readonly scans: number;
  readonly redone: number;
  readonly skipped: number;
  readonly detections: number;
  readonly cells: number;
  readonly rejected: Readonly<Rejected>;
  /** Files deferred to a later run: ahead of the clock, or not readable at present. */
  readonly postponed: readonly Deferred[];
  /** Files of known products that no scan takes; they are archived. */
  readonly unused: number;
  readonly duplicates: number;
  /** Storm dates whose tables changed. */
  readonly dates: readonly string[];
}

export interface RunRequest {
  /** Storm date whose scans are all made again; null in a usual run. */
  readonly rebuild: string | null;
  readonly takeArrivals: TakeArrivals;
}

/**
 * Brings the data root up to date with some raw files and everything archived before: selects the files, plans which scans
 * they make, publishes those, and rejects the files that cannot be used.
 */
export async function ingestFiles(
  context: Context,
  files: readonly SourceFile[],
  request: RunRequest,
): Promise<RunSummary> {
  const run = startRun(context, request);
  await addFiles(run, files);
  if (request.rebuild !== null) await refuseLostScans(run, request.rebuild);
  if (context.settings.each_scan) await publishNewestFirst(run);
  else await publishInOrder(run);
  dropContradicting(run);
  await rejectUnusable(run);
  const unused = await archiveLeftovers(run);
  return summaryOf(run, unused);
}

function startRun(context: Context, { rebuild, takeArrivals }: RunRequest): Run {
  const index = openFileIndex();
  const { readPool } = context;
  return {
    context,
    rebuild,
    takeArrivals,
    index,
    readAhead: openReadAhead(readPool, index, context.root, (scan) => paintsReflectivity(context, scan)),
    tally: {
      scans: 0,
      redone: 0,
      detections: 0,
      cells: 0,
      done: new Set(),
      all: 0,
      rejected: [],
      deferred: [],
      dates: new Set(),
    },
    given: [],
    accepted: [],
    unusable: [],
    redoing: false,
  };
}

/** Adds files, and those archived around their times, to a run. */
async function addFiles(run: Run, files: readonly SourceFile[]): Promise<void> {
  const { context, rebuild } = run;
  context.root.check();
  const worthwhile = await selectWorthwhile(context, files, run.tally.deferred);
  await learnProvenances(context, worthwhile);
  const rebuild_ms = rebuild === null ? [] : [stormDateStart(rebuild, context.settings.storm_day_start_hour)];
  const { accepted, archived } = await planningFiles(context, worthwhile, rebuild_ms);
  run.given.push(...files);
  run.accepted.push(...accepted);
  run.index.add([...accepted, ...archived]);
}

/** Throws when a published scan of a date cannot be made again: a date is rebuilt as a whole or not at all. */
async function refuseLostScans({ context, index }: Run, storm_date: string): Promise<void> {
  const planned = new Set(planScans(index.all()).scans.map(({ scan_id }) => scan_id));
  const published = (await context.root.manifest(storm_date))?.scans ?? [];
  const lost = published.filter(({ scan_id }) => !planned.has(scan_id));
  if (lost.length === 0) return;
  throw new PipelineError(
    'rebuild',
    storm_date,
    `raw files of ${lost.length} published scans are gone (${lost[0]?.scan_id} first), expected them in the archive`,
  );
}

/** Publishes stretch after stretch in order of time: scans to be made again first, then new ones. */
async function publishInOrder(run: Run): Promise<void> {
  for (const stretch of await planWork(run)) {
    await redoStretch(run, stretch);
    await publishNew(run, stretch);
  }
}

/**
 * Publishes new scans first, then makes again the scans that late files have changed, one stretch after the other. Each
 * stretch is planned again, because scans published in between change the plan.
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
    await redoStretch(run, late);
  }
}

/** Name of a stretch; two plans of it share the name when they have the same work. */
function nameOf(stretch: StretchPlan): string {
  return scansOf(stretch)
    .map(({ scan_id, inputs }) => `${scan_id} ${inputs}`)
    .join();
}

/** Stretches that there is work with, given the files of a run and the scans that are published by now. */
async function planWork(run: Run): Promise<readonly StretchPlan[]> {
  const { context, rebuild, index, tally } = run;
  const scans = planScans(index.all()).scans;
  const committed = (await committedSince(context, scans[0]?.scan_time ?? 0)).map((scan) =>
    rebuild !== null && dateOf(context, scan.scan_id) === rebuild ? { ...scan, inputs: 'to be made again' } : scan,
  );
  const { stretches, late } = planRun(scans, committed, context.settings.storm_day_start_hour);
  for (const one of late) {
    if (rebuild !== null) throw one.loss;
    leaveOutLate(run, one);
  }
  tally.all = tally.done.size + stretches.flatMap(scansOf).filter(({ scan_id }) => !tally.done.has(scan_id)).length;
  return stretches;
}

/** Publishes the scans of a stretch that come after everything published there. Returns them as segments. */
async function publishNew(run: Run, { append: hours }: StretchPlan): Promise<Redo[]> {
  const { context } = run;
  const published: Redo[] = [];
  const upcoming = upcomingIn(hours.flat());
  const first = hours[0]?.[0];
  if (first === undefined) return published;
  context.tracking = await stateBefore(context, first.scan_time, new Set());
  for (const hour of hours) {
    const groups = context.settings.each_scan ? hour.map((scan) => [scan]) : [hour];
    for (const group of groups) {
      if (isStopped(run)) return published;
      const { segments, state } = await processSegment(run, group, upcoming, context.tracking);
      await publishSegments(run, segments);
      context.tracking = state;
      published.push(...segments.map(({ segment }) => ({ replaces: segment.scans, hours: [group] })));
    }
  }
  return published;
}

/** Publishes the new scans among the files that arrived since, and leaves late ones to the next plan. */
async function publishArrivals(run: Run): Promise<Redo[]> {
  const files = run.takeArrivals();
  if (files.length === 0) return [];
  const { redoing } = run;
  run.redoing = false;
  await addFiles(run, files);
  const published: Redo[] = [];
  for (const stretch of await planWork(run)) published.push(...(await publishNew(run, stretch)));
  run.redoing = redoing;
  return published;
}

/** Makes published scans again from the first that late files change on, and publishes them in one commit. */
async function redoStretch(run: Run, stretch: StretchPlan): Promise<void> {
  if (stretch.redo.length === 0) return;
  run.redoing = true;
  try {
    await redoSegments(run, stretch);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    // The published scans stay; the late files are deferred until these can be made again.
    deferLate(run, scansOf(stretch), error);
  } finally {
    run.redoing = false;
  }
}

async function redoSegments(run: Run, { redo, last_changed }: StretchPlan): Promise<void> {
  const { context, tally } = run;
  const segments = [...redo];
  const first = segments.flatMap(({ hours }) => hours).flat()[0];
  const replaced = new Set(segments.flatMap(({ replaces }) => replaces.map((scan) => scan.scan_id)));
  let state = first === undefined ? emptyTrackingState : await stateBefore(context, first.scan_time, replaced);
  let made: readonly ProcessedSegment[] = [];
  const dropped: CommittedScan[] = [];
  const upcoming = upcomingIn(segments.flatMap(({ hours }) => hours).flat());
  for (let at = 0; at < segments.length; at++) {
    const { replaces, hours } = segments[at] as Redo;
    for (const hour of hours) {
      const next = await processSegment(run, hour, upcoming, state, async () => {
        for (const segment of await publishArrivals(run)) if (isNextTo(segments, segment)) segments.push(segment);
      });
      if (isStopped(run)) return;
      made = withNewest(made, next.segments);
      state = next.state;
    }
    dropped.push(...replaces);
    const last = replaces.at(-1)?.scan_id ?? '';
    // With the same state as before, everything after this segment stays the same.
    if (last >= last_changed && (await checkpointAfter(context, last))?.sha256 === sha256(encodeTrackingState(state))) {
      tally.all -= segments.slice(at + 1).flatMap((later) => later.hours.flat()).length;
      break;
    }
  }
  await publishSegments(run, made, dropped);
  // The state after the newest scan came from before the redo.
  context.tracking = emptyTrackingState;
}

/** True for a segment that follows others so closely that its scans depend on theirs. */
function isNextTo(segments: readonly Redo[], { replaces }: Redo): boolean {
  const last = segments.at(-1)?.replaces.at(-1)?.scan_id;
  const first = replaces[0]?.scan_id;
  if (last === undefined || first === undefined) return false;
  return first > last && scanTime(first) - scanTime(last) <= TRACKING_MAX_GAP_MS;
}

/** Published scans from a day before an instant on, by time. */
export async function committedSince({ root }: PlanContext, time_ms: number): Promise<CommittedScan[]> {
  const since = scanId(Math.max(0, time_ms - MS_PER_DAY));
  const scans: CommittedScan[] = [];
  for (const { partition, last_scan } of root.heads.values()) {
    const manifest = last_scan !== null && last_scan >= since ? await root.manifest(partition) : null;
    for (const scan of manifest?.scans ?? []) if (scan.scan_id >= since) scans.push(scan);
  }
  return scans.sort((a, b) => (a.scan_id < b.scan_id ? -1 : 1));
}

/** State before an instant: after the last published scan that stays, from its checkpoint unless the session holds it. */
async function stateBefore(context: Context, time_ms: number, replaced: ReadonlySet<string>): Promise<TrackingState> {
  const before = (await committedSince(context, time_ms)).findLast(
    ({ scan_id }) => scanTime(scan_id) < time_ms && !replaced.has(scan_id),
  );
  if (before === undefined) return emptyTrackingState;
  if (time_ms - scanTime(before.scan_id) > TRACKING_MAX_GAP_MS) return emptyTrackingState;
  if (context.tracking.scan_time === scanTime(before.scan_id)) return context.tracking;
  const checkpoint = await checkpointAfter(context, before.scan_id);
  if (checkpoint === undefined)
    throw new PipelineError(
      'track',
      before.scan_id,
      'has no checkpoint in its manifest, expected one after every segment',
    );
  return decodeTrackingState(await fs.readFile(join(context.root.path, checkpoint.path)));
}

/** Checkpoint after a published scan, as its manifest lists it. */
async function checkpointAfter(context: Context, scan_id: string): Promise<PublishedFile | undefined> {
  const manifest = await context.root.manifest(dateOf(context, scan_id));
  return manifest?.files.find((file) => file.kind === 'state' && file.last_scan === scan_id);
}

/** Drops files whose content differs from that of the file used for their product and time. */
function dropContradicting(run: Run): void {
  const { accepted, index, unusable } = run;
  if (isStopped(run) || accepted.every((file) => file.sha256 === undefined)) return;
  for (const contradiction of planScans(index.all()).contradicting) {
    const { file } = contradiction;
    index.remove(file);
    unusable.push({ file, stage: 'sources', reason: contradictionReason(contradiction) });
  }
}

/** Reason that a contradicting file is rejected with. */
export function contradictionReason({ file, taken }: Contradiction): string {
  return `holds other content than '${taken.key}' of the same product and time, which is used: ${taken.bytes} bytes to ${file.bytes}`;
}

/** Rejects files that cannot be used, and publishes arrivals in between. */
async function rejectUnusable(run: Run): Promise<void> {
  const { context, unusable, tally } = run;
  for (let next = unusable.shift(); next !== undefined; next = unusable.shift()) {
    const { file, stage, reason } = next;
    try {
      await rejectFile(context, file, stage, reason, tally.rejected);
    } catch (error) {
      deferUnreadable(context, file, error, tally.deferred);
    }
    await publishArrivals(run);
  }
}

/** Archives files that no scan takes, and empties the inbox of archived ones. Returns how many files no scan takes. */
async function archiveLeftovers(run: Run): Promise<number> {
  const { context, index, given, accepted, tally } = run;
  const plans = planScans(index.all());
  await archivePublished(run, plans.scans);
  const unused = await archiveUnused(context, given, plans.unused, tally.deferred);
  if (context.settings.move_raw) await emptyInbox(context, accepted, plans.duplicates);
  return unused;
}

/**
 * Archives given files of published scans of open dates, as far as the archive lacks them: another process published those scans, and
 * a late file may change them.
 */
async function archivePublished({ context, accepted, tally }: Run, scans: readonly ScanPlan[]): Promise<void> {
  const { root } = context;
  const missing = new Set((await unarchived(context, accepted)).map(({ location }) => location));
  const skipped = scans.filter(
    (scan) => !tally.done.has(scan.scan_id) && filesOf(scan).some(({ location }) => missing.has(location)),
  );
  const [first] = skipped;
  if (first === undefined) return;
  const published = new Map(
    (await committedSince(context, first.scan_time)).map((scan) => [scan.scan_id, scan.inputs]),
  );
  for (const scan of skipped) {
    const head = root.heads.get(dateOf(context, scan.scan_id));
    if (head === undefined || head.closed || published.get(scan.scan_id) !== scan.inputs) continue;
    const provenance = provenanceOfDate(head.partition, head.provenance);
    for (const file of filesOf(scan).filter(({ location }) => missing.has(location))) {
      try {
        await archiveFile(context, file, provenance);
      } catch (error) {
        deferUnreadable(context, file, error, tally.deferred);
      }
    }
  }
}

function summaryOf({ context, accepted, tally }: Run, unused: number): RunSummary {
  const { scans, redone, detections, cells, rejected, deferred } = tally;
  const waiting = new Set(deferred.map(({ location }) => location));
  const isLeftAlone = ({ scan_id, mesh }: ScanPlan) => !tally.done.has(scan_id) && !waiting.has(mesh.location);
  return {
    scans,
    redone,
    detections,
    cells,
    rejected,
    postponed: deferred,
    unused,
    // Given files and their copies in the archive are the same thing, not duplicates.
    duplicates: planScans(accepted.filter((file) => !isArchived(context.root, file))).duplicates.length,
    skipped: planScans(accepted).scans.filter(isLeftAlone).length,
    dates: [...tally.dates].sort(),
  };
}
