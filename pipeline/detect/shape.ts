import { colLon, ROW_AREAS_KM2, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import type { HailField } from '../grid.ts';

/** Pixels from this share of the maximum on are the core of a cell, percent; its centroid is published. */
const CORE_SHARE_PCT = 70;
/** Height of a pixel of 0.01 degrees, and its width on the equator, km: mean degree of the meridian and degree of the equator, WGS84. */
const PIXEL_HEIGHT_KM = 1.1113;
const PIXEL_WIDTH_KM = 1.1132;

/** Area, position and ellipse of a group of pixels. */
interface Shape {
  readonly area_km2: number;
  /** Index into the field of the largest pixel, the first of equals. */
  readonly peakIndex: number;
  readonly max_tenths: number;
  /** 90th percentile in tenths, interpolated between ranks. */
  readonly p90_tenths: number;
  readonly centroid: Position;
  readonly core: Position;
  readonly major_axis_km: number;
  readonly minor_axis_km: number;
  /** Direction of the major axis, 0 = north, clockwise, 0 <= orientation < 180. */
  readonly orientation_deg: number;
  readonly row_min: number;
  readonly row_max: number;
  readonly col_min: number;
  readonly col_max: number;
}

/**
 * Shape of a group of pixels. `pixels`: at least one, ascending indices into the field; `rows`: their lattice rows.
 *
 * Centroids are weighted with the values of the field. The ellipse has the second moments of the pixels as rectangles of equal
 * weight; its axes are 4 sqrt(eigenvalue), so that a uniform ellipse gives its own axes.
 */
export function measureShape(field: HailField, pixels: Uint32Array, rows: Uint16Array): Shape {
  const n = pixels.length;
  const col0 = field.col[pixels[0]];
  const row0 = rows[0];
  let area_km2 = 0;
  let peakIndex = pixels[0];
  let weight = 0;
  let weightedRow = 0;
  let weightedCol = 0;
  let sumRow = 0;
  let sumCol = 0;
  let sumRowRow = 0;
  let sumColCol = 0;
  let sumRowCol = 0;
  let col_min = col0;
  let col_max = col0;
  for (let k = 0; k < n; k++) {
    const pixel = pixels[k];
    const column = field.col[pixel];
    const value = field.tenths[pixel];
    const r = rows[k] - row0;
    const c = column - col0;
    area_km2 += ROW_AREAS_KM2[rows[k]];
    if (value > field.tenths[peakIndex]) peakIndex = pixel;
    weight += value;
    weightedRow += value * r;
    weightedCol += value * c;
    sumRow += r;
    sumCol += c;
    sumRowRow += r * r;
    sumColCol += c * c;
    sumRowCol += r * c;
    if (column < col_min) col_min = column;
    if (column > col_max) col_max = column;
  }
  const centroid = position(row0 + weightedRow / weight, col0 + weightedCol / weight);
  const width_km = PIXEL_WIDTH_KM * Math.cos((centroid.lat * Math.PI) / 180);
  const variance = (square: number, sum: number) => square / n - (sum / n) ** 2 + 1 / 12;
  const max_tenths = field.tenths[peakIndex];
  return {
    area_km2,
    peakIndex,
    max_tenths,
    p90_tenths: quantile(values(field, pixels).sort(), 0.9),
    centroid,
    core: coreCentre(field, pixels, rows, max_tenths),
    ...ellipse(
      variance(sumColCol, sumCol) * width_km ** 2,
      variance(sumRowRow, sumRow) * PIXEL_HEIGHT_KM ** 2,
      -(sumRowCol / n - (sumRow / n) * (sumCol / n)) * width_km * PIXEL_HEIGHT_KM,
    ),
    row_min: row0,
    row_max: rows[n - 1],
    col_min,
    col_max,
  };
}

/** Axes and direction of the ellipse with these variances to the east and to the north, and this covariance, km2. */
function ellipse(east: number, north: number, both: number) {
  const mean = (east + north) / 2;
  const spread = Math.hypot((east - north) / 2, both);
  const mathematical_deg = (Math.atan2(2 * both, east - north) * 90) / Math.PI;
  return {
    major_axis_km: 4 * Math.sqrt(mean + spread),
    minor_axis_km: 4 * Math.sqrt(Math.max(0, mean - spread)),
    orientation_deg: (270 - mathematical_deg) % 180,
  };
}

function coreCentre(field: HailField, pixels: Uint32Array, rows: Uint16Array, max_tenths: number): Position {
  const row0 = rows[0];
  let weight = 0;
  let weightedRow = 0;
  let weightedCol = 0;
  for (let k = 0; k < pixels.length; k++) {
    const value = field.tenths[pixels[k]];
    if (value * 100 < CORE_SHARE_PCT * max_tenths) continue;
    weight += value;
    weightedRow += value * (rows[k] - row0);
    weightedCol += value * field.col[pixels[k]];
  }
  return position(row0 + weightedRow / weight, weightedCol / weight);
}

/** Latitude and longitude of a fractional lattice row and column, to a millionth of a degree (0.1 m). */
function position(row: number, col: number): Position {
  return { lat: Math.round(rowLat(row) * 1e6) / 1e6, lon: Math.round(colLon(col) * 1e6) / 1e6 };
}

function values(field: HailField, pixels: Uint32Array): Uint16Array {
  return Uint16Array.from(pixels, (pixel) => field.tenths[pixel]);
}

/** Quantile of sorted values, interpolated linearly between ranks. */
function quantile(sorted: Uint16Array, q: number): number {
  const rank = q * (sorted.length - 1);
  const low = sorted[Math.floor(rank)];
  const high = sorted[Math.ceil(rank)];
  return low + (high - low) * (rank % 1);
}

/** Lattice row of each pixel; `pixels` are ascending indices into the field. */
export function latticeRows(field: HailField, pixels: Uint32Array): Uint16Array {
  const rows = new Uint16Array(pixels.length);
  const { rowStart, window } = field;
  let row = pixels.length > 0 ? firstRow(rowStart, pixels[0]) : 0;
  for (let k = 0; k < pixels.length; k++) {
    while (rowStart[row + 1] <= pixels[k]) row++;
    rows[k] = window.row0 + row;
  }
  return rows;
}

/** Window row that holds a pixel. */
function firstRow(rowStart: Uint32Array, pixel: number): number {
  let low = 0;
  let high = rowStart.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (rowStart[middle] <= pixel) low = middle;
    else high = middle;
  }
  return low;
}
