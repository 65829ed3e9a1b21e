import { LATTICE, windowBbox } from '../../schemas/geo/lattice.ts';
import { SIZE_CAP_MM } from '../../schemas/size.ts';
import type { Cell, Detection, TrackPoint } from '../../schemas/tables/radar.ts';
import { scanId } from '../../schemas/time.ts';
import type { ScanInput } from '../grid.ts';
import type { FrameShape, UncoveredPatch } from '../publish/segment.ts';

/** Summary of a scan in one row: coverage, counts, and storms, largest first. */
export function frameRow(
  input: ScanInput,
  storm_date: string,
  rows: {
    readonly detections: readonly Detection[];
    readonly cells: readonly Cell[];
    readonly tracks: readonly TrackPoint[];
  },
): FrameShape {
  const { mesh } = input;
  const [grid_west, grid_south, grid_east, grid_north] = windowBbox(mesh.window);
  const largest = mesh.tenths.reduce((max, tenths) => Math.max(max, tenths), 0);
  return {
    storm_date,
    scan_time: input.scan_time,
    scan_id: scanId(input.scan_time),
    max_size_mm: largest === 0 ? null : Math.min(SIZE_CAP_MM, largest / 10),
    max_prob: rows.cells.length === 0 ? null : Math.max(...rows.cells.map((cell) => cell.ml_probability)),
    detections: rows.detections.length,
    cells: rows.cells.length,
    storms: JSON.stringify(storms(rows.tracks)),
    covered_px: mesh.covered_px,
    uncovered_px: mesh.uncovered_px,
    uncovered_blocks: input.uncovered?.runs.reduce((sum, [, start, end]) => sum + end - start, 0) ?? null,
    grid_west,
    grid_south,
    grid_east,
    grid_north,
    products: input.products.join(','),
    simulated: input.simulated,
  };
}

/** Tracks with a cell in this scan and an earlier one, largest first. */
function storms(tracks: readonly TrackPoint[]) {
  return tracks
    .filter((point) => point.state === 'tracked' && point.scan_count > 1)
    .sort((a, b) => b.estimated_size_mm - a.estimated_size_mm || (a.track_id < b.track_id ? -1 : 1))
    .map(({ lat, lon, estimated_size_mm: mm, track_id, speed_kmh, direction_deg }) => ({
      lat: round(lat, 5),
      lon: round(lon, 5),
      mm,
      track_id,
      speed_kmh: speed_kmh === null ? null : round(speed_kmh, 1),
      direction_deg: direction_deg === null ? null : round(direction_deg, 0),
    }));
}

function round(value: number, decimals: number): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals;
}

/** Blocks of the grid of a scan without radar coverage; null when unknown. */
export function uncoveredPatches({ mesh: { window }, uncovered }: ScanInput): UncoveredPatch[] | null {
  if (uncovered === null) return null;
  const block_px = Math.round(uncovered.step_deg / LATTICE.step);
  const [last_row, last_col] = [window.row0 + window.rows - 1, window.col0 + window.cols - 1];
  return uncovered.runs.map(([row, start, end]) => ({
    row_first: window.row0 + row * block_px,
    // The last block of a grid may be partial.
    row_last: Math.min(last_row, window.row0 + (row + 1) * block_px - 1),
    col_first: window.col0 + start * block_px,
    col_last: Math.min(last_col, window.col0 + end * block_px - 1),
  }));
}
