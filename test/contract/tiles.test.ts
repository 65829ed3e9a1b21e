import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, symlinkSync, truncateSync, unlinkSync } from 'node:fs';
import fs from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type StyleSpecification, validateStyleMin } from '@maplibre/maplibre-gl-style-spec';
import test from 'ava';
import { FetchSource, PMTiles, tileTypeExt } from 'pmtiles';
import { newestReflectivity } from '../../api/published/archives/tile-archives.ts';
import { type Edition, openCatalog } from '../../api/published/catalog.ts';
import { archives } from '../../api/routes/files.ts';
import { tileStyle } from '../../api/routes/tile-style.ts';
import { viewerPages } from '../../api/routes/viewer.ts';
import { openEngine } from '../../pipeline/duckdb.ts';
import { readNewest } from '../../pipeline/publish/manifests.ts';
import { verifyRoot } from '../../pipeline/publish/verify.ts';
import { DATA_FORMAT } from '../../schemas/data-format.ts';
import { headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest, PublishedFile } from '../../schemas/manifest.ts';
import { RELEASE } from '../../schemas/release.ts';
import type { Health } from '../../schemas/resources/health.ts';
import { DailyTiles, ScanTiles } from '../../schemas/resources/tile-frame.ts';
import {
  filesOf,
  NOW_MS,
  onRoot,
  preparedRoot,
  publish,
  publishedRoot,
  scansBetween,
  scratch,
} from '../support/data/world.ts';
import { faultsOf } from '../support/kill/killed.ts';
import { type RunningService, serviceFor, startService } from '../support/service/service.ts';
import { closeWithoutFailures } from '../support/service/test-with.ts';
import { parsed } from './answers.ts';

const SCAN = '/v1/tiles/scan';
let service: RunningService;

test.before(async () => {
  service = await startService({ data_root: await preparedRoot(await scansBetween('23:54', '00:06')), now_ms: NOW_MS });
});
test.after.always((t) => closeWithoutFailures(t, service));

const ask = (query = '') => parsed(service.call(`${SCAN}${query}`), ScanTiles);

test('GET /v1/tiles/scan answers the latest day with scans by default', async (t) => {
  const answer = await ask();
  t.like(answer, { layer: 'scan', date: '2026-05-02', available: true });
  t.is(answer.frame_count, answer.frames.length);
  t.is(answer.data_as_of, answer.frames.at(-1)?.scan_time ?? null);
});

test('GET /v1/tiles/scan lists every scan of a date, oldest first, with the address of its archive', async (t) => {
  const scans = (await scansBetween('23:54', '24:00')).filter(({ scan_id }) => scan_id.startsWith('20260501'));
  const { frames, data_as_of } = await ask('?date=2026-05-01');
  t.deepEqual(
    frames.map(({ scan_id }) => scan_id),
    scans.map(({ scan_id }) => scan_id),
  );
  t.is(data_as_of, frames.at(-1)?.scan_time ?? null, 'a past date keeps its own freshness');
  for (const { scan_id, url, reflectivity_url, content_type, cache_control } of frames) {
    t.is(reflectivity_url, null, 'none is kept in this data root');
    t.regex(url, new RegExp(`^http://127\\.0\\.0\\.1:8080/tiles/scan/2026-05-01/${scan_id}-[0-9a-f]+\\.pmtiles$`));
    t.is(content_type, 'application/vnd.pmtiles');
    t.is(cache_control, 'public, max-age=31536000, immutable');
  }
});

test('GET /v1/tiles/scan tells the largest size and probability of a scan, and its storms, largest first', async (t) => {
  const { frames } = await ask('?date=2026-05-01');
  const cells = await service.services.engine.rows<{ scan_ms: number; mm: number; prob: number }>(
    `SELECT epoch_ms(scan_time)::DOUBLE AS scan_ms, max(estimated_size_mm) AS mm, max(ml_probability) AS prob
     FROM read_parquet($1::VARCHAR[]) GROUP BY 1 ORDER BY 1`,
    [service.services.catalog.edition().paths('cells', ['2026-05-01'])],
  );
  t.deepEqual(
    frames.map(({ scan_time, max_size_mm, max_prob }) => [Date.parse(scan_time), max_size_mm, max_prob]),
    cells.map(({ scan_ms, mm, prob }) => [scan_ms, Math.round(10 * mm) / 10, Math.round(1000 * prob) / 1000]),
  );
  for (const { storms } of frames)
    t.deepEqual(
      storms,
      storms.toSorted((a, b) => b.mm - a.mm),
    );
  t.true(frames.at(-1)?.storms.length !== 0);
});

