import { FORECAST_MODELS, type ForecastModel } from '../../schemas/tables/forecast.ts';
import type { Config } from '../config.ts';
import type { Feed, FeedIdentity } from '../feed.ts';
import { openWebFeed, WEB_FEEDS } from '../feeds/web-feeds.ts';
import { refreshClimatology } from '../forecast/derive-climatology.ts';
import { datesToCount } from '../forecast/hail-dates.ts';
import { modelFeed } from '../forecast/model-feed.ts';
import { publishForecast } from '../forecast/publish-forecast.ts';
import type { Log } from '../log.ts';
import type { HttpOptions } from '../sources/http.ts';
import { openWeb } from '../sources/http.ts';

/** Polled daily, remade weekly. */
export const CLIMATOLOGY_FEED: FeedIdentity = { name: 'climatology', collection: 'climatology', every_s: 24 * 3600 };
/** The blend follows its components, the fastest of which change every hour. */
export const OUTLOOK_FEED: FeedIdentity = { name: 'outlook', collection: 'outlook', every_s: 3 * 3600 };

/** Names of all feeds but the scans with one forecast model, each after those it is made from. */
export function feedNames(model: ForecastModel): string[] {
  return [...WEB_FEEDS.map(({ name }) => name), CLIMATOLOGY_FEED.name, model, OUTLOOK_FEED.name];
}

/** Names of all feeds but the scans, with every forecast model. */
export const FEED_NAMES: readonly string[] = [...new Set(FORECAST_MODELS.flatMap(feedNames))];

/** The feeds with the given names, in the order of `feedNames`. */
export function openFeeds(config: Config, names: readonly string[], log: Log, network: HttpOptions = {}): Feed[] {
  const { web: addresses, model } = config;
  const web = openWeb(addresses.user_agent, network);
  const server = { base_url: model.url, user_agent: addresses.user_agent, network };
  const all = [
    ...WEB_FEEDS.map((feed) => openWebFeed(feed, web, addresses)),
    climatologyFeed(log),
    modelFeed(model.name, server, config.data_root, log),
    outlookFeed(log),
  ];
  return all.filter(({ name }) => names.includes(name));
}

/** The climatology, made from all closed storm dates when it is due. */
export function climatologyFeed(log: Log): Feed {
  return {
    ...CLIMATOLOGY_FEED,
    poll: async (now_ms) => ({
      publish: async (root) => {
        const made = await refreshClimatology(root, now_ms, log);
        // A success before the first date is closed would delay the next poll by a day.
        const failure =
          datesToCount(root) === null ? 'climatology: no storm date is closed, expected at least one' : null;
        return { failure, files: [], changed: made === null ? [] : ['climatology'] };
      },
    }),
  };
}

/** The hours and days of the forecast, made again from published tables: the days move on with the clock. */
export function outlookFeed(log: Log): Feed {
  return {
    ...OUTLOOK_FEED,
    poll: async (now_ms) => ({
      publish: async (root) => {
        const changed = await publishForecast(root, now_ms, log);
        // A new root has no components yet. A success would delay the next poll by hours.
        const failure = changed === null ? 'outlook: none of its components is published, expected at least one' : null;
        return { failure, files: [], changed: changed ?? [] };
      },
    }),
  };
}
