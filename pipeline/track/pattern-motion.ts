import { colLon, LATTICE, rowLat } from '../../schemas/geo/lattice.ts';
import { eachPixel, type HailField, lowerBound } from '../grid.ts';
import { type Heading, headingOf, kmPerDegree, type Mover, medianVelocity, type Vector } from './motion.ts';

/** Side of the blocks that are matched independently, pixels of 0.01 degrees. */
const BLOCK_PX = 100;
/** Width of a pixel at 50 N, the northernmost that are served, rounded down, km. */
const NARROWEST_PIXEL_KM = 0.7;
/** Fewest pixels of a block that counts, and the least similarity of its best shift. */
const BLOCK_PIXELS_MIN = 30;
const SIMILARITY_MIN = 0.5;
/** Largest speed of storms, km/min (144 km/h): limits the shifts that are tried. */
const SPEED_MAX_KM_MIN = 2.4;
/** Longest interval between two fields: beyond it their patterns differ too much. */
const INTERVAL_MAX_MIN = 10;

/** A square window of a field as a dense array. */
interface Patch {
  readonly values: Float64Array;
  readonly side: number;
}

/** Motion of the pattern of a whole field between two scans, the median over its blocks; null when no block qualifies. */
export function patternMotion(before: HailField, after: HailField, minutes: number): Heading | null {
  const velocity = medianVelocity(blockMotions(before, after, minutes).map((block) => block.velocity));
  return velocity && headingOf(velocity);
}

/**
 * Motion of each block of a field between two scans, at the centre of the block, km/min; none when the scans lie too far apart.
 *
 * Block matching: each block of 100 x 100 pixels is shifted against the earlier field. Its best shift has the largest
 * 2 sum(ab) / (sum(aa) + sum(bb)), refined to sub-pixels by a parabola.
 */
function blockMotions(before: HailField, after: HailField, minutes: number): Mover[] {
  if (minutes <= 0 || minutes > INTERVAL_MAX_MIN) return [];
  const reach = Math.ceil((SPEED_MAX_KM_MIN * minutes) / NARROWEST_PIXEL_KM);
  return busyBlocks(after).flatMap(({ row, col }) => {
    const velocity = blockVelocity(before, after, { row, col }, reach, minutes);
    return velocity ? [{ lat: rowLat(row + BLOCK_PX / 2), lon: colLon(col + BLOCK_PX / 2), velocity }] : [];
  });
}

/** North-west corners of the blocks with enough pixels, from north, then from west. */
function busyBlocks(field: HailField): { readonly row: number; readonly col: number }[] {
  const { window } = field;
  const across = Math.ceil(window.cols / BLOCK_PX);
  const pixels = new Uint32Array(across * Math.ceil(window.rows / BLOCK_PX));
  eachPixel(field, (row, i) => {
    const block =
      Math.floor((row - window.row0) / BLOCK_PX) * across + Math.floor((field.col[i] - window.col0) / BLOCK_PX);
    pixels[block] = pixels[block] + 1;
  });
  return [...pixels.keys()]
    .filter((block) => pixels[block] >= BLOCK_PIXELS_MIN)
    .map((block) => ({
      row: window.row0 + Math.floor(block / across) * BLOCK_PX,
      col: window.col0 + (block % across) * BLOCK_PX,
    }));
}

function blockVelocity(
  before: HailField,
  after: HailField,
  { row, col }: { readonly row: number; readonly col: number },
  reach: number,
  minutes: number,
): Vector | null {
  const block = patch(after, row, col, BLOCK_PX);
  const pixels = [...block.values.keys()].filter((i) => block.values[i] > 0);
  const around = patch(before, row - reach, col - reach, BLOCK_PX + 2 * reach);
  const similarity = similarities(block, pixels, around, reach);
  const side = 2 * reach + 1;
  const best = similarity.indexOf(Math.max(...similarity));
  const south = Math.floor(best / side);
  const east = best % side;
  const onEdge = south === 0 || east === 0 || south === side - 1 || east === side - 1;
  if (similarity[best] < SIMILARITY_MIN || onEdge) return null;
  const at = (i: number) => similarity[i];
  // The block came from `reach - index` pixels further south and east: its own motion is the opposite.
  const pixelsSouth = reach - (south + vertex(at(best - side), at(best), at(best + side)));
  const pixelsEast = reach - (east + vertex(at(best - 1), at(best), at(best + 1)));
  const km = kmPerDegree(rowLat(row + BLOCK_PX / 2));
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
function similarities(block: Patch, pixels: readonly number[], around: Patch, reach: number): Float64Array {
  const side = 2 * reach + 1;
  const own = block.values.reduce((sum, value) => sum + value * value, 0);
  const squares = sumTable(around);
  const similarity = new Float64Array(side * side);
  for (let south = 0; south < side; south++)
    for (let east = 0; east < side; east++) {
      let common = 0;
      for (const i of pixels) {
        const r = Math.floor(i / block.side);
        common += block.values[i] * around.values[(r + south) * around.side + (i % block.side) + east];
      }
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
