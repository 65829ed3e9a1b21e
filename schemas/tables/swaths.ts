import { z } from 'zod';
import { table } from '../columns.ts';
import { bigCount, geometry, instant, millimetres, squareKilometres, stormDateColumn, text } from '../units.ts';

/** Footprint of one size threshold over one storm date, whole grid, not simplified. Tiers nest. */
export const Swath = z.object({
  storm_date: stormDateColumn('Storm date.'),
  threshold_mm: millimetres('Lower bound of the tier; the tier holds everything at or above it.'),
  category: text('Size category of the bound.'),
  area_km2: squareKilometres('Sum of the exact pixel areas: authoritative.'),
  pixels: bigCount('Pixels of the tier.'),
  n_detections: bigCount('Pixel-scans at or above the bound.'),
  max_size_mm: millimetres('Largest size of the day.'),
  first_detected: instant('First scan at or above 10 mm inside the tier.').nullable(),
  last_detected: instant('Last scan at or above 10 mm inside the tier.').nullable(),
  geometry: geometry('MultiPolygon traced on pixel edges, RFC 7946 winding.'),
});
export type Swath = z.infer<typeof Swath>;

export const swaths = table({ name: 'swaths', row: Swath, schema_version: 1, order: 'threshold_mm' });
