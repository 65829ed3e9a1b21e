import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { hoursAhead } from '../../api/rules/hours-ahead.ts';
import { destination, distanceKm } from '../../schemas/geo/distance.ts';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { HailOutlook } from '../../schemas/resources/outlook.ts';
import type { Outlook } from '../../schemas/tables/forecast.ts';
import { centreOf, forecastRows, outlookRows, publishForecast, publishOutlook } from '../support/data/model-rows.ts';
import { scratch } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, serviceFor } from '../support/service/service.ts';
import { declareRefusals, parsed } from './answers.ts';

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
  return serviceFor(t, { data_root, now_ms });
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
        ...hoursAhead(20.649, CENTRE.lon, new Array(24).fill(null), 1),
      },
      {
        day: 2,
        forecast_date: '2026-05-02',
        hail_probability: 20.6,
        confidence: { score: 0.7, state: 'high' },
        primary_source: 'spc',
        components: { spc_pct: 30, hrrr_pct: 15, climo_pct: 2.5 },
        remaining_probability: null,
        hourly: null,
      },
      {
        day: 3,
        forecast_date: '2026-05-03',
        hail_probability: 20.6,
        confidence: { score: 0.7, state: 'high' },
        primary_source: 'spc',
        components: { spc_pct: 30, hrrr_pct: null, climo_pct: 2.5 },
        remaining_probability: null,
        hourly: null,
      },
    ],
    data_as_of: '2026-05-01T13:00:00Z',
  });
  const days = answer.outlook.map(({ day }) => day);
  t.deepEqual(days, [1, 2, 3, 4, 5, 6, 7]);
});

/** One minus the product of the complements of the hours, percent. */
const together = (hourly: readonly (number | null)[] | null) =>
  100 * (1 - (hourly ?? []).reduce((none: number, pct) => none * (1 - (pct ?? 0) / 100), 1));

test('GET /v1/hail/outlook has 24 hours on day 1: null once they are over, the others multiply to what remains', async (t) => {
  const service = await serve(t);
  // Of 20.6 % there remain, by the course of hail over a day at 97.4 W: .922 of the rate at 18 UTC, half at 00, .0086 at 11.
  for (const [at, over, remaining_pct] of [
    ['2026-05-01T12:59:59Z', 0, 20.6],
    ['2026-05-01T18:00:00Z', 6, 19.17],
    ['2026-05-02T00:30:00Z', 12, 10.89],
    ['2026-05-02T11:59:59Z', 23, 0.2],
  ] as const) {
    service.clock.ms = Date.parse(at);
    const [first, ...later] = (await ask(service)).outlook;
    t.deepEqual(
      first?.hourly?.map((pct) => pct === null),
      Array.from({ length: 24 }, (_, k) => k < over),
    );
    t.true(Math.abs((first?.remaining_probability ?? 0) - remaining_pct) < 0.06, `${first?.remaining_probability}`);
    t.true(Math.abs(together(first?.hourly ?? null) - (first?.remaining_probability ?? 0)) < 0.002);
    for (const day of later) t.like(day, { remaining_probability: null, hourly: null });
  }
});

test('GET /v1/hail/outlook deals what remains out in the shape of the forecast, of the file as it is hours later, too', async (t) => {
  const data_root = await scratch(t);
  await publishOutlook(data_root, ROWS, NOW_MS);
  const last = forecastRows({ ...CELL, hail_probability: 0.2 }, '2026-05-02T11:00:00Z', 1);
  const hours = forecastRows({ ...CELL, hail_probability: 0.1 }, '2026-05-01T13:00:00Z', 22);
  await publishForecast(data_root, [...hours, ...last], NOW_MS);
  const service = await serviceFor(t, { data_root, now_ms: Date.parse('2026-05-02T10:10:00Z') });
  const [day] = (await ask(service)).outlook;
  // Two hours are left, with .1 and .2: the likelier one remains, and -ln(.8) is shared as -ln(.9) to -ln(.8).
  t.is(day?.remaining_probability, 20);
  t.deepEqual(day?.hourly?.slice(22), [6.9067, 14.0647]);
  service.clock.ms = Date.parse('2026-05-02T11:00:00Z');
  t.like((await ask(service)).outlook[0], {
    hail_probability: 20.6,
    remaining_probability: 20,
    hourly: { 22: null, 23: 20 },
  });
});

