import { LATTICE, rowLat } from '../../schemas/geo/lattice.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { kmPerDegree, type Vector } from './motion.ts';
import { type CellAtPixel, eachPixel, type Mask, maskPixels } from './track-cell.ts';

/** Age of the oldest step of a trail: the middle lead of the nowcast. */
const TRAIL_MAX_MIN = 30;
/** Age from which on a step is judged, and the shortest time between two steps. */
const TRAIL_STEP_MIN = 4;
/** Weight of the hindcasts of the storms around a track. */
const NEIGHBOUR_WEIGHT = 0.1;
/** Shares of a motion that are tried, from all of it to none. */
const SHARES = [1, 0.75, 0.5, 0.25, 0] as const;

/** A track in an earlier scan: its mask, and its motion at that time before shrinking, km/min. */
export interface TrailStep {
  readonly scan_time: number;
  readonly velocity: Vector;
  readonly mask: Mask;
}

/**
 * Sum over the earlier masks of the fraction that the cells of a scan cover, each mask moved by SHARES[share] of its motion.
 * Counted on first use: most motions are published unshrunk and need one share only.
 */
type Hindcast = (share: number) => number;

/** The steps of a trail within TRAIL_MAX_MIN, with a new one where the last is old enough. */
export function extendTrail(trail: readonly TrailStep[], step: TrailStep): TrailStep[] {
  const kept = trail.filter(({ scan_time }) => step.scan_time - scan_time <= TRAIL_MAX_MIN * MS_PER_MIN);
  const last = kept.at(-1);
  const due = last === undefined || step.scan_time - last.scan_time >= TRAIL_STEP_MIN * MS_PER_MIN;
  return due ? [...kept, step] : kept;
}

/** Hindcast of a scan by the motions of a trail; `owner`: the cells of the scan by pixel. */
export function hindcast(trail: readonly TrailStep[], scan_time: number, owner: CellAtPixel): Hindcast {
  const steps = trail
    .map((step) => ({ ...step, minutes: (scan_time - step.scan_time) / MS_PER_MIN }))
    .filter(({ minutes }) => minutes >= TRAIL_STEP_MIN && minutes <= TRAIL_MAX_MIN);
  const covered = (share: number) =>
    steps.reduce((sum, { mask, velocity, minutes }) => {
      const { rows_south, cols_east } = pixelsMoved(mask, velocity, share * minutes);
      let pixels = 0;
      eachPixel(mask, rows_south, cols_east, (key) => {
        if (owner.has(key)) pixels++;
      });
      return sum + pixels / maskPixels(mask);
    }, 0);
  const known: number[] = [];
  return (k) => {
    known[k] ??= covered(SHARES[k]);
    return known[k];
  };
}

/**
 * Share of a storm's motion that is published: the largest that covers the storm's earlier masks at least as well as no motion does.
 * 1 without earlier masks. `around`: hindcasts of the storms around it.
 */
export function motionShare(own: Hindcast, around: readonly Hindcast[]): number {
  const sum = (k: number) => own(k) + NEIGHBOUR_WEIGHT * around.reduce((total, other) => total + other(k), 0);
  const still = sum(SHARES.length - 1);
  return SHARES.find((_, k) => sum(k) >= still) ?? 1;
}

/** Displacement of an object in whole rows and columns, at its latitude. */
export function pixelsMoved(mask: Mask, velocity: Vector | null, minutes: number) {
  if (velocity === null || minutes === 0 || mask.length === 0) return { rows_south: 0, cols_east: 0 };
  const middle_row = Math.round((mask[0] + mask[mask.length - 3]) / 2);
  const km = kmPerDegree(rowLat(middle_row));
  return {
    rows_south: Math.round((-velocity.north * minutes) / (km.north * LATTICE.step)),
    cols_east: Math.round((velocity.east * minutes) / (km.east * LATTICE.step)),
  };
}
