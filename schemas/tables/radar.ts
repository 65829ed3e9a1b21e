import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { table } from '../columns.ts';
import type { Head } from '../head.ts';
import { DETECTION_MIN_MM } from '../size.ts';
import * as column from '../units.ts';

/** Companion products sampled at a pixel, or taken over a cell; null where the product is missing. */
export const companionFields = {
  posh_pct: column.percent('Probability of severe hail (>= 19 mm) of the POSH product.').nullable(),
  vil_kg_m2: column.plainNumber('Vertically integrated liquid.', 'kg/m2').nullable(),
  echo_top_18_km: column.kilometres('Height above sea level of the highest 18 dBZ echo.').nullable(),
  echo_top_50_km: column.kilometres('Height above sea level of the highest 50 dBZ echo.').nullable(),
  max_reflectivity_dbz: column.plainNumber('Quality-controlled composite reflectivity.', 'dBZ').nullable(),
  reflectivity_minus20c_dbz: column.plainNumber('Reflectivity at the height of -20 C.', 'dBZ').nullable(),
  azshear_0_2km_per_s: column.plainNumber('Azimuthal shear, 0 to 2 km above the ground.', '1/s').nullable(),
  lowest_reflectivity_dbz: column.plainNumber('Reflectivity at the lowest altitude a radar sees.', 'dBZ').nullable(),
};

/** One pixel whose MESH reached 10 mm in one scan. */
export const Detection = z.object({
  storm_date: column.stormDate('Storm date of the scan.'),
  scan_time: column.instant('Observation time of the scan.'),
  row: column.latticeIndex('Row of the lattice, 0 = northernmost.'),
  col: column.latticeIndex('Column of the lattice, 0 = westernmost.'),
  lat: column.latitude('Centre of the pixel.'),
  lon: column.longitude('Centre of the pixel.'),
  geohash5: column.text('Five-character geohash of the centre.'),
  estimated_size_mm: column.millimetres('MRMS MESH of the pixel as NOAA publishes it; above 150 mm stored as 150.'),
  ml_predicted_size_mm: column.millimetres(`Median size a ground report would give. ${ASSUMPTIONS.predicted_size}`),
  ml_probability: column.probability(
    'Probability of hail >= 25.4 mm with this storm within 60 minutes; by the small model outside any storm cell.',
  ),
  confidence: column.probability(`Confidence that hail of about this size fell here. ${ASSUMPTIONS.confidence}`),
  scan_count: column.count('Distinct scans with a detection in the same geohash5 in the 30 minutes up to this scan.'),
  cell_index: column.count('Index of the storm cell of this scan that holds the pixel; null outside any.').nullable(),
  track_id: column.text('Track of that cell.').nullable(),
  ...companionFields,
  flag_small: column.flag('Component of fewer than 4 pixels that stays below 15 mm.'),
  flag_single_scan: column.flag('No echo >= 5 mm within 3 pixels in the two previous scans, and below 19 mm.'),
  flag_extreme: column.flag('MESH above 110 mm: often a spike, a sun strobe or chaff.'),
});
export type Detection = z.infer<typeof Detection>;

export const detections = table({
  name: 'detections',
  row: Detection,
  schema_version: 3,
  order: 'scan_time, row, col',
});

/** One storm cell in one scan: a group of pixels >= 5 mm that reaches 15 mm over at least 4 km2. */
export const Cell = z.object({
  storm_date: column.stormDate('Storm date of the scan.'),
  scan_time: column.instant('Observation time of the scan.'),
  cell_index: column.count('Index of the cell within its scan.'),
  track_id: column.text('Track the cell belongs to.').nullable(),
  lat: column.latitude('MESH-weighted centroid of the pixels >= 0.7 of the maximum.'),
  lon: column.longitude('MESH-weighted centroid of the pixels >= 0.7 of the maximum.'),
  centroid_lat: column.latitude('MESH-weighted centroid of all pixels.'),
  centroid_lon: column.longitude('MESH-weighted centroid of all pixels.'),
  geohash5: column.text('Five-character geohash of lat, lon.'),
  pixels: column.count('Pixels of the cell.'),
  area_km2: column.squareKilometres('Sum of the exact pixel areas.'),
  estimated_size_mm: column.millimetres('Largest MESH of the cell; above 150 mm stored as 150.'),
  p90_mm: column.millimetres('90th percentile of MESH over the cell.'),
  major_axis_km: column.kilometres('Major axis of the ellipse with the same second moments, 4 sqrt(eigenvalue).'),
  minor_axis_km: column.kilometres('Minor axis of that ellipse.'),
  orientation_deg: column.degrees('Direction of the major axis, 0 = north, clockwise, 0..180.'),
  ml_predicted_size_mm: column.millimetres(`Median size a ground report would give. ${ASSUMPTIONS.predicted_size}`),
  ml_probability: column.probability('Probability of hail >= 25.4 mm with this storm within 60 minutes.'),
  model_version: column.text('Where ml_probability comes from.'),
  probsevere_id: column.text('ProbSevere object the cell lies in.').nullable(),
  confidence: column.probability(`Confidence at the largest pixel. ${ASSUMPTIONS.confidence}`),
  ...companionFields,
  row_min: column.latticeIndex('Northernmost row.'),
  row_max: column.latticeIndex('Southernmost row.'),
  col_min: column.latticeIndex('Westernmost column.'),
  col_max: column.latticeIndex('Easternmost column.'),
  flag_extreme: column.flag('MESH above 110 mm somewhere in the cell.'),
  flag_out_of_range: column.flag(
    'A predictor of the small model lay outside what it was fitted on and was held at its bound.',
  ),
  flag_object_only: column.flag('Cell made of a ProbSevere object because the MESH grid is missing.'),
});
export type Cell = z.infer<typeof Cell>;

