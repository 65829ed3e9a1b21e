import { refreshClimatology } from '../climatology/derive-climatology.ts';
import { datesToCount } from '../climatology/hail-dates.ts';
import type { Feed, FeedIdentity } from '../feed.ts';
import type { Log } from '../log.ts';
import { publishOutlook } from '../model-runs/publish-outlook.ts';

/** The blend follows its components, the fastest of which change by the hour. */
export const OUTLOOK_FEED: FeedIdentity = { name: 'outlook', collection: 'outlook', every_s: 3 * 3600 };
/** Looked at daily, made again weekly. */
export const CLIMATOLOGY_FEED: FeedIdentity = { name: 'climatology', collection: 'climatology', every_s: 24 * 3600 };

/** The seven-day outlook, made from what is published. */
export function outlookFeed(): Feed {
  return {
    ...OUTLOOK_FEED,
    poll: async (now_ms) => ({
      publish: async (root) => {
        const changed = await publishOutlook(root, now_ms);
        // On a new root the others are still to come; counted as read, the blend would be hours behind them.
        const failure = changed === null ? 'outlook: none of its components is published, expected at least one' : null;
        return { failure, files: [], changed: changed === true ? ['outlook'] : [] };
      },
    }),
  };
}

/** The climatology, made from all published storm dates when that is due. */
export function climatologyFeed(log: Log): Feed {
  return {
    ...CLIMATOLOGY_FEED,
    poll: async (now_ms) => ({
      publish: async (root) => {
        const made = await refreshClimatology(root, now_ms, log);
        // On a new root the scans are still to come; counted as read, the climatology would be a day behind them.
        const failure =
          datesToCount(root) === null ? 'climatology: no storm date is published, expected at least one' : null;
        return { failure, files: [], changed: made === null ? [] : ['climatology'] };
      },
    }),
  };
}
