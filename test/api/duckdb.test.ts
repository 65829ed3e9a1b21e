import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type Engine, openEngine, QueryTimeout } from '../../api/duckdb.ts';
import { midnight, publishedRoot, scratch } from '../support/data/world.ts';

async function open(t: ExecutionContext, root: string, limit_ms?: number): Promise<Engine> {
  const engine = await openEngine(root, limit_ms);
  t.teardown(() => engine.close());
  return engine;
}

const FORBIDDEN = [
  `SELECT * FROM read_text('/etc/hostname')`,
  `SELECT * FROM read_parquet('/tmp/*.parquet')`,
  `SELECT * FROM glob('/etc/*')`,
  `COPY (SELECT 1) TO '/tmp/hail-escape.csv'`,
  `ATTACH '/tmp/hail-escape.duckdb'`,
  `INSTALL httpfs`,
  `LOAD spatial`,
  `SET enable_external_access = true`,
  `SET allowed_directories = ['/']`,
  `SET memory_limit = '64GB'`,
];

for (const sql of FORBIDDEN)
  test(`the engine refuses ${sql}`, async (t) => {
    const engine = await open(t, await scratch(t));
    for (let connection = 0; connection < 5; connection++) await t.throwsAsync(engine.rows(sql));
  });

test('the engine does not follow .. out of the data root', async (t) => {
  const root = await scratch(t);
  await fs.mkdir(root);
  await fs.writeFile(join(root, '..', 'secret.csv'), 'a\n1\n');
  const engine = await open(t, root);
  await t.throwsAsync(engine.rows(`SELECT * FROM read_csv($1)`, [join(root, '..', 'secret.csv')]));
  await t.throwsAsync(engine.rows(`SELECT * FROM read_csv('${root}/../secret.csv')`));
});

test('published files are read by a bound list of paths; instants come as milliseconds', async (t) => {
  const scans = await midnight();
  const root = await publishedRoot(t, scans);
  const engine = await open(t, root);
  const folder = join(root, 'tables/frames/date=2026-05-02');
  const paths = (await fs.readdir(folder)).map((name) => join(folder, name));
  const rows = await engine.rows<{ scan_time: number; storm_date: number }>(
    'SELECT scan_time, storm_date FROM read_parquet($1::VARCHAR[]) ORDER BY scan_time',
    [paths],
  );
  t.deepEqual(
    rows.map(({ scan_time }) => scan_time),
    scans.filter(({ scan_id }) => scan_id.startsWith('20260502')).map(({ time_ms }) => time_ms),
  );
  t.is(rows[0]?.storm_date, Date.parse('2026-05-02T00:00:00Z'));
});

test('parameters are values, whatever they look like', async (t) => {
  const engine = await open(t, await scratch(t));
  const hostile = `'; DROP TABLE x; -- $$ "`;
  t.deepEqual(
    await engine.rows('SELECT $1 AS text, $2 + 1 AS number, $3 AS nothing, $4 AS flag', [hostile, 1.5, null, true]),
    [{ text: hostile, number: 2.5, nothing: null, flag: true }],
  );
});

test('a query that takes too long is interrupted, and the engine goes on', async (t) => {
  const engine = await open(t, await scratch(t), 100);
  const slow = () => engine.rows('SELECT count(*) FROM range(1000000000000) AS a');
  const outcomes = await Promise.allSettled([slow(), slow(), slow(), slow(), slow()]);
  for (const outcome of outcomes)
    t.true(outcome.status === 'rejected' && outcome.reason instanceof QueryTimeout, String(outcome.status));
  t.deepEqual(await engine.rows('SELECT 1 AS one'), [{ one: 1 }]);
});

test('more queries than connections wait their turn', async (t) => {
  const engine = await open(t, await scratch(t));
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, number) => engine.rows<{ n: number }>('SELECT $1::INTEGER AS n', [number])),
  );
  t.deepEqual(
    answers.map(([row]) => row?.n),
    Array.from({ length: 40 }, (_, number) => number),
  );
});

test('columns of many rows come as arrays, and of none as empty ones', async (t) => {
  const engine = await open(t, await scratch(t));
  const sql = 'SELECT i AS a, i * 2 AS b FROM range(3) AS t(i) WHERE i >= $1';
  t.deepEqual(await engine.columns(sql, [0]), { a: [0, 1, 2], b: [0, 2, 4] });
  t.deepEqual(await engine.columns(sql, [9]), { a: [], b: [] });
});

test('a file that is gone is an error, not an empty answer', async (t) => {
  const root = await scratch(t);
  const engine = await open(t, root);
  await t.throwsAsync(engine.rows('SELECT * FROM read_parquet($1::VARCHAR[])', [[join(root, 'gone.parquet')]]));
});
