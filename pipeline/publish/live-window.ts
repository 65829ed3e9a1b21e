import { join } from 'node:path';
import type { RecordBatch } from 'apache-arrow';
import type { Table } from '../../schemas/columns.ts';
import { mixedSource } from '../../schemas/data-source.ts';
import { layout } from '../../schemas/layout.ts';
import { type Current, MANIFEST_VERSION, type Manifest, sourceOfDate } from '../../schemas/manifest.ts';
import { cells } from '../../schemas/tables/cells.ts';
import { detections } from '../../schemas/tables/detections.ts';
import { tracks } from '../../schemas/tables/tracks.ts';
import { scanId, scanTime, timestamp } from '../../schemas/time.ts';
import type { Engine } from '../duckdb.ts';
import { tablePaths } from './compact.ts';
import { arrowFile, LIVE_WINDOW_MIN, recordBatch } from './live.ts';
import type { ScanProducts } from './segment.ts';
import { sha256, writeSynced } from './store.ts';
import { readRows } from './tables.ts';

const LIVE_TABLES = { detections, cells, tracks } as const;
type LiveTable = keyof typeof LIVE_TABLES;

/** One scan of the live window, its rows ready to be written. */
export interface LiveScan {
  readonly scan_time: number;
  readonly batches: Readonly<Record<LiveTable, RecordBatch>>;
}

/** A scan's part of the live window. */
export function liveScan(products: Pick<ScanProducts, 'scan_time' | LiveTable>): LiveScan {
  return {
    scan_time: products.scan_time,
    batches: {
      detections: recordBatch(detections, products.detections),
      cells: recordBatch(cells, products.cells),
      tracks: recordBatch(tracks, products.tracks),
    },
  };
}

/** Observation time of the newest scan that any date lists, epoch milliseconds; null on an empty root. */
export function newestScan(heads: Iterable<Manifest>): number | null {
  let newest: string | null = null;
  for (const head of heads) {
    const last = head.scans.at(-1)?.scan_id ?? null;
    if (last !== null && (newest === null || last > newest)) newest = last;
  }
  return newest === null ? null : scanTime(newest);
}

/** Scans of the 30 minutes before the newest one, as the lists have them. */
export function liveScanIds(heads: Iterable<Manifest>, newest_ms: number): string[] {
  const oldest = scanId(newest_ms - LIVE_WINDOW_MIN * 60_000);
  return [...heads].flatMap((head) => head.scans.map((scan) => scan.scan_id).filter((id) => id >= oldest)).sort();
}

/** Reads scans of the live window back from the published tables: after a restart, or after a redo. */
export async function readLiveScans(
  engine: Engine,
  dataRoot: string,
  heads: readonly Manifest[],
  scanIds: readonly string[],
): Promise<LiveScan[]> {
  if (scanIds.length === 0) return [];
  const since_ms = Math.min(...scanIds.map(scanTime));
  const rowsOf = async (table: Table) => {
    const paths = heads.flatMap((head) => tablePaths(dataRoot, head, table.name));
    const rows = await readRows<{ scan_time: number }>(
      engine,
      table,
      paths,
      `scan_time >= make_timestamp(${since_ms * 1000})`,
    );
    return Map.groupBy(rows, (row) => row.scan_time);
  };
  const [detectionRows, cellRows, trackRows] = [await rowsOf(detections), await rowsOf(cells), await rowsOf(tracks)];
  return scanIds.map((id) => {
    const scan_time = scanTime(id);
    return {
      scan_time,
      batches: {
        detections: recordBatch(detections, detectionRows.get(scan_time) ?? []),
        cells: recordBatch(cells, cellRows.get(scan_time) ?? []),
        tracks: recordBatch(tracks, trackRows.get(scan_time) ?? []),
      },
    };
  });
}

/** Manifests of the dates that some scans belong to. */
function holdersOf(heads: readonly Manifest[], scans: readonly LiveScan[]): Manifest[] {
  const ids = new Set(scans.map((scan) => scanId(scan.scan_time)));
  return heads.filter((head) => head.scans.some((scan) => ids.has(scan.scan_id)));
}

/**
 * Writes the live snapshot into staging and says what the switch must become.
 * `scans` are those of the window, oldest first; `heads` the newest manifest of every date.
 */
export async function stageLive(
  staging: string,
  scans: readonly LiveScan[],
  heads: Iterable<Manifest>,
  now_ms: number,
): Promise<{ current: Current; files: { staged: string; path: string }[] }> {
  const newest = scans.at(-1) as LiveScan;
  const id = scanId(newest.scan_time);
  const files: { staged: string; path: string }[] = [];
  const all = [...heads];
  const holders = holdersOf(all, scans);
  const source = mixedSource(holders.map((head) => head.source)) ?? 'observed';
  const stage = async (name: LiveTable) => {
    const content = await arrowFile(
      LIVE_TABLES[name],
      scans.map((scan) => scan.batches[name]),
      source,
    );
    const staged = join(staging, `live-${name}.arrow`);
    await writeSynced(staged, content);
    const path = `${layout.live}/${id}-${sha256(content).slice(0, 8)}.${name}.arrow`;
    files.push({ staged, path });
    return path;
  };
  const live = {
    detections: await stage('detections'),
    cells: await stage('cells'),
    tracks: await stage('tracks'),
    first_scan: scanId((scans[0] as LiveScan).scan_time),
  };
  const holder = holders.find((head) => head.scans.some((scan) => scan.scan_id === id));
  return {
    files,
    current: {
      manifest_version: MANIFEST_VERSION,
      scan_id: id,
      data_timestamp: timestamp(newest.scan_time),
      data_as_of: timestamp(now_ms),
      source: holder === undefined ? 'observed' : sourceOfDate(holder),
      open_dates: Object.fromEntries(all.filter((head) => !head.closed).map((head) => [head.partition, head.commit])),
      live,
    },
  };
}
