import { isIsolated } from '../error.ts';
import type { Feed, FeedIdentity } from '../feed.ts';
import type { Log } from '../log.ts';
import { readOutdated } from '../publish/inputs.ts';
import type { Root } from '../publish/root.ts';
import { type ClimatologyReport, refreshClimatology } from './derive-climatology.ts';
import { datesToCount } from './hail-dates.ts';
import { publishForecast } from './publish-forecast.ts';

/** Outcome of a refresh. */
export interface Refreshed {
  /** Null when the climatology was not due or failed. */
  readonly climatology: ClimatologyReport | null;
  /** Collections and static tables whose rows changed. */
  readonly changed: readonly string[];
  /** Tables that cannot be made, with the reason; their published rows stay. */
  readonly failed: readonly { readonly table: string; readonly reason: string }[];
}

/**
 * Makes the climatology when it is due, and the forecast when an input has another commit than the one it was made from: a process
 * may have been killed between the two commits. Every command that writes ends with this.
 */
export async function refreshForecast(root: Root, now_ms: number, log: Log): Promise<Refreshed> {
  const failed: { table: string; reason: string }[] = [];
  const attempt = async <T>(table: string, make: () => Promise<T>): Promise<T | null> => {
    try {
      return await make();
    } catch (error) {
      if (!isIsolated(error)) throw error;
      failed.push({ table, reason: error.message });
      log.warn('Table:Refresh:Failed', { table, reason: error.message });
      return null;
    }
  };
  const climatology = await attempt('climatology', () => refreshClimatology(root, now_ms, log));
  const outdated = (await readOutdated(root.path)).find(({ table }) => table === 'outlook');
  const forecast = outdated === undefined ? null : await attempt('outlook', () => publishForecast(root, now_ms, log));
  if (outdated !== undefined && forecast !== null)
    log.info('Table:Refresh:Done', { table: outdated.table, reason: outdated.reason });
  return { climatology, changed: [...(climatology?.changed ? ['climatology'] : []), ...(forecast ?? [])], failed };
}

/** Polled daily, remade weekly. */
export const CLIMATOLOGY_FEED: FeedIdentity = { name: 'climatology', collection: 'climatology', every_s: 24 * 3600 };
/** The blend follows its components, the fastest of which change every hour. */
export const OUTLOOK_FEED: FeedIdentity = { name: 'outlook', collection: 'outlook', every_s: 3 * 3600 };

/** The climatology, made from all closed storm dates when it is due. */
export function climatologyFeed(log: Log): Feed {
  return madeFeed(CLIMATOLOGY_FEED, async (root, now_ms) => {
    const made = await refreshClimatology(root, now_ms, log);
    // A success before the first date is closed would delay the next poll by a day.
    const failure = datesToCount(root) === null ? 'no storm date is closed, expected at least one' : null;
    return { failure, changed: made === null ? [] : ['climatology'] };
  });
}

/** The hours and days of the forecast, made again from published tables: the days move on with the clock. */
export function outlookFeed(log: Log): Feed {
  return madeFeed(OUTLOOK_FEED, async (root, now_ms) => {
    const changed = await publishForecast(root, now_ms, log);
    // A new root has no components yet. A success would delay the next poll by hours.
    const failure = changed === null ? 'none of its components is published, expected at least one' : null;
    return { failure, changed: changed ?? [] };
  });
}

/** Feed of a table that is made from published ones: its poll reads nothing. */
function madeFeed(
  identity: FeedIdentity,
  make: (root: Root, now_ms: number) => Promise<{ failure: string | null; changed: readonly string[] }>,
): Feed {
  const publish = async (root: Root, now_ms: number) => {
    const { failure, changed } = await make(root, now_ms);
    return { failure: failure === null ? null : `${identity.name}: ${failure}`, files: [], changed };
  };
  return { ...identity, poll: async (now_ms) => ({ publish: (root) => publish(root, now_ms) }) };
}
