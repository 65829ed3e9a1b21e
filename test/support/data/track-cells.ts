import type { CellShape } from '../../../pipeline/detect/cells.ts';
import type { HailField } from '../../../pipeline/grid.ts';
import type { TrackCell } from '../../../pipeline/track/track-cell.ts';
import { colLon, pixelAreaKm2, rowLat } from '../../../schemas/geo/lattice.ts';

/** The cells of a field as the tracker takes them. */
export function trackCells(field: HailField, cells: readonly CellShape[]): TrackCell[] {
  const rowOfPixel = new Uint16Array(field.col.length);
  for (let row = 0; row < field.window.rows; row++)
    rowOfPixel.fill(field.window.row0 + row, field.rowStart[row], field.rowStart[row + 1]);
  return cells.map((cell) => ({
    cell_index: cell.cell_index,
    lat: cell.lat,
    lon: cell.lon,
    centroid_lat: cell.centroid_lat,
    centroid_lon: cell.centroid_lon,
    area_km2: cell.area_km2,
    estimated_size_mm: cell.estimated_size_mm,
    rows: Uint16Array.from(cell.pixelIndex, (pixel) => rowOfPixel[pixel]),
    cols: Uint16Array.from(cell.pixelIndex, (pixel) => field.col[pixel]),
    tenths: Uint16Array.from(cell.pixelIndex, (pixel) => field.tenths[pixel]),
    motion_hint: null,
  }));
}

/** The pixels of a field from some value on, inside a window. */
export function cropField(field: HailField, window: HailField['window'], min_tenths: number): HailField {
  const rowStart = new Uint32Array(window.rows + 1);
  const kept: number[] = [];
  for (let row = 0; row < window.rows; row++) {
    const from = window.row0 + row - field.window.row0;
    if (from >= 0 && from < field.window.rows)
      for (let i = field.rowStart[from]; i < field.rowStart[from + 1]; i++) {
        const col = field.col[i] - window.col0;
        if (col >= 0 && col < window.cols && field.tenths[i] >= min_tenths) kept.push(i);
      }
    rowStart[row + 1] = kept.length;
  }
  return {
    ...field,
    window,
    rowStart,
    col: Uint16Array.from(kept, (i) => field.col[i]),
    tenths: Uint16Array.from(kept, (i) => field.tenths[i]),
  };
}
/** A cell of equal pixels, `high` rows by `wide` columns from a north-west corner. */
export function square(row0: number, col0: number, high = 6, wide = high): TrackCell {
  const pixels = Array.from(
    { length: high * wide },
    (_, i) => [row0 + Math.floor(i / wide), col0 + (i % wide)] as const,
  );
  const lat = (rowLat(row0) + rowLat(row0 + high - 1)) / 2;
  const lon = (colLon(col0) + colLon(col0 + wide - 1)) / 2;
  return {
    cell_index: 0,
    ...{ lat, lon, centroid_lat: lat, centroid_lon: lon },
    area_km2: pixels.reduce((sum, [row]) => sum + pixelAreaKm2(row), 0),
    estimated_size_mm: 30,
    rows: Uint16Array.from(pixels, ([row]) => row),
    cols: Uint16Array.from(pixels, ([, col]) => col),
    tenths: new Uint16Array(pixels.length).fill(300),
    motion_hint: null,
  };
}
