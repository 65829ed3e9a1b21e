import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { CommittedScan } from '../../schemas/manifest.ts';
import { MS_PER_DAY, scanId, scanTime } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import type { Root } from '../publish/root.ts';
import { dateOf } from './raw-archive.ts';
import type { Context } from './run.ts';
import { decodeTrackingState, emptyTrackingState, TRACKING_MAX_GAP_MS, type TrackingState } from './tracking-state.ts';

/** Published scans from a day before an instant on, by time. */
export async function committedSince(root: Root, time_ms: number): Promise<CommittedScan[]> {
  const since = scanId(Math.max(0, time_ms - MS_PER_DAY));
  const scans: CommittedScan[] = [];
  for (const { partition, last_scan } of root.heads.values()) {
    const manifest = last_scan !== null && last_scan >= since ? await root.manifest(partition) : null;
    for (const scan of manifest?.scans ?? []) if (scan.scan_id >= since) scans.push(scan);
  }
  return scans.sort((a, b) => (a.scan_id < b.scan_id ? -1 : 1));
}

/** State before an instant: after the last published scan that stays, from the checkpoint unless it is still at hand. */
export async function stateBefore(
  context: Context,
  time_ms: number,
  replaced: ReadonlySet<string>,
): Promise<TrackingState> {
  const before = (await committedSince(context.root, time_ms)).findLast(
    ({ scan_id }) => scanTime(scan_id) < time_ms && !replaced.has(scan_id),
  );
  if (before === undefined || time_ms - scanTime(before.scan_id) > TRACKING_MAX_GAP_MS) return emptyTrackingState;
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

/** The checkpoint after a published scan, as its list names it. */
export async function checkpointAfter(context: Context, scan_id: string) {
  const manifest = await context.root.manifest(dateOf(context, scan_id));
  return manifest?.files.find((file) => file.kind === 'state' && file.last_scan === scan_id);
}
