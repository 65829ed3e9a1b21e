import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordBatch } from 'apache-arrow';
import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import { type Current, MANIFEST_VERSION, type Manifest, provenanceOfDate } from '../../schemas/manifest.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import { type Cell, cells, type Detection, detections, type TrackPoint, tracks } from '../../schemas/tables/radar.ts';
import { scanId, scanTime, timestamp } from '../../schemas/time.ts';
import type { Engine } from '../duckdb.ts';
import { namesIn, sha256, writeSynced } from '../files.ts';
import { arrowFile, recordBatch } from './arrow.ts';
import { tablePaths } from './manifests.ts';
import { type DateHead, newestScan, type PublishedDates } from './published-dates.ts';
import type { ScanProducts } from './segment.ts';
import { readRows } from './tables.ts';

/** Minutes of detections, cells and tracks that the live snapshot holds before its newest scan. */
export const LIVE_WINDOW_MIN = 30;

const LIVE_TABLES = { detections, cells, tracks } as const;
type LiveTable = keyof typeof LIVE_TABLES;

/** One scan of the live window, with its rows as Arrow record batches. */
interface LiveScan {
  readonly scan_time: number;
  readonly batches: Readonly<Record<LiveTable, RecordBatch>>;
}

function liveScan({ scan_time, ...rows }: Pick<ScanProducts, 'scan_time' | LiveTable>): LiveScan {
  const batches = {
    detections: recordBatch(detections, rows.detections),
    cells: recordBatch(cells, rows.cells),
    tracks: recordBatch(tracks, rows.tracks),
  };
  return { scan_time, batches };
}

/** A live snapshot in staging, and the current pointer that will name its files. */
interface StagedLive {
  readonly current: Current;
  readonly files: readonly { readonly staged: string; readonly path: string }[];
}

/**
 * Stages the snapshot of the published scans; null on an empty root. The rows of `fresh` scans are in memory; those of others
 * are read from the tables unless the window holds them. After a redo (`reload`) all are read again.
 */
export type StageLive = (fresh: readonly ScanProducts[], now_ms: number, reload: boolean) => Promise<StagedLive | null>;

/** The live window of a data root: the scans of the last 30 minutes, held in memory from one commit to the next. */
export function openLiveWindow(engine: Engine, dataRoot: string, staging: string, dates: PublishedDates): StageLive {
  let live: readonly LiveScan[] = [];
  return async (fresh, now_ms, reload) => {
    const newest_ms = newestScan(dates.heads.values());
    if (newest_ms === null) return null;
    const oldest = scanId(newest_ms - LIVE_WINDOW_MIN * 60_000);
    const holders = await holdersSince(dates, oldest);
    const wanted = holders
      .flatMap((date) => date.scans.map((scan) => scan.scan_id).filter((id) => id >= oldest))
      .sort();
    const inWindow = new Set(wanted);
    const known = new Map(reload ? [] : live.map((scan) => [scanId(scan.scan_time), scan]));
    for (const scan of fresh) {
      const id = scanId(scan.scan_time);
      if (inWindow.has(id)) known.set(id, liveScan(scan));
    }
    const missing = wanted.filter((id) => !known.has(id));
    for (const scan of await readLiveScans(engine, dataRoot, holders, missing)) known.set(scanId(scan.scan_time), scan);
    live = wanted.map((id) => known.get(id) as LiveScan);
    return stageLive(staging, live, holders, dates.heads.values(), now_ms);
  };
}

/** Manifests of the dates with scans since one of them. */
async function holdersSince({ heads, manifest }: PublishedDates, oldest: string): Promise<Manifest[]> {
  const holders: Manifest[] = [];
  for (const { partition, last_scan } of heads.values()) {
    const holder = last_scan !== null && last_scan >= oldest ? await manifest(partition) : null;
    if (holder !== null) holders.push(holder);
  }
  return holders;
}

/** Reads scans of the live window back from the published tables: after a restart, or after a redo. */
async function readLiveScans(
  engine: Engine,
  dataRoot: string,
  holders: readonly Manifest[],
  scanIds: readonly string[],
): Promise<LiveScan[]> {
  if (scanIds.length === 0) return [];
  const since_ms = Math.min(...scanIds.map(scanTime));
  const rowsOf = async <Row extends { readonly scan_time: number }>(table: Table) => {
    const paths = holders.flatMap((holder) => tablePaths(dataRoot, holder, table.name));
    const since = `scan_time >= make_timestamptz(${since_ms * 1000})`;
    const byScan = Map.groupBy(await readRows<Row>(engine, table, paths, since), (row) => row.scan_time);
    return (scan_time: number) => byScan.get(scan_time) ?? [];
  };
  const detectionsOf = await rowsOf<Detection>(detections);
  const cellsOf = await rowsOf<Cell>(cells);
  const tracksOf = await rowsOf<TrackPoint>(tracks);
  return scanIds.map(scanTime).map((scan_time) =>
    liveScan({
      scan_time,
      detections: detectionsOf(scan_time),
      cells: cellsOf(scan_time),
      tracks: tracksOf(scan_time),
    }),
  );
}

