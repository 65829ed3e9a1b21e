import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, unlinkSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import test from 'ava';
import { FetchSource, PMTiles, tileTypeExt } from 'pmtiles';
import { type Catalog, openCatalog } from '../../api/catalog.ts';
import { archiveResponse, newestReflectivity } from '../../api/files/tiles.ts';
import { type OpenStreams, openStreams } from '../../api/http/open-streams.ts';
import { archives } from '../../api/routes/archives.ts';
import { tilesDaily, tilesScan } from '../../api/routes/tiles.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import type { DailyTiles, ScanTiles } from '../../schemas/resources/tile-frame.ts';
import { NOW_MS, publish, publishedRoot, SCRATCH, scansBetween } from '../support/data/world.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const DATE = '2026-05-01';
const DAILY = `/tiles/daily/${DATE}.pmtiles`;
const data_root = mkdtempSync(join(SCRATCH, 'hail-archives-'));
let service: RunningService;
let catalog: Catalog;

test.before(async () => {
  await publish(data_root, await scansBetween('23:54', '00:02'), { reflectivity_keep_hours: 48 });
  catalog = await openCatalog(data_root, 0);
  service = await startService({
    endpoints: [tilesScan, tilesDaily],
    data_root,
    now_ms: NOW_MS,
    app: { publicRoutes: [archives(catalog)] },
  });
});
test.after.always(async (t) => {
  t.deepEqual(service.failures, []);
  await service.close();
  await catalog.close();
  rmSync(data_root, { recursive: true, force: true });
});

function listed(kind: PublishedFile['kind']): PublishedFile {
  const file = catalog
    .edition()
    .manifest(DATE)
    ?.files.find((one) => one.kind === kind);
  if (file === undefined) throw new Error(`${DATE} lists no ${kind}`);
  return file;
}

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  service.call(path, { key: null, method, headers });

/** Path of the first scan's archive. */
async function scanPath(): Promise<string> {
  const { frames } = (await service.json(`/v1/tiles/scan?date=${DATE}`)) as ScanTiles;
  return new URL(frames[0]?.url ?? '').pathname;
}

test('GET of an archive needs no key and gives the very file, its type, its length and a strong tag', async (t) => {
  const file = listed('daily-tiles');
  const response = await get(DAILY);
  t.is(response.status, 200);
  const bytes = Buffer.from(await response.arrayBuffer());
  t.is(createHash('sha256').update(bytes).digest('hex'), file.sha256);
  t.deepEqual(bytes, readFileSync(join(data_root, file.path)));
  t.is(response.headers.get('content-type'), 'application/vnd.pmtiles');
  t.is(response.headers.get('content-length'), String(file.bytes));
  t.is(response.headers.get('accept-ranges'), 'bytes');
  t.is(response.headers.get('content-encoding'), null);
  t.regex(response.headers.get('etag') ?? '', /^"[^"]+"$/);
  t.is(response.headers.get('x-data-source'), 'simulated');
});

test('archives are cached as their discovery says', async (t) => {
  const scan = (await service.json(`/v1/tiles/scan?date=${DATE}`)) as ScanTiles;
  const daily = (await service.json(`/v1/tiles/daily?date=${DATE}`)) as DailyTiles;
  const [frame] = scan.frames;
  t.is((await get(await scanPath())).headers.get('cache-control'), frame?.cache_control ?? null);
  const reflectivity = await get(new URL(frame?.reflectivity_url ?? '').pathname);
  t.is(reflectivity.headers.get('cache-control'), frame?.cache_control ?? null);
  t.is((await get(DAILY)).headers.get('cache-control'), daily.cache_control);
});

test('every address that discovery gives answers', async (t) => {
  const { frames } = (await service.json(`/v1/tiles/scan?date=${DATE}`)) as ScanTiles;
  for (const { url, reflectivity_url } of frames)
    for (const address of [url, reflectivity_url ?? ''])
      t.is((await get(new URL(address).pathname, {}, 'HEAD')).status, 200);
});

