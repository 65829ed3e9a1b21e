import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { gunzipSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { readModelFolder } from '../../pipeline/commands/feeds.ts';
import { BadInput } from '../../pipeline/error.ts';
import { pollFeed, publishPoll } from '../../pipeline/feeds/schedule.ts';
import {
  type HAIL_FIELDS,
  horizonHours,
  modelKeys,
  parseIndex,
  parseModelKey,
  selectRanges,
  usefulRuns,
} from '../../pipeline/forecast/model-bucket.ts';
import type { CellHour } from '../../pipeline/forecast/model-cells.ts';
import { openModelDecoder } from '../../pipeline/forecast/model-decoder.ts';
import { fetchModelHour, type ModelServer } from '../../pipeline/forecast/model-download.ts';
import { modelFeed } from '../../pipeline/forecast/model-feed.ts';
import { hourName, readModelHours, writeModelHours } from '../../pipeline/forecast/model-hours.ts';
import { publishForecast, publishModelHours } from '../../pipeline/forecast/publish-forecast.ts';
import { type Log, silent } from '../../pipeline/log.ts';
import { readNewest } from '../../pipeline/publish/manifests.ts';
import { openRoot } from '../../pipeline/publish/open-root.ts';
import type { Root } from '../../pipeline/publish/root.ts';
import { readRows } from '../../pipeline/publish/tables.ts';
import { readModelHour } from '../../pipeline/read/model-hour.ts';
import { Unavailable } from '../../pipeline/sources/http.ts';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { layout } from '../../schemas/layout.ts';
import { type Forecast, forecast, type Outlook, outlook } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';
import { modelFile } from '../support/data/model-file.ts';
import { pluck } from '../support/data/rows.ts';
import { EVENING_MS } from '../support/data/small-evening.ts';
import { startWebServer, type WebServer } from '../support/data/web-server.ts';

const NOW = Date.parse('2026-05-01T20:40:00Z');
const RUN = Date.parse('2026-05-01T19:00:00Z');

/** Answers a request and returns its answer, or returns null for that of the bucket. */
type Interception = (request: IncomingMessage, response: ServerResponse) => ServerResponse | null;

/** Puts a file with its index on a server, as the bucket has it: with byte ranges and an entity tag. */
function serveFile({ answers }: WebServer, path: string, bytes: Buffer, index: string, intercept?: Interception): void {
  answers.set(`/${path}.idx`, index);
  answers.set(`/${path}`, (request, response) => {
    if (intercept?.(request, response) != null) return;
    const [, start = '0', end = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const part = bytes.subarray(Number(start), end === '' ? bytes.length : Number(end) + 1);
    const range = `bytes ${start}-${Number(start) + part.length - 1}/${bytes.length}`;
    response.writeHead(206, { etag: `"${bytes.length}"`, 'content-range': range }).end(part);
  });
}

/** A model file without the production status of simulated messages: octet 20 of section 1, which follows 16 bytes. */
function asObserved(file: Uint8Array): Buffer {
  const bytes = Buffer.from(file);
  for (let at = 0; at < bytes.length; at += Number(bytes.readBigUInt64BE(at + 8))) bytes[at + 16 + 19] = 0;
  return bytes;
}

/** Puts an hour of a run on a server, under the name of a lead; its path there. */
function serveHour(server: WebServer, run_time: number, lead_h: number, as_lead_h = lead_h): string {
  const { path: own_path, bytes, index } = modelFile(run_time, lead_h);
  const path = as_lead_h === lead_h ? own_path : modelFile(run_time, as_lead_h).path;
  serveFile(server, path, asObserved(bytes), index);
  return `/${path}`;
}

function serveRun(server: WebServer, run_time: number, leads: readonly number[]): void {
  for (const lead_h of leads) serveHour(server, run_time, lead_h);
}

async function opened(t: ExecutionContext): Promise<Root> {
  const path = mkdtempSync(join(tmpdir(), 'hail-model-feed-'));
  const root = await openRoot(path, 'test', 0, NOW);
  t.teardown(async () => {
    await root.close();
    rmSync(path, { recursive: true });
  });
  return root;
}

/** A server with hours of the newest run, and an empty root. */
async function served(t: ExecutionContext, leads: readonly number[] = []) {
  const server = await startWebServer(t);
  serveRun(server, RUN, leads);
  return { server, root: await opened(t) };
}

function accessTo({ url }: WebServer): ModelServer {
  return {
    base_url: url,
    user_agent: 'hail-test/1',
    network: { patience: { retries: 2, first_ms: 1, longest_ms: 1 } },
  };
}

/** The feed of a process that was just started; its first poll reads the hours that a data root holds. */
function feedOf(server: WebServer, { path }: Pick<Root, 'path'> = { path: join(tmpdir(), 'hail-no-such-root') }) {
  return modelFeed('hrrr', accessTo(server), path, silent);
}

async function forecastOf(root: Root): Promise<Forecast[]> {
  const manifest = await readNewest(root.path, layout.collectionPartition('forecast'));
  const paths = (manifest?.files ?? []).map(({ path }) => join(root.path, path));
  return readRows<Forecast>(root.engine, forecast, paths);
}

test('the hours of a run are fetched by byte ranges and published, from the first that ends after now', async (t) => {
  const { server, root } = await served(t, [1, 2, 3]);
  const { failure, changed } = await (await feedOf(server).poll(NOW)).publish(root);
  t.deepEqual([failure, changed], [null, ['forecast', 'outlook']]);
  const rows = await forecastOf(root);
  t.deepEqual([...new Set(rows.map(({ valid_time }) => valid_time))].sort(), [
    RUN + 2 * MS_PER_HOUR,
    RUN + 3 * MS_PER_HOUR,
  ]);
  const origins = new Set(rows.map(({ run_time, model, data_source }) => `${run_time} ${model} ${data_source}`));
  t.deepEqual(origins, new Set([`${RUN} hrrr observed`]));
});

test('an hour that was decoded is not fetched again, a new one is', async (t) => {
  const server = await startWebServer(t);
  serveRun(server, RUN, [1, 2]);
  const feed = feedOf(server);
  await feed.poll(NOW);
  server.asked.length = 0;
  serveRun(server, RUN, [3]);
  await feed.poll(NOW);
  t.false(server.asked.some((url) => /t19z\.wrfsfcf0[12]\.grib2$/.test(url)));
  t.true(server.asked.some((url) => /t19z\.wrfsfcf03\.grib2$/.test(url)));
});

test('hours that the newest run lacks come from the one before it, and every row names its own', async (t) => {
  const server = await startWebServer(t);
  serveRun(server, RUN, [1, 2]);
  serveRun(server, RUN - MS_PER_HOUR, [1, 2, 3, 4]);
  const root = await opened(t);
  await (await feedOf(server).poll(NOW)).publish(root);
  const rows = await forecastOf(root);
  const runsAt = (valid_time: number) =>
    new Set(rows.filter((row) => row.valid_time === valid_time).map(({ run_time }) => run_time));
  t.deepEqual(runsAt(RUN + 2 * MS_PER_HOUR), new Set([RUN]));
  t.deepEqual(runsAt(RUN + 3 * MS_PER_HOUR), new Set([RUN - MS_PER_HOUR]));
});

test('runs that stopped coming are published with their old time, and the feed does not count as read', async (t) => {
  const server = await startWebServer(t);
  const old = Date.parse('2026-05-01T12:00:00Z');
  serveRun(server, old, [9, 10, 11]);
  const feed = feedOf(server);
  const root = await opened(t);
  await t.throwsAsync(feed.poll(NOW), { message: /has no hour of the hrrr runs/ });
  serveRun(server, old, [8]);
  const { failure } = await (await feed.poll(NOW)).publish(root);
  t.regex(failure ?? '', /newest run is of 2026-05-01T12:00:00Z, expected one of the last 4 hours/);
  t.is((await forecastOf(root))[0]?.run_time, old);
});

test('an hour that is no GRIB costs itself only', async (t) => {
  const server = await startWebServer(t);
  serveRun(server, RUN, [1, 2, 3]);
  const broken = [...server.answers.keys()].find((path) => path.endsWith('f03.grib2')) ?? '';
  server.answers.set(broken, (_, response) => response.writeHead(200).end('<html>busy</html>'));
  const root = await opened(t);
  const feed = feedOf(server);
  t.not((await (await feed.poll(NOW)).publish(root)).failure, null);
  t.true((await forecastOf(root)).length > 0);
  serveRun(server, RUN, [1, 2, 3]);
  t.is((await (await feed.poll(NOW)).publish(root)).failure, null);
});

test('a folder in the layout of the bucket is read like the bucket, and names what it cannot use', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hail-model-folder-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const { path, bytes } = modelFile(RUN, 1);
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), bytes);
  const absent = 'hrrr.20260501/conus/hrrr.t21z.wrfsfcf02.grib2';
  const part = 'rrfs.20260501/22/rrfs.t22z.2dfld.3km.f012.conus.grib2';
  const { hours, refused } = await readModelFolder(folder, [absent, path, `${path}.idx`, part, 'notes.txt'], silent);
  t.deepEqual(refused, [
    { path: join(folder, absent), reason: 'is not there (ENOENT)' },
    { path: join(folder, part), reason: 'is a part of an hour of which another is missing' },
  ]);
  t.deepEqual([...hours.keys()], ['hrrr']);
  const times = hours.get('hrrr')?.map(({ valid_time }) => valid_time);
  t.deepEqual(times, [RUN + MS_PER_HOUR]);
});

