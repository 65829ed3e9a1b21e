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
import { cells, detections, tracks } from '../../schemas/tables/radar.ts';
import { isCalendarDate, scanTime } from '../../schemas/time.ts';
import { type Engine, sqlText } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { DRAFT_SUFFIX, deviceOf, namesIn, orNull, sha256 } from '../files.ts';
import { outdatedTables } from './inputs.ts';
import { listPartitions, OtherFormat, readCurrent, readHead, readManifest, readRootName } from './manifests.ts';
import { readBack, readNotes } from './tables.ts';
import { verifyHours, verifyTables } from './verify-tables.ts';

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
 * published, rows, schema versions, times and dates that do not fit, tables that contradict each other, hours that contradict
 * their days, tables made of others that have changed since, a `current.json` that names a missing manifest. Throws OtherFormat
 * for a root that this release cannot read. `onFile` is called with the number of files read and of all files.
 */
export async function verifyRoot(
  engine: Engine,
  dataRoot: string,
  only: string | null,
  onFile: (done: number, total: number) => void,
): Promise<Verification> {
  const faults: Fault[] = foreignFolders((folder) => deviceOf(join(dataRoot, folder)));
  await attempt(readRootName(dataRoot), layout.root, faults);
  const names = (await listPartitions(dataRoot)).all.filter((name) => only === null || name === only);
  const manifests: Manifest[] = [];
  for (const name of names) {
    const manifest = (await isUnborn(dataRoot, name)) ? null : await newestManifest(dataRoot, name, faults);
    if (manifest !== null) manifests.push(manifest);
  }
  const total = manifests.reduce((sum, { files }) => sum + files.length, 0);
  let [files, rows, bytes] = [0, 0, 0];
  for (const manifest of manifests) {
    const add = (path: string, reasons: readonly string[]) => {
      faults.push(...reasons.map((reason) => ({ path, reason })));
    };
    for (const file of manifest.files) {
      add(file.path, await verifyFile(engine, dataRoot, manifest, file));
      onFile(++files, total);
      rows += file.kind === 'table' ? file.rows : 0;
      bytes += file.bytes;
    }
    add(layout.head(manifest.partition), await verifyTables(engine, dataRoot, manifest));
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

/** True when the first commit of a partition was killed before it wrote the head: nothing of it is published. */
async function isUnborn(dataRoot: string, partition: string): Promise<boolean> {
  const names = await namesIn(join(dataRoot, layout.manifestFolder(partition)));
  return names.every((name) => layout.manifest(partition, 1).endsWith(name) || name.endsWith(DRAFT_SUFFIX));
}

/** The manifest that the head of a partition names; null, and a fault, without one. */
async function newestManifest(dataRoot: string, partition: string, faults: Fault[]): Promise<Manifest | null> {
  const path = layout.head(partition);
  const head = await required(readHead(dataRoot, partition), path, faults);
  if (head === null) return null;
  const numbered = layout.manifest(partition, head.commit);
  const manifest = await required(readManifest(dataRoot, partition, head.commit), numbered, faults);
  if (manifest !== null && !isDeepStrictEqual(head, headOf(manifest)))
    faults.push({ path, reason: `is not the head of ${numbered}` });
  return manifest;
}

/** A record that must be there and readable; null, and a fault, when it is not. */
async function required<Found>(reading: Promise<Found | null>, path: string, faults: Fault[]): Promise<Found | null> {
  const before = faults.length;
  const found = await attempt(reading, path, faults);
  if (found === null && faults.length === before) faults.push({ path, reason: 'is missing' });
  return found;
}

/** A record that may be missing; null, and a fault, when it cannot be read. */
async function attempt<Found>(reading: Promise<Found | null>, path: string, faults: Fault[]): Promise<Found | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof OtherFormat || !(error instanceof PipelineError)) throw error;
    faults.push({ path, reason: error.reason });
    return null;
  }
}

