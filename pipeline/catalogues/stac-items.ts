import { COLLECTIONS } from '../../schemas/collections.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import { type Bbox, enclosing } from '../../schemas/geo/position.ts';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { uncovered } from '../../schemas/tables/radar.ts';
import { MS_PER_DAY, scanTime, stormDateStart, timestamp } from '../../schemas/time.ts';
import { HAIL, MONTHS, SCAN_ARCHIVES, UNDATED } from './stac-collections.ts';

/** An item of the catalogue, but for its assets: all of it follows from the head of a partition. */
export interface StacEntry extends StacFolder {
  readonly id: string;
  readonly title: string;
  readonly provenance: MixedProvenance;
  readonly bbox: Bbox;
  /** First and last instant of its data, epoch milliseconds. */
  readonly start_ms: number;
  readonly end_ms: number;
  /** Further properties. */
  readonly properties: Readonly<Record<string, unknown>>;
  /** True for the files of the partition that are its assets. */
  readonly holds: (file: PublishedFile) => boolean;
}

/** A folder of items: a collection, or one of its years. */
export interface StacFolder {
  readonly collection: string;
  readonly year: string | null;
}

/** The folders that the items of a partition lie in; [] for a partition that the catalogue does not know. */
export function foldersOf(partition: string): StacFolder[] {
  const year = partition.slice(0, 4);
  if (/^\d{4}-/.test(partition)) return [HAIL, SCAN_ARCHIVES].map((collection) => ({ collection, year }));
  if (partition.startsWith(layout.monthPartition(''))) return [{ collection: MONTHS, year: null }];
  if (partition === layout.staticPartition) return [{ collection: UNDATED, year: null }];
  const collection = COLLECTIONS.find((name) => layout.collectionPartition(name) === partition);
  return collection === undefined ? [] : [{ collection, year: null }];
}

/** The items of a partition of a data root; none of one that was cleared. */
export function entriesOf(head: Head): StacEntry[] {
  const [folder] = foldersOf(head.partition);
  if (folder === undefined || (head.files.length === 0 && head.scans.count === 0)) return [];
  const { collection } = folder;
  if (collection === HAIL) return dateEntries(head);
  if (collection === MONTHS) {
    const month = head.partition.slice(layout.monthPartition('').length);
    return [entryOf(head, MONTHS, `${MONTHS}-${month}`, `Hail in ${month}`, spanOfMonth(month), isTable)];
  }
  return [...new Set(head.files.map(({ segment }) => segment))].map((segment) => {
    const holds = (file: PublishedFile) => isTable(file) && file.segment === segment;
    const id = collection === UNDATED ? segment : `${collection}-${segment}`;
    const words = collection === UNDATED ? segment : `${collection}: ${segment}`;
    const span = /^\d{4}-\d{2}$/.test(segment) ? spanOfMonth(segment) : atCommit(head);
    return entryOf(head, collection, id, `${words[0]?.toUpperCase()}${words.slice(1)}`, span, holds);
  });
}

function dateEntries(head: Head): StacEntry[] {
  const date = head.partition;
  const span = spanOfDate(head);
  const year = date.slice(0, 4);
  const isDay = ({ kind }: PublishedFile) => kind === 'table' || kind === 'daily-tiles';
  const isScan = ({ kind }: PublishedFile) => kind === 'scan-tiles' || kind === 'reflectivity-tiles';
  const properties = {
    'hail:storm_date': date,
    'hail:storm_day_start_hour': head.storm_day_start_hour,
    'hail:closed': head.closed,
    'hail:scans': head.scans.count,
  };
  const tables = entryOf(head, HAIL, date, `Hail on ${date}`, span, isDay);
  const tiles = entryOf(head, SCAN_ARCHIVES, `${date}-tiles`, `Map tiles of the scans of ${date}`, span, isScan);
  const both = head.scans.count === 0 ? [tables] : [tables, tiles];
  return both.map((entry) => ({ ...entry, year, properties: { ...properties, ...entry.properties } }));
}

function isTable({ kind }: PublishedFile): boolean {
  return kind === 'table';
}

interface Span {
  readonly start_ms: number;
  readonly end_ms: number;
}

