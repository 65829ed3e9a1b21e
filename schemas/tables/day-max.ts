import { z } from 'zod';
import { table } from '../columns.ts';
import { DETECTION_MIN_MM } from '../size.ts';
import {
  count,
  flag,
  instant,
  latitude,
  latticeIndex,
  longitude,
  millimetres,
  minutes,
  probability,
  stormDateColumn,
  text,
} from '../units.ts';
import { ADDED_COMPANIONS, companionFields } from './detections.ts';

/**
 * Largest MESH of one pixel over a stretch of scans of one storm date (a scan, an hour, the day): pixels >= 5 mm. A pixel has
 * a second row, with `interpolated`, where interpolation between two scans gave more than any scan.
 * Files of a stretch add up: maximum of max_mm (earliest time wins a tie), minimum and maximum of the times, sum of the counts.
 */
export const DayMax = z.object({
  storm_date: stormDateColumn('Storm date.'),
  row: latticeIndex('Row of the CONUS lattice, 0 = northernmost.'),
  col: latticeIndex('Column of the CONUS lattice, 0 = westernmost.'),
  lat: latitude('Centre of the pixel.'),
  lon: longitude('Centre of the pixel.'),
  geohash5: text('Five-character geohash of the centre.'),
  max_mm: millimetres('Largest MESH; above 150 mm stored as 150.'),
  max_time: instant('Scan of the largest MESH, the earliest of equals.'),
  interpolated: flag(
    'What storms passed over between two scans more than 4 minutes apart, where that is more than any scan saw; for swaths only.',
  ),
  first_detected: instant('First scan >= 10 mm.').nullable(),
  last_detected: instant('Last scan >= 10 mm.').nullable(),
  detection_scans: count('Scans >= 10 mm.'),
  severe_scans: count('Scans >= 19 mm.'),
  confidence: probability('Confidence of the largest detection; null below 10 mm.').nullable(),
  ...companionFields,
  place_first_detected: instant(
    'First scan with a detection in the geohash5 of the pixel; set when the day is closed.',
  ).nullable(),
  place_last_detected: instant('Last scan with one; set when the day is closed.').nullable(),
  place_scans: count('Scans with one; set when the day is closed.').nullable(),
  place_duration_min: minutes(
    'Duration of those scans, gaps capped at 4 minutes; set when the day is closed.',
  ).nullable(),
});
export type DayMax = z.infer<typeof DayMax>;

export const dayMax = table({
  name: 'day-max',
  row: DayMax,
  schema_version: 3,
  older: { readable_from: 2, without: ADDED_COMPANIONS },
  // Most queries read detections: smaller values come last, in row groups that such queries skip. The date comes last in the
  // order, for month files, where a pixel has rows of several dates.
  order: `max_mm < ${DETECTION_MIN_MM}, row // 50, col // 50, row, col, interpolated, storm_date`,
});
