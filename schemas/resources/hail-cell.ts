import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { TREND_WORDS } from '../tables/radar.ts';
import { DetectionQualityBlock } from './detection-quality.ts';
import * as wire from './fields.ts';
import { RadarBlock } from './radar-block.ts';

/** Look-back of current conditions and storms, minutes. */
export const LOOKBACK_MIN = 30;

export const ROOF_DAMAGE_WORDS = ['none', 'possible', 'likely', 'severe'] as const;
export type DamageWord = (typeof ROOF_DAMAGE_WORDS)[number];
const damage = (what: string) => z.enum(ROOF_DAMAGE_WORDS).meta({ description: what });

/** The storm cell that a hail cell belongs to; every field is null where the newest detection lies in none. */
export const StormBlock = wire.resource('StormBlock', {
  track_id: z.string().nullable().meta({ description: 'Tracked storm cell, for GET /v1/storms/{track_id}.' }),
  area_km2: wire.km2('Area of the storm cell (MESH >= 5 mm).').nullable(),
  p90_mm: wire.mm('90th percentile of MESH over the cell.').nullable(),
  major_axis_km: wire.km('Major axis of the ellipse with the same second moments.').nullable(),
  minor_axis_km: wire.km('Minor axis of that ellipse.').nullable(),
  orientation_deg: wire.direction('Direction of the major axis, 0 = north, clockwise, 0 to 180.').nullable(),
  speed_kmh: wire.speed('Speed of motion.').nullable(),
  direction_deg: wire.direction('Direction towards which it moves, 0 = north, clockwise.').nullable(),
  trend: z.enum(TREND_WORDS).nullable().meta({ description: 'Trend of the maximum size.' }),
  age_min: wire.minutes('Time since the first scan of the track.').nullable(),
});
export type StormBlock = z.infer<typeof StormBlock>;

/** Possible impact of the hail on the ground. */
export const ImpactBlock = wire.resource('ImpactBlock', {
  hail_duration_min: wire.minutes('Scans >= 19 mm at the place in the look-back, gaps capped at 4 minutes.'),
  kinetic_energy_j_m2: wire
    .number(
      'Kinetic energy of the hail in the look-back, from the reflectivity at the lowest altitude where the hail of each scan was largest; null without that product.',
      'J/m2',
    )
    .nullable(),
  terminal_velocity_m_s: wire.number('Fall speed of a stone of the estimated size.', 'm/s'),
  swath_area_km2: wire
    .km2('Area that the storm covered with hail >= 19 mm in the look-back; null outside any tracked storm.')
    .nullable(),
  roof_damage_potential: damage('By size: possible from 25 mm, likely from 38 mm, severe from 63 mm.'),
  vehicle_damage_potential: damage('By size: possible from 19 mm, likely from 25 mm, severe from 38 mm.'),
});
export type ImpactBlock = z.infer<typeof ImpactBlock>;

/** A place (five-character geohash) with hail in the last 30 minutes. */
export const HailCell = wire.resource('HailCell', {
  geohash5: z.string().meta({ description: 'Five-character geohash of the place: its identity.' }),
  lat: wire.lat('Latitude of the largest detection in the newest scan that touched the place.'),
  lon: wire.lon('Longitude of the same.'),
  distance_km: wire.km('Geodesic distance from the query point.'),
  age_seconds: z.int().nonnegative().meta({ description: 'Time since last_detected, never negative.', unit: 's' }),
  last_detected: wire.time('Newest scan with a detection in the place.'),
  scan_count: wire.count('Distinct scans with a detection in the place in the look-back.'),
  hail: z.object({
    estimated_size_mm: wire.mm('Largest MESH in the look-back.'),
    ml_predicted_size_mm: wire.mm(`Largest median size a ground report would give. ${ASSUMPTIONS.predicted_size}`),
    size_category: wire.category('Category of estimated_size_mm.'),
    confidence: wire.probability(`Largest confidence of the detections in the look-back. ${ASSUMPTIONS.confidence}`),
  }),
  radar: RadarBlock.optional().meta({ description: 'Products at the largest detection of the look-back (advanced).' }),
  storm: StormBlock.optional().meta({ description: 'Storm cell of the newest detection (advanced).' }),
  impact: ImpactBlock.optional().meta({ description: 'What it may mean on the ground (advanced).' }),
  detection_quality: DetectionQualityBlock.optional().meta({ description: 'Radar geometry at the cell (advanced).' }),
});
export type HailCell = z.infer<typeof HailCell>;

/** The parsed query. */
export const PointQuery = wire.resource('PointQuery', {
  lat: wire.lat(),
  lon: wire.lon(),
  radius_km: wire.km('Search radius.'),
  lookback_minutes: z.literal(LOOKBACK_MIN).meta({ description: 'Look-back.', unit: 'min' }),
});

