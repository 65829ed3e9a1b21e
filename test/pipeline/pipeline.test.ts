import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import fs, { mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import test from 'ava';
import { parse as parseCsv } from 'csv-parse/sync';
import { readConfig } from '../../pipeline/config.ts';
import { openEngine, sqlList, sqlText } from '../../pipeline/duckdb.ts';
import { BadInput, Unreadable, UsageError } from '../../pipeline/error.ts';
import { copyDurably, hashOf, makeFolder, replaceFile, sizeOf } from '../../pipeline/files.ts';
import { parseJson } from '../../pipeline/json.ts';
import { silent, terminalLog } from '../../pipeline/log.ts';
import { createPipelineMetrics, observedLog } from '../../pipeline/metrics/registry.ts';
import { serveMetrics, watchRoot } from '../../pipeline/metrics/watched-stream.ts';
import { layout } from '../../schemas/layout.ts';
import { MANIFEST_VERSION } from '../../schemas/manifest.ts';
import { gribFile, pngPacking } from '../support/data/grib2-files.ts';
import { sharedData, sharedTest } from '../support/data/shared-data.ts';
import { midnight } from '../support/data/small-world.ts';
import { scratch as emptyFolder, put } from '../support/data/source-files.ts';
import { ingest, onRoot, ownCopy, preparedRoot, scansBetween, scratch } from '../support/data/world.ts';
import { commandHere } from '../support/kill/command-here.ts';
import { testUnknownSettings } from '../support/service/unknown-settings.ts';
import { until } from '../support/until.ts';

test('settings that are not given have their defaults', (t) => {
  const config = readConfig({});
  const mrms_url = 'https://noaa-mrms-pds.s3.amazonaws.com';
  t.like(config, { data_root: resolve('data'), storm_day_start_hour: 0, log_level: 'info', mrms_url });
  t.true(Object.isFrozen(config));
});

test('an empty setting counts as not given', (t) =>
  t.is(readConfig({ HAIL_STORM_DAY_START_HOUR: '' }).storm_day_start_hour, 0));

test('HAIL_NOW fixes the data clock', (t) => {
  const { now } = readConfig({ HAIL_NOW: '2026-05-01T20:12:00Z' });
  t.is(now(), Date.parse('2026-05-01T20:12:00Z'));
  t.is(now(), now());
});

for (const [name, other] of [
  ['hail [1]', 'hail 1'],
  ['hail*', 'hail of others'],
  ['hail?', 'hails'],
] as const)
  test(`a data root '${name}' is refused: DuckDB would read the files of '${other}' in its place`, async (t) => {
    const folder = await scratch(t, 'roots');
    const engine = await openEngine();
    t.teardown(() => engine.close());
    for (const each of [name, other]) {
      await fs.mkdir(join(folder, each), { recursive: true });
      await engine.rows(`COPY (SELECT '${each}' AS root) TO '${folder}/${each}/file.parquet' (USE_TMP_FILE false)`);
    }
    const rows = await engine.rows<{ root: string }>(`SELECT root FROM read_parquet('${folder}/${name}/file.parquet')`);
    t.true(rows.some(({ root }) => root === other));
    const HAIL_DATA = join(folder, name);
    const error = t.throws(() => readConfig({ HAIL_DATA }), { instanceOf: UsageError });
    t.true(error?.message.startsWith(`HAIL_DATA is '${HAIL_DATA}': expected a path without *, ? and [`));
    t.is(readConfig({ HAIL_DATA: join(folder, other) }).data_root, join(folder, other));
  });

test('the address of the bucket loses its closing slashes', (t) =>
  t.is(readConfig({ HAIL_MRMS_URL: 'http://localhost:8000/mrms//' }).mrms_url, 'http://localhost:8000/mrms'));

for (const [name, value] of [
  ['HAIL_STORM_DAY_START_HOUR', '24'],
  ['HAIL_STORM_DAY_START_HOUR', '-1'],
  ['HAIL_STORM_DAY_START_HOUR', '1.5'],
  ['HAIL_STORM_DAY_START_HOUR', '0x5'],
  ['HAIL_NOW', '2026-02-30T00:00:00Z'],
  ['HAIL_NOW', '2026-05-01'],
  ['HAIL_NOW', '2026-05-01T20:12:00+02:00'],
  ['HAIL_MRMS_URL', 'somewhere'],
  ['HAIL_MRMS_URL', 'file:///etc'],
  ['HAIL_LOG_LEVEL', 'verbose'],
] as const)
  test(`${name}=${value} is refused by name`, (t) => {
    const error = t.throws(() => readConfig({ [name]: value }), { instanceOf: UsageError });
    t.true(error?.message.startsWith(`${name} is '${value}'`));
  });

test('every setting that does not fit is named', (t) => {
  const error = t.throws(() => readConfig({ HAIL_NOW: 'x', HAIL_LOG_LEVEL: 'y' }));
  t.regex(error?.message ?? '', /HAIL_NOW.*HAIL_LOG_LEVEL/);
});

testUnknownSettings(readConfig, UsageError);

test('numbers and instants come back as plain numbers, whatever their width', async (t) => {
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const rows = await engine.rows(
    "SELECT 5::BIGINT AS big, 1.5::DOUBLE AS real, NULL AS none, TIMESTAMP '2026-05-01 00:00:01' AS since",
  );
  t.deepEqual(rows, [{ big: 5, real: 1.5, none: null, since: Date.parse('2026-05-01T00:00:01Z') }]);
});

test('parameters are bound, not pasted', async (t) => {
  const engine = await openEngine();
  t.teardown(() => engine.close());
  t.deepEqual(await engine.rows('SELECT ? AS text', ["x' OR 1=1 --"]), [{ text: "x' OR 1=1 --" }]);
});

test('quotes in paths are escaped', (t) => {
  t.is(sqlText("it's"), "'it''s'");
  t.is(sqlList(["a'", 'b']), "['a''', 'b']");
});

test('what does not fit into memory goes to the folder that was named', async (t) => {
  const folder = await scratch(t, 'spill');
  const engine = await openEngine(folder);
  t.teardown(() => engine.close());
  t.deepEqual(await engine.rows("SELECT current_setting('temp_directory') AS folder"), [{ folder }]);
});

test('folders are made with their parents, from absolute and relative paths, and making them again is nothing', async (t) => {
  const root = await emptyFolder(t);
  for (const path of [join(root, 'a/b/c'), relative('.', join(root, 'd/e')), join(root, 'a/b/c')])
    await makeFolder(path);
  t.deepEqual((await readdir(root, { recursive: true })).sort(), ['a', 'a/b', 'a/b/c', 'd', 'd/e']);
});

test('a copy and a text replace what was there, with their folders made on the way', async (t) => {
  const root = await emptyFolder(t);
  const from = await put(root, 'from', 'new');
  for (const to of [await put(root, 'old', 'old content'), join(root, 'deep/new')]) {
    await copyDurably(from, to);
    t.is(await readFile(to, 'utf8'), 'new');
    await replaceFile(to, 'text');
    t.is(await readFile(to, 'utf8'), 'text');
  }
});

test('a copy of what is not there leaves what was there and no part, and names what is missing', async (t) => {
  const root = await emptyFolder(t);
  const to = await put(root, 'to', 'old');
  const message = /\/nowhere: is not there \(ENOENT\)/;
  await t.throwsAsync(copyDurably(join(root, 'nowhere'), to), { instanceOf: Unreadable, message });
  t.is(await readFile(to, 'utf8'), 'old');
  t.deepEqual(await readdir(root), ['to']);
});

test('what is not there has no size; a folder in place of a file is no reason to be silent', async (t) => {
  const root = await emptyFolder(t);
  t.is(await sizeOf(await put(root, 'file', 'four')), 4);
  t.is(await sizeOf(join(root, 'nowhere')), null);
  await mkdir(join(root, 'folder'));
  await t.throwsAsync(hashOf(join(root, 'folder')), { instanceOf: Unreadable, message: /EISDIR/ });
});

const parse = (text: string) => parseJson(Buffer.from(text), 'x.json');

test('json within its bounds becomes a value', (t) =>
  t.deepEqual(parse('{"a":[1,2],"b":["é"]}'), { a: [1, 2], b: ['é'] }));

test('a text that is not in UTF-8 is refused: its letters would be lost', (t) => {
  // RFC 8259, section 8.1. The byte 0xF1 alone begins no character.
  const bytes = Buffer.from('{"city":"Ca\u00f1on City"}', 'latin1');
  const error = t.throws(() => parseJson(bytes, 'x'), { instanceOf: BadInput });
  t.regex(error?.message ?? '', /text that is not utf-8, expected a json file of the feed$/);
});

test('brackets, commas and escaped quotes inside text do not count', (t) =>
  t.deepEqual(parse(String.raw`["[[[[{{{{,,,,\"[[[[,,,,\\"]`), ['[[[[{{{{,,,,"[[[[,,,,\\']));

for (const [title, text, reason] of [
  ['too many bytes', `"${'a'.repeat(2 ** 25)}"`, /json of more than 33554432 bytes/],
  ['too many arrays and objects', `[${'[],{},'.repeat(300_000)}1]`, /json of more than 600000 arrays and objects/],
  ['too many values', `[${'1,'.repeat(2_000_000)}1]`, /json of more than 2000000 values/],
  ['too many levels', '['.repeat(33), /json of more than 32 levels/],
  ['no json at all', 'hail', /not json, expected a json file of the feed/],
] as const)
  test(`${title}: refused by name`, (t) => {
    const error = t.throws(() => parse(text), { instanceOf: BadInput });
    t.true(error.message.startsWith('read x.json: '));
    t.regex(error.message, reason);
  });

function spoken() {
  const lines: string[] = [];
  return { lines, log: terminalLog((line) => void lines.push(line)) };
}

test('a stream on a terminal tells every scan in a line', async (t) => {
  const scans = await scansBetween('23:50', '23:57');
  const { lines, log } = spoken();
  await ingest(await scratch(t), scans, { log, each_scan: true });
  t.is(lines.length, scans.length);
  for (const [index, { scan_id }] of scans.entries())
    t.regex(lines[index] ?? '', new RegExp(`^${scan_id}  [\\d,]+ detections?, [\\d,]+ storm cells?$`));
});

test('a scan that came late says how many were made again', (t) => {
  const { lines, log } = spoken();
  const fields = { scans: 3, redone: 2, newest: '20260501T235600Z', detections: 1234, cells: 1, dates: [] };
  log.info('Scan:Commit:Done', fields);
  t.deepEqual(lines, [
    '20260501T235600Z  1,234 detections, 1 storm cell  (2 of 3 scans made again because something came late)',
  ]);
});

test('warnings are told with their fields, and events that are for logs are not told', (t) => {
  const { lines, log } = spoken();
  log.info('File:Name:Unknown', { file: 'x' });
  log.warn('File:Fetch:Failed', { file: 'a.grib2.gz', reason: 'server answers 503' });
  log.info('Stream:Stop', {});
  t.deepEqual(lines, ['File:Fetch:Failed file=a.grib2.gz reason=server answers 503', 'Stopped.']);
});
const NOW_MS = Date.parse('2026-05-01T12:00:00Z');

async function emptyRoot(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'hail metrics "root" '));
}

