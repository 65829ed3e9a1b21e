import { type Table as ArrowTable, tableFromIPC } from 'apache-arrow';
import type { z } from 'zod';
import { columns, type Table } from '../../schemas/columns.ts';
import { boxAround } from '../../schemas/geo/around.ts';
import { distanceKm, isWithinKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { cells, detections, type TrackPoint, tracks } from '../../schemas/tables/radar.ts';
import { yieldToEventLoop } from '../http/event-loop.ts';
import type { Catalog, Edition } from './catalog.ts';
import { DataUnavailable } from './data-root.ts';

/** Rows of a live file, held as columns. */
interface LiveTable<Row> {
  readonly length: number;
  /** One row as an object. */
  readonly at: (index: number) => Row;
  readonly column: <Name extends keyof Row & string>(name: Name) => ArrayLike<Row[Name]>;
}

/** Detections of one scan in a place. */
interface PlaceScan {
  scan_time: number;
  /** Index of its largest detection, and of equal ones the first. */
  largest: number;
  max_ml_mm: number;
  max_confidence: number;
}

/** A five-character geohash with a detection in the live window. */
export interface Place {
  readonly geohash5: string;
  /** Of its largest detection in the newest scan that touched it. */
  readonly lat: number;
  readonly lon: number;
  readonly last_detected: number;
  /** Oldest first. */
  readonly scans: readonly Readonly<PlaceScan>[];
}

/** A published track that continues: its newest row from a scan with its cell, and its newest row of any kind. */
export type Storm = Readonly<Record<'seen' | 'newest', TrackPoint>>;

/** An item near a point; nearest first, equals by name. */
export interface Found<Item> {
  readonly item: Item;
  /** WGS84 geodesic. */
  readonly distance_km: number;
}

/** The half hour before the newest scan, immutable. Callers that look back from the clock pass `since_ms`, the oldest scan that counts. */
export type LiveSnapshot = Awaited<ReturnType<typeof snapshotOf>>;

export type Live = Awaited<ReturnType<typeof openLive>>;

/** Opens the live snapshot of the catalog's root; it is replaced before an edition is handed out. */
export async function openLive(catalog: Catalog) {
  let newest: LiveSnapshot | undefined;
  const snapshots = new WeakMap<Edition, LiveSnapshot>();
  await catalog.beforeEdition(async (edition) => {
    const { newest_scan_ms } = edition;
    if (newest?.version !== versionOf(edition) || newest.newest_scan_ms !== newest_scan_ms)
      newest = await snapshotOf(edition);
    snapshots.set(edition, newest);
  });
  return {
    /** The snapshot of an edition, by default of the newest; throws DataUnavailable like the catalog. */
    snapshot: (edition = catalog.edition()): LiveSnapshot => {
      const prepared = snapshots.get(edition);
      if (prepared === undefined) throw new DataUnavailable('the live snapshot', 'was not made ready with its edition');
      return prepared;
    },
  };
}

/** Changes with every snapshot. */
function versionOf({ live, newest_scan_ms }: Edition): string {
  return live === null ? `none ${newest_scan_ms}` : `${live.detections} ${live.cells} ${live.tracks}`;
}

async function snapshotOf(edition: Edition) {
  const { files, live, newest_scan_ms } = edition;
  const detectionRows = await readTable(files, live?.detections, detections);
  const cellRows = await readTable(files, live?.cells, cells);
  const trackRows = await readTable(files, live?.tracks, tracks);
  const places = placesOf(detectionRows);
  await yieldToEventLoop();
  const storms = stormsOf(trackRows);
  const times = [detectionRows.column('scan_time'), trackRows.column('scan_time')].flatMap((all) => Array.from(all));
  const scanTimes = [...new Set(times)].sort((a, b) => a - b);
  const byTrack = new Map(storms.map((storm) => [storm.seen.track_id, storm]));
  const [cellAt, tracksOfCell, ofCell] = [cellRows, trackRows, detectionRows].map((rows) =>
    groupBy(rows, (index) => cellKey(rows, index)),
  );
  const ofTrack = groupBy(detectionRows, (index) => detectionRows.column('track_id')[index] ?? null);
  const newestHail = rowsOfScan(detectionRows, newest_scan_ms);
  const [lats, lons] = [detectionRows.column('lat'), detectionRows.column('lon')];
  const stormCells = new Set(storms.map(({ seen }) => `${seen.scan_time} ${seen.cell_index}`));
  return {
    newest_scan_ms,
    version: versionOf(edition),
    detections: detectionRows,
    /** Every published track that continues. */
    storms,
    placesWithin: (position: Position, radius_km: number, since_ms: number): Found<Place>[] => {
      const recent = places.filter(({ last_detected }) => last_detected >= since_ms);
      return within(recent, position, radius_km, ({ lat, lon, geohash5: name }) => ({ lat, lon, name }));
    },
    stormsWithin: (position: Position, radius_km: number, since_ms: number): Found<Storm>[] => {
      const recent = storms.filter(({ seen }) => seen.scan_time >= since_ms);
      return within(recent, position, radius_km, ({ seen: { lat, lon, track_id: name } }) => ({ lat, lon, name }));
    },
    /** Indices of the detections of the newest scan: all, and those within a distance of a point, in no order. */
    newestHail,
    newestHailWithin: (position: Position, radius_km: number): readonly number[] => {
      const isNear = boxTest(position, radius_km);
      const at = (pixel: number) => ({ lat: lats[pixel], lon: lons[pixel] });
      return newestHail.filter((pixel) => isNear(at(pixel)) && isWithinKm(position, at(pixel), radius_km));
    },
    /** True for a detection in a storm cell that is the newest of a storm. */
    isTracked: (detection: number): boolean => stormCells.has(cellKey(detectionRows, detection) ?? ''),
    /** Oldest scan with hail or storms that is not older than an instant; null without one. Answers change when it does. */
    oldestSince: (since_ms: number): number | null => scanTimes.find((scan_time) => scan_time >= since_ms) ?? null,
    /** Storm of a track while it lives; undefined for any other name. */
    storm: (track_id: string): Storm | undefined => byTrack.get(track_id),
    /** A storm cell; null when the window does not hold it. `shared`: several tracks have a part, its figures belong to none alone. */
    cell: (scan_time: number, cell_index: number | null) => {
      const key = `${scan_time} ${cell_index}`;
      const [index] = cellAt(key);
      return index === undefined ? null : { ...cellRows.at(index), shared: tracksOfCell(key).length > 1 };
    },
    /** Indices of the detections of a storm cell, and of a track over the whole window. */
    detectionsOfCell: (scan_time: number, cell_index: number | null) => ofCell(`${scan_time} ${cell_index}`),
    detectionsOfTrack: ofTrack,
  };
}

/** Indices of the rows of one scan; rows come scan by scan. */
function rowsOfScan(rows: LiveTable<{ readonly scan_time: number }>, scan_ms: number | null): number[] {
  const times = rows.column('scan_time');
  const indices: number[] = [];
  for (let index = rows.length - 1; index >= 0 && times[index] === scan_ms; index--) indices.push(index);
  return indices.reverse();
}

async function readTable<Row extends z.ZodObject>(
  files: Pick<Edition['files'], 'bytes'>,
  path: string | undefined,
  table: Table<Row>,
): Promise<LiveTable<z.infer<Row>>> {
  if (path === undefined) return liveTable(table, null);
  let arrow: ArrowTable;
  try {
    arrow = tableFromIPC(await files.bytes(path));
  } catch (cause) {
    throw new DataUnavailable(path, 'is named by the switch and cannot be read', { cause });
  }
  const names = new Set(arrow.schema.names.map(String));
  const missing = columns(table).find(({ name }) => !names.has(name));
  if (missing !== undefined) throw new DataUnavailable(path, `has no column ${missing.name}`);
  await yieldToEventLoop();
  return liveTable(table, arrow);
}

function liveTable<Row extends z.ZodObject>(table: Table<Row>, arrow: ArrowTable | null): LiveTable<z.infer<Row>> {
  const names = columns(table).map(({ name }) => name);
  const values = new Map<string, ArrayLike<unknown>>();
  const column = (name: string) => {
    const known = values.get(name) ?? plainColumn(arrow, name);
    values.set(name, known);
    return known;
  };
  return {
    length: arrow?.numRows ?? 0,
    column: column as LiveTable<z.infer<Row>>['column'],
    at: (index) => Object.fromEntries(names.map((name) => [name, column(name)[index]])) as z.infer<Row>,
  };
}

/** Values of a column: a typed array where nothing can be missing, else an array with nulls; instants as milliseconds. */
function plainColumn(arrow: ArrowTable | null, name: string): ArrayLike<unknown> {
  const vector = arrow?.getChild(name) ?? null;
  if (vector === null) return new Array<null>(arrow?.numRows ?? 0).fill(null); // a column that older files lack
  const raw: unknown = vector.nullCount === 0 ? vector.toArray() : null;
  return raw instanceof Float64Array || raw instanceof Uint16Array || raw instanceof Int32Array ? raw : [...vector];
}

/** Every place of the window with its scans, in the order of their first detection. */
function placesOf(rows: LiveTable<z.infer<typeof detections.row>>): Place[] {
  const [geohash, time] = [rows.column('geohash5'), rows.column('scan_time')];
  const [size, ml] = [rows.column('estimated_size_mm'), rows.column('ml_predicted_size_mm')];
  const [confidence, lat, lon] = [rows.column('confidence'), rows.column('lat'), rows.column('lon')];
  const scansOf = new Map<string, PlaceScan[]>();
  for (let index = 0; index < rows.length; index++) {
    const place = geohash[index] as string;
    const scan_time = time[index];
    const scans = scansOf.get(place) ?? [];
    if (scans.length === 0) scansOf.set(place, scans);
    const last = scans.at(-1);
    if (last?.scan_time !== scan_time) {
      scans.push({ scan_time, largest: index, max_ml_mm: ml[index], max_confidence: confidence[index] });
      continue;
    }
    if (size[index] > size[last.largest]) last.largest = index;
    last.max_ml_mm = Math.max(last.max_ml_mm, ml[index]);
    last.max_confidence = Math.max(last.max_confidence, confidence[index]);
  }
  return Array.from(scansOf, ([geohash5, scans]) => {
    const { largest, scan_time } = scans.at(-1) as PlaceScan;
    return { geohash5, lat: lat[largest], lon: lon[largest], last_detected: scan_time, scans };
  });
}

/** Continuing tracks with at least two scans, in the order of their first row. */
function stormsOf(rows: LiveTable<TrackPoint>): Storm[] {
  const ids = rows.column('track_id');
  const states = rows.column('state');
  const newest = new Map<string, number>();
  const seen = new Map<string, number>();
  for (let index = 0; index < rows.length; index++) {
    const id = ids[index] as string;
    newest.set(id, index);
    if (states[index] === 'tracked') seen.set(id, index);
  }
  return [...newest].flatMap(([id, last]) => {
    const lastSeen = seen.get(id);
    if (lastSeen === undefined) return [];
    const storm = { seen: rows.at(lastSeen), newest: rows.at(last) };
    const goesOn = storm.newest.state === 'tracked' || storm.newest.state === 'coasted';
    return goesOn && storm.seen.scan_count > 1 ? [storm] : [];
  });
}

/** Name of the storm cell of a row; null for a row of none. */
function cellKey(rows: LiveTable<{ readonly scan_time: number; readonly cell_index: number | null }>, index: number) {
  const cell_index = rows.column('cell_index')[index] ?? null;
  return cell_index === null ? null : `${rows.column('scan_time')[index]} ${cell_index}`;
}

/** Finds the row indices of a key, in order; they are grouped at the first call. */
function groupBy(rows: { readonly length: number }, key: (index: number) => string | null) {
  let groups: Map<string | null, number[]> | undefined;
  return (name: string): readonly number[] => {
    groups ??= Map.groupBy(Array(rows.length).keys(), key);
    return groups.get(name) ?? [];
  };
}

/** True for points in a box around a circle: a pre-filter, since geodesics are a hundred times as slow. */
function boxTest(position: Position, radius_km: number): (point: Position) => boolean {
  const [west, south, east, north] = boxAround(position, radius_km);
  return ({ lat, lon }) => lat >= south && lat <= north && lon >= west && lon <= east;
}

/** Items within a distance of a point, the distance included, nearest first, equals by name. */
function within<Item>(
  items: readonly Item[],
  position: Position,
  radius_km: number,
  placeOf: (item: Item) => Position & { readonly name: string },
): Found<Item>[] {
  const isNear = boxTest(position, radius_km);
  return items
    .map((item) => ({ item, place: placeOf(item) }))
    .filter(({ place }) => isNear(place))
    .map(({ item, place }) => ({ item, name: place.name, distance_km: distanceKm(position, place) }))
    .filter(({ distance_km }) => distance_km <= radius_km)
    .sort((a, b) => a.distance_km - b.distance_km || (a.name < b.name ? -1 : 1))
    .map(({ item, distance_km }) => ({ item, distance_km }));
}
