import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import { offsetKm } from '../../schemas/geo/offset.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { type CalibrationCurve, NOWCAST_CALIBRATION } from '../../schemas/reference/nowcast-calibration.ts';
import { type LeadKey, NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import type { TrackPoint } from '../../schemas/tables/tracks.ts';
import { type Footprint, footprint } from './footprint.ts';
import { arrivals, reachKm, type UncertainMotion } from './swept-ellipse.ts';

/** The event: hail of this size within this distance of the point. */
export const STRIKE_MM = 19;
export const STRIKE_KM = 1;
/** Tracks of so many scans move steadily; younger ones may still turn. */
const MATURE_SCANS = 6;
const MATURE_ERROR = { speed_error_kmh: 12, direction_error_deg: 18 } as const;
const YOUNG_ERROR = { speed_error_kmh: 20, direction_error_deg: 30 } as const;
/** A storm whose motion is unknown may go anywhere. */
const UNKNOWN_MOTION = { speed_kmh: 0, direction_deg: 0, speed_error_kmh: 60, direction_error_deg: 180 } as const;
/** Survival: logit S = base + lead L + size ln(M / 19) + growth g + age ln(duration + 1) + area ln A. */
const SURVIVAL = { base: 1.6, lead: -0.055, size: 1.4, growth: 0.35, age: 0.3, area: 0.25 } as const;
/** No storm comes from farther within the longest lead. */
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

/**
 * Probability that a storm lives on for so many minutes with its hail. `growth_mm_per_min` null counts as 0.
 * Source: SCIENCE.md, "Nowcast".
 */
export function survival(
  lead_min: number,
  {
    estimated_size_mm,
    size_growth_rate_mm_per_min,
    duration_min,
    area_km2,
  }: Pick<TrackPoint, 'estimated_size_mm' | 'size_growth_rate_mm_per_min' | 'duration_min' | 'area_km2'>,
): number {
  const score =
    SURVIVAL.base +
    SURVIVAL.lead * lead_min +
    SURVIVAL.size * Math.log(estimated_size_mm / STRIKE_MM) +
    SURVIVAL.growth * (size_growth_rate_mm_per_min ?? 0) +
    SURVIVAL.age * Math.log(duration_min + 1) +
    SURVIVAL.area * Math.log(area_km2);
  return 1 / (1 + Math.exp(-score));
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

/** The same, calibrated per lead, and never falling from lead to lead. */
export function nowcast(
  point: Position,
  storms: readonly NowcastStorm[],
  now_ms: number,
): Readonly<Record<LeadKey, number>> {
  return calibrated(rawNowcast(point, storms, now_ms), NOWCAST_CALIBRATION.leads);
}

/** Raw probabilities on the curve of their lead; what a shorter lead holds likely, a longer one does at least. */
export function calibrated(
  raw: Readonly<Record<LeadKey, number>>,
  curves: Readonly<Record<LeadKey, CalibrationCurve>>,
): Readonly<Record<LeadKey, number>> {
  let least = 0;
  const leads = NOWCAST_LEADS.map(({ key }) => {
    least = Math.max(least, onCurve(curves[key], raw[key]));
    return [key, least] as const;
  });
  return Object.fromEntries(leads) as Record<LeadKey, number>;
}

const NEVER: readonly number[] = NOWCAST_LEADS.map(() => 0);

/** Probability of a strike by one storm up to each lead: the share of its futures that reach the point, each if it lives. */
function stormStrikes(point: Position, { seen, footprint }: NowcastStorm, now_ms: number): readonly number[] {
  const age_min = Math.max(0, (now_ms - seen.scan_time) / 60_000);
  const longest_min = age_min + Math.max(...NOWCAST_LEADS.map(({ minutes }) => minutes));
  const { major_km, minor_km, orientation_deg } = footprint.ellipse;
  const reached = { major_km: major_km + STRIKE_KM, minor_km: minor_km + STRIKE_KM, orientation_deg };
  const motion = motionOf(seen);
  // A sphere is off by 0.4 %: with one more nothing in reach is passed over.
  if (roughDistanceKm(footprint.centre, point) > 1.01 * reachKm(reached, motion, longest_min)) return NEVER;
  const times = arrivals(offsetKm(footprint.centre, point), reached, motion, age_min, longest_min);
  return NOWCAST_LEADS.map(({ minutes }) => {
    let alive = 0;
    for (const time_min of times) if (time_min <= age_min + minutes) alive += survival(time_min, seen);
    return (alive / times.length) * seen.confidence;
  });
}

function motionOf({ speed_kmh, direction_deg, scan_count }: TrackPoint): UncertainMotion {
  if (speed_kmh === null || direction_deg === null) return UNKNOWN_MOTION;
  return { speed_kmh, direction_deg, ...(scan_count >= MATURE_SCANS ? MATURE_ERROR : YOUNG_ERROR) };
}

/** Value on a rising curve through knots: constant before the first and after the last, straight between two. */
export function onCurve({ raw, probability }: CalibrationCurve, at: number): number {
  const upper = raw.findIndex((knot) => knot >= at);
  if (upper === 0) return probability[0];
  if (upper === -1) return probability.at(-1) as number;
  const [low, high] = [raw[upper - 1], raw[upper]];
  const [from, to] = [probability[upper - 1], probability[upper]];
  return from + ((to - from) * (at - low)) / (high - low);
}
