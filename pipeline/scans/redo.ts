import type { CommittedScan } from '../../schemas/manifest.ts';
import { scanTime } from '../../schemas/time.ts';
import { Unreadable } from '../error.ts';
import { sha256 } from '../files.ts';
import { checkpointAfter, stateBefore } from './checkpoints.ts';
import { postponeLate } from './late-files.ts';
import { aheadIn, type ProcessedSegment, processSegment, publishSegments, withNewest } from './process-segment.ts';
import { type Redo, type StretchPlan, scansOf } from './redo-plan.ts';
import { isStopped, type Run } from './run.ts';
import { emptyTrackingState, encodeTrackingState, TRACKING_MAX_GAP_MS } from './tracking-state.ts';

/** Publishes what is new and came meanwhile; returns it as segments. */
export type PublishArrived = (run: Run) => Promise<Redo[]>;

/** Makes published scans again from the first that late files change on, and publishes them in one commit. */
export async function redoStretch(run: Run, stretch: StretchPlan, publishArrived: PublishArrived): Promise<void> {
  if (stretch.redo.length === 0) return;
  run.redoing = true;
  try {
    await redo(run, stretch, publishArrived);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    // What is published stays as it is; the late files wait until it can be made again.
    postponeLate(run, scansOf(stretch), error);
  } finally {
    run.redoing = false;
  }
}

async function redo(
  run: Run,
  { redo: planned, last_changed }: StretchPlan,
  publishArrived: PublishArrived,
): Promise<void> {
  const { context, tally } = run;
  const segments = [...planned];
  const first = segments.flatMap(({ hours }) => hours).flat()[0];
  const replaced = new Set(segments.flatMap(({ replaces }) => replaces.map((scan) => scan.scan_id)));
  let state = first === undefined ? emptyTrackingState : await stateBefore(context, first.scan_time, replaced);
  let made: readonly ProcessedSegment[] = [];
  const dropped: CommittedScan[] = [];
  const upcoming = aheadIn(segments.flatMap(({ hours }) => hours).flat());
  for (let index = 0; index < segments.length; index++) {
    const { replaces, hours } = segments[index] as Redo;
    for (const hour of hours) {
      const next = await processSegment(run, hour, upcoming, state, async () => {
        for (const segment of await publishArrived(run)) if (isNextTo(segments, segment)) segments.push(segment);
      });
      if (isStopped(run)) return;
      made = withNewest(made, next.segments);
      state = next.state;
    }
    dropped.push(...replaces);
    const last = replaces.at(-1)?.scan_id ?? '';
    // When the state is just what it was before, everything from there on stays as it is.
    if (last >= last_changed && (await checkpointAfter(context, last))?.sha256 === sha256(encodeTrackingState(state))) {
      tally.all -= segments.slice(index + 1).flatMap((later) => later.hours.flat()).length;
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
