import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { hailSwaths } from '../../api/routes/hail-swaths.ts';
import { SwathCollection, Swaths } from '../../schemas/resources/swath-tier.ts';
import { drawTenths } from '../support/data/draw.ts';
import { publishDays, REAL_DATE, realDay, standingHail } from '../support/data/published-days.ts';
import { dayMaxRow } from '../support/data/rows.ts';
import { hasSharedData, sharedTest } from '../support/data/shared-data.ts';
import { isValidMultiPolygon } from '../support/data/valid-multi-polygon.ts';
import { SCRATCH } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const DAY = '2026-05-01';
const QUIET = '2026-05-02';
const SMALL = '2026-05-03';
const NOW_MS = Date.parse('2026-05-10T00:00:00Z');
const SWATHS = '/v1/hail/swaths';

const data_root = mkdtempSync(join(SCRATCH, 'hail-swaths-'));
let service: RunningService;

/** Two scans over Kansas from 40 N, 100 W, in tenths of a millimetre; the first row lies just north of Kansas, in Nebraska. */
const FIELD = drawTenths(
  [
    [0, 0, 200, 0, 0],
    [120, 200, 260, 190, 0],
    [0, 0, 390, 189, 60],
  ],
  { row0: 1499, col0: 3000 },
);
const SCANS = ['20:00', '20:02'].map((clock) => Date.parse(`${DAY}T${clock}:00Z`));

test.before(async () => {
  const hail = standingHail(DAY, FIELD, SCANS);
  const filled = dayMaxRow({
    row: 1500,
    col: 3004,
    max_mm: 45,
    interpolated: true,
    first_detected: null,
    last_detected: null,
    detection_scans: 0,
  });
  const small = standingHail(SMALL, drawTenths([[150]], { row0: 1500, col0: 3000 }), [
    Date.parse(`${SMALL}T20:00:00Z`),
  ]);
  const days = [
    ...(hasSharedData ? [realDay()] : []),
    { storm_date: DAY, rows: { ...hail, day_max: [...hail.day_max, filled] } },
    { storm_date: SMALL, rows: small },
  ];
  await publishDays(data_root, days, 'observed', NOW_MS);
  service = await startService({ endpoints: [hailSwaths], data_root, now_ms: NOW_MS });
});
test.after.always(async (t) => {
  t.deepEqual(service.failures, []);
  await service.close();
  rmSync(data_root, { recursive: true, force: true });
});

async function swaths(query: string): Promise<Swaths> {
  const response = await service.call(`${SWATHS}?${query}`);
  if (response.status !== 200) throw new Error(`swaths answers ${response.status} ${await response.text()}`);
  return Swaths.parse(await response.json());
}

async function refusal(query: string): Promise<string> {
  const response = await service.call(`${SWATHS}?${query}`);
  const { error, message } = (await response.json()) as { error: string; message: string };
  return `${response.status} ${error}: ${message}`;
}

const bounds = ({ tiers }: Swaths) => tiers.map(({ threshold_mm }) => threshold_mm);

test('GET /v1/hail/swaths answers tiers, counts and the echo of its parameters with their defaults', async (t) => {
  const answer = await swaths(`date=${DAY}`);
  t.like(answer, {
    date: DAY,
    query: {
      bbox: { minLat: 24, maxLat: 50, minLon: -125, maxLon: -66 },
      state: null,
      min_size_mm: 19,
      simplify_m: 500,
    },
    active: true,
    n_detections: 2 * 5,
    max_size_mm: 39,
    data_as_of: '2026-05-01T23:59:59Z',
  });
  t.deepEqual(
    answer.tiers.map(({ threshold_mm, category }) => [threshold_mm, category]),
    [
      [19, 'nickel'],
      [25, 'quarter'],
      [38, 'golf_ball'],
    ],
  );
  t.true(answer.geometry_validity_note.length > 20);
});

test('GET /v1/hail/swaths lets pixels that were filled in shape tiers, and never count them', async (t) => {
  const { tiers, n_detections, max_size_mm } = await swaths(`date=${DAY}&min_size_mm=38&simplify_m=0`);
  t.is(tiers.length, 1);
  t.is(tiers[0]?.geometry.coordinates.length, 2, 'the seen pixel of 39 mm and the filled one of 45 mm');
  t.is(n_detections, 2);
  t.is(max_size_mm, 39);
});

