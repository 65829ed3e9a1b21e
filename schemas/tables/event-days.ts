import { z } from 'zod';
import { table } from '../columns.ts';
import * as column from '../units.ts';

/** One storm date with at least one detection >= 19 mm, whole grid; every column counts such detections only. */
export const EventDay = z.object({
  storm_date: column.stormDate('Storm date.'),
  cell_count: column.count('Tracked storms, or untracked cells, with a detection >= 19 mm.'),
  max_size_mm: column.millimetres('Largest size of the day.'),
  n_detections: column.bigCount('Pixel-scans >= 19 mm.'),
  affected_area_km2: column.squareKilometres('Geodesic area of the convex hull of the corners of all pixels >= 19 mm.'),
  centroid_lat: column.latitude('Centroid of the hull.'),
  centroid_lon: column.longitude('Centroid of the hull.'),
  first_detected: column.instant('First scan with a detection >= 19 mm.'),
  last_detected: column.instant('Last scan with a detection >= 19 mm.'),
  hull: column.geometry('Convex hull.'),
});
export type EventDay = z.infer<typeof EventDay>;

export const eventDays = table({ name: 'event-days', row: EventDay, schema_version: 1, order: 'storm_date' });
