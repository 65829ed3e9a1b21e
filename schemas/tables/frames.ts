import { z } from 'zod';
import { table } from '../columns.ts';
import * as column from '../units.ts';

/** One scan: a summary of its detections, and its published scan tiles. */
export const Frame = z.object({
  storm_date: column.stormDate('Storm date of the scan.'),
  scan_time: column.instant('Observation time of the scan.'),
  scan_id: column.text('Compact scan time.'),
  max_size_mm: column.millimetres('Largest MESH of the scan; null without hail.').nullable(),
  max_prob: column.probability('Largest ml_probability of the scan; null without a storm cell.').nullable(),
  detections: column.count('Pixels >= 10 mm.'),
  cells: column.count('Storm cells.'),
  storms: column.text('JSON list of {lat, lon, mm, track_id, speed_kmh, direction_deg}: tracked cells, largest first.'),
  covered_px: column.bigCount('Pixels of the grid that some radar covers.'),
  uncovered_px: column.bigCount('Pixels without coverage.'),
  uncovered_blocks: column
    .count('Blocks of 0.1 degree without coverage, which the rows of `uncovered` list; null where that is not known.')
    .nullable(),
  grid_west: column.longitude('Western edge of the grid.'),
  grid_south: column.latitude('Southern edge of the grid.'),
  grid_east: column.longitude('Eastern edge of the grid.'),
  grid_north: column.latitude('Northern edge of the grid.'),
  products: column.text('Products that went into the scan, comma-separated.'),
  simulated: column.flag('True when the input comes from the simulator.'),
  tile_path: column.text('Archive of the frame, relative to the data root.'),
  tile_bytes: column.bigCount('Size of that archive.'),
});
export type Frame = z.infer<typeof Frame>;

export const frames = table({
  name: 'frames',
  row: Frame,
  schema_version: 2,
  older: { readable_from: 1, without: ['uncovered_blocks'] },
  order: 'scan_time',
});
