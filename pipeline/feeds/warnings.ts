import { warnings as table, type Warning } from '../../schemas/tables/warnings.ts';
import { readAlerts } from '../read/alerts.ts';
import { collection } from './collection.ts';
import { isJsonWith } from './file-kind.ts';

const ALERTS = /(?:^|\/)alerts?[\w-]*\.(?:geo)?json$/;

/** Messages about Severe Thunderstorm and Tornado Warnings, every one of them: which is in force is judged when asked. */
export const warnings = collection<Warning, Warning>({
  name: 'warnings',
  table,
  item_version: 1,
  accepts: (file) => ALERTS.test(file.name) || isJsonWith(file, 'messageType'),
  read: ({ name, bytes, received_ms }) => ({ ...readAlerts(bytes, name, received_ms), listing: null }),
  timeOf: ({ issued_at }) => issued_at,
  provenanceOf: ({ data_source }) => data_source,
  rows: (items) => {
    // Of two messages of one id the one that came last counts.
    const latest = items.toSorted((a, b) => a.received_ms - b.received_ms);
    return [...new Map(latest.map(({ item }) => [`${item.data_source} ${item.warning_id}`, item])).values()];
  },
  rowTime: ({ issued_at }) => issued_at,
});
