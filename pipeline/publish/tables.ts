import { existsSync } from 'node:fs';
import fs from 'node:fs/promises';
import { dirname } from 'node:path';
import { type DuckDBAppender, DuckDBDateValue, DuckDBTimestampTZValue } from '@duckdb/node-api';
import { type Column, columns, fileNotes, rowsSql, type Table } from '../../schemas/columns.ts';
import { tableFault } from '../../schemas/data-format.ts';
import { type Blockage, blockageOf } from '../../schemas/geo/blockage.ts';
import { layout } from '../../schemas/layout.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { blockage, type GroundCell, ground } from '../../schemas/tables/derived.ts';
import { MS_PER_DAY } from '../../schemas/time.ts';
import type { ColumnType } from '../../schemas/units.ts';
import { type Engine, sqlList, sqlText } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { sha256 } from '../files.ts';
import { publishedPaths } from './manifests.ts';

/** Rows of a row group: few enough that a query about one place skips most of a file. */
export const ROW_GROUP_ROWS = 16_384;

/** Facts of a staged table file, from reading it back. */
type StagedTable = Pick<PublishedFile, 'rows' | 'bytes' | 'sha256' | 'schema_version' | 'bbox' | 'max_size_mm'>;

type Values = Readonly<Record<string, unknown>>;

/** Writes rows as one Parquet file and reads it back; the rows are sorted by the order of the table and need not be in memory at once. */
export async function stageRows(
  engine: Engine,
  table: Table,
  rows: Iterable<Values>,
  path: string,
  provenance: MixedProvenance,
): Promise<StagedTable> {
  const name = `staging_${table.name.replaceAll('-', '_')}`;
  const fields = columns(table);
  await engine.connection.run(
    `CREATE OR REPLACE TABLE ${name} (${fields.map((field) => `"${field.name}" ${loadType(field)}`).join(', ')})`,
  );
  const appender = await engine.connection.createAppender(name);
  let count = 0;
  try {
    for (const row of rows) {
      for (const field of fields) append(appender, field, row[field.name], table.name);
      appender.endRow();
      count += 1;
    }
    appender.flushSync();
  } finally {
    appender.closeSync();
  }
  const staged = await stageQuery(engine, table, `SELECT * FROM ${name}`, path, provenance);
  await engine.connection.run(`DROP TABLE ${name}`);
  if (staged.rows !== count)
    throw new PipelineError('publish', path, `read back ${staged.rows} rows, expected ${count}`);
  return staged;
}

/** Writes the rows of a query with a table's columns as one Parquet file and reads it back. */
export async function stageQuery(
  engine: Engine,
  table: Table,
  query: string,
  path: string,
  provenance: MixedProvenance,
): Promise<StagedTable> {
  await fs.mkdir(dirname(path), { recursive: true });
  const fields = columns(table);
  const select = fields.map((field) => `"${field.name}"::${field.type} AS "${field.name}"`).join(', ');
  // By default a file whose geometries are all null does not declare the column as geometry, and cannot be read with others.
  const hasNullableGeometry = fields.some(({ type, nullable }) => type === 'GEOMETRY' && nullable);
  const notes = Object.entries(fileNotes(table, provenance, 'parquet'));
  const metadata = notes.map(([key, value]) => `${key}: ${sqlText(value)}`).join(', ');
  await engine.connection.run(
    `COPY (SELECT ${select} FROM (${query}) ORDER BY ${table.order}) TO ${sqlText(path)} ` +
      `(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, ${hasNullableGeometry ? "GEOPARQUET_VERSION 'BOTH', " : ''}` +
      `KV_METADATA {${metadata}})`,
  );
  return readBack(engine, table, path);
}

/** Reads a Parquet file of a table: its rows, schema version, box and largest size. Throws when the schema version cannot be read. */
export async function readBack(engine: Engine, table: Table, path: string): Promise<StagedTable> {
  const names = new Set(columns(table).map((field) => field.name));
  const box = names.has('lat')
    ? 'min(lon) AS west, min(lat) AS south, max(lon) AS east, max(lat) AS north'
    : 'NULL AS west';
  const size = ['estimated_size_mm', 'max_mm', 'max_size_mm'].find((field) => names.has(field));
  type Facts = Record<'rows' | 'south' | 'east' | 'north', number> & Record<'west' | 'size', number | null>;
  const [facts] = await engine.rows<Facts>(
    `SELECT count(*) AS rows, ${box}, ${size === undefined ? 'NULL' : `max(${size})`} AS size FROM read_parquet(${sqlText(path)})`,
  );
  const version = (await readNotes(engine, path)).get('schema_version');
  const fault = tableFault(table, version === undefined ? null : Number(version));
  if (fault !== null) throw new PipelineError('publish', path, fault);
  const bytes = await fs.readFile(path);
  return {
    rows: facts.rows,
    bytes: bytes.length,
    sha256: sha256(bytes),
    schema_version: Number(version),
    bbox: facts.west === null ? null : [facts.west, facts.south, facts.east, facts.north],
    max_size_mm: facts.size,
  };
}

