import type { Position } from '../../schemas/geo/position.ts';
import type { MotionSource, TrackPoint } from '../../schemas/tables/tracks.ts';
import type { Motion } from './kalman.ts';
import type { SizeAt, TrendState } from './trend.ts';

/** A row of the tracks table without what others know: the storm date and the probabilities. */
export type TrackPointShape = Omit<TrackPoint, 'storm_date' | 'ml_probability' | 'confidence' | 'peak_ml_probability'>;

/** A live track as it stood when it last had a cell. */
export interface LiveTrack {
  readonly track_id: string;
  readonly parent_track_id: string | null;
  readonly first_detected: number;
  readonly last_seen: number;
  /** Scans that arrived since then without a cell for it. */
  readonly missed_scans: number;
  readonly scan_count: number;
  /** Scans with a cell since it last broke into branches: before some of them its velocity is a guess, that of the whole. */
  readonly settled_scans: number;
  readonly motion: Motion;
  /** Published position and centroid of the last cell. */
  readonly lat: number;
  readonly lon: number;
  readonly centroid_lat: number;
  readonly centroid_lon: number;
  readonly area_km2: number;
  readonly estimated_size_mm: number;
  readonly peak_area_km2: number;
  readonly peak_estimated_size_mm: number;
  /** Runs of the last cell's pixels, see `Mask`. */
  readonly mask: readonly number[];
  /** Largest sizes of the last ten minutes. */
  readonly sizes: readonly SizeAt[];
  readonly trend: TrendState;
  readonly size_growth_rate_mm_per_min: number | null;
  readonly speed_kmh: number | null;
  readonly direction_deg: number | null;
  readonly motion_source: MotionSource;
}

/** What tracking needs of the scans before: plain data, equal to itself after a trip through JSON. */
export interface LiveTracks {
  /** Time of the last scan; null before the first. */
  readonly scan_time: number | null;
  /** Live tracks by track_id. */
  readonly tracks: readonly LiveTrack[];
}

export const noLiveTracks: LiveTracks = { scan_time: null, tracks: [] };

/** From where to where the storms went that have a cell in this scan and in the one before. */
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
