import test, { type ExecutionContext } from 'ava';
import { getHailOutlook } from '../../api/routes/hail-outlook.ts';
import { destination, distanceKm } from '../../schemas/geo/distance.ts';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { HailOutlook } from '../../schemas/resources/outlook.ts';
import type { Outlook } from '../../schemas/tables/forecast.ts';
import { centreOf, HOURLY_PCT, outlookRows, publishOutlook } from '../support/data/model-rows.ts';
import { scratch } from '../support/data/world.ts';
import { declareRefusals, serveAt } from '../support/service/clocked-service.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import type { RunningService } from '../support/service/service.ts';
import { parsed } from './answers.ts';

const OUTLOOK = '/v1/hail/outlook';
const NOW_MS = Date.parse('2026-05-01T13:00:00Z');
const TODAY = '2026-05-01';
const CELL = { geohash4: '9y68' } as const;
const CENTRE = centreOf(CELL.geohash4);
/** In the cell, and far from any. */
const [IN, OUT] = [
  { lat: 35.22, lon: -97.44 },
  { lat: 51.5, lon: -0.1 },
];
const ROWS = outlookRows(CELL, TODAY);

async function serve(t: ExecutionContext, rows: readonly Outlook[] | null = ROWS, now_ms = NOW_MS) {
  const data_root = await scratch(t);
  if (rows !== null) await publishOutlook(data_root, rows, now_ms);
  return serveAt(t, getHailOutlook, data_root, now_ms);
}

const ask = (service: RunningService, { lat, lon } = IN, more = '') =>
  parsed(service.call(`${OUTLOOK}?lat=${lat}&lon=${lon}${more}`), HailOutlook);

async function sourceOf(service: RunningService, { lat, lon } = IN): Promise<string | null> {
  return (await service.call(`${OUTLOOK}?lat=${lat}&lon=${lon}`)).headers.get('X-Data-Source');
}

const NOT_COVERED = { covered: false, cell: null, outlook: [] };
const datesOf = ({ outlook }: HailOutlook) => outlook.map(({ forecast_date }) => forecast_date);

test('GET /v1/hail/outlook answers seven days of the cell with every field, rounded', async (t) => {
  const [first, ...others] = ROWS as [Outlook, ...Outlook[]];
  const rounding = {
    hail_probability_pct: 20.649,
    spc_pct: 30.04,
    hrrr_pct: 15.06,
    climo_pct: 2.54,
    confidence_score: 0.81249,
  };
  const service = await serve(t, [{ ...first, ...rounding }, ...others]);
  const answer = await ask(service, { lat: 35.223456789, lon: -97.44 });
  const threeDays = { ...answer, outlook: answer.outlook.slice(0, 3) };
  t.deepEqual(threeDays, {
    location: { lat: 35.22346, lon: -97.44 },
    covered: true,
    cell: {
      geohash4: '9y68',
      distance_km: Math.round(100 * distanceKm({ lat: 35.223456789, lon: -97.44 }, CENTRE)) / 100,
    },
    outlook: [
      {
        day: 1,
        forecast_date: '2026-05-01',
        hail_probability: 20.6,
        confidence: { score: 0.812, state: 'high' },
        primary_source: 'spc',
        components: { spc_pct: 30, hrrr_pct: 15.1, climo_pct: 2.5 },
        hourly: HOURLY_PCT,
      },
      {
        day: 2,
        forecast_date: '2026-05-02',
        hail_probability: 20.6,
        confidence: { score: 0.7, state: 'high' },
        primary_source: 'spc',
        components: { spc_pct: 30, hrrr_pct: 15, climo_pct: 2.5 },
        hourly: null,
      },
      {
        day: 3,
        forecast_date: '2026-05-03',
        hail_probability: 20.6,
        confidence: { score: 0.7, state: 'high' },
        primary_source: 'spc',
        components: { spc_pct: 30, hrrr_pct: null, climo_pct: 2.5 },
        hourly: null,
      },
    ],
    data_as_of: '2026-05-01T13:00:00Z',
  });
  const days = answer.outlook.map(({ day }) => day);
  t.deepEqual(days, [1, 2, 3, 4, 5, 6, 7]);
});

