import { findObjects } from '../../../pipeline/detect/cells.ts';
import type { TrackCell } from '../../../pipeline/track/track-cell.ts';
import { GOAL_FRAMES, readFrames, windowOf } from '../../bench/tracking.ts';
import { faults, follow } from '../../support/data/parting.ts';
import { texture } from '../../support/data/patch-cell.ts';
import { sharedTest } from '../../support/data/shared-data.ts';
import { trackCells } from '../../support/data/track-cells.ts';

async function realCells(): Promise<TrackCell[][]> {
  const frames = await readFrames({ ...GOAL_FRAMES, window: windowOf(-125, 22, -67, 50) });
  return frames.map(({ field }) => trackCells(field, findObjects(field, 1, 8)));
}

sharedTest(
  'nine in ten pairs of real rain cores that part at +-20 to +-42 km/h are the old track and its child',
  async (t) => {
    const [first = []] = await realCells();
    const cores = first.filter(({ rows }) => rows.length >= 60 && rows.length <= 250).map(texture);
    t.true(cores.length >= 6, `${cores.length} cores`);
    const pairs = cores.slice(0, 6).flatMap((core, i) => cores.slice(i, 6).map((other) => [core, other] as const));
    const results = pairs.flatMap((patches, i) =>
      [20, 30, 42].map((kmh) =>
        faults({ patches, apart: { kmh, towards_deg: 30 * i }, drift: { kmh: 40, towards_deg: 70 } }),
      ),
    );
    const right = results.filter((found) => found.length === 0).length;
    t.log(`${right} of ${results.length}`);
    t.true(right >= 0.9 * results.length, `${right} of ${results.length}`);
  },
);

sharedTest(
  'no track of 20 real frames ends in a track that was born when it vanished, nor in its own child',
  async (t) => {
    const points = follow(await realCells()).flatMap(({ step }) => step.points);
    const tracked = Map.groupBy(
      points.filter(({ state }) => state === 'tracked'),
      ({ track_id }) => track_id,
    );
    const merged = points.filter(({ state }) => state === 'merged');
    t.true(merged.length > 10, `${merged.length} mergers`);
    for (const { track_id, merged_into } of merged) {
      const [survivor] = tracked.get(merged_into as string) ?? [];
      const last = tracked.get(track_id)?.at(-1);
      t.true((survivor?.first_detected ?? Infinity) <= (last?.scan_time ?? 0), `${track_id} into ${merged_into}`);
      t.not(survivor?.parent_track_id, track_id);
    }
  },
);
