import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import pino from 'pino';
import { retention } from '../../../api/jobs/retention.ts';
import { archives } from '../../../api/routes/archives.ts';
import { ENDPOINTS } from '../../../api/routes/index.ts';
import { layout } from '../../../schemas/layout.ts';
import { type ObjectStore, openObjectStore, type StoreAddress } from '../../../schemas/object-store/client.ts';
import type { Health } from '../../../schemas/resources/health.ts';
import { DailyTiles, ScanTiles } from '../../../schemas/resources/tile-frame.ts';
import { MS_PER_DAY } from '../../../schemas/time.ts';
import { filesOf, midnight, NOW_MS, onRoot, publish, SCRATCH } from '../../support/data/world.ts';
import { runFaultProxy, type SeenRequest } from '../../support/object-store/fault-proxy.ts';
import { pushRoot } from '../../support/object-store/publish.ts';
import { noObjectStore, type ObjectStoreServer, runObjectStore } from '../../support/object-store/server.ts';
import {
  accept,
  CONTENT,
  EXPORT_BODY,
  EXPORTS,
  ended,
  smallJobHandlers,
  startJobService,
  targetOf,
} from '../../support/service/jobs.ts';
import { type RunningService, startService } from '../../support/service/service.ts';

const PLACE = 'lat=35.3&lon=-97.5';
const DATES = 'date_start=2026-04-20&date_end=2026-05-02';
const BOX = 'bbox=-98.5,34.5,-96.5,36.5';

/** Questions about everything that is published. */
const QUESTIONS = [
  ...['', '&radius_km=5', '&radius_km=150', '&detail=advanced'].map((more) => `/v1/hail/current?${PLACE}${more}`),
  ...['', '&radius_km=1', '&radius_km=80', '&min_size_mm=30', '&detail=advanced', '&limit=1'].map(
    (more) => `/v1/hail/history?${PLACE}&days=30${more}`,
  ),
  ...['2026-05-01', '2026-05-02', '2026-04-20'].flatMap((date) => [
    `/v1/tiles/scan?date=${date}`,
    `/v1/tiles/daily?date=${date}`,
    `/v1/hail/swaths?date=${date}`,
    `/v1/hail/swaths?date=${date}&${BOX}`,
  ]),
  ...['', '&radius_km=150'].map((more) => `/v1/storms?${PLACE}${more}`),
  `/v1/hail/nowcast?${PLACE}`,
  `/v1/hail/forecast?${PLACE}`,
  `/v1/hail/outlook?${PLACE}`,
  `/v1/hail/risk?${PLACE}`,
  `/v1/warnings?${PLACE}`,
  `/v1/outlooks/spc?${PLACE}`,
  `/v1/coverage?${PLACE}`,
  `/v1/events?${DATES}`,
  `/v1/events?${DATES}&${BOX}`,
  '/v1/tiles/scan',
  '/v1/tiles/daily',
  '/v1/hail/history?lat=91&lon=0',
  '/v1/storms/trk_0',
];

interface Answered {
  readonly status: number;
  readonly etag: string | null;
  readonly source: string | null;
  readonly body: string;
}

async function answer(service: RunningService, question: string, init?: RequestInit): Promise<Answered> {
  const response = await service.call(question, init);
  const body = Buffer.from(await response.arrayBuffer());
  return {
    status: response.status,
    etag: response.headers.get('etag'),
    source: response.headers.get('x-data-source'),
    // Of an error the id of the request is its own.
    body: response.ok ? body.toString('base64') : String(JSON.parse(body.toString()).error),
  };
}

if (noObjectStore !== null)
  test(`the service over a store is not tested: ${noObjectStore}`, (t) => t.truthy(noObjectStore));
