import { LATTICE, latRow, lonCol } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { type HailField, lowerBound, type ScanField } from '../grid.ts';
import { kmPerDegree, type Vector } from './motion.ts';

/** Side of the block that is matched, pixels of 0.01 degrees: a storm and what is around it. */
const BLOCK_PX = 60;
/** Width of a pixel at 50 N, the northernmost that are served, rounded down, km. */
const NARROWEST_PIXEL_KM = 0.7;
/** Least similarity of the best shift. */
const SIMILARITY_MIN = 0.5;
/** Largest speed of storms, km/min (144 km/h): limits the shifts that are tried. */
const SPEED_MAX_KM_MIN = 2.4;
/**
 * Usual interval between two fields, with half a minute by which scans come late. A radar takes four to six minutes for a volume:
 * merged fields of two minutes apart show some echoes twice, and the motion between them comes out a fifth too slow.
 */
const PATTERN_INTERVAL_MIN = 6.5;
/** Longest interval between two fields: beyond it their patterns differ too much. */
const INTERVAL_MAX_MIN = 10;

/** A square window of a field as a dense array. */
interface Patch {
  readonly values: Float64Array;
  readonly side: number;
}

/**
 * Motion of the pattern around each place in the last of some scans, km/min, since the oldest within PATTERN_INTERVAL_MIN, else
 * since the one before; null where it cannot be recognised.
 */
export function patternMotions(scans: readonly ScanField[], places: readonly Position[]): (Vector | null)[] {
  const [now, ...earlier] = scans.toReversed();
  const minutes = ({ scan_time }: ScanField) => (now.scan_time - scan_time) / MS_PER_MIN;
  const before = earlier.findLast((scan) => minutes(scan) <= PATTERN_INTERVAL_MIN) ?? earlier[0];
  if (before === undefined || minutes(before) > INTERVAL_MAX_MIN) return places.map(() => null);
  return places.map((place) => patternMotion(before.mesh, now.mesh, minutes(before), place));
}

/**
 * Block matching: a block of 60 x 60 pixels is shifted against the earlier field. Its best shift has the largest
 * 2 sum(ab) / (sum(aa) + sum(bb)), refined to sub-pixels by a parabola.
 */
function patternMotion(before: HailField, after: HailField, minutes: number, at: Position): Vector | null {
  const reach = Math.ceil((SPEED_MAX_KM_MIN * minutes) / NARROWEST_PIXEL_KM);
  const row = latRow(at.lat) - BLOCK_PX / 2;
  const col = lonCol(at.lon) - BLOCK_PX / 2;
  const block = patch(after, row, col, BLOCK_PX);
  const around = patch(before, row - reach, col - reach, BLOCK_PX + 2 * reach);
  const similarity = similarities(block, around, reach);
  const side = 2 * reach + 1;
  const best = similarity.indexOf(Math.max(...similarity));
  const south = Math.floor(best / side);
  const east = best % side;
  const onEdge = south === 0 || east === 0 || south === side - 1 || east === side - 1;
  if (!(similarity[best] >= SIMILARITY_MIN) || onEdge) return null;
  const shift = (step: number) => vertex(similarity[best - step], similarity[best], similarity[best + step]);
  // The block came from `reach - index` pixels further south and east: its own motion is the opposite.
  const pixelsSouth = reach - (south + shift(side));
  const pixelsEast = reach - (east + shift(1));
  const km = kmPerDegree(at.lat);
  const scale = LATTICE.step / minutes;
  return { east: pixelsEast * scale * km.east, north: -pixelsSouth * scale * km.north };
}

/** Dense copy of a square of a field, 0 where it has no pixel. */
function patch(field: HailField, row: number, col: number, side: number): Patch {
  const values = new Float64Array(side * side);
  const first = Math.max(row, field.window.row0);
  const end = Math.min(row + side, field.window.row0 + field.window.rows);
  for (let r = first; r < end; r++) {
    const stop = field.rowStart[r - field.window.row0 + 1];
    for (let i = lowerBound(field, r, Math.max(0, col)); i < stop; i++) {
      const c = field.col[i] - col;
      if (c >= side) break;
      values[(r - row) * side + c] = field.tenths[i];
    }
  }
  return { values, side };
}

/** Similarity of a block with every square of its size in the earlier patch, row by row of shifts from the north-west. */
function similarities(block: Patch, around: Patch, reach: number): Float64Array {
  const side = 2 * reach + 1;
  const own = block.values.reduce((sum, value) => sum + value * value, 0);
  const squares = sumTable(around);
  const pixels = Uint16Array.from([...block.values.keys()].filter((i) => block.values[i] > 0));
  const values = Float64Array.from(pixels, (i) => block.values[i]);
  const places = Uint16Array.from(pixels, (i) => Math.floor(i / block.side) * around.side + (i % block.side));
  const similarity = new Float64Array(side * side);
  for (let south = 0; south < side; south++)
    for (let east = 0; east < side; east++) {
      const first = south * around.side + east;
      let common = 0;
      for (let k = 0; k < places.length; k++) common += values[k] * around.values[first + places[k]];
      const other = boxSum(squares, around.side + 1, south, east, block.side);
      similarity[south * side + east] = (2 * common) / (own + other);
    }
  return similarity;
}

/** Summed-area table of the squares, with a leading row and column of zeros. */
function sumTable({ values, side }: Patch): Float64Array {
  const width = side + 1;
  const sums = new Float64Array(width * width);
  for (let r = 0; r < side; r++) {
    let row = 0;
    for (let c = 0; c < side; c++) {
      row += values[r * side + c] ** 2;
      sums[(r + 1) * width + c + 1] = sums[r * width + c + 1] + row;
    }
  }
  return sums;
}

function boxSum(sums: Float64Array, width: number, row: number, col: number, side: number): number {
  const at = (r: number, c: number) => sums[r * width + c];
  return at(row + side, col + side) - at(row, col + side) - at(row + side, col) + at(row, col);
}

/** Position of the vertex of the parabola through three neighbours, the middle one the highest: -0.5 .. 0.5. */
function vertex(left: number, middle: number, right: number): number {
  const curvature = left - 2 * middle + right;
  return curvature === 0 ? 0 : (left - right) / (2 * curvature);
}
