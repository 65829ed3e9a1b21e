import { join } from 'node:path';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { ingestedAt, type Manifest } from '../../schemas/manifest.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import { SCAN_TABLES } from '../../schemas/tables/index.ts';
import { dayMax, detections, frames, uncovered } from '../../schemas/tables/radar.ts';
import { commit } from './commit.ts';
import { changedDayTables } from './commit-dates.ts';
import { DERIVED_SEGMENT, deriveDay } from './day-products.ts';
import { type Edit, type StagedFile, samePartition } from './edit.ts';
import { tablePaths } from './manifests.ts';
import { allRows, mergedDayMaxSql, mergedUncoveredSql } from './merge.ts';
import { publishedManifest, type Root } from './root.ts';
import { segmentName } from './segment.ts';
import { stageTable } from './stage.ts';

/** Joins the segments of each finished hour of a date that has several; the hour of the newest scan is not finished. */
export async function compactHours(root: Root, storm_date: string, now_ms: number): Promise<void> {
  const manifest = await publishedManifest(root, storm_date);
  const hourOf = (scan_id: string) => scan_id.slice(0, 'YYYYMMDDTHH'.length);
  const newest = hourOf(manifest.scans.at(-1)?.scan_id ?? '');
  const scans = manifest.scans.filter(
    ({ segment, scan_id }) => segment !== daySegment(storm_date) && hourOf(scan_id) !== newest,
  );
  for (const hour of Map.groupBy(scans, ({ scan_id }) => hourOf(scan_id)).values()) {
    const segments = new Set(hour.map(({ segment }) => segment));
    if (segments.size > 1) await commit(root, [await joinSegments(root, manifest, segments, false)], now_ms);
  }
}

/** Turns a finished date into day files and closes it; false when it is closed already. */
export async function compactDay(root: Root, storm_date: string, now_ms: number): Promise<boolean> {
  const manifest = await publishedManifest(root, storm_date);
  if (manifest.closed) return false;
  const segments = new Set(manifest.scans.map(({ segment }) => segment));
  const day = await joinSegments(root, manifest, segments, true);
  const derived = await deriveDay(root, manifest);
  const edit = {
    ...day,
    closed: true,
    drop_segments: [...segments, DERIVED_SEGMENT],
    add_files: [...day.add_files, ...derived],
    changed_tables: [dayMax.name, ...changedDayTables(manifest, derived)],
  };
  await commit(root, [edit], now_ms);
  return true;
}

/** Name of the one segment of a closed date; unique over all dates. */
function daySegment(date: string): string {
  return `day-${date}`;
}

/**
 * Edit that joins segments into one: the same rows in one file per table, and the newest checkpoint of the tracker.
 * `closing` joins a whole date into day files and computes the place durations, which need the whole day.
 */
async function joinSegments(
  { engine, path, staging }: Root,
  manifest: Manifest,
  segments: ReadonlySet<string>,
  closing: boolean,
): Promise<Edit & { readonly add_files: readonly StagedFile[] }> {
  const { partition, source } = manifest;
  const scans = manifest.scans.filter((scan) => segments.has(scan.segment));
  const [first_scan, last_scan] = [scans[0]?.scan_id ?? null, scans.at(-1)?.scan_id ?? null];
  const segment = closing ? daySegment(partition) : segmentName(first_scan ?? '', last_scan ?? '');
  const files = manifest.files.filter((file) => segments.has(file.segment));
  const pathsOf = ({ name }: { readonly name: string }) =>
    files.filter((file) => file.table === name).map((file) => join(path, file.path));
  const add_files: StagedFile[] = [];
  for (const table of SCAN_TABLES) {
    const paths = pathsOf(table);
    if (paths.length === 0) continue;
    let query = allRows(paths);
    if (table === dayMax) query = mergedDayMaxSql(paths, closing ? pathsOf(detections) : null);
    else if (table === uncovered) query = mergedUncoveredSql(paths, pathsOf(frames));
    const destination = { folder: layout.table(table.name, partition), stem: closing ? 'day' : segment };
    const covers = { segment, first_scan, last_scan };
    add_files.push(await stageTable(engine, staging, table, { query }, source, destination, covers));
  }
  const states = files.filter((file) => file.kind === 'state');
  const checkpoint = states.sort((a, b) => ((a.last_scan ?? '') < (b.last_scan ?? '') ? -1 : 1)).at(-1);
  const relisted = files.filter((file) => file.kind === 'scan-tiles' || file === checkpoint);
  return {
    ...samePartition(manifest),
    closed: false,
    drop_segments: [...segments],
    add_scans: scans.map((scan) => ({ ...scan, segment })),
    add_files,
    relist_files: relisted.map((file) => ({ ...file, segment })),
    ingested_at: ingestedAt(manifest),
  };
}

/** Side of the regions that a month is cut into, pixels: a query about one place opens only the files near it. */
const REGION_PX = 500;
/** Coverage of the files of a month: they belong to no scans. */
const MONTH = { segment: 'month', first_scan: null, last_scan: null };

/**
 * Joins the day maxima of the closed dates of a month, one file for each region with hail, for queries about one place over long
 * times; the manifest holds the commit of each date. False when fewer than `least` dates closed or changed since the last time.
 */
export async function compactMonth(root: Root, month: string, now_ms: number, least = 1): Promise<boolean> {
  const { engine, path, staging, storm_day_start_hour } = root;
  const partition = layout.monthPartition(month);
  const days = [...root.heads.values()].filter((day) => day.closed && day.partition.startsWith(month));
  const joined = (await root.manifest(partition))?.dates;
  const isJoined = ({ partition: date, table_commits }: Head) =>
    joined?.[date] !== undefined && (table_commits[dayMax.name] ?? 0) <= joined[date];
  if (days.filter((day) => !isJoined(day)).length < least) return false;
  const paths = days.flatMap((day) => tablePaths(path, day, dayMax.name));
  const provenance = combineProvenances(days.map((day) => day.source)) ?? 'observed';
  const add_files: StagedFile[] = [];
  for (const { row, col } of await regionsOf(root, paths)) {
    const query = `SELECT * FROM (${allRows(paths)}) WHERE "row" BETWEEN ${row} AND ${row + REGION_PX - 1}
      AND col BETWEEN ${col} AND ${col + REGION_PX - 1}`;
    const destination = { folder: layout.monthTable(dayMax.name, month), stem: `r${row}c${col}` };
    add_files.push(await stageTable(engine, staging, dayMax, { query }, provenance, destination, MONTH));
  }
  const edit: Edit = {
    partition,
    provenance,
    storm_day_start_hour,
    closed: true,
    drop_segments: [MONTH.segment],
    add_files,
    changed_tables: [dayMax.name],
    dates: Object.fromEntries(days.map((day) => [day.partition, day.commit])),
    ingested_at: days.map(ingestedAt).sort().at(-1) ?? null,
  };
  await commit(root, [edit], now_ms);
  return true;
}

/** First row and column of every region that holds a row, from north-west to south-east. */
async function regionsOf({ engine }: Root, paths: readonly string[]): Promise<{ row: number; col: number }[]> {
  if (paths.length === 0) return [];
  const first = (column: string) => `(${column} // ${REGION_PX} * ${REGION_PX})::INTEGER`;
  return engine.rows(
    `SELECT DISTINCT ${first('"row"')} AS "row", ${first('col')} AS col FROM (${allRows(paths)}) ORDER BY ALL`,
  );
}
