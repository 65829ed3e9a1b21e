import { join } from 'node:path';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { ingestedAt, type Manifest, type PublishedFile } from '../../schemas/manifest.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import { dayMax } from '../../schemas/tables/day-max.ts';
import { SCAN_TABLES } from '../../schemas/tables/index.ts';
import { uncovered } from '../../schemas/tables/uncovered.ts';
import type { Engine } from '../duckdb.ts';
import { type Edit, editOf, type StagedFile, samePartition } from './commit.ts';
import { allRows, mergedDayMax, mergedUncovered } from './merge.ts';
import { segmentName } from './segment.ts';
import { stageTable } from './stage.ts';

/** Name of the segment that the scans of a closed date share; unique over all dates. */
export function daySegment(date: string): string {
  return `day-${date}`;
}

/** Absolute paths of a manifest's files of one table, in the order of their scans. */
export function tablePaths(dataRoot: string, manifest: Pick<Manifest, 'files'>, table: string): string[] {
  return manifest.files
    .filter((file) => file.table === table)
    .sort((a, b) => ((a.first_scan ?? '') < (b.first_scan ?? '') ? -1 : 1))
    .map((file) => join(dataRoot, file.path));
}

/**
 * Segments of finished hours that still lie in several pieces, as groups to be joined: `[[segment, …], …]`.
 * The hour of the newest scan is left alone.
 */
export function unfinishedHours(manifest: Manifest): string[][] {
  const hourOf = (scan_id: string) => scan_id.slice(0, 'YYYYMMDDTHH'.length);
  const newest = hourOf(manifest.scans.at(-1)?.scan_id ?? '');
  const hours = Map.groupBy(
    manifest.scans.filter((scan) => scan.segment !== daySegment(manifest.partition) && hourOf(scan.scan_id) !== newest),
    (scan) => hourOf(scan.scan_id),
  );
  return [...hours.values()]
    .map((scans) => [...new Set(scans.map((scan) => scan.segment))])
    .filter((segments) => segments.length > 1);
}

/**
 * Edit that joins segments into one: the same rows in one file per table, the newest of the tracker's checkpoints.
 * `closing` joins a whole date into day files and fills in what needs the whole day.
 */
export async function regroup(
  engine: Engine,
  dataRoot: string,
  staging: string,
  manifest: Manifest,
  segments: readonly string[],
  closing: boolean,
): Promise<Edit> {
  const members = new Set(segments);
  const scans = manifest.scans.filter((scan) => members.has(scan.segment));
  const [first_scan, last_scan] = [scans[0]?.scan_id ?? null, scans.at(-1)?.scan_id ?? null];
  const segment = closing ? daySegment(manifest.partition) : segmentName(first_scan ?? '', last_scan ?? '');
  const files = manifest.files.filter((file) => members.has(file.segment));
  const covers = { segment, first_scan, last_scan };
  const staged: StagedFile[] = [];
  for (const table of SCAN_TABLES) {
    const pathsOf = (name: string) =>
      files.filter((file) => file.table === name).map((file) => join(dataRoot, file.path));
    const paths = pathsOf(table.name);
    if (paths.length === 0) continue;
    const query =
      table === dayMax
        ? mergedDayMax(paths, closing ? pathsOf('detections') : null)
        : table === uncovered
          ? mergedUncovered(paths, pathsOf('frames'))
          : allRows(table, paths);
    const destination = { folder: layout.table(table.name, manifest.partition), stem: closing ? 'day' : segment };
    staged.push(await stageTable(engine, staging, table, { query }, manifest.source, destination, covers));
  }
  const checkpoint = files
    .filter((file) => file.kind === 'state')
    .sort(byLastScan)
    .at(-1);
  const relisted = files.filter((file) => file.kind === 'scan-tiles' || file === checkpoint);
  return editOf(samePartition(manifest), {
    drop_segments: segments,
    add_scans: scans.map((scan) => ({ ...scan, segment })),
    add_files: staged,
    relist_files: relisted.map((file) => ({ ...file, segment })),
    changed_tables: closing ? [dayMax.name] : [],
    closed: closing,
    ingested_at: ingestedAt(manifest),
  });
}

function byLastScan(a: PublishedFile, b: PublishedFile): number {
  return (a.last_scan ?? '') < (b.last_scan ?? '') ? -1 : 1;
}

/** A month is cut into squares of so many pixels: a query about one place opens only the files near it. */
const REGION_PX = 500;
/** A month's files cover no scans of their own. */
const MONTH = { segment: 'month', first_scan: null, last_scan: null };

/**
 * Edit of a month partition: the day maxima of its closed dates, one file for each region with hail, for questions about
 * one place over long times. `days` are the heads of those dates; the list holds the commit of each.
 */
export async function monthEdit(
  engine: Engine,
  dataRoot: string,
  staging: string,
  month: string,
  days: readonly Head[],
  previous: Manifest | null,
): Promise<Edit> {
  const paths = days.flatMap((day) => tablePaths(dataRoot, day, dayMax.name));
  const provenance = combineProvenances(days.map((day) => day.source)) ?? 'observed';
  const add_files: StagedFile[] = [];
  for (const region of await regionsOf(engine, paths)) {
    const query = `SELECT * FROM (${allRows(dayMax, paths)}) WHERE "row" BETWEEN ${region.row} AND ${region.row + REGION_PX - 1}
      AND col BETWEEN ${region.col} AND ${region.col + REGION_PX - 1}`;
    const destination = { folder: layout.monthTable(dayMax.name, month), stem: `r${region.row}c${region.col}` };
    add_files.push(await stageTable(engine, staging, dayMax, { query }, provenance, destination, MONTH));
  }
  const partition = layout.monthPartition(month);
  const storm_day_start_hour = days[0]?.storm_day_start_hour ?? 0;
  return editOf(
    { partition, provenance, storm_day_start_hour, closed: true },
    {
      drop_segments: previous === null ? [] : [MONTH.segment],
      add_files,
      changed_tables: [dayMax.name],
      dates: Object.fromEntries(days.map((day) => [day.partition, day.commit])),
      ingested_at: days.map(ingestedAt).sort().at(-1) ?? null,
    },
  );
}

/** First row and column of every region that holds a row, from north-west to south-east. */
async function regionsOf(engine: Engine, paths: readonly string[]): Promise<{ row: number; col: number }[]> {
  if (paths.length === 0) return [];
  const first = (column: string) => `(${column} // ${REGION_PX} * ${REGION_PX})::INTEGER`;
  return engine.rows(
    `SELECT DISTINCT ${first('"row"')} AS "row", ${first('col')} AS col FROM (${allRows(dayMax, paths)}) ORDER BY ALL`,
  );
}
