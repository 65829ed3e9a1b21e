import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import * as wire from './fields.ts';
import { DateSeenInPart, RadarGaps } from './radar-gaps.ts';

/** Radius of an impact, miles. */
export const IMPACT_RADIUS_MI = 1 as const;

/** Hail near a location on one storm date. */
export const PortfolioImpact = wire.resource('PortfolioImpact', {
  asset_id: z.string().meta({ description: 'Id of the location.' }),
  name: z.string().meta({ description: 'Name of the location.' }),
  nearest_detection_m: z.int().nonnegative().meta({
    description: 'Geodesic distance to the nearest pixel with a detection, to its edge; 0 inside it.',
    unit: 'm',
  }),
  max_size_mm: wire.mm('Largest detection within the radius.'),
  ml_confidence: wire.probability(
    `Confidence that hail fell at the location, from size, number of detections and radar geometry. ${ASSUMPTIONS.confidence}`,
  ),
  n_detections: z
    .int()
    .positive()
    .meta({ description: 'Detections within the radius: pixels times scans.', unit: '1' }),
});
export type PortfolioImpact = z.infer<typeof PortfolioImpact>;

/** Most sets of gaps in an answer, and most ids of each. */
export const GAP_GROUPS_MAX = 20;
export const GAP_ASSETS_MAX = 100;

const assets = (what: string) => z.int().nonnegative().meta({ description: what, unit: '1' });

/** Radar coverage of the locations on the storm date: a location without an impact was spared only where radar covered it. */
export const PortfolioGaps = z.object({
  dates_without_data: RadarGaps.shape.dates_without_data.meta({
    description: 'The date, where no radar data of it are published: that nothing is impacted says nothing.',
  }),
  dates_with_unknown_scans: RadarGaps.shape.dates_with_unknown_scans.meta({
    description: 'The date, where it is published as the sum of a whole day: when radar looked is not known.',
  }),
  until: DateSeenInPart.shape.until,
  assets_seen_in_part: assets(
    'Locations that a scan saw for less than 0.9 of the minutes of the date, or with a gap of more than ten minutes.',
  ),
  assets_unseen: assets('Those of them that no scan saw.'),
  seen_in_part: z
    .array(
      DateSeenInPart.pick({ share: true, gap_count: true, gaps: true }).extend({
        asset_count: assets('Locations with these gaps.'),
        asset_ids: z.array(z.string()).meta({ description: `Their ids, at most ${GAP_ASSETS_MAX}.` }),
      }),
    )
    .meta({
      description: `The gaps, each set with its locations, the least seen first; at most ${GAP_GROUPS_MAX} sets.`,
    }),
});
export type PortfolioGaps = z.infer<typeof PortfolioGaps>;

/** A page of a business's locations with hail nearby. */
export const PortfolioImpacts = wire.resource('PortfolioImpacts', {
  date: z.string().meta({ description: 'Storm date as asked.', format: 'date' }),
  radius_mi: z.literal(IMPACT_RADIUS_MI).meta({ description: 'Radius around each location.', unit: 'mi' }),
  assets_checked: z.int().nonnegative().meta({ description: 'Locations of the business; the same on every page.' }),
  impacted_count: z.int().nonnegative().meta({
    description: 'Locations with a detection within the radius; the same on every page.',
  }),
  impacts: z.array(PortfolioImpact).meta({ description: 'By asset_id ascending.' }),
  radar_gaps: PortfolioGaps.meta({
    description: 'When radar did not see the locations; the same on every page.',
  }),
  next_cursor: z.string().nullable().meta({ description: 'Cursor of the next page; null on the last one.' }),
  data_as_of: z.string().nullable().meta({
    description:
      'Observation time of the newest scan of the date, or of all when the date has none; null while nothing is published.',
  }),
});
export type PortfolioImpacts = z.infer<typeof PortfolioImpacts>;

export const PORTFOLIO_IMPACTS_EXAMPLE: wire.Example<typeof PortfolioImpacts> = {
  query: { date: '2026-05-01' },
  reply: {
    date: '2026-05-01',
    radius_mi: IMPACT_RADIUS_MI,
    assets_checked: 250,
    impacted_count: 1,
    impacts: [
      {
        asset_id: 'loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
        name: 'Depot',
        nearest_detection_m: 0,
        max_size_mm: 41.5,
        ml_confidence: 0.69,
        n_detections: 24,
      },
    ],
    radar_gaps: {
      dates_without_data: [],
      dates_with_unknown_scans: [],
      until: null,
      assets_seen_in_part: 0,
      assets_unseen: 0,
      seen_in_part: [],
    },
    next_cursor: null,
    data_as_of: '2026-05-01T23:58:00Z',
  },
};
