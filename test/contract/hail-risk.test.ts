import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type BlockedShare, beamAt, detectionQuality } from '../../schemas/geo/beam.ts';
import { destination, distanceKm } from '../../schemas/geo/distance.ts';
import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import { hailDayFreezingLevelKm } from '../../schemas/reference/freezing-level.ts';
import { groundM } from '../../schemas/reference/terrain.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { Coverage } from '../../schemas/resources/detection-quality.ts';
import { HailCurrent } from '../../schemas/resources/hail-cell.ts';
import { HailHistory } from '../../schemas/resources/history-event.ts';
import { HailRisk } from '../../schemas/resources/risk.ts';
import { climatologyRow, publishClimatologyRows } from '../support/data/climatology.ts';
import { KTLX, publishBlockage, raysOfKtlx } from '../support/data/terrain.ts';
import { midnight, publishedRoot, scratch } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, serviceFor, startService } from '../support/service/service.ts';
import { closeWithoutFailures } from '../support/service/test-with.ts';
import { isRefusedFor, parsed, setClock } from './answers.ts';

const RISK = '/v1/hail/risk';
const NORMAN = 'lat=35.18&lon=-97.44';

/** A service over a climatology of one cell, which is all that its answer depends on. */
async function overCell(
  t: ExecutionContext,
  fields: Parameters<typeof climatologyRow>[0] = {},
): Promise<RunningService> {
  const data_root = await scratch(t);
  const row = climatologyRow(fields);
  await publishClimatologyRows(data_root, [row], row.data_source);
  return await serviceFor(t, { data_root });
}

const ask = (service: RunningService, query = NORMAN) => parsed(service.call(`${RISK}?${query}`), HailRisk);

