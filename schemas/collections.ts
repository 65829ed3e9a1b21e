import { z } from 'zod';
import { LATTICES, type Lattice } from './geo/lattice.ts';
import { MANIFEST_VERSION } from './manifest.ts';
import { MixedProvenance } from './provenance.ts';

/**
 * Collections, which feeds fill independently of the scans. Each is a partition of its own, divided into months, or replaced as a
 * whole where only its newest state matters. A collection without a manifest was never fed; an empty one was fed nothing.
 */
export const COLLECTIONS = ['reports', 'warnings', 'watches', 'outlooks', 'forecast', 'outlook'] as const;
export type CollectionName = (typeof COLLECTIONS)[number];

const instant = z.string().meta({ format: 'date-time' });

/** State of one feed, written after every poll. */
export const FeedState = z.object({
  name: z.string().meta({ description: 'Name of the feed.' }),
  collection: z.string().meta({ description: 'Collection that it feeds.' }),
  every_s: z.number().positive().meta({ description: 'Time between two attempts while all is well, seconds.' }),
  followed_since: instant
    .optional()
    .meta({ description: 'When it was followed first; absent in lists of earlier versions.' }),
  last_attempt_at: instant.nullable(),
  last_success_at: instant.nullable().meta({ description: 'Until then the collection is known to be complete.' }),
  failure: z.string().nullable().meta({ description: 'Why the last attempt failed; null when it did not.' }),
  source: MixedProvenance.meta({ description: 'Provenance of what the feed delivers.' }),
});
export type FeedState = z.infer<typeof FeedState>;

/** The file of the states of all feeds, replaced as a whole. */
export const FeedStates = z.object({
  manifest_version: z.literal(MANIFEST_VERSION),
  feeds: z.array(FeedState),
});

/** Feeds whose content ends with CONUS: outlooks and reports of the Storm Prediction Center, models, and what is made of them. */
const CONUS_FEEDS = ['spc-reports', 'spc-outlooks', 'climatology', 'hrrr', 'rrfs', 'outlook'] as const;

/** Names of the feeds that do not exist for a lattice; a data root of it follows the others. */
export function feedsOff({ name }: Lattice): readonly string[] {
  return name === LATTICES.conus.name ? [] : CONUS_FEEDS;
}

/** Segment of the reports that lists the times for which each source was collected. */
export const COLLECTED_TIMES = 'collected';

/** Segment of a collection that is replaced as a whole. */
export const WHOLE_COLLECTION = 'newest';
