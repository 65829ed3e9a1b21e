import type { Position } from '../../schemas/geo/position.ts';
import type { TrackPoint, Trend } from '../../schemas/tables/radar.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import type { TrailStep } from './hindcast.ts';
import type { Motion } from './kalman.ts';
import { median } from './motion.ts';

/** A row of the tracks table without the storm date and the probabilities. */
export type TrackPointShape = Omit<TrackPoint, 'storm_date' | 'ml_probability' | 'confidence' | 'peak_ml_probability'>;

/** State of a live track at its last scan with a cell: its published columns, and the input of its next link. */
export interface LiveTrack
  extends Readonly<
    Omit<TrackPointShape, 'scan_time' | 'state' | 'cell_index' | 'trend' | 'duration_min' | 'merged_into'>
  > {
  readonly last_seen: number;
  /** Scans since then, all without a cell of this track. */
  readonly missed_scans: number;
  /** Scans with a cell since its last split. Below MATURE_SCANS its velocity is that of the whole storm. */
  readonly settled_scans: number;
  readonly motion: Motion;
  readonly centroid_lat: number;
  readonly centroid_lon: number;
  /** Runs of the last cell's pixels, see `Mask`. */
  readonly mask: readonly number[];
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
  /** Earlier storms and their motions, by which motions are judged; oldest first. */
  readonly trail: readonly TrailStep[];
}

export const noLiveTracks: LiveTracks = { scan_time: null, tracks: [], trail: [] };

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

/** Window of the growth rate. */
const TREND_WINDOW_MIN = 10;
/** Fewest scans with a growth rate; before them the trend is `steady`. */
const TREND_SCANS_MIN = 4;
const CHANGE_MM_PER_MIN = 0.25;
const RAPID_MM_PER_MIN = 1;
const RAPID_RISE_SIZE_MIN_MM = 19; // below severe size a fast rise is only `intensifying`

interface SizeAt {
  readonly scan_time: number;
  readonly size_mm: number;
}

/** Trend of a track: the published word, and the word of the last scan alone. */
interface TrendState {
  readonly word: Trend;
  readonly called: Trend;
}

export const STEADY: TrendState = { word: 'steady', called: 'steady' };

/** Sizes within the trend window at `now`. */
export function recentSizes(sizes: readonly SizeAt[], now: number): SizeAt[] {
  return sizes.filter((size) => now - size.scan_time <= TREND_WINDOW_MIN * MS_PER_MIN);
}

/** Theil-Sen slope of sizes over time in mm/min: the median of all pairwise slopes; null before four scans. */
export function growthRate(sizes: readonly SizeAt[]): number | null {
  if (sizes.length < TREND_SCANS_MIN) return null;
  const slopes = sizes.flatMap((a, i) =>
    sizes.slice(i + 1).map((b) => (b.size_mm - a.size_mm) / ((b.scan_time - a.scan_time) / MS_PER_MIN)),
  );
  return median(slopes);
}

/** Trend of a growth rate and the current size. */
export function trendWord(growth: number | null, size_mm: number): Trend {
  if (growth === null) return 'steady';
  if (growth <= -RAPID_MM_PER_MIN) return 'rapidly_weakening';
  if (growth <= -CHANGE_MM_PER_MIN) return 'weakening';
  if (growth < CHANGE_MM_PER_MIN) return 'steady';
  return growth >= RAPID_MM_PER_MIN && size_mm >= RAPID_RISE_SIZE_MIN_MM ? 'rapidly_intensifying' : 'intensifying';
}

/** Trend after one more scan. Hysteresis: the word changes when two consecutive scans call for the same new word. */
export function nextTrend(before: TrendState, called: Trend): TrendState {
  return { word: called === before.called ? called : before.word, called };
}
