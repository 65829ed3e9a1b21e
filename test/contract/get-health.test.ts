import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { getHealth } from '../../api/routes/health.ts';
import { warnings } from '../../api/routes/warnings.ts';
import { neverPolled, writeFeedStates } from '../../pipeline/feeds/feed-states.ts';
import { FeedStates } from '../../schemas/collections.ts';
import { layout } from '../../schemas/layout.ts';
import type { Health } from '../../schemas/resources/health.ts';
import type { Warnings } from '../../schemas/resources/warning.ts';
import { alertsFile, publishFeeds, watchFile } from '../support/data/feeds.ts';
import {
  asObserved,
  ingest,
  midnight,
  NOW_MS,
  onRoot,
  publish,
  publishedRoot,
  scansBetween,
  scratch,
} from '../support/data/world.ts';
import { startService } from '../support/service/service.ts';
import { happen, makeWebhook, receivers, WEBHOOK_ENDPOINTS } from '../support/service/webhooks.ts';

test('GET /v1/health with fresh data is ok, for a live and for a test key', async (t) => {
  const root = await publishedRoot(t, (await midnight()).slice(0, 2));
  const scan_ms = ((await midnight())[1] as { time_ms: number }).time_ms;
  const service = await startService({ endpoints: [getHealth], data_root: root, now_ms: scan_ms + 60_000 });
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
  t.deepEqual(service.failures, []);
  await service.close();
});

test('GET /v1/health counts the deliveries that wait, and is degraded when one is a minute late', async (t) => {
  const service = await startService({ endpoints: [getHealth, ...WEBHOOK_ENDPOINTS], outlet: receivers() });
  t.teardown(() => service.close());
  const webhooks = async () => ((await service.json('/v1/health')) as Health).components.webhooks;
  const { webhook_id } = await makeWebhook(service);
  await happen(service, [webhook_id], { alert_id: 'alt_1' });
  await happen(service, [webhook_id], { event: 'alert.resolved', alert_id: 'alt_1', after: 'alert.created' });
  t.like(await webhooks(), { status: 'ok', queue_depth: 2 });
  const next_at = new Date(Date.now() - 61_000).toISOString();
  await service.records.transaction((rows) =>
    rows.updateTable('pushes').set({ next_at }).where('state', '=', 'pending').execute(),
  );
  const late = await webhooks();
  t.is(late?.status, 'degraded');
  t.true((late?.oldest_due_seconds ?? 0) >= 61);
});

test('GET /v1/health with old data is degraded and says how old', async (t) => {
  const root = await publishedRoot(t, (await midnight()).slice(0, 2));
  const service = await startService({ endpoints: [getHealth], data_root: root, now_ms: NOW_MS + 3_600_000 });
  const { status, components } = (await service.json('/v1/health')) as Health;
  t.is(status, 'degraded');
  t.true(components.ingest.stale);
  t.true((components.ingest.lag_seconds ?? 0) > 3600);
  await service.close();
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
  const service = await startService({ endpoints: [getHealth], data_root: root, now_ms: newest_ms + 60_000 });
  t.teardown(() => service.close());
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
  const service = await startService({ endpoints: [getHealth], data_root: root, now_ms });
  t.teardown(() => service.close());
  const { status, components } = (await service.json('/v1/health')) as Health;
  t.is(status, 'ok');
  t.deepEqual(
    components.ingest.sources.map(({ name }) => name),
    ['MESH'],
  );
});

test('GET /v1/health has a row for every feed of feeds.json, and the same times as there and in the answers that the feeds make', async (t) => {
  const root = await scratch(t);
  const now_ms = Date.parse('2026-05-01T20:12:00Z');
  const warning = { id: 'urn:a', sent: '2026-05-01T20:00:00Z', ends: '2026-05-01T20:45:00Z' };
  const watch = watchFile({ number: 101, from: '011900', to: '012300' }, [-98, 35, -97, 36], now_ms);
  await publishFeeds(root, [alertsFile(now_ms, warning), watch], now_ms);
  const state = (name: string, collection: string, last_success_at: string | null) => ({
    ...neverPolled({ name, collection, every_s: 120 }, Date.parse('2026-05-01T19:00:00Z')),
    ...{ last_attempt_at: '2026-05-01T20:11:00Z', last_success_at },
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
  const service = await startService({ endpoints: [getHealth, warnings], data_root: root, now_ms });
  t.teardown(() => service.close());
  const { feeds } = FeedStates.parse(JSON.parse(await readFile(join(root, layout.feeds), 'utf8')));
  const { sources } = ((await service.json('/v1/health')) as Health).components.ingest;
  const beside = sources.filter(({ name }) => name !== 'MESH');
  t.deepEqual(
    beside.map(({ name, last_success_at }) => ({ name, last_success_at })),
    feeds.map(({ name, last_success_at }) => ({ name, last_success_at })),
  );
  // Late is what is older than three of its pauses, and than ten minutes.
  t.deepEqual(
    beside.map(({ name, status }) => `${name} ${status}`),
    ['discussions degraded', 'lsr degraded', 'spc-reports ok', 'warnings ok', 'watches ok'],
  );
  const answer = (await service.json('/v1/warnings?lat=35.5&lon=-97.5')) as Warnings;
  t.deepEqual([answer.warnings?.length, answer.watches?.length], [1, 1]);
  t.is(answer.data_as_of, null, 'discussions were never read since they are followed');
  t.regex(answer.note ?? '', /^Nothing was ever collected of discussions:/);
});

test('GET /v1/health without any data, or with a root that lost its lists, is 200 degraded', async (t) => {
  const empty = await startService({ endpoints: [getHealth] });
  t.is(((await empty.json('/v1/health')) as Health).status, 'degraded');
  await empty.close();
  const root = await publishedRoot(t, (await midnight()).slice(0, 2));
  await rm(join(root, 'manifests'), { recursive: true });
  const lost = await startService({ endpoints: [getHealth], data_root: root, now_ms: NOW_MS });
  const reply = await lost.call('/v1/health');
  t.is(reply.status, 200);
  t.is(((await reply.json()) as Health).status, 'degraded');
  await lost.close();
});

test('GET /v1/health is free and says nothing of any business', async (t) => {
  const service = await startService({ endpoints: [getHealth] });
  const reply = await service.call('/v1/health');
  t.is(reply.headers.get('Cache-Control'), 'no-store');
  t.false((await reply.text()).includes('default'));
  t.is((await service.records.reader.selectFrom('ledger').selectAll().execute()).length, 0);
  await service.close();
});

test('GET /v1/health with records that never answer is 200 degraded for a key seen before, without waiting for them', async (t) => {
  let silent = false;
  const never = new Promise<never>(() => {});
  const service = await startService({
    endpoints: [getHealth],
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
  await service.close();
});