/** Faults of a file of a manifest, as reasons. */
async function verifyFile(
  engine: Engine,
  dataRoot: string,
  manifest: Manifest,
  file: PublishedFile,
): Promise<readonly string[]> {
  const path = join(dataRoot, file.path);
  const content = await orNull(() => fs.readFile(path));
  if (content === null) return [`is missing, expected ${file.bytes} bytes`];
  if (content.length !== file.bytes) return [`has ${content.length} bytes, expected ${file.bytes}`];
  const hash = sha256(content);
  if (hash !== file.sha256) return [`has sha256 ${hash}, expected ${file.sha256}`];
  if (file.kind === 'reflectivity-tiles' && !manifest.scans.some(({ scan_id }) => scan_id === file.first_scan))
    return [`is of scan ${file.first_scan}, expected one of the list`];
  if (file.kind === 'state') return [];
  if (file.kind !== 'table') {
    if (!isPmtiles(content)) return ['does not begin like a PMTiles archive of version 3'];
    const tiles = addressedTiles(content);
    return tiles === file.rows ? [] : [`addresses ${tiles} tiles, expected ${file.rows}`];
  }
  const table = TABLES.find((candidate) => candidate.name === file.table);
  if (table === undefined)
    return [`is of table ${file.table}, expected one of ${TABLES.map(({ name }) => name).join(', ')}`];
  try {
    return await verifyTable(engine, path, table, manifest, file);
  } catch (error) {
    return [`cannot be read as table ${table.name}: ${(error as Error).message}`];
  }
}

/** Time of a row of `day-max`; a value that was filled in between two scans may lie before the first scan of a file. */
const SEEN_TIME = 'CASE WHEN NOT interpolated THEN max_time END';

/** SQL of the first and the last instant that a row is of; NULL for tables without any. */
function timesOf(names: ReadonlySet<string>): readonly [first: string, last: string] {
  if (names.has('scan_time')) return ['scan_time', 'scan_time'];
  if (names.has('max_time')) return [SEEN_TIME, SEEN_TIME];
  return names.has('first_scan') ? ['first_scan', 'last_scan'] : ['NULL::TIMESTAMPTZ', 'NULL::TIMESTAMPTZ'];
}

async function verifyTable(
  engine: Engine,
  path: string,
  table: Table,
  manifest: Manifest,
  file: PublishedFile,
): Promise<string[]> {
  const { partition, source, dates } = manifest;
  const facts = await readBack(engine, table, path);
  const provenance = (await readNotes(engine, path)).get('source');
  // A manifest of both provenances names files of each.
  if (provenance !== source && source !== 'mixed') return [`says that its data are ${provenance}, expected ${source}`];
  if (facts.rows !== file.rows) return [`has ${facts.rows} rows, expected ${file.rows}`];
  if (facts.schema_version !== file.schema_version)
    return [`has schema version ${facts.schema_version}, expected ${file.schema_version}`];
  const names = new Set(columns(table).map((column) => column.name));
  if (!names.has('storm_date') || (dates === null && !isCalendarDate(partition))) return [];
  const [first, last] = timesOf(names);
  const [range] = await engine.rows<{ low: number | null; high: number | null; low_date: string; high_date: string }>(
    `SELECT epoch_ms(min(${first}))::DOUBLE AS low, epoch_ms(max(${last}))::DOUBLE AS high,
       min(storm_date)::VARCHAR AS low_date, max(storm_date)::VARCHAR AS high_date FROM read_parquet(${sqlText(path)}, hive_partitioning = false)`,
  );
  const { low, high, low_date, high_date } = range;
  const reasons: string[] = [];
  const { first_scan, last_scan } = file;
  if (first_scan !== null && last_scan !== null && low !== null && high !== null)
    if (low < scanTime(first_scan) || high > scanTime(last_scan))
      reasons.push(`has times outside its range ${first_scan} to ${last_scan}`);
  const expected = dates === null ? [partition] : Object.keys(dates);
  if (!expected.includes(low_date) || !expected.includes(high_date))
    reasons.push(`has storm dates ${low_date} to ${high_date}, expected ${partition}`);
  return reasons;
}

async function verifyCurrent(dataRoot: string, manifests: readonly Manifest[]): Promise<Fault[]> {
  const faults: Fault[] = [];
  const current = await required(readCurrent(dataRoot), layout.current, faults);
  // A process that is killed in its very first commit leaves manifests without current.json; a second commit has the first one's.
  if (current === null)
    return manifests.some(({ partition, dates, commit }) => commit > 1 && (dates !== null || isCalendarDate(partition)))
      ? faults
      : [];
  for (const [date, commit] of Object.entries(current.open_dates))
    await required(readManifest(dataRoot, date, commit), layout.manifest(date, commit), faults);
  for (const [path, table] of [
    [current.live.detections, detections],
    [current.live.cells, cells],
    [current.live.tracks, tracks],
  ] as const) {
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
