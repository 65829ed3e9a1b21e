import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import test, { type ExecutionContext } from 'ava';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { icebergRead } from 'icebird';
import { avroMetadata } from 'icebird/src/avro/avro.metadata.js';
import validate from 'stac-node-validator';
import { writeCatalogue } from '../../../pipeline/catalogues/catalogue.ts';
import { viewName } from '../../../pipeline/catalogues/views.ts';
import { clearDate } from '../../../pipeline/publish/commit-dates.ts';
import { compactDay, compactMonth } from '../../../pipeline/publish/compact.ts';
import { sweepRoot } from '../../../pipeline/publish/sweep.ts';
import { columns, type Table } from '../../../schemas/columns.ts';
import { climatology } from '../../../schemas/tables/derived.ts';
import { watches } from '../../../schemas/tables/feeds.ts';
import { TABLES } from '../../../schemas/tables/index.ts';
import { dayMax, detections } from '../../../schemas/tables/radar.ts';
import {
  icebergRows,
  liveFiles,
  manifestRows,
  metadataOf,
  serveFiles,
  tableUrl,
} from '../../support/data/iceberg-reading.ts';
import { copyFolder } from '../../support/data/prepared.ts';
import { rowTexts } from '../../support/data/row-texts.ts';
import { aroundMidnight, midnight } from '../../support/data/small-world.ts';
import { stacSchema } from '../../support/data/stac-schemas.ts';
import { assetsOf, itemsOf, type StacFile, walkStac } from '../../support/data/stac-walk.ts';
import { viewRows, viewTexts } from '../../support/data/view-rows.ts';
import { MONTH_LATER_MS, onRoot, publishedRoot, scratch } from '../../support/data/world.ts';
import { command } from '../../support/kill/killed.ts';
import { wholeRoot } from '../../support/service/whole-service.ts';

serveFiles();

const DATES = ['2026-05-01', '2026-05-02'] as const;

const catalogue = (root: string) => writeCatalogue(root, { out: root, location: root });

/** A root with two open dates and their catalogue. */
async function openDates(t: ExecutionContext): Promise<string> {
  const root = await publishedRoot(t, await aroundMidnight());
  await catalogue(root);
  return root;
}

/** Rows of the STAC items of a table, read by hyparquet. */
async function stacRows(files: readonly StacFile[], table: Table): Promise<string[]> {
  const rows: Record<string, unknown>[] = [];
  for (const { path } of itemsOf(files, table.name).flatMap(assetsOf))
    rows.push(...(await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors })));
  return rowTexts(table, rows);
}

/** The largest size of each pixel that scans saw: the files of a running date add up. */
function largest(texts: readonly string[]): Record<string, number> {
  const sizes: Record<string, number> = {};
  for (const text of texts) {
    const { storm_date, row, col, max_mm, interpolated } = Object.fromEntries(JSON.parse(text));
    if (interpolated) continue;
    const key = `${storm_date} ${row} ${col}`;
    sizes[key] = Math.max(sizes[key] ?? 0, max_mm);
  }
  return sizes;
}

/** Iceberg and STAC give the rows that the newest manifests give, views the current ones. */
async function sameAsManifests(t: ExecutionContext, root: string, state: string): Promise<void> {
  const views = (await viewTexts(root, TABLES)).texts;
  const files = walkStac(root);
  for (const table of TABLES) {
    const rows = await manifestRows(root, table);
    t.deepEqual(await icebergRows(root, table), rows, `Iceberg, ${table.name}, ${state}`);
    t.deepEqual(await stacRows(files, table), rows, `STAC, ${table.name}, ${state}`);
    const shown = views.get(table.name) ?? [];
    if (table.name === dayMax.name) t.deepEqual(largest(shown), largest(rows), `views, day maxima, ${state}`);
    else
      t.deepEqual(
        shown,
        rows.filter((text) => !text.includes('["is_current",false]')),
        `views, ${table.name}, ${state}`,
      );
  }
  const shown = views.get(dayMax.name) ?? [];
  t.is(shown.filter((text) => text.includes('["interpolated",false]')).length, Object.keys(largest(shown)).length);
}

