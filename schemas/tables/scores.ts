import { z } from 'zod';
import { table } from '../columns.ts';
import { provenanceColumn } from '../provenance.ts';
import * as column from '../units.ts';

/** Subjects of scores: the tracking of storms, and the nowcast. */
export const SCORE_KINDS = ['tracking', 'nowcast'] as const;

/** Names of scores; the name ends with the unit, or the score is a share of 1. */
export const SCORE_NAMES = [
  'overlap_csi',
  'position_error_km',
  'direction_error_deg',
  'straightness_km',
  'duration_min',
  'swath_csi',
  'brier',
] as const;

/** One score of one storm date: published data compared with data that were published later. */
export const Score = z.object({
  storm_date: column.stormDate('Storm date.'),
  kind: column.word('What is scored.', SCORE_KINDS),
  score: column.word('What the score is; see the list below.', SCORE_NAMES),
  lead_min: column.minutes('How far ahead; null for scores of whole tracks.').nullable(),
  n: column.bigCount('Scans, pairs of positions, tracks or points that the score is over.'),
  value: column.plainNumber('The score; its name has the unit.', '1'),
  baseline: column
    .plainNumber('The same for storms that are left where they are; null where that means nothing.', '1')
    .nullable(),
  data_source: provenanceColumn('Who wrote the scans: scores of simulated storms say nothing about real ones.'),
});
export type Score = z.infer<typeof Score>;

export const scores = table({ name: 'scores', row: Score, schema_version: 1, order: 'kind, score, lead_min' });
