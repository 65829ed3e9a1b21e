import fs from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { tableFromIPC } from 'apache-arrow';
import { columns, type Table } from '../../schemas/columns.ts';
import { headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest, PublishedFile } from '../../schemas/manifest.ts';
import { foreignFolders } from '../../schemas/one-file-system.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { cells } from '../../schemas/tables/cells.ts';
import { frames as frameTable } from '../../schemas/tables/frames.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { tracks } from '../../schemas/tables/tracks.ts';
import { COVERAGE_BLOCK_PX, uncovered } from '../../schemas/tables/uncovered.ts';
import { scanTime } from '../../schemas/time.ts';
import { type Engine, sqlText } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { DRAFT_SUFFIX, deviceOf, isMissing, namesIn, sha256 } from '../files.ts';
import { addressedTiles, isPmtiles } from '../tiles/pmtiles-header.ts';
import { outdatedTables } from './derived.ts';
import { listPartitions, readCurrent, readHead, readManifest, tablePaths } from './manifests.ts';
import { allRows } from './merge.ts';
import { readBack, readNotes } from './tables.ts';

/** One difference between a list and what is on the disk. */
export interface Fault {
  readonly path: string;
  readonly reason: string;
}

export interface Verification {
  readonly partitions: number;
  readonly files: number;
  readonly rows: number;
  readonly bytes: number;
  readonly faults: readonly Fault[];
}

/**
 * Re-reads everything that the newest manifests list and returns what is wrong with it: missing files, other bytes than
 * published, rows, schema versions, times and dates that do not fit, tiers that do not nest, blocked shares that fall along
 * a ray, tables made of others that have changed since, a switch that points nowhere.
 * `onFile` is called with how many files of how many are read.
 */
export async function verifyRoot(
  engine: Engine,
  dataRoot: string,
  only: string | null,
  onFile: (done: number, total: number) => void,
): Promise<Verification> {
  const faults: Fault[] = foreignFolders((folder) => deviceOf(join(dataRoot, folder)));
  let [files, rows, bytes, partitions] = [0, 0, 0, 0];
  const names = (await listPartitions(dataRoot)).all.filter((name) => only === null || name === only);
  const heads: Manifest[] = [];
  for (const name of names) {
    if (await isUnborn(dataRoot, name)) continue;
    const head = await attempt(readHead(dataRoot, name), layout.head(name), faults);
    if (head === undefined) continue;
    const numbered = layout.manifest(name, head.commit);
    const manifest = await attempt(readManifest(dataRoot, name, head.commit), numbered, faults);
    if (manifest === undefined) continue;
    if (!isDeepStrictEqual(head, headOf(manifest)))
      faults.push({ path: layout.head(name), reason: `is not the head of ${numbered}` });
    heads.push(manifest);
  }
  const total = heads.reduce((sum, head) => sum + head.files.length, 0);
  for (const manifest of heads) {
    partitions++;
    for (const file of manifest.files) {
      faults.push(...(await verifyFile(engine, dataRoot, manifest, file)));
      onFile(++files, total);
      rows += file.kind === 'table' ? file.rows : 0;
      bytes += file.bytes;
    }
    faults.push(...(await verifyTogether(engine, dataRoot, manifest)));
  }
  if (only === null) {
    faults.push(...outdatedTables((partition) => heads.find((head) => head.partition === partition) ?? null));
    faults.push(...(await verifyCurrent(dataRoot, heads)));
  }
  return { partitions, files, rows, bytes, faults };
}

/** What earlier versions called the draft of a list: a data root may come from them, killed in the middle of a commit. */
const EARLIER_DRAFT_SUFFIX = '.new';