test('GET /v1/hail/outlook has 24 hours on day 1, whose complements multiply to that of the day, and none later', async (t) => {
  const { outlook } = await ask(await serve(t));
  const [hours, ...later] = outlook.map(({ hourly }) => hourly);
  t.is(hours?.length, 24);
  const none = (hours ?? []).reduce((product, pct) => product * (1 - pct / 100), 1);
  t.true(Math.abs(100 * (1 - none) - (outlook[0]?.hail_probability ?? 0)) < 0.01);
  t.deepEqual(later, [null, null, null, null, null, null]);
});

test('GET /v1/hail/outlook passes on a component that is not known as null, and calls climatology alone low in files of earlier versions, too', async (t) => {
  const words = { primary_source: 'climatology', confidence_state: null } as const;
  const alone = { ...words, spc_pct: null, hrrr_pct: null, confidence_score: 0.2 };
  const { outlook } = await ask(await serve(t, outlookRows({ ...CELL, ...alone }, TODAY)));
  t.like(outlook[0], {
    components: { spc_pct: null, hrrr_pct: null, climo_pct: 2.5 },
    confidence: { score: 0.2, state: 'low' },
    primary_source: 'climatology',
  });
});

test('GET /v1/hail/outlook leaves out a day of which nothing is known', async (t) => {
  const answer = await ask(await serve(t, outlookRows(CELL, TODAY, 3)));
  t.deepEqual(datesOf(answer), ['2026-05-01', '2026-05-02', '2026-05-03']);
});

for (const [query, reach_km] of [
  ['', 50],
  ['&radius_km=3', 3],
  ['&radius_km=200', 200],
] as const)
  test(`GET /v1/hail/outlook with '${query}' looks ${reach_km} km far, by the geodesic distance to the centre of the cell`, async (t) => {
    const service = await serve(t);
    for (const bearing_deg of [0, 77, 180, 270]) {
      const inside = await ask(service, destination(CENTRE, bearing_deg, reach_km - 0.01), query);
      t.true(inside.covered);
      t.deepEqual(inside.cell, { geohash4: '9y68', distance_km: reach_km - 0.01 });
      t.like(await ask(service, destination(CENTRE, bearing_deg, reach_km + 0.01), query), NOT_COVERED);
    }
  });

test('GET /v1/hail/outlook answers the nearest cell of all that are covered, as measuring each of them finds it', async (t) => {
  const cells = CONUS_CELLS.filter(({ lat, lon }) => lat > 33 && lat < 37 && lon > -100 && lon < -95);
  const covered = cells.filter((_, index) => index % 7 < 2);
  const rows = covered.flatMap(({ geohash4 }) => outlookRows({ geohash4 }, TODAY, 1));
  const service = await serve(t, rows);
  for (let k = 0; k < 40; k++) {
    const point = { lat: 33.5 + 3 * ((k * 0.7548776662) % 1), lon: -99.5 + 4 * ((k * 0.569840291) % 1) };
    const near = covered
      .map((cell) => ({ geohash4: cell.geohash4, km: distanceKm(point, cell) }))
      .reduce((best, one) => (one.km < best.km ? one : best));
    const { cell } = await ask(service, point, '&radius_km=200');
    t.deepEqual(cell, { geohash4: near.geohash4, distance_km: Math.round(100 * near.km) / 100 });
  }
});

test('GET /v1/hail/outlook drops a day at the 12 UTC at which it is over, and keeps the numbers and dates of the others', async (t) => {
  const service = await serve(t);
  service.clock.ms = Date.parse('2026-05-02T11:59:59.999Z');
  t.is(datesOf(await ask(service))[0], '2026-05-01');
  service.clock.ms = Date.parse('2026-05-02T12:00:00Z');
  const { outlook, data_as_of } = await ask(service);
  t.like(outlook[0], { day: 2, forecast_date: '2026-05-02', hourly: null });
  t.is(outlook.length, 6);
  t.is(data_as_of, '2026-05-01T13:00:00Z', 'its age shows');
});