export const cells = table({
  name: 'cells',
  row: Cell,
  schema_version: 3,
  order: 'scan_time, cell_index',
});

/** One storm object of a NOAA/CIMSS ProbSevere file, as ingested with a scan. */
export const ProbSevereObject = z.object({
  storm_date: column.stormDate('Storm date of the scan the file was used for.'),
  scan_time: column.instant('Scan the file was used for.'),
  valid_time: column.instant('validTime of the file.'),
  probsevere_id: column.text('Object number; restarts in the long run, so never a track id.'),
  lat: column.latitude('Centroid of the polygon.'),
  lon: column.longitude('Centroid of the polygon.'),
  prob_hail: column.probability('Probability of hail >= 25.4 mm within 60 minutes.'),
  prob_wind: column.probability('Probability of severe wind.').nullable(),
  prob_tornado: column.probability('Probability of a tornado.').nullable(),
  mesh_mm: column.millimetres('Largest MESH of the object, from inches.').nullable(),
  vil_density_g_m3: column.plainNumber('VIL density.', 'g/m3').nullable(),
  mucape_j_kg: column.plainNumber('Most unstable CAPE.', 'J/kg').nullable(),
  effective_shear_kt: column.plainNumber('Effective bulk shear.', 'kt').nullable(),
  melting_level_km: column.kilometres('Wet-bulb zero height above the ground.').nullable(),
  flash_rate_per_min: column.plainNumber('Lightning flashes per minute.', '1/min').nullable(),
  size_px: column.count('Pixels of the object.').nullable(),
  speed_kmh: column.kilometresPerHour('Speed of motion; null when missing or above 40 m/s.').nullable(),
  direction_deg: column.degrees('Direction towards which it moves.').nullable(),
  flag_distrusted: column.flag('The model flags its own MESH.'),
  flag_stale: column.flag('Polygon and MESH repeat those of the previous file.'),
  model: column.text('probsevere-2 or probsevere-3.'),
  geometry: column.geometry('Polygon, RFC 7946 winding.'),
});
export type ProbSevereObject = z.infer<typeof ProbSevereObject>;

export const probsevere = table({
  name: 'probsevere',
  row: ProbSevereObject,
  schema_version: 1,
  order: 'scan_time, probsevere_id',
});

export const TREND_WORDS = [
  'rapidly_weakening',
  'weakening',
  'steady',
  'intensifying',
  'rapidly_intensifying',
] as const;
export type Trend = (typeof TREND_WORDS)[number];

/**
 * States of a track in a scan: its cell was found, it coasts without a cell, it merged into another, or it ended.
 * Rows of every state are published; positions of `coasted` rows are predictions.
 */
export const TRACK_STATES = ['tracked', 'coasted', 'merged', 'ended'] as const;
export type TrackState = (typeof TRACK_STATES)[number];

/** Sources of the published motion. */
export const MOTION_SOURCES = ['track', 'neighbours', 'probsevere', 'grid_shift', 'none'] as const;
export type MotionSource = (typeof MOTION_SOURCES)[number];

/** One track in one scan. A track counts as published from its second `tracked` row on. */
export const TrackPoint = z.object({
  storm_date: column.stormDate('Storm date of the scan.'),
  scan_time: column.instant('Observation time of the scan.'),
  track_id: column.text('Stable identifier of the track.'),
  state: z.enum(TRACK_STATES).meta({ description: 'What this scan did to the track.', column: 'VARCHAR' }),
  cell_index: column.count('Cell of this scan; null unless tracked.').nullable(),
  lat: column.latitude('Position of the cell; predicted unless tracked.'),
  lon: column.longitude('Position of the cell; predicted unless tracked.'),
  speed_kmh: column.kilometresPerHour('Speed of motion; null while unknown.').nullable(),
  direction_deg: column
    .degrees('Direction towards which it moves, 0 = north, clockwise; null while unknown.')
    .nullable(),
  motion_source: z.enum(MOTION_SOURCES).meta({ description: 'Where the motion comes from.', column: 'VARCHAR' }),
  estimated_size_mm: column.millimetres('Largest MESH of the cell in this scan; the last one seen unless tracked.'),
  ml_probability: column.probability('Probability of hail >= 25.4 mm with this storm within 60 minutes.'),
  confidence: column.probability(`Confidence at the largest pixel of the cell. ${ASSUMPTIONS.confidence}`),
  trend: z.enum(TREND_WORDS).meta({ description: 'Trend word of the maximum size.', column: 'VARCHAR' }),
  size_growth_rate_mm_per_min: column
    .plainNumber('Theil-Sen slope of the maximum size over ten minutes; null before four scans.', 'mm/min')
    .nullable(),
  area_km2: column.squareKilometres('Area of the cell in this scan.'),
  scan_count: column.count('Scans in which the track had a cell so far, this one included.'),
  first_detected: column.instant('First scan of the track.'),
  duration_min: column.minutes('Last scan with a cell minus first scan.'),
  peak_estimated_size_mm: column.millimetres('Largest size so far.'),
  peak_ml_probability: column.probability('Largest ml_probability so far.'),
  peak_area_km2: column.squareKilometres('Largest cell area so far.'),
  parent_track_id: column.text('Track this one split from.').nullable(),
  merged_into: column.text('Track this one merged into; set on the row with state merged.').nullable(),
});
export type TrackPoint = z.infer<typeof TrackPoint>;

