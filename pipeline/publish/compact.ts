import { join } from 'node:path';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { ingestedAt, type Manifest } from '../../schemas/manifest.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import { SCAN_TABLES } from '../../schemas/tables/index.ts';
import { dayMax, uncovered } from '../../schemas/tables/radar.ts';
import type { Engine } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { commitDates, commitEdits, moveCurrent, type Publisher, publishDates, publishedManifest } from './commit.ts';
import { changedDayTables } from './commit-dates.ts';
import { DERIVED_SEGMENT, deriveDay } from './day-products.ts';
import { type Edit, editOf, type StagedFile, samePartition } from './edit.ts';
import { readHead, readNewest, tablePaths } from './manifests.ts';
import { allRows, mergedDayMaxSql, mergedUncoveredSql } from './merge.ts';
import type { DateHead } from './published-dates.ts';
import { segmentName } from './segment.ts';
import { stageTable } from './stage.ts';

/** Joins the segments of the finished hours of a date, an hour to a commit. Returns how many hours were joined. */
export async function compactHours(publisher: Publisher, storm_date: string, now_ms: number): Promise<number> {
  const hours = unfinishedHours(await publishedManifest(publisher, storm_date));
  for (const segments of hours) {
    const manifest = await publishedManifest(publisher, storm_date);
    await commitDates(publisher, [await compactSegments(publisher, manifest, segments, false)], now_ms);
  }
  if (hours.length > 0) await moveCurrent(publisher, now_ms);
  return hours.length;
}

/** Turns a finished date into day files and closes it; false when it is closed already. */
export async function compactDay(publisher: Publisher, storm_date: string, now_ms: number): Promise<boolean> {
  const { engine, path, staging } = publisher;
  const manifest = await publishedManifest(publisher, storm_date);
  if (manifest.closed) return false;
  const segments = [...new Set(manifest.scans.map((scan) => scan.segment))];
  const day = await compactSegments(publisher, manifest, segments, true);
  const derived = await deriveDay(engine, path, staging, manifest);
  const edit = {
    ...day,
    drop_segments: [...segments, DERIVED_SEGMENT],
    add_files: [...day.add_files, ...derived],
    changed_tables: [...day.changed_tables, ...changedDayTables(manifest, derived)],
  };
  await publishDates(publisher, [edit], now_ms);
  return true;
}

/** Joins the day maxima of the closed dates of a month; false when fewer than `least` dates closed or changed since the last time. */
export async function compactMonth(publisher: Publisher, month: string, now_ms: number, least = 1): Promise<boolean> {
  const { path, dates } = publisher;
  const closed = [...dates.heads.values()].filter((day) => day.closed && day.partition.startsWith(month));
  const previous = await readNewest(path, layout.monthPartition(month));
  const isJoined = ({ partition, table_commits }: DateHead) => {
    const commit = previous?.dates?.[partition];
    return commit !== undefined && (table_commits[dayMax.name] ?? 0) <= commit;
  };
  if (closed.filter((day) => !isJoined(day)).length < least) return false;
  const days: Head[] = [];
  for (const { partition } of closed) {
    const head = await readHead(path, partition);
    if (head === null)
      throw new PipelineError('publish', layout.head(partition), 'is missing, expected the head of a published date');
    days.push(head);
  }
  const edit = await monthEdit(publisher, month, days, previous);
  await commitEdits(publisher.path, [{ previous, edit }], now_ms, publisher.lock.check);
  return true;
}

/** Name of the one segment of a closed date; unique over all dates. */
function daySegment(date: string): string {
  return `day-${date}`;
}

/**
 * Segments of each finished hour that has several: `[[segment, …], …]`. The hour of the newest scan is not finished.
 */
function unfinishedHours(manifest: Manifest): string[][] {
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
 * Edit that joins segments into one: the same rows in one file per table, and the newest checkpoint of the tracker.
 * `closing` joins a whole date into day files and computes the place durations, which need the whole day.
 */
async function compactSegments(
  { engine, path: dataRoot, staging }: Publisher,
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
    let query = allRows(paths);
    if (table === dayMax) query = mergedDayMaxSql(paths, closing ? pathsOf('detections') : null);
    else if (table === uncovered) query = mergedUncoveredSql(paths, pathsOf('frames'));
    const destination = { folder: layout.table(table.name, manifest.partition), stem: closing ? 'day' : segment };
    staged.push(await stageTable(engine, staging, table, { query }, manifest.source, destination, covers));
  }
  const states = files.filter((file) => file.kind === 'state');
  const checkpoint = states.sort((a, b) => ((a.last_scan ?? '') < (b.last_scan ?? '') ? -1 : 1)).at(-1);
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

/** Side of the regions that a month is cut into, pixels: a query about one place opens only the files near it. */
const REGION_PX = 500;
/** Coverage of the files of a month: they belong to no scans. */
const MONTH = { segment: 'month', first_scan: null, last_scan: null };

/**
 * Edit of a month partition: the day maxima of its closed dates, one file for each region with hail, for queries about
 * one place over long times. `days` are the heads of those dates; the manifest holds the commit of each.
 */
async function monthEdit(
  { engine, path: dataRoot, staging }: Publisher,
  month: string,
  days: readonly Head[],
  previous: Manifest | null,
): Promise<Edit> {
  const paths = days.flatMap((day) => tablePaths(dataRoot, day, dayMax.name));
  const provenance = combineProvenances(days.map((day) => day.source)) ?? 'observed';
  const add_files: StagedFile[] = [];
  for (const region of await regionsOf(engine, paths)) {
    const query = `SELECT * FROM (${allRows(paths)}) WHERE "row" BETWEEN ${region.row} AND ${region.row + REGION_PX - 1}
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
    `SELECT DISTINCT ${first('"row"')} AS "row", ${first('col')} AS col FROM (${allRows(paths)}) ORDER BY ALL`,
  );
}
