import test, { type ExecutionContext } from 'ava';
import { coverage } from '../../api/routes/coverage.ts';
import { events } from '../../api/routes/events.ts';
import { hailCurrent, hailCurrentBatch } from '../../api/routes/hail-current.ts';
import { hailHistory } from '../../api/routes/hail-history.ts';
import { hailNowcast } from '../../api/routes/hail-nowcast.ts';
import { hailSwaths } from '../../api/routes/hail-swaths.ts';
import { portfolioImpacts } from '../../api/routes/portfolio-impacts.ts';
import { stormsGet, stormsList } from '../../api/routes/storms.ts';
import { tilesDaily, tilesScan } from '../../api/routes/tiles.ts';
import type { StormTrack } from '../../schemas/resources/storm.ts';
import { prepared } from '../support/data/prepared.ts';
import { asObserved, ingest, publish, publishedRoot, scansBetween, scratch } from '../support/data/world.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const endpoints = [
  ...[hailCurrent, hailCurrentBatch, hailHistory, hailNowcast, hailSwaths, stormsList, stormsGet],
  ...[events, tilesScan, tilesDaily, portfolioImpacts, coverage],
];
const [EVENING, NIGHT] = ['2026-05-01', '2026-05-02'];
/** Both dates of the evening lie in the look-back, then only the later one. */
const [BOTH_MS, LATER_MS] = [Date.parse('2026-05-02T00:12:00Z'), Date.parse('2026-05-02T00:35:00Z')];
const POINT = 'lat=35.2&lon=-97&radius_km=50';

/** A service over two storm dates of different kinds. */
async function overMidnight(
  t: ExecutionContext,
  { evening }: { readonly evening: 'observed' | 'simulated' },
): Promise<RunningService & { clock: { ms: number } }> {
  const data_root = await prepared(`over-midnight-${evening}`, async (root) => {
    const [before, after] = [await scansBetween('23:50', '00:00'), await scansBetween('00:00', '00:10')];
    await publish(root, evening === 'observed' ? await asObserved(t, before) : before);
    await ingest(root, evening === 'observed' ? after : await asObserved(t, after));
  });
  const clock = { ms: LATER_MS };
  const service = await startService({ endpoints, data_root, now: () => clock.ms });
  t.teardown(async () => {
    await service.close();
    if (service.failures.length > 0) throw service.failures[0];
  });
  return Object.assign(service, { clock });
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
    const service = await overMidnight(t, { evening });
    for (const [date, source] of [
      [EVENING, evening],
      [NIGHT, night],
    ]) {
      for (const path of ['hail/swaths', 'tiles/scan', 'tiles/daily', 'portfolio/impacts'])
        t.is(await sourceOf(service, `/v1/${path}?date=${date}`), source ?? '', `${path} of ${date}`);
      t.is(
        await sourceOf(service, `/v1/events?date_start=${date}&date_end=${date}`),
        source ?? '',
        `events of ${date}`,
      );
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
  const service = await overMidnight(t, { evening: 'observed' });
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

test('an answer about dates that are not published has no word for them, and a tile note names no source', async (t) => {
  const service = await overMidnight(t, { evening: 'observed' });
  for (const path of ['hail/swaths', 'tiles/scan', 'tiles/daily', 'portfolio/impacts'])
    t.is(await sourceOf(service, `/v1/${path}?date=2026-04-01`), null, path);
  t.is(await sourceOf(service, '/v1/events?date_start=2026-04-01&date_end=2026-04-02'), null);
  const { note } = (await service.json('/v1/tiles/daily?date=2026-04-01')) as { note: string };
  t.is(note, 'Radar estimate, not a ground measurement.');
});

test('a 304 says the same of its dates as the answer it stands for', async (t) => {
  const service = await overMidnight(t, { evening: 'observed' });
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
  for (const data_root of [observed, await publishedRoot(t, scans)]) {
    const service = await startService({ endpoints, data_root, now_ms: LATER_MS });
    tags.push((await service.call(`/v1/hail/nowcast?${POINT}`)).headers.get('ETag'));
    await service.close();
  }
  t.not(tags[0] as string, tags[1] as string);
});
