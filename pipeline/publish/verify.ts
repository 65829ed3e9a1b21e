import fs from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { tableFromIPC } from 'apache-arrow';
import { columns, type Table } from '../../schemas/columns.ts';
import { addressedTiles, isPmtiles } from '../../schemas/geo/pmtiles.ts';
import { headOf } from '../../schemas/head.ts';
import { foreignFolders, layout } from '../../schemas/layout.ts';
import type { Manifest, PublishedFile } from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { blockage, swaths } from '../../schemas/tables/derived.ts';
import { forecast, outlook } from '../../schemas/tables/forecast.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { COVERAGE_BLOCK_PX, cells, dayMax, detections, frames, tracks, uncovered } from '../../schemas/tables/radar.ts';
import { isCalendarDate, scanTime } from '../../schemas/time.ts';
import { type Engine, sqlText } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { deviceOf, orNull, sha256 } from '../files.ts';
import { outdatedTables } from './inputs.ts';
import {
  listPartitions,
  OtherFormat,
  readCurrent,
  readHead,
  readManifest,
  readRootName,
  tablePaths,
} from './manifests.ts';
import { allRows } from './merge.ts';
import { readBack, readNotes } from './tables.ts';

/** One difference between a manifest and the files that it names. */
interface Fault {
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
    const manifest = await newestManifest(dataRoot, name, faults);
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

/** The manifest that the head of a partition names; null where its first commit was killed; null, and a fault, for a damaged one. */
async function newestManifest(dataRoot: string, partition: string, faults: Fault[]): Promise<Manifest | null> {
  const path = layout.head(partition);
  const head = await attempt(readHead(dataRoot, partition), path, faults);
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

/** SQL of the rows of a table, in parentheses. */
type RowsOf = (table: Table) => string;

/** A rule for the rows of one partition. */
interface TableRule {
  /** Tables without which the rule does not apply. */
  readonly tables: readonly Table[];
  /** Fault of the rows that break the rule, printed after their number. */
  readonly broken: string;
  /** SQL of the number of rows that break the rule. */
  readonly count: (rowsOf: RowsOf) => string;
}

/** SQL of the number of blocks of a row of `uncovered`; the last block of a grid may be cut. */
const BLOCKS = `(u.col_last::INTEGER - u.col_first::INTEGER + ${COVERAGE_BLOCK_PX}) // ${COVERAGE_BLOCK_PX}`;

const NO_UNCOVERED =
  '(SELECT NULL::TIMESTAMPTZ AS first_scan, NULL::TIMESTAMPTZ AS last_scan, 0 AS col_first, 0 AS col_last WHERE false)';

function rulesOf(provenance: MixedProvenance): readonly TableRule[] {
  return [
    {
      tables: [frames],
      broken: `frames are not of ${provenance} data, which the list is of`,
      count: (rowsOf) => `SELECT count(*) FROM ${rowsOf(frames)} WHERE simulated <> ${provenance === 'simulated'}`,
    },
    {
      tables: [frames],
      broken: 'scans are not uncovered in as many blocks as their frames say',
      count: (rowsOf) =>
        `SELECT count(*) FROM (
           SELECT f.uncovered_blocks AS stated, coalesce(sum(${BLOCKS}), 0) AS listed FROM ${rowsOf(frames)} f
           LEFT JOIN ${rowsOf(uncovered)} u ON f.scan_time BETWEEN u.first_scan AND u.last_scan
           GROUP BY f.scan_id, f.uncovered_blocks)
         WHERE stated IS NOT NULL AND stated <> listed`,
    },
    {
      tables: [swaths],
      broken: 'swath tiers are larger than the tier below them',
      count: (rowsOf) =>
        `SELECT count(*) FROM (SELECT area_km2, lag(area_km2) OVER (ORDER BY threshold_mm) AS below FROM ${rowsOf(swaths)})
         WHERE area_km2 > below + 1e-6`,
    },
    {
      tables: [blockage],
      broken: 'shares that terrain blocks do not rise along their ray',
      count: (rowsOf) =>
        `SELECT count(*) FROM (SELECT blocked, lag(blocked) OVER (PARTITION BY radar_id, tilt_deg, azimuth_deg ORDER BY distance_km) AS nearer
         FROM ${rowsOf(blockage)}) WHERE blocked <= nearer OR blocked > 1`,
    },
    {
      tables: [detections, cells],
      broken: 'detections of a cell have no such cell',
      count: (rowsOf) =>
        `SELECT count(*) FROM ${rowsOf(detections)} d ANTI JOIN ${rowsOf(cells)} c USING (scan_time, cell_index) WHERE d.cell_index IS NOT NULL`,
    },
    {
      tables: [detections, dayMax],
      broken: 'detections exceed the day maximum of their pixel',
      count: (rowsOf) =>
        `SELECT count(*) FROM (SELECT "row", col, max(estimated_size_mm) AS size FROM ${rowsOf(detections)} GROUP BY ALL) d
         LEFT JOIN (SELECT "row", col, max(max_mm) AS size FROM ${rowsOf(dayMax)} GROUP BY ALL) m USING ("row", col) WHERE m.size IS NULL OR m.size < d.size`,
    },
  ];
}

/** Contradictions between the tables of one partition, as reasons; none for a month, whose rows are those of its dates. */
async function verifyTables(engine: Engine, dataRoot: string, manifest: Manifest): Promise<string[]> {
  if (manifest.dates !== null) return [];
  const reasons: string[] = [];
  const pathsOf = (table: Table) => tablePaths(dataRoot, manifest, table.name);
  const rowsOf: RowsOf = (table) => {
    const paths = pathsOf(table);
    return paths.length === 0 && table === uncovered ? NO_UNCOVERED : `(${allRows(paths)})`;
  };
  try {
    const scan_ids = `SELECT scan_id FROM ${rowsOf(frames)} ORDER BY scan_id`;
    const published = pathsOf(frames).length === 0 ? [] : await engine.rows<{ scan_id: string }>(scan_ids);
    const listed = manifest.scans.map((scan) => scan.scan_id);
    if (listed.length > 0 && published.map((row) => row.scan_id).join() !== listed.join())
      reasons.push(`frames name ${published.length} scans, expected the ${listed.length} scans of the list`);
    for (const { tables, broken, count } of rulesOf(manifest.source)) {
      if (tables.some((table) => pathsOf(table).length === 0)) continue;
      const [row] = await engine.rows<{ wrong: number }>(`SELECT (${count(rowsOf)}) AS wrong`);
      if ((row?.wrong ?? 0) > 0) reasons.push(`${row?.wrong} ${broken}`);
    }
  } catch (error) {
    reasons.push(`its tables cannot be compared: ${(error as Error).message}`);
  }
  return reasons;
}

/**
 * The fault of hours and days of the forecast that contradict each other: no hour is likelier than its day, and a day whose 24
 * hours are known is no likelier than all of them if they were independent.
 */
async function verifyHours(
  engine: Engine,
  dataRoot: string,
  manifests: readonly Manifest[],
): Promise<{ readonly path: string; readonly reason: string }[]> {
  const pathsOf = ({ name }: Table, partition: string) =>
    manifests.filter((one) => one.partition === partition).flatMap((one) => tablePaths(dataRoot, one, name));
  const partition = layout.collectionPartition('forecast');
  const hours = pathsOf(forecast, partition);
  const days = pathsOf(outlook, layout.collectionPartition('outlook'));
  if (hours.length === 0 || days.length === 0) return [];
  const path = layout.head(partition);
  try {
    // The hour that ends at 13 UTC is the first of its day.
    const [{ wrong, first }] = await engine.rows<{ wrong: number; first: string | null }>(
      `SELECT count(*) AS wrong, min(geohash4 || ' on ' || forecast_date) AS first FROM (
         SELECT geohash4, forecast_date FROM (SELECT *, hail_probability_pct / 100 AS day_p FROM (${allRows(days)}))
         JOIN (SELECT geohash4, (valid_time - INTERVAL 13 HOUR)::DATE AS forecast_date, hail_probability AS p
           FROM (${allRows(hours)}) WHERE hail_probability IS NOT NULL) USING (geohash4, forecast_date)
         GROUP BY geohash4, forecast_date, day_p
         HAVING max(p) > day_p + 1e-9 OR (count(*) = 24 AND day_p > 1 - product(1 - p) + 1e-9))`,
    );
    const reason = `${wrong} days of cells are less likely than one of their hours, or likelier than all (${first} first)`;
    return wrong === 0 ? [] : [{ path, reason }];
  } catch (error) {
    return [{ path, reason: `its hours cannot be compared with their days: ${(error as Error).message}` }];
  }
}
