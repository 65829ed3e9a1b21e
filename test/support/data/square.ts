import type { TrackCell } from '../../../pipeline/track/track-cell.ts';
import { colLon, pixelAreaKm2, rowLat } from '../../../schemas/geo/lattice.ts';

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
