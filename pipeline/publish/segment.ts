import { join } from 'node:path';
import type { Table } from '../../schemas/columns.ts';
import type { DataSource } from '../../schemas/data-source.ts';
import { layout } from '../../schemas/layout.ts';
import type { CommittedScan, PublishedFile } from '../../schemas/manifest.ts';
import type { Cell } from '../../schemas/tables/cells.ts';
import type { DayMax } from '../../schemas/tables/day-max.ts';
import type { Detection } from '../../schemas/tables/detections.ts';
import type { Frame } from '../../schemas/tables/frames.ts';
import { SCAN_TABLES } from '../../schemas/tables/index.ts';
import type { ProbSevereObject } from '../../schemas/tables/probsevere.ts';
import type { TrackPoint } from '../../schemas/tables/tracks.ts';
import { scanId } from '../../schemas/time.ts';
import type { Engine } from '../duckdb.ts';
import { addressedTiles } from './archives.ts';
import type { StagedFile } from './commit.ts';
import { sha256, writeSynced } from './store.ts';
import { stageRows } from './tables.ts';

/** Everything that one scan publishes. */
export interface ScanProducts {
  readonly scan_time: number;
  readonly storm_date: string;
  readonly simulated: boolean;
  readonly inputs: string;
  readonly detections: readonly Detection[];
  readonly cells: readonly Cell[];
  readonly tracks: readonly TrackPoint[];
  readonly probsevere: readonly ProbSevereObject[];
  readonly frame: Omit<Frame, 'tile_path' | 'tile_bytes'>;
  readonly archive: Uint8Array;
}

/** Consecutive scans of one storm date that are published, regrouped and replaced together. */
export interface Segment {
  readonly name: string;
  readonly scans: readonly CommittedScan[];
  readonly files: readonly StagedFile[];
}

/** Name of a segment: its scan, or its first and last scan. */
export function segmentName(firstScan: string, lastScan: string): string {
  return firstScan === lastScan ? firstScan : `${firstScan}_${lastScan}`;
}

/** Path of a data file: where it belongs, what it covers, and a hash of its content, so that a name never changes meaning. */
export function dataFileName(folder: string, stem: string, hash: string, extension: string): string {
  return `${folder}/${stem}-${hash.slice(0, 8)}.${extension}`;
}

/**
 * Writes the files of a segment into staging and reads them back.
 * `products` are scans of one storm date in order of time, `dayMaxRows` their day maximum, `state` the tracker's memory after them.
 */
export async function stageSegment(
  engine: Engine,
  staging: string,
  products: readonly ScanProducts[],
  dayMaxRows: readonly DayMax[],
  state: Uint8Array,
): Promise<Segment> {
  const first = products[0] as ScanProducts;
  const last = products.at(-1) as ScanProducts;
  const [firstScan, lastScan] = [scanId(first.scan_time), scanId(last.scan_time)];
  const name = segmentName(firstScan, lastScan);
  const date = first.storm_date;
  const source = first.simulated ? 'simulated' : 'observed';
  const covers = { segment: name, first_scan: firstScan, last_scan: lastScan };

  const pictures = await Promise.all(products.map((scan) => stagePicture(staging, scan, name)));
  const frames = products.map((scan, index): Frame => {
    const { path, bytes } = (pictures[index] as StagedFile).entry;
    return { ...scan.frame, tile_path: path, tile_bytes: bytes };
  });
  const rows: Readonly<Record<(typeof SCAN_TABLES)[number]['name'], readonly Record<string, unknown>[]>> = {
    detections: products.flatMap((scan) => scan.detections),
    cells: products.flatMap((scan) => scan.cells),
    tracks: products.flatMap((scan) => scan.tracks),
    probsevere: products.flatMap((scan) => scan.probsevere),
    frames,
    'day-max': dayMaxRows,
  };
  const files: StagedFile[] = [...pictures, await stageState(staging, date, state, covers)];
  for (const table of SCAN_TABLES) {
    if (rows[table.name].length > 0)
      files.push(await stageTable(engine, staging, table, rows[table.name], date, source, covers));
  }
  return {
    name,
    scans: products.map((scan) => ({ scan_id: scanId(scan.scan_time), segment: name, inputs: scan.inputs })),
    files,
  };
}

async function stageTable(
  engine: Engine,
  staging: string,
  table: Table,
  rows: readonly Record<string, unknown>[],
  date: string,
  source: DataSource,
  covers: Pick<PublishedFile, 'segment' | 'first_scan' | 'last_scan'>,
): Promise<StagedFile> {
  const staged = join(staging, `${table.name}-${covers.segment}.parquet`);
  const facts = await stageRows(engine, table, rows, staged, source);
  const path = dataFileName(layout.table(table.name, date), covers.segment, facts.sha256, 'parquet');
  return { staged, entry: { path, kind: 'table', table: table.name, ...covers, ...facts } };
}

async function stagePicture(staging: string, scan: ScanProducts, segment: string): Promise<StagedFile> {
  const id = scanId(scan.scan_time);
  const hash = sha256(scan.archive);
  const staged = join(staging, `${id}.pmtiles`);
  await writeSynced(staged, scan.archive);
  return {
    staged,
    entry: {
      path: dataFileName(layout.scanTiles(scan.storm_date), id, hash, 'pmtiles'),
      kind: 'scan-tiles',
      table: null,
      segment,
      rows: addressedTiles(scan.archive),
      bytes: scan.archive.length,
      sha256: hash,
      schema_version: 3,
      first_scan: id,
      last_scan: id,
      bbox: null,
      max_size_mm: scan.frame.max_size_mm,
    },
  };
}

async function stageState(
  staging: string,
  date: string,
  state: Uint8Array,
  covers: Pick<PublishedFile, 'segment' | 'first_scan' | 'last_scan'>,
): Promise<StagedFile> {
  const hash = sha256(state);
  const staged = join(staging, `state-${covers.segment}.json.gz`);
  await writeSynced(staged, state);
  return {
    staged,
    entry: {
      path: dataFileName(layout.stateDate(date), covers.last_scan as string, hash, 'json.gz'),
      kind: 'state',
      table: null,
      ...covers,
      rows: 1,
      bytes: state.length,
      sha256: hash,
      schema_version: 1,
      bbox: null,
      max_size_mm: null,
    },
  };
}