test('views, Iceberg and STAC give the rows of open, closed, joined, rebuilt and cleared dates', async (t) => {
  const root = await openDates(t);
  await sameAsManifests(t, root, 'open');
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: open, session }) => {
    const after = async (state: string) => {
      await catalogue(root);
      await sameAsManifests(t, root, state);
    };
    await compactDay(open, DATES[0], MONTH_LATER_MS);
    await after('one closed');
    await compactDay(open, DATES[1], MONTH_LATER_MS);
    await compactMonth(open, '2026-05', MONTH_LATER_MS);
    await after('joined');
    const paths = (await liveFiles(root, 'day-max')).map(({ data_file }) => data_file.file_path);
    t.true(paths.every((path) => path.includes('/month=2026-05/')));
    await session.rebuild(DATES[0]);
    await session.finishDates();
    await after('rebuilt');
    await clearDate(open, DATES[0], MONTH_LATER_MS);
    await after('cleared');
  });
});

test('collections and static tables are in every catalogue', async (t) => {
  const root = await scratch(t);
  copyFolder(await wholeRoot(), root);
  await catalogue(root);
  await sameAsManifests(t, root, 'all tables');
  t.true((await icebergRows(root, climatology)).length > 0);
  t.true((await icebergRows(root, watches)).some((text) => text.includes('["is_current",false]')));
});

async function faultsOf(files: readonly StacFile[]): Promise<string[]> {
  const faults: string[] = [];
  for (const { path, raw } of files) {
    const { valid, skipped, results } = await validate(raw, { loader: stacSchema, verbose: true });
    if (valid === true && !skipped) continue;
    const all = [...results.core, ...Object.values(results.extensions).flat()];
    faults.push(`${path}: ${all.map(({ instancePath, message }) => `${instancePath} ${message}`).join('; ')}`);
  }
  return faults;
}

test('every STAC file is valid, and a fault in one is found', async (t) => {
  const files = walkStac(await openDates(t));
  t.true(itemsOf(files).length > 10);
  t.deepEqual(await faultsOf(files), []);
  const [item] = itemsOf(files, 'detections');
  const broken = structuredClone(item?.raw ?? {}) as { properties: { datetime?: null } };
  delete broken.properties.datetime;
  t.regex((await faultsOf([{ ...(item as StacFile), raw: broken }])).join(), /required property 'datetime'/);
});

test('an item says its date and provenance, its asset the size and hash of the file, its collection the whole span', async (t) => {
  const files = walkStac(await openDates(t));
  const items = itemsOf(files, 'detections');
  t.like(items[0]?.properties, {
    datetime: null,
    'hail:storm_date': DATES[0],
    'hail:source': 'simulated',
    'hail:closed': false,
  });
  const daily = itemsOf(files, 'daily-tiles');
  t.is(daily.length, 2);
  for (const asset of [...items, ...daily].flatMap(assetsOf)) {
    const bytes = readFileSync(asset.path);
    t.is(bytes.length, asset['file:size']);
    t.is(`1220${createHash('sha256').update(bytes).digest('hex')}`, asset['file:checksum']);
  }
  const collection = files.find(({ type, id }) => type === 'Collection' && id === 'detections');
  const times = items.flatMap(({ properties = {} }) => [properties.start_datetime, properties.end_datetime]).sort();
  t.deepEqual(collection?.extent?.temporal.interval, [[times[0], times.at(-1)]]);
});

test('the columns of every view are those of its table, with their types and comments', async (t) => {
  const asked =
    "(SELECT table_name || '.' || column_name AS n, data_type AS d, comment IS NOT NULL AS c FROM duckdb_columns() WHERE NOT internal AND table_name <> 'edition')";
  const found = (await viewRows(await openDates(t), [asked]))[asked];
  const types: Record<string, string> = { TIMESTAMPTZ: 'TIMESTAMP WITH TIME ZONE' };
  const expected = TABLES.flatMap((table) =>
    columns(table).map(({ name, type }) => `c=true d=${types[type] ?? type} n=${viewName(table)}.${name}`),
  );
  t.deepEqual(found?.map((line) => line.replace("('OGC:CRS84')", '')).sort(), expected.sort());
});

