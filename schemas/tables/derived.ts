import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { table } from '../columns.ts';
import { provenanceColumn } from '../provenance.ts';
import { MONTHS, type Month, RISK_TIER_WORDS, TIER_PRIOR_SHARE_MAX } from '../risk.ts';
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

/** One column for each month of the year, such as `severe_05`. */
function monthly<Name extends string, Field extends z.ZodType>(name: Name, field: (month: Month) => Field) {
  const columns = MONTHS.map((month) => [`${name}_${month}`, field(month)]);
  return Object.fromEntries(columns) as Record<`${Name}_${Month}`, Field>;
}

/**
 * Climatological risk of one geohash4 cell of the 48 states: the probability of at least one day with hail within 10 km of its
 * centre, in a year and in each month of the year.
 */
export const ClimatologyCell = z.object({
  geohash4: column.text('Four-character geohash of the cell.'),
  lat: column.latitude('Centre of the cell.'),
  lon: column.longitude('Centre of the cell.'),
  annual_any: column.probability('Probability of hail >= 19 mm in a year.'),
  annual_severe: column.probability('Probability of hail >= 25.4 mm in a year.'),
  annual_significant: column.probability('Probability of hail >= 50.8 mm in a year.'),
  annual_giant: column.probability('Probability of hail >= 101.6 mm in a year.'),
  annual_score: column.wholeNumber('Score 0 to 100: weighted percentile ranks of the four among all cells.'),
  risk_tier: column
    .word(`Word for the score; null while prior_share is above ${TIER_PRIOR_SHARE_MAX}.`, RISK_TIER_WORDS)
    .nullable(),
  peak_month: column.wholeNumber('Month with the largest probability of severe hail, 1 to 12.'),
  years_of_data: column.count('Years, counted back from the last date, of which at least 90 % of the scans are there.'),
  prior_share: column.plainNumber(
    `Share of the built-in rate in the annual rate of hail >= 19 mm; the rest is data. ${ASSUMPTIONS.climatology}`,
    '1',
  ),
  storm_dates: column.count('Storm dates that were read.'),
  first_date: column.stormDate('First of them.'),
  last_date: column.stormDate('Last of them.'),
  data_as_of: column.instant('When the newest of them was published.'),
  data_source: provenanceColumn('Provenance of all of them: simulated dates count only where none was observed.'),
  ...monthly('any', (month) => column.probability(`Probability of hail >= 19 mm in month ${month}.`)),
  ...monthly('severe', (month) => column.probability(`Probability of hail >= 25.4 mm in month ${month}.`)),
  ...monthly('score', (month) => column.wholeNumber(`Score of month ${month}: ranks among all cells and months.`)),
});
export type ClimatologyCell = z.infer<typeof ClimatologyCell>;

export const climatology = table({ name: 'climatology', row: ClimatologyCell, schema_version: 1, order: 'geohash4' });

/**
 * One step of a ray: the share of the beam that terrain blocks from a distance on, up to the next step. A ray without rows is
 * free. The lowest tilt of every examined radar begins with a step to 0 at 0 km along each azimuth.
 */
export const BlockageStep = z.object({
  radar_id: column.text('WSR-88D site.'),
  tilt_deg: column.degrees('Elevation of the beam, one of the tilts of VCP 12 and 212.'),
  azimuth_deg: column.wholeDegrees('Direction of the ray from the radar, 0 = north, clockwise.'),
  distance_km: column.kilometres('Distance along the ground from which on the share holds.'),
  blocked: column.probability('Largest share of the beam that terrain up to here blocks, two decimals.'),
  terrain_file: column.text('File name of the terrain model.'),
  terrain_step_arcsec: column.plainNumber(
    'Spacing of its heights from north to south, before any averaging.',
    'arc-second',
  ),
});
export type BlockageStep = z.infer<typeof BlockageStep>;

export const blockage = table({
  name: 'blockage',
  row: BlockageStep,
  schema_version: 1,
  order: 'radar_id, tilt_deg, azimuth_deg, distance_km',
});

/** Mean height of a terrain model in a cell of 10 x 10 pixels of the lattice, 0.1 degrees; cells of which it knows nothing have no row. */
export const GroundCell = z.object({
  row: column.latticeIndex('Row of the lattice of its northernmost pixels, a multiple of 10.'),
  col: column.latticeIndex('Column of the lattice of its westernmost pixels, a multiple of 10.'),
  ground_m: column.plainNumber('Mean height above sea level, to the metre; heights below it count as 0.', 'm'),
});
export type GroundCell = z.infer<typeof GroundCell>;

export const ground = table({ name: 'ground', row: GroundCell, schema_version: 1, order: 'row, col' });