test('GET /v1/tiles/scan says that simulated data are simulated', async (t) => {
  const response = await service.call(SCAN);
  t.is(response.headers.get('x-data-source'), 'simulated');
  t.regex(((await response.json()) as ScanTiles).note, /^SIMULATED/);
});

for (const date of ['2026-04-30', '2019-01-01', '2031-01-01'])
  test(`GET /v1/tiles/scan of ${date}, a day without data, is unavailable and not an error`, async (t) => {
    t.like(await ask(`?date=${date}`), { date, available: false, frame_count: 0, frames: [] });
  });

test('GET /v1/tiles/scan refuses a date that does not exist', async (t) => {
  const response = await service.call(`${SCAN}?date=2026-13-01`);
  t.is(response.status, 400);
  t.like(await response.json(), { error: 'invalid_parameter' });
});

const DAILY = '/v1/tiles/daily';
const askDaily = (query = '') => parsed(service.call(`${DAILY}${query}`), DailyTiles);

test('GET /v1/tiles/daily answers today UTC by default', async (t) => {
  const answer = await askDaily();
  t.like(answer, {
    layer: 'daily',
    date: '2026-05-02',
    available: true,
    url: 'http://127.0.0.1:8080/tiles/daily/2026-05-02.pmtiles',
    content_type: 'application/vnd.pmtiles',
    cache_control: 'public, max-age=60, must-revalidate',
  });
  t.regex(answer.note, /^SIMULATED/);
});

test('GET /v1/tiles/daily tells the size of the archive', async (t) => {
  const manifest = await service.services.catalog.edition().manifest('2026-05-01');
  const listed = manifest?.files.find(({ kind }) => kind === 'daily-tiles');
  t.is((await askDaily('?date=2026-05-01')).size_bytes, listed?.bytes ?? null);
});

test('GET /v1/tiles/daily is as fresh as its archive, not as the scans that came after it was drawn', async (t) => {
  const root = await scratch(t);
  const scans = await scansBetween('00:00', '00:10');
  await publish(root, scans.slice(0, 2));
  await onRoot(root, {}, ({ session }) => session.ingest(filesOf(scans)));
  const running = await serviceFor(t, { data_root: root, now_ms: NOW_MS });
  const { data_as_of } = (await running.json(DAILY)) as DailyTiles;
  t.is(Date.parse(data_as_of ?? ''), scans[1]?.time_ms ?? 0);
});

test('GET /v1/tiles/daily of a past date keeps its own freshness', async (t) => {
  const last = (await scansBetween('23:56', '24:00')).findLast(({ scan_id }) => scan_id.startsWith('20260501'));
  t.is(Date.parse((await askDaily('?date=2026-05-01')).data_as_of ?? ''), last?.time_ms ?? 0);
});

for (const date of ['2026-04-30', '2031-01-01'])
  test(`GET /v1/tiles/daily of ${date}, a day without data, is unavailable and not an error`, async (t) => {
    const note = 'There is no picture: no radar data of this date are published.';
    t.like(await askDaily(`?date=${date}`), { date, available: false, url: null, size_bytes: null, note });
  });

const DATE = '2026-05-01';
const ARCHIVES_DAILY = `/tiles/daily/${DATE}.pmtiles`;
let archivesService: RunningService;

test.before(async () => {
  const data_root = await preparedRoot(await scansBetween('23:54', '00:02'), { reflectivity_keep_hours: 48 });
  archivesService = await startService({ data_root, now_ms: NOW_MS });
});
test.after.always((t) => closeWithoutFailures(t, archivesService));

