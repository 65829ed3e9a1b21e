import type { WebAddresses } from '../config.ts';
import type { Feed } from '../feed.ts';
import type { Web } from '../sources/http.ts';
import type { WebFeed } from './define-feed.ts';
import { ingestFeedFiles } from './ingest-files.ts';
import { spcOutlooks } from './outlooks.ts';
import { lsr, spcReports } from './reports.ts';
import { warnings } from './warnings.ts';
import { discussions, watches } from './watches.ts';

/** Every feed of reports, warnings, watches and outlooks. */
export const WEB_FEEDS: readonly WebFeed[] = [spcReports, lsr, warnings, watches, discussions, spcOutlooks];

/** A web feed as one that can be polled: a poll fetches its files, publishing ingests them. */
export function openWebFeed(feed: WebFeed, web: Web, addresses: WebAddresses): Feed {
  return {
    name: feed.name,
    collection: feed.collection.name,
    every_s: feed.every_s,
    poll: async (now_ms) => {
      const { files: fetched, failures } = await feed.fetch(web, addresses, now_ms);
      return {
        publish: async (root) => {
          const named = fetched.map(({ name, bytes }) => ({ name, bytes, received_ms: now_ms }));
          // Undelivered files may be all that the feed has: only a poll without failures shows that it is empty.
          const is_complete = failures.length === 0;
          const span = is_complete ? feed.collectedByPoll?.(now_ms) : undefined;
          const collected = span === undefined ? [] : [{ ...span, data_source: 'observed' } as const];
          const options = { now_ms, provenance: 'observed', is_complete, collected } as const;
          const { files, changed } = await ingestFeedFiles(root, [feed], named, options);
          for (const [index, file] of fetched.entries())
            if (file.is_final || files[index]?.refused === null) file.confirm();
          const rejected = files.find((file) => file.refused !== null);
          const failure = rejected === undefined ? (failures[0] ?? null) : `${rejected.name}: ${rejected.refused}`;
          return { failure, files, changed };
        },
      };
    },
  };
}