test('GET /v1/hail/outlook covers nothing once all of its days are over, and tells how old it is', async (t) => {
  const service = await serve(t);
  service.clock.ms = Date.parse('2026-05-08T11:59:59Z');
  t.deepEqual(datesOf(await ask(service)), ['2026-05-07']);
  service.clock.ms = Date.parse('2026-05-08T12:00:00Z');
  t.deepEqual(await ask(service), { location: IN, ...NOT_COVERED, data_as_of: '2026-05-01T13:00:00Z' });
});

test('GET /v1/hail/outlook takes no cell for covered whose days are over, though it is the nearest', async (t) => {
  const service = await serve(t, [...outlookRows(CELL, TODAY, 1), ...outlookRows({ geohash4: '9y69' }, TODAY, 2)]);
  t.is((await ask(service)).cell?.geohash4, '9y68');
  service.clock.ms = Date.parse('2026-05-02T12:00:00Z');
  t.is((await ask(service)).cell?.geohash4, '9y69');
});

test('GET /v1/hail/outlook answers not covered where no cell is near', async (t) => {
  const service = await serve(t);
  for (const point of [OUT, { lat: 90, lon: 180 }, { lat: -90, lon: -180 }])
    t.deepEqual(await ask(service, point), { location: point, ...NOT_COVERED, data_as_of: '2026-05-01T13:00:00Z' });
  t.is(await creditsUsed(service), 45);
});

test('GET /v1/hail/outlook answers not covered, without an age, and is charged where none was ever published', async (t) => {
  const service = await serve(t, null);
  t.deepEqual(await ask(service), { location: IN, ...NOT_COVERED, data_as_of: null });
  t.is(await creditsUsed(service), 15);
  t.is(await sourceOf(service), null);
});

test('GET /v1/hail/outlook says of each answer who made the components of its days', async (t) => {
  const rows = [
    ...ROWS,
    ...outlookRows({ geohash4: '9y69', data_source: 'simulated' }, TODAY),
    ...outlookRows({ geohash4: '9y6d', data_source: 'mixed' }, TODAY),
  ];
  const service = await serve(t, rows);
  t.is(await sourceOf(service, CENTRE), 'observed');
  t.is(await sourceOf(service, centreOf('9y69')), 'simulated');
  t.is(await sourceOf(service, centreOf('9y6d')), 'mixed');
  t.is(await sourceOf(service, OUT), 'mixed');
});

test('GET /v1/hail/outlook keeps its tag until a day is over or another outlook is in, and charges a 304 its 15 credits', async (t) => {
  const service = await serve(t);
  const path = `${OUTLOOK}?lat=${IN.lat}&lon=${IN.lon}`;
  const tagOf = async () => (await service.call(path)).headers.get('ETag') ?? '';
  const statusWith = async (tag: string) => (await service.call(path, { headers: { 'If-None-Match': tag } })).status;
  const first = await tagOf();
  service.clock.ms += 3_600_000;
  t.is(await statusWith(first), 304);
  t.is(await creditsUsed(service), 30);
  service.clock.ms = Date.parse('2026-05-02T12:00:00Z');
  t.is(await statusWith(first), 200);
  const second = await tagOf();
  await publishOutlook(service.data_root, outlookRows(CELL, '2026-05-02'), service.clock.ms);
  await service.services.catalog.refresh();
  t.is(await statusWith(second), 200);
  t.like(await ask(service), { outlook: { 0: { day: 1, forecast_date: '2026-05-02' } } });
});

declareRefusals(getHailOutlook, NOW_MS, [
  '',
  'lat=35',
  'lon=-97',
  'lat=-91&lon=0',
  'lat=35&lon=181',
  'lat=&lon=',
  'lat=35&lon=-97&radius_km=0',
  'lat=35&lon=-97&radius_km=-1',
  'lat=35&lon=-97&radius_km=200.1',
  'lat=35&lon=-97&radius_km=',
  'lat=35&lon=-97&radius_km=x',
  'lat=35&lon=-97&radius_km=5&radius_km=6',
]);
