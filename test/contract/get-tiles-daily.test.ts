import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { tilesDaily } from '../../api/routes/tiles.ts';
import { DailyTiles } from '../../schemas/resources/tile-frame.ts';
import { filesOf, NOW_MS, onRoot, publish, SCRATCH, scansBetween, scratch } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const DAILY = '/v1/tiles/daily';
const data_root = mkdtempSync(join(SCRATCH, 'hail-tiles-daily-'));
let service: RunningService;

test.before(async () => {
  await publish(data_root, await scansBetween('23:56', '00:04'));
  service = await startService({ endpoints: [tilesDaily], data_root, now_ms: NOW_MS });
});
test.after.always(async (t) => {
  t.deepEqual(service.failures, []);
  await service.close();
  rmSync(data_root, { recursive: true, force: true });
});

async function ask(query = ''): Promise<DailyTiles> {
  const response = await service.call(`${DAILY}${query}`);
  if (response.status !== 200) throw new Error(`tiles answers ${response.status} ${await response.text()}`);
  return DailyTiles.parse(await response.json());
}

test('GET /v1/tiles/daily answers today UTC by default', async (t) => {
  const answer = await ask();
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
  const manifest = service.services.catalog.edition().manifest('2026-05-01');
  const listed = manifest?.files.find(({ kind }) => kind === 'daily-tiles');
  t.is((await ask('?date=2026-05-01')).size_bytes, listed?.bytes ?? null);
});

test('GET /v1/tiles/daily is as fresh as its archive, not as the scans that came after it was drawn', async (t) => {
  const root = await scratch(t);
  const scans = await scansBetween('00:00', '00:10');
  await publish(root, scans.slice(0, 2));
  await onRoot(root, {}, ({ session }) => session.ingest(filesOf(scans)));
  const running = await startService({ endpoints: [tilesDaily], data_root: root, now_ms: NOW_MS });
  t.teardown(() => running.close());
  const { data_as_of } = (await running.json(DAILY)) as DailyTiles;
  t.is(Date.parse(data_as_of ?? ''), scans[1]?.time_ms ?? 0);
});

test('GET /v1/tiles/daily of a past date keeps its own freshness', async (t) => {
  const last = (await scansBetween('23:56', '24:00')).findLast(({ scan_id }) => scan_id.startsWith('20260501'));
  t.is(Date.parse((await ask('?date=2026-05-01')).data_as_of ?? ''), last?.time_ms ?? 0);
});

for (const date of ['2026-04-30', '2031-01-01'])
  test(`GET /v1/tiles/daily of ${date}, a day without data, is unavailable and not an error`, async (t) => {
    t.like(await ask(`?date=${date}`), { date, available: false, url: null, size_bytes: null });
  });

test('GET /v1/tiles/daily of an empty data root is unavailable', async (t) => {
  const empty = await startService({ endpoints: [tilesDaily], now_ms: NOW_MS });
  try {
    t.like(await empty.json(DAILY), { date: '2026-05-02', available: false, url: null, data_as_of: null });
  } finally {
    await empty.close();
  }
});

test('GET /v1/tiles/daily refuses a date that does not exist', async (t) => {
  const response = await service.call(`${DAILY}?date=yesterday`);
  t.is(response.status, 400);
  t.like(await response.json(), { error: 'invalid_parameter' });
});

test.serial('GET /v1/tiles/daily costs 2 credits, a 304 like the 200 it mirrors', async (t) => {
  const before = await creditsUsed(service);
  const etag = (await service.call(DAILY)).headers.get('etag') ?? '';
  t.is((await service.call(DAILY, { headers: { 'If-None-Match': etag } })).status, 304);
  t.is((await creditsUsed(service)) - before, 4);
});