/** Hail around a point in the last 30 minutes. */
export const HailCurrent = wire.resource('HailCurrent', {
  active: wire.active('a cell'),
  detail: wire.detail(),
  summary: z.object({
    total_cells: wire.count('Cells in range.'),
    max_size_mm: wire.mm('Largest estimated size; null without cells.').nullable(),
    closest_cell_km: wire.km('Distance of the nearest cell; null without cells.').nullable(),
    max_size_category: wire.category('Category of max_size_mm.'),
  }),
  cells: z.array(HailCell).meta({ description: 'Nearest first.' }),
  note: wire.outsideNote(),
  query: PointQuery,
  data_timestamp: wire.dataTimestamp(),
});
export type HailCurrent = z.infer<typeof HailCurrent>;

export const HAIL_CURRENT_EXAMPLE: wire.Example<typeof HailCurrent> = {
  query: { lat: '35.22', lon: '-97.44', radius_km: '25' },
  reply: {
    active: true,
    detail: 'standard',
    summary: { total_cells: 1, max_size_mm: 41.5, closest_cell_km: 3.61, max_size_category: 'golf_ball' },
    cells: [
      {
        geohash5: '9y67x',
        lat: 35.245,
        lon: -97.465,
        distance_km: 3.61,
        age_seconds: 154,
        last_detected: '2026-05-01T20:12:38Z',
        scan_count: 7,
        hail: {
          estimated_size_mm: 41.5,
          ml_predicted_size_mm: 32.8,
          size_category: 'golf_ball',
          confidence: 0.681,
        },
      },
    ],
    note: null,
    query: { lat: 35.22, lon: -97.44, radius_km: 25, lookback_minutes: 30 },
    data_timestamp: '2026-05-01T20:12:38Z',
  },
};

/** Locations in one batch. */
const BATCH_MAX = 50;

const BatchLocation = wire.resource('BatchLocation', {
  lat: wire.bodyLat('Latitude.'),
  lon: wire.bodyLon('Longitude.'),
  radius_km: z.number().gt(0).max(150).nullish().meta({ description: 'Search radius; 50 when absent.', unit: 'km' }),
  id: z
    .union([z.string(), z.number()])
    .nullish()
    .meta({ description: 'Echoed back as sent, for correlation; need not be unique.' }),
});
export const HailBatchRequest = wire.resource('HailBatchRequest', {
  locations: z.array(BatchLocation).min(1).max(BATCH_MAX).meta({ description: 'Places to look at, 1 to 50.' }),
});
export type HailBatchRequest = z.infer<typeof HailBatchRequest>;

/** One location of a batch; the fields from max_size_mm on are present only when it is active. */
export const BatchResult = wire.resource('BatchResult', {
  id: z.union([z.string(), z.number()]).nullable().meta({ description: 'The id given; null when none was.' }),
  lat: wire.lat(),
  lon: wire.lon(),
  active: wire.active('a cell'),
  note: wire.outsideNote(),
  max_size_mm: wire.mm('Largest estimated size.').optional(),
  max_size_category: wire.category('Category of max_size_mm.').optional(),
  max_confidence: wire.probability(`Largest confidence. ${ASSUMPTIONS.confidence}`).optional(),
  cell_count: wire.count('Cells in range.').optional(),
  closest_km: wire.km('Distance of the nearest cell.').optional(),
});
export type BatchResult = z.infer<typeof BatchResult>;

export const HailBatch = wire.resource('HailBatch', {
  results: z.array(BatchResult).meta({ description: 'In the order of the request.' }),
  count: wire.count('Locations looked at.'),
  active_count: wire.count('Locations with hail in range.'),
  data_timestamp: wire.dataTimestamp(),
});

const credits = (what: string) => z.int().meta({ description: what, unit: 'credits' });

/** Cost of a batch, without running it. */
export const HailBatchEstimate = wire.resource('HailBatchEstimate', {
  estimate: z.literal(true),
  location_count: wire.count('Locations of the request.'),
  cost_per_location: credits('Price of a location.'),
  minimum_cost: credits('Price of the smallest batch.'),
  estimated_credits: credits('Price of this batch, exact.'),
  credits_remaining: credits('What is left of the monthly allowance; null without one.').nullable(),
  until_cap: credits('What is left below the effective cap; null without one.').nullable(),
  would_exceed_cap: z.boolean().meta({ description: 'True when the batch would be refused now.' }),
});

export const HailBatchReply = z.union([HailBatch, HailBatchEstimate]);
export type HailBatchReply = z.infer<typeof HailBatchReply>;

export const HAIL_BATCH_EXAMPLE: wire.Example<typeof HailBatchReply> = {
  body: { locations: [{ id: 'yard-1', lat: 35.22, lon: -97.44, radius_km: 10 }] },
  reply: {
    results: [
      {
        id: 'yard-1',
        lat: 35.22,
        lon: -97.44,
        active: true,
        note: null,
        max_size_mm: 41.5,
        max_size_category: 'golf_ball',
        max_confidence: 0.681,
        cell_count: 1,
        closest_km: 3.61,
      },
    ],
    count: 1,
    active_count: 1,
    data_timestamp: '2026-05-01T20:12:38Z',
  },
};