/** Writes the snapshot of the scans of a window, oldest first. `holders`: manifests of their dates; `heads`: those of every date. */
async function stageLive(
  staging: string,
  scans: readonly LiveScan[],
  holders: readonly Manifest[],
  heads: Iterable<DateHead>,
  now_ms: number,
): Promise<StagedLive> {
  const newest = scans.at(-1) as LiveScan;
  const id = scanId(newest.scan_time);
  const files: { staged: string; path: string }[] = [];
  const provenance = combineProvenances(holders.map((head) => head.source)) ?? 'observed';
  const stage = async (name: LiveTable) => {
    const batches = scans.map((scan) => scan.batches[name]);
    const content = await arrowFile(LIVE_TABLES[name], batches, provenance);
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
  const open = [...heads].filter((head) => !head.closed);
  const holder = holders.find(({ scans: held }) => held.some((scan) => scan.scan_id === id));
  return {
    files,
    current: {
      manifest_version: MANIFEST_VERSION,
      scan_id: id,
      data_timestamp: timestamp(newest.scan_time),
      data_as_of: timestamp(now_ms),
      source: holder === undefined ? 'observed' : provenanceOfDate(holder.partition, holder.source),
      open_dates: Object.fromEntries(open.map((head) => [head.partition, head.commit])),
      live,
    },
  };
}

/** Live snapshots that stay for readers who are behind: two hours of them at a scan every two minutes. */
export const KEPT_SNAPSHOTS = 60;
/** Time for which a replaced snapshot stays however many came after it, so that a reader has it open by then. */
export const KEPT_MS = 60_000;

interface Snapshot {
  readonly paths: readonly string[];
  /** By the clock of the process, which never steps. */
  readonly published_ms: number;
}

/** Receives the paths of each live snapshot once readers are pointed to it. */
export type RetireSnapshots = (paths: readonly string[]) => Promise<void>;

/**
 * Deletes live snapshots that are behind by more than the kept ones. Every snapshot holds the whole window, so that scans in quick
 * succession would fill a disk before the next sweep. What cannot be deleted is left to the sweep.
 */
export function openSnapshots(dataRoot: string, monotonic_ms = () => performance.now()): RetireSnapshots {
  /** Oldest first; null: not listed yet. */
  let kept: readonly Snapshot[] | null = null;
  return async (paths) => {
    const published_ms = monotonic_ms();
    kept ??= (await snapshotsIn(dataRoot, new Set(paths))).map((left) => ({ paths: left, published_ms }));
    const all: readonly Snapshot[] = [...kept, { paths, published_ms }];
    // A snapshot is replaced when the one after it is published.
    const remaining = all.filter(
      (_, index) =>
        index >= all.length - KEPT_SNAPSHOTS || published_ms - (all[index + 1]?.published_ms ?? published_ms) < KEPT_MS,
    );
    kept = remaining;
    // Equal content has an equal path: the snapshot of a scan that was made again may be a kept one as well.
    const wanted = new Set(remaining.flatMap((snapshot) => snapshot.paths));
    const old = all.slice(0, all.length - remaining.length).flatMap((snapshot) => snapshot.paths);
    await Promise.allSettled(old.filter((path) => !wanted.has(path)).map((path) => fs.rm(join(dataRoot, path))));
  };
}

/** Paths of the snapshots that earlier processes left, but for those of a new one, by the time of their newest scan. */
async function snapshotsIn(dataRoot: string, fresh: ReadonlySet<string>): Promise<string[][]> {
  const paths = (await namesIn(join(dataRoot, layout.live))).map((name) => `${layout.live}/${name}`).sort();
  // The tables of one snapshot begin with the same scan; two of one scan may count as one.
  const scanOf = (path: string) => path.split('-', 1)[0] ?? path;
  return [
    ...Map.groupBy(
      paths.filter((path) => !fresh.has(path)),
      scanOf,
    ).values(),
  ];
}
