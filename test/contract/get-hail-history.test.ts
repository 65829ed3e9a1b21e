import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { selectList } from '../../api/queries/select.ts';
import { readVerification } from '../../api/queries/verification.ts';
import { hailHistory } from '../../api/routes/hail-history.ts';
import { HailHistory } from '../../schemas/resources/history-event.ts';
import { sizeCategory } from '../../schemas/size.ts';
import { type Detection, detections } from '../../schemas/tables/detections.ts';
import { midnight, NOW_MS, publish, SCRATCH } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const PATH = '/v1/hail/history';
const [FIRST, LAST] = ['2026-05-01', '2026-05-02'];
const AT = 'lat=35.2&lon=-97';
const data_root = mkdtempSync(join(SCRATCH, 'hail-history-'));
let service: RunningService;
let rows: Detection[];
let newest_ms: number;

test.before(async () => {
  const scans = await midnight();
  newest_ms = scans.at(-1)?.time_ms ?? 0;
  await publish(data_root, scans);
  service = await startService({ endpoints: [hailHistory], data_root, now_ms: NOW_MS });
  const { catalog, engine } = service.services;
  const edition = catalog.edition();
  rows = await engine.rows<Detection>(
    `SELECT ${selectList(detections)} FROM read_parquet($1::VARCHAR[]) ORDER BY scan_time, "row", col`,
    [edition.paths('detections', edition.dates)],
  );
});
test.after.always(async (t) => {
  t.deepEqual(service.failures, []);
  await service.close();
  rmSync(data_root, { recursive: true, force: true });
});

async function ask(query: string, at: RunningService = service): Promise<HailHistory> {
  const response = await at.call(`${PATH}?${query}`);
  if (response.status !== 200) throw new Error(`history answers ${response.status} ${await response.text()}`);
  return HailHistory.parse(await response.json());
}

const round = (value: number, decimals: number) => Math.round(value * 10 ** decimals) / 10 ** decimals;
const time = (time_ms: number) => new Date(time_ms).toISOString().replace('.000', '');
const largestOf = (date: string) =>
  rows
    .filter((row) => row.storm_date === date)
    .reduce((best, row) => (row.estimated_size_mm > best.estimated_size_mm ? row : best));

test.serial('GET /v1/hail/history returns the largest hail of each storm date, newest first', async (t) => {
  const answer = await ask(`${AT}&radius_km=100`);
  t.deepEqual(
    answer.events.map(({ storm_date }) => storm_date),
    [LAST, FIRST],
  );
  t.like(answer, { count: 2, detail: 'standard' });
  t.is(Date.parse(answer.data_timestamp as string), newest_ms);
});

test.serial('GET /v1/hail/history tells place, times, duration and confidence of that hail', async (t) => {
  const at = largestOf(FIRST);
  const [event] = (await ask(`lat=${at.lat}&lon=${at.lon}&radius_km=1&days=2`)).events.filter(
    ({ storm_date }) => storm_date === FIRST,
  );
  const own = rows.filter((row) => row.storm_date === FIRST);
  const place = [...new Set(own.filter((row) => row.geohash5 === at.geohash5).map((row) => row.scan_time))];
  const gaps = place.slice(1).map((scan, index) => Math.min(4, (scan - place[index]) / 60_000));
  t.deepEqual(event as unknown, {
    storm_date: FIRST,
    location: { lat: round(at.lat, 5), lon: round(at.lon, 5), geohash5: at.geohash5 },
    distance_km: 0,
    first_detected: time(place[0]),
    last_detected: time(place.at(-1) as number),
    duration_minutes: round(2 + gaps.reduce((sum, gap) => sum + gap, 0), 1),
    scan_count: place.length,
    hail: {
      estimated_size_mm: round(at.estimated_size_mm, 1),
      size_category: sizeCategory(at.estimated_size_mm),
      confidence: round(at.confidence, 3),
    },
  });
});

test.serial('GET /v1/hail/history counts the last storm dates, today included', async (t) => {
  const dates = async (days: number) =>
    (await ask(`${AT}&radius_km=100&days=${days}`)).events.map((event) => event.storm_date);
  t.deepEqual(await dates(1), [LAST]);
  t.deepEqual(await dates(2), [LAST, FIRST]);
});

test.serial('GET /v1/hail/history keeps the newest events of a limit', async (t) => {
  const { events, count } = await ask(`${AT}&radius_km=100&limit=1`);
  t.deepEqual([events[0]?.storm_date, count], [LAST, 1]);
});

test.serial(
  'GET /v1/hail/history without min_size_mm counts every detection, with it only larger hail, the bound included',
  async (t) => {
    const at = largestOf(FIRST);
    const near = `lat=${at.lat}&lon=${at.lon}&radius_km=100&days=2`;
    const first = async (min: string) => (await ask(near + min)).events.some(({ storm_date }) => storm_date === FIRST);
    t.true(await first(''));
    t.true(await first('&min_size_mm=1'));
    t.true(await first(`&min_size_mm=${at.estimated_size_mm}`));
    t.false(await first(`&min_size_mm=${at.estimated_size_mm + 0.1}`));
  },
);

test.serial('GET /v1/hail/history with detail=advanced adds radar and detection_quality', async (t) => {
  const { events, detail } = await ask(`${AT}&radius_km=100&detail=advanced`);
  t.is(detail, 'advanced');
  for (const { storm_date, hail, radar, detection_quality } of events) {
    const at = rows.find((row) => row.storm_date === storm_date && row.estimated_size_mm === hail.estimated_size_mm);
    t.is(radar?.mesh_mm, hail.estimated_size_mm);
    t.is(radar?.posh_pct, at?.posh_pct ?? undefined);
    t.true((detection_quality?.hdqi ?? 0) > 0.35);
    t.regex(detection_quality?.nearest_radar?.id ?? '', /^K/);
  }
  const standard = await ask(`${AT}&radius_km=100`);
  t.true(standard.events.every((event) => !('radar' in event) && !('detection_quality' in event)));
});