async function listed(kind: PublishedFile['kind']): Promise<PublishedFile> {
  const manifest = await archivesService.services.catalog.edition().manifest(DATE);
  const file = manifest?.files.find((one) => one.kind === kind);
  if (file === undefined) throw new Error(`${DATE} lists no ${kind}`);
  return file;
}

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  archivesService.call(path, { key: null, method, headers });

/** Path of the first scan's archive. */
async function scanPath(): Promise<string> {
  const { frames } = (await archivesService.json(`/v1/tiles/scan?date=${DATE}`)) as ScanTiles;
  return new URL(frames[0]?.url ?? '').pathname;
}

test('GET of an archive needs no key and gives the very file, its type, its length and a strong tag', async (t) => {
  const file = await listed('daily-tiles');
  const response = await get(ARCHIVES_DAILY);
  t.is(response.status, 200);
  const bytes = Buffer.from(await response.arrayBuffer());
  t.is(createHash('sha256').update(bytes).digest('hex'), file.sha256);
  t.deepEqual(bytes, readFileSync(join(archivesService.data_root, file.path)));
  t.is(response.headers.get('content-type'), 'application/vnd.pmtiles');
  t.is(response.headers.get('content-length'), String(file.bytes));
  t.is(response.headers.get('accept-ranges'), 'bytes');
  t.is(response.headers.get('content-encoding'), null);
  t.regex(response.headers.get('etag') ?? '', /^"[^"]+"$/);
  t.is(response.headers.get('x-data-source'), 'simulated');
});

test('archives are cached as their discovery says', async (t) => {
  const scan = (await archivesService.json(`/v1/tiles/scan?date=${DATE}`)) as ScanTiles;
  const daily = (await archivesService.json(`/v1/tiles/daily?date=${DATE}`)) as DailyTiles;
  const [frame] = scan.frames;
  t.is((await get(await scanPath())).headers.get('cache-control'), frame?.cache_control ?? null);
  const reflectivity = await get(new URL(frame?.reflectivity_url ?? '').pathname);
  t.is(reflectivity.headers.get('cache-control'), frame?.cache_control ?? null);
  t.is((await get(ARCHIVES_DAILY)).headers.get('cache-control'), daily.cache_control);
});

test('every address that discovery gives answers', async (t) => {
  const { frames } = (await archivesService.json(`/v1/tiles/scan?date=${DATE}`)) as ScanTiles;
  for (const { url, reflectivity_url } of frames)
    for (const address of [url, reflectivity_url ?? ''])
      t.is((await get(new URL(address).pathname, {}, 'HEAD')).status, 200);
});

test('the newest archive of reflectivity is that of the newest scan, and is answered under its path', async (t) => {
  const newest = await newestReflectivity(archivesService.services.catalog.edition());
  const { frames } = (await archivesService.json('/v1/tiles/scan')) as ScanTiles;
  t.is(newest?.scan_time, Date.parse(frames.at(-1)?.scan_time ?? ''));
  const { pathname } = new URL(frames.at(-1)?.reflectivity_url ?? '');
  const response = await get(pathname);
  t.is(response.headers.get('etag'), `"${newest?.file.sha256}"`);
  const archive = new PMTiles(new FetchSource(`${archivesService.url}${pathname}`));
  t.is((await archive.getHeader()).maxZoom, 6);
});

test('a range is answered 206 with its place in the whole', async (t) => {
  const whole = Buffer.from(await (await get(ARCHIVES_DAILY)).arrayBuffer());
  const last = whole.length - 1;
  for (const [range, from, to] of [
    ['bytes=0-126', 0, 126],
    ['bytes=100-', 100, last],
    ['bytes=-16', whole.length - 16, last],
    [`bytes=${last}-${last + 1000}`, last, last],
  ] as const) {
    const response = await get(ARCHIVES_DAILY, { Range: range });
    t.is(response.status, 206, range);
    t.is(response.headers.get('content-range'), `bytes ${from}-${to}/${whole.length}`);
    t.is(response.headers.get('content-length'), String(to - from + 1));
    t.deepEqual(Buffer.from(await response.arrayBuffer()), whole.subarray(from, to + 1), range);
  }
});

