import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { table } from '../columns.ts';
import type { Head } from '../head.ts';
import { DETECTION_MIN_MM } from '../size.ts';
import * as column from '../units.ts';
import { ADDED_COMPANIONS, companionFields } from './detections.ts';

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
  older: { readable_from: 2, without: ADDED_COMPANIONS, complete_from: 3, retyped: ['row', 'col'] },
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
