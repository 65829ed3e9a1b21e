import type { HailField, ScanInput } from '../../pipeline/grid.ts';
import { processScan } from '../../pipeline/scans/scan.ts';
import { emptyTrackingState } from '../../pipeline/scans/state.ts';
import { distanceKm, roughDistanceKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { REACH_KM, rawNowcast, STRIKE_MM } from '../../schemas/nowcast/probability.ts';
import { NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import { MS_PER_MIN, utcDate } from '../../schemas/time.ts';
import { flowOf, type PatternOfScan, type RivalEvidence, rivalsAfter } from './nowcast-rivals.ts';
import type { NowcastCase } from './train/nowcast-fit.ts';
import { liveSources, pointsAround, strikesOf } from './train/nowcast-points.ts';

const FAR_POINTS_PER_STORM = 6;
/** The end of a lead may go unseen for so long: hail that came in it is not known. */
const UNSEEN_MAX_MIN = 2;
/** Longest gap between scans over which the absence of hail counts as observed. */
const GAP_MAX_MS = 10 * MS_PER_MIN;
/** Scans are late or early by so much. */
const JITTER_MS = 30_000;

const LONGEST_MIN = Math.max(...NOWCAST_LEADS.map(({ minutes }) => minutes));

/** A case with what the baselines know of it. */
export interface BenchCase extends NowcastCase {
  readonly rivals: RivalEvidence;
}

/** A scan of hail, and the field whose pattern shows how it moves. */
export interface Frame {
  readonly input: ScanInput;
  readonly pattern: HailField;
}

/** Frames in order of time, and when points are asked for. */
export interface Sequence {
  readonly frames: Iterable<Frame>;
  readonly evening: string;
  /** Ages at which the scan of a time is asked about, min: points take them in turn. */
  readonly ages_min: (time_ms: number) => readonly number[];
  /** Hail at the very time of a question, where that is known beside the scans. */
  readonly between: (now_ms: number) => ScanInput | null;
  readonly blockOf: (point: Position, now_ms: number) => string;
}

/** Where hail >= 19 mm fell at a time. */
interface Hail {
  readonly time_ms: number;
  readonly strikes: (point: Position) => boolean;
}

interface Asked extends Omit<BenchCase, 'struck'> {
  readonly point: Position;
  readonly scan_time: number;
  readonly now_ms: number;
}

/** Cases of a sequence of scans, through the pipeline's own cells, tracks and confidence. */
export function casesOf({ frames, evening, ages_min, between, blockOf }: Sequence): BenchCase[] {
  const seen: Hail[] = [];
  const patterns: PatternOfScan[] = [];
  const asked: Asked[] = [];
  let state = emptyTrackingState;
  for (const { input, pattern } of frames) {
    const { scan_time } = input;
    const scan = processScan(input, state, contextAt(scan_time));
    state = scan.state;
    const { detections, tracks } = scan.products;
    const hail = { time_ms: scan_time, strikes: strikesOf(detections) };
    seen.push(hail);
    patterns.push({ time_ms: scan_time, pattern });
    const times = ages_min(scan_time).map((age_min) => scan_time + Math.floor(age_min * MS_PER_MIN));
    if (times.length === 0) continue;
    for (const now_ms of times) {
      const now = between(now_ms);
      if (now === null) continue;
      const { products } = processScan(now, emptyTrackingState, contextAt(now_ms));
      seen.push({ time_ms: now_ms, strikes: strikesOf(products.detections) });
    }
    const storms = liveSources(tracks, detections);
    const rivalsOf = rivalsAfter(
      scan_time,
      storms,
      detections.filter((pixel) => pixel.estimated_size_mm >= STRIKE_MM),
      flowOf(patterns),
    );
    for (const [index, point] of pointsAround(storms, asked.length, FAR_POINTS_PER_STORM).entries()) {
      const now_ms = times[index % times.length];
      const near = storms.filter((storm) => roughDistanceKm(storm.seen, point) <= REACH_KM);
      const now = hail.strikes(point);
      asked.push({
        point,
        scan_time,
        now_ms,
        block: blockOf(point, now_ms),
        evening,
        distance_km: Math.min(...near.map((storm) => distanceKm(storm.seen, point))),
        raw: rawNowcast(point, near, now_ms),
        rivals: rivalsOf(point, now_ms, now),
        now,
      });
    }
  }
  seen.sort((a, b) => a.time_ms - b.time_ms);
  const times = seen.map(({ time_ms }) => time_ms);
  return asked.map(({ point, scan_time, now_ms, ...known }) => {
    const longest_ms = now_ms + LONGEST_MIN * MS_PER_MIN + JITTER_MS;
    const ahead = seen.filter(({ time_ms }) => time_ms >= now_ms - JITTER_MS && time_ms <= longest_ms);
    const first_ms = ahead.find(({ strikes }) => strikes(point))?.time_ms ?? Number.POSITIVE_INFINITY;
    const struck = NOWCAST_LEADS.map(({ key, minutes }) => {
      const end_ms = now_ms + minutes * MS_PER_MIN;
      return [key, isSeen(times, scan_time, end_ms) ? first_ms <= end_ms + JITTER_MS : null];
    });
    return { ...known, struck: Object.fromEntries(struck) };
  });
}

/** True where scans show what came from one to an end: none is missing on the way, and one lies shortly before the end. */
export function isSeen(times_ms: readonly number[], from_ms: number, end_ms: number): boolean {
  const within = times_ms.filter((time_ms) => time_ms >= from_ms && time_ms <= end_ms + JITTER_MS);
  const gaps_ms = within.slice(1).map((time_ms, n) => time_ms - (within[n] as number));
  const unseen_ms = end_ms - (within.at(-1) ?? Number.NEGATIVE_INFINITY);
  return unseen_ms <= UNSEEN_MAX_MIN * MS_PER_MIN && gaps_ms.every((gap_ms) => gap_ms <= GAP_MAX_MS + JITTER_MS);
}

function contextAt(time_ms: number) {
  return { storm_date: utcDate(time_ms), inputs: '', terrain: null };
}
