import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { fitFor, type HailSource, nowcast, REACH_KM } from '../../schemas/nowcast/probability.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { LOOKBACK_MIN } from '../../schemas/resources/hail-cell.ts';
import { NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import type { TrackPoint } from '../../schemas/tables/radar.ts';
import type { Score } from '../../schemas/tables/scores.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { type HailPixel, knownSources, pointsAround, strikesOf } from './nowcast-points.ts';

/** Interval of the forecasts: storms change little within it. */
const ASK_EVERY_MS = 20 * MS_PER_MIN;
/** Most storms and clumps of hail with points at a time, spread over all: bounds the work of an outbreak. */
const SOURCES_AT_A_TIME = 40;
/** Longest gap between scans over which the absence of hail counts as observed. */
export const GAP_MAX_MS = 10 * MS_PER_MIN;

/** Scans of a date in order, with their tracks and detections. */
export interface NowcastDay {
  readonly source: Provenance;
  readonly scan_times: readonly number[];
  readonly tracks: readonly TrackPoint[];
  readonly detections: readonly HailPixel[];
}

type BrierScore = Pick<Score, 'kind' | 'score' | 'lead_min' | 'n' | 'value' | 'baseline'>;

/**
 * Brier scores of the service's probabilities within 15 km of hail, computed from the data available at the time: the mean square
 * of probability minus outcome, 1 or 0. The baseline is persistence: 1 where it hails now, else 0. A lead without cases has no row.
 */
export function nowcastBrier({ source, scan_times, tracks, detections }: NowcastDay): BrierScore[] {
  const tracksAt = Map.groupBy(tracks, ({ scan_time }) => scan_time);
  const pixelsAt = Map.groupBy(detections, ({ scan_time }) => scan_time);
  const strikes = scan_times.map((time_ms) => strikesOf(pixelsAt.get(time_ms) ?? []));
  const fit = fitFor(source);
  const sums = NOWCAST_LEADS.map(() => ({ n: 0, squared_errors: 0, persistence_errors: 0 }));
  let [asked_ms, points] = [Number.NEGATIVE_INFINITY, 0];
  for (const [scan, now_ms] of scan_times.entries()) {
    if (now_ms < asked_ms + ASK_EVERY_MS) continue;
    const known_ms = knownUntil(scan_times, scan);
    const leads = NOWCAST_LEADS.filter(({ minutes }) => now_ms + minutes * MS_PER_MIN <= known_ms);
    const known = scan_times.filter((time_ms) => time_ms <= now_ms && time_ms >= now_ms - LOOKBACK_MIN * MS_PER_MIN);
    const sources = knownSources(
      now_ms,
      known.flatMap((time_ms) => tracksAt.get(time_ms) ?? []),
      (time_ms) => pixelsAt.get(time_ms) ?? [],
    );
    if (leads.length === 0 || sources.length === 0) continue;
    asked_ms = now_ms;
    const around = pointsAround(someOf(sources), points, 0);
    points += around.length;
    for (const point of around) {
      const forecast = nowcast(point, near(sources, point), now_ms, fit);
      const first_ms = firstStrike(point, scan_times, strikes, scan);
      const stays = first_ms === now_ms;
      for (const [lead, { key, minutes }] of leads.entries()) {
        const struck = first_ms <= now_ms + minutes * MS_PER_MIN;
        const sum = sums[lead];
        sum.n += 1;
        sum.squared_errors += (forecast[key] - Number(struck)) ** 2;
        sum.persistence_errors += (Number(stays) - Number(struck)) ** 2;
      }
    }
  }
  return NOWCAST_LEADS.flatMap(({ minutes }, lead) => {
    const { n, squared_errors, persistence_errors } = sums[lead];
    return n === 0
      ? []
      : [
          {
            kind: 'nowcast',
            score: 'brier',
            lead_min: minutes,
            n,
            value: squared_errors / n,
            baseline: persistence_errors / n,
          } as const,
        ];
  });
}

/** Time of the last scan that is reached without a gap. */
function knownUntil(scan_times: readonly number[], from: number): number {
  let last = from;
  while (last + 1 < scan_times.length && scan_times[last + 1] - scan_times[last] <= GAP_MAX_MS) last += 1;
  return scan_times[last];
}

/** Time of the first scan from `from` on, within the longest lead, in which hail strikes a point; infinite without one. */
function firstStrike(
  point: Position,
  scan_times: readonly number[],
  strikes: readonly ((point: Position) => boolean)[],
  from: number,
): number {
  const end_ms = scan_times[from] + Math.max(...NOWCAST_LEADS.map(({ minutes }) => minutes)) * MS_PER_MIN;
  for (let scan = from; scan < scan_times.length && scan_times[scan] <= end_ms; scan += 1)
    if (strikes[scan](point)) return scan_times[scan];
  return Number.POSITIVE_INFINITY;
}

function near(sources: readonly HailSource[], point: Position): HailSource[] {
  return sources.filter(({ seen }) => roughDistanceKm(seen, point) <= REACH_KM);
}

/** At most SOURCES_AT_A_TIME sources, evenly spread over all. */
function someOf(sources: readonly HailSource[]): HailSource[] {
  const step = Math.max(1, sources.length / SOURCES_AT_A_TIME);
  const count = Math.min(sources.length, SOURCES_AT_A_TIME);
  return Array.from({ length: count }, (_, k) => sources[Math.floor(k * step)]);
}
