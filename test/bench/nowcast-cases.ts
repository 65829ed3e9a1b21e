import KDBush from 'kdbush';
import {
  type NowcastStorm,
  nowcastStorm,
  REACH_KM,
  rawNowcast,
  STRIKE_KM,
  STRIKE_MM,
} from '../../api/rules/nowcast.ts';
import { type Course, courseOf } from '../../api/rules/nowcast-course.ts';
import type { ScanInput } from '../../pipeline/grid.ts';
import { emptyTrackingState } from '../../pipeline/run/tracking-state.ts';
import { processScan } from '../../pipeline/scan.ts';
import { boxAround } from '../../schemas/geo/around.ts';
import { distanceKm, roughDistanceKm, travel } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { type LeadKey, NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import type { Detection } from '../../schemas/tables/detections.ts';
import type { TrackPoint } from '../../schemas/tables/tracks.ts';
import { utcDate } from '../../schemas/time.ts';

const MS_PER_MIN = 60_000;
/** Points so near a storm are scored: as far as the interface looks unless it is told to look farther. */
export const NEAR_KM = 15;
/** Points from there to so far away are looked at beside them: as far as the interface looks at most. */
export const FAR_KM = 50;
const NEAR_POINTS_PER_STORM = 12;
const FAR_POINTS_PER_STORM = 6;

/** A point at a time: what the model and its simplest rivals go by, and what came. */
export interface Case {
  /** Cases of a block hang together: an evening, or a region of real frames. */
  readonly block: string;
  /** To the nearest storm, where it was seen last. */
  readonly distance_km: number;
  readonly raw: Readonly<Record<LeadKey, number>>;
  readonly course: Course;
  /** Hail at the point in the newest scan: what persistence goes by. */
  readonly now: boolean;
  /** Null for a lead that the scans do not reach. */
  readonly struck: Readonly<Record<LeadKey, boolean | null>>;
}

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

interface Asked extends Omit<Case, 'struck'> {
  readonly point: Position;
  readonly now_ms: number;
}

/** Cases of a sequence of scans, through the pipeline's own cells, tracks and confidence. */
export function casesOf({ scans, ages_min, between, blockOf }: Sequence): Case[] {
  const seen: Hail[] = [];
  const asked: Asked[] = [];
  let state = emptyTrackingState;
  for (const input of scans) {
    const { scan_time } = input;
    const scan = processScan(input, state, contextAt(scan_time));
    state = scan.state;
    const { detections, tracks } = scan.products;
    const hail = hailOf(scan_time, detections);
    seen.push(hail);
    const times = ages_min(scan_time).map((age_min) => scan_time + Math.floor(age_min * MS_PER_MIN));
    if (times.length === 0) continue;
    for (const now_ms of times) {
      const now = between(now_ms);
      if (now === null) continue;
      const { products } = processScan(now, emptyTrackingState, contextAt(now_ms));
      seen.push(hailOf(now_ms, products.detections));
    }
    const storms = liveStorms(tracks, detections);
    for (const [index, point] of pointsAround(storms, asked.length).entries()) {
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

function hailOf(time_ms: number, detections: readonly Detection[]): Hail {
  const pixels = detections.filter(isHail);
  const index = pixels.length === 0 ? null : new KDBush(pixels.length);
  for (const { lat, lon } of pixels) index?.add(lon, lat);
  index?.finish();
  return {
    time_ms,
    strikes: (point) =>
      (index?.range(...boxAround(point, STRIKE_KM)) ?? []).some(
        (pixel) => distanceKm(pixels[pixel] as Position, point) <= STRIKE_KM,
      ),
  };
}

function isHail({ estimated_size_mm }: Detection): boolean {
  return estimated_size_mm >= STRIKE_MM;
}

function liveStorms(tracks: readonly TrackPoint[], detections: readonly Detection[]): NowcastStorm[] {
  const ofCell = Map.groupBy(detections.filter(isHail), ({ cell_index }) => cell_index);
  return tracks
    .filter(({ state, scan_count }) => state === 'tracked' && scan_count > 1)
    .map((seen) => nowcastStorm(seen, ofCell.get(seen.cell_index) ?? []));
}

/**
 * Points around storms, in every direction and as dense at every distance of a belt; spread by the golden ratio's like for
 * a plane. With as many at every distance they would crowd under the storms, where persistence knows most of what comes.
 */
function pointsAround(storms: readonly NowcastStorm[], from: number): Position[] {
  const perStorm = NEAR_POINTS_PER_STORM + FAR_POINTS_PER_STORM;
  return storms.flatMap(({ seen }, storm) =>
    Array.from({ length: perStorm }, (_, index) => {
      const number = from + storm * perStorm + index + 1;
      const share = (number * 0.569840291) % 1;
      const far2 = NEAR_KM ** 2 + share * (FAR_KM ** 2 - NEAR_KM ** 2);
      const km = index < NEAR_POINTS_PER_STORM ? NEAR_KM * Math.sqrt(share) : Math.sqrt(far2);
      return travel(seen, 360 * ((number * 0.7548776662) % 1), km);
    }),
  );
}
