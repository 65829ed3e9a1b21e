import { FORECAST_MODELS, type ForecastModel } from '../../schemas/tables/forecast.ts';
import type { Config } from '../config.ts';
import type { Feed } from '../feed.ts';
import { openWeb } from '../feeds/web.ts';
import { webFeed } from '../feeds/web-feed.ts';
import { WEB_FEEDS } from '../feeds/web-feeds.ts';
import type { Log } from '../log.ts';
import { modelFeed } from '../model-runs/model-feed.ts';
import type { Network } from '../sources/http.ts';
import { CLIMATOLOGY_FEED, climatologyFeed, OUTLOOK_FEED, outlookFeed } from './derived-feeds.ts';

/** Names of the feeds beside the scans, in the order in which one follows from another. */
export function feedNames(model: ForecastModel): string[] {
  return [...WEB_FEEDS.map(({ name }) => name), CLIMATOLOGY_FEED.name, model, OUTLOOK_FEED.name];
}

/** Every name that may be asked for, whichever model is set. */
export const FEED_NAMES: readonly string[] = [...new Set(FORECAST_MODELS.flatMap(feedNames))];

/** The feeds of some names. */
export function openFeeds(config: Config, names: readonly string[], log: Log, network: Network = {}): Feed[] {
  const { web: addresses, model } = config;
  const web = openWeb(addresses.user_agent, network);
  const server = { base_url: model.url, user_agent: addresses.user_agent, network };
  const all = [
    ...WEB_FEEDS.map((feed) => webFeed(feed, web, addresses)),
    climatologyFeed(log),
    modelFeed(model.name, server, config.data_root, log),
    outlookFeed(),
  ];
  return all.filter(({ name }) => names.includes(name));
}
