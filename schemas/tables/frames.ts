import { z } from 'zod';
import { table } from '../columns.ts';
import {
  bigCount,
  count,
  flag,
  instant,
  latitude,
  longitude,
  millimetres,
  probability,
  stormDateColumn,
  text,
} from '../units.ts';

/** One scan: a summary of its detections, and its published scan tiles. */
export const Frame = z.object({
  storm_date: stormDateColumn('Storm date of the scan.'),
  scan_time: instant('Observation time of the scan.'),
  scan_id: text('Compact scan time.'),
  max_size_mm: millimetres('Largest MESH of the scan; null without hail.').nullable(),
  max_prob: probability('Largest ml_probability of the scan; null without a storm cell.').nullable(),
  detections: count('Pixels >= 10 mm.'),
  cells: count('Storm cells.'),
  storms: text('JSON list of {lat, lon, mm, track_id, speed_kmh, direction_deg}: tracked cells, largest first.'),
  covered_px: bigCount('Pixels of the grid that some radar covers.'),
  uncovered_px: bigCount('Pixels without coverage.'),
  uncovered_blocks: count(
    'Blocks of 0.1 degree without coverage, which the rows of `uncovered` list; null where that is not known.',
  ).nullable(),
  grid_west: longitude('Western edge of the grid.'),
  grid_south: latitude('Southern edge of the grid.'),
  grid_east: longitude('Eastern edge of the grid.'),
  grid_north: latitude('Northern edge of the grid.'),
  products: text('Products that went into the scan, comma-separated.'),
  simulated: flag('True when the input comes from the simulator.'),
  tile_path: text('Archive of the frame, relative to the data root.'),
  tile_bytes: bigCount('Size of that archive.'),
});
export type Frame = z.infer<typeof Frame>;

export const frames = table({
  name: 'frames',
  row: Frame,
  schema_version: 2,
  older: { readable_from: 1, without: ['uncovered_blocks'] },
  order: 'scan_time',
});
