import { footprint } from '../../api/rules/footprint.ts';
import { type LeadKey, type NowcastStorm, REACH_KM, rawNowcast, STRIKE_MM } from '../../api/rules/nowcast.ts';
import { emptyTrackingState } from '../../pipeline/run/tracking-state.ts';
import { processScan } from '../../pipeline/scan.ts';
import { simulateScan } from '../../pipeline/simulate/fields.ts';
import { scanInput } from '../../pipeline/simulate/scan-input.ts';
import { scanTimes } from '../../pipeline/simulate/scan-times.ts';
import { type DayType, defaultScenario, type Scenario } from '../../pipeline/simulate/scenario.ts';
import { distanceKm, roughDistanceKm, travel } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import type { Detection } from '../../schemas/tables/detections.ts';
import type { TrackPoint } from '../../schemas/tables/tracks.ts';
import { utcDate } from '../../schemas/time.ts';

const MS_PER_MIN = 60_000;
const DAY_TYPES: readonly DayType[] = ['pulse', 'marginal', 'supercell', 'qlcs', 'outbreak'];
/** An evening: storms gather a past, cases are taken, and the longest lead comes true. */
const PAST_MIN = 40;
const CASES_MIN = 65;
const CASE_EVERY_MIN = 10;
const TIMES_PER_EVENING = 1 + Math.floor(CASES_MIN / CASE_EVERY_MIN);
const LONGEST_LEAD_MIN = 45;
/** An answer goes by a scan that is up to so old: radar reaches the service typically within 5 minutes. */
export const SCAN_AGE_MAX_MIN = 5;
/** Points around each storm at each time, so far away at most: as far as the interface looks. */
const POINTS_PER_STORM = 12;
export const POINT_MAX_KM = 50;
/** The event is hail within this distance of the point. */
const STRIKE_KM = 1;
const FIRST_EVENING_MS = Date.UTC(2025, 4, 1, 21);
/** Golden ratio less one: its multiples spread over 0..1 evenly, whatever their number. */
const GOLDEN = 0.6180339887;

/** A point at a time: what the model said of each lead, and what came. */
export interface Case {
  readonly evening: number;
  readonly raw: Readonly<Record<LeadKey, number>>;
  readonly struck: Readonly<Record<LeadKey, boolean>>;
  /** Hail at the point in the newest scan: what persistence goes by. */
  readonly now: boolean;
}

/** Where hail >= 19 mm fell at a time. */
interface Hail {
  readonly time_ms: number;
  readonly pixels: readonly Position[];
}

/** A point, the time it is asked for, and the newest scan then. */
interface Asked {
  readonly point: Position;
  readonly now_ms: number;
  readonly scan: Hail;
  readonly raw: Case['raw'];
}

/** Cases of so many simulated evenings, with seeds from this one on. */
export function casesOf(seed: number, evenings: number): Case[] {
  return Array.from({ length: evenings }, (_, evening) => eveningCases(seed + evening, evening)).flat();
}

/** Cases of one evening, through the pipeline's own cells, tracks and confidence. */
function eveningCases(seed: number, evening: number): Case[] {
  const scenario = {
    ...defaultScenario(seed, WSR88D),
    day_type: DAY_TYPES[evening % DAY_TYPES.length] as DayType,
    window: { row0: 1800, col0: 2900, rows: 400, cols: 500 },
  };
  const start_ms = FIRST_EVENING_MS + evening * 24 * 60 * MS_PER_MIN;
  const last_ms = start_ms + (PAST_MIN + CASES_MIN) * MS_PER_MIN;
  const end_ms = last_ms + (SCAN_AGE_MAX_MIN + LONGEST_LEAD_MIN) * MS_PER_MIN;
  const seen: Hail[] = [];
  const asked: Asked[] = [];
  let state = emptyTrackingState;
  let times = 0;
  for (const time_ms of scanTimes(scenario.seed, start_ms, end_ms)) {
    const scan = processScan(scanInput(simulateScan(scenario, time_ms)), state, contextAt(time_ms));
    state = scan.state;
    const { detections, tracks } = scan.products;
    const hail = { time_ms, pixels: detections.filter(isHail) };
    seen.push(hail);
    if (time_ms < start_ms + (PAST_MIN + times * CASE_EVERY_MIN) * MS_PER_MIN || time_ms > last_ms) continue;
    const age_min = SCAN_AGE_MAX_MIN * (((TIMES_PER_EVENING * evening + times) * GOLDEN) % 1);
    times += 1;
    const now_ms = time_ms + Math.floor(age_min * MS_PER_MIN);
    seen.push(hailAt(scenario, now_ms));
    const storms = liveStorms(tracks, detections);
    for (const point of pointsAround(storms, asked.length)) {
      const near = storms.filter((storm) => distanceKm(storm.seen, point) <= REACH_KM);
      asked.push({ point, now_ms, scan: hail, raw: rawNowcast(point, near, now_ms) });
    }
  }
  return asked.map(({ point, now_ms, scan, raw }) => {
    const strikes = seen
      .filter((hail) => hail.time_ms >= now_ms && strikesAt(hail, point))
      .map(({ time_ms }) => time_ms);
    const first_min = (Math.min(...strikes) - now_ms) / MS_PER_MIN;
    const struck = NOWCAST_LEADS.map(({ key, minutes }) => [key, first_min <= minutes]);
    return { evening, raw, struck: Object.fromEntries(struck), now: strikesAt(scan, point) };
  });
}

function contextAt(time_ms: number) {
  return { storm_date: utcDate(time_ms), inputs: '', terrain: null };
}

/** Where hail falls at the time of a forecast, which is seldom that of a scan: what has begun counts as struck. */
function hailAt(scenario: Scenario, time_ms: number): Hail {
  const scan = processScan(scanInput(simulateScan(scenario, time_ms)), emptyTrackingState, contextAt(time_ms));
  return { time_ms, pixels: scan.products.detections.filter(isHail) };
}

function isHail({ estimated_size_mm }: Detection): boolean {
  return estimated_size_mm >= STRIKE_MM;
}

function strikesAt({ pixels }: Hail, point: Position): boolean {
  return pixels.some(
    (pixel) => roughDistanceKm(pixel, point) <= 1.01 * STRIKE_KM && distanceKm(pixel, point) <= STRIKE_KM,
  );
}

function liveStorms(tracks: readonly TrackPoint[], detections: readonly Detection[]): NowcastStorm[] {
  return tracks
    .filter(({ state, scan_count }) => state === 'tracked' && scan_count > 1)
    .map((seen) => ({
      seen,
      footprint: footprint(
        detections.filter((detection) => detection.cell_index === seen.cell_index && isHail(detection)),
        seen,
      ),
    }));
}

/**
 * Points around storms, in every direction and as dense at every distance; spread by the golden ratio's like for a plane.
 * With as many at every distance they would crowd under the storms, where persistence knows most of what comes.
 */
function pointsAround(storms: readonly NowcastStorm[], from: number): Position[] {
  return storms.flatMap(({ seen }, storm) =>
    Array.from({ length: POINTS_PER_STORM }, (_, index) => {
      const number = from + storm * POINTS_PER_STORM + index + 1;
      return travel(seen, 360 * ((number * 0.7548776662) % 1), POINT_MAX_KM * Math.sqrt((number * 0.569840291) % 1));
    }),
  );
}