test('GET /v1/hail/swaths counts detections from min_size_mm on and draws the bounds from there', async (t) => {
  const counted = async (mm: number) => {
    const answer = await swaths(`date=${DAY}&min_size_mm=${mm}`);
    return [answer.n_detections, ...bounds(answer)];
  };
  t.deepEqual(await counted(5), [14, 19, 25, 38]);
  t.deepEqual(await counted(12), [14, 19, 25, 38]);
  t.deepEqual(await counted(18.9), [12, 19, 25, 38]);
  t.deepEqual(await counted(19), [10, 19, 25, 38]);
  t.deepEqual(await counted(25.5), [4, 38]);
  t.deepEqual(await counted(200), [0]);
});

test('GET /v1/hail/swaths is active between two bounds without a tier', async (t) => {
  t.like(await swaths(`date=${SMALL}&min_size_mm=12`), { active: true, n_detections: 1, max_size_mm: 15, tiers: [] });
});

test('GET /v1/hail/swaths answers a date without hail with nothing, and with the freshness of the newest scan', async (t) => {
  for (const [date, dates_without_data] of [
    [QUIET, [QUIET]],
    ['2019-07-01', ['2019-07-01']],
    ['2031-01-01', ['2031-01-01']],
  ] as const)
    t.like(await swaths(`date=${date}`), {
      dates_without_data,
      active: false,
      n_detections: 0,
      max_size_mm: null,
      tiers: [],
      data_as_of: '2026-05-03T23:59:59Z',
    });
});

test('GET /v1/hail/swaths takes pixels whose centre lies in the bbox', async (t) => {
  const answer = await swaths(`date=${DAY}&bbox=-100,39.98,-99.98,40`);
  t.is(answer.n_detections, 2 * 1, 'the pixel of 20 mm');
  t.deepEqual(answer.query.bbox, { minLat: 39.98, maxLat: 40, minLon: -100, maxLon: -99.98 });
  t.is((await swaths(`date=${DAY}&bbox=-99.984,39.98,-99.976,40`)).n_detections, 0, 'the box ends before a centre');
});

test('GET /v1/hail/swaths takes pixels of the state whose outline holds their centre', async (t) => {
  const [kansas, nebraska] = [await swaths(`date=${DAY}&state=KS`), await swaths(`date=${DAY}&state=NE`)];
  t.is(kansas.n_detections, 8);
  t.is(nebraska.n_detections, 2);
  t.is(nebraska.max_size_mm, 20);
  t.like(kansas.query, { state: 'KS' });
  t.is(kansas.query.bbox.minLat.toFixed(1), '37.0');
});

test('GET /v1/hail/swaths clips a bbox to CONUS, and answers one outside with nothing', async (t) => {
  const wide = await swaths(`date=${DAY}&bbox=-180,-90,180,90`);
  t.deepEqual(wide.query.bbox, { minLat: 24, maxLat: 50, minLon: -125, maxLon: -66 });
  t.is(wide.n_detections, 10);
  t.like(await swaths(`date=${DAY}&bbox=0,40,10,50`), { active: false, query: { bbox: { minLon: 0, maxLat: 50 } } });
});

for (const state of ['AK', 'HI', 'PR', 'GU', 'UM'])
  test(`GET /v1/hail/swaths answers ${state} with 200 and nothing`, async (t) => {
    t.like(await swaths(`date=${DAY}&state=${state}`), { active: false, tiers: [] });
  });

for (const [asked, used] of [
  ['-5', 0],
  ['0', 0],
  ['5000', 5000],
  ['99999', 5000],
  ['250.5', 250.5],
] as const)
  test(`GET /v1/hail/swaths takes simplify_m ${asked} as ${used}`, async (t) => {
    t.is((await swaths(`date=${DAY}&simplify_m=${asked}`)).query.simplify_m, used);
  });

for (const [query, message] of [
  ['', /^400 invalid_parameter: date is required/],
  ['date=2026-02-30', /^400 invalid_parameter: date is '2026-02-30'/],
  [`date=${DAY}&bbox=-100,39,-99,40&state=KS`, /^400 invalid_parameter: bbox is given together with state/],
  [`date=${DAY}&bbox=-99,39,-100,40`, /^400 invalid_parameter: bbox is/],
  [`date=${DAY}&bbox=-100,39,-99`, /^400 invalid_parameter: bbox is/],
  [`date=${DAY}&state=XX`, /^400 invalid_parameter: state is 'XX'/],
  [`date=${DAY}&state=Kansas`, /^400 invalid_parameter: state is/],
  [`date=${DAY}&min_size_mm=0`, /^400 invalid_parameter: min_size_mm is '0', expected a number above 0/],
  [`date=${DAY}&min_size_mm=200.1`, /^400 invalid_parameter: min_size_mm is/],
  [`date=${DAY}&simplify_m=abc`, /^400 invalid_parameter: simplify_m is/],
  [`date=${DAY}&format=kml`, /^400 invalid_parameter: format is/],
  [`date=${DAY}&date=${DAY}`, /^400 invalid_parameter: date is given more than once/],
] as const)
  test(`GET /v1/hail/swaths refuses '${query}'`, async (t) => t.regex(await refusal(query), message));

