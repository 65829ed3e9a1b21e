import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import test from 'ava';
import { readConfig } from '../../pipeline/config.ts';
import { openEngine, sqlList, sqlText } from '../../pipeline/duckdb.ts';
import { BadInput, Unreadable, UsageError } from '../../pipeline/error.ts';
import { copyDurably, hashOf, makeFolder, replaceFile, sizeOf } from '../../pipeline/files.ts';
import { parseJson } from '../../pipeline/json.ts';
import { terminalLog } from '../../pipeline/log.ts';
import { scratch as emptyFolder, put } from '../support/data/source-files.ts';
import { ingest, scansBetween, scratch } from '../support/data/world.ts';
import { testUnknownSettings } from '../support/service/unknown-settings.ts';

test('settings that are not given have their defaults', (t) => {
  const config = readConfig({});
  t.deepEqual(
    [config.data_root, config.storm_day_start_hour, config.log_level, config.mrms_url],
    [resolve('data'), 0, 'info', 'https://noaa-mrms-pds.s3.amazonaws.com'],
  );
  t.true(Object.isFrozen(config));
});

test('an empty setting counts as not given', (t) => {
  t.is(readConfig({ HAIL_STORM_DAY_START_HOUR: '' }).storm_day_start_hour, 0);
});

test('HAIL_NOW fixes the data clock', (t) => {
  const { now } = readConfig({ HAIL_NOW: '2026-05-01T20:12:00Z' });
  t.is(now(), Date.parse('2026-05-01T20:12:00Z'));
  t.is(now(), now());
});

test('the address of the bucket loses its closing slashes', (t) => {
  t.is(readConfig({ HAIL_MRMS_URL: 'http://localhost:8000/mrms//' }).mrms_url, 'http://localhost:8000/mrms');
});

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
  await t.throwsAsync(copyDurably(join(root, 'nowhere'), to), {
    instanceOf: Unreadable,
    message: /\/nowhere: is not there \(ENOENT\)/,
  });
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

test('json within its bounds becomes a value', (t) => {
  t.deepEqual(parse('{"a":[1,2],"b":["é"]}'), { a: [1, 2], b: ['é'] });
});

test('brackets, commas and escaped quotes inside text do not count', (t) => {
  t.deepEqual(parse(String.raw`["[[[[{{{{,,,,\"[[[[,,,,\\"]`), ['[[[[{{{{,,,,"[[[[,,,,\\']);
});

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
