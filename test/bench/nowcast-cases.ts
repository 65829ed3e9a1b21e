import type { ScanInput } from '../../pipeline/grid.ts';
import { processScan } from '../../pipeline/scans/scan.ts';
import { emptyTrackingState } from '../../pipeline/scans/tracking-state.ts';
import type { NowcastCase } from '../../pipeline/train/nowcast-fit.ts';
import { liveStorms, pointsAround, strikesOf } from '../../pipeline/train/nowcast-points.ts';
import { distanceKm, roughDistanceKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { courseOf } from '../../schemas/nowcast/course.ts';
import { REACH_KM, rawNowcast } from '../../schemas/nowcast/probability.ts';
import { NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import { MS_PER_MIN, utcDate } from '../../schemas/time.ts';

const FAR_POINTS_PER_STORM = 6;

/** Scans in order of time, and when points are asked for. */
export interface Sequence {
  readonly scans: Iterable<ScanInput>;
  /** Ages at which the scan of a time is asked about, min: points take them in turn. */
  readonly ages_min: (time_ms: number) => readonly number[];
  /** Hail at the very time of a question, where that is known beside the scans. */
  readonly between: (now_ms: number) => ScanInput | null;
  readonly blockOf: (point: Position) => string;
}

/** Where hail >= 19 mm fell at a time. */
interface Hail {
  readonly time_ms: number;
  readonly strikes: (point: Position) => boolean;
}

interface Asked extends Omit<NowcastCase, 'struck'> {
  readonly point: Position;
  readonly now_ms: number;
}

/** Cases of a sequence of scans, through the pipeline's own cells, tracks and confidence. */
export function casesOf({ scans, ages_min, between, blockOf }: Sequence): NowcastCase[] {
  const seen: Hail[] = [];
  const asked: Asked[] = [];
  let state = emptyTrackingState;
  for (const input of scans) {
    const { scan_time } = input;
    const scan = processScan(input, state, contextAt(scan_time));
    state = scan.state;
    const { detections, tracks } = scan.products;
    const hail = { time_ms: scan_time, strikes: strikesOf(detections) };
    seen.push(hail);
    const times = ages_min(scan_time).map((age_min) => scan_time + Math.floor(age_min * MS_PER_MIN));
    if (times.length === 0) continue;
    for (const now_ms of times) {
      const now = between(now_ms);
      if (now === null) continue;
      const { products } = processScan(now, emptyTrackingState, contextAt(now_ms));
      seen.push({ time_ms: now_ms, strikes: strikesOf(products.detections) });
    }
    const storms = liveStorms(tracks, detections);
    for (const [index, point] of pointsAround(storms, asked.length, FAR_POINTS_PER_STORM).entries()) {
      const now_ms = times[index % times.length];
      const near = storms.filter((storm) => roughDistanceKm(storm.seen, point) <= REACH_KM);
      asked.push({
        point,
        now_ms,
        block: blockOf(point),
        distance_km: Math.min(...near.map((storm) => distanceKm(storm.seen, point))),
        raw: rawNowcast(point, near, now_ms),
        course: courseOf(point, near, now_ms),
        now: hail.strikes(point),
      });
    }
  }
  const last_ms = Math.max(...seen.map(({ time_ms }) => time_ms));
  return asked.map(({ point, now_ms, ...known }) => {
    const strikes = seen.filter(({ time_ms, strikes }) => time_ms >= now_ms && strikes(point));
    const first_ms = Math.min(...strikes.map(({ time_ms }) => time_ms));
    const struck = NOWCAST_LEADS.map(({ key, minutes }) => {
      const end_ms = now_ms + minutes * MS_PER_MIN;
      return [key, end_ms > last_ms ? null : first_ms <= end_ms];
    });
    return { ...known, struck: Object.fromEntries(struck) };
  });
}

function contextAt(time_ms: number) {
  return { storm_date: utcDate(time_ms), inputs: '', terrain: null };
}