test('a root whose name has quotes, brackets, stars and letters of any script is read', async (t) => {
  const given = await publishedRoot(t, await midnight());
  const rows = await manifestRows(given, detections);
  for (const name of ["o'brien's", 'Grêle [été] *', '氷"雹, größer']) {
    const root = join(dirname(given), name);
    copyFolder(given, root);
    await catalogue(root);
    t.deepEqual((await viewTexts(root, [detections])).texts.get('detections'), rows, name);
    t.deepEqual(await icebergRows(root, detections), rows, name);
  }
});

test('after views.sql a relative file of the user is found, and a copied root reads the copy once its catalogue is written', async (t) => {
  const root = await openDates(t);
  const copy = await scratch(t, 'copy');
  copyFolder(root, copy);
  t.regex(readFileSync(join(copy, 'views.sql'), 'utf8'), /In a copied or moved data root.*hail-pipeline catalogue/);
  t.is((await command(copy, ['catalogue'])).code, 0);
  await fs.rm(root, { recursive: true });
  const mine = await scratch(t, 'mine');
  await fs.mkdir(mine);
  await fs.writeFile(join(mine, 'mine-1.csv'), 'place,mm\nhome,12\n');
  const before = process.cwd();
  process.chdir(mine);
  t.teardown(() => process.chdir(before));
  const connection = await (await DuckDBInstance.create()).connect();
  await connection.run(readFileSync(join(copy, 'views.sql'), 'utf8'));
  const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJson();
  t.deepEqual(await rows("SELECT place, mm::INTEGER AS mm FROM 'mine*.csv'"), [{ place: 'home', mm: 12 }]);
  t.true(Number((await rows('SELECT count(*) AS n FROM detections'))[0]?.n) > 100);
});

test('an empty root has views and Iceberg tables without rows, and no STAC items', async (t) => {
  const root = await scratch(t);
  await onRoot(root, {}, async () => {});
  await catalogue(root);
  await sameAsManifests(t, root, 'empty');
  t.is(walkStac(root).length, 1);
  t.regex((await viewRows(root, ['edition'])).edition?.join() ?? '', /source=null/);
});

