import anyTest from 'ava';
import { selectList } from '../../api/queries/sql.ts';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { pixelAreaKm2 } from '../../schemas/geo/lattice.ts';
import { BatchResult, HailBatch, HailBatchEstimate, HailCurrent } from '../../schemas/resources/hail-cell.ts';
import { sizeCategory } from '../../schemas/size.ts';
import { type Cell, cells, type Detection, detections } from '../../schemas/tables/radar.ts';
import { midnight, preparedRoot } from '../support/data/world.ts';
import { limitKey, openAccount } from '../support/service/account.ts';
import { changePlan, creditsUsed, sending } from '../support/service/portfolio.ts';
import { type RunningService, serviceFor, startService } from '../support/service/service.ts';
import { closeWithoutFailures } from '../support/service/test-with.ts';
import { parsed, setClock } from './answers.ts';

const test = anyTest.serial;

const PATH = '/v1/hail/current';
/** Middle of the tiny world; 150 km reach all of it. */
const MIDDLE = { lat: 35.2, lon: -97.0 };
const ALL = `lat=${MIDDLE.lat}&lon=${MIDDLE.lon}&radius_km=150`;
const NOW_MS = Date.parse('2026-05-02T00:20:30Z');
const SINCE_MS = NOW_MS - 30 * 60_000;
let service: RunningService;
let rows: Detection[];
let cellRows: Cell[];
let newest_ms: number;

anyTest.before(async () => {
  const scans = await midnight();
  newest_ms = scans.at(-1)?.time_ms ?? 0;
  service = await startService({ data_root: await preparedRoot(scans), now_ms: NOW_MS });
  const { catalog, engine } = service.services;
  const edition = catalog.edition();
  rows = await engine.rows<Detection>(
    `SELECT ${selectList(detections)} FROM read_parquet($1::VARCHAR[]) WHERE epoch_ms(scan_time) >= $2 ORDER BY scan_time, "row", col`,
    [edition.paths('detections', edition.dates), SINCE_MS],
  );
  cellRows = await engine.rows<Cell>(`SELECT ${selectList(cells)} FROM read_parquet($1::VARCHAR[])`, [
    edition.paths('cells', edition.dates),
  ]);
});
anyTest.after.always((t) => closeWithoutFailures(t, service));

const ask = (query = ALL, at: RunningService = service) => parsed(at.call(`${PATH}?${query}`), HailCurrent);

const round = (value: number, decimals: number) => Math.round(value * 10 ** decimals) / 10 ** decimals;

test('GET /v1/hail/current returns one cell per place with a detection in the last 30 minutes, nearest first', async (t) => {
  const answer = await ask();
  const slow = [...Map.groupBy(rows, (row) => row.geohash5)]
    .map(([geohash5, own]) => {
      const newest = own.filter((row) => row.scan_time === own.at(-1)?.scan_time);
      const at = newest.reduce((best, row) => (row.estimated_size_mm > best.estimated_size_mm ? row : best));
      const size = Math.max(...own.map((row) => row.estimated_size_mm));
      return {
        km: distanceKm(MIDDLE, at),
        cell: {
          geohash5,
          lat: round(at.lat, 5),
          lon: round(at.lon, 5),
          distance_km: round(distanceKm(MIDDLE, at), 2),
          age_seconds: (NOW_MS - at.scan_time) / 1000,
          last_detected: new Date(at.scan_time).toISOString().replace('.000', ''),
          scan_count: new Set(own.map((row) => row.scan_time)).size,
          hail: {
            estimated_size_mm: round(size, 1),
            ml_predicted_size_mm: round(Math.max(...own.map((row) => row.ml_predicted_size_mm)), 1),
            size_category: sizeCategory(size),
            confidence: round(Math.max(...own.map((row) => row.confidence)), 3),
          },
        },
      };
    })
    .filter(({ km }) => km <= 150)
    .sort((a, b) => a.km - b.km || (a.cell.geohash5 < b.cell.geohash5 ? -1 : 1))
    .map(({ cell }) => cell);
  t.true(slow.length > 20);
  t.deepEqual(answer.cells as unknown, slow);
  t.deepEqual(answer.summary, {
    total_cells: slow.length,
    max_size_mm: Math.max(...slow.map(({ hail }) => hail.estimated_size_mm)),
    closest_cell_km: slow[0]?.distance_km ?? null,
    max_size_category: sizeCategory(Math.max(...slow.map(({ hail }) => hail.estimated_size_mm))),
  });
});

