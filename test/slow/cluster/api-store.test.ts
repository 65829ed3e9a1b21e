import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { archives } from '../../../api/routes/archives.ts';
import { ENDPOINTS } from '../../../api/routes/index.ts';
import { type ObjectStore, openObjectStore, type StoreAddress } from '../../../schemas/object-store/client.ts';
import { ScanTiles } from '../../../schemas/resources/tile-frame.ts';
import { midnight, NOW_MS, publish, SCRATCH } from '../../support/data/world.ts';
import { putRoot } from '../../support/object-store/publish.ts';
import { noObjectStore, type ObjectStoreServer, runObjectStore } from '../../support/object-store/server.ts';
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
    await putRoot(store, root);
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
}
