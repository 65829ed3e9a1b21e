import { warnings as table, type Warning } from '../../schemas/tables/feeds.ts';
import { readAlerts } from '../read/alerts.ts';
import { feed, fetchPages, isJsonWith, newestRows } from './define-feed.ts';

const ALERTS = /(?:^|\/)alerts?[\w-]*\.(?:geo)?json$/;

/**
 * Messages about Severe Thunderstorm and Tornado Warnings of the National Weather Service. The table has every message: the service
 * decides which warnings are in force.
 */
export const warnings = feed<Warning>({
  name: 'warnings',
  every_s: 120,
  fetch: (web, { nws_url }) => {
    const query = new URLSearchParams({ status: 'actual', event: 'Severe Thunderstorm Warning,Tornado Warning' });
    const url = `${nws_url}/alerts/active?${query}`;
    return fetchPages(web, [{ name: 'alerts.json', url, is_required: true, media_type: 'application/geo+json' }]);
  },
  accepts: (file) => ALERTS.test(file.name) || isJsonWith(file, 'messageType'),
  read: ({ name, bytes, received_ms }) => readAlerts(bytes, name, received_ms),
  collection: {
    name: 'warnings',
    table,
    timeOf: ({ issued_at }) => issued_at,
    provenanceOf: ({ data_source }) => data_source,
    merge: (stored, files) => {
      const all = [...stored, ...files.flatMap(({ rows }) => rows)];
      return newestRows(all, (row) => `${row.data_source} ${row.warning_id}`, 'received_at');
    },
  },
});