function entryOf(
  head: Head,
  collection: string,
  id: string,
  words: string,
  span: Span,
  holds: StacEntry['holds'],
): StacEntry {
  const files = head.files.filter((file) => collection === SCAN_ARCHIVES || holds(file));
  const rows = boxOfRows(files);
  const said = head.source === 'observed' ? '' : ` (${head.source})`;
  return {
    collection,
    id,
    title: `${words}${said}`,
    year: null,
    provenance: head.source,
    bbox: rows ?? LATTICE.bbox,
    ...span,
    properties: {
      updated: head.committed_at,
      'hail:source': head.source,
      'hail:manifest_version': head.manifest_version,
      'hail:commit': head.commit,
      'hail:bbox_of': rows === null ? 'lattice' : 'rows',
    },
    holds,
  };
}

/** Box of the pixels that rows lie in; null without positions. What no radar sees is no data. */
function boxOfRows(files: readonly PublishedFile[]): Bbox | null {
  const boxes = files.flatMap(({ table, bbox }) => (bbox === null || table === uncovered.name ? [] : [bbox]));
  const box = enclosing(boxes);
  if (box === null) return null;
  const [west, south, east, north] = box;
  // Rows have the centres of pixels, and a box of one row is no area.
  const margin = LATTICE.step / 2;
  return [
    Math.max(-180, rounded(west - margin)),
    Math.max(-90, rounded(south - margin)),
    Math.min(180, rounded(east + margin)),
    Math.min(90, rounded(north + margin)),
  ];
}

function rounded(degrees: number): number {
  return Math.round(degrees * 1e6) / 1e6;
}

/** First to last scan of a storm date; the whole date where no file says. */
function spanOfDate({ partition, storm_day_start_hour, files, scans }: Head): Span {
  const start_ms = stormDateStart(partition, storm_day_start_hour);
  const firsts = files.flatMap(({ first_scan }) => (first_scan === null ? [] : [scanTime(first_scan)]));
  const lasts = files.flatMap(({ last_scan }) => (last_scan === null ? [] : [scanTime(last_scan)]));
  if (scans.last !== null) lasts.push(scanTime(scans.last));
  return {
    start_ms: firsts.length === 0 ? start_ms : Math.min(...firsts),
    end_ms: lasts.length === 0 ? start_ms + MS_PER_DAY : Math.max(...lasts),
  };
}

/** A month `YYYY-MM` in UTC, to its last second. */
function spanOfMonth(month: string): Span {
  const start_ms = Date.parse(`${month}-01T00:00:00Z`);
  const next = new Date(start_ms);
  return { start_ms, end_ms: next.setUTCMonth(next.getUTCMonth() + 1) - 1000 };
}

function atCommit({ committed_at }: Head): Span {
  const time_ms = Date.parse(committed_at);
  return { start_ms: time_ms, end_ms: time_ms };
}

/** The item of an entry as GeoJSON, with its links and assets. */
export function itemOf(entry: StacEntry, partition: string, assets: Readonly<Record<string, object>>): object {
  const { collection, id, title, year, bbox, start_ms, end_ms, properties } = entry;
  const [west, south, east, north] = bbox;
  const ring = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
  const toCollection = year === null ? '.' : '..';
  return {
    type: 'Feature',
    stac_version: STAC_VERSION,
    stac_extensions: [TABLE_EXTENSION, PROJECTION_EXTENSION, FILE_EXTENSION],
    id,
    collection,
    bbox,
    geometry: { type: 'Polygon', coordinates: [ring] },
    properties: {
      title,
      datetime: null,
      start_datetime: timestamp(start_ms),
      end_datetime: timestamp(end_ms),
      'proj:code': 'EPSG:4326',
      ...properties,
    },
    links: [
      link('root', year === null ? '../catalog.json' : '../../catalog.json'),
      link('collection', `${toCollection}/collection.json`),
      link('parent', year === null ? './collection.json' : './catalog.json'),
      link('describedby', `${dataRootFrom(entry)}${layout.head(partition)}`, 'The manifest that lists these files'),
    ],
    assets,
  };
}

/** Way from an item to the data root. */
export function dataRootFrom({ year }: Pick<StacEntry, 'year'>): string {
  return year === null ? '../../' : '../../../';
}

export const STAC_VERSION = '1.1.0';
export const TABLE_EXTENSION = 'https://stac-extensions.github.io/table/v1.3.0/schema.json';
export const PROJECTION_EXTENSION = 'https://stac-extensions.github.io/projection/v2.0.0/schema.json';
export const FILE_EXTENSION = 'https://stac-extensions.github.io/file/v2.1.0/schema.json';

/** A link to another file of the catalogue, or to JSON beside it. */
export function link(rel: string, href: string, title?: string): object {
  const type = rel === 'item' ? 'application/geo+json' : 'application/json';
  return { rel, href, type, ...(title === undefined ? {} : { title }) };
}
