import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'csv-parse/sync';
import { gribFile, pngPacking } from '../../support/data/grib2-files.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { midnight } from '../../support/data/small-world.ts';
import { onRoot, ownCopy, preparedRoot, scratch } from '../../support/data/world.ts';
import { commandHere } from '../../support/kill/command-here.ts';

let root = '';

test.before(async () => {
  root = ownCopy(await preparedRoot(await midnight()));
});

const sql = (...args: readonly string[]) => commandHere(root, ['sql', ...args]);

test('a table has aligned columns, NULL for null, at most 40 rows, and no letter that a terminal obeys', async (t) => {
  const { stdout } = await sql(
    "SELECT 'a' || chr(27) || '[31m' AS name, 12.5::DOUBLE AS mm, NULL AS no UNION ALL SELECT 'longer', 1, NULL ORDER BY 1",
  );
  t.is(stdout, 'name      mm  no\na [31m  12.5  NULL\nlonger     1  NULL\n(2 rows)\n');
  const many = await sql('FROM range(41)');
  t.is(many.stdout.split('\n').length, 43);
  t.true(many.stdout.endsWith('(first 40 rows, there are more)\n'));
});

test('CSV quotes what needs it, writes instants with a Z, null and shapes of values, and holds every row', async (t) => {
  const query = `SELECT 'a"b,c' AS "q,r", NULL AS n, TIMESTAMP '2026-05-01 23:53:05' AS t, TIMESTAMPTZ '2026-05-01 23:53:05.25+02' AS z,
    DATE '2026-05-01' AS d, [1, 2] AS l, 1.25 AS x`;
  const { stdout } = await sql('--format', 'csv', query);
  t.is(stdout, '"q,r",n,t,z,d,l,x\n"a""b,c",,2026-05-01T23:53:05Z,2026-05-01T21:53:05.250Z,2026-05-01,"[1,2]",1.25\n');
  const all = await sql('--format', 'csv', 'SELECT * FROM detections');
  const counted = await sql('--format', 'json', 'SELECT count(*) AS n FROM detections');
  t.is(parse(all.stdout, { columns: true }).length, JSON.parse(counted.stdout)[0].n);
});

test('JSON is one list of objects, also without rows', async (t) => {
  const { stdout } = await sql(
    '--format',
    'json',
    'SELECT storm_date, count(*) AS n FROM frames GROUP BY ALL ORDER BY ALL',
  );
  t.deepEqual(JSON.parse(stdout), [
    { storm_date: '2026-05-01', n: 6 },
    { storm_date: '2026-05-02', n: 6 },
  ]);
  t.deepEqual(JSON.parse((await sql('--format', 'json', 'SELECT 1 WHERE false')).stdout), []);
});

for (const [what, query, reason] of [
  ['SQL that is wrong', 'SELEC 1', /syntax error/],
  ['two statements', 'SELECT 1; SELECT 2', /found 2 statements, expected one query/],
  ['a statement that writes', "COPY (SELECT 1) TO 'ROOT/tables/x.csv'", /kind COPY, expected SELECT/],
  [
    'EXPLAIN ANALYZE of a statement that writes',
    "EXPLAIN ANALYZE COPY (SELECT 1) TO 'ROOT/tables/x.csv'",
    /expected SELECT/,
  ],
  ['a change of settings', 'SET enable_external_access = true', /kind SET, expected SELECT/],
  ['a file outside of the tables', "FROM read_text('/etc/passwd')", /disabled|not allowed|Permission/i],
  ['a file of the root outside of the tables', "FROM read_text('ROOT/root.json')", /disabled|not allowed|Permission/i],
] as const)
  test(`${what}: refused with exit code 2`, async (t) => {
    const run = await sql(query.replace('ROOT', root));
    t.is(run.code, 2);
    t.regex(run.stderr, reason);
    t.is(run.stdout, '');
  });

test('a query shows the newest commits without a catalogue, and writes nothing into the root', async (t) => {
  const own = await scratch(t);
  await onRoot(own, {}, async ({ session }) => {
    await session.ingest((await midnight()).slice(0, 2).flatMap(({ files }) => files));
    const run = await commandHere(own, ['sql', '--format', 'json', 'SELECT count(*) AS n FROM frames']);
    t.deepEqual(JSON.parse(run.stdout), [{ n: 2 }], run.stderr);
  });
  t.false(existsSync(join(own, 'views.sql')));
});

test('a folder without a data root is not found, exit code 3', async (t) => {
  const empty = await scratch(t);
  await fs.mkdir(empty);
  t.is((await commandHere(empty, ['sql', 'SELECT 1'])).code, 3);
});

const folder = mkdtempSync(join(tmpdir(), 'hail-inspect-'));
test.after.always(() => rmSync(folder, { recursive: true }));

const inspect = (...given: string[]) => commandHere(folder, ['inspect', ...given]);
const fieldsOf = async (...given: string[]) => JSON.parse((await inspect(...given, '--json')).stdout).fields;

//  x . 1 1    no coverage, nothing there, tens of mm
//  . 2 . 3
const MESH = join(folder, 'MRMS_MESH_00.50_20240501-201234.grib2');
writeFileSync(
  MESH,
  gribFile(
    pngPacking([0, 20, 130, 130, 20, 230, 20, 330], { columns: 4, rows: 2, bits: 16 }),
    { columns: 4, rows: 2 },
    { production_status: 192 },
  ),
);

test('a field in figures: product, time, packing, box, extremes without sentinels, values at points', async (t) => {
  const [field] = await fieldsOf(MESH, '--at', '54.986,-129.986', '--at', '40,-100');
  t.like(field, { product: 'MESH', unit: 'mm', time: '2024-05-01T20:12:34Z', simulated: true, rows: 2, columns: 4 });
  t.regex(field.packing, /^5\.41, 16 bits, /);
  t.deepEqual(field.bbox, [-129.995, 54.985, -129.965, 54.995]);
  t.deepEqual(field.min, { lat: 54.995, lon: -129.975, value: 10 });
  t.deepEqual(field.max, { lat: 54.985, lon: -129.965, value: 30 });
  t.deepEqual(field.at, [20, null]);
  const { stdout } = await inspect(MESH);
  t.regex(stdout, /^MESH \(mm\), 2024-05-01T20:12:34Z, simulated\n {2}grid {5}2 x 4, /);
});

test('a file that is not there, a file that is no grid and a position that is none are refused', async (t) => {
  const text = join(folder, 'notes.txt');
  writeFileSync(text, 'no grid');
  for (const [given, message] of [
    [[join(folder, 'absent')], /no such file/],
    [[text], /no GRIB message in 7 bytes/],
    [[MESH, '--at', '91,0'], /--at is '91,0', expected LAT,LON/],
  ] as const)
    t.regex((await inspect(...given)).stderr, message);
});

// The figures are those of ecCodes 2.28.
sharedTest('a model file: every field, one of them at three cities', async (t) => {
  const path = sharedData('forecast', 'cfgrib_nam.t00z.awp21100.tm00.grib2');
  const fields = await fieldsOf(path, '--at', '35.47,-97.52', '--at', '39.74,-104.99', '--at', '41.88,-87.63');
  t.is(fields.length, 181);
  t.deepEqual([fields[134].product, fields[134].at], ['0/7/6', [1611, 64, 53]]);
});

sharedTest('a grid off the lattice can be inspected', async (t) => {
  const [field] = await fieldsOf(sharedData('mrms', 'MRMS_EchoTop_18_00.50_20161015-133230.grib2'));
  t.deepEqual([field.product, field.rows, field.columns, field.max.value], ['EchoTop_18', 1500, 3000, 19]);
});
