import { type FileOutlook, type SpcOutlook, spcOutlooks } from '../../schemas/tables/spc-outlooks.ts';
import { outlookLayerOf, readOutlookGeoJson } from '../read/spc-outlook-geojson.ts';
import { readOutlookPoints } from '../read/spc-outlook-points.ts';
import { collection, type KeptItem } from './collection.ts';
import { hasAwipsLine } from './file-kind.ts';

const POINTS = /^PTS(DY[123]|D48)$/;
const NO_OTHERS: ReadonlyMap<string, number> = new Map();

/** A layer as one file has it: its areas belong together, and a newer issue of the layer replaces all of them. */
interface Layer extends Pick<SpcOutlook, 'data_source' | 'forecast_date' | 'day' | 'hazard' | 'part' | 'issue_time'> {
  readonly areas: readonly FileOutlook[];
}

/** Convective outlooks of days 1 to 8: of each layer of a day the newest issue. */
export const outlooks = collection<Layer, SpcOutlook>({
  name: 'outlooks',
  table: spcOutlooks,
  item_version: 1,
  accepts: (file) => outlookLayerOf(file.name) !== null || hasAwipsLine(file, POINTS),
  read: ({ name, bytes, received_ms }) => {
    const layer = outlookLayerOf(name);
    const { rows, set_aside } =
      layer === null
        ? readOutlookPoints(bytes, name, received_ms)
        : readOutlookGeoJson(bytes, name, layer, received_ms);
    return { rows: layersOf(rows), set_aside, others: NO_OTHERS, listing: null };
  },
  timeOf: startOf,
  provenanceOf: ({ data_source }) => data_source,
  rows: newestLayers,
  rowTime: startOf,
});

function startOf({ forecast_date }: { readonly forecast_date: string }): number {
  return Date.parse(`${forecast_date}T12:00:00Z`);
}

function layersOf(rows: readonly FileOutlook[]): Layer[] {
  const layers = Map.groupBy(rows, (row) => `${layerKey(row)} ${row.part}`);
  return [...layers.values()].flatMap((areas) => {
    const [first] = areas;
    if (first === undefined) return [];
    const { data_source, forecast_date, day, hazard, part, issue_time } = first;
    return { data_source, forecast_date, day, hazard, part, issue_time, areas };
  });
}

function layerKey({
  data_source,
  forecast_date,
  day,
  hazard,
}: Pick<SpcOutlook, 'data_source' | 'forecast_date' | 'day' | 'hazard'>): string {
  return `${data_source} ${forecast_date} ${day} ${hazard}`;
}

/** Of each layer of each day the newest issue; of several files of one part of it that which came last. */
function newestLayers(items: readonly KeptItem<Layer>[]): SpcOutlook[] {
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
