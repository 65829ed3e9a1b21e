import fs from 'node:fs/promises';
import { join } from 'node:path';
import {
  Bool,
  type DataType,
  Field,
  Float64,
  Int32,
  makeData,
  RecordBatch,
  RecordBatchFileWriter,
  Schema,
  Struct,
  TimestampMillisecond,
  Uint16,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { columns, fileNotes, type Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import { type Current, MANIFEST_VERSION, type Manifest, provenanceOfDate } from '../../schemas/manifest.ts';
import { combineProvenances, type MixedProvenance } from '../../schemas/provenance.ts';
import { type Cell, cells, type Detection, detections, type TrackPoint, tracks } from '../../schemas/tables/radar.ts';
import { scanId, scanTime, timestamp } from '../../schemas/time.ts';
import type { ColumnType } from '../../schemas/units.ts';
import { sha256 } from '../files.ts';
import { tablePaths } from './manifests.ts';
import { type LiveScan, newestScan, publishedManifest, type Root } from './root.ts';
import type { ScanProducts } from './segment.ts';
import { readRows } from './tables.ts';

/** Minutes of detections, cells and tracks that the live snapshot holds before its newest scan. */
export const LIVE_WINDOW_MIN = 30;

const LIVE_TABLES = { detections, cells, tracks } as const;
type LiveTable = keyof typeof LIVE_TABLES;

/** A live snapshot in staging, and the content of `current.json` that will name its files. */
interface StagedLive {
  readonly current: Current;
  readonly files: readonly { readonly staged: string; readonly path: string }[];
}

/**
 * Stages the snapshot of the published scans of the last 30 minutes; null on an empty root. The rows of `fresh` scans are in
 * memory; those of others are read from the tables unless the window holds them. With `reload` all are read again.
 */
export async function stageLive(
  root: Root,
  fresh: readonly ScanProducts[],
  now_ms: number,
  reload: boolean,
): Promise<StagedLive | null> {
  const newest_ms = newestScan(root.heads.values());
  if (newest_ms === null) return null;
  const oldest = scanId(newest_ms - LIVE_WINDOW_MIN * 60_000);
  const holders: Manifest[] = [];
  for (const { partition, scans } of root.heads.values())
    if ((scans.last ?? '') >= oldest) holders.push(await publishedManifest(root, partition));
  const wanted = holders.flatMap(({ scans }) => scans.map((scan) => scan.scan_id).filter((id) => id >= oldest)).sort();
  const known = new Map(reload ? [] : root.live.scans.map((scan) => [scanId(scan.scan_time), scan]));
  for (const scan of fresh) {
    const id = scanId(scan.scan_time);
    if (wanted.includes(id)) known.set(id, liveScan(scan));
  }
  const missing = wanted.filter((id) => !known.has(id));
  for (const scan of await readLiveScans(root, holders, missing)) known.set(scanId(scan.scan_time), scan);
  root.live.scans = wanted.map((id) => known.get(id) as LiveScan);
  return stageSnapshot(root, holders, now_ms);
}

function liveScan({ scan_time, ...rows }: Pick<ScanProducts, 'scan_time' | LiveTable>): LiveScan {
  const batches = {
    detections: recordBatch(detections, rows.detections),
    cells: recordBatch(cells, rows.cells),
    tracks: recordBatch(tracks, rows.tracks),
  };
  return { scan_time, batches };
}

/** Reads scans of the live window back from the published tables: after a restart, or after a redo. */
async function readLiveScans(
  { engine, path }: Root,
  holders: readonly Manifest[],
  scanIds: readonly string[],
): Promise<LiveScan[]> {
  if (scanIds.length === 0) return [];
  const since = `scan_time >= make_timestamptz(${Math.min(...scanIds.map(scanTime)) * 1000})`;
  const read = async <Row extends { readonly scan_time: number }>(table: Table) => {
    const paths = holders.flatMap((holder) => tablePaths(path, holder, table.name));
    return Map.groupBy(await readRows<Row>(engine, table, paths, since), (row) => row.scan_time);
  };
  const rows = {
    detections: await read<Detection>(detections),
    cells: await read<Cell>(cells),
    tracks: await read<TrackPoint>(tracks),
  };
  return scanIds.map(scanTime).map((scan_time) => {
    const at = <Row>(byScan: ReadonlyMap<number, readonly Row[]>) => byScan.get(scan_time) ?? [];
    return liveScan({ scan_time, detections: at(rows.detections), cells: at(rows.cells), tracks: at(rows.tracks) });
  });
}

/** Writes the snapshot of the live window. `holders`: manifests of the dates of its scans. */
async function stageSnapshot(
  { staging, heads, live: { scans } }: Root,
  holders: readonly Manifest[],
  now_ms: number,
): Promise<StagedLive> {
  const [oldest, newest] = [scans[0] as LiveScan, scans.at(-1) as LiveScan];
  const id = scanId(newest.scan_time);
  const files: { staged: string; path: string }[] = [];
  const provenance = combineProvenances(holders.map(({ source }) => source)) ?? 'observed';
  const stage = async (name: LiveTable) => {
    const batches = scans.map((scan) => scan.batches[name]);
    const content = await arrowFile(LIVE_TABLES[name], batches, provenance);
    const staged = join(staging, `live-${name}.arrow`);
    await fs.writeFile(staged, content);
    const path = `${layout.live}/${id}-${sha256(content).slice(0, 8)}.${name}.arrow`;
    files.push({ staged, path });
    return path;
  };
  const live = {
    detections: await stage('detections'),
    cells: await stage('cells'),
    tracks: await stage('tracks'),
    first_scan: scanId(oldest.scan_time),
  };
  const open = [...heads.values()].filter((head) => !head.closed);
  const holder = holders.find(({ scans: held }) => held.some((scan) => scan.scan_id === id)) as Manifest;
  const current: Current = {
    manifest_version: MANIFEST_VERSION,
    scan_id: id,
    data_timestamp: timestamp(newest.scan_time),
    data_as_of: timestamp(now_ms),
    source: provenanceOfDate(holder.partition, holder.source),
    open_dates: Object.fromEntries(open.map((head) => [head.partition, head.commit])),
    live,
  };
  return { current, files };
}

/** Live snapshots that stay for readers who are behind: two hours of them at a scan every two minutes. */
export const KEPT_SNAPSHOTS = 60;
/** Time for which a replaced snapshot stays however many came after it, so that a reader has it open by then. */
export const KEPT_MS = 60_000;

/**
 * Deletes live snapshots of this process that are behind by more than the kept ones, once `paths` are published. Every snapshot
 * holds the whole window, so that scans in quick succession would fill a disk before the next sweep. The sweep deletes those that
 * stay, and those of earlier processes. `monotonic_ms`: the clock of the process.
 */
export async function retireSnapshots(
  { path: dataRoot, live }: Pick<Root, 'path' | 'live'>,
  paths: readonly string[],
  monotonic_ms: number,
): Promise<void> {
  const all = [...live.snapshots, { paths, published_ms: monotonic_ms }];
  // A snapshot is replaced when the one after it is published.
  const isKept = (index: number) =>
    index >= all.length - KEPT_SNAPSHOTS || monotonic_ms - (all[index + 1]?.published_ms ?? monotonic_ms) < KEPT_MS;
  live.snapshots = all.filter((_, index) => isKept(index));
  // Equal content has an equal path: the snapshot of a scan that was made again may be a kept one as well.
  const wanted = new Set(live.snapshots.flatMap((snapshot) => snapshot.paths));
  const old = all.flatMap((snapshot) => snapshot.paths).filter((path) => !wanted.has(path));
  await Promise.allSettled(old.map((path) => fs.rm(join(dataRoot, path))));
}

type Values = Readonly<Record<string, unknown>>;

/** Arrow schema of a table: the same names, order and meaning as its Parquet columns, with unit and description of each. */
function arrowSchema(table: Table, notes: Readonly<Record<string, string>> = {}): Schema {
  const fields = columns(table).map((field) => {
    const unit = field.unit === null ? {} : { unit: field.unit };
    const metadata = new Map(Object.entries({ ...unit, description: field.description }));
    return new Field(field.name, ARROW_TYPES[field.type](), field.nullable, metadata);
  });
  return new Schema(fields, new Map(Object.entries(notes)));
}

const ARROW_TYPES: Readonly<Record<ColumnType, () => DataType>> = {
  BOOLEAN: () => new Bool(),
  USMALLINT: () => new Uint16(),
  INTEGER: () => new Int32(),
  BIGINT: () => new Float64(),
  DOUBLE: () => new Float64(),
  TIMESTAMPTZ: () => new TimestampMillisecond('UTC'),
  DATE: () => new Utf8(),
  VARCHAR: () => new Utf8(),
  GEOMETRY: () => new Utf8(),
};

/** Rows of one scan as one Arrow record batch, which every snapshot with that scan writes again. */
export function recordBatch(table: Table, rows: readonly Values[]): RecordBatch {
  const schema = arrowSchema(table);
  const children = schema.fields.map(({ name, type }) => {
    const values = rows.map((row) => row[name] ?? null);
    return vectorFromArray(values, type).data[0] ?? makeData({ type });
  });
  const data = makeData({ type: new Struct(schema.fields), length: rows.length, nullCount: 0, children });
  return new RecordBatch(schema, data);
}

/** Arrow IPC file of some scans' batches; a file without rows still carries the schema. */
async function arrowFile(
  table: Table,
  batches: readonly RecordBatch[],
  provenance: MixedProvenance,
): Promise<Uint8Array> {
  const writer = new RecordBatchFileWriter();
  writer.reset(undefined, arrowSchema(table, fileNotes(table, provenance, 'arrow')));
  for (const batch of batches) writer.write(batch);
  writer.finish();
  return writer.toUint8Array();
}