test('GET /v1/hail/current echoes the query with its look-back and tells the newest scan', async (t) => {
  const answer = await ask('lat=35.2&lon=-97');
  t.deepEqual(answer.query, { lat: 35.2, lon: -97, radius_km: 50, lookback_minutes: 30 });
  t.is(answer.detail, 'standard');
  t.is(Date.parse(answer.data_timestamp as string), newest_ms);
});

test('GET /v1/hail/current returns inactive when no cell is in range, and charges it', async (t) => {
  const before = await creditsUsed(service);
  const answer = await ask('lat=45&lon=-80&radius_km=10');
  t.like(answer, { active: false });
  t.deepEqual(answer.cells, []);
  t.deepEqual(answer.summary, { total_cells: 0, max_size_mm: null, closest_cell_km: null, max_size_category: null });
  t.is((await creditsUsed(service)) - before, 15);
});

test('GET /v1/hail/current includes a cell exactly at the radius', async (t) => {
  const [nearest] = service.services.live.snapshot().placesWithin(MIDDLE, 150, SINCE_MS);
  const km = nearest?.distance_km as number;
  const at = async (radius_km: number) =>
    (await ask(`lat=${MIDDLE.lat}&lon=${MIDDLE.lon}&radius_km=${radius_km}`)).summary.total_cells;
  t.is(await at(km), 1);
  t.is(await at(km - 1e-9), 0);
});

test('GET /v1/hail/current with detail=advanced adds four blocks to every cell, which standard answers never carry', async (t) => {
  const standard = await ask();
  const advanced = await ask(`${ALL}&detail=advanced`);
  t.is(advanced.detail, 'advanced');
  t.is(advanced.cells.length, standard.cells.length);
  for (const [index, { radar, storm, impact, detection_quality, ...rest }] of advanced.cells.entries()) {
    t.deepEqual(rest, standard.cells[index]);
    for (const block of [radar, storm, impact, detection_quality]) t.truthy(block);
    t.is(radar?.mesh_mm, rest.hail.estimated_size_mm, 'the products are those of the largest detection');
  }
});

test('GET /v1/hail/current tells the storm, the area and the duration of hail >= 19 mm as the tables have them', async (t) => {
  const { cells: found } = await ask(`${ALL}&detail=advanced`);
  let storms = 0;
  for (const { geohash5, last_detected, storm, impact } of found) {
    const own = rows.filter((row) => row.geohash5 === geohash5);
    const newest = own
      .filter((row) => row.scan_time === Date.parse(last_detected))
      .reduce((best, row) => (row.estimated_size_mm > best.estimated_size_mm ? row : best));
    const cell = cellRows.find((row) => row.scan_time === newest.scan_time && row.cell_index === newest.cell_index);
    t.is(storm?.area_km2, cell === undefined ? null : round(cell.area_km2, 1));
    t.is(storm?.p90_mm, cell === undefined ? null : round(cell.p90_mm, 1));
    if (storm?.track_id) {
      storms += 1;
      t.is(storm.track_id, newest.track_id ?? 'none');
      t.truthy(storm.trend);
    }
    const severe = [...new Set(own.filter((row) => row.estimated_size_mm >= 19).map((row) => row.scan_time))];
    const gaps = severe.slice(1).map((time, index) => Math.min(4, (time - severe[index]) / 60_000));
    const duration = severe.length === 0 ? 0 : 2 + gaps.reduce((sum, gap) => sum + gap, 0);
    t.is(impact?.hail_duration_min, round(duration, 1));
    const swath = rows.filter((row) => row.track_id === newest.track_id && row.estimated_size_mm >= 19);
    const pixels = new Map(swath.map((row) => [row.row * 7000 + row.col, pixelAreaKm2(row.row)]));
    const area = [...pixels.values()].reduce((sum, km2) => sum + km2, 0);
    t.is(impact?.swath_area_km2, newest.track_id === null ? null : round(area, 1));
  }
  t.true(storms > 10, `${storms} cells of storms`);
});

test('GET /v1/hail/current leaves out what is older than 30 minutes by the clock', async (t) => {
  setClock(t, service, newest_ms + 30 * 60_000);
  const last = rows.filter((row) => row.scan_time === newest_ms);
  const inRange = new Set(last.filter((row) => distanceKm(MIDDLE, row) <= 140).map((row) => row.geohash5));
  const places = new Set((await ask()).cells.map(({ geohash5 }) => geohash5));
  const hasAll = [...inRange].every((geohash5) => places.has(geohash5));
  t.true(hasAll, 'exactly 30 minutes old is in');
  t.true((await ask()).cells.every(({ scan_count }) => scan_count === 1));
  setClock(t, service, newest_ms + 30 * 60_000 + 1000);
  t.like(await ask(), { active: false });
});

