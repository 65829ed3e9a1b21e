import type { HailField } from '../grid.ts';
import type { CellShape } from './cells.ts';
import type { ObjectMatch } from './probsevere.ts';
import { latticeRows } from './rows.ts';

/** The cells of a scan as the tracker takes them: their pixels by lattice position, and the motion of their object. */
export function trackedCells(field: HailField, cells: readonly CellShape[], matches: readonly (ObjectMatch | null)[]) {
  return cells.map((cell, index) => ({
    cell_index: cell.cell_index,
    lat: cell.lat,
    lon: cell.lon,
    centroid_lat: cell.centroid_lat,
    centroid_lon: cell.centroid_lon,
    area_km2: cell.area_km2,
    estimated_size_mm: cell.estimated_size_mm,
    rows: latticeRows(field, cell.pixelIndex),
    cols: Uint16Array.from(cell.pixelIndex, (pixel) => field.col[pixel]),
    tenths: Uint16Array.from(cell.pixelIndex, (pixel) => field.tenths[pixel]),
    motion_hint: objectMotion(matches[index] ?? null),
  }));
}

/** Motion that ProbSevere gives for a cell; null where it does not say, or only repeats what it said before. */
function objectMotion(match: ObjectMatch | null) {
  if (match === null || match.object.flag_stale) return null;
  const { speed_kmh, direction_deg } = match.object;
  return speed_kmh === null || direction_deg === null ? null : { speed_kmh, direction_deg };
}
