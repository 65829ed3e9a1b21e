import { z } from 'zod';
import * as wire from './fields.ts';

/** A point that a business watches. */
export const PortfolioLocation = wire.resource('PortfolioLocation', {
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
export const PortfolioLocations = wire.resource('PortfolioLocations', {
  locations: z.array(PortfolioLocation).meta({ description: 'By name (code points), then id.' }),
  count: z.int().nonnegative().meta({ description: 'Locations on this page.' }),
  next_cursor: z.string().nullable().meta({ description: 'Cursor of the next page; null on the last one.' }),
});
export type PortfolioLocations = z.infer<typeof PortfolioLocations>;

export const LIST_LOCATIONS_EXAMPLE: wire.Example<typeof PortfolioLocations> = {
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

/** Most ids that one call deletes. */
export const DELETED_IDS_MAX = 2000;

/** Which locations to delete, as the body of the call. */
export const PortfolioDeletion = wire.resource('PortfolioDeletion', {
  ids: z
    .array(z.string())
    .min(1)
    .max(DELETED_IDS_MAX)
    .meta({ description: 'Identifiers of locations; one that is repeated counts once.' }),
});

/** Outcome of a deletion. */
export const PortfolioDeleted = wire.resource('PortfolioDeleted', {
  deleted_count: z.int().nonnegative().meta({ description: 'Locations that are gone now.' }),
  not_found_count: z.int().nonnegative().meta({ description: 'Ids without a location.' }),
  deleted: z.array(z.string()).meta({ description: 'Ids of deleted locations, in the order asked.' }),
  not_found: z.array(z.string()).meta({
    description:
      'Ids that do not exist, or belong to something other than a location of the business, in the order asked.',
  }),
});

export const DELETE_LOCATIONS_EXAMPLE: wire.Example<typeof PortfolioDeleted> = {
  body: { ids: ['loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C', 'loc_01KAJ4D2M8N6P4R2T0V8X6Z4B2'] },
  reply: {
    deleted_count: 1,
    not_found_count: 1,
    deleted: ['loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C'],
    not_found: ['loc_01KAJ4D2M8N6P4R2T0V8X6Z4B2'],
  },
};