test('GET /v1/hail/current keeps its ETag while only the age changes, and answers 304 to it', async (t) => {
  const first = await service.call(`${PATH}?${ALL}`);
  const tag = first.headers.get('etag') as string;
  t.regex(tag, /^W\/"/);
  setClock(t, service, NOW_MS + 5000);
  const second = await service.call(`${PATH}?${ALL}`);
  t.is(second.headers.get('etag'), tag);
  const ages = async (response: Response) =>
    HailCurrent.parse(await response.json()).cells.map((cell) => cell.age_seconds);
  t.deepEqual(
    await ages(second),
    (await ages(first)).map((age) => age + 5),
  );
  const before = await creditsUsed(service);
  const same = await service.call(`${PATH}?${ALL}`, { headers: { 'If-None-Match': tag } });
  t.is(same.status, 304);
  t.is(await same.text(), '');
  t.is((await creditsUsed(service)) - before, 15, 'a 304 is charged like the 200 it mirrors');
});

test('GET /v1/hail/current has another ETag for another point, detail or data', async (t) => {
  const tagOf = async (query: string) => (await service.call(`${PATH}?${query}`)).headers.get('etag') ?? 'none';
  const tags = await Promise.all([ALL, `${ALL}&detail=advanced`, 'lat=35.2&lon=-97.001&radius_km=150'].map(tagOf));
  t.is(new Set(tags).size, 3);
  t.is(await tagOf(`radius_km=150.0&lon=-97.00&lat=35.20&detail=standard`), tags[0] ?? '', 'defaults filled in');
});

test('GET /v1/hail/current says that simulated data are simulated', async (t) => {
  t.is((await service.call(`${PATH}?${ALL}`)).headers.get('x-data-source'), 'simulated');
});

for (const [query, parameter] of [
  ['lon=-97', 'lat'],
  ['lat=35', 'lon'],
  ['lat=91&lon=-97', 'lat'],
  ['lat=35&lon=181', 'lon'],
  ['lat=&lon=-97', 'lat'],
  ['lat=35&lon=-97&radius_km=0', 'radius_km'],
  ['lat=35&lon=-97&radius_km=150.1', 'radius_km'],
  ['lat=35&lon=-97&detail=full', 'detail'],
  ['lat=35&lat=36&lon=-97', 'lat'],
] as const)
  test(`GET /v1/hail/current?${query} is 400 invalid_parameter about ${parameter}, and free`, async (t) => {
    const before = await creditsUsed(service);
    const response = await service.call(`${PATH}?${query}`);
    t.is(response.status, 400);
    const body = (await response.json()) as { error: string; message: string };
    t.is(body.error, 'invalid_parameter');
    t.true(body.message.startsWith(parameter), body.message);
    t.is(await creditsUsed(service), before);
  });

const BATCH_PATH = '/v1/hail/current/batch';
const send = (body: unknown, query = '') => service.call(`${BATCH_PATH}${query}`, sending('POST', body));
const askBatch = (locations: readonly unknown[]) => parsed(send({ locations }), HailBatch);

const PLACES = [
  { lat: 35.2, lon: -97, radius_km: 150 },
  { lat: 35.4, lon: -97.3 },
  { lat: 45, lon: -80, radius_km: 10 },
  { lat: 35.0, lon: -96.6, radius_km: 20 },
];

test('POST /v1/hail/current/batch answers each location as GET /v1/hail/current does', async (t) => {
  const { results, count, active_count } = await askBatch(PLACES);
  for (const [index, { lat, lon, radius_km }] of PLACES.entries()) {
    const query = `lat=${lat}&lon=${lon}${radius_km === undefined ? '' : `&radius_km=${radius_km}`}`;
    const { summary, cells } = HailCurrent.parse(await service.json(`/v1/hail/current?${query}`));
    const expected = { id: null, lat, lon, note: null, active: summary.total_cells > 0 };
    t.deepEqual(
      results[index] as unknown,
      summary.total_cells === 0
        ? expected
        : {
            ...expected,
            max_size_mm: summary.max_size_mm,
            max_size_category: summary.max_size_category,
            max_confidence: Math.max(...cells.map(({ hail }) => hail.confidence)),
            cell_count: summary.total_cells,
            closest_km: summary.closest_cell_km,
          },
    );
  }
  t.is(count, 4);
  t.is(active_count, results.filter(({ active }) => active).length);
  t.true(active_count >= 1 && active_count < 4);
});

test('POST /v1/hail/current/batch echoes ids byte for byte, keeps the order and allows duplicates', async (t) => {
  const ids = ['ü 🌩 "x"', '', 'same', 'same', 17, -0.5, null, undefined];
  const { results } = await askBatch(ids.map((id) => ({ lat: 35, lon: -97, id })));
  const shownIds = results.map(({ id }) => id);
  t.deepEqual(shownIds, ['ü 🌩 "x"', '', 'same', 'same', 17, -0.5, null, null]);
});

test('POST /v1/hail/current/batch leaves the size fields of an inactive location out', async (t) => {
  const { results } = await askBatch([{ lat: 45, lon: -80, radius_km: null }]);
  t.deepEqual(results, [{ id: null, lat: 45, lon: -80, note: null, active: false }]);
  t.true(BatchResult.safeParse(results[0]).success);
});

test('POST /v1/hail/current/batch costs 8 credits per location', async (t) => {
  for (const count of [1, 7, 50]) {
    const before = await creditsUsed(service);
    await askBatch(Array.from({ length: count }, () => ({ lat: 35, lon: -97 })));
    t.is((await creditsUsed(service)) - before, 8 * count);
  }
});

test('POST /v1/hail/current/batch?estimate=true says the exact cost, runs nothing and is free', async (t) => {
  const before = await creditsUsed(service);
  const answer = await (await send({ locations: PLACES }, '?estimate=true')).json();
  t.deepEqual(HailBatchEstimate.parse(answer) as unknown, {
    estimate: true,
    location_count: 4,
    cost_per_location: 8,
    minimum_cost: 8,
    estimated_credits: 32,
    credits_remaining: null,
    until_cap: null,
    would_exceed_cap: false,
  });
  t.is(await creditsUsed(service), before);
});

test('POST /v1/hail/current/batch?estimate=true tells what is left, and when the cap would be passed', async (t) => {
  const capped = await serviceFor(t, { data_root: service.data_root, now_ms: NOW_MS });
  await changePlan(capped, { monthly_limit: 100, spend_cap: 60, overage_policy: 'block' });
  const batch = (locations: readonly unknown[], query = '') =>
    capped.call(`${BATCH_PATH}${query}`, sending('POST', { locations }));
  t.is((await batch(PLACES)).status, 200);
  const estimate = async (count: number) =>
    HailBatchEstimate.parse(await (await batch(Array(count).fill(PLACES[0]), '?estimate=true')).json());
  t.like(await estimate(3), { credits_remaining: 68, until_cap: 28, would_exceed_cap: false });
  t.like(await estimate(4), { estimated_credits: 32, would_exceed_cap: true });
  const refused = await batch(PLACES);
  t.is(refused.status, 429);
  t.is(((await refused.json()) as { error: string }).error, 'spend_cap_exceeded');

  const key = await openAccount(capped, { plan: { spend_cap: 60 } });
  await limitKey(capped, key, 16);
  t.is((await capped.call(BATCH_PATH, { ...sending('POST', { locations: [PLACES[0]] }), ...key })).status, 200);
  const ofKey = { ...sending('POST', { locations: [PLACES[0], PLACES[0]] }), ...key };
  t.like(await (await capped.call(`${BATCH_PATH}?estimate=true`, ofKey)).json(), {
    until_cap: 8,
    would_exceed_cap: true,
  });
});

const at = (fields: object, index = 0) =>
  Array.from({ length: index + 1 }, (_, k) => ({ lat: 35, lon: -97, ...(k === index ? fields : {}) }));
for (const [what, body, begin] of [
  ['without locations', {}, '/locations'],
  ['without any location', { locations: [] }, '/locations: must have at least 1 item, received 0'],
  ['of 51 locations', { locations: at({}, 50) }, '/locations: must have at most 50 items, received 51'],
  ['with a latitude of 91 in the eighth', { locations: at({ lat: 91 }, 7) }, '/locations/7/lat'],
  ['with a longitude as text', { locations: at({ lon: '-97' }) }, '/locations/0/lon'],
  [
    'with a radius of 0',
    { locations: at({ radius_km: 0 }) },
    '/locations/0/radius_km: must be more than 0, received 0',
  ],
  [
    'with a radius of 151',
    { locations: at({ radius_km: 151 }) },
    '/locations/0/radius_km: must be at most 150, received 151',
  ],
  ['with true as id', { locations: at({ id: true }) }, '/locations/0/id: expected string or number, received boolean'],
] as const)
  for (const query of ['', '?estimate=true'])
    test(`POST /v1/hail/current/batch${query} ${what} is 400 bad_request at ${begin}, and free`, async (t) => {
      const before = await creditsUsed(service);
      const response = await send(body, query);
      t.is(response.status, 400);
      const { error, message } = (await response.json()) as { error: string; message: string };
      t.is(error, 'bad_request');
      t.true(message.startsWith(begin), message);
      t.is(await creditsUsed(service), before);
    });
