import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import test from 'ava';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { openEngine, sqlList } from '../../../pipeline/duckdb.ts';
import { readCurrent, readNewest } from '../../../pipeline/publish/manifests.ts';
import { ROW_GROUP_ROWS, readNotes, readRows, stageRows } from '../../../pipeline/publish/tables.ts';
import { columns, type Table } from '../../../schemas/columns.ts';
import type { Current, Manifest } from '../../../schemas/manifest.ts';
import { dayMax } from '../../../schemas/tables/day-max.ts';
import { detections } from '../../../schemas/tables/detections.ts';
import { TABLES } from '../../../schemas/tables/index.ts';
import { type Watch, watches } from '../../../schemas/tables/watches.ts';
import { openArchive } from '../../support/data/archive.ts';
import { dayMaxRow } from '../../support/data/rows.ts';
import {
  asObserved,
  ingest,
  MONTH_LATER_MS,
  publish,
  publishedRoot,
  scansBetween,
  scratch,
} from '../../support/data/world.ts';
import { faultsOf } from '../../support/kill/killed.ts';

const DATE = '2026-05-02';

async function published(t: Parameters<typeof scratch>[0]) {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:13'));
  return { root, manifest: (await readNewest(root, DATE)) as Manifest };
}

test('hyparquet reads every table file: the rows of the manifest, the columns of the schema, its version', async (t) => {
  const { root, manifest } = await published(t);
  const files = manifest.files.filter((file) => file.kind === 'table');
  t.true(files.length >= 7);
  for (const { path, table: name, rows } of files) {
    const table = TABLES.find((candidate) => candidate.name === name);
    if (table === undefined) return t.fail(path);
    const file = await asyncBufferFromFile(join(root, path));
    const metadata = await parquetMetadataAsync(file);
    t.is(Number(metadata.num_rows), rows, path);
    t.deepEqual(
      metadata.schema.slice(1).map((field) => field.name),
      columns(table).map((column) => column.name),
    );
    const notes = new Map(metadata.key_value_metadata?.map(({ key, value }) => [key, value]));
    t.is(notes.get('hail_table'), table.name);
    t.is(notes.get('schema_version'), String(table.schema_version));
    t.is(notes.get('source'), 'simulated', path);
    t.deepEqual(JSON.parse(notes.get('columns') ?? ''), columnNotes(table, 'us since 1970 UTC'), path);
    t.deepEqual(
      [...new Set(metadata.row_groups.flatMap((group) => group.columns.map((one) => one.meta_data?.codec)))],
      ['ZSTD'],
    );
    t.is((await parquetReadObjects({ file, compressors })).length, rows);
  }
});

/** Unit and description of every column of a table, as its schema declares them. */
function columnNotes(table: Table, instant_unit: string): object {
  return Object.fromEntries(
    columns(table).map(({ name, type, unit, description }) => [
      name,
      { unit: type === 'TIMESTAMP' ? instant_unit : unit, description },
    ]),
  );
}

test('DuckDB reads in a file that travelled alone what it holds, in which units, and that it is simulated', async (t) => {
  const { root, manifest } = await published(t);
  const file = manifest.files.find(({ table }) => table === 'detections')?.path as string;
  const alone = join(await scratch(t, 'elsewhere'), 'detections.parquet');
  await fs.mkdir(dirname(alone));
  await fs.copyFile(join(root, file), alone);
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const notes = await engine.rows<{ key: string; value: string }>(
    `SELECT decode(key) AS key, decode(value) AS value FROM parquet_kv_metadata('${alone}') ORDER BY key`,
  );
  t.deepEqual(
    notes.map(({ key }) => key),
    ['columns', 'hail_table', 'schema_version', 'source'],
  );
  t.is(notes[3]?.value, 'simulated');
  t.like(JSON.parse(notes[0]?.value ?? ''), {
    estimated_size_mm: {
      unit: 'mm',
      description: 'MRMS MESH of the pixel as NOAA publishes it; above 150 mm stored as 150.',
    },
  });
});

