import { z } from 'zod';

/** Radius of an impact, miles. */
export const IMPACT_RADIUS_MI = 1 as const;

/** Hail near a location on one storm date. */
export const PortfolioImpact = z.object({
  asset_id: z.string().meta({ description: 'Id of the location.' }),
  name: z.string().meta({ description: 'Name of the location.' }),
  nearest_detection_m: z.int().nonnegative().meta({
    description: 'Geodesic distance to the nearest pixel with a detection, to its edge; 0 inside it.',
    unit: 'm',
  }),
  max_size_mm: z.number().meta({ description: 'Largest detection within the radius.', unit: 'mm' }),
  ml_confidence: z.number().min(0).max(1).meta({
    description: 'Confidence that hail fell at the location, from size, number of detections and radar geometry.',
    unit: '1',
  }),
  n_detections: z
    .int()
    .positive()
    .meta({ description: 'Detections within the radius: pixels times scans.', unit: '1' }),
});
export type PortfolioImpact = z.infer<typeof PortfolioImpact>;

/** A page of a business's locations with hail nearby. */
export const PortfolioImpacts = z.object({
  date: z.string().meta({ description: 'Storm date as asked.' }),
  radius_mi: z.literal(IMPACT_RADIUS_MI).meta({ description: 'Radius around each location.', unit: 'mi' }),
  assets_checked: z.int().nonnegative().meta({ description: 'Locations of the business; the same on every page.' }),
  impacted_count: z.int().nonnegative().meta({
    description: 'Locations with a detection within the radius; the same on every page.',
  }),
  impacts: z.array(PortfolioImpact).meta({ description: 'By asset_id ascending.' }),
  next_cursor: z.string().nullable().meta({ description: 'Cursor of the next page; null on the last one.' }),
  data_as_of: z.string().nullable().meta({
    description:
      'Observation time of the newest scan of the date, or of all when the date has none; null while nothing is published.',
  }),
});
export type PortfolioImpacts = z.infer<typeof PortfolioImpacts>;
