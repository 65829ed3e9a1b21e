import { offsetKm } from '../../../pipeline/track/local-plane.ts';
import { type Heading, headingOf } from '../../../pipeline/track/motion.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';

/** Lead of the motion errors, and fewest scans of their tracks. */
const MOTION_LEAD_MIN = 14;
const MATURE_SCANS = 6;
/** Lead of the survival of hail. */
const SURVIVAL_LEAD_MIN = 15;
/** Lower bound of hail, upper bound of small hail and lower bound of large hail, mm. */
const HAIL_MM = 19;
const SMALL_BELOW_MM = 25;
const LARGE_MM = 38;
/** Tolerance of a lead: half of the scan interval of about 2 minutes, plus jitter. */
const LEAD_TOLERANCE_MIN = 1.5;
/** Smallest speed with a meaningful direction. */
const DIRECTION_MIN_KMH = 10;

/** A tracked storm in one scan, real or simulated. */
export interface TrackedStorm extends Position {
  readonly track_id: string;
  readonly scan_time: number;
  /** Scans of the track so far, this one included. */
  readonly scan_count: number;
  /** Motion by the tracker at this scan; null while unknown. */
  readonly motion: Heading | null;
  /** The track was continued by a change of shape in this scan: the displacement of its centroid is no motion. */
  readonly is_reshaped: boolean;
}

/** Forecast minus observed motion: speed in km/h, direction in degrees, -180 to 180. */
export interface MotionError {
  readonly speed_kmh: number;
  readonly direction_deg: number;
}

/**
 * Motion errors over the next `lead_min` of every storm with at least `mature_scans`. Storms that end before the lead, hardly move
 * or change their shape on the way are left out.
 */
export function motionErrors(storms: readonly TrackedStorm[], lead_min: number, mature_scans: number): MotionError[] {
  const errors: MotionError[] = [];
  for (const track of Map.groupBy(storms, ({ track_id }) => track_id).values())
    for (const now of track) {
      const { motion } = now;
      if (motion === null || now.scan_count < mature_scans) continue;
      const later = atLead(track, now.scan_time, lead_min);
      if (later === undefined) continue;
      const isOnWay = ({ scan_time }: TrackedStorm) => scan_time > now.scan_time && scan_time <= later.scan_time;
      if (track.some((one) => one.is_reshaped && isOnWay(one))) continue;
      const minutes = (later.scan_time - now.scan_time) / MS_PER_MIN;
      const way = offsetKm(now, later);
      const came = headingOf({ east: way.east / minutes, north: way.north / minutes });
      if (came.speed_kmh < DIRECTION_MIN_KMH || motion.speed_kmh < DIRECTION_MIN_KMH) continue;
      errors.push({
        speed_kmh: motion.speed_kmh - came.speed_kmh,
        direction_deg: ((motion.direction_deg - came.direction_deg + 540) % 360) - 180,
      });
    }
  return errors;
}

/** Motion errors of storms and survival of their hail. */
export interface StormStatistics {
  /** Root mean square errors of the motion of mature storms over 14 minutes, and how many there are. */
  readonly motion_cases: number;
  readonly motion_speed_kmh: number;
  readonly motion_direction_deg: number;
  /** Share of storms of 19 to 25 mm, and of at least 38 mm, that still have 19 mm after 15 minutes. */
  readonly small_cases: number;
  readonly small_survival: number;
  readonly large_cases: number;
  readonly large_survival: number;
}

/** Statistics of the storms of several evenings together; tracks do not continue across evenings. */
export function stormStatistics(evenings: readonly (readonly (TrackedStorm & StormSize)[])[]): StormStatistics {
  const errors = evenings.flatMap((storms) => motionErrors(storms, MOTION_LEAD_MIN, MATURE_SCANS));
  const cases = evenings.flatMap((storms) => survivalCases(storms, SURVIVAL_LEAD_MIN, HAIL_MM));
  const small = cases.filter(({ size_mm }) => size_mm < SMALL_BELOW_MM);
  const large = cases.filter(({ size_mm }) => size_mm >= LARGE_MM);
  return {
    motion_cases: errors.length,
    motion_speed_kmh: rootMeanSquare(errors.map(({ speed_kmh }) => speed_kmh)),
    motion_direction_deg: rootMeanSquare(errors.map(({ direction_deg }) => direction_deg)),
    small_cases: small.length,
    small_survival: survivedShare(small),
    large_cases: large.length,
    large_survival: survivedShare(large),
  };
}

function rootMeanSquare(values: readonly number[]): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
}

function survivedShare(cases: readonly SurvivalCase[]): number {
  return cases.filter(({ survived }) => survived).length / cases.length;
}

/** The largest hail of a storm in one scan. */
export interface StormSize {
  readonly track_id: string;
  readonly scan_time: number;
  readonly size_mm: number;
}

/** A storm with hail, and whether it still has hail after the lead. */
export interface SurvivalCase {
  readonly size_mm: number;
  readonly survived: boolean;
}

/** Storms >= `min_mm`, and whether they still are after `lead_min`; an ended storm is not. Cases without scans at the lead are left out. */
export function survivalCases(sizes: readonly StormSize[], lead_min: number, min_mm: number): SurvivalCase[] {
  const last = sizes.reduce((latest, { scan_time }) => Math.max(latest, scan_time), 0);
  return [...Map.groupBy(sizes, ({ track_id }) => track_id).values()].flatMap((series) =>
    series
      .filter(({ size_mm, scan_time }) => size_mm >= min_mm && scan_time + lead_min * MS_PER_MIN <= last)
      .map(({ size_mm, scan_time }) => {
        const later = atLead(series, scan_time, lead_min);
        return { size_mm, survived: later !== undefined && later.size_mm >= min_mm };
      }),
  );
}

/** The scan of a track nearest to a lead; undefined without one within the tolerance. */
function atLead<Scan extends { readonly scan_time: number }>(
  track: readonly Scan[],
  scan_time: number,
  lead_min: number,
): Scan | undefined {
  const off = (one: Scan) => Math.abs(one.scan_time - scan_time - lead_min * MS_PER_MIN);
  const near = track.filter((one) => off(one) <= LEAD_TOLERANCE_MIN * MS_PER_MIN);
  return near.reduce<Scan | undefined>((best, one) => (best && off(best) <= off(one) ? best : one), undefined);
}
