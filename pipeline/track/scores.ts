import { MS_PER_MIN } from '../../schemas/time.ts';
import { kmPerDegree, offsetKm } from './local-plane.ts';
import { median, quantile } from './median.ts';

/** Shortest track in the duration score. */
const SCORED_DURATION_MIN = 10;
/** Fewest positions of a track in the straightness and step scores. */
const SCORED_POINTS_MIN = 6;

/** A position of a track at a scan in which it had a cell. */
export interface ScoredPoint {
  readonly track_id: string;
  readonly scan_time: number;
  readonly lat: number;
  readonly lon: number;
  /** The attribute that should stay constant along a track: its size or intensity. */
  readonly size: number;
  /** The object changed its shape since the previous position: the displacement is no step of the storm. */
  readonly reshaped: boolean;
}

/** Tracking scores after Lakshmanan & Smith 2010; null where no track qualifies. */
export interface TrackScores {
  readonly tracks: number;
  readonly points: number;
  /** Tracks of at least ten minutes from their first to their last cell, and their median duration. */
  readonly long_tracks: number;
  readonly long_duration_median_min: number | null;
  /** Tracks of at least six positions: the scores below are over these. */
  readonly scored_tracks: number;
  readonly rmse_median_km: number | null;
  /** Largest steps, without changes of shape. The straightness includes them. */
  readonly step_median_km: number | null;
  readonly step_p90_km: number | null;
  readonly mismatch_sd_median: number | null;
}

/**
 * Root mean square distance of a track's positions from their best straight line, km.
 * Orthogonal distances (total least squares) on a plane at the track's mean position, independent of time.
 */
export function straightLineRmseKm(points: readonly ScoredPoint[]): number {
  const mean = {
    lat: points.reduce((sum, p) => sum + p.lat, 0) / points.length,
    lon: points.reduce((sum, p) => sum + p.lon, 0) / points.length,
  };
  const km = kmPerDegree(mean.lat);
  let xx = 0;
  let xy = 0;
  let yy = 0;
  for (const p of points) {
    const x = (p.lon - mean.lon) * km.east;
    const y = (p.lat - mean.lat) * km.north;
    xx += (x * x) / points.length;
    xy += (x * y) / points.length;
    yy += (y * y) / points.length;
  }
  const smallest = (xx + yy) / 2 - Math.hypot((xx - yy) / 2, xy);
  return Math.sqrt(Math.max(0, smallest));
}

/**
 * Largest distance between consecutive positions of a track, km, without changes of shape. A scan without a cell makes one longer
 * step.
 */
export function largestStepKm(points: readonly ScoredPoint[]): number {
  let largest = 0;
  for (let i = 1; i < points.length; i++) {
    const here = points[i];
    if (here.reshaped) continue;
    const step = offsetKm(points[i - 1], here);
    largest = Math.max(largest, Math.hypot(step.east, step.north));
  }
  return largest;
}

function standardDeviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}

function durationMin(points: readonly ScoredPoint[]): number {
  return ((points.at(-1) as ScoredPoint).scan_time - points[0].scan_time) / MS_PER_MIN;
}

/** Scores of a set of tracks. `points`: in order of time, only scans in which the track had a cell. */
export function trackScores(points: readonly ScoredPoint[]): TrackScores {
  const tracks = [...Map.groupBy(points, (point) => point.track_id).values()];
  const durations = tracks.map(durationMin).filter((minutes) => minutes >= SCORED_DURATION_MIN);
  const scored = tracks.filter((track) => track.length >= SCORED_POINTS_MIN);
  const steps = scored.map(largestStepKm);
  const orNull = (values: readonly number[], of: (values: readonly number[]) => number) =>
    values.length ? of(values) : null;
  return {
    tracks: tracks.length,
    points: points.length,
    long_tracks: durations.length,
    long_duration_median_min: orNull(durations, median),
    scored_tracks: scored.length,
    rmse_median_km: orNull(scored.map(straightLineRmseKm), median),
    step_median_km: orNull(steps, median),
    step_p90_km: orNull(steps, (values) => quantile(values, 0.9)),
    mismatch_sd_median: orNull(
      scored.map((track) => standardDeviation(track.map((point) => point.size))),
      median,
    ),
  };
}