/** True while the very first commit of a partition has not come to its head: nothing of it is published yet. */
async function isUnborn(dataRoot: string, partition: string): Promise<boolean> {
  const names = await namesIn(join(dataRoot, layout.manifestFolder(partition)));
  const isDraft = (name: string) => name.endsWith(DRAFT_SUFFIX) || name.endsWith(EARLIER_DRAFT_SUFFIX);
  return names.every((name) => layout.manifest(partition, 1).endsWith(name) || isDraft(name));
}

/** A record that must be there and readable; undefined, and a fault, when it is not. */
async function attempt<Kind>(reading: Promise<Kind | null>, path: string, faults: Fault[]): Promise<Kind | undefined> {
  try {
    const found = await reading;
    if (found !== null) return found;
    faults.push({ path, reason: 'is missing' });
  } catch (error) {
    if (!(error instanceof PipelineError)) throw error;
    faults.push({ path, reason: error.reason });
  }
  return undefined;
}

async function verifyFile(engine: Engine, dataRoot: string, manifest: Manifest, file: PublishedFile): Promise<Fault[]> {
  const path = join(dataRoot, file.path);
  const fault = (reason: string): Fault[] => [{ path: file.path, reason }];
  let content: Uint8Array;
  try {
    content = await fs.readFile(path);
  } catch (error) {
    if (isMissing(error)) return fault(`is missing, expected ${file.bytes} bytes`);
    throw error;
  }
  if (content.length !== file.bytes) return fault(`has ${content.length} bytes, expected ${file.bytes}`);
  const hash = sha256(content);
  if (hash !== file.sha256) return fault(`has sha256 ${hash}, expected ${file.sha256}`);
  if (file.kind === 'reflectivity-tiles' && !manifest.scans.some(({ scan_id }) => scan_id === file.first_scan))
    return fault(`is of scan ${file.first_scan}, expected one of the list`);
  if (file.kind.endsWith('-tiles')) return verifyArchive(content, file, fault);
  if (file.kind !== 'table') return [];
  const table = TABLES.find((candidate) => candidate.name === file.table);
  if (table === undefined)
    return fault(`is of table ${file.table}, expected one of ${TABLES.map(({ name }) => name).join(', ')}`);
  try {
    return await verifyTable(engine, path, table, manifest, file, fault);
  } catch (error) {
    return fault(`cannot be read as table ${table.name}: ${(error as Error).message}`);
  }
}

function verifyArchive(content: Uint8Array, file: PublishedFile, fault: (reason: string) => Fault[]): Fault[] {
  if (!isPmtiles(content)) return fault('does not begin like a PMTiles archive of version 3');
  const tiles = addressedTiles(content);
  return tiles === file.rows ? [] : fault(`addresses ${tiles} tiles, expected ${file.rows}`);
}

/** True when a list of a provenance may name a file of another: the list of a mixed month names files of both. */
function isPartOf(provenance: string, ofList: MixedProvenance): boolean {
  return provenance === ofList || ofList === 'mixed';
}

/** What was filled in between two scans may lie before the first scan of a file. */
const SEEN_TIME = 'CASE WHEN NOT interpolated THEN max_time END';

/** SQL of the first and the last instant that a row is of; null for tables without any. */
function timesOf(names: readonly string[]): { readonly first: string; readonly last: string } | null {
  if (names.includes('scan_time')) return { first: 'scan_time', last: 'scan_time' };
  if (names.includes('max_time')) return { first: SEEN_TIME, last: SEEN_TIME };
  return names.includes('first_scan') ? { first: 'first_scan', last: 'last_scan' } : null;
}

