import type { WebAddresses } from '../config.ts';
import type { Feed } from '../feed.ts';
import { ingestFeedFiles } from './ingest-feed-files.ts';
import type { Web } from './web.ts';
import type { WebFeed } from './web-feeds.ts';

/** A feed of the web: its files are read by the collection that they belong to. */
export function webFeed(feed: WebFeed, web: Web, addresses: WebAddresses): Feed {
  const { name, collection, every_s } = feed;
  return {
    name,
    collection,
    every_s,
    poll: async (now_ms) => {
      const { files: fetched, failures } = await feed.poll(web, addresses, now_ms);
      return {
        publish: async (root) => {
          const named = fetched.map((file) => ({ name: file.name, bytes: file.bytes, received_ms: now_ms }));
          // What was not delivered may be all that there is: only a whole look says that there is nothing.
          const looked_at = failures.length === 0 ? [collection] : [];
          const span = failures.length === 0 ? feed.collects?.(now_ms) : undefined;
          const collected = span === undefined ? [] : [{ ...span, data_source: 'observed' as const }];
          const { files, changed } = await ingestFeedFiles(root, named, {
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
