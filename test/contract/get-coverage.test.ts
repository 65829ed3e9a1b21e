import test from 'ava';
import { coverage } from '../../api/routes/coverage.ts';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { Coverage } from '../../schemas/resources/coverage.ts';
import { creditsUsed } from '../portfolio.ts';
import { type RunningService, startService } from '../service.ts';

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

async function ask(lat: number, lon: number): Promise<Coverage> {
  const response = await service.call(`${COVERAGE}?lat=${lat}&lon=${lon}`);
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
