import { z } from 'zod';
import { TREND_WORDS } from '../tables/radar.ts';
import * as wire from './fields.ts';
import { PointQuery } from './hail-cell.ts';
import { RadarBlock } from './radar-block.ts';

export const Motion = wire.resource('Motion', {
  speed_kmh: wire.speed('Speed; null while unknown.').nullable(),
  direction_deg: wire
    .direction('Direction towards which the storm moves, 0 = north, clockwise; null while unknown.')
    .nullable(),
});

/** State of a storm cell at one time. */
const stormState = {
  motion: Motion,
  hail: z.object({
    estimated_size_mm: wire.mm('Largest MESH of the cell.'),
    size_category: wire.category('Category of estimated_size_mm.'),
    ml_probability: wire.probability('Probability of hail >= 25.4 mm with this storm within 60 minutes.'),
  }),
  trend: z.enum(TREND_WORDS).meta({ description: 'Trend of the maximum size; steady before four scans.' }),
  growth: z.object({
    size_growth_rate_mm_per_min: wire
      .number('Slope of the maximum size over ten minutes; null before four scans.', 'mm/min')
      .nullable(),
  }),
};
const radarSignals = RadarBlock.nullable().optional().meta({
  description:
    'Products over the cell (advanced); null when the cell is not known any more. Where tracks share a cell, only what follows from the size of the own part is given.',
});

/** A tracked storm cell as the newest scan that saw it shows it. */
export const StormCell = wire.resource('Storm', {
  track_id: z.string().meta({ description: 'Identifier of the track, stable over restarts and replays.' }),
  lat: wire.lat('Latitude of the MESH-weighted centroid of the core.'),
  lon: wire.lon('Longitude of the same.'),
  distance_km: wire.km('Geodesic distance from the query point.'),
  scan_time: wire.time('Scan that saw the cell last.'),
  ...stormState,
  track: z.object({
    duration_min: wire.minutes('Last scan minus first scan of the track.'),
    peak_estimated_size_mm: wire.mm('Largest size so far.'),
  }),
  radar_signals: radarSignals,
});
export type StormCell = z.infer<typeof StormCell>;

/** Tracked storms around a point. */
export const Storms = wire.resource('Storms', {
  active: wire.active('a storm'),
  detail: wire.detail(),
  data_as_of: wire.dataAsOf(),
  summary: z.object({
    total_cells: wire.count('Storms in range.'),
    closest_cell_km: wire.km('Distance of the nearest storm; null without storms.').nullable(),
    max_size_category: wire.category('Category of the largest estimated size.'),
  }),
  cells: z.array(StormCell).meta({ description: 'Nearest first.' }),
  note: z.string().nullable().meta({
    description:
      'Why the list is empty although hail was detected in range in the last 30 minutes, or that no data can exist there; null otherwise.',
  }),
  query: PointQuery,
});
export type Storms = z.infer<typeof Storms>;

/** One scan that saw the storm. */
const TrackHistoryPoint = wire.resource('TrackHistoryPoint', {
  scan_time: wire.time('Observation time of the scan.'),
  lat: wire.lat(),
  lon: wire.lon(),
  ...stormState,
  radar_signals: radarSignals,
});

/** The whole life of a tracked storm cell. */
export const StormTrack = wire.resource('StormTrack', {
  track_id: z.string().meta({ description: 'Identifier of the track.' }),
  date: z.string().meta({ description: 'Storm date that selected the track.', format: 'date' }),
  detail: wire.detail(),
  data_as_of: wire.dataAsOf(),
  summary: z.object({
    scan_count: wire.count('Scans that saw the storm.'),
    first_detected: wire.time('First of them.'),
    last_detected: wire.time('Last of them.'),
    duration_min: wire.minutes('Last minus first.'),
    peak_estimated_size_mm: wire.mm('Largest size.'),
    peak_size_category: wire.category('Category of the largest size.'),
    peak_ml_probability: wire.probability('Largest ml_probability.'),
    size_km2: wire.km2('Largest area of the cell.'),
  }),
  points: z.array(TrackHistoryPoint).meta({
    description: 'Oldest first: the whole track, across midnight too; scans that missed the storm are left out.',
  }),
});
export type StormTrack = z.infer<typeof StormTrack>;

const EXAMPLE_STATE = {
  motion: { speed_kmh: 52.3, direction_deg: 71 },
  hail: { estimated_size_mm: 41.5, size_category: 'golf_ball', ml_probability: 0.862 },
  trend: 'intensifying',
  growth: { size_growth_rate_mm_per_min: 0.61 },
} as const;

export const LIST_STORMS_EXAMPLE: wire.Example<typeof Storms> = {
  query: { lat: '35.22', lon: '-97.44' },
  reply: {
    active: true,
    detail: 'standard',
    data_as_of: '2026-05-01T20:12:38Z',
    summary: { total_cells: 1, closest_cell_km: 12.4, max_size_category: 'golf_ball' },
    cells: [
      {
        track_id: '20260501-2h9x0c1k4m7pq',
        lat: 35.24813,
        lon: -97.57205,
        distance_km: 12.4,
        scan_time: '2026-05-01T20:12:38Z',
        ...EXAMPLE_STATE,
        track: { duration_min: 46.2, peak_estimated_size_mm: 48.2 },
      },
    ],
    note: null,
    query: { lat: 35.22, lon: -97.44, radius_km: 50, lookback_minutes: 30 },
  },
};

export const GET_STORM_EXAMPLE: wire.Example<typeof StormTrack> = {
  query: { date: '2026-05-01' },
  reply: {
    track_id: '20260501-2h9x0c1k4m7pq',
    date: '2026-05-01',
    detail: 'standard',
    data_as_of: '2026-05-01T23:58:31Z',
    summary: {
      scan_count: 23,
      first_detected: '2026-05-01T19:26:25Z',
      last_detected: '2026-05-01T20:12:38Z',
      duration_min: 46.2,
      peak_estimated_size_mm: 48.2,
      peak_size_category: 'golf_ball',
      peak_ml_probability: 0.913,
      size_km2: 112.4,
    },
    points: [{ scan_time: '2026-05-01T20:12:38Z', lat: 35.24813, lon: -97.57205, ...EXAMPLE_STATE }],
  },
};