export const tracks = table({ name: 'tracks', row: TrackPoint, schema_version: 1, order: 'scan_time, track_id' });

/**
 * Largest MESH of one pixel over a stretch of scans of one storm date (a scan, an hour, the day): pixels >= 5 mm. A pixel has
 * a second row, with `interpolated`, where interpolation between two scans gave more than any scan.
 * Files of a stretch add up: maximum of max_mm (earliest time wins a tie), minimum and maximum of the times, sum of the counts.
 */
export const DayMax = z.object({
  storm_date: column.stormDate('Storm date.'),
  row: column.latticeIndex('Row of the lattice, 0 = northernmost.'),
  col: column.latticeIndex('Column of the lattice, 0 = westernmost.'),
  lat: column.latitude('Centre of the pixel.'),
  lon: column.longitude('Centre of the pixel.'),
  geohash5: column.text('Five-character geohash of the centre.'),
  max_mm: column.millimetres('Largest MESH; above 150 mm stored as 150.'),
  max_time: column.instant('Scan of the largest MESH, the earliest of equals.'),
  interpolated: column.flag(
    'What storms passed over between two scans more than 4 minutes apart, where that is more than any scan saw; for swaths only.',
  ),
  first_detected: column.instant('First scan >= 10 mm.').nullable(),
  last_detected: column.instant('Last scan >= 10 mm.').nullable(),
  detection_scans: column.count('Scans >= 10 mm.'),
  severe_scans: column.count('Scans >= 19 mm.'),
  confidence: column
    .probability(`Confidence of the largest detection; null below 10 mm. ${ASSUMPTIONS.confidence}`)
    .nullable(),
  ...companionFields,
  place_first_detected: column
    .instant('First scan with a detection in the geohash5 of the pixel; set when the day is closed.')
    .nullable(),
  place_last_detected: column.instant('Last scan with one; set when the day is closed.').nullable(),
  place_scans: column.count('Scans with one; set when the day is closed.').nullable(),
  place_duration_min: column
    .minutes('Duration of those scans, gaps capped at 4 minutes; set when the day is closed.')
    .nullable(),
});
export type DayMax = z.infer<typeof DayMax>;

export const dayMax = table({
  name: 'day-max',
  row: DayMax,
  schema_version: 4,
  // Most queries read detections: smaller values come last, in row groups that such queries skip. The date comes last in the
  // order, for month files, where a pixel has rows of several dates.
  order: `max_mm < ${DETECTION_MIN_MM}, row // 50, col // 50, row, col, interpolated, storm_date`,
});

/**
 * True for a month whose files stand for those of its dates: the day maxima of no date changed after they were joined. `dateOf`
 * gives the head of a storm date, undefined where nothing is published.
 */
export function isMonthCurrent(
  { dates }: Pick<Head, 'dates'>,
  dateOf: (date: string) => Pick<Head, 'table_commits'> | undefined,
): boolean {
  return Object.entries(dates ?? {}).every(
    ([date, joined]) => (dateOf(date)?.table_commits[dayMax.name] ?? 0) <= joined,
  );
}

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
  order: 'scan_time',
});

/** Side of the blocks in which coverage is published, lattice pixels: 0.1 degree, about 10 km. */
export const COVERAGE_BLOCK_PX = 10;

/** Neighbouring blocks that no radar covered over consecutive scans: one rectangle, one stretch of time. */
export const Uncovered = z.object({
  storm_date: column.stormDate('Storm date of the scans.'),
  row_first: column.latticeIndex('Northernmost lattice row of the blocks.'),
  row_last: column.latticeIndex('Southernmost lattice row of the blocks.'),
  col_first: column.latticeIndex('Westernmost lattice column of the blocks.'),
  col_last: column.latticeIndex('Easternmost lattice column of the blocks.'),
  first_scan: column.instant('Observation time of the first scan without coverage there.'),
  last_scan: column.instant('Observation time of the last of them.'),
  scans: column.count('Scans from the first to the last, both included: all that are published in between.'),
});
export type Uncovered = z.infer<typeof Uncovered>;

export const uncovered = table({
  name: 'uncovered',
  row: Uncovered,
  schema_version: 2,
  order: 'row_first, col_first, col_last, row_last, first_scan',
});