test('files of a month say that both provenances are in it, those of its dates say their own', async (t) => {
  const root = await scratch(t);
  await publish(root, await scansBetween('23:50', '00:00'));
  await ingest(root, await asObserved(t, await scansBetween('00:00', '00:10')));
  await ingest(root, [], { now_ms: MONTH_LATER_MS });
  const engine = await openEngine();
  t.teardown(() => engine.close());
  for (const [partition, source] of [
    ['2026-05-01', 'simulated'],
    ['2026-05-02', 'observed'],
    ['month-2026-05', 'mixed'],
  ] as const) {
    const manifest = (await readNewest(root, partition)) as Manifest;
    t.is(manifest.source, source);
    for (const { path } of manifest.files.filter(({ kind }) => kind === 'table'))
      t.is((await readNotes(engine, join(root, path))).get('source'), source, path);
    for (const { path } of manifest.files.filter(({ kind }) => kind.endsWith('tiles'))) {
      const { metadata } = await openArchive(new Uint8Array(await fs.readFile(join(root, path))));
      t.is(metadata.source, source, path);
    }
  }
  const { live, source } = (await readCurrent(root)) as Current;
  t.is(source, 'observed');
  const { schema } = tableFromIPC(await fs.readFile(join(root, live.tracks)));
  t.is(schema.metadata.get('source'), 'mixed');
  t.deepEqual(await faultsOf(root), []);
});

test('hyparquet and DuckDB read the same detections', async (t) => {
  const { root, manifest } = await published(t);
  const paths = manifest.files.filter((file) => file.table === 'detections').map((file) => join(root, file.path));
  const objects = await parquetReadObjects({ file: await asyncBufferFromFile(paths[0] as string), compressors });
  const engine = await openEngine();
  const rows = await readRows<Record<string, unknown>>(engine, detections, paths.slice(0, 1));
  engine.close();
  const plain = (row: Record<string, unknown>) =>
    Object.values(row).map((value) =>
      value instanceof Date ? value.getTime() : typeof value === 'bigint' ? Number(value) : value,
    );
  const dated = (row: Record<string, unknown>) => plain({ ...row, storm_date: Date.parse(String(row.storm_date)) });
  t.deepEqual(objects.map(plain), rows.map(dated));
});

test('DuckDB reads the manifest of a date as one hive-partitioned table', async (t) => {
  const { root, manifest } = await published(t);
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const files = manifest.files.filter((file) => file.table === 'detections');
  const [found] = await engine.rows<{ rows: number; dates: number; date: string }>(
    `SELECT count(*) AS rows, count(DISTINCT date) AS dates, min(date)::VARCHAR AS date
     FROM read_parquet(${sqlList(files.map((file) => join(root, file.path)))}, hive_partitioning = true)`,
  );
  t.deepEqual(found, { rows: files.reduce((sum, file) => sum + file.rows, 0), dates: 1, date: DATE });
});

test('the manifest says box, largest size and times of a file as they are', async (t) => {
  const { root, manifest } = await published(t);
  const file = manifest.files.find((one) => one.table === 'detections');
  if (file === undefined) return t.fail();
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(join(root, file.path)), compressors });
  const of = (name: string) => rows.map((row) => Number(row[name]));
  t.deepEqual(file.bbox, [
    Math.min(...of('lon')),
    Math.min(...of('lat')),
    Math.max(...of('lon')),
    Math.max(...of('lat')),
  ]);
  t.is(file.max_size_mm, Math.max(...of('estimated_size_mm')));
  t.deepEqual([file.first_scan, file.last_scan], [manifest.scans[0]?.scan_id, manifest.scans.at(-1)?.scan_id]);
});

