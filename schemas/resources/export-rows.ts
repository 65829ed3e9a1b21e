import { z } from 'zod';
import { type Table, table } from '../columns.ts';
import { provenanceColumn } from '../provenance.ts';
import { GroundReport } from '../tables/feeds.ts';
import { Detection } from '../tables/radar.ts';
import { count, geometry, millimetres, squareKilometres, stormDate, text } from '../units.ts';
import type { Dataset } from './export-job.ts';

/** Geometry next to lat and lon, so that map programs open the file; CSV has lat and lon only. */
const point = geometry('Position as a point, WGS84; not in CSV.');
const sizeClass = text('Size category; null below 19 mm.').nullable();
const { storm_date, scan_time, row, col, lat, lon, geohash5, estimated_size_mm, track_id, ...otherDetectionFields } =
  Detection.shape;
const { report_id: _, storm_date: reportDate, source, data_source, ...otherReportFields } = GroundReport.shape;

const DetectionRow = z.object({
  id: text('Scan, lattice row and lattice column: the same in every export.'),
  storm_date,
  scan_time,
  lat,
  lon,
  estimated_size_mm,
  size_category: sizeClass,
  track_id,
  row,
  col,
  geohash5,
  ...otherDetectionFields,
  data_source: provenanceColumn('Whether the scan was observed or simulated.'),
  geometry: point,
});

const ReportRow = z.object({
  id: text('Feed, office, time and position: the same in every export.'),
  storm_date: reportDate,
  ...otherReportFields,
  source,
  data_source,
  geometry: point,
});

const SwathRow = z.object({
  storm_date: stormDate('Storm date.'),
  threshold_mm: millimetres('Lower bound of the tier; the tier holds everything at or above it.'),
  category: text('Size category of the bound.'),
  hull_area_km2: squareKilometres('Geodesic area of the geometry, the convex hull: at least footprint_km2.'),
  footprint_km2: squareKilometres('Sum of the areas of the pixels of the tier, as area_km2 of /v1/hail/swaths.'),
  n_detections: count('Pixel-scans at or above the bound.'),
  max_size_mm: millimetres(
    'Largest of them; null without any: what was filled in between scans is no detection.',
  ).nullable(),
  data_source: provenanceColumn('Whether the scans were observed or simulated.'),
  geometry: geometry('Convex hull of the pixels of the tier: Polygon, WGS84, counter-clockwise.'),
});

/** Columns of the files of each dataset, in their order, and the order of the rows. */
export const EXPORT_TABLES: Readonly<Record<Dataset, Table>> = {
  detections: table({ name: 'detections', row: DetectionRow, schema_version: 1, order: 'scan_time, "row", col' }),
  reports: table({ name: 'reports', row: ReportRow, schema_version: 1, order: 'time, id, data_source' }),
  swaths: table({ name: 'swaths', row: SwathRow, schema_version: 2, order: 'storm_date, threshold_mm' }),
};