for (const path of [
  "tables/cells/date=2026-05-01/x'); COPY (SELECT 1) TO 'evil'; --.parquet",
  'tables/cells/../../../etc/passwd.parquet',
  '/etc/passwd',
  'tables/cells/two names.parquet',
])
  test(`a head that lists '${path}' is refused`, async (t) => {
    const root = await openDates(t);
    const head = join(root, 'manifests', DATES[0], 'head.json');
    const content = JSON.parse(readFileSync(head, 'utf8'));
    content.files[0].path = path;
    await fs.writeFile(head, JSON.stringify(content));
    await t.throwsAsync(catalogue(root), { message: /^catalogue manifests\/2026-05-01\/head\.json: lists '/ });
  });

test('with --location every address is that of the copy, and the data root keeps its own catalogue', async (t) => {
  const root = await openDates(t);
  const out = await scratch(t, 'out');
  const before = readFileSync(join(root, 'views.sql'), 'utf8');
  const run = await command(root, ['catalogue', '--location', 's3://bucket/hail', '--out', out]);
  t.is(run.code, 0, run.stderr);
  t.is(readFileSync(join(root, 'views.sql'), 'utf8'), before);
  t.true(readFileSync(join(out, 'views.sql'), 'utf8').includes("'s3://bucket/hail/tables/detections/date="));
  const metadata = readFileSync(join(out, 'iceberg/detections/metadata/v1.metadata.json'), 'utf8');
  const list: string = JSON.parse(metadata).snapshots[0]['manifest-list'];
  t.is(list, 's3://bucket/hail/catalogues/000001/iceberg/detections-snapshot.avro');
  t.true(existsSync(join(out, list.slice('s3://bucket/hail/'.length))));
  t.is((await command(root, ['catalogue', '--location', 's3://bucket/hail'])).code, 2);
  t.is((await command(root, ['catalogue', '--location', 'bucket', '--out', out])).code, 2);
});

test('the sweep keeps what a catalogue names until the one after it is older than a reader', async (t) => {
  const root = await openDates(t);
  const paths = (await liveFiles(root, 'detections')).map(({ data_file }) =>
    data_file.file_path.slice('file://'.length),
  );
  const metadata = await metadataOf(root, 'detections');
  const rows = await icebergRows(root, detections);
  const age = async () => {
    const old_s = (Date.now() - 86_400_000) / 1000;
    for (const name of await fs.readdir(root, { recursive: true })) await fs.utimes(join(root, name), old_s, old_s);
  };
  const sweep = () => onRoot(root, { now_ms: MONTH_LATER_MS }, ({ root: open }) => sweepRoot(open, Date.now(), null));
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: open }) => {
    for (const date of DATES) await compactDay(open, date, MONTH_LATER_MS);
  });
  await age();
  await sweep();
  t.true(paths.every((path) => existsSync(path)));
  t.deepEqual((await viewTexts(root, [detections])).texts.get('detections'), rows);
  await catalogue(root);
  await sweep();
  const read = await icebergRead({ tableUrl: tableUrl(root, 'detections'), metadata });
  t.is(read.length, rows.length, 'a reader of the catalogue before');
  await age();
  await catalogue(root);
  await sweep();
  t.false(paths.some((path) => existsSync(path)));
  t.deepEqual(readdirSync(join(root, 'catalogues')), ['000002', '000003']);
  await sameAsManifests(t, root, 'swept');
});

test('manifests and their lists have the headers and the field ids that the specification names', async (t) => {
  const folder = join(await openDates(t), 'catalogues/000001/iceberg');
  const headerOf = async (name: string): Promise<Map<string, string>> => {
    const { buffer, byteOffset, length } = await fs.readFile(join(folder, name));
    const { metadata } = await avroMetadata({ view: new DataView(buffer, byteOffset, length), offset: 0 });
    return new Map(
      Object.entries(metadata).map(([key, text]) => [key, typeof text === 'string' ? text : JSON.stringify(text)]),
    );
  };
  const manifest = await headerOf('detections-files.avro');
  const list = await headerOf('detections-snapshot.avro');
  for (const [key, text] of [
    ['format-version', '2'],
    ['content', 'data'],
    ['partition-spec', '[]'],
    ['partition-spec-id', '0'],
    ['schema-id', '0'],
  ] as const)
    t.is(manifest.get(key), text);
  t.regex(manifest.get('schema') ?? '', /"name":"scan_time"/);
  t.is(list.get('format-version'), '2');
  t.is(list.get('sequence-number'), '1');
  const idsIn = (schema: string | undefined) =>
    [...(schema ?? '').matchAll(/"field-id":(\d+)/g)].map(([, id]) => Number(id)).sort((a, b) => a - b);
  t.deepEqual(idsIn(manifest.get('avro.schema')), [0, 1, 2, 3, 4, 100, 101, 102, 103, 104, 134]);
  t.deepEqual(idsIn(list.get('avro.schema')), [500, 501, 502, 503, 504, 505, 506, 512, 513, 514, 515, 516, 517]);
});

test('a draft of a killed process is deleted once it is old', async (t) => {
  const root = await openDates(t);
  const draft = join(root, 'catalogues/000002.abcd.part');
  await fs.mkdir(draft);
  await catalogue(root);
  t.true(existsSync(draft));
  await fs.utimes(draft, 0, 0);
  await catalogue(root);
  t.false(existsSync(draft));
});
