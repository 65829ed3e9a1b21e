import { offsetKm, roughDistanceKm } from '../geo/distance.ts';
import type { Position } from '../geo/position.ts';
import type { MixedProvenance } from '../provenance.ts';
import { NOWCAST_MODEL, type NowcastFit } from '../reference/nowcast-model.ts';
import { type LeadKey, NOWCAST_LEADS } from '../resources/nowcast.ts';
import type { TrackPoint } from '../tables/tracks.ts';
import { type Course, courseOf } from './course.ts';
import { type Footprint, footprint } from './footprint.ts';
import { arrivals, reachKm, type UncertainMotion } from './swept-ellipse.ts';

/** The event: hail of this size within this distance of the point. */
export const STRIKE_MM = 19;
export const STRIKE_KM = 1;
/** Tracks from this many scans on move steadily; younger ones may still turn. */
const MATURE_SCANS = 6;
/** Measured on real rain and hail cores 14 minutes on: 26 to 28 degrees, 10 to 13 km/h. */
const MATURE_ERROR = { speed_error_kmh: 12, direction_error_deg: 26 } as const;
const YOUNG_ERROR = { speed_error_kmh: 20, direction_error_deg: 30 } as const;
/** A storm of unknown motion may move in any direction. */
const UNKNOWN_MOTION = { speed_kmh: 0, direction_deg: 0, speed_error_kmh: 60, direction_error_deg: 180 } as const;
/** Raw probabilities are clamped to these: the logit of 0 is infinite. */
const RAW_MIN = 0.001;
const RAW_MAX = 0.999;
/** Storms farther away cannot arrive within the longest lead, km. */
export const REACH_KM = 150;

/** A live storm: its newest scan with a cell, the pixels of its hail >= 19 mm then, and the ellipse that they make. */
export interface NowcastStorm {
  readonly seen: TrackPoint;
  readonly hail: readonly Position[];
  readonly footprint: Footprint;
}

/** A storm with the hail of its cell in its newest scan. */
export function nowcastStorm(seen: TrackPoint, hail: readonly Position[]): NowcastStorm {
  return { seen, hail, footprint: footprint(hail, seen) };
}

/** Probability that a storm of this size still has hail >= 19 mm after `lead_min`. Source: SCIENCE.md, "Nowcast". */
export function survival(lead_min: number, estimated_size_mm: number): number {
  const { base, size, lead } = NOWCAST_MODEL.survival;
  return sigmoid(base + size * Math.log(estimated_size_mm / STRIKE_MM) + lead * lead_min);
}

/** Probability, not calibrated, that hail >= 19 mm comes within 1 km of a point between now and each lead, from all storms. */
export function rawNowcast(
  point: Position,
  storms: readonly NowcastStorm[],
  now_ms: number,
): Readonly<Record<LeadKey, number>> {
  const strikes = storms.map((storm) => stormStrikes(point, storm, now_ms));
  const raw = NOWCAST_LEADS.map(({ key }, lead) => {
    const spared = strikes.reduce((product, strike) => product * (1 - strike[lead]), 1);
    return [key, 1 - spared] as const;
  });
  return Object.fromEntries(raw) as Record<LeadKey, number>;
}

/** Input of the logistic of each lead. */
export interface NowcastEvidence {
  readonly raw: Readonly<Record<LeadKey, number>>;
  readonly course: Course;
}

/** Weights for live data of a provenance; the weights of simulated evenings serve simulated data only. */
export function fitFor(source: MixedProvenance | null): NowcastFit {
  return NOWCAST_MODEL[source === 'simulated' ? 'simulated' : 'observed'];
}

/** Probability that hail >= 19 mm comes within 1 km of a point between now and each lead, from all storms. */
export function nowcast(
  point: Position,
  storms: readonly NowcastStorm[],
  now_ms: number,
  fit: NowcastFit,
): Readonly<Record<LeadKey, number>> {
  return weighed({ raw: rawNowcast(point, storms, now_ms), course: courseOf(point, storms, now_ms) }, fit.leads);
}

/** Probability of each lead by its weights, never lower than that of a shorter lead. */
export function weighed(evidence: NowcastEvidence, leads: NowcastFit['leads']): Readonly<Record<LeadKey, number>> {
  let least = 0;
  const probabilities = NOWCAST_LEADS.map(({ key }) => {
    const { base, raw, path, now, distance } = leads[key];
    const weights = [raw, path, now, distance];
    const score = predictors(evidence, key).reduce((sum, value, n) => sum + value * weights[n], base);
    least = Math.max(least, sigmoid(score));
    return [key, least] as const;
  });
  return Object.fromEntries(probabilities) as Record<LeadKey, number>;
}

/** Predictors of the logistic of a lead, in the order of its weights: raw, path, now, distance. */
export function predictors({ raw, course }: NowcastEvidence, key: LeadKey): number[] {
  const p = Math.min(RAW_MAX, Math.max(RAW_MIN, raw[key]));
  const path_km = course.path_km[key];
  return [
    Math.log(p / (1 - p)),
    path_km <= STRIKE_KM ? 1 : 0,
    course.now_km <= STRIKE_KM ? 1 : 0,
    Math.log(1 + path_km),
  ];
}

const NEVER: readonly number[] = NOWCAST_LEADS.map(() => 0);

/** Probability of a strike by one storm up to each lead: the share of its futures that reach the point, weighted with its survival. */
function stormStrikes(point: Position, { seen, footprint }: NowcastStorm, now_ms: number): readonly number[] {
  const age_min = Math.max(0, (now_ms - seen.scan_time) / 60_000);
  const longest_min = age_min + Math.max(...NOWCAST_LEADS.map(({ minutes }) => minutes));
  const { major_km, minor_km, orientation_deg } = footprint.ellipse;
  const reached = { major_km: major_km + STRIKE_KM, minor_km: minor_km + STRIKE_KM, orientation_deg };
  const motion = motionOf(seen);
  // The sphere is off by 0.4 %; a slack of 1 % loses no storm in reach.
  if (roughDistanceKm(footprint.centre, point) > 1.01 * reachKm(reached, motion, longest_min)) return NEVER;
  const times = arrivals(offsetKm(footprint.centre, point), reached, motion, age_min, longest_min);
  const alive = NOWCAST_LEADS.map(() => 0);
  for (const time_min of times) {
    if (Number.isNaN(time_min)) continue;
    const lives = survival(time_min, seen.estimated_size_mm);
    for (const [lead, { minutes }] of NOWCAST_LEADS.entries())
      if (time_min <= age_min + minutes) alive[lead] = alive[lead] + lives;
  }
  return alive.map((sum) => (sum / times.length) * seen.confidence);
}

function motionOf({ speed_kmh, direction_deg, scan_count }: TrackPoint): UncertainMotion {
  if (speed_kmh === null || direction_deg === null) return UNKNOWN_MOTION;
  return { speed_kmh, direction_deg, ...(scan_count >= MATURE_SCANS ? MATURE_ERROR : YOUNG_ERROR) };
}

function sigmoid(score: number): number {
  return 1 / (1 + Math.exp(-score));
}