function partsOf(data_root: string) {
  return { data_root, now: () => NOW_MS };
}

/** Value of a series as a scraper reads it; null when it is absent. */
function seriesValue(text: string, series: string): number | null {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1));
}

function writeFeeds(root: string): void {
  const feed = {
    name: 'warnings',
    collection: 'warnings',
    every_s: 60,
    followed_since: '2026-05-01T00:00:00Z',
    last_attempt_at: '2026-05-01T11:59:00Z',
    last_success_at: '2026-05-01T11:30:00Z',
    failure: 'no answer',
    source: 'observed',
  };
  const never = { ...feed, name: 'lsr', last_attempt_at: null, last_success_at: null, failure: null };
  writeFileSync(join(root, layout.feeds), JSON.stringify({ manifest_version: MANIFEST_VERSION, feeds: [feed, never] }));
}

test('the events of a log are counted, and reach the log unchanged', async (t) => {
  const metrics = createPipelineMetrics('1.2.3');
  const events: string[] = [];
  const note = (event: string) => void events.push(event);
  const log = observedLog({ ...silent, info: note, warn: note }, metrics);
  log.info('Scan:Commit:Done', { scans: 3, redone: 1, detections: 40, cells: 5, seconds: 0.4 });
  log.warn('File:Read:Rejected', { file: 'a', stage: 'read', reason: 'is short' });
  log.warn('File:Read:Rejected', { file: 'b', stage: 'a stage of the future', reason: 'is odd' });
  log.info('Root:Sweep:Done', { files: 2, bytes: 1000 });
  log.info('Month:Join:Done', { month: '2026-04', seconds: 2.5 });
  const rejected = ['File:Read:Rejected', 'File:Read:Rejected'];
  t.deepEqual(events, ['Scan:Commit:Done', ...rejected, 'Root:Sweep:Done', 'Month:Join:Done']);
  const text = await metrics.registry.metrics();
  t.is(seriesValue(text, 'hail_pipeline_scans_total{kind="new"}'), 2);
  t.is(seriesValue(text, 'hail_pipeline_scans_total{kind="redone"}'), 1);
  t.is(seriesValue(text, 'hail_pipeline_rows_total{table="detections"}'), 40);
  t.is(seriesValue(text, 'hail_pipeline_commit_seconds_sum'), 0.4);
  t.is(seriesValue(text, 'hail_pipeline_files_refused_total{reason="read"}'), 1);
  t.is(seriesValue(text, 'hail_pipeline_files_refused_total{reason="other"}'), 1);
  t.is(seriesValue(text, 'hail_pipeline_swept_bytes_total'), 1000);
  t.is(seriesValue(text, 'hail_pipeline_compaction_seconds_total{what="months"}'), 2.5);
  t.is(seriesValue(text, `hail_pipeline_build_info{version="1.2.3",node="${process.version}"}`), 1);
});

