import fs, { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { createMetrics } from '../../api/http/metrics.ts';
import { telemetryOf } from '../../api/server/answer.ts';
import { writeFeedStates } from '../../pipeline/feeds/schedule.ts';
import { readNewest } from '../../pipeline/publish/manifests.ts';
import { parseName, type SourceFile } from '../../pipeline/sources/names.ts';
import { FeedStates } from '../../schemas/collections.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import type { HailCurrent } from '../../schemas/resources/hail-cell.ts';
import type { Health } from '../../schemas/resources/health.ts';
import type { HailHistory } from '../../schemas/resources/history-event.ts';
import type { Storms, StormTrack } from '../../schemas/resources/storm.ts';
import type { Warnings } from '../../schemas/resources/warning.ts';
import { alertsFile, publishFeeds, watchFile } from '../support/data/feeds.ts';
import { prepared } from '../support/data/prepared.ts';
import { pythonTest, runOn } from '../support/data/python.ts';
import { bucketKey } from '../support/data/source-files.ts';
import {
  asObserved,
  ingest,
  midnight,
  NOW_MS,
  onRoot,
  preparedRoot,
  publish,
  publishedRoot,
  type RawScan,
  scansBetween,
  scratch,
} from '../support/data/world.ts';
import { faultsOf } from '../support/kill/killed.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { type RunningService, serviceFor } from '../support/service/service.ts';
import { happen, makeWebhook, receivers } from '../support/service/webhooks.ts';

/** Products that scans take where they are given, with their category and number in the table of MRMS. */
const OPTIONAL = {
  'Reflectivity_-20C': [3, 56],
  ReflectivityAtLowestAltitude: [3, 57],
  'MergedAzShear_0-2kmAGL': [3, 0],
} as const;

/** The product whose values stand in for those of the others. */
const STAND_IN = 'MergedReflectivityQCComposite';

/** The same scans with the optional products, each of which has the values of the composite reflectivity. */
async function withOptionalProducts(t: ExecutionContext, scans: readonly RawScan[]): Promise<RawScan[]> {
  const folder = await scratch(t, 'optional');
  await fs.mkdir(folder, { recursive: true });
  return Promise.all(
    scans.map(async (scan) => {
      const composite = scan.files.find(({ product }) => product === STAND_IN);
      if (composite === undefined) throw new Error(`${scan.scan_id} has no ${STAND_IN}`);
      const more = Object.keys(OPTIONAL).map((product) =>
        relabelled(folder, composite, product as keyof typeof OPTIONAL),
      );
      return { ...scan, files: [...scan.files, ...(await Promise.all(more))] };
    }),
  );
}

async function relabelled(folder: string, file: SourceFile, product: keyof typeof OPTIONAL): Promise<SourceFile> {
  const message = gunzipSync(await fs.readFile(file.location));
  // Section 4 names the product: octets 10 and 11 are category and number.
  let at = 16;
  while (message[at + 4] !== 4) at += message.readUInt32BE(at);
  [message[at + 9], message[at + 10]] = OPTIONAL[product];
  const bytes = gzipSync(message);
  const key = bucketKey(product, file.time_ms);
  const name = key.slice(key.lastIndexOf('/') + 1);
  if (parseName(name)?.product !== product) throw new Error(`${name} is not read as a file of ${product}`);
  const location = join(folder, name);
  await fs.writeFile(location, bytes);
  return { product, time_ms: file.time_ms, name, key, bytes: bytes.length, location };
}

test('GET /v1/health with fresh data is ok, for a live and for a test key', async (t) => {
  const data_root = await preparedRoot((await midnight()).slice(0, 2));
  const scan_ms = ((await midnight())[1] as { time_ms: number }).time_ms;
  const service = await serviceFor(t, { data_root, now_ms: scan_ms + 60_000 });
  for (const key of [service.live_key, service.test_key]) {
    const health = (await service.json('/v1/health', { key })) as Health;
    t.is(health.status, 'ok');
    t.is(health.api_variant, 'current');
    t.regex(health.version, /^\d+\.\d+\.\d+$/);
    t.deepEqual(health.components.database, { status: 'ok' });
    t.deepEqual(health.components.metering, { status: 'ok' });
    t.is(health.components.ingest.source, 'simulated');
    t.is(health.components.ingest.lag_seconds, 60);
    t.is(health.components.ingest.last_scan_at, new Date(scan_ms).toISOString().replace('.000', ''));
    t.deepEqual(health.components.webhooks, { status: 'ok', queue_depth: 0, oldest_due_seconds: null });
    t.deepEqual(health.components.jobs, { queued: 0, running: 0 });
  }
});

test('GET /v1/health counts the deliveries that wait, and is degraded when one is a minute late', async (t) => {
  const service = await serviceFor(t, { webhookClient: receivers() });
  const webhooks = async () => ((await service.json('/v1/health')) as Health).components.webhooks;
  const { webhook_id } = await makeWebhook(service);
  await happen(service, [webhook_id], { alert_id: 'alt_1' });
  await happen(service, [webhook_id], { event: 'alert.resolved', alert_id: 'alt_1', after: 'alert.created' });
  t.like(await webhooks(), { status: 'ok', queue_depth: 2 });
  const next_at = new Date(Date.now() - 61_000).toISOString();
  await service.records.transaction((rows) =>
    rows.updateTable('messages').set({ next_at }).where('state', '=', 'pending').execute(),
  );
  const late = await webhooks();
  t.is(late?.status, 'degraded');
  t.true((late?.oldest_due_seconds ?? 0) >= 61);
});

test('GET /v1/health with old data is degraded and says how old', async (t) => {
  const data_root = await preparedRoot((await midnight()).slice(0, 2));
  const service = await serviceFor(t, { data_root, now_ms: NOW_MS + 3_600_000 });
  const { status, components } = (await service.json('/v1/health')) as Health;
  t.is(status, 'degraded');
  t.true(components.ingest.stale);
  t.true((components.ingest.lag_seconds ?? 0) > 3600);
});

test('GET /v1/health lists every product that was ingested, and tells which one stopped', async (t) => {
  const scans = await scansBetween('23:50', '00:20');
  const root = await scratch(t);
  await publish(root, scans.slice(0, 3));
  const later = scans
    .slice(3)
    .map((scan) => ({ ...scan, files: scan.files.filter(({ product }) => product !== 'VIL') }));
  await ingest(root, later);
  const newest_ms = scans.at(-1)?.time_ms as number;
  const service = await serviceFor(t, { data_root: root, now_ms: newest_ms + 60_000 });
  const { status, components } = (await service.json('/v1/health')) as Health;
  const { sources, stale, lag_seconds } = components.ingest;
  t.deepEqual([status, stale, lag_seconds], ['degraded', false, 60]);
  t.deepEqual(
    sources.map(({ name, status }) => `${name} ${status}`),
    [...['MESH ok', 'EchoTop_18 ok', 'EchoTop_50 ok', 'MergedReflectivityQCComposite ok', 'POSH ok'], 'VIL degraded'],
  );
  const vil = scans[2]?.files.find(({ product }) => product === 'VIL')?.time_ms as number;
  t.is(Date.parse(sources.at(-1)?.last_success_at ?? ''), vil);
});

test('GET /v1/health tells the feeds of the newest kind of data, not those of a simulation before it', async (t) => {
  const root = await scratch(t);
  await publish(root, await scansBetween('23:50', '00:00'));
  const mesh = (await asObserved(t, await scansBetween('00:00', '00:10'))).map(({ files, ...scan }) => ({
    ...scan,
    files: files.slice(0, 1),
  }));
  await ingest(root, mesh);
  const now_ms = mesh.at(-1)?.time_ms as number;
  const service = await serviceFor(t, { data_root: root, now_ms });
  const { status, components } = (await service.json('/v1/health')) as Health;
  t.is(status, 'ok');
  const names = components.ingest.sources.map(({ name }) => name);
  t.deepEqual(names, ['MESH']);
});

test('GET /v1/health has a row for every feed of feeds.json, and the same times as there and in the answers that the feeds make', async (t) => {
  const root = await scratch(t);
  const now_ms = Date.parse('2026-05-01T20:12:00Z');
  const warning = { id: 'urn:a', sent: '2026-05-01T20:00:00Z', ends: '2026-05-01T20:45:00Z' };
  const watch = watchFile({ number: 101, from: '011900', to: '012300' }, [-98, 35, -97, 36], now_ms);
  await publishFeeds(root, [alertsFile(now_ms, warning), watch], now_ms);
  const state = (name: string, collection: string, last_success_at: string | null) => ({
    ...{ name, collection, every_s: 120, failure: null, source: 'observed' as const },
    ...{ followed_since: '2026-05-01T19:00:00Z', last_attempt_at: '2026-05-01T20:11:00Z', last_success_at },
  });
  await onRoot(root, { now_ms }, (opened) =>
    writeFeedStates(opened.root, [
      state('warnings', 'warnings', '2026-05-01T20:11:00Z'),
      state('watches', 'watches', '2026-05-01T20:10:00Z'),
      state('discussions', 'watches', null),
      state('lsr', 'reports', '2026-05-01T20:01:59Z'),
      state('spc-reports', 'reports', '2026-05-01T20:02:00Z'),
    ]),
  );
  const service = await serviceFor(t, { data_root: root, now_ms });
  const { feeds } = FeedStates.parse(JSON.parse(await readFile(join(root, layout.feeds), 'utf8')));
  const { sources } = ((await service.json('/v1/health')) as Health).components.ingest;
  const beside = sources.filter(({ name }) => name !== 'MESH');
  t.deepEqual(
    beside.map(({ name, last_success_at }) => ({ name, last_success_at })),
    feeds.map(({ name, last_success_at }) => ({ name, last_success_at })),
  );
  // Late is what is older than three of its pauses, and than ten minutes.
  const statuses = beside.map(({ name, status }) => `${name} ${status}`);
  t.deepEqual(statuses, ['discussions degraded', 'lsr degraded', 'spc-reports ok', 'warnings ok', 'watches ok']);
  const answer = (await service.json('/v1/warnings?lat=35.5&lon=-97.5')) as Warnings;
  t.deepEqual([answer.warnings?.length, answer.watches?.length], [1, 1]);
  t.is(answer.data_as_of, null, 'discussions were never read since they are followed');
  t.regex(answer.note ?? '', /^Nothing was ever collected of discussions:/);
});

const UNDATED = { data_timestamp: null };
const NO_TILES = { available: false, data_as_of: null };

test('an empty data root answers inactive, empty or unavailable, without a time', async (t) => {
  const empty = await serviceFor(t, { now_ms: NOW_MS });
  for (const [path, expected] of [
    ['/v1/hail/current?lat=35&lon=-97', { active: false, ...UNDATED }],
    ['/v1/hail/nowcast?lat=35&lon=-97', { active: false, ...UNDATED }],
    ['/v1/storms?lat=35&lon=-97', { active: false, data_as_of: null }],
    ['/v1/tiles/scan', { date: null, frame_count: 0, frames: [], ...NO_TILES }],
    ['/v1/tiles/daily', { date: '2026-05-02', url: null, ...NO_TILES }],
    ['/v1/hail/history?lat=35&lon=-97', { events: [], count: 0, detail: 'standard', ...UNDATED }],
  ] as const)
    t.like(await empty.json(path), expected, path);
  const { radar_gaps } = (await empty.json('/v1/hail/history?lat=35&lon=-97')) as HailHistory;
  t.is(radar_gaps.dates_without_data.length, 30);
  t.deepEqual([radar_gaps.coverage, radar_gaps.dates_seen_in_part], [[], []]);
});

test('GET /v1/health without any data, or with a root that lost its lists, is 200 degraded', async (t) => {
  const empty = await serviceFor(t);
  t.is(((await empty.json('/v1/health')) as Health).status, 'degraded');
  const root = await publishedRoot(t, (await midnight()).slice(0, 2));
  await rm(join(root, 'manifests'), { recursive: true });
  const lost = await serviceFor(t, { data_root: root, now_ms: NOW_MS });
  const reply = await lost.call('/v1/health');
  t.is(reply.status, 200);
  t.is(((await reply.json()) as Health).status, 'degraded');
});

test('GET /v1/health with records that never answer is 200 degraded for a key seen before, without waiting for them', async (t) => {
  let silent = false;
  const never = new Promise<never>(() => {});
  const service = await serviceFor(t, {
    records: (records) => ({
      ...records,
      authenticate: (...asked) => (silent ? never : records.authenticate(...asked)),
      health: async () => !silent && (await records.health()),
    }),
  });
  t.is((await service.call('/v1/health')).status, 200);
  silent = true;
  const { status, components } = (await service.json('/v1/health')) as Health;
  t.deepEqual([status, components.database.status], ['degraded', 'degraded']);
});

const [EVENING, NIGHT] = ['2026-05-01', '2026-05-02'];
/** Both dates of the evening lie in the look-back, then only the later one. */
const [BOTH_MS, LATER_MS] = [Date.parse('2026-05-02T00:12:00Z'), Date.parse('2026-05-02T00:35:00Z')];
const POINT = 'lat=35.2&lon=-97&radius_km=50';

/** A service over two storm dates of different kinds. */
async function overMidnight(t: ExecutionContext, evening: 'observed' | 'simulated'): Promise<RunningService> {
  const data_root = await prepared(`over-midnight-${evening}`, async (root) => {
    const [before, after] = [await scansBetween('23:50', '00:00'), await scansBetween('00:00', '00:10')];
    await publish(root, evening === 'observed' ? await asObserved(t, before) : before);
    await ingest(root, evening === 'observed' ? after : await asObserved(t, after));
  });
  return await serviceFor(t, { data_root, now_ms: LATER_MS });
}

async function sourceOf(service: RunningService, path: string, init?: RequestInit): Promise<string | null> {
  const response = await service.call(path, init);
  if (response.status !== 200) throw new Error(`${path} answers ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
  return response.headers.get('X-Data-Source');
}

for (const [evening, night] of [
  ['simulated', 'observed'],
  ['observed', 'simulated'],
] as const)
  test(`with ${evening} data before ${night} data each answer says what the dates are that it read`, async (t) => {
    const service = await overMidnight(t, evening);
    for (const [date, source] of [
      [EVENING, evening],
      [NIGHT, night],
    ]) {
      for (const path of ['hail/swaths', 'tiles/scan', 'tiles/daily', 'portfolio/impacts'])
        t.is(await sourceOf(service, `/v1/${path}?date=${date}`), source ?? '', `${path} of ${date}`);
      const sourceOfEvents = await sourceOf(service, `/v1/events?date_start=${date}&date_end=${date}`);
      t.is(sourceOfEvents, source ?? '', `events of ${date}`);
      const { note } = (await service.json(`/v1/tiles/daily?date=${date}`)) as { note: string };
      t.is(note.startsWith('SIMULATED'), source === 'simulated', `note of ${date}`);
    }
    t.is(await sourceOf(service, `/v1/events?date_start=${EVENING}&date_end=${NIGHT}`), 'mixed');
    t.is(await sourceOf(service, `/v1/hail/history?${POINT}&days=1`), night);
    t.is(await sourceOf(service, `/v1/hail/history?${POINT}&days=30`), 'mixed');
    const batch = { method: 'POST', headers: { 'Content-Type': 'application/json' } };
    const body = JSON.stringify({ locations: [{ lat: 35.2, lon: -97 }] });
    for (const [now_ms, source] of [
      [LATER_MS, night],
      [BOTH_MS, 'mixed'],
    ] as const) {
      service.clock.ms = now_ms;
      for (const path of ['hail/current', 'storms', 'hail/nowcast'])
        t.is(await sourceOf(service, `/v1/${path}?${POINT.replace('50', '40')}`), source, `${path} at ${now_ms}`);
      t.is(await sourceOf(service, '/v1/hail/current/batch', { ...batch, body }), source);
    }
    t.is(await sourceOf(service, '/v1/hail/current/batch?estimate=true', { ...batch, body }), null);
    t.is(await sourceOf(service, '/v1/coverage?lat=35.2&lon=-97'), null);
  });

test('a track that crosses midnight from observed into simulated data is mixed, one of a single date is not', async (t) => {
  const service = await overMidnight(t, 'observed');
  const edition = service.services.catalog.edition();
  const ids = await service.services.engine.rows<{ track_id: string; dates: number; first: string }>(
    `SELECT track_id, count(DISTINCT storm_date)::DOUBLE AS dates, min(storm_date)::VARCHAR AS first
     FROM read_parquet($1::VARCHAR[], hive_partitioning = false) GROUP BY track_id HAVING max(scan_count) >= 2`,
    [edition.paths('tracks', [EVENING, NIGHT])],
  );
  const crossing = ids.find(({ dates }) => dates === 2);
  const path = (track: typeof crossing) => `/v1/storms/${track?.track_id}?date=${track?.first}`;
  t.is(await sourceOf(service, path(crossing)), 'mixed');
  const { points } = (await service.json(path(crossing))) as StormTrack;
  t.is(new Set(points.map(({ scan_time }) => scan_time.slice(0, 10))).size, 2);
  const single = ids.find(({ dates }) => dates === 1);
  t.is(await sourceOf(service, path(single)), single?.first === EVENING ? 'observed' : 'simulated');
});

test('an answer about dates that are not published has no word for them, and a tile note says so', async (t) => {
  const service = await overMidnight(t, 'observed');
  for (const path of ['hail/swaths', 'tiles/scan', 'tiles/daily', 'portfolio/impacts'])
    t.is(await sourceOf(service, `/v1/${path}?date=2026-04-01`), null, path);
  t.is(await sourceOf(service, '/v1/events?date_start=2026-04-01&date_end=2026-04-02'), null);
  const { note } = (await service.json('/v1/tiles/daily?date=2026-04-01')) as { note: string };
  t.is(note, 'There is no picture: no radar data of this date are published.');
});

test('a 304 says the same of its dates as the answer it stands for', async (t) => {
  const service = await overMidnight(t, 'observed');
  for (const path of [`/v1/hail/swaths?date=${EVENING}`, `/v1/storms?${POINT}`]) {
    const first = await service.call(path);
    const again = await service.call(path, { headers: { 'If-None-Match': first.headers.get('ETag') ?? '' } });
    t.is(again.status, 304, path);
    t.is(again.headers.get('X-Data-Source'), first.headers.get('X-Data-Source'), path);
  }
});

test('the same rows of the other kind have another tag', async (t) => {
  const scans = await scansBetween('00:00', '00:10');
  const observed = await scratch(t);
  await publish(observed, await asObserved(t, scans));
  const tags = [];
  for (const data_root of [observed, await preparedRoot(scans)]) {
    const service = await serviceFor(t, { data_root, now_ms: LATER_MS });
    tags.push((await service.call(`/v1/hail/nowcast?${POINT}`)).headers.get('ETag'));
  }
  t.not(tags[0] as string, tags[1] as string);
});

const DATE = '2026-05-02';
const ALL = 'lat=35.2&lon=-97&radius_km=100&detail=advanced';
const PRODUCTS_NOW_MS = Date.parse('2026-05-02T00:20:00Z');

/** Every radar block of the advanced answers. */
async function radarBlocks(t: ExecutionContext, data_root: string) {
  const service = await serviceFor(t, { data_root, now_ms: PRODUCTS_NOW_MS });
  const current = (await service.json(`/v1/hail/current?${ALL}`)) as HailCurrent;
  const history = (await service.json(`/v1/hail/history?${ALL}`)) as HailHistory;
  const storms = (await service.json(`/v1/storms?${ALL}`)) as Storms;
  const track_id = storms.cells[0]?.track_id;
  const track = (await service.json(`/v1/storms/${track_id}?date=${DATE}&detail=advanced`)) as StormTrack;
  const blocks = {
    current: current.cells.map(({ radar }) => radar),
    history: history.events.map(({ radar }) => radar),
    storms: storms.cells.map(({ radar_signals }) => radar_signals),
    track: track.points.map(({ radar_signals }) => radar_signals),
  };
  return { blocks, impacts: current.cells.map(({ impact }) => impact) };
}

test('products beside the usual ones are carried from their files to every advanced answer', async (t) => {
  const root = await scratch(t);
  await publish(root, await withOptionalProducts(t, await scansBetween('00:00', '00:10')));
  t.deepEqual(await faultsOf(root), []);
  const { blocks, impacts } = await radarBlocks(t, root);
  for (const [answer, radars] of Object.entries(blocks)) {
    // A cell that several storms share gives none of them its products.
    const own = radars.flatMap((radar) => (typeof radar?.max_reflectivity_dbz === 'number' ? [radar] : []));
    t.true(own.length > 0, answer);
    for (const radar of own) {
      const dbz = radar.max_reflectivity_dbz as number;
      t.is(radar.reflectivity_minus20c_dbz, dbz, answer);
      t.is(radar.azshear_0_2km_per_s, Math.round(dbz * 10) / 10_000, answer);
    }
  }
  t.true(impacts.every((impact) => (impact?.kinetic_energy_j_m2 ?? 0) > 0));
});

test('without those products their fields are null', async (t) => {
  const root = await preparedRoot(await scansBetween('00:00', '00:10'));
  const { blocks, impacts } = await radarBlocks(t, root);
  for (const radar of Object.values(blocks).flat())
    t.like(radar, { reflectivity_minus20c_dbz: null, azshear_0_2km_per_s: null });
  t.true(impacts.every((impact) => impact?.kinetic_energy_j_m2 === null));
});

pythonTest('the difference of two rows can be negative in pandas', ['pandas', 'pyarrow'], async (t) => {
  const root = await preparedRoot(await scansBetween('00:00', '00:10'));
  const { files } = (await readNewest(root, DATE)) as Manifest;
  const path = files.find(({ table }) => table === 'detections')?.path ?? '';
  const program =
    'import sys, pandas\nrows = pandas.read_parquet(sys.argv[1]).row\nprint(rows.dtype, rows.min() - rows.max() < 0)';
  t.is((await runOn(root, 'python3', ['-c', program, join(root, path)])).trim(), 'int32 True');
});

test('a request is counted under the path of its route, below a folder under the folder, else under none', async (t) => {
  const metrics = createMetrics();
  const service = await serviceFor(t, {
    endpoints: sampleEndpoints().endpoints,
    app: { telemetry: telemetryOf(pino({ level: 'silent' }), metrics) },
  });
  for (const path of ['/livez', '/tiles/daily/2026-05-01.pmtiles', '/tiles', '/v1/sample/items/known', '/v1/nothing'])
    await service.call(path);
  const { values } =
    (await metrics.registry.getMetricsAsJSON()).find(({ name }) => name === 'hail_requests_total') ?? {};
  const counted = values?.map(({ labels: { route, status }, value }) => `${route} ${status} ${value}`);
  t.deepEqual(counted, ['/livez 200 1', '/tiles/ 404 2', '/v1/sample/items/{id} 200 1', 'none 404 1']);
});
