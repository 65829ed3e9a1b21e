/** Fall of the core with distance: exp(-(r / core)^1.3). */
export const STEEPNESS = 1.3;
/** The core reaches this much farther to its left front than the ellipse, and as much less on the opposite side. */
export const SKEW = 0.35;
/** Direction of the left front, 60 degrees to the left of the motion. */
const SKEW_FORWARD = 0.5;
const SKEW_LEFT = Math.sqrt(0.75);

const STEPS = 512;
const REACH = 8;
const FALL = Float32Array.from({ length: REACH * STEPS + 1 }, (_, i) => Math.exp(-((i / STEPS) ** STEEPNESS)));

/**
 * Distance from a storm's centre in core lengths, for a place `along` and `across` (to the left) the motion, each in
 * lengths of its own axis. The right rear is steep, the left front has a tail.
 */
export function coreDistance(along: number, across: number): number {
  const plain = Math.sqrt(along * along + across * across);
  if (plain === 0) return 0;
  return (plain * plain) / (plain + SKEW * (along * SKEW_FORWARD + across * SKEW_LEFT));
}

/** Share of the largest MESH that is left at a distance in core lengths; 0 from 8 on. */
export function coreFall(distance: number): number {
  return distance < REACH ? FALL[(distance * STEPS) | 0] : 0;
}

/** Distance in core lengths at which a MESH has fallen to another; 0 when it is not larger. */
export function coreReach(peak_mm: number, to_mm: number): number {
  return peak_mm > to_mm ? Math.log(peak_mm / to_mm) ** (1 / STEEPNESS) : 0;
}
