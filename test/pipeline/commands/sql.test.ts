import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { parse } from 'csv-parse/sync';
import { cataloguesOf } from '../../../pipeline/catalogues/catalogues.ts';
import { openSqlEngine } from '../../../pipeline/commands/sql-engine.ts';
import { printResult, type TextFormat } from '../../../pipeline/commands/sql-output.ts';
import { runShell, type ShellSettings } from '../../../pipeline/commands/sql-shell.ts';
import { statementsIn } from '../../../pipeline/commands/sql-statements.ts';
import { openRoot } from '../../../pipeline/publish/root.ts';
import { midnight } from '../../support/data/small-world.ts';
import { headRows } from '../../support/data/view-rows.ts';
import { MONTH_LATER_MS, NOW_MS, ownCopy, preparedRoot, scratch } from '../../support/data/world.ts';
import { command } from '../../support/kill/killed.ts';

const DATES = ['2026-05-01', '2026-05-02'];
let root = '';

test.before(async () => {
  root = ownCopy(await preparedRoot(await midnight()));
  await (await openRoot(root, 'test', 0, NOW_MS, { catalogues: cataloguesOf([]) })).close();
  // Paths of the views are relative to the data root.
  process.chdir(root);
});

async function open(t: ExecutionContext) {
  const engine = await openSqlEngine(root, null);
  t.teardown(engine.close);
  return engine;
}

async function printed(t: ExecutionContext, sql: string, format: TextFormat, width: number | null = null, rows = 40) {
  const engine = await open(t);
  const result = await engine.run(sql);
  const to = new PassThrough();
  const all = text(to);
  if (result !== null) await printResult(result, { format, rows, look: { width, is_terminal: width !== null } }, to);
  to.end();
  return all;
}

test('a statement ends at a semicolon outside of quotes, comments and dollar signs', (t) => {
  t.deepEqual(statementsIn('select 1; select \';\' , ";" -- ;\n, 2 /* ; */; $a$;$a$ ; rest'), {
    whole: ['select 1;', 'select \';\' , ";" -- ;\n, 2 /* ; */;', '$a$;$a$ ;'],
    rest: 'rest',
  });
  for (const typed of ["select 'it;", 'select ";', 'select 1 -- ;', '/* ; ', "select $$ ; ' "])
    t.deepEqual(statementsIn(typed), { whole: [], rest: typed });
});

test('CSV is RFC 4180: instants in ISO 8601 UTC, null an empty field, an empty text two quotes', async (t) => {
  const sql = `SELECT 'a"b,c' || chr(10) AS "q,r", '' AS e, NULL AS n, TIMESTAMP '2026-05-01 23:53:05' AS t,
    TIMESTAMP '1969-12-31 23:59:59.25' AS before, 'infinity'::TIMESTAMP AS never, DATE '2026-05-01' AS d, 0.1 + 0.2::DOUBLE AS x`;
  const csv = await printed(t, sql, 'csv');
  t.is(
    csv,
    '"q,r",e,n,t,before,never,d,x\r\n"a""b,c\n","",,2026-05-01T23:53:05Z,1969-12-31T23:59:59.25Z,infinity,2026-05-01,0.30000000000000004\r\n',
  );
  t.is(parse(csv, { columns: true }).length, 1);
});

test('JSON is an array of objects; whole numbers keep their digits, and what JSON cannot hold is null', async (t) => {
  const sql = `SELECT i, 12345678901234567890::HUGEINT AS h, 1.50::DECIMAL(5, 2) AS d, 'nan'::DOUBLE AS x, {'a': [1, NULL]} AS s,
    MAP {'k': true} AS m, 'é"' || chr(10) AS t, TIMESTAMP '2026-05-01 23:53:05.120' AS at FROM range(2) AS r(i)`;
  const rows: unknown = JSON.parse(await printed(t, sql, 'json'));
  const row = { h: Number('12345678901234567890'), d: 1.5, x: null, s: { a: [1, null] }, m: { k: true }, t: 'é"\n' };
  t.deepEqual(rows, [
    { i: 0, ...row, at: '2026-05-01T23:53:05.12Z' },
    { i: 1, ...row, at: '2026-05-01T23:53:05.12Z' },
  ]);
  t.is(await printed(t, 'FROM detections WHERE false', 'json'), '[]\n');
  t.regex(await printed(t, 'SELECT 12345678901234567890::HUGEINT AS h', 'json'), /"h":12345678901234567890\}/);
  t.is(JSON.parse(await printed(t, 'FROM range(10000)', 'json')).length, 10_000);
});

