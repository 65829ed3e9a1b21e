import { existsSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'csv-parse/sync';
import { midnight } from '../../support/data/small-world.ts';
import { onRoot, ownCopy, preparedRoot, scratch } from '../../support/data/world.ts';
import { command } from '../../support/kill/killed.ts';

let root = '';

test.before(async () => {
  root = ownCopy(await preparedRoot(await midnight()));
});

const sql = (...args: readonly string[]) => command(root, ['sql', ...args]);

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
    const run = await command(own, ['sql', '--format', 'json', 'SELECT count(*) AS n FROM frames']);
    t.deepEqual(JSON.parse(run.stdout), [{ n: 2 }], run.stderr);
  });
  t.false(existsSync(join(own, 'views.sql')));
});

test('a folder without a data root is not found, exit code 3', async (t) => {
  const empty = await scratch(t);
  await fs.mkdir(empty);
  t.is((await command(empty, ['sql', 'SELECT 1'])).code, 3);
});
