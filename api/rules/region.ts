import type { PixelRuns } from '../../schemas/geo/fill.ts';
import { colLon, LATTICE, rowLat, type Window } from '../../schemas/geo/lattice.ts';
import { type Bbox, CONUS } from '../../schemas/geo/position.ts';
import { type RegionBox, regionBox } from '../../schemas/resources/region-box.ts';
import { stateBox, statePixels } from './geo/us-states.ts';

export interface Region {
  /** The box that the answer shows: that of the question clipped to CONUS, of the state, or CONUS. */
  readonly bbox: Bbox;
  readonly state: string | null;
  /** Pixels whose centre lies in the box, edges included, and in CONUS; null for none. */
  readonly window: Window | null;
  /** Why nothing can be found: no part of the region lies in CONUS. Null where some does. */
  readonly note: string | null;
  /** Of a state: its pixels, some of which may lie outside the window. Null: every pixel of the window counts. */
  readonly runs: PixelRuns | null;
}

const NOWHERE = 'No part of the region lies in 24 to 50 N and 125 to 66 W, where regions are looked through.';

export const CONUS_BOX: Bbox = [CONUS.west, CONUS.south, CONUS.east, CONUS.north];

/**
 * Region of a question: a box, a state by its USPS code, or without either the whole of CONUS. A box is clipped to CONUS;
 * one that does not meet it, and a state outside it, has no pixels.
 */
export function regionOf({ bbox, state }: { readonly bbox: Bbox | null; readonly state: string | null }): Region {
  const asked = state === null ? (bbox ?? CONUS_BOX) : stateBox(state);
  const clipped = clip(asked);
  const window = clipped === null ? null : centresIn(clipped);
  const runs = state === null || window === null ? null : statePixels(state);
  const is_nowhere = clipped === null || runs?.row.length === 0;
  return {
    bbox: state === null ? (clipped ?? asked) : asked,
    state,
    window: is_nowhere ? null : window,
    note: is_nowhere ? NOWHERE : null,
    runs,
  };
}

/** The box as answers show it; null for a region without a part in CONUS. */
export function shownBox({ bbox, note }: Region): RegionBox | null {
  return note === null ? regionBox(bbox) : null;
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

/** Pixels whose centre lies in a box, edges included; null for none. Ten-millionths of a step hide the error of binary fractions. */
function centresIn([west, south, east, north]: Bbox): Window | null {
  const exact = (steps: number) => Math.round(steps * 1e7) / 1e7;
  const row0 = Math.ceil(exact((rowLat(0) - north) / LATTICE.step));
  const row1 = Math.floor(exact((rowLat(0) - south) / LATTICE.step));
  const col0 = Math.ceil(exact((west - colLon(0)) / LATTICE.step));
  const col1 = Math.floor(exact((east - colLon(0)) / LATTICE.step));
  return row0 > row1 || col0 > col1 ? null : { row0, col0, rows: row1 - row0 + 1, cols: col1 - col0 + 1 };
}

/** Reason why a position is outside CONUS as the interface defines it, with a hint at the likely mistake; null inside, edges included. */
export function conusFault(lat: number, lon: number): string | null {
  const { south, north, west, east } = CONUS;
  if (lat < south || lat > north) return `lat is ${lat}, expected ${south} to ${north}${hemisphereHint(lat, lon)}`;
  if (lon < west || lon > east) return `lon is ${lon}, expected ${west} to ${east}${hemisphereHint(lat, lon)}`;
  return null;
}

/** Hint at the likely mistake in a position outside CONUS; empty without one. */
export function hemisphereHint(lat: number, lon: number): string {
  const { south, north, west, east } = CONUS;
  if (lat >= west && lat <= east && lon >= south && lon <= north) return ', lat and lon look swapped';
  return lon >= -east && lon <= -west ? ', longitudes west of Greenwich are negative' : '';
}