test('If-None-Match with the tag is answered 304 without a body, If-Match with another 412', async (t) => {
  const etag = (await get(ARCHIVES_DAILY)).headers.get('etag') ?? '';
  const same = await get(ARCHIVES_DAILY, { 'If-None-Match': etag });
  t.is(same.status, 304);
  t.is(same.headers.get('etag'), etag);
  t.is(same.headers.get('cache-control'), 'public, max-age=60, must-revalidate');
  t.is(await same.text(), '');
  const other = await get(ARCHIVES_DAILY, { 'If-Match': '"other"' });
  t.deepEqual([other.status, other.headers.get('cache-control')], [412, 'no-store']);
  t.like(await other.json(), { error: 'precondition_failed' });
  t.is((await get(ARCHIVES_DAILY, { 'If-Match': etag })).status, 200);
});

test('HEAD has the headers of GET and no body', async (t) => {
  const [get_, head] = await Promise.all([get(ARCHIVES_DAILY), get(ARCHIVES_DAILY, {}, 'HEAD')]);
  t.is(head.status, 200);
  t.is(await head.text(), '');
  for (const name of ['etag', 'content-length', 'content-type', 'cache-control', 'accept-ranges'])
    t.is(head.headers.get(name), get_.headers.get(name), name);
});

test('pages elsewhere may read archives and their tags', async (t) => {
  const response = await get(ARCHIVES_DAILY, { Origin: 'https://elsewhere.example', Range: 'bytes=0-9' });
  t.is(response.headers.get('access-control-allow-origin'), '*');
  const exposed = (response.headers.get('access-control-expose-headers') ?? '').split(', ');
  for (const name of ['ETag', 'Content-Range', 'Content-Length']) t.true(exposed.includes(name), name);
});

test('POST is answered 405 with the methods that are served', async (t) => {
  const response = await get(ARCHIVES_DAILY, {}, 'POST');
  t.is(response.status, 405);
  t.is(response.headers.get('allow'), 'GET, HEAD, OPTIONS');
  t.like(await response.json(), { error: 'method_not_allowed' });
});