test('a table aligns numbers right, tells null from the text NULL, and counts its rows', async (t) => {
  t.is(
    await printed(t, "SELECT * FROM (VALUES (1, 'NULL', NULL), (1000, 'b', 2.5)) AS v(n, t, x)", 'table'),
    `   n  t          x\n────  ──────  ────\n   1  'NULL'  NULL\n1000  b        2.5\n(2 rows)\n`,
  );
  t.regex(await printed(t, 'FROM range(100000000)', 'table', null, 3), /^ {4}2\n\(first 3 rows; there are more\)\n$/m);
  t.regex(await printed(t, "SELECT 'x' WHERE false", 'table'), /\(0 rows\)\n$/);
  t.regex(await printed(t, 'EXPLAIN SELECT 1', 'table'), /PROJECTION/);
});

test('a table fits its terminal: wide columns are cut, and the last ones left out by name', async (t) => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the table dims what is no value.
  const DIMMED = /\u001b\[\d+m/g;
  for (const width of [30, 60, 200]) {
    const lines = (await printed(t, 'SELECT *, NULL FROM swaths', 'table', width)).replace(DIMMED, '').split('\n');
    for (const line of lines.slice(0, -2)) t.true([...line].length <= width, `${width}: ${line}`);
  }
  t.regex(await printed(t, 'FROM detections', 'table', 40), /columns not shown for want of width: .*track_id/);
});