else {
  let server: ObjectStoreServer;
  let address: StoreAddress;
  let store: ObjectStore;
  let root: string;
  const folder = mkdtempSync(join(SCRATCH, 'hail-api-store-'));

  test.before(async () => {
    server = await runObjectStore();
    address = await server.bucket('hail');
    store = openObjectStore(address);
    root = join(folder, 'published');
    await publish(root, await midnight());
    await pushRoot(root, store);
  });
  test.after.always(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = (published?: { cache_bytes?: number; address?: StoreAddress; data_root?: string }) =>
    startService({
      endpoints: ENDPOINTS,
      data_root: published === undefined ? root : (published.data_root ?? mkdtempSync(join(folder, 'root-'))),
      now_ms: NOW_MS,
      public_routes: ({ catalog }) => [archives(catalog)],
      ...(published === undefined
        ? {}
        : { published: { store: published.address ?? address, cache_bytes: published.cache_bytes ?? 1e9 } }),
    });

  test.serial('answers from a store are those from a folder, their tags and sources too', async (t) => {
    const [here, there] = [await start(), await start({})];
    t.teardown(here.close);
    t.teardown(there.close);
    const statuses = new Map<number, number>();
    for (const question of QUESTIONS) {
      const expected = await answer(here, question);
      t.deepEqual(await answer(there, question), expected, question);
      statuses.set(expected.status, (statuses.get(expected.status) ?? 0) + 1);
    }
    t.log(Object.fromEntries(statuses));
    t.true((statuses.get(200) ?? 0) >= 30);
    const { frames } = ScanTiles.parse(await here.json('/v1/tiles/scan'));
    const path = new URL(frames.at(-1)?.url ?? '').pathname;
    for (const headers of [{}, { Range: 'bytes=0-126' }, { Range: 'bytes=-100' }])
      t.deepEqual(await answer(there, path, { headers }), await answer(here, path, { headers }));
    t.deepEqual([...here.failures, ...there.failures], []);
  });

  test.serial(
    'thirty questions at once over a cache smaller than what they need are answered right or refused',
    async (t) => {
      const [here, there] = [await start(), await start({ cache_bytes: 60_000 })];
      t.teardown(here.close);
      t.teardown(there.close);
      const expected = new Map<string, Answered>();
      for (const question of QUESTIONS) expected.set(question, await answer(here, question));
      const refused: string[] = [];
      await Promise.all(
        QUESTIONS.map(async (question) => {
          const found = await answer(there, question);
          if (found.status === 503 && found.body === 'overloaded') refused.push(question);
          else t.deepEqual(found, expected.get(question), question);
        }),
      );
      t.log(`${refused.length} of ${QUESTIONS.length} refused`);
      t.true(refused.length < QUESTIONS.length / 2);
      for (const question of refused) t.deepEqual(await answer(there, question), expected.get(question), question);
      t.deepEqual(there.failures, []);
    },
  );

  test.serial(
    'processes of one data root have a folder each, and a process that starts again has the copies of the one before',
    async (t) => {
      const proxy = await runFaultProxy(address);
      t.teardown(proxy.stop);
      const data_root = join(folder, 'shared');
      const copies = () => proxy.seen.filter(({ method, key }) => method === 'GET' && key.startsWith('tables/')).length;
      const both = [await start({ data_root, address: proxy.through(address) }), await start({ data_root })];
      for (const service of both) for (const question of QUESTIONS) await answer(service, question);
      t.deepEqual(
        readdirSync(join(data_root, 'cache'))
          .filter((name) => /^\d+$/.test(name))
          .sort(),
        ['0', '1'],
      );
      const before = copies();
      t.true(before > 5, `${before} copies`);
      for (const service of both) await service.close();
      const damaged = filesIn(join(data_root, 'cache/0/tables')).slice(0, 3);
      for (const [n, path] of damaged.entries())
        if (n === 0) truncateSync(path, 10);
        else writeFileSync(path, randomBytes(statSync(path).size));
      const [here, again] = [await start(), await start({ data_root, address: proxy.through(address) })];
      t.teardown(here.close);
      t.teardown(again.close);
      for (const question of QUESTIONS)
        t.deepEqual(await answer(again, question), await answer(here, question), question);
      t.is(copies() - before, damaged.length);
    },
  );

  test.serial(
    'while the store is out of reach what is here is answered, the rest is 503, health says why, and it ends by itself',
    async (t) => {
      const proxy = await runFaultProxy(address);
      t.teardown(proxy.stop);
      const [here, there] = [await start(), await start({ address: proxy.through(address) })];
      t.teardown(here.close);
      t.teardown(there.close);
      const [warm, cold] = [`/v1/hail/swaths?date=2026-05-01&${BOX}`, '/v1/hail/swaths?date=2026-05-02'];
      t.is((await answer(there, warm)).status, 200);
      const end = proxy.fault(() => true, 500);
      await there.services.catalog.refresh();
      t.deepEqual(await answer(there, warm), await answer(here, warm));
      const refused = await there.call(cold);
      t.deepEqual([refused.status, (await refused.json()).error], [503, 'data_unavailable']);
      t.truthy(refused.headers.get('retry-after'));
      const { status, components } = (await there.json('/v1/health')) as Health;
      t.is(status, 'degraded');
      t.regex(components.data.reason ?? '', /^the object store is out of reach since 20/);
      end();
      await there.services.catalog.refresh();
      t.deepEqual(await answer(there, cold), await answer(here, cold));
      t.is(((await there.json('/v1/health')) as Health).components.data.status, 'ok');
    },
  );

  test.serial(
    'a service that starts while the store is out of reach answers 503, and all once the store is back',
    async (t) => {
      const proxy = await runFaultProxy(address);
      t.teardown(proxy.stop);
      const end = proxy.fault(() => true, 503);
      const there = await start({ address: proxy.through(address) });
      t.teardown(there.close);
      const question = `/v1/hail/history?${PLACE}`;
      t.deepEqual(await answer(there, question), { status: 503, etag: null, source: null, body: 'data_unavailable' });
      end();
      await there.services.catalog.refresh();
      t.is((await answer(there, question)).status, 200);
    },
  );

  test.serial('downloads that are cut, slow or answered by errors are made again until they are right', async (t) => {
    const proxy = await runFaultProxy(address);
    t.teardown(proxy.stop);
    const [here, there] = [await start(), await start({ address: proxy.through(address) })];
    t.teardown(here.close);
    t.teardown(there.close);
    const seen = new Map<string, number>();
    const first =
      (nth: number) =>
      ({ method, key }: SeenRequest) => {
        if (method !== 'GET' || !/^(tables|tiles)\//.test(key)) return false;
        const count = (seen.get(`${nth} ${key}`) ?? 0) + 1;
        seen.set(`${nth} ${key}`, count);
        return count === 1;
      };
    proxy.fault(first(1), 'cut');
    proxy.fault(first(2), 503);
    proxy.fault(first(3), { wait_ms: 300 });
    for (const each of QUESTIONS) t.deepEqual(await answer(there, each), await answer(here, each), each);
    t.true(seen.size > 10, `${seen.size} requests met a fault`);
    t.deepEqual(there.failures, []);
  });

  test.serial(
    'new scans are answered within seconds, also when what the store answers is stale for a while',
    async (t) => {
      const own = await server.bucket('hail-followed');
      const [first, second, third] = [4, 8, 12];
      const path = join(folder, 'followed');
      const scans = await midnight();
      const commit = async (count: number) => {
        await onRoot(path, { now_ms: NOW_MS }, ({ session }) => session.ingest(filesOf(scans.slice(0, count))));
        await pushRoot(path, openObjectStore(own));
      };
      await commit(first);
      const proxy = await runFaultProxy(own);
      t.teardown(proxy.stop);
      const there = await start({ address: proxy.through(own) });
      t.teardown(there.close);
      const newest = () => there.services.catalog.edition().newest_scan_ms;
      const until = async (count: number) => {
        for (const end_ms = performance.now() + 15_000; newest() !== scans[count - 1]?.time_ms; await sleep(50))
          if (performance.now() > end_ms) t.fail(`the newest scan is ${newest()}, expected scan ${count}`);
      };
      t.is(newest(), scans[first - 1]?.time_ms);
      const question = '/v1/tiles/scan';
      const before = await answer(there, question);
      const begun_ms = performance.now();
      await commit(second);
      await until(second);
      t.log(`pushed and seen in ${Math.round(performance.now() - begun_ms)} ms`);
      t.notDeepEqual(await answer(there, question), before);
      // Remembers what it answers now, and repeats it.
      proxy.fault(({ key }) => key === layout.current || key.includes('list-type'), 'stale');
      await there.services.catalog.refresh();
      await commit(third);
      await there.services.catalog.refresh();
      t.is(newest(), scans[second - 1]?.time_ms);
      proxy.heal();
      await until(third);
      t.is(there.services.catalog.failure(), null);
      const here = await startService({ endpoints: ENDPOINTS, data_root: path, now_ms: NOW_MS });
      t.teardown(here.close);
      for (const each of QUESTIONS) t.deepEqual(await answer(there, each), await answer(here, each), each);
    },
  );

  test.serial('tile addresses lead to the store where it is public', async (t) => {
    const there = await startService({
      endpoints: ENDPOINTS,
      data_root: join(folder, 'public'),
      now_ms: NOW_MS,
      published: { store: address, cache_bytes: 1e9, tiles_url: 'https://tiles.example.com/hail' },
    });
    t.teardown(there.close);
    const { frames } = ScanTiles.parse(await there.json('/v1/tiles/scan?date=2026-05-01'));
    const daily = DailyTiles.parse(await there.json('/v1/tiles/daily?date=2026-05-01'));
    for (const url of [...frames.map((frame) => frame.url), daily.url ?? '']) {
      t.true(url.startsWith('https://tiles.example.com/hail/tiles/'), url);
      t.not(await store.head(url.slice('https://tiles.example.com/hail/'.length)), null, url);
    }
  });

  test.serial(
    'the file of a job lies in the store, is served from there in ranges, and goes with its job',
    async (t) => {
      const service = await startJobService({
        data_root: join(folder, 'jobs'),
        published: { store: address, cache_bytes: 1e9 },
      });
      t.teardown(service.close);
      service.work(smallJobHandlers());
      const id = await accept(service, EXPORTS, EXPORT_BODY);
      const target = targetOf((await ended(service, EXPORTS, id)).download_url);
      const keys = async () => (await Array.fromAsync(store.list('exports/'))).map(({ key }) => key);
      t.is((await keys()).length, 1);
      t.deepEqual(filesIn(join(service.services.files_root, 'exports')), []);
      const plain = { 'Accept-Encoding': 'identity' };
      const whole = await service.call(target, { key: null, headers: plain });
      t.is(await whole.text(), CONTENT);
      const hash = createHash('sha256').update(CONTENT).digest('hex');
      t.is(whole.headers.get('etag'), `"${hash}"`);
      const part = await service.call(target, { key: null, headers: { Range: 'bytes=10-19' } });
      t.deepEqual([part.status, await part.text()], [206, CONTENT.slice(10, 20)]);
      const [key = ''] = await keys();
      await store.put(key, Buffer.from('cut'));
      t.is((await service.call(target, { key: null })).status, 500);
      await service.services.jobFiles.removeNamed('export', key.slice('exports/'.length));
      t.deepEqual(await keys(), []);
    },
  );

  test.serial(
    'two services serve a file that one of them made at the same time, a sweep of the other takes it when it expires, and nothing else',
    async (t) => {
      const published = { store: address, cache_bytes: 1e9 };
      const maker = await startJobService({ data_root: join(folder, 'maker'), published });
      const other = await startJobService({ data_root: join(folder, 'other'), published, beside: maker });
      t.teardown(maker.close);
      t.teardown(other.close);
      const end = maker.work(smallJobHandlers());
      const [gone, stays] = [await accept(maker, EXPORTS, EXPORT_BODY), await accept(maker, EXPORTS, EXPORT_BODY)];
      const targets = new Map<string, string>();
      for (const id of [gone, stays]) targets.set(id, targetOf((await ended(other, EXPORTS, id)).download_url));
      await end();
      const target = targets.get(gone) ?? '';
      const etag = `"${createHash('sha256').update(CONTENT).digest('hex')}"`;
      const fetched = async (service: RunningService, headers: Record<string, string>) => {
        const init = { key: null, headers: { 'Accept-Encoding': 'identity', ...headers } };
        const response = await service.call(target, init);
        return [response.status, response.headers.get('etag'), await response.text()] as const;
      };
      const asked = [
        [{}, [200, etag, CONTENT]],
        [{ Range: 'bytes=10-19' }, [206, etag, CONTENT.slice(10, 20)]],
        [{ Range: 'bytes=10-19', 'If-Range': '"of another file"' }, [200, etag, CONTENT]],
        [{ 'If-None-Match': etag }, [304, etag, '']],
      ] as const;
      await Promise.all(
        [maker, other].flatMap((service) =>
          asked.map(async ([headers, expected]) => t.deepEqual(await fetched(service, headers), expected)),
        ),
      );
      const foreign = 'exports/exp_OFOTHERRECORDS-ab.csv';
      await store.put(foreign, Buffer.from('of other records'));
      const ids = async () => (await Array.fromAsync(store.list('exports/'))).map(({ key }) => key.split(/[/-]/)[1]);
      const sweeps = retention(other.services, pino({ level: 'silent' }));
      const all = [gone, stays, 'exp_OFOTHERRECORDS'].sort();
      const right_ms = other.clock.ms;
      await sweeps.sweep(0);
      other.clock.ms += 200 * MS_PER_DAY;
      for (let day = 0; day < 3; day++) await sweeps.sweep(day);
      t.deepEqual((await ids()).sort(), all, 'a clock that jumps deletes nothing');
      other.clock.ms = right_ms;
      const expires_at = new Date(right_ms).toISOString();
      await maker.records.transaction((rows) =>
        rows.updateTable('jobs').set({ expires_at }).where('id', '=', gone).execute(),
      );
      for (let times = 0; times < 7; times++, other.clock.ms += MS_PER_DAY / 4) await sweeps.sweep(times * MS_PER_DAY);
      t.deepEqual((await ids()).sort(), [stays, 'exp_OFOTHERRECORDS'].sort());
      t.is((await maker.call(`${EXPORTS}/${gone}`)).status, 404);
      t.is((await maker.call(target, { key: null })).status, 403);
      t.is((await maker.call(targets.get(stays) ?? '', { key: null })).status, 200);
      await store.remove(foreign);
    },
  );
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map((item) => join(item.parentPath, item.name))
    .sort();
}
