import { pixelsMoved } from '../../pipeline/track/hindcast.ts';
import { kmPerDegree, median, offsetKm, type Vector } from '../../pipeline/track/motion.ts';
import { eachPixel, type Mask } from '../../pipeline/track/track-cell.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';

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
function straightLineRmseKm(points: readonly ScoredPoint[]): number {
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
function largestStepKm(points: readonly ScoredPoint[]): number {
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

/** Quantile of a non-empty list, interpolated linearly between ordered values. */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

/** A frame verifies a lead when it is at most this far from it. */
const LEAD_TOLERANCE_MS = MS_PER_MIN;

/** An object of a frame and its motion by the tracker, km/min; null when it is stationary. */
interface MovingObject {
  readonly mask: Mask;
  readonly velocity: Vector | null;
}

/** The objects of one time. */
export interface ObjectFrame {
  readonly scan_time: number;
  readonly objects: readonly MovingObject[];
}

/** Pixels that extrapolated objects share with the observed ones (hits), and those that only one of both has. */
export interface Overlap {
  /** Frames with a later frame at the lead. */
  readonly frames: number;
  readonly hits: number;
  readonly misses: number;
  readonly false_alarms: number;
}

/** Critical success index: hits / (hits + misses + false alarms); null without extrapolated and observed pixels. */
export function csi({ hits, misses, false_alarms }: Overlap): number | null {
  const all = hits + misses + false_alarms;
  return all === 0 ? null : hits / all;
}

/**
 * Overlap of extrapolated objects with the observed ones after a lead. Each frame with a later frame within a minute of the lead
 * is extrapolated by whole pixels over the time between the two. A tracker cannot game this score: a track that is cut short,
 * smoothed or linked to another storm's cell moves its pixels to the wrong place.
 */
export function overlapAt(frames: readonly ObjectFrame[], lead_min: number): Overlap {
  let [pairs, hits, misses, false_alarms] = [0, 0, 0, 0];
  for (const frame of frames) {
    const later = frameAt(frames, frame.scan_time + lead_min * MS_PER_MIN);
    if (!later) continue;
    pairs++;
    const observed = pixelsOf(later, 0);
    const forecast = pixelsOf(frame, (later.scan_time - frame.scan_time) / MS_PER_MIN);
    let common = 0;
    for (const pixel of forecast) if (observed.has(pixel)) common++;
    hits += common;
    misses += observed.size - common;
    false_alarms += forecast.size - common;
  }
  return { frames: pairs, hits, misses, false_alarms };
}

/** The frame nearest to a time, the earlier of equals; null when it is beyond the tolerance. */
function frameAt(frames: readonly ObjectFrame[], time_ms: number): ObjectFrame | null {
  const off = (frame: ObjectFrame) => Math.abs(frame.scan_time - time_ms);
  const nearest = frames.reduce<ObjectFrame | null>((best, at) => (best && off(best) <= off(at) ? best : at), null);
  return nearest && off(nearest) <= LEAD_TOLERANCE_MS ? nearest : null;
}

/** Lattice positions of the objects of a frame, extrapolated by `minutes`. */
function pixelsOf({ objects }: ObjectFrame, minutes: number): Set<number> {
  const pixels = new Set<number>();
  for (const { mask, velocity } of objects) {
    const { rows_south, cols_east } = pixelsMoved(mask, velocity, minutes);
    eachPixel(mask, rows_south, cols_east, (pixel) => pixels.add(pixel));
  }
  return pixels;
}