test('the outlook follows from the forecast alone where nothing else is published, and says so', async (t) => {
  const server = await startWebServer(t);
  const early = Date.parse('2026-05-01T12:00:00Z');
  const leads = Array.from({ length: 18 }, (_, k) => k + 1);
  serveRun(server, early, leads);
  const root = await opened(t);
  const at = early + 1.5 * MS_PER_HOUR;
  await (await feedOf(server).poll(at)).publish(root);
  t.deepEqual(await publishForecast(root, at, silent), []);
  const manifest = await readNewest(root.path, layout.collectionPartition('outlook'));
  const paths = (manifest?.files ?? []).map(({ path }) => join(root.path, path));
  const rows = await readRows<Outlook>(root.engine, outlook, paths);
  t.true(rows.length > 0);
  t.deepEqual(new Set(rows.map(({ primary_source, day }) => `${primary_source} ${day}`)), new Set(['hrrr 1']));
});

for (const [what, lead_h, answer, reason] of [
  [
    'that the server fails at',
    3,
    (_: unknown, response: ServerResponse) => response.writeHead(503).end(),
    /answers 503/,
  ],
  ['whose index is an error page', 1, '<html>Service Unavailable</html>\n', /line 1 is '<html>/],
] as const)
  test(`an hour ${what} costs itself only, and is told`, async (t) => {
    const server = await startWebServer(t);
    serveRun(server, RUN, [1, 2, 3]);
    server.answers.set(`/${modelFile(RUN, lead_h).path}.idx`, answer);
    const root = await opened(t);
    const { failure, changed } = await publishPoll(root, await pollFeed(feedOf(server, root), NOW), silent);
    t.deepEqual(changed, ['forecast', 'outlook']);
    t.regex(failure ?? '', reason);
  });

const HOUR = { model: 'hrrr', run_time: EVENING_MS, valid_time: EVENING_MS + 3 * MS_PER_HOUR } as const;
const FILE = modelFile(EVENING_MS, 3);
const BYTES = Buffer.from(FILE.bytes);
/** The file as a server has it: with an unused message before and one between. */
const UNWANTED = BYTES.subarray(0, BYTES.readUInt32BE(12));
const CUT = offsetOf('HAIL');
const WHOLE = Buffer.concat([UNWANTED, BYTES.subarray(0, CUT), UNWANTED, BYTES.subarray(CUT)]);
const INDEX = [
  `1:0:d=2026050122:VIS:surface:3 hour fcst:`,
  ...FILE.index
    .trim()
    .split('\n')
    .flatMap((line, k) => {
      const offset = Number(line.split(':')[1]);
      const moved = UNWANTED.length + offset + (offset >= CUT ? UNWANTED.length : 0);
      const entry = line.replace(/^\d+:\d+/, `${k + 2}:${moved}`);
      return offset === CUT ? [`99:${UNWANTED.length + CUT}:d=2026050122:GUST:surface:3 hour fcst:`, entry] : [entry];
    }),
  '',
].join('\n');

function offsetOf(name: string): number {
  const line = FILE.index.split('\n').find((each) => each.includes(`:${name}:`));
  return Number(line?.split(':')[1]);
}

async function ask(t: ExecutionContext, intercept?: Interception) {
  const server = await startWebServer(t);
  const seen: IncomingMessage['headers'][] = [];
  serveFile(server, FILE.path, WHOLE, INDEX, (request, response) => {
    seen.push(request.headers);
    return intercept?.(request, response) ?? null;
  });
  const files = await fetchModelHour(HOUR, accessTo(server));
  return { bytes: Buffer.from(files === 'absent' ? [] : (files[0]?.bytes ?? [])), seen };
}

test('the messages we use arrive by index and byte ranges of one version, and read as the hour', async (t) => {
  const { bytes, seen } = await ask(t);
  t.deepEqual(bytes, BYTES);
  const [first, second] = [UNWANTED.length, 2 * UNWANTED.length + CUT];
  t.deepEqual(pluck(seen, 'range'), [`bytes=${first}-${first + CUT - 1}`, `bytes=${second}-`]);
  const conditional = seen.map((headers) => headers['if-match'] !== undefined);
  t.deepEqual(conditional, [false, true]);
  t.deepEqual(pluck(seen, 'user-agent'), ['hail-test/1', 'hail-test/1']);
  t.is(Object.keys(readModelHour([{ bytes, subject: 'x' }], HOUR).hour.fields).length, 13);
});

for (const [title, intercept, reason] of [
  [
    'does not know ranges',
    (_, response) => response.writeHead(200).end(WHOLE),
    /sends the whole file, expected the byte range that was asked for$/,
  ],
  [
    'sends other bytes than its index says',
    ({ headers }, response) => {
      const [, start = '', last = ''] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
      if (start === '') return null;
      const range = `bytes ${start}-${last}/${WHOLE.length}`;
      response.writeHead(206, { etag: `"${WHOLE.length}"`, 'content-range': range });
      return response.end(Buffer.alloc(Number(last) - Number(start) + 1));
    },
    /no GRIB message begins at byte 0 of its ranges, expected what its index lists, after 3 attempts/,
  ],
  [
    'answers another range than asked',
    (_, response) => response.writeHead(206, { 'content-range': `bytes 0-9/${WHOLE.length}` }).end('0123456789'),
    /server answers 206 with range 'bytes 0-9\/\d+', expected 'bytes \d+-\d+', after 3 attempts/,
  ],
  [
    'has a shorter file than its index says',
    (_, response) => response.writeHead(416).end(),
    /file ends before byte \d+, expected what its index lists/,
  ],
] satisfies readonly (readonly [string, Interception, RegExp])[])
  test(`a server that ${title} ends as unavailable with the reason`, async (t) => {
    const error = await t.throwsAsync(ask(t, intercept), { instanceOf: Unavailable });
    t.regex(error?.message ?? '', reason);
  });

test('a file that changes between two ranges is asked for again as a whole', async (t) => {
  let ranges = 0;
  const { bytes } = await ask(t, (_, response) => (++ranges === 2 ? response.writeHead(412).end() : null));
  t.deepEqual(bytes, BYTES);
  t.is(ranges, 4);
});

test('an hour in two files is absent as long as one of them is', async (t) => {
  const hour = { ...HOUR, model: 'rrfs' } as const;
  const [surface = ''] = modelKeys(hour);
  const server = await startWebServer(t);
  serveFile(server, surface, BYTES, FILE.index);
  t.is(await fetchModelHour(hour, accessTo(server)), 'absent');
});

const NAM_RUN = Date.parse('2018-09-17T00:00:00Z');

for (const [name, keys] of [
  [HOUR, ['hrrr.20260501/conus/hrrr.t22z.wrfsfcf03.grib2']],
  [
    { model: 'rrfs', run_time: EVENING_MS, valid_time: EVENING_MS + 12 * MS_PER_HOUR },
    ['rrfs.20260501/22/rrfs.t22z.2dfld.3km.f012.conus.grib2', 'rrfs.20260501/22/rrfs.t22z.prslev.3km.f012.conus.grib2'],
  ],
  [{ model: 'nam', run_time: NAM_RUN, valid_time: NAM_RUN }, ['nam.20180917/nam.t00z.awp21100.tm00.grib2']],
] as const)
  test(`the files of an hour of ${name.model} are named as in its bucket, and the names lead back to it`, (t) => {
    t.deepEqual(modelKeys(name), [...keys]);
    for (const key of keys) t.deepEqual(parseModelKey(`archive/model/${key}`), name);
  });

for (const path of [
  'hrrr.20260631/conus/hrrr.t22z.wrfsfcf03.grib2',
  'hrrr.20260501/conus/hrrr.t25z.wrfsfcf03.grib2',
  'hrrr.20260501/alaska/hrrr.t22z.wrfsfcf03.ak.grib2',
  'hrrr.20260501/conus/hrrr.t22z.wrfsfcf03.grib2.idx',
  'rrfs.20260501/21/rrfs.t22z.2dfld.3km.f012.conus.grib2',
])
  test(`${path} is no hour of a model run`, (t) => t.is(parseModelKey(path), null));

test('runs of 00, 06, 12 and 18 UTC reach 48 hours, all others 18', (t) => {
  const at = (hour: string) => horizonHours(Date.parse(`2026-05-01T${hour}:00:00Z`));
  t.deepEqual(['00', '05', '06', '12', '13', '18', '23'].map(at), [48, 18, 48, 48, 18, 48, 18]);
});

test('the runs of a blend are the last three, and the last three long ones; RRFS has fields of every third hour', (t) => {
  const runs = (['hrrr', 'rrfs'] as const).map((model) =>
    usefulRuns(Date.parse('2026-05-01T13:40:00Z'), model).map((run) => new Date(run).toISOString().slice(8, 13)),
  );
  t.deepEqual(runs, [
    ['01T13', '01T12', '01T11', '01T06', '01T00'],
    ['01T12', '01T09', '01T06', '01T00'],
  ]);
});

const BUCKET_RUN = Date.parse('2026-05-01T18:00:00Z');

const BUCKET_INDEX = `1:0:d=2026050118:REFC:entire atmosphere:3 hour fcst:
2:1000:d=2026050118:MXUPHL:5000-2000 m above ground:2-3 hour max fcst:
3:1500:d=2026050118:var discipline=0 center=7 local_table=1 parmcat=16 parm=201:entire atmosphere:3 hour fcst:
4.1:2200:d=2026050118:UGRD:500 mb:3 hour fcst:
4.2:2200:d=2026050118:VGRD:500 mb:3 hour fcst:
5:4000:d=2026050118:CAPE:surface:3 hour fcst:
6:4600:d=2026050118:CAPE:255-0 mb above ground:3 hour fcst:
`;

function ranges(...selectors: readonly (typeof HAIL_FIELDS)[number][]) {
  return selectRanges(parseIndex(BUCKET_INDEX, 'index', BUCKET_RUN), selectors).map(({ start, end }) => [start, end]);
}

const field = (name: string, ...levels: string[]): (typeof HAIL_FIELDS)[number] => ({ name, levels });

test('a message ends where the next begins, the last one with the file', (t) => {
  t.deepEqual(ranges(field('MXUPHL', '5000-2000 m above ground')), [[1000, 1500]]);
  t.deepEqual(ranges(field('CAPE', '255-0 mb above ground')), [[4600, null]]);
});

test('fields that share a message share its bytes', (t) => {
  t.deepEqual(ranges(field('UGRD', '500 mb'), field('VGRD', '500 mb')), [[2200, 4000]]);
});

test('messages that follow each other are asked for as one range, whatever the order of the wishes', (t) => {
  const [cape, helicity] = [field('CAPE', '255-0 mb above ground'), field('MXUPHL', '5000-2000 m above ground')];
  t.is(String(ranges(cape, helicity, field('REFC', 'entire atmosphere'))), String([[0, 1500, 4600, null]]));
  t.deepEqual(ranges(field('UGRD', '500 mb'), field('CAPE', 'surface')), [[2200, 4600]]);
});

test('of several levels the first that is listed is taken, and a field that is not listed costs nothing', (t) => {
  t.deepEqual(ranges(field('CAPE', '180-0 mb above ground', 'surface')), [[4000, 4600]]);
  t.deepEqual(ranges(field('HAIL', 'surface')), []);
});

test('windows line ends are read', (t) => {
  t.is(parseIndex(BUCKET_INDEX.replaceAll('\n', '\r\n'), 'index', BUCKET_RUN).length, 7);
});

for (const [title, text, reason] of [
  ['is empty', '\n', /index without a line/],
  [
    'is an html page',
    '<html><body>Service Unavailable</body></html>',
    /line 1 is '<html><body>Service Unavailable<\/body><\/html>', expected number:offset/,
  ],
  ['has a broken line', BUCKET_INDEX.replace('2:1000:', '2:'), /line 2 is '2:d=2026050118:MXUPHL/],
  ['ends in the middle of a line', BUCKET_INDEX.slice(0, -70), /line 6 is '5:4000:d=2026050118:CAPE:/],
  ['goes back', BUCKET_INDEX.replace('3:1500:', '3:900:'), /line 3 begins at 900, expected at least 1000/],
  [
    'is of another run',
    BUCKET_INDEX.replaceAll('2026050118', '2026050117'),
    /line 1 is of run 2026050117, expected 2026050118/,
  ],
] as const)
  test(`an index that ${title} is refused with its line`, (t) => {
    t.regex(t.throws(() => parseIndex(text, 'index', BUCKET_RUN), { instanceOf: BadInput }).message, reason);
  });

const CLAIM = { model: 'hrrr', run_time: 0, valid_time: 3_600_000 };
const NO_GRIB = { files: [{ subject: 'x', bytes: Buffer.from('no grib at all') }], claim: CLAIM };

test('files that are no model hour are refused, and the thread decodes on', async (t) => {
  const decoder = openModelDecoder();
  t.teardown(decoder.close);
  await t.throwsAsync(decoder.run(NO_GRIB), { instanceOf: BadInput });
  await t.throwsAsync(decoder.run(NO_GRIB), { instanceOf: BadInput });
});

test('a thread that does not answer in time is given up, and so is every later hour', async (t) => {
  const decoder = openModelDecoder(0);
  t.teardown(decoder.close);
  await t.throwsAsync(decoder.run(NO_GRIB), { message: 'no model hour decoded within 0 ms' });
  await t.throwsAsync(decoder.run(NO_GRIB), { message: 'no model hour decoded within 0 ms' });
});

test('a thread that has ended is told, not waited for', async (t) => {
  const decoder = openModelDecoder();
  await decoder.close();
  await t.throwsAsync(decoder.run(NO_GRIB), { message: /ended with code/ });
});

const LONG_RUN = Date.parse('2026-05-01T18:00:00Z');

/** An hour of one covered cell. */
function hourOf(run_time: number, lead_h: number): CellHour {
  const covered = new Uint8Array(CONUS_CELLS.length);
  covered[7] = 1;
  const hail_mm = new Float32Array(CONUS_CELLS.length).fill(Number.NaN);
  hail_mm[7] = 31.25;
  return {
    run_time,
    valid_time: run_time + lead_h * MS_PER_HOUR,
    simulated: false,
    covered,
    largest: { reflectivity_dbz: null, updraft_helicity_m2_s2: null, hail_mm, cape_j_kg: null, ship: null },
  };
}

/** Hours of a run, from a lead to a lead. */
function hoursOf(run_time: number, first_h: number, last_h: number): CellHour[] {
  return Array.from({ length: last_h - first_h + 1 }, (_, k) => hourOf(run_time, first_h + k));
}

/** Latest valid time of the published forecast. */
async function reachOf(root: Root): Promise<number> {
  return Math.max(...(await forecastOf(root)).map(({ valid_time }) => valid_time));
}

function files({ asked }: WebServer): string[] {
  return [...new Set(asked.filter((url) => url.endsWith('.grib2')))];
}

test('stored hours are read as they were written', async (t) => {
  const root = await opened(t);
  const hours = [...hoursOf(LONG_RUN, 48, 48), ...hoursOf(RUN, 1, 2)];
  t.is(await readModelHours(root.path, silent), null);
  await writeModelHours(root, 'hrrr', hours);
  t.true(isDeepStrictEqual(await readModelHours(root.path, silent), { model: 'hrrr', hours }));
});

test('hours that are of no more use leave the disk', async (t) => {
  const root = await opened(t);
  await writeModelHours(root, 'hrrr', hoursOf(RUN, 1, 3));
  await writeModelHours(root, 'hrrr', hoursOf(RUN, 3, 4));
  t.deepEqual(readdirSync(join(root.path, layout.modelHours)), [
    'hrrr-20260501T190000Z-f003.gz',
    'hrrr-20260501T190000Z-f004.gz',
  ]);
});

for (const [what, damage] of [
  ['cut short', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 100))],
  ['packed whole, with values missing', (path: string) => rewrite(path, (bytes) => bytes.subarray(0, -4))],
  ['no hour at all', (path: string) => writeFileSync(path, gzipSync('<html>'))],
  ['of another version', (path: string) => rewrite(path, (bytes) => serialize({ ...deserialize(bytes), version: 9 }))],
  ['of another hour', (path: string) => renameSync(path.replace('f002', 'f003'), path)],
] as const)
  test(`a stored hour that is ${what} is left out and logged; the others stay`, async (t) => {
    const root = await opened(t);
    await writeModelHours(root, 'hrrr', hoursOf(RUN, 1, 3));
    damage(join(root.path, layout.modelHours, hourName({ model: 'hrrr', ...hourOf(RUN, 2) })));
    const logged: string[] = [];
    const log: Log = { ...silent, warn: (event, { file }) => logged.push(`${event} ${file}`) };
    const left = what === 'of another hour' ? [1] : [1, 3];
    const hours = left.map((lead_h) => hourOf(RUN, lead_h));
    t.true(isDeepStrictEqual(await readModelHours(root.path, log), { model: 'hrrr', hours }));
    t.deepEqual(logged, ['Model:Hour:Lost hrrr-20260501T190000Z-f002.gz']);
  });

function rewrite(path: string, edit: (bytes: Buffer) => Uint8Array): void {
  writeFileSync(path, gzipSync(edit(gunzipSync(readFileSync(path)))));
}

test('a restart publishes as many hours ahead as there were before it, and fetches none of them again', async (t) => {
  const { server, root } = await served(t);
  serveHour(server, RUN, 2);
  await writeModelHours(root, 'hrrr', [...hoursOf(RUN, 1, 1), ...hoursOf(RUN, 3, 18), ...hoursOf(LONG_RUN, 19, 48)]);
  const first = await (await feedOf(server, root).poll(NOW)).publish(root);
  t.deepEqual([first.failure, first.changed], [null, ['forecast', 'outlook']]);
  t.is(await reachOf(root), LONG_RUN + 48 * MS_PER_HOUR);
  t.is(files(server).length, 1);
  server.asked.length = 0;
  const again = await (await feedOf(server, root).poll(NOW)).publish(root);
  t.deepEqual([again.failure, again.changed, files(server)], [null, [], []]);
  t.is(await reachOf(root), LONG_RUN + 48 * MS_PER_HOUR);
});

test('hours beyond the newest run come from the newest one that goes further, and no others of it are fetched', async (t) => {
  const { server, root } = await served(t);
  const far = [46, 47, 48].map((lead_h) => serveHour(server, LONG_RUN, lead_h));
  const near = serveHour(server, LONG_RUN, 5);
  // All that the newest run has is known, and of the long one all but its last hours and one that the newest run reaches too.
  await writeModelHours(root, 'hrrr', [...hoursOf(RUN, 1, 18), ...hoursOf(LONG_RUN, 19, 45)]);
  await (await feedOf(server, root).poll(NOW)).publish(root);
  t.deepEqual(files(server), far);
  t.false(files(server).includes(near));
  t.is(await reachOf(root), LONG_RUN + 48 * MS_PER_HOUR);
});

test('a forecast that reaches less far than the published one says so until the hours are over that it lost', async (t) => {
  const { server, root } = await served(t);
  // A run that is too old to be blended reached further.
  await publishModelHours(root, 'hrrr', hoursOf(Date.parse('2026-05-01T00:00:00Z'), 21, 48), NOW, silent);
  for (const lead_h of [1, 2, 3]) serveHour(server, RUN, lead_h);
  const feed = feedOf(server, root);
  const failures = [];
  for (const _ of [1, 2]) failures.push((await (await feed.poll(NOW)).publish(root)).failure);
  const lost = 'reaches to 2026-05-01T22:00:00Z, and reached to 2026-05-03T00:00:00Z before';
  t.deepEqual(failures, [lost, lost]);
  t.is(await reachOf(root), RUN + 3 * MS_PER_HOUR);
});

test('an hour that came and cannot be used is named with every poll, and fetched once', async (t) => {
  const { server, root } = await served(t);
  for (const lead_h of [1, 2]) serveHour(server, RUN, lead_h);
  const wrong = serveHour(server, RUN, 2, 3);
  const feed = feedOf(server, root);
  const failures = [];
  for (const _ of [1, 2]) failures.push((await (await feed.poll(NOW)).publish(root)).failure ?? '');
  for (const failure of failures) t.regex(failure, /t19z\.wrfsfcf03\.grib2/);
  t.is(server.asked.filter((url) => url === `${wrong}.idx`).length, 1);
  t.is(await reachOf(root), RUN + 2 * MS_PER_HOUR);
});

test('an hour that cannot be used is named no more once a newer run reaches its time', async (t) => {
  const { server, root } = await served(t);
  await writeModelHours(root, 'hrrr', hoursOf(LONG_RUN, 2, 3));
  serveHour(server, LONG_RUN, 3, 4);
  const feed = feedOf(server, root);
  t.regex((await (await feed.poll(NOW)).publish(root)).failure ?? '', /t18z\.wrfsfcf04\.grib2/);
  for (const lead_h of [1, 2, 3]) serveHour(server, RUN, lead_h);
  t.is((await (await feed.poll(NOW)).publish(root)).failure, null);
});
