import { columns } from '../../schemas/columns.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import { type Bbox, boxRing, enclosing } from '../../schemas/geo/position.ts';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import { ATTRIBUTIONS, combineProvenances, type MixedProvenance } from '../../schemas/provenance.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { MS_PER_DAY, scanTime, stormDateStart, timestamp } from '../../schemas/time.ts';
import { type Edition, isDate, type ListedFile } from './edition.ts';

const VERSION = '1.1.0';
const EXTENSIONS = [
  'https://stac-extensions.github.io/table/v1.3.0/schema.json',
  'https://stac-extensions.github.io/file/v2.1.0/schema.json',
];
const NOAA_TERMS = 'https://www.weather.gov/disclaimer';
const PARQUET = 'application/vnd.apache.parquet';
const PMTILES = 'application/vnd.pmtiles';
/** Code of SHA-256 and its length in bytes, as a multihash begins. */
const SHA256_MULTIHASH = '1220';
/** From the folder of a collection to the data root: `catalogues/<number>/stac/<collection>/`. */
const UP = '../../../../';

interface Item {
  readonly id: string;
  readonly title: string;
  readonly source: MixedProvenance;
  readonly bbox: Bbox;
  readonly start_ms: number;
  readonly end_ms: number;
  readonly file: object;
}

/**
 * The STAC catalogue of an edition and its files by path below `catalogues/<number>/stac/`: a collection for each table with rows and
 * one for the daily map tiles, with an item for each storm date, month or static table. All links are relative. `daily`: the archive
 * of each storm date.
 */
export function stacFiles(edition: Edition, daily: readonly ListedFile[], number: string) {
  const dated = edition.heads.filter(({ dates }) => dates === null);
  const below = new Map<string, object>();
  const links: object[] = [];
  const add = (id: string, title: string, files: readonly ListedFile[], fields: object) => {
    const groups = Map.groupBy(files, ({ head, file }) => (isDate(head.partition) ? head.partition : file.segment));
    const items = [...groups].map(([key, group]) => itemOf(id, key, group)).sort((a, b) => (a.id < b.id ? -1 : 1));
    if (items.length === 0) return;
    below.set(`${id}/collection.json`, collectionOf(id, title, items, fields));
    for (const item of items) below.set(`${id}/${item.id}.json`, item.file);
    links.push(link('child', `../${layout.catalogue(number)}/stac/${id}/collection.json`, id));
  };
  for (const table of TABLES) {
    const files = dated.flatMap((head) =>
      head.files.filter((file) => file.table === table.name && file.rows > 0).map((file) => ({ head, file })),
    );
    add(table.name, table.row.description ?? table.name, files, { 'table:columns': columnsOf(table) });
  }
  add('daily-tiles', 'Map tiles of each storm date.', daily, {});
  const root = {
    type: 'Catalog',
    stac_version: VERSION,
    id: 'hail',
    title: 'Hail',
    description: `Published files of a hail service: tables (Parquet) and daily map tiles (PMTiles). ${sourceWords(edition.source)}`,
    links: [link('root', './catalog.json'), ...links],
  };
  return { root, below };
}

/** Columns in the words of the table extension. */
function columnsOf(table: (typeof TABLES)[number]): object[] {
  return columns(table).map(({ name, type, description, unit, nullable }) => ({
    name,
    type: type.toLowerCase(),
    description: nullable ? `${description} May be null.` : description,
    ...(unit === null || unit === '1' || type.startsWith('TIMESTAMPTZ') ? {} : { unit }),
  }));
}

function collectionOf(id: string, description: string, items: readonly Item[], fields: object): object {
  const source = combineProvenances(items.map((item) => item.source));
  const start_ms = Math.min(...items.map((item) => item.start_ms));
  const end_ms = Math.max(...items.map((item) => item.end_ms));
  return {
    type: 'Collection',
    stac_version: VERSION,
    stac_extensions: EXTENSIONS,
    id,
    title: id,
    description: `${description} ${sourceWords(source)}`,
    license: 'other',
    providers: [{ name: 'NOAA', url: 'https://www.noaa.gov', roles: ['producer', 'licensor'] }],
    extent: {
      spatial: { bbox: [enclosing(items.map(({ bbox }) => bbox))] },
      temporal: { interval: [[timestamp(start_ms), timestamp(end_ms)]] },
    },
    summaries: { 'hail:source': [...new Set(items.map((item) => item.source))].sort() },
    ...fields,
    links: [
      link('root', `${UP}${layout.stac}/catalog.json`),
      link('parent', `${UP}${layout.stac}/catalog.json`),
      { rel: 'license', href: NOAA_TERMS, type: 'text/html', title: 'Observed data: public domain, by NOAA' },
      ...items.map((item) => link('item', `./${item.id}.json`, item.title)),
    ],
  };
}