test('an event with fields that no counter takes breaks nothing and adds no label', async (t) => {
  const { observe, registry } = createPipelineMetrics('1');
  observe('Scan:Commit:Done', { scans: Number.NaN, redone: -3, detections: 'many', seconds: Number.POSITIVE_INFINITY });
  observe('Scan:Commit:Done', {});
  observe('Feed:Item:Rejected', { feed: '"}\nhail_fake 1' });
  observe('constructor', {});
  const text = await registry.metrics();
  t.is(seriesValue(text, 'hail_pipeline_scans_total{kind="new"}'), 0);
  t.is(seriesValue(text, 'hail_pipeline_commits_total'), 2);
  t.is(seriesValue(text, 'hail_pipeline_feed_items_refused_total{feed="other"}'), 1);
  t.false(text.includes('hail_fake'));
});

test('what a root has never had is absent, not 0', async (t) => {
  const metrics = createPipelineMetrics('1');
  await watchRoot(metrics, partsOf(await emptyRoot()))();
  const text = await metrics.registry.metrics();
  for (const name of ['scan_age_seconds', 'scan_newest_timestamp_seconds', 'root_locked'])
    t.is(seriesValue(text, `hail_pipeline_${name}`), null, name);
  t.false(/^hail_pipeline_feed_\w+\{/m.test(text));
  for (const part of ['scan', 'feeds', 'disk'])
    t.is(seriesValue(text, `hail_pipeline_scrape_failed{part="${part}"}`), 0);
  t.true((seriesValue(text, 'hail_pipeline_disk_free_bytes') ?? 0) > 0);
});

test('ages of feeds are those of the moment of the scrape, and a feed that never delivered has none', async (t) => {
  const root = await emptyRoot();
  writeFeeds(root);
  const metrics = createPipelineMetrics('1');
  let now_ms = NOW_MS;
  const refresh = watchRoot(metrics, { ...partsOf(root), now: () => now_ms });
  await refresh();
  t.is(seriesValue(await metrics.registry.metrics(), 'hail_pipeline_feed_age_seconds{feed="warnings"}'), 1800);
  now_ms += 60_000;
  await refresh();
  const text = await metrics.registry.metrics();
  t.is(seriesValue(text, 'hail_pipeline_feed_age_seconds{feed="warnings"}'), 1860);
  t.is(seriesValue(text, 'hail_pipeline_feed_failed{feed="warnings"}'), 1);
  t.is(seriesValue(text, 'hail_pipeline_feed_age_seconds{feed="lsr"}'), null);
  t.is(seriesValue(text, 'hail_pipeline_feed_failed{feed="lsr"}'), null);
  t.is(seriesValue(text, 'hail_pipeline_feed_interval_seconds{feed="lsr"}'), 60);
  now_ms = NOW_MS - 86_400_000;
  await refresh();
  t.is(seriesValue(await metrics.registry.metrics(), 'hail_pipeline_feed_age_seconds{feed="warnings"}'), 0);
});

test('a part that cannot be read is named and absent, and the others are there', async (t) => {
  const root = await emptyRoot();
  writeFeeds(root);
  const metrics = createPipelineMetrics('1');
  const refresh = watchRoot(metrics, partsOf(root));
  await refresh();
  writeFileSync(join(root, layout.feeds), '{"feeds":');
  await refresh();
  const text = await metrics.registry.metrics();
  t.is(seriesValue(text, 'hail_pipeline_scrape_failed{part="feeds"}'), 1);
  t.is(seriesValue(text, 'hail_pipeline_scrape_failed{part="disk"}'), 0);
  t.is(seriesValue(text, 'hail_pipeline_feed_age_seconds{feed="warnings"}'), null);
});

test('metrics are answered at /metrics alone, and a port in use is a mistake of the settings', async (t) => {
  const metrics = createPipelineMetrics('1');
  const at = { host: '127.0.0.1', port: 0 };
  const server = await serveMetrics(metrics, at, async () => {});
  t.teardown(server.close);
  const url = `http://127.0.0.1:${server.port}`;
  const answer = await fetch(`${url}/metrics`);
  t.regex(answer.headers.get('content-type') ?? '', /^text\/plain/);
  t.regex(await answer.text(), /^hail_pipeline_nodejs_eventloop_lag_seconds /m);
  t.is((await fetch(`${url}/metrics?x`)).status, 404);
  t.is((await fetch(`${url}/metrics`, { method: 'POST' })).status, 404);
  const taken = { ...at, port: server.port };
  await t.throwsAsync(
    serveMetrics(createPipelineMetrics('1'), taken, async () => {}),
    { instanceOf: UsageError, message: /HAIL_PIPELINE_METRICS_PORT is \d+.*EADDRINUSE.*expected a free port/ },
  );
});

test('scrapers that never read their answer, or never ask, hold no place for ever', async (t) => {
  const metrics = createPipelineMetrics('1');
  const server = await serveMetrics(metrics, { host: '127.0.0.1', port: 0 }, async () => {});
  t.teardown(server.close);
  const crowd = Array.from({ length: 8 }, (_, n) => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    t.teardown(() => void socket.destroy());
    socket.pause();
    // More answers than any buffer of a connection holds.
    if (n % 2 === 0) for (let sent = 0; sent < 2000; sent++) socket.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n');
    return socket;
  });
  await Promise.all(crowd.map((socket) => once(socket, 'connect')));
  const ask = () => fetch(`http://127.0.0.1:${server.port}/metrics`, { headers: { Connection: 'close' } });
  let status = 0;
  await until(async () => {
    // The crowd holds every place at first: the connection is refused then.
    status = await ask().then(
      (answer) => answer.status,
      () => 0,
    );
    return status !== 0;
  });
  t.is(status, 200);
});
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
  t.is(parseCsv(all.stdout, { columns: true }).length, JSON.parse(counted.stdout)[0].n);
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