test('a text cannot give orders to the terminal', async (t) => {
  const sql = "SELECT chr(27) || '[2J' || chr(8238) || chr(155) || chr(7) || 'x' || chr(10) AS c";
  const table = await printed(t, sql, 'table');
  t.true(table.includes('\\u{1b}[2J\\u{202e}\\u{9b}\\u{7}x\\n'));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left.
  t.notRegex(table, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

test('shapes are texts, also where two columns have one name', async (t) => {
  const [row] = parse(await printed(t, 'SELECT threshold_mm AS a, geometry AS a FROM swaths LIMIT 1', 'csv'), {
    from: 2,
  });
  t.regex(row?.[1] ?? '', /^MULTIPOLYGON \(\(\(-9\d/);
});

for (const [sql, message] of [
  ["COPY (SELECT 1) TO 'tables/x.csv'", /'COPY' is not run here, expected one that reads/],
  ["EXPLAIN ANALYZE COPY (SELECT 1) TO 'tables/x.csv'", /'COPY' is not run here/],
  ["/* a */ explain /* b */ analyze COPY (SELECT 1) TO 'tables/x.csv'", /'COPY' is not run here/],
  ["EXPORT DATABASE 'tables/x'", /'EXPORT' is not run here/],
  ["EXPLAIN ANALYZE EXPORT DATABASE 'tables/x'", /syntax error at or near "EXPORT"/],
  ["/* /* */ SELECT */ EXPORT DATABASE 'tables/x'", /'' is not run here/],
  ["ATTACH 'tables/x.db'", /'ATTACH' is not run here/],
  ['INSTALL httpfs', /'INSTALL' is not run here/],
  ["LOAD 'tables/x.so'", /'LOAD' is not run here/],
  ['CREATE TABLE x AS SELECT 1', /'CREATE' is not run here/],
  ['WITH x AS (SELECT 1) INSERT INTO y FROM x', /Catalog Error|'INSERT' is not run here/],
  ['DROP VIEW detections', /'DROP' is not run here/],
  ["SET allowed_directories = ['/']", /'SET' is not run here/],
  ['PRAGMA enable_profiling', /'PRAGMA' is not run here/],
  ["CALL enable_profiling(format = 'json')", /'CALL' is not run here/],
  ["SELECT * FROM read_text('/etc/passwd')", /Permission Error: .*\/etc\/passwd/],
  ["SELECT * FROM read_text('current.json')", /Permission Error: .*current\.json/],
  ["SELECT * FROM read_text('tables/../current.json')", /Permission Error: .*current\.json/],
  ["SELECT * FROM 'https://example.com/x.parquet'", /Error/],
  ["SELECT * FROM enable_logging(storage = 'file', storage_config = {'path': 'tables/x'})", /holds 'enable_logging'/],
  ['SELECT * FROM "query" /* a */ (\'SELECT 1\')', /a function that is not run here/],
  ["FROM query/* /* */ */('SELECT 1')", /a function that is not run here/],
  ["SELECT * FROM json_execute_serialized_sql('{}')", /a function that is not run here/],
  ['SELECT 1; SELECT 2', /the text holds 2 statements, expected one/],
  ['SELECT ?', /has parameters, expected values/],
  ['SELEC 1', /^Parser Error: syntax error at or near "SELEC"\n\nLINE 1: SELEC 1\n {8}\^$/],
  ['SELECT nope FROM detections', /^Binder Error: Referenced column "nope" not found[\s\S]*\n {15}\^$/],
  ["SELECT CAST('a' AS INTEGER)", /Conversion Error/],
] as const)
  test(`refused: ${sql}`, async (t) => {
    const engine = await open(t);
    const run = async () => {
      const result = await engine.run(sql);
      await result?.fetchChunk();
    };
    await t.throwsAsync(run, { message });
    t.false((await fs.readdir(join(root, 'tables'))).some((name) => name.startsWith('x')));
  });

// Its working directory is another data root: no other test may run meanwhile.
test.serial(
  'an engine reads its edition while later commits replace what it names, and says when files were swept',
  async (t) => {
    const path = ownCopy(root);
    const home = process.cwd();
    process.chdir(path);
    const before = await headRows(path, DATES, 'detections');
    const engine = await openSqlEngine(path, null);
    const count = async () => (await engine.texts('SELECT count(*) FROM detections'))[0]?.[0];
    const opened = await openRoot(path, 'test', 0, MONTH_LATER_MS, { catalogues: cataloguesOf([]) });
    try {
      t.is(await count(), String(before.length));
      await opened.compactDay(DATES[0] ?? '', MONTH_LATER_MS);
      t.is(await count(), String(before.length));
      const past = new Date(0);
      for (const name of await fs.readdir(join(path, 'tables/detections/date=2026-05-01')))
        await fs.utimes(join(path, 'tables/detections/date=2026-05-01', name), past, past);
      for (const name of await fs.readdir(join(path, 'manifests/2026-05-01')))
        await fs.utimes(join(path, 'manifests/2026-05-01', name), past, past);
      await opened.sweep(MONTH_LATER_MS, null);
      await t.throwsAsync(engine.run('FROM detections'), { message: /^sql edition: names a file that is gone/ });
      const again = await openSqlEngine(path, null);
      t.is((await again.texts('SELECT count(*) FROM detections'))[0]?.[0], String(before.length));
      await again.close();
    } finally {
      await opened.close();
      await engine.close();
      process.chdir(home);
    }
  },
);

test('views that are not what a commit writes are refused', async (t) => {
  const path = ownCopy(root);
  for (const [content, message] of [
    ["COPY (SELECT 1) TO 'tables/x.csv';", /views\.sql: cannot be used \(it holds a statement of the kind COPY\)/],
    ['half a', /views\.sql: cannot be used \(.*syntax error/],
  ] as const) {
    await fs.writeFile(join(path, 'views.sql'), content);
    await t.throwsAsync(openSqlEngine(path, null), { message });
  }
});

/** What a person or a program says to the shell, and what it answers. */
async function shell(is_terminal: boolean, talk: (input: PassThrough, said: () => string) => Promise<void> | void) {
  const input = new PassThrough();
  let all = '';
  const into = () =>
    new Writable({
      write: (piece, _, done) => {
        all += String(piece);
        done();
      },
    });
  const settings: ShellSettings = {
    open: () => openSqlEngine(root, null),
    print: { format: 'table', rows: 40, look: { width: null, is_terminal: false } },
    width: () => null,
    input,
    output: into(),
    errors: into(),
    is_terminal,
  };
  const done = runShell(settings);
  await talk(input, () => all);
  return { code: await done, all };
}

test('the shell takes statements of several lines, commands, and the last statement of a file without its end', async (t) => {
  const { code, all } = await shell(false, (input) => {
    input.end(
      'SELECT 1 AS a,\n 2 AS b;SELECT 3 AS c;\n.mode csv\nSELECT 4 AS d;\n.tables\n.schema day_max\n.edition\n.refresh\n.rows 2\n.mode table\nFROM range(9);\n.help\nSELECT 5 AS e',
    );
  });
  t.is(code, 0);
  for (const part of [
    'a  b\n─  ─\n1  2\n',
    'c\n─\n3\n',
    'd\r\n4\r\n',
    '(first 2 rows; there are more)',
    '.refresh  ',
    'e\n─\n5\n',
  ])
    t.true(all.includes(part), part);
  t.regex(all, /^ground_reports +Table ground-reports, version 1: no rows\.$/m);
  t.regex(all, /^max_mm +DOUBLE +Largest MESH; above 150 mm stored as 150\. \[mm\]$/m);
  t.is(all.match(/^[0-9a-f]{12},2026-05-02T00:55:00Z,20260502T\d{6}Z,simulated\r$/gm)?.length, 2);
});

for (const [line, message] of [
  ['.nope', '.nope is no command of the shell, expected one that .help lists'],
  ['.mode parquet', ".mode is 'parquet', expected table, csv, json; Parquet needs --out on the command line"],
  ['.rows many', ".rows is 'many', expected a whole number from 1 to 999999"],
  ['.schema nope', ".schema is about 'nope', expected a view that .tables lists"],
  ['SELECT nope;', 'Binder Error: Referenced column "nope" was not found'],
] as const)
  test(`a file of statements ends at ${line}`, async (t) => {
    const { code, all } = await shell(false, (input) => {
      input.end(`${line}\nSELECT 'later';\n`);
    });
    t.is(code, 2);
    t.true(all.includes(message), all);
    t.false(all.includes('later'));
  });

test('at a terminal a mistake ends nothing, and Ctrl-C cancels the statement that runs', async (t) => {
  const heard = async (said: () => string, part: string) => {
    while (!said().includes(part)) await new Promise((resolve) => setImmediate(resolve));
  };
  const { code, all } = await shell(true, async (input, said) => {
    await heard(said, 'hail> ');
    input.write('SELECT nope;\n');
    await heard(said, 'Binder Error');
    input.write('SELECT count(*) FROM range(1000000000000) AS a(i), range(1000000) WHERE i % 7 = 8;\n');
    const cancel = setInterval(() => input.write('\u0003'), 200);
    await heard(said, 'was cancelled');
    clearInterval(cancel);
    input.write("SELECT 'still ' || 'there' AS s;\n");
    await heard(said, 'still there');
    input.write('.quit\n');
  });
  t.is(code, 0);
  t.regex(all, /sql statement: was cancelled/);
});

const run = (args: readonly string[], path = root, cwd = dirname(root)) => command(path, ['sql', ...args], { cwd });

test('one statement is answered on standard output, and a mistake ends with exit code 2', async (t) => {
  const { code, stdout } = await run(['--format', 'csv', 'SELECT count(*) AS n FROM detections']);
  t.deepEqual([code, stdout], [0, `n\r\n${(await headRows(root, DATES, 'detections')).length}\r\n`]);
  const wrong = await run(['SELECT nope']);
  t.is(wrong.code, 2);
  t.regex(wrong.stderr, /^hail-pipeline: Binder Error: .*\n\nLINE 1: SELECT nope\n {15}\^\n$/);
});

test('a file is written whole, outside the data root, and replaced with --force only', async (t) => {
  const folder = await scratch(t, "o'ut");
  const out = join(folder, 'new', 'x y.parquet');
  const write = (...args: string[]) => run(['--format', 'parquet', ...args]);
  const all = ['--out', out, 'FROM swaths; -- all'];
  t.is((await write(...all)).stdout, `${out}\n`);
  t.is((await fs.readFile(out)).subarray(0, 4).toString(), 'PAR1');
  const again = await write(...all);
  t.is(again.code, 4);
  t.regex(again.stderr, /x y\.parquet: is there already, expected no file of that name, or --force to replace it\n$/);
  t.is((await write('--force', ...all)).code, 0);
  const failed = await write('--out', join(folder, 'failed.parquet'), "SELECT error('no')");
  t.is(failed.code, 1);
  t.deepEqual((await fs.readdir(folder)).sort(), ['new']);
  t.deepEqual(await fs.readdir(join(folder, 'new')), ['x y.parquet']);
  await fs.symlink(root, join(folder, 'link'));
  for (const inside of [join(root, 'tables', 'x.parquet'), join(folder, 'link', 'current.json'), root]) {
    const refused = await write('--force', '--out', inside, 'SELECT 1');
    t.is(refused.code, 2, inside);
    t.regex(refused.stderr, /inside the data root .*, expected a place outside of it\n$/);
  }
  const without = await write('SELECT 1');
  t.is(without.code, 2);
  t.regex(without.stderr, /--format parquet is given without --out, expected the file to write\n$/);
  const shell = await write('--out', out);
  t.regex(shell.stderr, /--out is given without a statement, expected the statement to write the result of\n$/);
});

test('a folder that is no data root, and a root without views, end with exit code 3', async (t) => {
  const empty = await scratch(t);
  await fs.mkdir(empty, { recursive: true });
  const nothing = await run(['SELECT 1'], empty);
  t.is(nothing.code, 3);
  t.regex(nothing.stderr, /holds no root\.json, expected a data root that something was published to\n$/);
  await fs.writeFile(join(empty, 'root.json'), '{}');
  const older = await run(['SELECT 1'], empty);
  t.is(older.code, 3);
  t.regex(older.stderr, /views\.sql: is missing, expected the views .* 'hail-pipeline compact' writes them/);
});
