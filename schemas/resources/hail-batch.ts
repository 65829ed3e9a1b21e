import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import type { Example } from './example.ts';
import * as wire from './fields.ts';

/** Locations in one batch. */
export const BATCH_MAX = 50;

export const BatchLocation = wire.resource('BatchLocation', {
  lat: z.number().min(-90).max(90).meta({ description: 'Latitude.', unit: 'deg' }),
  lon: z.number().min(-180).max(180).meta({ description: 'Longitude.', unit: 'deg' }),
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

export const HAIL_BATCH_EXAMPLE: Example<typeof HailBatchReply> = {
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
