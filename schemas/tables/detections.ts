import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { table } from '../columns.ts';
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

/** Companions that files of an older version lack. */
export const ADDED_COMPANIONS = [
  'reflectivity_minus20c_dbz',
  'azshear_0_2km_per_s',
  'lowest_reflectivity_dbz',
] as const satisfies readonly (keyof typeof companionFields)[];

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
  older: { readable_from: 1, without: ADDED_COMPANIONS, complete_from: 2, retyped: ['row', 'col'] },
  order: 'scan_time, row, col',
});
