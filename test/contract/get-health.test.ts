import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { getHealth } from '../../api/routes/health.ts';
import type { Health } from '../../schemas/resources/health.ts';
import {
  asObserved,
  ingest,
  midnight,
  NOW_MS,
  publish,
  publishedRoot,
  scansBetween,
  scratch,
} from '../support/data/world.ts';
import { startService } from '../support/service/service.ts';

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
    t.is(health.components.webhooks, null);
    t.is(health.components.jobs, null);
  }
  t.deepEqual(service.failures, []);
  await service.close();
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
