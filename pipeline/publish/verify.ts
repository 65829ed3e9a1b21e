import fs from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { tableFromIPC } from 'apache-arrow';
import { columns, type Table } from '../../schemas/columns.ts';
import { addressedTiles, isPmtiles } from '../../schemas/geo/pmtiles.ts';
import { headOf } from '../../schemas/head.ts';
import { foreignFolders, layout } from '../../schemas/layout.ts';
import type { Manifest, PublishedFile } from '../../schemas/manifest.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { cells, tracks } from '../../schemas/tables/radar.ts';
import { scanTime } from '../../schemas/time.ts';
import { type Engine, sqlText } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { DRAFT_SUFFIX, deviceOf, namesIn, orNull, sha256 } from '../files.ts';
import { outdatedTables } from './inputs.ts';
import { listPartitions, OtherFormat, readCurrent, readHead, readManifest, readRootName } from './manifests.ts';
import { readBack, readNotes } from './tables.ts';
import { verifyHours } from './verify-hours.ts';
import { verifyTables } from './verify-tables.ts';

/** One difference between a manifest and the files that it names. */
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
 * Re-reads everything that the newest manifests name and returns the faults found: missing files, other bytes than
 * published, rows, schema versions, times and dates that do not fit, tables that contradict each other, hours that contradict their days, tables made of others
 * that have changed since, a current pointer to a missing manifest.
 * `onFile` is called with the number of files read and of all files.
 */
export async function verifyRoot(
  engine: Engine,
  dataRoot: string,
  only: string | null,
  onFile: (done: number, total: number) => void,
): Promise<Verification> {
  const faults: Fault[] = foreignFolders((folder) => deviceOf(join(dataRoot, folder)));
  faults.push(...(await faultsOfName(dataRoot)));
  const names = (await listPartitions(dataRoot)).all.filter((name) => only === null || name === only);
  const manifests: Manifest[] = [];
  for (const name of names) {
    if (await isUnborn(dataRoot, name)) continue;
    const head = await attempt(readHead(dataRoot, name), layout.head(name), faults);
    if (head === undefined) continue;
    const numbered = layout.manifest(name, head.commit);
    const manifest = await attempt(readManifest(dataRoot, name, head.commit), numbered, faults);
    if (manifest === undefined) continue;
    if (!isDeepStrictEqual(head, headOf(manifest)))
      faults.push({ path: layout.head(name), reason: `is not the head of ${numbered}` });
    manifests.push(manifest);
  }
  const total = manifests.reduce((sum, { files }) => sum + files.length, 0);
  let [files, rows, bytes] = [0, 0, 0];
  for (const manifest of manifests) {
    for (const file of manifest.files) {
      faults.push(...named(file.path, await verifyFile(engine, dataRoot, manifest, file)));
      onFile(++files, total);
      rows += file.kind === 'table' ? file.rows : 0;
      bytes += file.bytes;
    }
    faults.push(...named(layout.head(manifest.partition), await verifyTables(engine, dataRoot, manifest)));
  }
  if (only === null) {
    const outdated = outdatedTables((partition) => manifests.find((one) => one.partition === partition) ?? null);
    faults.push(...outdated.map(({ path, reason }) => ({ path, reason })));
    // Days that were not made from the published hours are named already.
    if (outdated.length === 0) faults.push(...(await verifyHours(engine, dataRoot, manifests)));
    faults.push(...(await verifyCurrent(dataRoot, manifests)));
  }
  return { partitions: manifests.length, files, rows, bytes, faults };
}

function named(path: string, reasons: readonly string[]): Fault[] {
  return reasons.map((reason) => ({ path, reason }));
}

/** Suffix of drafts of earlier versions: one of them may have been killed in the middle of a commit. */
const EARLIER_DRAFT_SUFFIX = '.new';

/** True when the first commit of a partition was killed before it wrote the head: nothing of it is published. */
async function isUnborn(dataRoot: string, partition: string): Promise<boolean> {
  const names = await namesIn(join(dataRoot, layout.manifestFolder(partition)));
  const isDraft = (name: string) => name.endsWith(DRAFT_SUFFIX) || name.endsWith(EARLIER_DRAFT_SUFFIX);
  return names.every((name) => layout.manifest(partition, 1).endsWith(name) || isDraft(name));
}