for (const [days, standard, advanced] of [
  [1, 15, 25],
  [30, 15, 25],
  [31, 25, 35],
  [90, 25, 35],
  [91, 40, 55],
  [180, 40, 55],
  [181, 60, 80],
  [365, 60, 80],
] as const)
  test.serial(
    `GET /v1/hail/history of ${days} days costs ${standard} credits, ${advanced} with detail=advanced`,
    async (t) => {
      const costs: number[] = [];
      for (const detail of ['standard', 'advanced']) {
        const before = await creditsUsed(service);
        await ask(`${AT}&days=${days}&detail=${detail}`);
        costs.push((await creditsUsed(service)) - before);
      }
      t.deepEqual(costs, [standard, advanced]);
    },
  );

test.serial('GET /v1/hail/history names an operation per price', (t) => {
  const { price } = hailHistory;
  const name = (query: object) => price({ params: null, query, body: null })?.operation;
  t.deepEqual(
    [30, 90, 180, 365].flatMap((days) => ['standard', 'advanced'].map((detail) => name({ days, detail }))),
    ['30d', '90d', '180d', '365d'].flatMap((band) => [`hail.history.${band}`, `hail.history.${band}.advanced`]),
  );
});

test.serial('GET /v1/hail/history of a quiet place is an empty 200', async (t) => {
  t.like(await ask('lat=45&lon=-80'), { events: [], count: 0 });
  t.like(await ask('lat=-35&lon=170'), { events: [], count: 0 });
});

test.serial('GET /v1/hail/history answers 304 to its ETag without a query, and charges it', async (t) => {
  const path = `${PATH}?${AT}&days=90`;
  const tag = (await service.call(path)).headers.get('etag') as string;
  const before = await creditsUsed(service);
  t.is(
    (await service.call(`${path}&limit=50`, { headers: { 'If-None-Match': tag } })).status,
    304,
    'defaults filled in',
  );
  t.is((await creditsUsed(service)) - before, 25);
  t.is((await service.call(`${path}&limit=51`, { headers: { 'If-None-Match': tag } })).status, 200);
});

test.serial('GET /v1/hail/history has another ETag on another day, because days end today', async (t) => {
  const tomorrow = await startService({ endpoints: [hailHistory], data_root, now_ms: NOW_MS + 86_400_000 });
  t.teardown(() => tomorrow.close());
  const tagOf = async (at: RunningService) => (await at.call(`${PATH}?${AT}&radius_km=100&days=1`)).headers.get('etag');
  t.not(await tagOf(tomorrow), await tagOf(service));
  t.deepEqual((await ask(`${AT}&radius_km=100&days=1`, tomorrow)).events, []);
});

for (const [query, parameter] of [
  ['lat=35', 'lon'],
  ['lat=35&lon=-97&radius_km=100.5', 'radius_km'],
  ['lat=35&lon=-97&radius_km=0', 'radius_km'],
  ['lat=35&lon=-97&days=0', 'days'],
  ['lat=35&lon=-97&days=366', 'days'],
  ['lat=35&lon=-97&days=24.5', 'days'],
  ['lat=35&lon=-97&limit=0', 'limit'],
  ['lat=35&lon=-97&limit=201', 'limit'],
  ['lat=35&lon=-97&min_size_mm=0', 'min_size_mm'],
  ['lat=35&lon=-97&min_size_mm=200.5', 'min_size_mm'],
  ['lat=35&lon=-97&detail=all', 'detail'],
] as const)
  test.serial(`GET /v1/hail/history?${query} is 400 invalid_parameter about ${parameter}`, async (t) => {
    const response = await service.call(`${PATH}?${query}`);
    t.is(response.status, 400);
    const { error, message } = (await response.json()) as { error: string; message: string };
    t.is(error, 'invalid_parameter');
    t.true(message.startsWith(parameter), message);
  });

test.serial('GET /v1/hail/history takes 24.0 as a whole number', async (t) => {
  t.is((await service.call(`${PATH}?${AT}&days=24.0`)).status, 200);
});

test.serial('GET /v1/hail/history of an empty data root is empty with a null data_timestamp', async (t) => {
  const empty = await startService({ endpoints: [hailHistory], now_ms: NOW_MS });
  t.teardown(() => empty.close());
  const { radar_gaps, ...rest } = await ask(AT, empty);
  t.deepEqual(rest, { events: [], count: 0, detail: 'standard', data_timestamp: null });
  t.is(radar_gaps.dates_without_data.length, 30);
  t.deepEqual([radar_gaps.coverage, radar_gaps.dates_seen_in_part], [[], []]);
});

test.serial('GET /v1/hail/history tells when radar did not see the point, as verification does', async (t) => {
  const { radar_gaps } = await ask(`${AT}&days=2`);
  const [lat, lon] = new URLSearchParams(AT).values().map(Number).toArray() as [number, number];
  const { engine, terrain, catalog } = service.services;
  const { verification } = await readVerification({ engine, terrain, storm_day_start_hour: 0 }, catalog.edition(), {
    ...{ lat, lon, date_start: FIRST, date_end: LAST },
  });
  t.deepEqual(radar_gaps, verification.radar_gaps);
  t.like(radar_gaps.dates_seen_in_part[0], { date: FIRST, share: 0.008 });
  t.is((await ask(`${AT}&days=4`)).radar_gaps.dates_without_data.join(), '2026-04-29,2026-04-30');
});

test.serial('GET /v1/hail/history needs the scope hail:read', (t) => {
  t.is(hailHistory.scope, 'hail:read');
});
