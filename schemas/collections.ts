import { z } from 'zod';
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

/** Segment of the reports that lists the times for which each source was collected. */
export const COLLECTED_TIMES = 'collected';

/** Segment of a collection that is replaced as a whole. */
export const WHOLE_COLLECTION = 'newest';
