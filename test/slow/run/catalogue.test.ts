import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { avroMetadata } from 'icebird/src/avro/avro.metadata.js';
import { columns } from '../../../schemas/columns.ts';
import { climatology } from '../../../schemas/tables/derived.ts';
import { watches } from '../../../schemas/tables/feeds.ts';
import { TABLES } from '../../../schemas/tables/index.ts';
import { copyFolder } from '../../support/data/prepared.ts';
import { aroundMidnight } from '../../support/data/small-world.ts';
import { assetsOf, itemsOf, stacFaults, walkStac } from '../../support/data/stac-walk.ts';
import { catalogue, icebergRows, sameAsManifests, serveFiles, viewRows } from '../../support/data/table-reading.ts';
import { onRoot, publishedRoot, scratch } from '../../support/data/world.ts';
import { commandHere } from '../../support/kill/command-here.ts';
import { wholeRoot } from '../../support/service/whole-service.ts';

serveFiles();

const DATES = ['2026-05-01', '2026-05-02'] as const;

/** A root with two open dates and their catalogue. */
async function openDates(t: ExecutionContext): Promise<string> {
  const root = await publishedRoot(t, await aroundMidnight());
  await catalogue(root);
  return root;
}

test('collections and static tables are in every catalogue', async (t) => {
  const root = await scratch(t);
  copyFolder(await wholeRoot(), root);
  await catalogue(root);
  await sameAsManifests(t, root, 'all tables');
  t.true((await icebergRows(root, climatology)).length > 0);
  t.true((await icebergRows(root, watches)).some((text) => text.includes('["is_current",false]')));
});

test('every STAC file is valid, and a fault in one is found', async (t) => {
  const files = walkStac(await openDates(t));
  t.true(itemsOf(files).length > 10);
  for (const { path, raw } of files) t.deepEqual(stacFaults(raw), [], path);
  const [item] = itemsOf(files, 'detections');
  const broken = structuredClone(item?.raw ?? {}) as { properties: { datetime?: null } };
  delete broken.properties.datetime;
  t.regex(stacFaults(broken).join(), /^properties/);
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

test('an empty root has views and Iceberg tables without rows, and no STAC items', async (t) => {
  const root = await scratch(t);
  await onRoot(root, {}, async () => {});
  await catalogue(root);
  await sameAsManifests(t, root, 'empty');
  t.is(walkStac(root).length, 1);
  t.is((await viewRows(root, ['FROM edition']))[0]?.[0]?.source, null);
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
  const run = await commandHere(root, ['catalogue', '--location', 's3://bucket/hail', '--out', out]);
  t.is(run.code, 0, run.stderr);
  t.is(readFileSync(join(root, 'views.sql'), 'utf8'), before);
  t.true(readFileSync(join(out, 'views.sql'), 'utf8').includes("'s3://bucket/hail/tables/detections/date="));
  const metadata = readFileSync(join(out, 'iceberg/detections/metadata/v1.metadata.json'), 'utf8');
  const list: string = JSON.parse(metadata).snapshots[0]['manifest-list'];
  t.is(list, 's3://bucket/hail/catalogues/000001/iceberg/detections-snapshot.avro');
  t.true(existsSync(join(out, list.slice('s3://bucket/hail/'.length))));
  t.is((await commandHere(root, ['catalogue', '--location', 's3://bucket/hail'])).code, 2);
  for (const location of ['bucket', 's3://bucket/hail[1]'])
    t.is((await commandHere(root, ['catalogue', '--location', location, '--out', out])).code, 2);
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

test('the columns of every view are those of its table, with their types and comments', async (t) => {
  const asked =
    "SELECT table_name || '.' || column_name AS n, data_type AS d, comment IS NOT NULL AS c FROM duckdb_columns() WHERE NOT internal AND table_name <> 'edition'";
  const [found = []] = await viewRows(await openDates(t), [asked]);
  const types: Record<string, string> = { TIMESTAMPTZ: 'TIMESTAMP WITH TIME ZONE' };
  const expected = TABLES.flatMap((table) =>
    columns(table).map(
      ({ name, type }) => `c=true d=${types[type] ?? type} n=${table.name.replaceAll('-', '_')}.${name}`,
    ),
  );
  const shown = found.map(({ n, d, c }) => `c=${c} d=${String(d).replace("('OGC:CRS84')", '')} n=${n}`);
  t.deepEqual(shown.sort(), expected.sort());
});
