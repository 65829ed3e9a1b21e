import { findObjects } from '../../../pipeline/detect/cells.ts';
import { advanceTracks } from '../../../pipeline/track/advance.ts';
import { type LiveTracks, noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { type Frame, GOAL_FRAMES, overlaps, readFrames, trackFrames } from '../../bench/tracking.ts';
import { sharedTest } from '../../support/data/shared-data.ts';
import { trackCells } from '../../support/data/track-cells.ts';

let reading: Promise<Frame[]> | undefined;

/** The real frames, decoded once for all tests. */
function realFrames(): Promise<Frame[]> {
  reading ??= readFrames(GOAL_FRAMES);
  return reading;
}

sharedTest('20 real frames of rain cores: more, longer, straighter tracks than TINT and tobac at once', async (t) => {
  const frames = await realFrames();
  const { scores } = trackFrames(frames, GOAL_FRAMES.min_pixels);
  t.is(frames.length, 20);
  t.true(scores.long_tracks > 17, `${scores.long_tracks} tracks`);
  t.true((scores.long_duration_median_min as number) > 16, `median ${scores.long_duration_median_min} min`);
  t.true((scores.rmse_median_km as number) < 1.1, `straightness ${scores.rmse_median_km} km`);
  t.true((scores.step_median_km as number) < 2.6, `largest step ${scores.step_median_km} km`);
  t.true((scores.step_p90_km as number) < 4, `p90 of it ${scores.step_p90_km} km`);
});

sharedTest(
  'whole objects moved forward by their tracks overlap what came better than with TINT or tobac',
  async (t) => {
    const { whole, parts } = trackFrames(await realFrames(), GOAL_FRAMES.min_pixels);
    const best_peer = [0.464, 0.317, 0.202, 0.151]; // at 4 and 8 minutes tobac, at 14 and 20 TINT
    t.true(
      overlaps(whole).every((csi, k) => (csi as number) > (best_peer[k] as number) + 0.03),
      `${overlaps(whole)}`,
    );
    t.true(
      overlaps(parts).every((csi, k) => (csi as number) > (best_peer[k] as number) + 0.03),
      `${overlaps(parts)}`,
    );
  },
);

sharedTest('whole objects of the real frames move straighter than those of TINT', async (t) => {
  const { whole_scores } = trackFrames(await realFrames(), GOAL_FRAMES.min_pixels);
  t.true((whole_scores.rmse_median_km as number) < 0.84, `${whole_scores.rmse_median_km} km`);
  t.true(whole_scores.long_tracks > 17, `${whole_scores.long_tracks} tracks`);
});

sharedTest('the first, tenth and last real frames have 17, 16 and 15 objects of 8 pixels', async (t) => {
  const frames = (await realFrames()).filter((_, k) => k === 0 || k === 9 || k === 19);
  const objects = frames.map((frame) => trackFrames([frame], GOAL_FRAMES.min_pixels).scores.points);
  t.deepEqual(objects, [17, 16, 15]);
});

sharedTest('replay from any checkpoint of the real frames equals the run in order, byte for byte', async (t) => {
  const scans = (await realFrames()).map(({ scan_time, field }) => ({
    scan_time,
    cells: trackCells(field, findObjects(field, 1, GOAL_FRAMES.min_pixels)),
    pattern_motion: null,
  }));
  let live: LiveTracks = noLiveTracks;
  for (const scan of scans) {
    const replayed = advanceTracks(JSON.parse(JSON.stringify(live)), scan);
    const inOrder = advanceTracks(live, scan);
    t.is(JSON.stringify(replayed), JSON.stringify(inOrder));
    live = inOrder.live;
  }
});