/** A record that must be there and readable; undefined, and a fault, when it is not. */
async function attempt<Found>(reading: Promise<Found | null>, path: string, faults: Fault[]) {
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

/** Faults of a file of a manifest, as reasons. */
async function verifyFile(engine: Engine, dataRoot: string, manifest: Manifest, file: PublishedFile) {
  const path = join(dataRoot, file.path);
  const content = await orNull(() => fs.readFile(path));
  if (content === null) return [`is missing, expected ${file.bytes} bytes`];
  if (content.length !== file.bytes) return [`has ${content.length} bytes, expected ${file.bytes}`];
  const hash = sha256(content);
  if (hash !== file.sha256) return [`has sha256 ${hash}, expected ${file.sha256}`];
  if (file.kind === 'reflectivity-tiles' && !manifest.scans.some(({ scan_id }) => scan_id === file.first_scan))
    return [`is of scan ${file.first_scan}, expected one of the list`];
  if (file.kind.endsWith('-tiles')) return verifyArchive(content, file);
  if (file.kind !== 'table') return [];
  const table = TABLES.find((candidate) => candidate.name === file.table);
  if (table === undefined)
    return [`is of table ${file.table}, expected one of ${TABLES.map(({ name }) => name).join(', ')}`];
  try {
    return await verifyTable(engine, path, table, manifest, file);
  } catch (error) {
    return [`cannot be read as table ${table.name}: ${(error as Error).message}`];
  }
}

function verifyArchive(content: Uint8Array, file: PublishedFile): string[] {
  if (!isPmtiles(content)) return ['does not begin like a PMTiles archive of version 3'];
  const tiles = addressedTiles(content);
  return tiles === file.rows ? [] : [`addresses ${tiles} tiles, expected ${file.rows}`];
}

/** Time of a row of `day-max`; a value that was filled in between two scans may lie before the first scan of a file. */
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
): Promise<string[]> {
  const facts = await readBack(engine, table, path);
  const provenance = (await readNotes(engine, path)).get('source');
  // Files of older versions do not state their provenance: it is that of their manifest. A mixed one names files of both.
  if (provenance !== undefined && provenance !== manifest.source && manifest.source !== 'mixed')
    return [`says that its data are ${provenance}, expected ${manifest.source}`];
  if (facts.rows !== file.rows) return [`has ${facts.rows} rows, expected ${file.rows}`];
  if (facts.schema_version !== file.schema_version)
    return [`has schema version ${facts.schema_version}, expected ${file.schema_version}`];
  const names = columns(table).map((column) => column.name);
  if (!names.includes('storm_date') || isUndated(manifest.partition)) return [];
  const times = timesOf(names);
  const [range] = await engine.rows<{ low: number | null; high: number | null; low_date: string; high_date: string }>(
    `SELECT ${times === null ? 'NULL AS low, NULL AS high' : `epoch_ms(min(${times.first}))::DOUBLE AS low, epoch_ms(max(${times.last}))::DOUBLE AS high`},
       min(storm_date)::VARCHAR AS low_date, max(storm_date)::VARCHAR AS high_date FROM read_parquet(${sqlText(path)}, hive_partitioning = false)`,
  );
  if (range === undefined) return ['has no rows to compare'];
  const reasons: string[] = [];
  if (file.first_scan !== null && file.last_scan !== null && range.low !== null && range.high !== null) {
    const [first_ms, last_ms] = [scanTime(file.first_scan), scanTime(file.last_scan)];
    if (range.low < first_ms || range.high > last_ms)
      reasons.push(`has times outside its range ${file.first_scan} to ${file.last_scan}`);
  }
  const dates = manifest.dates === null ? [manifest.partition] : Object.keys(manifest.dates);
  if (!dates.includes(range.low_date) || !dates.includes(range.high_date))
    reasons.push(`has storm dates ${range.low_date} to ${range.high_date}, expected ${manifest.partition}`);
  return reasons;
}

/** True for a partition that holds no storm dates: a collection, or the static tables. Readers take its head. */
function isUndated(partition: string): boolean {
  return partition === layout.staticPartition || partition.startsWith(layout.collectionPartition(''));
}

async function verifyCurrent(dataRoot: string, manifests: readonly Manifest[]): Promise<Fault[]> {
  const faults: Fault[] = [];
  const current = await attempt(readCurrent(dataRoot), layout.current, faults);
  // A process that is killed in its very first commit leaves manifests without a current pointer; a second commit has the first one's.
  if (current === undefined)
    return manifests.some(({ partition, commit }) => !isUndated(partition) && commit > 1) ? faults : [];
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
      const expected = columns(table).map((column) => column.name);
      if (names.join() !== expected.join()) faults.push({ path, reason: `has other columns than table ${table.name}` });
    } catch (error) {
      const reason = `cannot be read as the live snapshot of ${table.name}: ${(error as Error).message}`;
      faults.push({ path, reason });
    }
  }
  return faults;
}

/** What is wrong with the name of a root; throws OtherFormat for a root that this release cannot read at all. */
async function faultsOfName(dataRoot: string): Promise<Fault[]> {
  try {
    await readRootName(dataRoot);
    return [];
  } catch (error) {
    if (error instanceof OtherFormat || !(error instanceof PipelineError)) throw error;
    return [{ path: layout.root, reason: error.reason }];
  }
}
