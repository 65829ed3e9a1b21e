import { type CellShape, trackedCells } from '../../../pipeline/detect/cells.ts';
import type { HailField } from '../../../pipeline/grid.ts';
import { advanceTracks } from '../../../pipeline/track/advance.ts';
import { type LiveTracks, noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { patternMotion } from '../../../pipeline/track/pattern-motion.ts';
import { LATTICES } from '../../../schemas/geo/lattice.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';
import type { StormSize, TrackedStorm } from './storm-statistics.ts';

/** A scan with its storm cells. */
export interface StormScan {
  readonly scan_time: number;
  readonly field: HailField;
  readonly cells: readonly CellShape[];
}

/** A storm in one scan: centroid, motion and hail size. */
export type FollowedStorm = TrackedStorm & StormSize;

/** Storms of real or simulated scans by the pipeline's tracker; `scans` in order of time. */
export function followStorms(scans: Iterable<StormScan>): FollowedStorm[] {
  const storms: FollowedStorm[] = [];
  let live: LiveTracks = noLiveTracks;
  let before: StormScan | null = null;
  for (const scan of scans) {
    const { scan_time, field } = scan;
    const cells = trackedCells(
      field,
      scan.cells,
      scan.cells.map(() => null),
    );
    const pattern_motion = before && patternMotion(before.field, field, (scan_time - before.scan_time) / MS_PER_MIN);
    const step = advanceTracks(live, { lattice: LATTICES.conus, scan_time, cells, pattern_motion });
    live = step.live;
    before = scan;
    for (const track of live.tracks) {
      if (track.last_seen !== scan_time) continue;
      const { speed_kmh, direction_deg } = track;
      storms.push({
        track_id: track.track_id,
        scan_time,
        lat: track.centroid_lat,
        lon: track.centroid_lon,
        scan_count: track.scan_count,
        motion: speed_kmh === null || direction_deg === null ? null : { speed_kmh, direction_deg },
        is_reshaped: step.reshaped.has(track.track_id),
        size_mm: track.estimated_size_mm,
      });
    }
  }
  return storms;
}
