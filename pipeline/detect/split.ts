import { distanceKm } from '../../schemas/geo/distance.ts';
import { colLon, ROW_AREAS_KM2, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { rootOf } from '../../schemas/geo/union-find.ts';
import { CELL_PEAK_MIN_MM } from '../../schemas/size.ts';
import { type HailField, lowerBound } from '../grid.ts';
import { latticeRows } from './shape.ts';

/** Two cells stay apart when the lower smoothed peak is this far above the saddle, in mm … */
const DEPTH_MIN_MM = 6;
/** … and this share of the peak, … */
const DEPTH_MIN_SHARE = 0.25;
/** … when its basin has this area at the saddle, km2, … */
const BASIN_MIN_KM2 = 6;
/** … and when the two peaks are this far apart, km: neighbouring maxima of one core shift by a pixel or two between scans. */
const PEAK_DISTANCE_MIN_KM = 5;

/** Sums of nine pixels of tenths of a millimetre stand for the 3 x 3 mean: integers compare exactly. */
const SUM_PER_MM = 90;
const DEPTH_MIN_SUM = DEPTH_MIN_MM * SUM_PER_MM;

/** One component. A place is an index into its arrays. */
interface Patch {
  readonly field: HailField;
  /** Pixels of the field, ascending. */
  readonly pixels: Uint32Array;
  /** Lattice row of each pixel. */
  readonly rows: Uint16Array;
}

/**
 * Sum of the 3 x 3 neighbourhood of each pixel, tenths of a millimetre.
 * Neighbours below the cell threshold count with their value, dry and uncovered ones with 0.
 */
function neighbourhoodSums({ field, pixels, rows }: Patch): Uint32Array {
  const sums = new Uint32Array(pixels.length);
  for (let dRow = -1; dRow <= 1; dRow++) {
    let row = -1;
    let at = 0;
    let stop = 0;
    for (let k = 0; k < pixels.length; k++) {
      const west = field.col[pixels[k]] - 1;
      if (rows[k] !== row) {
        row = rows[k];
        const r = row + dRow - field.window.row0;
        const inside = r >= 0 && r < field.window.rows;
        at = inside ? lowerBound(field, row + dRow, west) : 0;
        stop = inside ? field.rowStart[r + 1] : 0;
      }
      while (at < stop && field.col[at] < west) at++;
      let sum = sums[k];
      for (let i = at; i < stop && field.col[i] <= west + 2; i++) sum += field.tenths[i];
      sums[k] = sum;
    }
  }
  return sums;
}

/** Places in the patch of the 8 neighbours of each pixel, eight per pixel; -1 where the component has none. */
function neighbourPlaces({ field, pixels, rows }: Patch): Int32Array {
  const places = new Int32Array(pixels.length * 8).fill(-1);
  let above = 0;
  for (let k = 0; k < pixels.length; k++) {
    const row = rows[k];
    const col = field.col[pixels[k]];
    if (k > 0 && rows[k - 1] === row && field.col[pixels[k - 1]] === col - 1) {
      places[k * 8 + 3] = k - 1;
      places[(k - 1) * 8 + 4] = k;
    }
    while (above < k && (rows[above] < row - 1 || (rows[above] === row - 1 && field.col[pixels[above]] < col - 1)))
      above++;
    for (let m = above; m < k && rows[m] === row - 1; m++) {
      const offset = field.col[pixels[m]] - col;
      if (offset > 1) break;
      places[k * 8 + 1 + offset] = m;
      places[m * 8 + 6 - offset] = k;
    }
  }
  return places;
}

/** Places of the patch by falling value, ties by lowest place. */
function floodOrder(values: Uint32Array): Uint32Array {
  const keys = new Float64Array(values.length);
  for (let k = 0; k < values.length; k++) keys[k] = k - values[k] * 2 ** 32;
  keys.sort();
  const order = new Uint32Array(values.length);
  for (let n = 0; n < order.length; n++) {
    const key = keys[n];
    order[n] = key - Math.floor(key / 2 ** 32) * 2 ** 32;
  }
  return order;
}

/** Basins that grow downwards from the peaks, numbered in the order of their peaks, highest first. */
interface Basins {
  readonly patch: Patch;
  /** Smoothed values of the patch. */
  readonly values: Uint32Array;
  readonly parent: number[];
  /** Place of each peak. */
  readonly peak: number[];
  readonly area_km2: number[];
  /** Largest value of the field itself, tenths. */
  readonly max_tenths: number[];
  /** Cache by pair of peaks: true when they are far enough apart. */
  readonly distant: Map<number, boolean>;
}

function openBasin(basins: Basins, place: number): number {
  basins.peak.push(place);
  basins.area_km2.push(0);
  basins.max_tenths.push(0);
  return basins.parent.push(basins.parent.length) - 1;
}

function growBasin(basins: Basins, basin: number, area_km2: number, max_tenths: number): void {
  basins.area_km2[basin] = basins.area_km2[basin] + area_km2;
  basins.max_tenths[basin] = Math.max(basins.max_tenths[basin], max_tenths);
}

/** Merges two basins; returns the one with the higher peak. */
function joinBasins(basins: Basins, a: number, b: number): number {
  const high = Math.min(a, b);
  const low = Math.max(a, b);
  basins.parent[low] = high;
  growBasin(basins, high, basins.area_km2[low], basins.max_tenths[low]);
  return high;
}

/** True when two basins that meet at `saddle` are two cells. Once true for a pair it stays true. */
function apart(basins: Basins, a: number, b: number, saddle: number): boolean {
  const low = Math.max(a, b);
  const peak = basins.values[basins.peak[low]];
  const depth = peak - saddle;
  return (
    depth >= DEPTH_MIN_SUM &&
    depth >= DEPTH_MIN_SHARE * peak &&
    basins.area_km2[low] >= BASIN_MIN_KM2 &&
    basins.max_tenths[a] >= CELL_PEAK_MIN_MM * 10 &&
    basins.max_tenths[b] >= CELL_PEAK_MIN_MM * 10 &&
    peaksDistant(basins, Math.min(a, b), low)
  );
}

function peaksDistant(basins: Basins, a: number, b: number): boolean {
  const pair = a * basins.values.length + b;
  const known = basins.distant.get(pair);
  if (known !== undefined) return known;
  const distant = distanceKm(peakPosition(basins, a), peakPosition(basins, b)) >= PEAK_DISTANCE_MIN_KM;
  basins.distant.set(pair, distant);
  return distant;
}

function peakPosition({ peak, patch: { field, pixels, rows } }: Basins, basin: number): Position {
  const place = peak[basin];
  return { lat: rowLat(rows[place]), lon: colLon(field.col[pixels[place]]) };
}

/** Basin of every place after flooding from the highest value down. */
function flood(patch: Patch, values: Uint32Array): Int32Array {
  const areas_km2 = ROW_AREAS_KM2;
  const neighbours = neighbourPlaces(patch);
  const basins: Basins = {
    patch,
    values,
    parent: [],
    peak: [],
    area_km2: [],
    max_tenths: [],
    distant: new Map(),
  };
  const basinOf = new Int32Array(values.length).fill(-1);
  for (const place of floodOrder(values)) {
    const met: number[] = [];
    let highest = -1;
    for (let n = place * 8; n < place * 8 + 8; n++) {
      const other = neighbours[n];
      if (other < 0 || basinOf[other] < 0) continue;
      met.push(basinOf[other]);
      if (highest < 0 || values[other] > values[highest]) highest = other;
    }
    // The pixel joins the basin of its highest neighbour; at this pixel that basin meets the other basins.
    let home = highest < 0 ? openBasin(basins, place) : rootOf(basins.parent, basinOf[highest]);
    for (let joined = true; joined; ) {
      joined = false;
      for (const basin of met) {
        const other = rootOf(basins.parent, basin);
        if (other === home || apart(basins, home, other, values[place])) continue;
        home = joinBasins(basins, home, other);
        joined = true;
      }
    }
    basinOf[place] = home;
    growBasin(basins, home, areas_km2[patch.rows[place]], patch.field.tenths[patch.pixels[place]]);
  }
  return basinOf.map((basin) => rootOf(basins.parent, basin));
}

/**
 * Storm cells of one component, split where the saddle between two peaks is deep enough.
 *
 * `pixels`: the component, ascending indices into the field.
 * Returns the pixels of each cell, ascending, cells ordered by first pixel. Every cell is connected and reaches the peak of a
 * storm cell; a basin that does not reach it stays part of its neighbour.
 * Source: watershed by flooding with topological prominence; order, peaks and saddles use the 3 x 3 mean of the field,
 * because single pixels are noisy.
 */
export function splitComponent(field: HailField, pixels: Uint32Array): Uint32Array[] {
  const patch = { field, pixels, rows: latticeRows(field, pixels) };
  const basinOf = flood(patch, neighbourhoodSums(patch));
  const cells = new Map<number, number[]>();
  for (let k = 0; k < pixels.length; k++) {
    const basin = basinOf[k];
    const cell = cells.get(basin);
    if (cell) cell.push(pixels[k]);
    else cells.set(basin, [pixels[k]]);
  }
  return [...cells.values()].map((cell) => Uint32Array.from(cell));
}