/** A day in percent and its hours, each no likelier than the day; null where the forecast has none. */
const DAY_AND_HOURS = fc.integer({ min: 1, max: 999 }).chain((tenths) => {
  const hour = fc.option(fc.integer({ min: 0, max: tenths }), { nil: null });
  return fc.tuple(fc.constant(tenths / 10), fc.array(hour, { minLength: 24, maxLength: 24 }));
});

test('no hour is likelier than in the forecast, and what remains is as likely as any of them and never more than the day', (t) => {
  const property = fc.property(
    DAY_AND_HOURS,
    fc.integer({ min: -125, max: -66 }),
    fc.integer({ min: 0, max: 23 }),
    ([day, pcts], lon, over) => {
      const forecast = pcts.map((pct, k) => (pct === null || k < over ? null : pct / 1000));
      const { remaining_probability: rest, hourly } = hoursAhead(day, lon, forecast, over);
      const isBounded = hourly.every(
        (pct, k) => (pct === null) === k < over && (pct ?? 0) <= 100 * (forecast[k] ?? 1) + 1e-4,
      );
      const largest = 100 * Math.max(0, ...forecast.map((p) => p ?? 0));
      return isBounded && rest <= day + 1e-4 && rest >= largest - 1e-3 && Math.abs(together(hourly) - rest) < 0.002;
    },
  );
  t.notThrows(() => fc.assert(property, { numRuns: 1000 }));
});

test('without a forecast the hours peak in the late afternoon, with one where it has its storms', (t) => {
  const peak = (hours: readonly (number | null)[]) => {
    const { hourly } = hoursAhead(10, -97.5, hours, 0);
    return (12 + hourly.indexOf(Math.max(...hourly.map((pct) => pct ?? 0)))) % 24;
  };
  t.is(peak(new Array(24).fill(null)), 23);
  t.is(peak(Array.from({ length: 24 }, (_, k) => (k === 18 ? 0.09 : 0.001))), 6);
});

test('the one hour that the forecast lacks has at most its usual part of what remains', (t) => {
  const hours = Array.from({ length: 24 }, (_, k) => (k === 23 ? null : 0.002));
  // Of 20 % at 97.5 W there usually remain 0.2 % at 11 UTC, an hour before the day ends.
  t.true((hoursAhead(20, -97.5, hours, 6).hourly[23] ?? 100) < 0.25);
});

test('GET /v1/hail/outlook passes on a component that is not known as null', async (t) => {
  const words = { primary_source: 'climatology', confidence_state: 'low' } as const;
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
  t.like(outlook[0], { day: 2, forecast_date: '2026-05-02', remaining_probability: null, hourly: null });
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

test('GET /v1/hail/outlook keeps its tag until an hour is over or another outlook is in, and charges a 304 its 15 credits', async (t) => {
  const service = await serve(t);
  const path = `${OUTLOOK}?lat=${IN.lat}&lon=${IN.lon}`;
  const tagOf = async () => (await service.call(path)).headers.get('ETag') ?? '';
  const statusWith = async (tag: string) => (await service.call(path, { headers: { 'If-None-Match': tag } })).status;
  const first = await tagOf();
  service.clock.ms += 3_599_999;
  t.is(await statusWith(first), 304);
  t.is(await creditsUsed(service), 30);
  service.clock.ms += 1;
  t.is(await statusWith(first), 200);
  service.clock.ms = Date.parse('2026-05-02T12:00:00Z');
  const second = await tagOf();
  await publishOutlook(service.data_root, outlookRows(CELL, '2026-05-02'), service.clock.ms);
  await service.services.catalog.refresh();
  t.is(await statusWith(second), 200);
  t.like(await ask(service), { outlook: { 0: { day: 1, forecast_date: '2026-05-02' } } });
});

declareRefusals(OUTLOOK, NOW_MS, [
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
