import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { table } from '../columns.ts';
import * as column from '../units.ts';

export const TREND_WORDS = [
  'rapidly_weakening',
  'weakening',
  'steady',
  'intensifying',
  'rapidly_intensifying',
] as const;
export type Trend = (typeof TREND_WORDS)[number];

/**
 * States of a track in a scan: its cell was found, it coasts without a cell, it merged into another, or it ended.
 * Rows of every state are published; positions of `coasted` rows are predictions.
 */
export const TRACK_STATES = ['tracked', 'coasted', 'merged', 'ended'] as const;
export type TrackState = (typeof TRACK_STATES)[number];

/** Sources of the published motion. */
export const MOTION_SOURCES = ['track', 'neighbours', 'probsevere', 'grid_shift', 'none'] as const;
export type MotionSource = (typeof MOTION_SOURCES)[number];

/** One track in one scan. A track counts as published from its second `tracked` row on. */
export const TrackPoint = z.object({
  storm_date: column.stormDate('Storm date of the scan.'),
  scan_time: column.instant('Observation time of the scan.'),
  track_id: column.text('Stable identifier of the track.'),
  state: z.enum(TRACK_STATES).meta({ description: 'What this scan did to the track.', column: 'VARCHAR' }),
  cell_index: column.count('Cell of this scan; null unless tracked.').nullable(),
  lat: column.latitude('Position of the cell; predicted unless tracked.'),
  lon: column.longitude('Position of the cell; predicted unless tracked.'),
  speed_kmh: column.kilometresPerHour('Speed of motion; null while unknown.').nullable(),
  direction_deg: column
    .degrees('Direction towards which it moves, 0 = north, clockwise; null while unknown.')
    .nullable(),
  motion_source: z.enum(MOTION_SOURCES).meta({ description: 'Where the motion comes from.', column: 'VARCHAR' }),
  estimated_size_mm: column.millimetres('Largest MESH of the cell in this scan; the last one seen unless tracked.'),
  ml_probability: column.probability('Probability of hail >= 25.4 mm with this storm within 60 minutes.'),
  confidence: column.probability(`Confidence at the largest pixel of the cell. ${ASSUMPTIONS.confidence}`),
  trend: z.enum(TREND_WORDS).meta({ description: 'Trend word of the maximum size.', column: 'VARCHAR' }),
  size_growth_rate_mm_per_min: column
    .plainNumber('Theil-Sen slope of the maximum size over ten minutes; null before four scans.', 'mm/min')
    .nullable(),
  area_km2: column.squareKilometres('Area of the cell in this scan.'),
  scan_count: column.count('Scans in which the track had a cell so far, this one included.'),
  first_detected: column.instant('First scan of the track.'),
  duration_min: column.minutes('Last scan with a cell minus first scan.'),
  peak_estimated_size_mm: column.millimetres('Largest size so far.'),
  peak_ml_probability: column.probability('Largest ml_probability so far.'),
  peak_area_km2: column.squareKilometres('Largest cell area so far.'),
  parent_track_id: column.text('Track this one split from.').nullable(),
  merged_into: column.text('Track this one merged into; set on the row with state merged.').nullable(),
});
export type TrackPoint = z.infer<typeof TrackPoint>;

export const tracks = table({ name: 'tracks', row: TrackPoint, schema_version: 1, order: 'scan_time, track_id' });
