import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { tilesScan } from '../../api/routes/tiles.ts';
import { ScanTiles } from '../../schemas/resources/tile-frame.ts';
import { NOW_MS, publish, SCRATCH, scansBetween } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const SCAN = '/v1/tiles/scan';
const data_root = mkdtempSync(join(SCRATCH, 'hail-tiles-scan-'));
let service: RunningService;

test.before(async () => {
  await publish(data_root, await scansBetween('23:54', '00:06'));
  service = await startService({ endpoints: [tilesScan], data_root, now_ms: NOW_MS });
});
test.after.always(async (t) => {
  t.deepEqual(service.failures, []);
  await service.close();
  rmSync(data_root, { recursive: true, force: true });
});

async function ask(query = ''): Promise<ScanTiles> {
  const response = await service.call(`${SCAN}${query}`);
  if (response.status !== 200) throw new Error(`tiles answers ${response.status} ${await response.text()}`);
  return ScanTiles.parse(await response.json());
}

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
  const [cells] = await Promise.all([
    service.services.engine.rows<{ scan_ms: number; mm: number; prob: number }>(
      `SELECT epoch_ms(scan_time)::DOUBLE AS scan_ms, max(estimated_size_mm) AS mm, max(ml_probability) AS prob
       FROM read_parquet($1::VARCHAR[]) GROUP BY 1 ORDER BY 1`,
      [service.services.catalog.edition().paths('cells', ['2026-05-01'])],
    ),
  ]);
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

test('GET /v1/tiles/scan of an empty data root has no date', async (t) => {
  const empty = await startService({ endpoints: [tilesScan] });
  try {
    t.like(await empty.json(SCAN), { date: null, available: false, frame_count: 0, frames: [], data_as_of: null });
  } finally {
    await empty.close();
  }
});

test('GET /v1/tiles/scan refuses a date that does not exist', async (t) => {
  const response = await service.call(`${SCAN}?date=2026-13-01`);
  t.is(response.status, 400);
  t.like(await response.json(), { error: 'invalid_parameter' });
});

test.serial('GET /v1/tiles/scan costs 3 credits, a 304 like the 200 it mirrors', async (t) => {
  const before = await creditsUsed(service);
  const etag = (await service.call(SCAN)).headers.get('etag') ?? '';
  t.is((await service.call(SCAN, { headers: { 'If-None-Match': etag } })).status, 304);
  t.is((await creditsUsed(service)) - before, 6);
});