test('the newest archive of reflectivity is that of the newest scan, and is answered under its path', async (t) => {
  const newest = newestReflectivity(catalog.edition());
  const { frames } = (await service.json('/v1/tiles/scan')) as ScanTiles;
  t.is(newest?.scan_time, Date.parse(frames.at(-1)?.scan_time ?? ''));
  const response = await get(`/tiles${newest?.path}`);
  t.is(response.headers.get('etag'), `"${newest?.file.sha256}"`);
  const archive = new PMTiles(new FetchSource(`${service.url}/tiles${newest?.path}`));
  t.is((await archive.getHeader()).maxZoom, 6);
});

test('a range is answered 206 with its place in the whole', async (t) => {
  const whole = Buffer.from(await (await get(DAILY)).arrayBuffer());
  const last = whole.length - 1;
  for (const [range, from, to] of [
    ['bytes=0-126', 0, 126],
    ['bytes=100-', 100, last],
    ['bytes=-16', whole.length - 16, last],
    [`bytes=${last}-${last + 1000}`, last, last],
  ] as const) {
    const response = await get(DAILY, { Range: range });
    t.is(response.status, 206, range);
    t.is(response.headers.get('content-range'), `bytes ${from}-${to}/${whole.length}`);
    t.is(response.headers.get('content-length'), String(to - from + 1));
    t.deepEqual(Buffer.from(await response.arrayBuffer()), whole.subarray(from, to + 1), range);
  }
});

test('a range behind the end is answered 416 with the size', async (t) => {
  const { bytes } = listed('daily-tiles');
  const response = await get(DAILY, { Range: `bytes=${bytes}-` });
  t.is(response.status, 416);
  t.is(response.headers.get('content-range'), `bytes */${bytes}`);
  t.is(response.headers.get('cache-control'), 'no-store');
  t.like(await response.json(), { error: 'range_not_satisfiable' });
});

test('If-None-Match with the tag is answered 304 without a body, If-Match with another 412', async (t) => {
  const etag = (await get(DAILY)).headers.get('etag') ?? '';
  const same = await get(DAILY, { 'If-None-Match': etag });
  t.is(same.status, 304);
  t.is(same.headers.get('etag'), etag);
  t.is(same.headers.get('cache-control'), 'public, max-age=60, must-revalidate');
  t.is(await same.text(), '');
  const other = await get(DAILY, { 'If-Match': '"other"' });
  t.deepEqual([other.status, other.headers.get('cache-control')], [412, 'no-store']);
  t.like(await other.json(), { error: 'precondition_failed' });
  t.is((await get(DAILY, { 'If-Match': etag })).status, 200);
});

test('a stale If-Range gets the whole file, the present tag its range', async (t) => {
  const etag = (await get(DAILY)).headers.get('etag') ?? '';
  t.is((await get(DAILY, { Range: 'bytes=0-9', 'If-Range': '"stale"' })).status, 200);
  t.is((await get(DAILY, { Range: 'bytes=0-9', 'If-Range': etag })).status, 206);
});

test('several ranges get the whole file', async (t) => {
  t.is((await get(DAILY, { Range: 'bytes=0-9, 20-29' })).status, 200);
});

test('HEAD has the headers of GET and no body', async (t) => {
  const [get_, head] = await Promise.all([get(DAILY), get(DAILY, {}, 'HEAD')]);
  t.is(head.status, 200);
  t.is(await head.text(), '');
  for (const name of ['etag', 'content-length', 'content-type', 'cache-control', 'accept-ranges'])
    t.is(head.headers.get(name), get_.headers.get(name), name);
});

test('pages elsewhere may read archives and their tags', async (t) => {
  const response = await get(DAILY, { Origin: 'https://elsewhere.example', Range: 'bytes=0-9' });
  t.is(response.headers.get('access-control-allow-origin'), '*');
  const exposed = (response.headers.get('access-control-expose-headers') ?? '').split(', ');
  for (const name of ['ETag', 'Content-Range', 'Content-Length']) t.true(exposed.includes(name), name);
});

