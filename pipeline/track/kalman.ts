import type { Position } from '../../schemas/geo/position.ts';
import { addOffset, offsetKm, type Vector } from './motion.ts';

/**
 * White-noise acceleration, km2/min3. Maximum likelihood on clean tracks of rain cores gives 0.017-0.020,
 * on two evenings of storm objects 0.013 and 0.0014.
 */
const ACCELERATION_NOISE = 0.01;
/** Standard deviation of a cell's centroid, km: this and, in quadrature, a share of the cell's radius. */
const POSITION_SD_KM = 0.8;
const POSITION_SD_PER_RADIUS = 0.15;

/**
 * Constant-velocity state: position, velocity in km/min and the covariance of one axis
 * (equal for both axes, because the noise is isotropic): pp km2, pv km2/min, vv km2/min2.
 */
export interface Motion extends Position {
  readonly east_km_min: number;
  readonly north_km_min: number;
  readonly pp: number;
  readonly pv: number;
  readonly vv: number;
}

/** Variance of the measured centroid of a cell with this equivalent radius, km2. */
export function centroidVariance(radius_km: number): number {
  return POSITION_SD_KM ** 2 + (POSITION_SD_PER_RADIUS * radius_km) ** 2;
}

/** State of a cell seen once at `at`, with an assumed velocity (km/min) and its standard deviation. */
export function firstMotion(at: Position, variance_km2: number, velocity: Vector, velocity_sd: number): Motion {
  return {
    lat: at.lat,
    lon: at.lon,
    east_km_min: velocity.east,
    north_km_min: velocity.north,
    pp: variance_km2,
    pv: 0,
    vv: velocity_sd ** 2,
  };
}

/** State after `minutes` of straight motion under white-noise acceleration. */
export function predictMotion(motion: Motion, minutes: number): Motion {
  const { pp, pv, vv } = motion;
  const there = addOffset(motion, { east: motion.east_km_min * minutes, north: motion.north_km_min * minutes });
  return {
    ...there,
    east_km_min: motion.east_km_min,
    north_km_min: motion.north_km_min,
    pp: pp + 2 * minutes * pv + minutes ** 2 * vv + (ACCELERATION_NOISE * minutes ** 3) / 3,
    pv: pv + minutes * vv + (ACCELERATION_NOISE * minutes ** 2) / 2,
    vv: vv + ACCELERATION_NOISE * minutes,
  };
}

/** Squared Mahalanobis distance of a measured centroid from a predicted state: chi-square with two degrees. */
export function mahalanobis2(predicted: Motion, measured: Position, variance_km2: number): number {
  const off = offsetKm(predicted, measured);
  return (off.east ** 2 + off.north ** 2) / (predicted.pp + variance_km2);
}

/** Predicted state corrected by a measured centroid. */
export function updateMotion(predicted: Motion, measured: Position, variance_km2: number): Motion {
  const { pp, pv, vv } = predicted;
  const off = offsetKm(predicted, measured);
  const gain = pp / (pp + variance_km2);
  const velocityGain = pv / (pp + variance_km2);
  return {
    ...addOffset(predicted, { east: gain * off.east, north: gain * off.north }),
    east_km_min: predicted.east_km_min + velocityGain * off.east,
    north_km_min: predicted.north_km_min + velocityGain * off.north,
    pp: (1 - gain) * pp,
    pv: (1 - gain) * pv,
    vv: vv - velocityGain * pv,
  };
}

/**
 * State of a branch at `at` of a storm whose predicted state is `whole`. The displacement from the centroid of the whole to that
 * of the branch is no motion, so the velocity stays; its spread grows by `parting_sd` km/min, because branches diverge.
 */
export function branchMotion(whole: Motion, at: Position, variance_km2: number, parting_sd: number): Motion {
  const velocity = { east: whole.east_km_min, north: whole.north_km_min };
  return firstMotion(at, variance_km2, velocity, Math.sqrt(whole.vv + parting_sd ** 2));
}