/** Sends a path as it is, which fetch would tidy up first. */
function statusOf(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(archivesService.url);
    request({ host: '127.0.0.1', port, path }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

for (const path of [
  '/tiles/',
  '/tiles/daily/',
  '/tiles/daily/2026-05-01',
  '/tiles/daily/2019-01-01.pmtiles',
  '/tiles/daily/2026-05-01.PMTILES',
  '/tiles/Daily/2026-05-01.pmtiles',
  '/tiles/daily//2026-05-01.pmtiles',
  '/tiles/daily/../../current.json',
  '/tiles/daily/..%2f..%2fcurrent.json',
  '/tiles/daily/%2e%2e/%2e%2e/current.json',
  '/tiles/daily/..\\..\\current.json',
  '/tiles/daily/2026-05-01.pmtiles%00',
  '/tiles/scan/2026-05-01/../../../current.json',
  '/tiles/scan/2026-05-01/20260501T235400Z-00000000.pmtiles',
  '/tiles/scan/2026-05-01/.pmtiles',
  '/tiles/reflectivity/2026-05-01/20260501T235400Z-00000000.pmtiles',
  '/tiles/reflectivity/2026-05-01.pmtiles',
  '/tiles/scan/date=2026-05-01/x.pmtiles',
])
  test(`${path} is 404`, async (t) => t.is(await statusOf(path), 404));

test('an archive that is gone, was cut short, or leads out of the data root is an error of ours, never wrong bytes', async (t) => {
  const root = await publishedRoot(t, await scansBetween('23:54', '00:02'));
  const own = await openCatalog(root, 0);
  t.teardown(own.close);
  const files = (await own.edition().manifest(DATE))?.files ?? [];
  const file = files.find(({ kind }) => kind === 'daily-tiles') as PublishedFile;
  const path = join(root, file.path);
  const read = () => own.edition().files.open(file, { first: 0, last: 9 });
  truncateSync(path, 100);
  await t.throwsAsync(read, { name: 'DataUnavailable', message: /has 100 bytes, its manifest says/ });
  unlinkSync(path);
  await t.throwsAsync(read, { name: 'DataUnavailable', message: /is missing/ });
  symlinkSync('/etc/hostname', path);
  await t.throwsAsync(read, { name: 'DataUnavailable', message: /leads out of the data root/ });
});

test('the file of an archive is closed after its answer, read or not', async (t) => {
  const opened: Readable[] = [];
  const watched = (): Edition => {
    const edition = archivesService.services.catalog.edition();
    const open: Edition['files']['open'] = async (...file) => {
      const stream = await edition.files.open(...file);
      opened.push(stream);
      return stream;
    };
    return { ...edition, files: { ...edition.files, open } };
  };
  const own = await serviceFor(t, { app: { publicRoutes: [archives({ edition: watched })] } });
  await (await own.call(ARCHIVES_DAILY, { key: null })).arrayBuffer();
  await (await own.call(ARCHIVES_DAILY, { key: null })).body?.cancel();
  t.is(opened.length, 2);
  for (const stream of opened) if (!stream.closed) await once(stream, 'close');
  t.true(opened.every(({ closed }) => closed));
});

for (const [range, place] of [
  ['bytes=0-0', '0-0'],
  ['bytes=10-', '10-LAST'],
  ['bytes=-1', 'LAST-LAST'],
  ['bytes=-99999999', '0-LAST'],
  ['BYTES = 1-99999999999999999999', '1-LAST'],
  ['bytes=2-1', null],
  ['bytes=-', null],
  ['bytes=a-b', null],
  ['items=0-1', null],
] as const)
  test(`Range ${range} gets ${place === null ? 'the whole file' : `bytes ${place}`}`, async (t) => {
    const { bytes } = await listed('daily-tiles');
    const reply = await get(ARCHIVES_DAILY, { Range: range });
    await reply.body?.cancel();
    const expected = place === null ? null : `bytes ${place.replaceAll('LAST', String(bytes - 1))}/${bytes}`;
    t.deepEqual([reply.status, reply.headers.get('Content-Range')], [place === null ? 200 : 206, expected]);
  });

test('preconditions come before the range, weak tags and dates never take a part', async (t) => {
  const etag = `"${(await listed('daily-tiles')).sha256}"`;
  const status = async (headers: Record<string, string>) => (await get(ARCHIVES_DAILY, headers)).status;
  const Range = 'bytes=99999999-';
  t.is(await status({ Range, 'If-Match': '"x"' }), 412);
  t.is(await status({ Range, 'If-Match': `W/${etag}` }), 412);
  t.is(await status({ Range, 'If-None-Match': `"x", W/${etag}` }), 304);
  t.is(await status({ Range, 'If-Match': '*' }), 416);
  for (const validator of [`W/${etag}`, 'Sat, 02 May 2026 00:00:00 GMT'])
    t.is(await status({ Range: 'bytes=0-1', 'If-Range': validator }), 200);
});

test('the pmtiles reader reads the archives of scans and of the day over HTTP', async (t) => {
  for (const path of [ARCHIVES_DAILY, await scanPath()]) {
    const archive = new PMTiles(new FetchSource(`${archivesService.url}${path}`));
    const header = await archive.getHeader();
    t.is(tileTypeExt(header.tileType), '.mvt');
    const { vector_layers } = (await archive.getMetadata()) as { vector_layers: unknown[] };
    t.true(vector_layers.length > 0);
    const z = header.minZoom;
    const x = Math.floor(((header.centerLon + 180) / 360) * 2 ** z);
    const sine = Math.sin((header.centerLat * Math.PI) / 180);
    const y = Math.floor((0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)) * 2 ** z);
    const tile = await archive.getZxy(z, x, y);
    t.true((tile?.data.byteLength ?? 0) > 0, path);
  }
});

test('archives are the same for every caller, and do not vary by Authorization', async (t) => {
  const first = await get(ARCHIVES_DAILY);
  await first.arrayBuffer();
  const etag = first.headers.get('ETag') ?? '';
  for (const path of [ARCHIVES_DAILY, await scanPath()]) {
    const part = await get(path, { Range: 'bytes=0-9' });
    await part.arrayBuffer();
    for (const reply of [part, await get(path, {}, 'HEAD')]) t.is(reply.headers.get('Vary'), 'Accept-Encoding', path);
  }
  const unchanged = await get(ARCHIVES_DAILY, { 'If-None-Match': etag });
  t.deepEqual([unchanged.status, unchanged.headers.get('Vary')], [304, 'Accept-Encoding']);
});
const NIGHT = '2026-05-02';
const EVENTS = `/v1/events?date_start=${NIGHT}&date_end=${NIGHT}&bbox=-98,34.5,-96,36`;
const CURRENT = '/v1/hail/current?lat=35.2&lon=-97&radius_km=100';
const OTHER = DATA_FORMAT + 1;
const reasonFor = (program: string) =>
  `has data format ${OTHER}, and ${program} ${RELEASE} reads ${DATA_FORMAT}: make the data again from its archive/, by 'hail-pipeline ingest --from OLD-ROOT/archive' with an empty HAIL_DATA`;
const REFUSED = `data root: root.json ${reasonFor('hail-api')}`;

type Name = Record<string, unknown>;

async function nameOf(root: string): Promise<Name> {
  return JSON.parse(await fs.readFile(join(root, layout.root), 'utf8'));
}

async function rename(root: string, change: (name: Name) => Name): Promise<void> {
  await fs.writeFile(join(root, layout.root), JSON.stringify(change(await nameOf(root))));
}

/** Every file below a root with its bytes, to see that a refusal changed nothing. */
async function contentOf(root: string): Promise<Map<string, string>> {
  const names = await fs.readdir(root, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(await Promise.all(files.map(async (path) => [path, await fs.readFile(path, 'base64')] as const)));
}

test('a new root has the data format of this release', async (t) => {
  const root = await scratch(t);
  await onRoot(root, {}, async () => {});
  t.is((await nameOf(root)).format, DATA_FORMAT);
});

test('a root that lost its name is refused', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  await fs.rm(join(root, layout.root));
  await t.throwsAsync(
    onRoot(root, {}, async () => {}),
    { message: /root\.json: is missing, and manifests are there: restore the file from a backup$/ },
  );
  t.is(await fs.stat(join(root, layout.root)).catch(() => null), null);
});

test('the pipeline refuses a root of another format before it changes anything', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  await rename(root, (name) => ({ ...name, format: OTHER }));
  const before = await contentOf(root);
  const message = `publish ${join(root, layout.root)}: ${reasonFor('hail-pipeline')}`;
  await t.throwsAsync(
    onRoot(root, {}, async () => {}),
    { message },
  );
  const engine = await openEngine();
  t.teardown(engine.close);
  await t.throwsAsync(
    verifyRoot(engine, root, null, () => {}),
    { message },
  );
  t.deepEqual(await contentOf(root), before);
});