/** Key-value metadata of a Parquet file. */
export async function readNotes(engine: Engine, path: string): Promise<ReadonlyMap<string, string>> {
  const notes = await engine.rows<{ key: string; value: string }>(
    `SELECT decode(key) AS key, decode(value) AS value FROM parquet_kv_metadata(${sqlText(path)}) WHERE decode(key) <> 'geo'`,
  );
  return new Map(notes.map(({ key, value }) => [key, value]));
}

/**
 * Rows of published files of a table, in the table's order: instants in epoch milliseconds, dates and geometries as text.
 * Throws when a file is missing, because that is not an empty table.
 */
export async function readRows<Row>(
  engine: Engine,
  table: Table,
  paths: readonly string[],
  where = 'true',
): Promise<Row[]> {
  if (paths.length === 0) return [];
  const select = columns(table).map(readExpression).join(', ');
  try {
    return await engine.rows<Row>(
      `SELECT ${select} FROM (SELECT * FROM (${rowsSql(sqlList(paths))}) WHERE ${where} ORDER BY ${table.order})`,
    );
  } catch (cause) {
    const missing = paths.find((path) => !existsSync(path));
    if (missing === undefined) throw cause;
    throw new PipelineError('read', missing, `is missing, expected a published file of ${table.name}`, { cause });
  }
}

function readExpression({ name, type }: Column): string {
  if (type === 'DATE') return `"${name}"::VARCHAR AS "${name}"`;
  if (type === 'TIMESTAMPTZ') return `epoch_ms("${name}")::DOUBLE AS "${name}"`;
  return type === 'GEOMETRY' ? `ST_AsText("${name}") AS "${name}"` : `"${name}"`;
}

/** Type of a column while rows are loaded; the COPY converts geometries, which are loaded as text. */
function loadType(field: Column): string {
  return field.type === 'GEOMETRY' ? 'VARCHAR' : field.type;
}

const LOADERS: Readonly<Record<ColumnType, (appender: DuckDBAppender, value: unknown) => void>> = {
  BOOLEAN: (appender, value) => appender.appendBoolean(value as boolean),
  USMALLINT: (appender, value) => appender.appendUSmallInt(value as number),
  INTEGER: (appender, value) => appender.appendInteger(value as number),
  BIGINT: (appender, value) => appender.appendBigInt(BigInt(value as number)),
  DOUBLE: (appender, value) => appender.appendDouble(value as number),
  VARCHAR: (appender, value) => appender.appendVarchar(value as string),
  GEOMETRY: (appender, value) => appender.appendVarchar(value as string),
  DATE: (appender, value) => appender.appendDate(new DuckDBDateValue(Date.parse(`${value}T00:00:00Z`) / MS_PER_DAY)),
  TIMESTAMPTZ: (appender, value) =>
    appender.appendTimestampTZ(new DuckDBTimestampTZValue(BigInt(value as number) * 1000n)),
};

function append(appender: DuckDBAppender, field: Column, value: unknown, table: string): void {
  if (value === null || value === undefined || Number.isNaN(value)) {
    if (!field.nullable) throw new PipelineError('publish', table, `${field.name} is ${value}, expected a value`);
    appender.appendNull();
  } else {
    LOADERS[field.type](appender, value);
  }
}

/** The published tables of a terrain model; null when no beam blockage is published. */
export async function readBlockage(engine: Engine, dataRoot: string): Promise<Blockage | null> {
  const paths = await publishedPaths(dataRoot, layout.staticPartition, blockage);
  if (paths.length === 0) return null;
  const reader = await engine.connection.runAndReadAll(
    `SELECT radar_id, tilt_deg, azimuth_deg, distance_km, blocked FROM read_parquet(${sqlList(paths)}) ORDER BY ${blockage.order}`,
  );
  const columns = reader.getColumnsObjectJS();
  const numbers = (name: string) => (columns[name] ?? []) as number[];
  const groundPaths = await publishedPaths(dataRoot, layout.staticPartition, ground);
  const cells = await readRows<GroundCell>(engine, ground, groundPaths);
  return blockageOf(
    {
      radar_id: (columns.radar_id ?? []) as string[],
      tilt_deg: numbers('tilt_deg'),
      azimuth_deg: numbers('azimuth_deg'),
      distance_km: numbers('distance_km'),
      blocked: numbers('blocked'),
    },
    cells,
  );
}
