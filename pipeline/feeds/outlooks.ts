import { type SpcOutlook, spcOutlooks as table } from '../../schemas/tables/feeds.ts';
import { outlookLayerOf, readOutlookGeoJson } from '../read/outlooks.ts';
import { badFile } from '../read/rejected-item.ts';
import { contentOf, feed, fetchPages, hasAwipsLine, newestRows, type ReceivedRows } from './define-feed.ts';

const POINTS = /^PTS(DY[123]|D48)$/;
const HAZARDS = ['torn', 'hail', 'wind'];
/** Layers of significant severity exist while there is any; they were renamed in 2026. */
const SIGNIFICANT = HAZARDS.flatMap((hazard) => [`sig${hazard}`, `cig${hazard}`]);

/** Convective outlooks of the Storm Prediction Center for days 1 to 8: the newest issue of each layer of each day. */
export const spcOutlooks = feed<SpcOutlook>({
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
    table,
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
