import { warnings as table, type Warning } from '../../schemas/tables/feeds.ts';
import { readAlerts } from '../read/alerts.ts';
import { feed, isJsonWith } from './define-feed.ts';
import { fetchPages } from './web-pages.ts';

const ALERTS = /(?:^|\/)alerts?[\w-]*\.(?:geo)?json$/;

/**
 * Messages about Severe Thunderstorm and Tornado Warnings of the National Weather Service. Every message is kept: the service
 * decides which warnings are in force when it answers.
 */
export const warnings = feed<Warning, Warning>({
  name: 'warnings',
  every_s: 120,
  fetch: (web, { nws_url }) => {
    const query = new URLSearchParams({ status: 'actual', event: 'Severe Thunderstorm Warning,Tornado Warning' });
    const url = `${nws_url}/alerts/active?${query}`;
    return fetchPages(web, [{ name: 'alerts.json', url, is_required: true, media_type: 'application/geo+json' }]);
  },
  accepts: (file) => ALERTS.test(file.name) || isJsonWith(file, 'messageType'),
  read: ({ name, bytes, received_ms }) => ({ ...readAlerts(bytes, name, received_ms), listing: null }),
  collection: {
    name: 'warnings',
    table,
    item_version: 1,
    timeOf: ({ issued_at }) => issued_at,
    provenanceOf: ({ data_source }) => data_source,
    rows: (items) => {
      // Of two messages with one id the one received last counts.
      const latest = items.toSorted((a, b) => a.received_ms - b.received_ms);
      return [...new Map(latest.map(({ item }) => [`${item.data_source} ${item.warning_id}`, item])).values()];
    },
    rowTime: ({ issued_at }) => issued_at,
  },
});
