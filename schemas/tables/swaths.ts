import { z } from 'zod';
import { table } from '../columns.ts';
import * as column from '../units.ts';

/** Footprint of one size threshold over one storm date, whole grid, not simplified. Tiers nest. */
export const Swath = z.object({
  storm_date: column.stormDate('Storm date.'),
  threshold_mm: column.millimetres('Lower bound of the tier; the tier holds everything at or above it.'),
  category: column.text('Size category of the bound.'),
  area_km2: column.squareKilometres('Sum of the exact pixel areas: authoritative.'),
  pixels: column.bigCount('Pixels of the tier.'),
  n_detections: column.bigCount('Pixel-scans at or above the bound.'),
  max_size_mm: column.millimetres('Largest size of the day.'),
  first_detected: column.instant('First scan at or above 10 mm inside the tier.').nullable(),
  last_detected: column.instant('Last scan at or above 10 mm inside the tier.').nullable(),
  geometry: column.geometry('MultiPolygon traced on pixel edges, RFC 7946 winding.'),
});
export type Swath = z.infer<typeof Swath>;

export const swaths = table({ name: 'swaths', row: Swath, schema_version: 1, order: 'threshold_mm' });