test('a service does not start on a root of another format', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  await rename(root, (name) => ({ ...name, format: OTHER }));
  await t.throwsAsync(startService({ data_root: root }), { message: REFUSED });
});

test('a running service answers nothing from a root that was upgraded under it, says why, and goes on once it is back', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  const service = await serviceFor(t, { data_root: root });
  t.is((await service.call(CURRENT)).status, 200);
  const ready = async () => (await service.call('/readyz', { key: null })).json();
  t.deepEqual(await ready(), { status: 'ok', records: true, data: true });

  await rename(root, (name) => ({ ...name, format: OTHER }));
  await service.services.catalog.refresh();
  for (const path of [CURRENT, EVENTS]) t.is((await service.call(path)).status, 500, path);
  t.is(service.failures.splice(0).length, 2);
  t.deepEqual(await ready(), { status: 'unavailable', records: true, data: false, reason: REFUSED });
  const health = (await service.json('/v1/health')) as Health;
  t.is(health.status, 'degraded');
  t.deepEqual(health.components.data, { status: 'degraded', reason: REFUSED });

  await rename(root, (name) => ({ ...name, format: DATA_FORMAT }));
  await service.services.catalog.refresh();
  t.is((await service.call(CURRENT)).status, 200);
  t.deepEqual(((await service.json('/v1/health')) as Health).components.data, { status: 'ok', reason: null });
});

