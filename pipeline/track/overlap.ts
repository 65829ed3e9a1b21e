import { type Lattice, rowLat } from '../../schemas/geo/lattice.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { kmPerDegree, type Vector } from './local-plane.ts';
import { eachPixel, type Mask } from './mask.ts';

/** A frame verifies a lead when it is at most this far from it. */
const LEAD_TOLERANCE_MS = MS_PER_MIN;

/** An object of a frame and its motion by the tracker, km/min; null when it is stationary. */
interface MovingObject {
  readonly mask: Mask;
  readonly velocity: Vector | null;
}

/** The objects of one time. */
export interface ObjectFrame {
  readonly scan_time: number;
  readonly lattice: Lattice;
  readonly objects: readonly MovingObject[];
}

/** Pixels that extrapolated objects share with the observed ones (hits), and those that only one of both has. */
export interface Overlap {
  /** Frames with a later frame at the lead. */
  readonly frames: number;
  readonly hits: number;
  readonly misses: number;
  readonly false_alarms: number;
}

/** Critical success index: hits / (hits + misses + false alarms); null without extrapolated and observed pixels. */
export function csi({ hits, misses, false_alarms }: Overlap): number | null {
  const all = hits + misses + false_alarms;
  return all === 0 ? null : hits / all;
}

/**
 * Overlap of extrapolated objects with the observed ones after a lead. Each frame with a later frame within a minute of the lead
 * is extrapolated by whole pixels over the time between the two. A tracker cannot game this score: a track that is cut short,
 * smoothed or linked to another storm's cell moves its pixels to the wrong place.
 */
export function overlapAt(frames: readonly ObjectFrame[], lead_min: number): Overlap {
  return overlapOf(frames, lead_min, (frame, later, minutes) => ({
    observed: pixelsOf([later], [0]),
    forecast: pixelsOf([frame], [minutes]),
  }));
}

/**
 * Overlap of the ground that extrapolated objects sweep until a lead with the ground that observed objects sweep, over the frames
 * with later frames up to the lead. Objects are extrapolated minute by minute.
 */
export function swathOverlapAt(frames: readonly ObjectFrame[], lead_min: number): Overlap {
  return overlapOf(frames, lead_min, (frame, last, minutes) => ({
    observed: pixelsOf(
      frames.slice(frames.indexOf(frame)).filter(({ scan_time }) => scan_time <= last.scan_time),
      [0],
    ),
    forecast: pixelsOf([frame], [...Array(Math.ceil(minutes)).keys(), minutes]),
  }));
}

/** Overlap summed over the frames with a later frame at the lead, `minutes` after them. */
function overlapOf(
  frames: readonly ObjectFrame[],
  lead_min: number,
  pixels: (
    frame: ObjectFrame,
    later: ObjectFrame,
    minutes: number,
  ) => { observed: ReadonlySet<number>; forecast: ReadonlySet<number> },
): Overlap {
  let [pairs, hits, misses, false_alarms] = [0, 0, 0, 0];
  for (const frame of frames) {
    const later = frameAt(frames, frame.scan_time + lead_min * MS_PER_MIN);
    if (!later) continue;
    pairs++;
    const { observed, forecast } = pixels(frame, later, (later.scan_time - frame.scan_time) / MS_PER_MIN);
    let common = 0;
    for (const pixel of forecast) if (observed.has(pixel)) common++;
    hits += common;
    misses += observed.size - common;
    false_alarms += forecast.size - common;
  }
  return { frames: pairs, hits, misses, false_alarms };
}

/** The frame nearest to a time, the earlier of equals; null when it is beyond the tolerance. */
function frameAt(frames: readonly ObjectFrame[], time_ms: number): ObjectFrame | null {
  const off = (frame: ObjectFrame) => Math.abs(frame.scan_time - time_ms);
  const nearest = frames.reduce<ObjectFrame | null>((best, at) => (best && off(best) <= off(at) ? best : at), null);
  return nearest && off(nearest) <= LEAD_TOLERANCE_MS ? nearest : null;
}

/** Lattice positions of the objects of frames, extrapolated by each number of minutes. */
function pixelsOf(frames: readonly ObjectFrame[], extrapolated_min: readonly number[]): Set<number> {
  const pixels = new Set<number>();
  for (const { lattice, objects } of frames)
    for (const { mask, velocity } of objects)
      for (const minutes of extrapolated_min) {
        const { rows_south, cols_east } = pixelsMoved(lattice, mask, velocity, minutes);
        eachPixel(mask, rows_south, cols_east, (pixel) => pixels.add(pixel));
      }
  return pixels;
}

/** Displacement of an object in whole rows and columns, at its latitude. */
export function pixelsMoved(lattice: Lattice, mask: Mask, velocity: Vector | null, minutes: number) {
  if (velocity === null || minutes === 0 || mask.length === 0) return { rows_south: 0, cols_east: 0 };
  const middle_row = Math.round((mask[0] + mask[mask.length - 3]) / 2);
  const km = kmPerDegree(rowLat(lattice, middle_row));
  return {
    rows_south: Math.round((-velocity.north * minutes) / (km.north * lattice.step)),
    cols_east: Math.round((velocity.east * minutes) / (km.east * lattice.step)),
  };
}
