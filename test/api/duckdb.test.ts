import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ApiError } from '../../api/http/errors.ts';
import { ANSWERS, type Engine, JOBS, openEngine, openFilesEngine, QueryTimeout } from '../../api/published/duckdb.ts';
import { midnight, publishedRoot, scratch } from '../support/data/world.ts';
import { until } from '../support/until.ts';

async function open(t: ExecutionContext, root: string, role?: typeof ANSWERS): Promise<Engine> {
  const engine = openEngine(root, role);
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
  test(`neither engine does ${sql}`, async (t) => {
    for (const role of [ANSWERS, JOBS]) {
      const engine = await open(t, await scratch(t), role);
      for (let call = 0; call <= role.connections; call++) await t.throwsAsync(engine.rows(sql));
    }
  });

test('an engine that could not be opened is opened by the next statement', async (t) => {
  const role = { ...ANSWERS, memory_limit: 'nonsense' };
  const engine = await open(t, await scratch(t), role);
  await t.throwsAsync(engine.rows('SELECT 1'), { message: /Failed to set config/ });
  role.memory_limit = ANSWERS.memory_limit;
  t.deepEqual(await engine.rows('SELECT 1 AS one'), [{ one: 1 }]);
});

test('the engine does not follow .. out of the data root', async (t) => {
  const root = await scratch(t);
  await fs.mkdir(root);
  await fs.writeFile(join(root, '..', 'secret.csv'), 'a\n1\n');
  const engine = await open(t, root);
  await t.throwsAsync(engine.rows(`SELECT * FROM read_csv($1)`, [join(root, '..', 'secret.csv')]));
  await t.throwsAsync(engine.rows(`SELECT * FROM read_csv('${root}/../secret.csv')`));
});

test('an engine for some files opens them and no other, not those beside them, and writes to no other name', async (t) => {
  const root = await scratch(t);
  await fs.mkdir(root);
  const [input, other, out] = ['in.csv', 'other.csv', 'out.csv'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [input, other]) await fs.writeFile(path, 'a\n1\n');
  const engine = openFilesEngine([input, out], JOBS, join(root, 'spill'));
  t.teardown(engine.close);
  const copyTo = (path: string) => `COPY (SELECT * FROM read_csv($1)) TO '${path}' (USE_TMP_FILE false)`;
  await engine.rows(copyTo(out), [input]);
  t.is(await fs.readFile(out, 'utf8'), 'a\n1\n');
  for (const refused of [copyTo(other), copyTo(`${root}/new.csv`), copyTo(`${root}/spill/../other.csv`), ...FORBIDDEN])
    await t.throwsAsync(engine.rows(refused, refused.includes('$1') ? [input] : []), undefined, refused);
  await t.throwsAsync(engine.rows(`SELECT * FROM read_csv($1)`, [other]));
  await t.throwsAsync(engine.rows(`SELECT * FROM read_csv($1)`, [join(root, '*.csv')]));
  t.is(await fs.readFile(other, 'utf8'), 'a\n1\n');
  await engine.close();
  t.deepEqual((await fs.readdir(root)).sort(), ['in.csv', 'other.csv', 'out.csv']);
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

const NARROW = { ...ANSWERS, connections: 1, waiting_max: 2 };

/** Runs until it is interrupted. */
const ENDLESS = 'SELECT count(*) FROM range(1000000000000) AS a';

/** Begins an endless statement that the teardown of the engine ends; tells whether it has ended. */
function busy({ rows }: Engine): () => boolean {
  let ended = false;
  rows(ENDLESS).catch(() => {
    ended = true;
  });
  return () => ended;
}

// Alone: other tests hold the threads that statements run on.
test.serial('a query that takes too long is interrupted, and the engine goes on', async (t) => {
  const engine = await open(t, await scratch(t), { ...ANSWERS, statement_limit_ms: 1000 });
  const slow = () => engine.rows(ENDLESS);
  const outcomes = await Promise.allSettled([slow(), slow(), slow(), slow(), slow()]);
  for (const outcome of outcomes)
    t.true(outcome.status === 'rejected' && outcome.reason instanceof QueryTimeout, String(outcome.status));
  t.deepEqual(await engine.rows('SELECT 1 AS one'), [{ one: 1 }]);
});

/** A file that a read hangs on, as on a mount whose server is gone, until it is released. */
async function hangingFile(t: ExecutionContext, folder: string) {
  await fs.mkdir(folder, { recursive: true });
  const path = join(folder, 'hanging.csv');
  execFileSync('mkfifo', [path]);
  // A reader that were left would keep the process.
  t.teardown(async () => {
    const pipe = await fs.open(path, constants.O_RDWR);
    await pipe.close();
  });
  return { path, release: () => fs.writeFile(path, 'a\n1\n') };
}

test.serial(
  'a query that sees no interrupt is given up, others run meanwhile, and its connection is free once it ends',
  async (t) => {
    const root = await scratch(t);
    const { path, release } = await hangingFile(t, root);
    const engine = await open(t, root, { ...ANSWERS, connections: 2, statement_limit_ms: 1000 });
    await t.throwsAsync(engine.rows('SELECT * FROM read_csv($1)', [path]), { instanceOf: QueryTimeout });
    t.deepEqual(await engine.rows('SELECT 1 AS one'), [{ one: 1 }]);
    t.is(engine.load().running, 1);
    await release();
    await until(() => engine.load().running === 0);
  },
);

test('questions are answered while jobs have more to do than they can', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const [answers, jobs] = [await open(t, root), await open(t, root, JOBS)];
  const heavy = Array.from({ length: JOBS.connections + JOBS.waiting_max }, () => busy(jobs));
  const folder = join(root, 'tables/detections/date=2026-05-02');
  const paths = (await fs.readdir(folder)).map((name) => join(folder, name));
  for (let question = 0; question < 20; question++) {
    const [found] = await answers.rows<{ n: number }>(
      'SELECT count(*) AS n FROM read_parquet($1::VARCHAR[]) WHERE lat > $2',
      [paths, question],
    );
    t.true((found?.n ?? 0) > 0);
  }
  t.true(heavy.every((ended) => !ended()));
});

test('a job that needs more memory than jobs may take fails, and nothing beside it', async (t) => {
  const root = await scratch(t);
  const [answers, jobs] = [await open(t, root), await open(t, root, { ...JOBS, memory_limit: '32MB' })];
  const greedy = jobs.rows('SELECT list(i) AS all FROM range(100000000) AS t(i)');
  await t.throwsAsync(greedy, { message: /out of memory/i });
  for (const engine of [answers, jobs]) t.deepEqual(await engine.rows('SELECT 1 AS one'), [{ one: 1 }]);
});

test('what finds as many waiting as may wait is refused at once, and told when to ask again', async (t) => {
  const engine = await open(t, await scratch(t), NARROW);
  const ahead = Array.from({ length: 1 + NARROW.waiting_max }, () => busy(engine));
  const error = await t.throwsAsync(engine.rows('SELECT 1'), { instanceOf: ApiError });
  t.like(error, { code: 'overloaded', status: 503, headers: { 'Retry-After': '1' } });
  const endsOpen = ahead.every((ended) => !ended());
  t.true(endsOpen, 'nobody was waited for');
});

test('what an edition needs goes ahead of what waits, and is not refused', async (t) => {
  const { path, release } = await hangingFile(t, await scratch(t));
  const engine = await open(t, join(path, '..'), NARROW);
  const order: string[] = [];
  const note = (name: string) => () => order.push(name);
  const answers = [
    engine.rows('SELECT * FROM read_csv($1)', [path]).then(note('the one that ran')),
    engine.rows('SELECT 1').then(note('first in turn')),
    engine.rows('SELECT 1').then(note('second in turn')),
    engine.priority.rows('SELECT 1').then(note('priority')),
  ];
  await release();
  await Promise.all(answers);
  t.deepEqual(order, ['the one that ran', 'priority', 'first in turn', 'second in turn']);
});

test('an engine that is closed ends what runs and refuses what waits and what comes', async (t) => {
  const engine = openEngine(await scratch(t), NARROW);
  const outcomes = Promise.allSettled([engine.rows(ENDLESS), engine.rows('SELECT 1')]);
  await until(() => engine.load().waiting === 1);
  await engine.close();
  const reasons = (await outcomes).map((outcome) => (outcome.status === 'rejected' ? String(outcome.reason) : ''));
  t.regex(reasons[0] ?? '', /interrupt/i);
  t.is(reasons[1], 'Error: the query engine is closed');
  await t.throwsAsync(engine.rows('SELECT 1'), { message: 'the query engine is closed' });
});

test('columns of many rows come as arrays, and of none as empty ones', async (t) => {
  const engine = await open(t, await scratch(t));
  const sql = 'SELECT i AS a, i * 2 AS b FROM range(3) AS t(i) WHERE i >= $1';
  t.deepEqual(await engine.columns(sql, [0]), { a: [0, 1, 2], b: [0, 2, 4] });
  t.deepEqual(await engine.columns(sql, [9]), { a: [], b: [] });
});

test('a stream hands over every row in order, piece by piece, NaN for null, and doubles only', async (t) => {
  const engine = await open(t, await scratch(t));
  const pieces: Float64Array[] = [];
  const rows = 'FROM (SELECT unnest(range(5000)) AS n)';
  await engine.stream(`SELECT n::DOUBLE, if(n % 2 = $1, n / 3, NULL)::DOUBLE ${rows} ORDER BY n`, [0], ([n, third]) => {
    t.is(n.length, third.length);
    pieces.push(n.slice(), third.slice());
  });
  t.true(pieces.length > 2);
  const all = (column: number) => pieces.filter((_, index) => index % 2 === column).flatMap((piece) => [...piece]);
  t.deepEqual(
    all(0),
    Array.from({ length: 5000 }, (_, n) => n),
  );
  t.deepEqual(
    all(1),
    Array.from({ length: 5000 }, (_, n) => (n % 2 === 0 ? n / 3 : Number.NaN)),
  );
  await t.throwsAsync(
    engine.stream('SELECT 1', [], () => {}),
    { message: /is INTEGER, expected DOUBLE/ },
  );
});