for (const [title, text] of [
  ['cut short', '{"manifest_version":1,"root_'],
  ['empty', ''],
  ['without an id', `{"manifest_version":1,"created_at":"2026-05-01T00:00:00Z","format":${DATA_FORMAT}}`],
] as const)
  test(`a name that is ${title} is a damage that all sides name`, async (t) => {
    const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
    await fs.writeFile(join(root, layout.root), text);
    const before = await contentOf(root);
    const expected = /root\.json:? (is damaged|is not JSON|is not a list)/;
    await t.throwsAsync(
      onRoot(root, {}, async () => {}),
      { message: expected },
    );
    t.deepEqual(await contentOf(root), before, 'nothing is repaired by guess');
    const faults = await faultsOf(root);
    t.is(faults.length, 1, 'verify lists it and goes on');
    t.regex(faults[0] ?? '', expected);
    const catalog = await openCatalog(root, 0);
    t.teardown(catalog.close);
    t.regex(catalog.failure()?.message ?? '', expected);
  });

test('a table file of another version is refused by name', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  const manifest = (await readNewest(root, NIGHT)) as Manifest;
  const files = manifest.files.map((file) => (file.table === 'cells' ? { ...file, schema_version: 9 } : file));
  await fs.writeFile(join(root, layout.manifest(NIGHT, manifest.commit)), JSON.stringify({ ...manifest, files }));
  await fs.writeFile(join(root, layout.head(NIGHT)), JSON.stringify(headOf({ ...manifest, files })));
  const catalog = await openCatalog(root, 0);
  t.teardown(catalog.close);
  t.regex(catalog.failure()?.message ?? '', /^data root: \S+cells\S+ has cells schema version 9, expected \d+$/);
});

test('GET /tiles/style.json is a valid style of the ground and the newest day, whose archives have every layer that it draws', async (t) => {
  const own = await serviceFor(t, {
    data_root: service.data_root,
    now_ms: NOW_MS,
    public_routes: (services) => [
      tileStyle(services),
      archives(services.catalog),
      ...viewerPages(services.base_url, {}),
    ],
  });
  const root = own.services.base_url.replace('/v1', '');
  const styleAt = async (query = '') => (await own.call(`/tiles/style.json${query}`, { key: null })).json();
  for (const query of ['', '?scheme=dark', '?date=2026-05-01']) {
    const style = (await styleAt(query)) as StyleSpecification;
    t.deepEqual(validateStyleMin(style), []);
    for (const [id, source] of Object.entries(style.sources)) {
      const address = (source as { readonly url: string }).url.replace(`pmtiles://${root}`, own.url);
      const { vector_layers } = (await new PMTiles(new FetchSource(address)).getMetadata()) as {
        readonly vector_layers: readonly { readonly id: string }[];
      };
      const drawn = style.layers.flatMap((layer) =>
        'source' in layer && layer.source === id ? (layer['source-layer'] ?? '') : [],
      );
      t.true(drawn.length > 0);
      t.deepEqual(
        drawn.filter((name) => !vector_layers.some((layer) => layer.id === name)),
        [],
      );
    }
  }
  t.like(await styleAt(), { name: 'Hail of 2026-05-02', sources: { hail: { attribution: 'simulated' } } });
  t.is((await own.call('/tiles/style.json?date=2026-04-30', { key: null })).status, 404);
});

test('GET /tiles/style.json of an empty root draws the ground alone', async (t) => {
  const own = await serviceFor(t);
  const style = (await (await own.call('/tiles/style.json', { key: null })).json()) as StyleSpecification;
  t.deepEqual(Object.keys(style.sources), ['ground']);
  t.deepEqual(validateStyleMin(style), []);
});