async function verifyTable(
  engine: Engine,
  path: string,
  table: Table,
  manifest: Manifest,
  file: PublishedFile,
  fault: (reason: string) => Fault[],
): Promise<Fault[]> {
  const facts = await readBack(engine, table, path);
  const provenance = (await readNotes(engine, path)).get('source');
  // Files of older versions do not state their provenance: it is that of their list.
  if (provenance !== undefined && !isPartOf(provenance, manifest.source))
    return fault(`says that its data are ${provenance}, expected ${manifest.source}`);
  if (facts.rows !== file.rows) return fault(`has ${facts.rows} rows, expected ${file.rows}`);
  if (facts.schema_version !== file.schema_version)
    return fault(`has schema version ${facts.schema_version}, expected ${file.schema_version}`);
  const names = columns(table).map((column) => column.name);
  if (!names.includes('storm_date') || isBesideScans(manifest.partition)) return [];
  const times = timesOf(names);
  const [range] = await engine.rows<{ low: number | null; high: number | null; low_date: string; high_date: string }>(
    `SELECT ${times === null ? 'NULL AS low, NULL AS high' : `epoch_ms(min(${times.first}))::DOUBLE AS low, epoch_ms(max(${times.last}))::DOUBLE AS high`},
       min(storm_date)::VARCHAR AS low_date, max(storm_date)::VARCHAR AS high_date FROM read_parquet(${sqlText(path)}, hive_partitioning = false)`,
  );
  if (range === undefined) return fault('has no rows to compare');
  const faults: Fault[] = [];
  if (file.first_scan !== null && file.last_scan !== null && range.low !== null && range.high !== null) {
    const [first_ms, last_ms] = [scanTime(file.first_scan), scanTime(file.last_scan)];
    if (range.low < first_ms || range.high > last_ms)
      faults.push(...fault(`has times outside its range ${file.first_scan} to ${file.last_scan}`));
  }
  const dates = manifest.dates === null ? [manifest.partition] : Object.keys(manifest.dates);
  if (!dates.includes(range.low_date) || !dates.includes(range.high_date))
    faults.push(...fault(`has storm dates ${range.low_date} to ${range.high_date}, expected ${manifest.partition}`));
  return faults;
}

/** SQL of the blocks of a row of `uncovered`; the last of a grid may be cut. */
const BLOCKS = `(u.col_last::INTEGER - u.col_first::INTEGER + ${COVERAGE_BLOCK_PX}) // ${COVERAGE_BLOCK_PX}`;

const NO_PATCHES =
  '(SELECT NULL::TIMESTAMP AS first_scan, NULL::TIMESTAMP AS last_scan, 0 AS col_first, 0 AS col_last WHERE false)';