test('GET /v1/hail/risk answers the year and the twelve months of the cell that the point lies in', async (t) => {
  const { annual, monthly, ...rest } = await ask(await overCell(t));
  t.deepEqual(annual, {
    any: 0.952,
    severe: 0.689,
    significant: 0.142,
    giant: 0.009,
    score: 91,
    risk_tier: 'very_high',
    peak_month: 5,
    years_of_data: 5,
  });
  const months = monthly.map(({ month }) => month);
  t.deepEqual(months, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  t.deepEqual(monthly[4], { month: 5, probability: { any: 0.566, severe: 0.284 }, score: 93 });
  t.deepEqual(monthly[11], { month: 12, probability: { any: 0.007, severe: 0.002 }, score: 7 });
  t.deepEqual(rest, {
    location: { lat: 35.18, lon: -97.44, geohash4: '9y68' },
    covered: true,
    basis: {
      source: 'observed',
      storm_dates: 1826,
      first_date: '2021-05-02',
      last_date: '2026-05-01',
      prior_share: 0.021,
    },
    note: 'Probability of at least one day with such hail within 10 km of the centre of the cell, from radar estimates of size.',
    data_as_of: '2026-05-01T21:30:00Z',
  });
});

test('GET /v1/hail/risk has months that make the year, as far as three decimals show', async (t) => {
  const { annual, monthly } = await ask(await overCell(t));
  for (const name of ['any', 'severe'] as const) {
    const none = monthly.reduce((product, { probability }) => product * (1 - probability[name]), 1);
    t.true(Math.abs(1 - none - (annual?.[name] ?? 0)) < 0.006, name);
  }
});

test('GET /v1/hail/risk rounds the location to five decimals and names its cell', async (t) => {
  const { location } = await ask(await overCell(t), 'lat=35.181234567&lon=-97.44');
  t.deepEqual(location, { lat: 35.18123, lon: -97.44, geohash4: '9y68' });
});

test('GET /v1/hail/risk says that simulated storms were counted, in its note and in X-Data-Source', async (t) => {
  const service = await overCell(t, { data_source: 'simulated' });
  const response = await service.call(`${RISK}?${NORMAN}`);
  t.is(response.headers.get('X-Data-Source'), 'simulated');
  const { basis, note } = HailRisk.parse(await response.json());
  t.is(basis?.source, 'simulated');
  t.true(note.startsWith('SIMULATED: counted on simulated storms, not on observed ones.'));
});

test('GET /v1/hail/risk calls counts of observed storms observed, on its 304 too', async (t) => {
  const service = await overCell(t);
  const response = await service.call(`${RISK}?${NORMAN}`);
  t.is(response.headers.get('X-Data-Source'), 'observed');
  await response.text();
  const again = await service.call(`${RISK}?${NORMAN}`, {
    headers: { 'If-None-Match': response.headers.get('ETag') ?? '' },
  });
  t.deepEqual([again.status, await again.text(), again.headers.get('X-Data-Source')], [304, '', 'observed']);
});

test('GET /v1/hail/risk says so where the probabilities are mostly built in', async (t) => {
  const { annual, note } = await ask(
    await overCell(t, { prior_share: 0.97, risk_tier: null, storm_dates: 1, years_of_data: 0 }),
  );
  t.like(annual, { years_of_data: 0, risk_tier: null, score: 91 });
  t.regex(note, /With 1 storm date, less than one year with nearly all scans, these are mostly built-in rates/);
});

for (const [query, place] of [
  ['lat=51.05&lon=-114.07', 'Calgary'],
  ['lat=21.31&lon=-157.86', 'Honolulu'],
  ['lat=90&lon=180', 'the end of the map'],
  ['lat=-90&lon=-180', 'its other end'],
] as const)
  test(`GET /v1/hail/risk of ${place} is not covered: nothing is known, which is not no risk`, async (t) => {
    const { covered, annual, monthly, basis, note, data_as_of } = await ask(await overCell(t), query);
    t.deepEqual([covered, annual, monthly, basis], [false, null, [], null]);
    t.regex(note, /outside of the 48 states/);
    t.is(data_as_of, '2026-05-01T21:30:00Z');
  });

test('GET /v1/hail/risk without a published climatology is never no risk: null, and why', async (t) => {
  const service = await serviceFor(t);
  const response = await service.call(`${RISK}?${NORMAN}`);
  t.is(response.headers.get('X-Data-Source'), null);
  const { location, ...rest } = HailRisk.parse(await response.json());
  t.is(location.geohash4, '9y68');
  t.deepEqual(rest, {
    covered: false,
    annual: null,
    monthly: [],
    basis: null,
    note: 'No climatology is published yet: nothing is known, which is not a statement that there is no hail.',
    data_as_of: null,
  });
});

test('GET /v1/hail/risk has no answer, and no charge, where the published climatology has vanished', async (t) => {
  const data_root = await scratch(t);
  const { file } = await publishClimatologyRows(data_root, [climatologyRow()]);
  await fs.rm(join(data_root, file.path));
  const service = await serviceFor(t, { data_root });
  const response = await service.call(`${RISK}?${NORMAN}`);
  t.is(response.status, 500);
  t.like(await response.json(), { error: 'internal_error' });
  t.is(service.failures.splice(0).length, 1);
  t.is(await creditsUsed(service), 0);
});

test('GET /v1/hail/risk follows a climatology that is published while it runs: the tag of before is stale', async (t) => {
  const service = await overCell(t);
  const tagOf = async (given = 'W/"none"') => {
    const response = await service.call(`${RISK}?${NORMAN}`, { headers: { 'If-None-Match': given } });
    await response.text();
    return { status: response.status, tag: response.headers.get('ETag') ?? '' };
  };
  const { tag } = await tagOf();
  t.is((await tagOf(tag)).status, 304);
  await publishClimatologyRows(service.data_root, [climatologyRow({ annual_score: 55, risk_tier: 'high' })]);
  await service.services.catalog.refresh();
  const after = await tagOf(tag);
  t.is(after.status, 200);
  t.not(after.tag, tag);
  t.is((await ask(service)).annual?.risk_tier, 'high');
});

test('a terrain model and a climatology that are published after each other leave the tags of each other alone', async (t) => {
  const service = await overCell(t);
  const tags = async () => {
    await service.services.catalog.refresh();
    const paths = [`${RISK}?${NORMAN}`, '/v1/coverage?lat=35.18&lon=-97.9'];
    return Promise.all(paths.map(async (path) => (await service.call(path)).headers.get('ETag')));
  };
  const [risk, unblocked] = await tags();
  await publishBlockage(service.data_root, raysOfKtlx([{ tilt_deg: 0.5, distance_km: 20, blocked: 0.4 }], 200, 280));
  const [sameRisk, blocked] = await tags();
  t.is(sameRisk, risk);
  t.not(blocked, unblocked);
  await publishClimatologyRows(service.data_root, [climatologyRow({ data_source: 'simulated' })], 'simulated');
  const [otherRisk, sameBlocked] = await tags();
  t.not(otherRisk, risk);
  t.is(sameBlocked, blocked);
});

for (const [query, start] of [
  ['', 'lat'],
  ['lat=35.18', 'lon'],
  ['lon=-97.44', 'lat'],
  ['lat=90.1&lon=0', 'lat'],
  ['lat=35&lon=-180.1', 'lon'],
  ['lat=&lon=-97', 'lat'],
  ['lat=0x10&lon=0', 'lat'],
  ['lat=35&lat=36&lon=-97', 'lat'],
] as const)
  test(`GET /v1/hail/risk refuses '${query}', and begins with what is at fault`, async (t) =>
    isRefusedFor(t, (await overCell(t)).call(`${RISK}?${query}`), start));

test('GET /v1/hail/risk hints that lat and lon look swapped', async (t) => {
  const response = await (await overCell(t)).call(`${RISK}?lat=-97.44&lon=35.18`);
  t.regex(((await response.json()) as { message: string }).message, /lat and lon look swapped/);
});

const MAY_MS = Date.parse('2026-05-31T23:59:59Z');
const COVERAGE = '/v1/coverage';
let service: RunningService;

test.before(async () => {
  service = await startService({ now_ms: MAY_MS });
});
test.after.always((t) => closeWithoutFailures(t, service));

const askCoverage = (lat: number, lon: number, of = service) =>
  parsed(of.call(`${COVERAGE}?lat=${lat}&lon=${lon}`), Coverage);

test('GET /v1/coverage answers the quality block of the point in the present UTC month', async (t) => {
  const { location, covered, month, detection_quality, note } = await askCoverage(35.181234567, -97.44);
  t.deepEqual(location, { lat: 35.18123, lon: -97.44 });
  t.true(covered);
  t.is(month, 5);
  t.is(detection_quality.nearest_radar?.id, 'KTLX');
  t.true(note.includes('prior') && note.includes('not a measured hit rate') && note.includes('No terrain model'));
});

test('GET /v1/coverage names the nearest of all sites, with its geodesic distance', async (t) => {
  const point = { lat: 46.5, lon: -110.2 };
  const distances = WSR88D.map((site) => ({ id: site.id, km: distanceKm(site, point) })).sort((a, b) => a.km - b.km);
  const { nearest_radar } = (await askCoverage(point.lat, point.lon)).detection_quality;
  t.is(nearest_radar?.id, distances[0]?.id);
  t.is(nearest_radar?.distance_km, Math.round((distances[0]?.km ?? 0) * 100) / 100);
});

test('GET /v1/coverage has beam_blockage 1 while no terrain model is loaded', async (t) =>
  t.is((await askCoverage(40.5, -111.9)).detection_quality.components.beam_blockage, 1));

test('GET /v1/coverage keeps the block where nothing covers the point', async (t) => {
  const { covered, detection_quality } = await askCoverage(30, -45);
  t.false(covered);
  t.like(detection_quality, {
    hdqi: 0,
    detection_word: 'limited',
    resolution: 'coarse (>2 km)',
    components: { sample_coverage: 0, beam_blockage: 0, dual_pol_availability: 0 },
    beam_height_m: null,
  });
  t.true((detection_quality.nearest_radar?.distance_km ?? 0) > 230);
});

for (const [lat, lon] of [
  [90, 180],
  [-90, -180],
  [0, 0],
] as const)
  test(`GET /v1/coverage answers ${lat} ${lon} with 200`, async (t) => t.false((await askCoverage(lat, lon)).covered));

for (const [place, lat, lon] of [
  ['Honolulu', 21.31, -157.86],
  ['San Juan', 18.44, -66.0],
  ['Fairbanks', 64.84, -147.72],
] as const)
  test(`GET /v1/coverage of ${place} is not covered, because nothing is published there, and keeps its block`, async (t) => {
    const { covered, detection_quality, note } = await askCoverage(lat, lon);
    t.false(covered);
    t.true(detection_quality.hdqi > 0.1);
    t.regex(note, /outside the published area, 20 to 55 N and 130 to 60 W/);
  });

test('GET /v1/coverage counts the edge of the published area as inside', async (t) => {
  t.notRegex((await askCoverage(49, -60)).note, /outside the published area/);
  t.regex((await askCoverage(49, -59.99999)).note, /outside the published area/);
});

test('GET /v1/coverage gets no better farther from the only radars', async (t) => {
  const at = async (lon: number) => (await askCoverage(47.5, lon)).detection_quality.hdqi;
  const west = [await at(-125.5), await at(-126), await at(-126.5), await at(-127)];
  t.deepEqual(
    west,
    west.toSorted((a, b) => b - a),
  );
});

for (const query of ['', 'lat=35', 'lat=91&lon=0', 'lat=&lon=', 'lat=35&lon=-181', 'lat=0x10&lon=0'])
  test(`GET /v1/coverage refuses '${query}'`, async (t) => {
    const response = await service.call(`${COVERAGE}?${query}`);
    t.is(response.status, 400);
    t.like(await response.json(), { error: 'invalid_parameter' });
  });

test.serial('GET /v1/coverage costs 5 credits and carries an ETag that lasts for the month', async (t) => {
  const before = await creditsUsed(service);
  const response = await service.call(`${COVERAGE}?lat=35&lon=-97`);
  const etag = response.headers.get('etag') ?? '';
  const again = await service.call(`${COVERAGE}?lat=35&lon=-97`, { headers: { 'If-None-Match': etag } });
  t.is(again.status, 304);
  t.is((await creditsUsed(service)) - before, 10);
  setClock(t, service, MAY_MS + 1000);
  const later = await service.call(`${COVERAGE}?lat=35&lon=-97`, { headers: { 'If-None-Match': etag } });
  t.is(later.status, 200);
  t.like(await later.json(), { month: 6 });
});

/** Behind 20 km to the west of KTLX terrain blocks 0.4 of the lowest beam. */
const WEST_04 = raysOfKtlx([{ tilt_deg: 0.5, distance_km: 20, blocked: 0.4 }], 260, 280);
/** There it blocks all of the two lowest, and half of the third. */
const WEST_ALL = raysOfKtlx(
  [
    { tilt_deg: 0.5, distance_km: 20, blocked: 1 },
    { tilt_deg: 0.9, distance_km: 20, blocked: 0.51 },
    { tilt_deg: 1.3, distance_km: 20, blocked: 0.5 },
  ].sort((a, b) => a.tilt_deg - b.tilt_deg),
  260,
  280,
);
const BEHIND = destination(KTLX, 270, 40);
const BEFORE = destination(KTLX, 270, 19);
const ASIDE = destination(KTLX, 90, 40);

async function withTerrain(t: ExecutionContext, rays: typeof WEST_04): Promise<RunningService> {
  const data_root = await scratch(t);
  await publishBlockage(data_root, rays);
  return await serviceFor(t, { data_root, now_ms: MAY_MS });
}

/** Heights above the ground that an independent computation gives with the elevations of the towns, m. */
const TOWNS = [
  ['Cedar City', 37.6775, -113.0619, 1700, 230],
  ['Grand Junction', 39.0639, -108.5506, 1990, 360],
  ['Missoula', 46.8721, -113.994, 1640, 360],
  ['Las Vegas', 36.1716, -115.1391, 1570, 230],
  ['Oklahoma City', 35.4676, -97.5164, 295, 56],
] as const;

for (const [town, lat, lon, height_m, within_m] of TOWNS)
  test(`GET /v1/coverage has the lowest beam over ${town} ${height_m} m above the town, within ${within_m} m`, async (t) => {
    const { beam_height_m } = (await askCoverage(lat, lon)).detection_quality;
    t.true(Math.abs((beam_height_m ?? 0) - height_m) <= within_m, `${beam_height_m}`);
  });

test('GET /v1/coverage behind a mountain has a lower index and the share that terrain leaves free', async (t) => {
  const hills = await withTerrain(t, WEST_04);
  const [free, blocked] = [await askCoverage(BEHIND.lat, BEHIND.lon), await askCoverage(BEHIND.lat, BEHIND.lon, hills)];
  t.is(free.detection_quality.components.beam_blockage, 1);
  t.is(blocked.detection_quality.components.beam_blockage, 0.6);
  t.true(blocked.detection_quality.hdqi < free.detection_quality.hdqi);
  const blockage: BlockedShare = (id, _, distance_km, tilt) =>
    id === 'KTLX' && tilt === 0.5 && distance_km > 20 ? 0.4 : 0;
  const freezing_level_km = hailDayFreezingLevelKm(BEHIND.lat, 5);
  const expected = detectionQuality(BEHIND, {
    sites: WSR88D,
    freezing_level_km,
    ground_m: groundM(BEHIND, null),
    blockage,
  });
  t.is(blocked.detection_quality.hdqi, expected.hdqi);
  for (const { lat, lon } of [BEFORE, ASIDE])
    t.deepEqual(
      (await askCoverage(lat, lon, hills)).detection_quality,
      (await askCoverage(lat, lon)).detection_quality,
    );
});

test('GET /v1/coverage gives the height of the lowest beam that terrain leaves usable', async (t) => {
  const hills = await withTerrain(t, WEST_ALL);
  const height = async (of = service) =>
    (await askCoverage(BEHIND.lat, BEHIND.lon, of)).detection_quality.beam_height_m;
  const antenna_above_m = 389.5 - groundM(BEHIND, null);
  t.is(await height(), Math.round(1000 * beamAt(40, 0.5).centre_km + antenna_above_m));
  t.is(await height(hills), Math.round(1000 * beamAt(40, 1.3).centre_km + antenna_above_m));
});

test('GET /v1/coverage takes the ground of a place from the terrain model', async (t) => {
  const data_root = await scratch(t);
  const cell = { row: 10 * Math.floor(latRow(ASIDE.lat) / 10), col: 10 * Math.floor(lonCol(ASIDE.lon) / 10) };
  await publishBlockage(data_root, WEST_04, undefined, [{ ...cell, ground_m: 100 }]);
  const valley = await serviceFor(t, { data_root, now_ms: MAY_MS });
  const height = async (of = service) => (await askCoverage(ASIDE.lat, ASIDE.lon, of)).detection_quality.beam_height_m;
  t.is(await height(valley), Math.round(1000 * beamAt(40, 0.5).centre_km + 389.5 - 100));
  t.is(await height(), Math.round(1000 * beamAt(40, 0.5).centre_km + 389.5 - groundM(ASIDE, null)));
});

test('GET /v1/coverage names the terrain model, and how many radars lie outside it', async (t) => {
  const { note } = await askCoverage(BEHIND.lat, BEHIND.lon, await withTerrain(t, WEST_04));
  t.is(
    note,
    'A prior from radar geometry and the height of the freezing level, not a measured hit rate. ' +
      'Beam blockage is computed from the terrain model wall.tif (18 arc-seconds); ' +
      '159 of 160 radars lie outside it and count as unblocked.',
  );
});

test('GET /v1/coverage follows a terrain model that is published while it runs: the ETag of before is stale', async (t) => {
  const data_root = await scratch(t);
  const running = await serviceFor(t, { data_root, now_ms: MAY_MS });
  const path = `${COVERAGE}?lat=${BEHIND.lat}&lon=${BEHIND.lon}`;
  const seen: (string | null)[] = [];
  for (const rays of [null, WEST_04, WEST_ALL]) {
    if (rays !== null) await publishBlockage(data_root, rays);
    await running.services.catalog.refresh();
    const headers = { 'If-None-Match': seen.at(-1) ?? '"none"' };
    const response = await running.call(path, { headers });
    t.is(response.status, 200);
    await response.text();
    seen.push(response.headers.get('etag'));
    t.is((await running.call(path, { headers: { 'If-None-Match': seen.at(-1) ?? '' } })).status, 304);
  }
  t.is(new Set(seen).size, 3);
});

const NOW_MS = Date.parse('2026-05-02T00:12:00Z');
const AROUND = 'lat=35.2&lon=-97&radius_km=100&detail=advanced';
/** 0.3 of every radar's lowest beam is blocked in all directions: none sees better than another. */
const EVERYWHERE = WSR88D.flatMap(({ id }) =>
  raysOfKtlx([{ tilt_deg: 0.5, distance_km: 1, blocked: 0.3 }], 0, 359).map((step) => ({ ...step, radar_id: id })),
);

const askTerrain = async (service: RunningService, path: string) => {
  const response = await service.call(path);
  if (response.status !== 200) throw new Error(`${path} answers ${response.status} ${await response.text()}`);
  return { etag: response.headers.get('etag'), body: await response.json() };
};

test('every answer with a detection-quality block follows the terrain model, and so does its ETag', async (t) => {
  const data_root = await publishedRoot(t, await midnight());
  const service = await serviceFor(t, { data_root, now_ms: NOW_MS });
  const places = async () => {
    const current = await askTerrain(service, `/v1/hail/current?${AROUND}`);
    const history = await askTerrain(service, `/v1/hail/history?${AROUND}`);
    const { cells } = HailCurrent.parse(current.body);
    const { events } = HailHistory.parse(history.body);
    t.true(cells.length > 3 && events.length > 0);
    return {
      tags: [current.etag, history.etag],
      blocks: [
        ...cells.slice(0, 5).map(({ lat, lon, detection_quality }) => ({ lat, lon, block: detection_quality })),
        ...events.map(({ location: { lat, lon }, detection_quality }) => ({ lat, lon, block: detection_quality })),
      ],
    };
  };
  const before = await places();
  await publishBlockage(data_root, EVERYWHERE);
  await service.services.catalog.refresh();
  const after = await places();
  for (const [index, tag] of before.tags.entries()) t.not(after.tags[index], tag);
  for (const [index, { lat, lon, block }] of after.blocks.entries()) {
    const free = before.blocks[index]?.block;
    t.is(free?.components.beam_blockage, 1);
    t.is(block?.components.beam_blockage, 0.7);
    t.true((block?.hdqi ?? 1) < (free?.hdqi ?? 0));
    t.deepEqual(
      block,
      Coverage.parse((await askTerrain(service, `/v1/coverage?lat=${lat}&lon=${lon}`)).body).detection_quality,
    );
  }
  t.deepEqual(service.failures, []);
});
