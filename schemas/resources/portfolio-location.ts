import { z } from 'zod';
import type { Example } from './example.ts';
import { resource } from './fields.ts';

/** A point that a business watches. */
export const PortfolioLocation = resource('PortfolioLocation', {
  id: z.string().meta({ description: 'Identifier, `loc_` and a ULID.' }),
  name: z.string().meta({ description: 'Label, at most 200 characters.' }),
  lat: z.number().meta({ description: 'Latitude, 5 decimals.', unit: 'deg' }),
  lon: z.number().meta({ description: 'Longitude, 5 decimals.', unit: 'deg' }),
  address: z.string().meta({ description: 'Postal address as given; empty when none was.' }),
  tags: z.array(z.string()).meta({ description: 'Labels to group by, in the order given; empty when none were.' }),
  created_at: z
    .string()
    .meta({ description: 'When the location was first accepted, ISO 8601 UTC.', format: 'date-time' }),
  updated_at: z.string().meta({ description: 'When a row last replaced it, ISO 8601 UTC.', format: 'date-time' }),
});
export type PortfolioLocation = z.infer<typeof PortfolioLocation>;

/** A page of a business's locations. */
export const PortfolioLocations = resource('PortfolioLocations', {
  locations: z.array(PortfolioLocation).meta({ description: 'By name (code points), then id.' }),
  count: z.int().nonnegative().meta({ description: 'Locations on this page.' }),
  next_cursor: z.string().nullable().meta({ description: 'Cursor of the next page; null on the last one.' }),
});
export type PortfolioLocations = z.infer<typeof PortfolioLocations>;

export const LIST_LOCATIONS_EXAMPLE: Example<typeof PortfolioLocations> = {
  query: { limit: '1' },
  reply: {
    locations: [
      {
        id: 'loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
        name: 'Depot',
        lat: 35.4676,
        lon: -97.5164,
        address: '',
        tags: ['roof', 'flat'],
        created_at: '2026-05-01T20:15:04.120Z',
        updated_at: '2026-05-01T20:15:04.120Z',
      },
    ],
    count: 1,
    next_cursor: 'loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
  },
};