test('GET /v1/hail/swaths as geojson is a FeatureCollection, smallest bound first', async (t) => {
  const response = await service.call(`${SWATHS}?date=${DAY}&format=geojson&simplify_m=0`);
  t.is(response.headers.get('content-type'), 'application/geo+json');
  const collection = SwathCollection.parse(await response.json());
  t.deepEqual(
    collection.features.map(({ properties }) => properties),
    [
      { date: DAY, threshold_mm: 19, category: 'nickel', area_km2: 5.7, max_size_mm: 39, n_detections: 10 },
      { date: DAY, threshold_mm: 25, category: 'quarter', area_km2: 2.8, max_size_mm: 39, n_detections: 4 },
      { date: DAY, threshold_mm: 38, category: 'golf_ball', area_km2: 1.9, max_size_mm: 39, n_detections: 2 },
    ],
  );
  t.is(collection.data_as_of, '2026-05-01T23:59:59Z');
  t.is(collection.query.simplify_m, 0);
});

test('GET /v1/hail/swaths as geojson without hail is an empty FeatureCollection', async (t) => {
  const response = await service.call(`${SWATHS}?date=${QUIET}&format=geojson`);
  t.deepEqual(SwathCollection.parse(await response.json()).features, []);
});

test.serial('GET /v1/hail/swaths costs 30 credits, a 304 like the 200 it mirrors', async (t) => {
  const first = await service.call(`${SWATHS}?date=${DAY}`);
  const etag = first.headers.get('etag') ?? '';
  t.regex(etag, /^W\/"/);
  const before = await creditsUsed(service);
  const again = await service.call(`${SWATHS}?date=${DAY}`, { headers: { 'If-None-Match': etag } });
  t.is(again.status, 304);
  t.is((await creditsUsed(service)) - before, 30);
  const other = await service.call(`${SWATHS}?date=${DAY}&simplify_m=0`, { headers: { 'If-None-Match': etag } });
  t.is(other.status, 200);
});

sharedTest('GET /v1/hail/swaths of the real day has the areas and counts measured independently', async (t) => {
  const answer = await swaths(`date=${REAL_DATE}`);
  t.like(answer, { n_detections: 2746, max_size_mm: 82.8 });
  t.deepEqual(
    answer.tiers.map(({ threshold_mm, area_km2 }) => [threshold_mm, area_km2]),
    [
      [19, 2554.3],
      [25, 820.3],
      [38, 85],
      [63, 2.9],
      [69, 1.8],
    ],
  );
  const illinois = await swaths(`date=${REAL_DATE}&bbox=-91.52,36.97,-87.01,42.51`);
  t.like(illinois, { n_detections: 2235, max_size_mm: 50.1 });
  t.deepEqual(
    illinois.tiers.slice(0, 3).map(({ area_km2 }) => area_km2),
    [2069.6, 734.6, 69.4],
  );
});

sharedTest(
  'GET /v1/hail/swaths gives valid geometries at every simplification, fewer positions the coarser',
  async (t) => {
    const counts = [];
    for (const simplify_m of [0, 500, 5000]) {
      const { tiers } = await swaths(`date=${REAL_DATE}&simplify_m=${simplify_m}`);
      for (const { geometry } of tiers) t.is(isValidMultiPolygon(geometry.coordinates), null);
      counts.push(tiers.reduce((sum, { geometry }) => sum + geometry.coordinates.flat(2).length, 0));
    }
    t.deepEqual(
      counts,
      counts.toSorted((a, b) => b - a),
    );
  },
);

test('GET /v1/hail/swaths answers the same question asked many times at once with the same bytes', async (t) => {
  const texts = await Promise.all(
    Array.from({ length: 20 }, async () => (await service.call(`${SWATHS}?date=${DAY}&simplify_m=777`)).text()),
  );
  t.is(new Set(texts).size, 1);
});
