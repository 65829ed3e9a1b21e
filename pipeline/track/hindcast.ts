import { LATTICE, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { inRegion, kmPerDegree, type Vector } from './motion.ts';
import { type CellAtPixel, eachPixel, type Mask, maskPixels } from './track-cell.ts';

/** Age of the oldest step of a trail: the past is as long as the nowcast looks ahead. */
const TRAIL_MAX_MIN = 45;
/** Age from which on a step is judged, and the shortest time between two scans whose storms are kept. */
const TRAIL_STEP_MIN = 4;
/** Shares of a motion that are tried, from all of it to none. */
const SHARES = [1, 0.75, 0.5, 0.25, 0] as const;

/** A storm in an earlier scan: its mask, and its motion at that time before shrinking, km/min. It may have ended since. */
export interface TrailStep extends Position {
  readonly scan_time: number;
  readonly velocity: Vector;
  readonly mask: Mask;
}

/** Fraction of an earlier mask that the cells of a scan cover, the mask moved by each of SHARES of its motion. */
interface Hindcast extends Position {
  readonly covered: readonly number[];
}

/** The steps of a trail within TRAIL_MAX_MIN, with the storms of a scan where the last ones are old enough. */
export function extendTrail(trail: readonly TrailStep[], scan_time: number, storms: readonly TrailStep[]): TrailStep[] {
  const kept = trail.filter((step) => scan_time - step.scan_time <= TRAIL_MAX_MIN * MS_PER_MIN);
  const last = kept.at(-1);
  const due = last === undefined || scan_time - last.scan_time >= TRAIL_STEP_MIN * MS_PER_MIN;
  return due ? [...kept, ...storms] : kept;
}

/** Hindcasts of a scan by the motions of a trail; `owner`: the cells of the scan by pixel. */
export function hindcasts(trail: readonly TrailStep[], scan_time: number, owner: CellAtPixel): Hindcast[] {
  return trail
    .map((step) => ({ ...step, minutes: (scan_time - step.scan_time) / MS_PER_MIN }))
    .filter(({ minutes }) => minutes >= TRAIL_STEP_MIN && minutes <= TRAIL_MAX_MIN)
    .map(({ lat, lon, mask, velocity, minutes }) => {
      const covered = SHARES.map((share) => {
        const { rows_south, cols_east } = pixelsMoved(mask, velocity, share * minutes);
        let pixels = 0;
        eachPixel(mask, rows_south, cols_east, (key) => {
          if (owner.has(key)) pixels++;
        });
        return pixels / maskPixels(mask);
      });
      return { lat, lon, covered };
    });
}

/**
 * Share of a motion that is published at a place: the largest that covers the earlier masks within 100 km at least as well as no
 * motion does; 1 without any.
 */
export function motionShare(at: Position, past: readonly Hindcast[]): number {
  const near = past.filter((step) => inRegion(at, step));
  const covered = SHARES.map((_, k) => near.reduce((sum, step) => sum + step.covered[k], 0));
  return SHARES[covered.findIndex((sum) => sum >= covered[SHARES.length - 1])];
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
