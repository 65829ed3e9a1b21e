import { offsetKm } from '../../../pipeline/track/local-plane.ts';
import { type Heading, headingOf } from '../../../pipeline/track/motion.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';

/** Motion is judged by the displacement over so long, of storms that have had so many scans. */
const MOTION_LEAD_MIN = 14;
const MATURE_SCANS = 6;
/** Hail is looked for again after so long. */
const SURVIVAL_LEAD_MIN = 15;
/** Hail is what reaches this, mm; small hail stays below the second bound, large hail reaches the third. */
const HAIL_MM = 19;
const SMALL_BELOW_MM = 25;
const LARGE_MM = 38;
/** Scans come about every 2 minutes: the one nearest to a lead time is off by half of that, and a little jitter. */
const LEAD_TOLERANCE_MIN = 1.5;
/** Slower than this a direction says nothing. */
const DIRECTION_MIN_KMH = 10;

/** A storm in one scan as its tracker knows it: real or simulated. */
export interface TrackedStorm extends Position {
  readonly track_id: string;
  readonly scan_time: number;
  /** Scans that the track has behind it, this one included. */
  readonly scan_count: number;
  /** Motion that the tracker gives at this scan; null while unknown. */
  readonly motion: Heading | null;
  /** The storm kept its id by a change of shape in this scan: its centroid jumped without having moved. */
  readonly is_reshaped: boolean;
}

/** How far a motion was from what the storm then did: speed in km/h, direction in degrees, -180 to 180. */
export interface MotionError {
  readonly speed_kmh: number;
  readonly direction_deg: number;
}

/**
 * Motion of every storm with at least `mature_scans` behind it beside its displacement over the next `lead_min`.
 * Storms that are not there any more then, hardly move, or change their shape on the way are left out: a jump of the centroid is
 * no motion.
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

/** How storms move and how long their hail stays. */
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

/** Statistics of the storms of several evenings together; a track never goes on from one evening to the next. */
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

/** A storm with hail, and whether it still has hail some time later. */
export interface SurvivalCase {
  readonly size_mm: number;
  readonly survived: boolean;
}

/** Storms of at least `min_mm`, and whether they are so after `lead_min`; a storm that is gone is not. Scans must reach that far. */
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

/** The scan of a track that is nearest to a lead time; undefined when the track has none about then. */
function atLead<Scan extends { readonly scan_time: number }>(
  track: readonly Scan[],
  scan_time: number,
  lead_min: number,
): Scan | undefined {
  const off = (one: Scan) => Math.abs(one.scan_time - scan_time - lead_min * MS_PER_MIN);
  const near = track.filter((one) => off(one) <= LEAD_TOLERANCE_MIN * MS_PER_MIN);
  return near.reduce<Scan | undefined>((best, one) => (best && off(best) <= off(one) ? best : one), undefined);
}
