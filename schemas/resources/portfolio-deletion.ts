import { z } from 'zod';
import type { Example } from './example.ts';
import { resource } from './fields.ts';

/** Most ids that one call deletes. */
export const DELETED_IDS_MAX = 2000;

/** Which locations to delete, as the body of the call. */
export const PortfolioDeletion = resource('PortfolioDeletion', {
  ids: z
    .array(z.string())
    .min(1)
    .max(DELETED_IDS_MAX)
    .meta({ description: 'Identifiers of locations; one that is repeated counts once.' }),
});
export type PortfolioDeletion = z.infer<typeof PortfolioDeletion>;

/** Outcome of a deletion. */
export const PortfolioDeleted = resource('PortfolioDeleted', {
  deleted_count: z.int().nonnegative().meta({ description: 'Locations that are gone now.' }),
  not_found_count: z.int().nonnegative().meta({ description: 'Ids without a location.' }),
  deleted: z.array(z.string()).meta({ description: 'Ids of deleted locations, in the order asked.' }),
  not_found: z.array(z.string()).meta({
    description:
      'Ids that do not exist, or belong to something other than a location of the business, in the order asked.',
  }),
});
export type PortfolioDeleted = z.infer<typeof PortfolioDeleted>;

export const DELETE_LOCATIONS_EXAMPLE: Example<typeof PortfolioDeleted> = {
  body: { ids: ['loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C', 'loc_01KAJ4D2M8N6P4R2T0V8X6Z4B2'] },
  reply: {
    deleted_count: 1,
    not_found_count: 1,
    deleted: ['loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C'],
    not_found: ['loc_01KAJ4D2M8N6P4R2T0V8X6Z4B2'],
  },
};
