import { z } from 'zod';
import { table } from '../columns.ts';
import {
  count,
  degrees,
  instant,
  kilometresPerHour,
  latitude,
  longitude,
  millimetres,
  minutes,
  plainNumber,
  probability,
  squareKilometres,
  stormDateColumn,
  text,
} from '../units.ts';

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
  storm_date: stormDateColumn('Storm date of the scan.'),
  scan_time: instant('Observation time of the scan.'),
  track_id: text('Stable identifier of the track.'),
  state: z.enum(TRACK_STATES).meta({ description: 'What this scan did to the track.', column: 'VARCHAR' }),
  cell_index: count('Cell of this scan; null unless tracked.').nullable(),
  lat: latitude('Position of the cell; predicted unless tracked.'),
  lon: longitude('Position of the cell; predicted unless tracked.'),
  speed_kmh: kilometresPerHour('Speed of motion; null while unknown.').nullable(),
  direction_deg: degrees('Direction towards which it moves, 0 = north, clockwise; null while unknown.').nullable(),
  motion_source: z.enum(MOTION_SOURCES).meta({ description: 'Where the motion comes from.', column: 'VARCHAR' }),
  estimated_size_mm: millimetres('Largest MESH of the cell in this scan; the last one seen unless tracked.'),
  ml_probability: probability('Probability of hail >= 25.4 mm with this storm within 60 minutes.'),
  confidence: probability('Confidence at the largest pixel of the cell.'),
  trend: z.enum(TREND_WORDS).meta({ description: 'Trend word of the maximum size.', column: 'VARCHAR' }),
  size_growth_rate_mm_per_min: plainNumber(
    'Theil-Sen slope of the maximum size over ten minutes; null before four scans.',
    'mm/min',
  ).nullable(),
  area_km2: squareKilometres('Area of the cell in this scan.'),
  scan_count: count('Scans in which the track had a cell so far, this one included.'),
  first_detected: instant('First scan of the track.'),
  duration_min: minutes('Last scan with a cell minus first scan.'),
  peak_estimated_size_mm: millimetres('Largest size so far.'),
  peak_ml_probability: probability('Largest ml_probability so far.'),
  peak_area_km2: squareKilometres('Largest cell area so far.'),
  parent_track_id: text('Track this one split from.').nullable(),
  merged_into: text('Track this one merged into; set on the row with state merged.').nullable(),
});
export type TrackPoint = z.infer<typeof TrackPoint>;

export const tracks = table({ name: 'tracks', row: TrackPoint, schema_version: 1, order: 'scan_time, track_id' });
