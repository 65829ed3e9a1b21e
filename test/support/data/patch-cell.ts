import type { TrackCell } from '../../../pipeline/track/track-cell.ts';
import { colLon, pixelAreaKm2, rowLat } from '../../../schemas/geo/lattice.ts';
import type { Patch } from './parting.ts';

/** A cell as a patch around the middle of its pixels. */
export function texture({ rows, cols, tenths }: TrackCell): Patch {
  const middle = (values: Uint16Array) => Math.round(values.reduce((sum, value) => sum + value, 0) / values.length);
  const [row0, col0] = [middle(rows), middle(cols)];
  return Array.from(tenths, (value, i) => ({ south: rows[i] - row0, east: cols[i] - col0, tenths: value }));
}

/** A patch as the only cell of a scan, its middle at a pixel. */
export function patchCell(patch: Patch, row: number, col: number): TrackCell {
  const pixels = patch
    .map(({ south, east, tenths }) => ({ row: row + south, col: col + east, tenths }))
    .sort((a, b) => a.row - b.row || a.col - b.col);
  const weight = pixels.reduce((sum, pixel) => sum + pixel.tenths, 0);
  const lat = pixels.reduce((sum, pixel) => sum + pixel.tenths * rowLat(pixel.row), 0) / weight;
  const lon = pixels.reduce((sum, pixel) => sum + pixel.tenths * colLon(pixel.col), 0) / weight;
  return {
    cell_index: 0,
    ...{ lat, lon, centroid_lat: lat, centroid_lon: lon },
    area_km2: pixels.reduce((sum, pixel) => sum + pixelAreaKm2(pixel.row), 0),
    estimated_size_mm: Math.max(...pixels.map(({ tenths }) => tenths)) / 10,
    rows: Uint16Array.from(pixels, (pixel) => pixel.row),
    cols: Uint16Array.from(pixels, (pixel) => pixel.col),
    tenths: Uint16Array.from(pixels, ({ tenths }) => tenths),
    motion_hint: null,
  };
}