for (const [table, column] of [
  ['swaths', 'geometry'],
  ['event-days', 'hull'],
] as const)
  test(`${table} carry GeoParquet metadata, and DuckDB reads their polygons`, async (t) => {
    const { root, manifest } = await published(t);
    const path = join(root, manifest.files.find((file) => file.table === table)?.path as string);
    const metadata = await parquetMetadataAsync(await asyncBufferFromFile(path));
    const geo = JSON.parse(metadata.key_value_metadata?.find(({ key }) => key === 'geo')?.value ?? 'null') as {
      primary_column: string;
      columns: Record<string, { encoding: string }>;
    };
    t.is(geo.primary_column, column);
    t.is(geo.columns[column]?.encoding, 'WKB');
    const engine = await openEngine();
    t.teardown(() => engine.close());
    const rows = await engine.rows<{ wkt: string }>(
      `SELECT ST_AsText("${column}") AS wkt FROM read_parquet('${path}')`,
    );
    t.true(rows.length > 0);
    for (const { wkt } of rows) t.regex(wkt, /^(MULTI)?POLYGON \(\(/);
  });

test('rows are sorted in space, so that a question about one place skips most row groups', async (t) => {
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const pixels = Array.from({ length: 4 * ROW_GROUP_ROWS }, (_, index) => {
    const shuffled = (index * 40_503) % 65_536; // odd factor: every number once, in no order
    return dayMaxRow({ row: 1500 + (shuffled >> 8), col: 3000 + (shuffled & 255) });
  });
  const path = join(await scratch(t), 'day-max.parquet');
  const facts = await stageRows(engine, dayMax, pixels, path, 'observed');
  t.is(facts.rows, pixels.length);
  const { row_groups } = await parquetMetadataAsync(await asyncBufferFromFile(path));
  t.is(row_groups.length, 4);
  const range = (group: (typeof row_groups)[number], name: string) => {
    const stats = group.columns.find((one) => one.meta_data?.path_in_schema[0] === name)?.meta_data?.statistics;
    return [Number(stats?.min_value), Number(stats?.max_value)] as [number, number];
  };
  const [row, col] = [1620, 3100];
  const holds = ([low, high]: [number, number], value: number) => low <= value && value <= high;
  const asked = row_groups.filter((group) => holds(range(group, 'row'), row) && holds(range(group, 'col'), col));
  t.true(asked.length <= 2, `${asked.length} row groups hold the place`);
});

test('rows with a missing value where one must be are refused', async (t) => {
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const path = join(await scratch(t), 'x.parquet');
  const bad = { ...dayMaxRow({}), max_mm: Number.NaN };
  await t.throwsAsync(stageRows(engine, dayMax, [bad], path, 'observed'), {
    message: /max_mm is NaN, expected a value/,
  });
});

test('the pmtiles reader opens every archive, and every tile it addresses decodes', async (t) => {
  const { root, manifest } = await published(t);
  const archives = manifest.files.filter((file) => file.kind.endsWith('tiles'));
  t.is(archives.length, manifest.scans.length + 1);
  for (const { path, rows } of archives) {
    const archive = await openArchive(new Uint8Array(await fs.readFile(join(root, path))));
    t.is(archive.coords.length, rows);
    t.is(archive.header.maxZoom, 10);
    t.deepEqual([archive.metadata.attribution, archive.metadata.source], ['simulated', 'simulated']);
    for (const { z, x, y } of archive.coords.slice(0, 20)) t.truthy(await archive.tile(z, x, y));
  }
});

test('the live snapshot opens in Arrow with the columns of its tables and the rows of the last scans', async (t) => {
  const { root, manifest } = await published(t);
  const current = await readCurrent(root);
  if (current === null) return t.fail();
  t.deepEqual([current.scan_id], [manifest.scans.at(-1)?.scan_id]);
  t.deepEqual([current.live.first_scan], [manifest.scans[0]?.scan_id]);
  for (const name of ['detections', 'cells', 'tracks'] as const) {
    const table = tableFromIPC(await fs.readFile(join(root, current.live[name])));
    const published = manifest.files.filter((file) => file.table === name).reduce((sum, file) => sum + file.rows, 0);
    t.is(table.numRows, published);
    const declared = TABLES.find((candidate) => candidate.name === name) ?? detections;
    const { metadata, fields } = table.schema;
    t.deepEqual([metadata.get('hail_table'), metadata.get('source')], [name, 'simulated']);
    t.deepEqual(JSON.parse(metadata.get('columns') ?? ''), columnNotes(declared, 'ms since 1970 UTC'));
    t.deepEqual(
      fields.map((field) => [field.metadata.get('unit') ?? null, field.metadata.get('description')]),
      columns(declared).map(({ unit, description }) => [unit, description]),
    );
    t.deepEqual(
      table.schema.names,
      columns(TABLES.find((candidate) => candidate.name === name) ?? detections).map((column) => column.name),
    );
  }
});

test('hyparquet reads outlines that may be null, of files with and without any', async (t) => {
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const watch = (watch_id: string, outline: string | null): Watch => ({
    watch_id,
    type: 'tornado_watch',
    number: 1,
    issued_at: 0,
    begins_at: null,
    expires_at: 1,
    headline: '',
    areas: null,
    watch_probability_pct: null,
    hail_size_mm: null,
    gust_kmh: null,
    severe_hail_probability_pct: null,
    significant_hail_probability_pct: null,
    is_particularly_dangerous: null,
    is_cancelled: false,
    geometry: outline,
    west: null,
    south: null,
    east: null,
    north: null,
    data_source: 'observed',
  });
  const outline = 'POLYGON ((-98 35, -97 35, -97 36, -98 35))';
  const folder = await scratch(t);
  for (const [name, rows, kinds] of [
    ['none', [watch('a', null)], [null]],
    ['some', [watch('a', null), watch('b', outline)], [null, 'Polygon']],
  ] as const) {
    const path = join(folder, `${name}.parquet`);
    await stageRows(engine, watches, rows, path, 'observed');
    const read = await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors });
    t.deepEqual(
      read.map(({ geometry }) => geometry?.type ?? null),
      [...kinds],
    );
  }
});
