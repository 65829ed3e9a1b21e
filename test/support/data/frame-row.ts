import type { Frame } from '../../../schemas/tables/radar.ts';
import { scanId } from '../../../schemas/time.ts';

/** The row of a scan without hail over four blocks of 0.1 degree from 36 N, 98 W. */
export function frameRow(storm_date: string, scan_time: number, tile_path = 'scan.pmtiles'): Frame {
  const grid = { grid_west: -98, grid_south: 35.8, grid_east: -97.8, grid_north: 36 };
  const counts = { detections: 0, cells: 0, covered_px: 0, uncovered_px: 0, uncovered_blocks: null, tile_bytes: 1 };
  const words = { storms: '[]', products: 'MESH', simulated: true };
  return {
    storm_date,
    scan_time,
    scan_id: scanId(scan_time),
    max_size_mm: null,
    max_prob: null,
    ...counts,
    ...grid,
    ...words,
    tile_path,
  };
}
