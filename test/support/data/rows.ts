import type { Cell, DayMax, Frame, TrackPoint } from '../../../schemas/tables/radar.ts';
import { scanId } from '../../../schemas/time.ts';

/** Start of the storm date that rows made by tests belong to. */
export const DAY = '2026-05-01';
export const DAY_MS = Date.parse(`${DAY}T00:00:00Z`);

/** The values that rows have under one name. */
export function pluck<Row, Name extends keyof Row>(rows: readonly Row[], name: Name): Row[Name][] {
  return rows.map((row) => row[name]);
}

/** Values of the products that come with MESH, where none came. */
export const NO_COMPANIONS = {
  posh_pct: null,
  vil_kg_m2: null,
  echo_top_18_km: null,
  echo_top_50_km: null,
  max_reflectivity_dbz: null,
  reflectivity_minus20c_dbz: null,
  azshear_0_2km_per_s: null,
  lowest_reflectivity_dbz: null,
};

/** A row of the day maximum that nothing but the given fields tells apart. */
export function dayMaxRow(fields: Partial<DayMax>): DayMax {
  return {
    storm_date: DAY,
    row: 1500,
    col: 3000,
    lat: 39.995,
    lon: -99.995,
    geohash5: '9z0gs',
    max_mm: 12,
    max_time: DAY_MS,
    interpolated: false,
    first_detected: DAY_MS,
    last_detected: DAY_MS,
    detection_scans: 1,
    severe_scans: 0,
    confidence: 0.5,
    ...NO_COMPANIONS,
    place_first_detected: null,
    place_last_detected: null,
    place_scans: null,
    place_duration_min: null,
    ...fields,
  };
}

/** A point of a track that nothing but the given fields tells apart. */
export function trackPoint(fields: Partial<TrackPoint>): TrackPoint {
  return {
    storm_date: DAY,
    scan_time: DAY_MS,
    track_id: '20260501-a',
    state: 'tracked',
    cell_index: 0,
    lat: 39.995,
    lon: -99.995,
    speed_kmh: 60,
    direction_deg: 90,
    motion_source: 'track',
    estimated_size_mm: 30,
    ml_probability: 0.4,
    confidence: 0.7,
    trend: 'steady',
    size_growth_rate_mm_per_min: null,
    area_km2: 40,
    scan_count: 2,
    first_detected: DAY_MS,
    duration_min: 2,
    peak_estimated_size_mm: 30,
    peak_ml_probability: 0.4,
    peak_area_km2: 40,
    parent_track_id: null,
    merged_into: null,
    ...fields,
  };
}

/** A storm cell that nothing but the given fields tells apart. */
export function cell(fields: Partial<Cell>): Cell {
  return {
    storm_date: DAY,
    scan_time: DAY_MS,
    cell_index: 0,
    track_id: '20260501-a',
    lat: 39.995,
    lon: -99.995,
    centroid_lat: 39.995,
    centroid_lon: -99.995,
    geohash5: '9z0gs',
    pixels: 40,
    area_km2: 40,
    estimated_size_mm: 30,
    p90_mm: 25,
    major_axis_km: 9,
    minor_axis_km: 6,
    orientation_deg: 60,
    ml_predicted_size_mm: 28,
    ml_probability: 0.4,
    model_version: 'test',
    probsevere_id: null,
    confidence: 0.7,
    ...NO_COMPANIONS,
    row_min: 1497,
    row_max: 1503,
    col_min: 2997,
    col_max: 3003,
    flag_extreme: false,
    flag_object_only: false,
    flag_out_of_range: false,
    ...fields,
  };
}
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
