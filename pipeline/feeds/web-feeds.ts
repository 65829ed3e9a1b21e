import {
  type SpcOutlook,
  spcOutlooks as spcOutlooksTable,
  type Warning,
  warnings as warningsTable,
} from '../../schemas/tables/feeds.ts';
import type { WebAddresses } from '../config.ts';
import type { Feed } from '../feed.ts';
import { readAlerts } from '../read/alerts.ts';
import { outlookLayerOf, readOutlookGeoJson } from '../read/outlooks.ts';
import { badFile } from '../read/rejected-item.ts';
import type { Web } from '../sources/http.ts';
import {
  contentOf,
  feed,
  fetchPages,
  hasAwipsLine,
  isJsonWith,
  newestRows,
  type ReceivedRows,
  type WebFeed,
} from './define-feed.ts';
import { ingestFeedFiles } from './ingest-files.ts';
import { lsr, spcReports } from './reports.ts';
import { discussions, watches } from './watches.ts';

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
    table: warningsTable,
    timeOf: ({ issued_at }) => issued_at,
    provenanceOf: ({ data_source }) => data_source,
    merge: (stored, files) => {
      const all = [...stored, ...files.flatMap(({ rows }) => rows)];
      return newestRows(all, (row) => `${row.data_source} ${row.warning_id}`, 'received_at');
    },
  },
});

const POINTS = /^PTS(DY[123]|D48)$/;
const HAZARDS = ['torn', 'hail', 'wind'];
/** Layers of significant severity exist while there is any; they were renamed in 2026. */
const SIGNIFICANT = HAZARDS.flatMap((hazard) => [`sig${hazard}`, `cig${hazard}`]);

/** Convective outlooks of the Storm Prediction Center for days 1 to 8: the newest issue of each layer of each day. */
const spcOutlooks = feed<SpcOutlook>({
  name: 'spc-outlooks',
  every_s: 3600,
  fetch: (web, { spc_url }) => {
    const layer = (folder: string, name: string, is_required: boolean) => ({
      name: `${name}.nolyr.geojson`,
      url: `${spc_url}/products/${folder}/${name}.nolyr.geojson`,
      is_required,
    });
    return fetchPages(web, [
      ...[1, 2].flatMap((day) => [
        layer('outlook', `day${day}otlk_cat`, true),
        ...HAZARDS.map((hazard) => layer('outlook', `day${day}otlk_${hazard}`, true)),
        ...SIGNIFICANT.map((word) => layer('outlook', `day${day}otlk_${word}`, false)),
      ]),
      layer('outlook', 'day3otlk_cat', true),
      layer('outlook', 'day3otlk_prob', true),
      ...['sigprob', 'cigprob', ...HAZARDS].map((word) => layer('outlook', `day3otlk_${word}`, false)),
      ...[4, 5, 6, 7, 8].map((day) => layer('exper/day4-8', `day${day}prob`, true)),
    ]);
  },
  accepts: (file) => outlookLayerOf(file.name) !== null || hasAwipsLine(file, POINTS),
  read: ({ name, bytes, received_ms }) => {
    const layer = outlookLayerOf(name);
    if (layer === null)
      throw badFile(name, 'PTS text is not read, expected the GeoJSON of a layer such as day1otlk_hail.nolyr.geojson');
    return readOutlookGeoJson(bytes, name, layer, received_ms);
  },
  collection: {
    name: 'outlooks',
    table: spcOutlooksTable,
    timeOf: ({ forecast_date }) => Date.parse(`${forecast_date}T12:00:00Z`),
    provenanceOf: ({ data_source }) => data_source,
    merge: newestLayers,
  },
});

/** Areas of the newest issue of each layer of each day; of several files of one part of an issue the one received last counts. */
function newestLayers(stored: readonly SpcOutlook[], files: readonly ReceivedRows<SpcOutlook>[]): SpcOutlook[] {
  const byLayer = Map.groupBy([stored, ...files.map(({ rows }) => rows)].flatMap(layersOf), ({ layer }) => layer);
  return [...byLayer.values()].flatMap((versions) => {
    const newest = Math.max(...versions.map(({ issue_time }) => issue_time));
    const issued = versions.filter(({ issue_time }) => issue_time === newest);
    return newestRows(issued, ({ part }) => part, 'fetched_at').flatMap(({ areas, fetched_at }) =>
      areas.map((area) => ({ ...area, fetched_at })),
    );
  });
}

/** Areas by part of a layer and issue, of one file: a newer file replaces all of them. */
function layersOf(rows: readonly SpcOutlook[]) {
  const layerOf = (row: SpcOutlook) => `${row.data_source} ${row.forecast_date} ${row.day} ${row.hazard}`;
  const byPart = Map.groupBy(rows, (row) => `${layerOf(row)} ${row.part} ${row.issue_time}`);
  return Array.from(byPart.values(), (same) => {
    const { part, issue_time, fetched_at } = same[0];
    const areas = same.map(({ fetched_at: _, ...area }) => area).sort((a, b) => (contentOf(a) < contentOf(b) ? -1 : 1));
    return { layer: layerOf(same[0]), part, issue_time, areas, fetched_at };
  });
}

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
