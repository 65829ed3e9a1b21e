import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { table } from '../columns.ts';
import * as column from '../units.ts';
import { ADDED_COMPANIONS, companionFields } from './detections.ts';

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
  older: {
    readable_from: 1,
    without: ADDED_COMPANIONS,
    complete_from: 2,
    retyped: ['row_min', 'row_max', 'col_min', 'col_max'],
  },
  order: 'scan_time, cell_index',
});
