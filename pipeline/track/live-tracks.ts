import type { Position } from '../../schemas/geo/position.ts';
import type { TrackPoint } from '../../schemas/tables/radar.ts';
import type { TrailStep } from './hindcast.ts';
import type { Motion } from './kalman.ts';
import type { SizeAt, TrendState } from './trend.ts';

/** A row of the tracks table without the storm date and the probabilities. */
export type TrackPointShape = Omit<TrackPoint, 'storm_date' | 'ml_probability' | 'confidence' | 'peak_ml_probability'>;

/** State of a live track at its last scan with a cell: its published columns, and what its next link needs. */
export interface LiveTrack
  extends Readonly<
    Omit<TrackPointShape, 'scan_time' | 'state' | 'cell_index' | 'trend' | 'duration_min' | 'merged_into'>
  > {
  readonly last_seen: number;
  /** Scans without a cell for it that arrived since then. */
  readonly missed_scans: number;
  /** Scans with a cell since its last split. Its velocity is that of the whole until there are MATURE_SCANS of them. */
  readonly settled_scans: number;
  readonly motion: Motion;
  readonly centroid_lat: number;
  readonly centroid_lon: number;
  /** Runs of the last cell's pixels, see `Mask`. */
  readonly mask: readonly number[];
  /** Earlier masks and motions, by which its motion is judged. */
  readonly trail: readonly TrailStep[];
  /** Largest sizes of the last ten minutes. */
  readonly sizes: readonly SizeAt[];
  readonly trend: TrendState;
}

/** Memory of the tracker between scans: plain data that survives JSON unchanged. */
export interface LiveTracks {
  /** Time of the last scan; null before the first. */
  readonly scan_time: number | null;
  /** Live tracks by track_id. */
  readonly tracks: readonly LiveTrack[];
}

export const noLiveTracks: LiveTracks = { scan_time: null, tracks: [] };

/** Start and end of the motion of the storms that have a cell in this scan and in the previous one. */
export function motionsSince(
  before: LiveTracks,
  points: readonly TrackPointShape[],
): { from: Position; to: Position }[] {
  const last = new Map(before.tracks.map((live) => [live.track_id, live]));
  return points.flatMap((point) => {
    const from = last.get(point.track_id);
    if (point.state !== 'tracked' || from === undefined || from.last_seen !== before.scan_time) return [];
    return { from: { lat: from.lat, lon: from.lon }, to: { lat: point.lat, lon: point.lon } };
  });
}
