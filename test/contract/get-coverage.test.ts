import test, { type ExecutionContext } from 'ava';
import { coverage } from '../../api/routes/coverage.ts';
import { type BlockedShare, beamAt, detectionQuality } from '../../schemas/geo/beam.ts';
import { destination, distanceKm } from '../../schemas/geo/distance.ts';
import { hailDayFreezingLevelKm } from '../../schemas/reference/freezing-level.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { Coverage } from '../../schemas/resources/coverage.ts';
import { KTLX, publishBlockage, raysOfKtlx } from '../support/data/terrain.ts';
import { scratch } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const MAY_MS = Date.parse('2026-05-31T23:59:59Z');
const COVERAGE = '/v1/coverage';
let service: RunningService;

test.before(async () => {
  service = await startService({ endpoints: [coverage], now_ms: MAY_MS });
});
test.after.always(async (t) => {
  t.deepEqual(service.failures, []);
  await service.close();
});

async function ask(lat: number, lon: number, of = service): Promise<Coverage> {
  const response = await of.call(`${COVERAGE}?lat=${lat}&lon=${lon}`);
  if (response.status !== 200) throw new Error(`coverage answers ${response.status} ${await response.text()}`);
  return Coverage.parse(await response.json());
}

test('GET /v1/coverage answers the quality block of the point in the present UTC month', async (t) => {
  const { location, covered, month, detection_quality, note } = await ask(35.181234567, -97.44);
  t.deepEqual(location, { lat: 35.18123, lon: -97.44 });
  t.true(covered);
  t.is(month, 5);
  t.is(detection_quality.nearest_radar?.id, 'KTLX');
  t.true(note.includes('prior') && note.includes('not a measured hit rate') && note.includes('No terrain model'));
});

test('GET /v1/coverage names the nearest of all sites, with its geodesic distance', async (t) => {
  const point = { lat: 46.5, lon: -110.2 };
  const distances = WSR88D.map((site) => ({ id: site.id, km: distanceKm(site, point) })).sort((a, b) => a.km - b.km);
  const { nearest_radar } = (await ask(point.lat, point.lon)).detection_quality;
  t.is(nearest_radar?.id, distances[0]?.id);
  t.is(nearest_radar?.distance_km, Math.round((distances[0]?.km ?? 0) * 100) / 100);
});

test('GET /v1/coverage has beam_blockage 1 while no terrain model is loaded', async (t) =>
  t.is((await ask(40.5, -111.9)).detection_quality.components.beam_blockage, 1));

test('GET /v1/coverage keeps the block where nothing covers the point', async (t) => {
  const { covered, detection_quality } = await ask(30, -45);
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
  test(`GET /v1/coverage answers ${lat} ${lon} with 200`, async (t) => t.false((await ask(lat, lon)).covered));

for (const [place, lat, lon] of [
  ['Honolulu', 21.31, -157.86],
  ['San Juan', 18.44, -66.0],
  ['Fairbanks', 64.84, -147.72],
] as const)
  test(`GET /v1/coverage of ${place} is not covered, because nothing is published there, and keeps its block`, async (t) => {
    const { covered, detection_quality, note } = await ask(lat, lon);
    t.false(covered);
    t.true(detection_quality.hdqi > 0.1);
    t.regex(note, /outside the published area, 20 to 55 N and 130 to 60 W/);
  });

test('GET /v1/coverage counts the edge of the published area as inside', async (t) => {
  t.notRegex((await ask(49, -60)).note, /outside the published area/);
  t.regex((await ask(49, -59.99999)).note, /outside the published area/);
});

test('GET /v1/coverage gets no better farther from the only radars', async (t) => {
  const at = async (lon: number) => (await ask(47.5, lon)).detection_quality.hdqi;
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
  const june = await startService({ endpoints: [coverage], now_ms: MAY_MS + 1000 });
  try {
    const later = await june.call(`${COVERAGE}?lat=35&lon=-97`, { headers: { 'If-None-Match': etag } });
    t.is(later.status, 200);
    t.like(await later.json(), { month: 6 });
  } finally {
    await june.close();
  }
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
  const running = await startService({ endpoints: [coverage], data_root, now_ms: MAY_MS });
  t.teardown(() => running.close());
  return running;
}

test('GET /v1/coverage behind a mountain has a lower index and the share that terrain leaves free', async (t) => {
  const hills = await withTerrain(t, WEST_04);
  const [free, blocked] = [await ask(BEHIND.lat, BEHIND.lon), await ask(BEHIND.lat, BEHIND.lon, hills)];
  t.is(free.detection_quality.components.beam_blockage, 1);
  t.is(blocked.detection_quality.components.beam_blockage, 0.6);
  t.true(blocked.detection_quality.hdqi < free.detection_quality.hdqi);
  const blockage: BlockedShare = (id, _, distance_km, tilt) =>
    id === 'KTLX' && tilt === 0.5 && distance_km > 20 ? 0.4 : 0;
  const freezing_level_km = hailDayFreezingLevelKm(BEHIND.lat, 5);
  const expected = detectionQuality(BEHIND, { sites: WSR88D, freezing_level_km, blockage });
  t.is(blocked.detection_quality.hdqi, expected.hdqi);
  for (const { lat, lon } of [BEFORE, ASIDE])
    t.deepEqual((await ask(lat, lon, hills)).detection_quality, (await ask(lat, lon)).detection_quality);
});

test('GET /v1/coverage gives the height of the lowest beam that terrain leaves usable', async (t) => {
  const hills = await withTerrain(t, WEST_ALL);
  const height = async (of = service) => (await ask(BEHIND.lat, BEHIND.lon, of)).detection_quality.beam_height_m;
  const tower_m = 389.5 - 370;
  t.is(await height(), Math.round(1000 * beamAt(40, 0.5).centre_km + tower_m));
  t.is(await height(hills), Math.round(1000 * beamAt(40, 1.3).centre_km + tower_m));
});

test('GET /v1/coverage names the terrain model, and how many radars lie outside it', async (t) => {
  const { note } = await ask(BEHIND.lat, BEHIND.lon, await withTerrain(t, WEST_04));
  t.is(
    note,
    'A prior from radar geometry and the height of the freezing level, not a measured hit rate. ' +
      'Beam blockage is computed from the terrain model wall.tif (18 arc-seconds); ' +
      '159 of 160 radars lie outside it and count as unblocked.',
  );
});

test('GET /v1/coverage follows a terrain model that is published while it runs: the ETag of before is stale', async (t) => {
  const data_root = await scratch(t);
  const running = await startService({ endpoints: [coverage], data_root, now_ms: MAY_MS });
  t.teardown(() => running.close());
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
