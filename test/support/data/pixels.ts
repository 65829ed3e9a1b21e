import { readFileSync } from 'node:fs';
import type { HailField } from '../../../pipeline/grid.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { draw, type Origin } from './draw.ts';
import { sharedData } from './shared-data.ts';

/** Lattice rows and columns of pixels. */
export interface Pixels {
  rows: number[];
  cols: number[];
}

/** One scan of 28 Feb 2024. */
export const REAL_SCAN = 'MRMS_MESH_00.50_20240228-025239.grib2';
/** The 24-hour maximum of that day. */
export const REAL_DAY = 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2';

const read = new Map<string, HailField>();

/** A real MESH file beside the project, decoded once. */
export function realField(name: string): HailField {
  const field = read.get(name) ?? hailField(readGrid(readFileSync(sharedData('mrms', name)), name));
  read.set(name, field);
  return field;
}

/** Pixels of a field at or above a size. */
export function pixelsOf(field: HailField, min_mm: number): Pixels {
  const pixels: Pixels = { rows: [], cols: [] };
  for (let r = 0; r < field.window.rows; r++)
    for (let i = field.rowStart[r]; i < field.rowStart[r + 1]; i++)
      if (field.tenths[i] >= 10 * min_mm) {
        pixels.rows.push(field.window.row0 + r);
        pixels.cols.push(field.col[i]);
      }
  return pixels;
}

/** Pixels that are not '.' in a picture; its first pixel lies at 40 N, 100 W. */
export function drawPixels(picture: string, origin: Origin = { row0: 1500, col0: 3000 }): Pixels {
  return pixelsOf(draw(picture, origin), 0.1);
}