function itemOf(collection: string, key: string, listed: readonly ListedFile[]): Item {
  const { head } = listed[0] as ListedFile;
  const files = listed.map(({ file }) => file);
  const id = key === collection ? key : `${collection}-${key}`;
  const title = head.source === 'observed' ? key : `${key} (${head.source})`;
  const [start_ms, end_ms] = spanOf(head, key, files);
  const bbox = boxOf(files);
  const file = {
    type: 'Feature',
    stac_version: VERSION,
    stac_extensions: EXTENSIONS,
    id,
    collection,
    bbox,
    geometry: { type: 'Polygon', coordinates: [boxRing(bbox)] },
    properties: {
      title,
      datetime: null,
      start_datetime: timestamp(start_ms),
      end_datetime: timestamp(end_ms),
      updated: head.committed_at,
      'hail:source': head.source,
      'hail:commit': head.commit,
      ...(isDate(head.partition) ? { 'hail:storm_date': head.partition, 'hail:closed': head.closed } : {}),
    },
    links: [
      link('root', `${UP}${layout.stac}/catalog.json`),
      link('collection', './collection.json'),
      link('parent', './collection.json'),
    ],
    assets: Object.fromEntries(files.map((one, k) => [files.length === 1 ? 'data' : `data-${k + 1}`, assetOf(one)])),
  };
  return { id, title, source: head.source, bbox, start_ms, end_ms, file };
}

function assetOf({ path, kind, bytes, sha256, rows, schema_version }: PublishedFile): object {
  const own =
    kind === 'table'
      ? { type: PARQUET, roles: ['data'], 'table:row_count': rows, 'hail:schema_version': schema_version }
      : { type: PMTILES, roles: ['visual'] };
  return { href: `${UP}${path}`, ...own, 'file:size': bytes, 'file:checksum': `${SHA256_MULTIHASH}${sha256}` };
}

/** Box around the pixels with rows; the lattice where no row has a position. */
function boxOf(files: readonly PublishedFile[]): Bbox {
  const box = enclosing(files.flatMap(({ bbox }) => (bbox === null ? [] : [bbox])));
  if (box === null) return LATTICE.bbox;
  // Rows have the centres of pixels, and a box of one row is no area.
  const margin = LATTICE.step / 2;
  const [west, south, east, north] = box;
  const rounded = (degrees: number) => Math.round(degrees * 1e6) / 1e6;
  return [rounded(west - margin), rounded(south - margin), rounded(east + margin), rounded(north + margin)];
}

/** First and last scan of a storm date, else the whole date; a whole month; else the time of the commit. Epoch milliseconds. */
function spanOf(head: Head, key: string, files: readonly PublishedFile[]): [start_ms: number, end_ms: number] {
  const scans = files.flatMap(({ first_scan, last_scan }) => [first_scan ?? [], last_scan ?? []].flat()).map(scanTime);
  if (scans.length > 0) return [Math.min(...scans), Math.max(...scans)];
  if (isDate(head.partition)) {
    const start_ms = stormDateStart(head.partition, head.storm_day_start_hour);
    return [start_ms, start_ms + MS_PER_DAY];
  }
  if (!/^\d{4}-\d{2}$/.test(key)) return [Date.parse(head.committed_at), Date.parse(head.committed_at)];
  const start = new Date(`${key}-01T00:00:00Z`);
  return [start.getTime(), new Date(start).setUTCMonth(start.getUTCMonth() + 1) - 1000];
}

function sourceWords(source: MixedProvenance | null): string {
  if (source === 'observed' || source === null) return `Source: ${ATTRIBUTIONS.observed}.`;
  return `${source === 'simulated' ? 'All of it is' : 'A part of it is'} simulated, not observed.`;
}

function link(rel: string, href: string, title?: string): object {
  const type = rel === 'item' ? 'application/geo+json' : 'application/json';
  return { rel, href, type, ...(title === undefined ? {} : { title }) };
}
