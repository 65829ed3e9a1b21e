import { type FileOutlook, type SpcOutlook, spcOutlooks as table } from '../../schemas/tables/feeds.ts';
import { outlookLayerOf, readOutlookGeoJson } from '../read/spc-outlook-geojson.ts';
import { readOutlookPoints } from '../read/spc-outlook-points.ts';
import { feed, hasAwipsLine, ONLY_ADDS, type ReceivedItem } from './define-feed.ts';
import { fetchPages } from './web-pages.ts';

const POINTS = /^PTS(DY[123]|D48)$/;
const HAZARDS = ['torn', 'hail', 'wind'];
/** Layers of significant severity exist while there is any; they were renamed in 2026. */
const SIGNIFICANT = HAZARDS.flatMap((hazard) => [`sig${hazard}`, `cig${hazard}`]);

/** A layer of one file: its areas belong together, and a newer issue of the layer replaces all of them. */
interface Layer extends Pick<SpcOutlook, 'data_source' | 'forecast_date' | 'day' | 'hazard' | 'part' | 'issue_time'> {
  readonly areas: readonly FileOutlook[];
}

/** Convective outlooks of the Storm Prediction Center for days 1 to 8: the newest issue of each layer of each day. */
export const spcOutlooks = feed<Layer, SpcOutlook>({
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
    const { rows, set_aside } =
      layer === null
        ? readOutlookPoints(bytes, name, received_ms)
        : readOutlookGeoJson(bytes, name, layer, received_ms);
    return { ...ONLY_ADDS, rows: groupByLayer(rows), set_aside };
  },
  collection: {
    name: 'outlooks',
    table,
    item_version: 1,
    timeOf: dayStart,
    provenanceOf: ({ data_source }) => data_source,
    rows: newestLayers,
    rowTime: dayStart,
  },
});

function dayStart({ forecast_date }: { readonly forecast_date: string }): number {
  return Date.parse(`${forecast_date}T12:00:00Z`);
}

function groupByLayer(rows: readonly FileOutlook[]): Layer[] {
  const layers = Map.groupBy(rows, (row) => `${layerKey(row)} ${row.part}`);
  return Array.from(layers.values(), (areas) => {
    const { data_source, forecast_date, day, hazard, part, issue_time } = areas[0];
    return { data_source, forecast_date, day, hazard, part, issue_time, areas };
  });
}

function layerKey(layer: Pick<SpcOutlook, 'data_source' | 'forecast_date' | 'day' | 'hazard'>): string {
  return `${layer.data_source} ${layer.forecast_date} ${layer.day} ${layer.hazard}`;
}

/** Areas of the newest issue of each layer of each day; of several files of one part of an issue the one received last counts. */
function newestLayers(items: readonly ReceivedItem<Layer>[]): SpcOutlook[] {
  const byLayer = Map.groupBy(items, ({ item }) => layerKey(item));
  return [...byLayer.values()].flatMap((versions) => {
    const newest_issue = Math.max(...versions.map(({ item }) => item.issue_time));
    const parts = new Map(
      versions
        .filter(({ item }) => item.issue_time === newest_issue)
        .toSorted((a, b) => a.received_ms - b.received_ms)
        .map((version) => [version.item.part, version]),
    );
    return [...parts.values()].flatMap(({ item, received_ms }) =>
      item.areas.map((area) => ({ ...area, fetched_at: received_ms })),
    );
  });
}