test('POST is answered 405 with the methods that are served', async (t) => {
  const response = await get(DAILY, {}, 'POST');
  t.is(response.status, 405);
  t.is(response.headers.get('allow'), 'GET, HEAD, OPTIONS');
  t.like(await response.json(), { error: 'method_not_allowed' });
});

/** Sends a path as it is, which fetch would tidy up first. */
function statusOf(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(service.url);
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
  '/tiles/daily/%32026-05-01.pmtiles',
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

test('an archive of another date is not found under this one', async (t) => {
  const path = await scanPath();
  t.is(await statusOf(path.replace(DATE, '2026-05-02')), 404);
});

test('an archive that is gone, was cut short, or leads out of the data root is an error of ours, never wrong bytes', async (t) => {
  const root = await publishedRoot(t, await scansBetween('23:54', '00:02'));
  const own = await openCatalog(root, 0);
  t.teardown(own.close);
  const path = join(
    root,
    own
      .edition()
      .manifest(DATE)
      ?.files.find(({ kind }) => kind === 'daily-tiles')?.path ?? '',
  );
  const read = () => archiveResponse({ method: 'GET', path: DAILY, headers: {} }, own.edition());
  truncateSync(path, 100);
  await t.throwsAsync(read, { name: 'DataUnavailable', message: /has 100 bytes, its manifest says/ });
  unlinkSync(path);
  await t.throwsAsync(read, { name: 'DataUnavailable', message: /is missing/ });
  symlinkSync('/etc/hostname', path);
  await t.throwsAsync(read, { name: 'DataUnavailable', message: /leads out of the data root/ });
});

test('503 overloaded with Retry-After when too many archives are being read; what needs no file is still answered', async (t) => {
  const full = await startService({
    endpoints: [],
    app: { publicRoutes: [archives(catalog, openStreams(0, 0))] },
  });
  t.teardown(full.close);
  const reply = await full.call(DAILY, { key: null });
  t.deepEqual([reply.status, reply.headers.get('Retry-After')], [503, '1']);
  t.like(await reply.json(), { error: 'overloaded' });
  t.is((await full.call(DAILY, { key: null, method: 'HEAD' })).status, 200);
  const etag = `"${listed('daily-tiles').sha256}"`;
  t.is((await full.call(DAILY, { key: null, headers: { 'If-None-Match': etag } })).status, 304);
});

test('the file of an archive is closed after its answer, read or not', async (t) => {
  const opened: Readable[] = [];
  const streams: OpenStreams = {
    open: async (_, make) => {
      const stream = await make();
      opened.push(stream);
      return stream;
    },
  };
  const own = await startService({ endpoints: [], app: { publicRoutes: [archives(catalog, streams)] } });
  t.teardown(own.close);
  await (await own.call(DAILY, { key: null })).arrayBuffer();
  await (await own.call(DAILY, { key: null })).body?.cancel();
  t.is(opened.length, 2);
  for (const stream of opened) if (!stream.closed) await once(stream, 'close');
  t.true(opened.every(({ closed }) => closed));
});

test('the pmtiles reader reads the archives of scans and of the day over HTTP', async (t) => {
  for (const path of [DAILY, await scanPath()]) {
    const archive = new PMTiles(new FetchSource(`${service.url}${path}`));
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
  const first = await get(DAILY);
  await first.arrayBuffer();
  const etag = first.headers.get('ETag') ?? '';
  for (const path of [DAILY, await scanPath()]) {
    const part = await get(path, { Range: 'bytes=0-9' });
    await part.arrayBuffer();
    for (const reply of [part, await get(path, {}, 'HEAD')]) t.is(reply.headers.get('Vary'), 'Accept-Encoding', path);
  }
  const unchanged = await get(DAILY, { 'If-None-Match': etag });
  t.deepEqual([unchanged.status, unchanged.headers.get('Vary')], [304, 'Accept-Encoding']);
});