/** What must hold between the tables of one date, and in those without dates. */
async function verifyTogether(engine: Engine, dataRoot: string, manifest: Manifest): Promise<Fault[]> {
  if (manifest.dates !== null) return [];
  const head = layout.head(manifest.partition);
  const list = (table: string) => tablePaths(dataRoot, manifest, table);
  const read = (paths: string[]) => `read_parquet([${paths.map(sqlText).join(', ')}], hive_partitioning = false)`;
  const faults: Fault[] = [];
  const check = async (reason: string, tables: string[], sql: (sources: string[]) => string) => {
    const sources = tables.map(list);
    if (sources.some((paths) => paths.length === 0)) return;
    const [row] = await engine.rows<{ wrong: number }>(sql(sources.map(read)));
    if ((row?.wrong ?? 0) > 0) faults.push({ path: head, reason: `${row?.wrong} ${reason}` });
  };
  try {
    const frames = list('frames');
    const published =
      frames.length === 0
        ? []
        : await engine.rows<{ scan_id: string }>(`SELECT scan_id FROM ${read(frames)} ORDER BY scan_id`);
    const listed = manifest.scans.map((scan) => scan.scan_id);
    if (listed.length > 0 && published.map((row) => row.scan_id).join() !== listed.join())
      faults.push({
        path: head,
        reason: `frames name ${published.length} scans, expected the ${listed.length} scans of the list`,
      });
    await check(
      `frames are not of ${manifest.source} data, which the list is of`,
      ['frames'],
      ([rows]) => `SELECT count(*) AS wrong FROM ${rows} WHERE simulated <> ${manifest.source === 'simulated'}`,
    );
    const patches = list(uncovered.name);
    await check(
      'scans are not uncovered in as many blocks as their frames say',
      ['frames'],
      () =>
        `SELECT count(*) AS wrong FROM (
           SELECT f.uncovered_blocks AS told, coalesce(sum(${BLOCKS}), 0) AS listed FROM (${allRows(frameTable, frames)}) f
           LEFT JOIN ${patches.length === 0 ? NO_PATCHES : read(patches)} u ON f.scan_time BETWEEN u.first_scan AND u.last_scan
           GROUP BY f.scan_id, f.uncovered_blocks)
         WHERE told IS NOT NULL AND told <> listed`,
    );
    await check(
      'swath tiers are larger than the tier below them',
      ['swaths'],
      ([swaths]) =>
        `SELECT count(*) AS wrong FROM (SELECT area_km2, lag(area_km2) OVER (ORDER BY threshold_mm) AS below FROM ${swaths}) WHERE area_km2 > below + 1e-6`,
    );
    await check(
      'shares that terrain blocks do not rise along their ray',
      ['blockage'],
      ([steps]) =>
        `SELECT count(*) AS wrong FROM (SELECT blocked, lag(blocked) OVER (PARTITION BY radar_id, tilt_deg, azimuth_deg ORDER BY distance_km) AS nearer
         FROM ${steps}) WHERE blocked <= nearer OR blocked > 1`,
    );
    await check(
      'detections of a cell have no such cell',
      ['detections', 'cells'],
      ([detections, cellRows]) =>
        `SELECT count(*) AS wrong FROM ${detections} d ANTI JOIN ${cellRows} c USING (scan_time, cell_index) WHERE d.cell_index IS NOT NULL`,
    );
    await check(
      'detections exceed the day maximum of their pixel',
      ['detections', 'day-max'],
      ([detections, dayMaxRows]) =>
        `SELECT count(*) AS wrong FROM (SELECT "row", col, max(estimated_size_mm) AS size FROM ${detections} GROUP BY ALL) d
       LEFT JOIN (SELECT "row", col, max(max_mm) AS size FROM ${dayMaxRows} GROUP BY ALL) m USING ("row", col) WHERE m.size IS NULL OR m.size < d.size`,
    );
  } catch (error) {
    faults.push({ path: head, reason: `its tables cannot be compared: ${(error as Error).message}` });
  }
  return faults;
}

/** True for a partition that is read through its head and holds no scans: a collection, or the static tables. */
function isBesideScans(partition: string): boolean {
  return partition === layout.staticPartition || partition.startsWith(layout.collectionPartition(''));
}

async function verifyCurrent(dataRoot: string, heads: readonly Manifest[]): Promise<Fault[]> {
  const faults: Fault[] = [];
  const current = await attempt(readCurrent(dataRoot), layout.current, faults);
  // A process that is killed in its very first commit leaves lists without a switch; a second commit needs the first one's.
  if (current === undefined)
    return heads.some(({ partition, commit }) => !isBesideScans(partition) && commit > 1) ? faults : [];
  for (const [date, commit] of Object.entries(current.open_dates))
    await attempt(readManifest(dataRoot, date, commit), layout.manifest(date, commit), faults);
  const live: readonly (readonly [string, Table])[] = [
    [current.live.detections, TABLES[0]],
    [current.live.cells, cells],
    [current.live.tracks, tracks],
  ];
  for (const [path, table] of live) {
    try {
      const { names } = tableFromIPC(await fs.readFile(join(dataRoot, path))).schema;
      const found = new Set(names.map(String));
      const expected = columns(table)
        .map((column) => column.name)
        .filter((name) => found.has(name) || !table.older?.without.includes(name));
      if (names.join() !== expected.join()) faults.push({ path, reason: `has other columns than table ${table.name}` });
    } catch (error) {
      faults.push({
        path,
        reason: `cannot be read as the live snapshot of ${table.name}: ${(error as Error).message}`,
      });
    }
  }
  return faults;
}
