import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { gunzipSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { pollFeed, publishPoll } from '../../../pipeline/feeds/schedule.ts';
import {
  type FieldSelector,
  horizonHours,
  modelKeys,
  parseIndex,
  parseModelKey,
  selectRanges,
  usefulRuns,
} from '../../../pipeline/forecast/model-bucket.ts';
import type { CellHour } from '../../../pipeline/forecast/model-cells.ts';
import { openModelDecoder } from '../../../pipeline/forecast/model-decoder.ts';
import { fetchModelHour } from '../../../pipeline/forecast/model-download.ts';
import { modelFeed } from '../../../pipeline/forecast/model-feed.ts';
import { readModelFolder } from '../../../pipeline/forecast/model-folder.ts';
import { hourName, readModelHours, writeModelHours } from '../../../pipeline/forecast/model-hours.ts';
import { publishForecast, publishModelHours } from '../../../pipeline/forecast/publish-forecast.ts';
import { type Log, openLog, silent } from '../../../pipeline/log.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { openRoot } from '../../../pipeline/publish/open-root.ts';
import type { Root } from '../../../pipeline/publish/root.ts';
import { readRows } from '../../../pipeline/publish/tables.ts';
import { readModelHour } from '../../../pipeline/read/model-hour.ts';
import { Unavailable } from '../../../pipeline/sources/http.ts';
import { CONUS_CELLS } from '../../../schemas/geo/geohash4.ts';
import { layout } from '../../../schemas/layout.ts';
import { type Forecast, forecast, type Outlook, outlook } from '../../../schemas/tables/forecast.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { type Interception, startModelServer } from '../../support/data/bucket-of-runs.ts';
import { modelFile } from '../../support/data/model-file.ts';
import { EVENING_MS } from '../../support/data/small-evening.ts';
import { startWebServer, type WebServer } from '../../support/data/web-server.ts';

const NOW = Date.parse('2026-05-01T20:40:00Z');
const RUN = Date.parse('2026-05-01T19:00:00Z');

/** Puts the hours of a run on a server. */
function serveRun({ answers }: WebServer, run_time: number, leads: readonly number[]): void {
  for (const lead_h of leads) {
    const { path, bytes, index } = modelFile(run_time, lead_h);
    answers.set(`/${path}.idx`, index);
    answers.set(`/${path}`, (request, response) => {
      const [, start = '0', end = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
      const part = bytes.subarray(Number(start), end === '' ? bytes.length : Number(end) + 1);
      const last = Number(start) + part.length - 1;
      response.writeHead(206, { 'content-range': `bytes ${start}-${last}/${bytes.length}` }).end(part);
    });
  }
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

/** The feed on a data root; its first poll reads the cached hours there. */
function feedOf({ url }: WebServer, dataRoot = join(tmpdir(), 'hail-no-such-root')) {
  const network = { patience: { retries: 1, first_ms: 1, longest_ms: 1 } };
  return modelFeed('hrrr', { base_url: url, user_agent: 'test', network }, dataRoot, silent);
}

async function forecastOf(root: Root): Promise<Forecast[]> {
  const manifest = await readNewest(root.path, layout.collectionPartition('forecast'));
  return readRows<Forecast>(
    root.engine,
    forecast,
    (manifest?.files ?? []).map(({ path }) => join(root.path, path)),
  );
}

test('the hours of a run are fetched by byte ranges and published, from the first that ends after now', async (t) => {
  const server = await startWebServer(t);
  serveRun(server, RUN, [1, 2, 3]);
  const root = await opened(t);
  const { failure, changed } = await (await feedOf(server).poll(NOW)).publish(root);
  t.deepEqual([failure, changed], [null, ['forecast', 'outlook']]);
  const rows = await forecastOf(root);
  t.deepEqual([...new Set(rows.map(({ valid_time }) => valid_time))].sort(), [
    RUN + 2 * MS_PER_HOUR,
    RUN + 3 * MS_PER_HOUR,
  ]);
  t.deepEqual(
    new Set(rows.map(({ run_time, model, data_source }) => `${run_time} ${model} ${data_source}`)),
    new Set([`${RUN} hrrr simulated`]),
  );
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
  t.deepEqual(
    hours.get('hrrr')?.map(({ valid_time }) => valid_time),
    [RUN + MS_PER_HOUR],
  );
});

test('the outlook follows from the forecast alone where nothing else is published, and says so', async (t) => {
  const server = await startWebServer(t);
  const early = Date.parse('2026-05-01T12:00:00Z');
  serveRun(
    server,
    early,
    Array.from({ length: 18 }, (_, k) => k + 1),
  );
  const root = await opened(t);
  const at = early + 1.5 * MS_PER_HOUR;
  await (await feedOf(server).poll(at)).publish(root);
  t.deepEqual(await publishForecast(root, at, silent), []);
  const manifest = await readNewest(root.path, layout.collectionPartition('outlook'));
  const rows = await readRows<Outlook>(
    root.engine,
    outlook,
    (manifest?.files ?? []).map(({ path }) => join(root.path, path)),
  );
  t.true(rows.length > 0);
  t.deepEqual(new Set(rows.map(({ primary_source, day }) => `${primary_source} ${day}`)), new Set(['hrrr 1']));
});

const FAULTS_NOW = EVENING_MS + 70 * 60_000;
/** The first two hours of a run. */
const FILES = new Map(
  [1, 2].flatMap((lead_h) => {
    const { path, bytes, index } = modelFile(EVENING_MS, lead_h);
    return [[path, bytes] as const, [`${path}.idx`, Buffer.from(index)] as const];
  }),
);

async function pollAndPublish(t: ExecutionContext, intercept: Interception) {
  const server = await startModelServer(FILES, intercept);
  const path = mkdtempSync(join(tmpdir(), 'hail-model-feed-'));
  const root = await openRoot(path, 'test', 0, FAULTS_NOW);
  t.teardown(async () => {
    await server.close();
    await root.close();
    rmSync(path, { recursive: true });
  });
  const log = openLog('silent', false);
  return publishPoll(root, await pollFeed(modelFeed('hrrr', server.access, path, log), FAULTS_NOW), log);
}

const [FIRST = ''] = modelKeys({ model: 'hrrr', run_time: EVENING_MS, lead_h: 1 });
const [SECOND = ''] = modelKeys({ model: 'hrrr', run_time: EVENING_MS, lead_h: 2 });

test('hours that came are published although the server fails at the next one, which is told', async (t) => {
  const { failure, changed } = await pollAndPublish(t, ({ path }, response) => {
    if (path !== `${SECOND}.idx`) return false;
    response.writeHead(503).end();
    return true;
  });
  t.deepEqual(changed, ['forecast', 'outlook']);
  t.regex(failure ?? '', /server answers 503/);
});

test('an hour whose index is an error page costs itself only, and is told', async (t) => {
  const { failure, changed } = await pollAndPublish(t, ({ path }, response) => {
    if (path !== `${FIRST}.idx`) return false;
    response.writeHead(200).end('<html>Service Unavailable</html>\n');
    return true;
  });
  t.deepEqual(changed, ['forecast', 'outlook']);
  t.regex(failure ?? '', /line 1 is '<html>/);
});

const HOUR = { model: 'hrrr', run_time: EVENING_MS, lead_h: 3 } as const;
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

async function ask(intercept?: Interception) {
  const files = new Map([
    [FILE.path, WHOLE],
    [`${FILE.path}.idx`, Buffer.from(INDEX)],
  ]);
  const server = await startModelServer(files, intercept);
  try {
    const files = await fetchModelHour(HOUR, server.access);
    return { answer: files === 'absent' ? files : files[0], seen: server.seen };
  } finally {
    await server.close();
  }
}

test('the messages we use arrive by index and byte ranges, and read as the hour', async (t) => {
  const { answer, seen } = await ask();
  if (typeof answer === 'string') return t.fail(answer);
  t.deepEqual(Buffer.from(answer.bytes), BYTES);
  t.deepEqual(
    seen.map(({ range }) => range),
    [undefined, `bytes=${UNWANTED.length}-${UNWANTED.length + CUT - 1}`, `bytes=${2 * UNWANTED.length + CUT}-`],
  );
  const claim = { ...HOUR, valid_time: EVENING_MS + 3 * 3_600_000 };
  t.is(Object.keys(readModelHour([{ bytes: answer.bytes, subject: 'x' }], claim).hour.fields).length, 13);
});

test('every request says who asks, and later ranges insist on the version of the first', async (t) => {
  const { seen } = await ask();
  t.true(seen.every(({ headers }) => headers['user-agent'] === 'hail-test/1'));
  t.deepEqual(
    seen.map(({ headers }) => headers['if-match'] !== undefined),
    [false, false, true],
  );
});

test('an index that is not there is no failure: the hour is not there yet', async (t) => {
  const { answer } = await ask(({ path }, response) => {
    if (!path.endsWith('.idx')) return false;
    response.writeHead(404).end();
    return true;
  });
  t.is(answer, 'absent');
});

test('a server that does not know ranges is refused', async (t) => {
  const refused = ask(({ range }, response) => {
    if (range === undefined) return false;
    response.writeHead(200).end(WHOLE);
    return true;
  });
  const error = await t.throwsAsync(refused, { instanceOf: Unavailable });
  t.regex(error?.message ?? '', /sends the whole file, expected the byte range that was asked for$/);
});

test('an html page in place of the index is refused at once', async (t) => {
  let asked = 0;
  const refused = ask(({ path }, response) => {
    if (!path.endsWith('.idx')) return false;
    asked++;
    response.writeHead(200).end('<html><body>Please log in</body></html>');
    return true;
  });
  const error = await t.throwsAsync(refused, { instanceOf: BadInput });
  t.regex(error?.message ?? '', /line 1 is '<html>/);
  t.is(asked, 1);
});

for (const [title, intercept, reason] of [
  [
    'sends an html page in place of a range',
    ({ range }, response) => {
      if (range === undefined) return false;
      response.writeHead(200).end('<html></html>');
      return true;
    },
    /sends the whole file, expected the byte range that was asked for/,
  ],
  [
    'sends other bytes than its index says',
    ({ range }, response) => {
      const [, start = '', last = ''] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
      if (start === '') return false;
      response.writeHead(206, {
        etag: `"${FILE.path.length}-${WHOLE.length}"`,
        'content-range': `bytes ${start}-${last}/${WHOLE.length}`,
      });
      response.end(Buffer.alloc(Number(last) - Number(start) + 1));
      return true;
    },
    /no GRIB message begins at byte 0 of its ranges, expected what its index lists, after 3 attempts/,
  ],
  [
    'answers another range than asked',
    ({ range }, response) => {
      if (range === undefined) return false;
      response.writeHead(206, { 'content-range': `bytes 0-9/${WHOLE.length}` }).end('0123456789');
      return true;
    },
    /server answers 206 with range 'bytes 0-9\/\d+', expected 'bytes \d+-\d+', after 3 attempts/,
  ],
  [
    'has a shorter file than its index says',
    ({ range }, response) => {
      if (range === undefined) return false;
      response.writeHead(416).end();
      return true;
    },
    /file ends before byte \d+, expected what its index lists/,
  ],
  [
    'is busy for good',
    (_, response) => {
      response.writeHead(503).end();
      return true;
    },
    /server answers 503, expected 200, after 3 attempts/,
  ],
] satisfies readonly (readonly [string, Interception, RegExp])[])
  test(`a server that ${title} ends as unavailable with the reason`, async (t) => {
    const error = await t.throwsAsync(ask(intercept), { instanceOf: Unavailable });
    t.regex(error?.message ?? '', reason);
  });

test('a file that changes between two ranges is asked for again as a whole', async (t) => {
  let ranges = 0;
  const { answer } = await ask(({ range }, response) => {
    if (range === undefined || ++ranges !== 2) return false;
    response.writeHead(412).end();
    return true;
  });
  if (typeof answer === 'string') return t.fail(answer);
  t.deepEqual(Buffer.from(answer.bytes), BYTES);
  t.is(ranges, 4);
});

test('a range that breaks off is tried again', async (t) => {
  let broken = false;
  const { answer } = await ask(({ range }, response) => {
    if (range === undefined || broken) return false;
    broken = true;
    response.writeHead(206, { 'content-length': 1000, 'content-range': `bytes 0-999/${WHOLE.length}` });
    response.write('GRIB', () => response.destroy());
    return true;
  });
  t.true(typeof answer !== 'string' && Buffer.from(answer.bytes).equals(BYTES));
});

test('an hour in two files is absent as long as one of them is', async (t) => {
  const hour = { ...HOUR, model: 'rrfs' } as const;
  const [surface = ''] = modelKeys(hour);
  const server = await startModelServer(
    new Map([
      [surface, BYTES],
      [`${surface}.idx`, Buffer.from(FILE.index)],
    ]),
  );
  try {
    t.is(await fetchModelHour(hour, server.access), 'absent');
  } finally {
    await server.close();
  }
});

for (const [name, keys] of [
  [{ model: 'hrrr', run_time: EVENING_MS, lead_h: 3 }, ['hrrr.20260501/conus/hrrr.t22z.wrfsfcf03.grib2']],
  [
    { model: 'rrfs', run_time: EVENING_MS, lead_h: 12 },
    ['rrfs.20260501/22/rrfs.t22z.2dfld.3km.f012.conus.grib2', 'rrfs.20260501/22/rrfs.t22z.prslev.3km.f012.conus.grib2'],
  ],
  [
    { model: 'nam', run_time: Date.parse('2018-09-17T00:00:00Z'), lead_h: 0 },
    ['nam.20180917/nam.t00z.awp21100.tm00.grib2'],
  ],
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

function ranges(...selectors: readonly FieldSelector[]) {
  return selectRanges(parseIndex(BUCKET_INDEX, 'index', BUCKET_RUN), selectors).map(({ start, end }) => [start, end]);
}

const field = (name: string, ...levels: string[]): FieldSelector => ({ name, levels });

test('a message ends where the next begins, the last one with the file', (t) => {
  t.deepEqual(ranges(field('MXUPHL', '5000-2000 m above ground')), [[1000, 1500]]);
  t.deepEqual(ranges(field('CAPE', '255-0 mb above ground')), [[4600, null]]);
});

test('fields that share a message share its bytes', (t) => {
  t.deepEqual(ranges(field('UGRD', '500 mb'), field('VGRD', '500 mb')), [[2200, 4000]]);
});

test('messages that follow each other are asked for as one range, whatever the order of the wishes', (t) => {
  t.deepEqual(
    ranges(
      field('CAPE', '255-0 mb above ground'),
      field('MXUPHL', '5000-2000 m above ground'),
      field('REFC', 'entire atmosphere'),
    ),
    [
      [0, 1500],
      [4600, null],
    ],
  );
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

async function openedCache(t: ExecutionContext): Promise<Root> {
  const path = mkdtempSync(join(tmpdir(), 'hail-model-hours-'));
  const root = await openRoot(path, 'test', 0, NOW);
  t.teardown(async () => {
    await root.close();
    rmSync(path, { recursive: true });
  });
  return root;
}

/** The feed of a process that was just started. */
function startedFeed({ url }: WebServer, { path }: Root) {
  const network = { patience: { retries: 1, first_ms: 1, longest_ms: 1 } };
  return modelFeed('hrrr', { base_url: url, user_agent: 'test', network }, path, silent);
}

/** A model file without the production status of simulated messages: octet 20 of section 1, which follows 16 bytes. */
function asObserved(file: Uint8Array): Buffer {
  const bytes = Buffer.from(file);
  for (let at = 0; at < bytes.length; at += Number(bytes.readBigUInt64BE(at + 8))) bytes[at + 16 + 19] = 0;
  return bytes;
}

/** Puts an hour of a run on a server, under the name of a lead. */
function serveHour({ answers }: WebServer, run_time: number, lead_h: number, as_lead_h = lead_h): string {
  const { bytes: simulated, index } = modelFile(run_time, lead_h);
  const bytes = asObserved(simulated);
  const { path } = modelFile(run_time, as_lead_h);
  answers.set(`/${path}.idx`, index);
  answers.set(`/${path}`, (request, response) => {
    const [, start = '0', end = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const part = bytes.subarray(Number(start), end === '' ? bytes.length : Number(end) + 1);
    const range = `bytes ${start}-${Number(start) + part.length - 1}/${bytes.length}`;
    response.writeHead(206, { 'content-range': range }).end(part);
  });
  return `/${path}`;
}

function files({ asked }: WebServer): string[] {
  return [...new Set(asked.filter((url) => url.endsWith('.grib2')))];
}

test('stored hours are read as they were written', async (t) => {
  const root = await openedCache(t);
  const hours = [...hoursOf(LONG_RUN, 48, 48), ...hoursOf(RUN, 1, 2)];
  t.is(await readModelHours(root.path, silent), null);
  await writeModelHours(root, 'hrrr', hours);
  t.true(isDeepStrictEqual(await readModelHours(root.path, silent), { model: 'hrrr', hours }));
});

test('hours that are of no more use leave the disk', async (t) => {
  const root = await openedCache(t);
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
    const root = await openedCache(t);
    await writeModelHours(root, 'hrrr', hoursOf(RUN, 1, 3));
    damage(join(root.path, layout.modelHours, hourName('hrrr', hourOf(RUN, 2))));
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
  const server = await startWebServer(t);
  const root = await openedCache(t);
  serveHour(server, RUN, 2);
  await writeModelHours(root, 'hrrr', [...hoursOf(RUN, 1, 1), ...hoursOf(RUN, 3, 18), ...hoursOf(LONG_RUN, 19, 48)]);
  const first = await (await startedFeed(server, root).poll(NOW)).publish(root);
  t.deepEqual([first.failure, first.changed], [null, ['forecast', 'outlook']]);
  t.is(await reachOf(root), LONG_RUN + 48 * MS_PER_HOUR);
  t.is(files(server).length, 1);
  server.asked.length = 0;
  const again = await (await startedFeed(server, root).poll(NOW)).publish(root);
  t.deepEqual([again.failure, again.changed, files(server)], [null, [], []]);
  t.is(await reachOf(root), LONG_RUN + 48 * MS_PER_HOUR);
});

test('hours beyond the newest run come from the newest one that goes further, and no others of it are fetched', async (t) => {
  const server = await startWebServer(t);
  const root = await openedCache(t);
  const far = [46, 47, 48].map((lead_h) => serveHour(server, LONG_RUN, lead_h));
  const near = serveHour(server, LONG_RUN, 5);
  // All that the newest run has is known, and of the long one all but its last hours and one that the newest run reaches too.
  await writeModelHours(root, 'hrrr', [...hoursOf(RUN, 1, 18), ...hoursOf(LONG_RUN, 19, 45)]);
  await (await startedFeed(server, root).poll(NOW)).publish(root);
  t.deepEqual(files(server), far);
  t.false(files(server).includes(near));
  t.is(await reachOf(root), LONG_RUN + 48 * MS_PER_HOUR);
});

test('a forecast that reaches less far than the published one says so until the hours are over that it lost', async (t) => {
  const server = await startWebServer(t);
  const root = await openedCache(t);
  // A run that is too old to be blended reached further.
  await publishModelHours(root, 'hrrr', hoursOf(Date.parse('2026-05-01T00:00:00Z'), 21, 48), NOW, silent);
  for (const lead_h of [1, 2, 3]) serveHour(server, RUN, lead_h);
  const feed = startedFeed(server, root);
  const failures = [];
  for (const _ of [1, 2]) failures.push((await (await feed.poll(NOW)).publish(root)).failure);
  const lost = 'reaches to 2026-05-01T22:00:00Z, and reached to 2026-05-03T00:00:00Z before';
  t.deepEqual(failures, [lost, lost]);
  t.is(await reachOf(root), RUN + 3 * MS_PER_HOUR);
});

test('an hour that came and cannot be used is named with every poll, and fetched once', async (t) => {
  const server = await startWebServer(t);
  const root = await openedCache(t);
  for (const lead_h of [1, 2]) serveHour(server, RUN, lead_h);
  const wrong = serveHour(server, RUN, 2, 3);
  const feed = startedFeed(server, root);
  const failures = [];
  for (const _ of [1, 2]) failures.push((await (await feed.poll(NOW)).publish(root)).failure ?? '');
  for (const failure of failures) t.regex(failure, /t19z\.wrfsfcf03\.grib2/);
  t.is(server.asked.filter((url) => url === `${wrong}.idx`).length, 1);
  t.is(await reachOf(root), RUN + 2 * MS_PER_HOUR);
});

test('an hour that cannot be used is named no more once a newer run reaches its time', async (t) => {
  const server = await startWebServer(t);
  const root = await openedCache(t);
  await writeModelHours(root, 'hrrr', hoursOf(LONG_RUN, 2, 3));
  serveHour(server, LONG_RUN, 3, 4);
  const feed = startedFeed(server, root);
  t.regex((await (await feed.poll(NOW)).publish(root)).failure ?? '', /t18z\.wrfsfcf04\.grib2/);
  for (const lead_h of [1, 2, 3]) serveHour(server, RUN, lead_h);
  t.is((await (await feed.poll(NOW)).publish(root)).failure, null);
});
