import type { PixelRuns } from '../../schemas/geo/fill.ts';
import type { Window } from '../../schemas/geo/lattice.ts';
import { type Bbox, CONUS } from '../../schemas/geo/position.ts';
import { stateBox, statePixels } from './geo/us-states.ts';

/** Pixels that a question is about. */
export interface Region {
  /** The box that the answer shows: that of the question clipped to CONUS, of the state, or CONUS. */
  readonly bbox: Bbox;
  readonly state: string | null;
  /** Pixels whose centre lies in the box, edges included, and in CONUS; null for none. */
  readonly window: Window | null;
  /** Of a state: its pixels, some of which may lie outside the window. Null: every pixel of the window counts. */
  readonly runs: PixelRuns | null;
}

/** CONUS as the interface defines it. */
export const CONUS_BOX: Bbox = [CONUS.west, CONUS.south, CONUS.east, CONUS.north];

/**
 * Region of a question: a box, a state by its USPS code, or without either the whole of CONUS. A box is clipped to CONUS;
 * one that does not meet it, and a state outside it, has no pixels.
 */
export function regionOf(asked: { readonly bbox: Bbox | null; readonly state: string | null }): Region {
  if (asked.state !== null) return ofState(asked.state);
  const clipped = clip(asked.bbox ?? CONUS_BOX);
  if (clipped === null) return { bbox: asked.bbox ?? CONUS_BOX, state: null, window: null, runs: null };
  return { bbox: clipped, state: null, window: centresIn(clipped), runs: null };
}

function ofState(state: string): Region {
  const bbox = stateBox(state);
  const clipped = clip(bbox);
  const window = clipped === null ? null : centresIn(clipped);
  const runs = window === null ? null : statePixels(state);
  return { bbox, state, window: runs === null || runs.row.length === 0 ? null : window, runs };
}

function clip([west, south, east, north]: Bbox): Bbox | null {
  const box: Bbox = [
    Math.max(west, CONUS.west),
    Math.max(south, CONUS.south),
    Math.min(east, CONUS.east),
    Math.min(north, CONUS.north),
  ];
  return box[0] <= box[2] && box[1] <= box[3] ? box : null;
}

/** Pixels whose centre lies in a box, edges included; null for none. Centres end in 5 thousandths of a degree. */
function centresIn([west, south, east, north]: Bbox): Window | null {
  const row0 = Math.ceil(tenth(54_995 - thousandths(north)));
  const row1 = Math.floor(tenth(54_995 - thousandths(south)));
  const col0 = Math.ceil(tenth(thousandths(west) + 129_995));
  const col1 = Math.floor(tenth(thousandths(east) + 129_995));
  return row0 > row1 || col0 > col1 ? null : { row0, col0, rows: row1 - row0 + 1, cols: col1 - col0 + 1 };
}

/** Thousandths of a degree without the error of binary fractions: 41.995 gives exactly 41,995. */
function thousandths(deg: number): number {
  return Math.round(deg * 1e9) / 1e6;
}

function tenth(value: number): number {
  return Math.round(value * 1e6) / 1e7;
}
