import type { FeedState } from '../../schemas/collections.ts';
import type { WebAddresses } from '../config.ts';
import type { Root } from '../publish/root.ts';
import { type TakenFile, takeFeedFiles } from './take-feed-files.ts';
import type { Web } from './web.ts';
import type { WebFeed } from './web-feeds.ts';

/** What the state of a feed says of the feed itself. */
export type FeedName = Pick<FeedState, 'name' | 'collection' | 'every_s'>;

/** What became of what a look brought. */
export interface Outcome {
  /** Why the feed does not count as read, although something of it may have been published; null when it does. */
  readonly failure: string | null;
  readonly files: readonly TakenFile[];
  /** Collections whose rows changed. */
  readonly changed: readonly string[];
}

/** What a look brought, waiting to be published. May be published again when that failed. */
export interface Arrived {
  readonly publish: (root: Root) => Promise<Outcome>;
}

/** A feed that is looked at from time to time: away from the data root, which others may be writing. */
export interface ScheduledFeed extends FeedName {
  /** Throws what kept it from being read. */
  readonly look: (now_ms: number) => Promise<Arrived>;
}

/** A feed of the web: its files are read by the collection that they belong to. */
export function scheduledWebFeed(feed: WebFeed, web: Web, addresses: WebAddresses): ScheduledFeed {
  const { name, collection, every_s } = feed;
  return {
    name,
    collection,
    every_s,
    look: async (now_ms) => {
      const { files: fetched, failures } = await feed.look(web, addresses, now_ms);
      return {
        publish: async (root) => {
          const named = fetched.map((file) => ({ name: file.name, bytes: file.bytes, received_ms: now_ms }));
          // What was not delivered may be all that there is: only a whole look says that there is nothing.
          const looked_at = failures.length === 0 ? [collection] : [];
          const span = failures.length === 0 ? feed.collects?.(now_ms) : undefined;
          const collected = span === undefined ? [] : [{ ...span, data_source: 'observed' as const }];
          const { files, changed } = await takeFeedFiles(root, named, {
            ...{ now_ms, provenance: 'observed' },
            looked_at,
            collected,
          });
          for (const [index, file] of fetched.entries())
            if (file.is_final || files[index]?.refused === null) file.confirm();
          const refused = files.find((file) => file.refused !== null);
          const failure = refused === undefined ? (failures[0] ?? null) : `${refused.name}: ${refused.refused}`;
          return { failure, files, changed };
        },
      };
    },
  };
}
