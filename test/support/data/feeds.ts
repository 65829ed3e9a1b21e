import type { FeedFile } from '../../../pipeline/feeds/define-feed.ts';
import { type IngestedFiles, ingestFeedFiles } from '../../../pipeline/feeds/ingest-files.ts';
import { WEB_FEEDS } from '../../../pipeline/feeds/web-feeds.ts';
import { openRoot } from '../../../pipeline/publish/open-root.ts';
import { alertFeature, alertFile, type MadeAlert } from './alert.ts';

/** Ingests files of feeds into a data root, as a poll of the feeds does. */
export async function publishFeeds(path: string, files: readonly FeedFile[], now_ms: number): Promise<IngestedFiles> {
  const root = await openRoot(path, 'test', 0, now_ms);
  try {
    return await ingestFeedFiles(root, WEB_FEEDS, files, { now_ms, provenance: 'observed' });
  } finally {
    await root.close();
  }
}

export type Box = readonly [west: number, south: number, east: number, north: number];

/** A ring around a box, counter-clockwise. */
export function ringOf([west, south, east, north]: Box): number[][] {
  return [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
}

/** What a warning is made from; times as ISO 8601. */
export interface MadeWarning extends Omit<MadeAlert, 'geometry'> {
  readonly id: string;
  readonly sent: string;
  readonly ends: string;
  readonly box?: Box;
  /** Number of the event; messages of one number belong together. */
  readonly event_number?: number;
  readonly action?: string;
}

/** A file of alerts with some warnings in it. */
export function alertsFile(received_ms: number, ...warnings: readonly MadeWarning[]): FeedFile {
  const features = warnings.map(({ id, sent, ends, box, event_number = 101, action = 'NEW', ...more }) =>
    alertFeature({
      geometry: { type: 'Polygon', coordinates: [ringOf(box ?? [-98, 35, -97, 36])] },
      properties: { id, sent, ends, expires: ends, ...more.properties },
      parameters: {
        VTEC: [`/O.${action}.KOUN.SV.W.${String(event_number).padStart(4, '0')}.000000T0000Z-${vtecTime(ends)}/`],
        ...more.parameters,
      },
    }),
  );
  return { name: 'alerts.json', bytes: alertFile(...features), received_ms };
}

function vtecTime(iso: string): string {
  const [date = '', time = ''] = new Date(iso).toISOString().split('T');
  return `${date.slice(2).replaceAll('-', '')}T${time.slice(0, 5).replace(':', '')}Z`;
}

/** What one layer of an outlook is made from; times as `YYYYMMDDHHMM`. */
export interface MadeLayer {
  readonly day: number;
  /** Word of the layer in its file's name: cat, torn, hail, sighail, cighail, wind, prob. */
  readonly word: string;
  readonly issue: string;
  readonly valid: string;
  readonly expire: string;
  /** Rings of each area by its label: the shell and its holes; none is a layer that shows nothing. */
  readonly areas: readonly (readonly [label: string, ...rings: number[][][]])[];
  readonly simulated?: boolean;
  readonly received_ms: number;
}

/** A file of one layer. */
export function layerFile({ day, word, issue, valid, expire, areas, simulated, received_ms }: MadeLayer): FeedFile {
  const properties = { ISSUE: issue, VALID: valid, EXPIRE: expire, ...(simulated ? { SOURCE: 'simulated' } : {}) };
  const empty = {
    type: 'Feature',
    geometry: { type: 'GeometryCollection', geometries: [] },
    properties: { ...properties, LABEL: '', LABEL2: '' },
  };
  const features = areas.map(([LABEL, ...coordinates]) => ({
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates },
    properties: { ...properties, LABEL },
  }));
  const bytes = Buffer.from(
    JSON.stringify({ type: 'FeatureCollection', features: features.length === 0 ? [empty] : features }),
  );
  const name = day < 4 ? `day${day}otlk_${word}.lyr.geojson` : `day${day}prob.lyr.geojson`;
  return { name, bytes, received_ms };
}

/** Aviation text of a watch (SAW) with an outline; times as `DDHHMM`. `KSIM` is the office of the simulator. */
export function watchFile(
  watch: { readonly number: number; readonly from: string; readonly to: string; readonly office?: string },
  box: Box | null,
  received_ms: number,
): FeedFile {
  const { number, from, to, office = 'KWNS' } = watch;
  const outline = box === null ? [] : ['', `LAT...LON ${ringOf(box).slice(0, 4).map(outlinePosition).join(' ')}`];
  const lines = [
    `WWUS30 ${office} ${from}`,
    `SAW${number % 10}`,
    `SPC AWW ${from}`,
    `WW ${number} SEVERE TSTM KS OK ${from}Z - ${to}Z`,
    'HAIL SURFACE AND ALOFT..2 INCHES. WIND GUSTS..60 KNOTS.',
    ...outline,
    '',
  ];
  return { name: `saw${number % 10}.txt`, bytes: Buffer.from(lines.join('\n')), received_ms };
}

/** Latitude and longitude in hundredths, the longitude without its hundred. */
function outlinePosition([lon = 0, lat = 0]: number[]): string {
  const hundredths = Math.round(-lon * 100) % 10_000;
  return `${Math.round(lat * 100)}${String(hundredths).padStart(4, '0')}`;
}
/** A row of a daily list of the Storm Prediction Center. */
export interface ListedReport {
  /** `HHMM` UTC; before 1200 it belongs to the day after that of the file. */
  readonly time: string;
  readonly inches: number;
  readonly lat: number;
  readonly lon: number;
  /** `SIM` is the office of the simulator. */
  readonly office?: string;
}

/** A daily list of hail reports; the convective date is that of its name. */
export function reportList(date: string, reports: readonly ListedReport[], received_ms: number): FeedFile {
  const lines = reports.map(
    ({ time, inches, lat, lon, office = 'SIM' }) =>
      `${time},${Math.round(inches * 100)},3 N TOWN,CLEVELAND,OK,${lat.toFixed(4)},${lon.toFixed(4)},SEEN (${office})`,
  );
  const bytes = Buffer.from(['Time,Size,Location,County,State,Lat,Lon,Comments', ...lines, ''].join('\n'));
  return { name: `${date.slice(2).replaceAll('-', '')}_rpts_hail.csv`, bytes, received_ms };
}
