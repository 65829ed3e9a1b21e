import test, { type ExecutionContext } from 'ava';
import { HailForecast } from '../../schemas/resources/forecast.ts';
import type { Forecast } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, timestamp } from '../../schemas/time.ts';
import { centreOf, forecastRows, publishForecast } from '../support/data/model-rows.ts';
import { scratch } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, serviceFor } from '../support/service/service.ts';
import { declareRefusals, parsed } from './answers.ts';

const FORECAST = '/v1/hail/forecast';
const NOW_MS = Date.parse('2026-05-01T20:12:00Z');
const RUN = '2026-05-01T18:00:00Z';
/** In the cell, and far from any. */
const [IN, OUT] = [
  { lat: 35.22, lon: -97.44 },
  { lat: 51.5, lon: -0.1 },
];
const CELL = { geohash4: '9y68' } as const;
/** Hours of a run that reaches two days ahead. */
const ROWS = forecastRows(CELL, RUN, 48);

async function serve(t: ExecutionContext, rows: readonly Forecast[] | null = ROWS, now_ms = NOW_MS) {
  const data_root = await scratch(t);
  if (rows !== null) await publishForecast(data_root, rows, now_ms);
  return serviceFor(t, { data_root, now_ms });
}

const ask = (service: RunningService, { lat, lon } = IN, more = '') =>
  parsed(service.call(`${FORECAST}?lat=${lat}&lon=${lon}${more}`), HailForecast);

async function sourceOf(service: RunningService, { lat, lon } = IN): Promise<string | null> {
  return (await service.call(`${FORECAST}?lat=${lat}&lon=${lon}`)).headers.get('X-Data-Source');
}

const timesOf = ({ hourly }: HailForecast) => hourly.map(({ valid_time }) => valid_time);
const NO_RUN = { name: null, run_time: null, source: null };
const HRRR = { name: 'hrrr', run_time: RUN, source: 'NOAA/NCEP HRRR, time-lagged runs' };

test('GET /v1/hail/forecast answers each hour of the cell of the point with every field, rounded', async (t) => {
  const [first, second] = forecastRows(CELL, '2026-05-01T20:00:00Z', 2);
  const service = await serve(t, [
    {
      ...(first as Forecast),
      hail_probability: 0.18349,
      estimated_size_mm: 31.44,
      risk_category: 'elevated',
      risk_score: 47,
    },
    {
      ...(second as Forecast),
      hail_probability: 0.0141,
      estimated_size_mm: null,
      risk_category: 'minimal',
      risk_score: 4,
    },
  ]);
  const likeliest = {
    valid_time: '2026-05-01T21:00:00Z',
    hail_probability: 0.183,
    estimated_size_mm: 31.4,
    risk_category: 'elevated',
  } as const;
  t.deepEqual(await ask(service, { lat: 35.223456789, lon: -97.44 }), {
    location: { lat: 35.22346, lon: -97.44, geohash4: '9y68' },
    model: { ...HRRR, run_time: '2026-05-01T20:00:00Z' },
    peak: likeliest,
    hourly: [
      { ...likeliest, risk_score: 47 },
      {
        valid_time: '2026-05-01T22:00:00Z',
        hail_probability: 0.014,
        estimated_size_mm: null,
        risk_category: 'minimal',
        risk_score: 4,
      },
    ],
    count: 2,
  });
});

test('GET /v1/hail/forecast answers 24 hours unless told otherwise, from the first that ends after now', async (t) => {
  const answer = await ask(await serve(t));
  t.is(answer.count, 24);
  t.deepEqual([timesOf(answer)[0], timesOf(answer).at(-1)], ['2026-05-01T21:00:00Z', '2026-05-02T20:00:00Z']);
});

for (const [hours, last] of [
  [1, '2026-05-01T21:00:00Z'],
  [12, '2026-05-02T08:00:00Z'],
] as const)
  test(`GET /v1/hail/forecast with hours=${hours} answers as many`, async (t) => {
    const answer = await ask(await serve(t), IN, `&hours=${hours}`);
    t.is(answer.count, hours);
    t.is(answer.hourly.length, hours);
    t.is(timesOf(answer).at(-1), last);
  });

test('GET /v1/hail/forecast with hours=48 ends where the run ends, and count tells', async (t) => {
  const answer = await ask(await serve(t), IN, '&hours=48');
  t.is(answer.count, 46);
  t.is(timesOf(answer).at(-1), '2026-05-03T18:00:00Z');
  const longer = await ask(await serve(t, forecastRows(CELL, '2026-05-01T20:00:00Z', 50)), IN, '&hours=48');
  t.is(longer.count, 48);
});

test('GET /v1/hail/forecast leaves an hour out as soon as it has ended', async (t) => {
  const service = await serve(t);
  service.clock.ms = Date.parse('2026-05-01T20:59:59.999Z');
  t.is(timesOf(await ask(service))[0], '2026-05-01T21:00:00Z');
  service.clock.ms = Date.parse('2026-05-01T21:00:00Z');
  const answer = await ask(service);
  t.is(timesOf(answer)[0], '2026-05-01T22:00:00Z');
  t.is(answer.count, 24);
});

test('GET /v1/hail/forecast fills no gap: an hour that no run reached is left out', async (t) => {
  const gap = Date.parse('2026-05-01T22:00:00Z');
  const service = await serve(
    t,
    ROWS.filter(({ valid_time }) => valid_time !== gap),
  );
  const answer = await ask(service, IN, '&hours=3');
  t.deepEqual(timesOf(answer), ['2026-05-01T21:00:00Z', '2026-05-01T23:00:00Z']);
  t.is(answer.count, 2);
});

test('GET /v1/hail/forecast has its peak at the largest probability, at the earliest of equals', async (t) => {
  const at = (hour: number) => Date.parse('2026-05-01T00:00:00Z') + hour * MS_PER_HOUR;
  const likely = new Map([
    [at(20), 0.9],
    [at(22), 0.31],
    [at(24), 0.3101],
    [at(25), 0.3101],
  ]);
  const rows = ROWS.map((row) => ({ ...row, hail_probability: likely.get(row.valid_time) ?? 0.1 }));
  const { peak, hourly } = await ask(await serve(t, rows));
  t.is(peak?.valid_time, '2026-05-02T00:00:00Z');
  const { risk_score: _, ...same } = hourly[3] as HailForecast['hourly'][number];
  t.deepEqual(peak, same);
});

test('GET /v1/hail/forecast passes on where the model gives nothing as null, and finds no peak there', async (t) => {
  const nothing = { hail_probability: null, estimated_size_mm: null, risk_category: null, risk_score: null };
  const rows = ROWS.map((row) => ({ ...row, ...nothing }));
  const silent = await ask(await serve(t, rows), IN, '&hours=2');
  t.deepEqual(silent.hourly[0], { valid_time: '2026-05-01T21:00:00Z', ...nothing });
  t.is(silent.peak, null);
  const zero = await ask(
    await serve(
      t,
      ROWS.map((row) => ({ ...row, hail_probability: 0 })),
    ),
    IN,
    '&hours=2',
  );
  t.like(zero.peak, { valid_time: '2026-05-01T21:00:00Z', hail_probability: 0 });
});

test('GET /v1/hail/forecast tells the newest run that went into its hours, though another cell has a newer one', async (t) => {
  const later = forecastRows(CELL, '2026-05-01T19:00:00Z', 6);
  const reached = new Set(later.map(({ valid_time }) => valid_time));
  const elsewhere = forecastRows({ geohash4: '9y69' }, '2026-05-01T20:00:00Z', 2);
  const service = await serve(t, [
    ...later,
    ...ROWS.filter(({ valid_time }) => !reached.has(valid_time)),
    ...elsewhere,
  ]);
  const answer = await ask(service);
  t.is(answer.model.run_time, '2026-05-01T19:00:00Z');
  t.is(answer.count, 24);
  t.deepEqual(timesOf(answer), timesOf(answer).toSorted());
  service.clock.ms = Date.parse('2026-05-02T01:00:00Z');
  t.is((await ask(service)).model.run_time, RUN, 'the hours of the newer run are over');
});

test('GET /v1/hail/forecast serves an old run with its old time, and no hour of it that is over', async (t) => {
  const service = await serve(t);
  service.clock.ms = Date.parse('2026-05-03T15:30:00Z');
  const answer = await ask(service);
  t.deepEqual(answer.model, HRRR);
  t.deepEqual(timesOf(answer), ['2026-05-03T16:00:00Z', '2026-05-03T17:00:00Z', '2026-05-03T18:00:00Z']);
  service.clock.ms = Date.parse('2026-05-03T18:00:00Z');
  t.deepEqual(await ask(service), {
    location: { ...IN, geohash4: '9y68' },
    model: HRRR,
    peak: null,
    hourly: [],
    count: 0,
  });
  t.is(await sourceOf(service), 'observed');
});

test('GET /v1/hail/forecast outside the area of the model has no hours, and tells the run all the same', async (t) => {
  const service = await serve(t);
  t.like(await ask(service, OUT), { model: HRRR, peak: null, hourly: [], count: 0 });
  t.is(await sourceOf(service, OUT), 'observed');
});

test('GET /v1/hail/forecast answers without a model and is charged where none was ever published', async (t) => {
  const service = await serve(t, null);
  t.deepEqual(await ask(service), {
    location: { ...IN, geohash4: '9y68' },
    model: NO_RUN,
    peak: null,
    hourly: [],
    count: 0,
  });
  t.is(await creditsUsed(service), 5);
  t.is(await sourceOf(service), null);
  const empty = await serve(t, []);
  t.deepEqual((await ask(empty)).model, NO_RUN);
});

for (const model of ['hrrr', 'rrfs', 'nam'] as const)
  test(`GET /v1/hail/forecast calls a simulated ${model} simulated, by name and by source`, async (t) => {
    const service = await serve(t, forecastRows({ ...CELL, model, data_source: 'simulated' }, RUN, 48));
    t.deepEqual((await ask(service)).model, {
      name: `simulated-${model}`,
      run_time: RUN,
      source: `simulated, in the format of ${model.toUpperCase()}`,
    });
    t.is(await sourceOf(service), 'simulated');
    t.is((await ask(service, OUT)).model.name, `simulated-${model}`);
  });

test('GET /v1/hail/forecast says of hours who made them, and calls them simulated as soon as one is', async (t) => {
  const rows = ROWS.map((row, k) => ({ ...row, data_source: k === 10 ? ('simulated' as const) : row.data_source }));
  const service = await serve(t, [...rows, ...forecastRows({ geohash4: '9y69' }, RUN, 48)]);
  t.is(await sourceOf(service), 'mixed');
  t.is((await ask(service)).model.name, 'simulated-hrrr');
  t.is(await sourceOf(service, centreOf('9y69')), 'observed');
});

test('GET /v1/hail/forecast tells a forecast as soon as it is published, one after the other', async (t) => {
  const service = await serve(t, null);
  for (const probability of [0.2, 0.3, 0.4, 0.5]) {
    const rows = forecastRows({ ...CELL, hail_probability: probability }, RUN, 48);
    await publishForecast(service.data_root, rows, service.clock.ms);
    await service.services.catalog.refresh();
    t.is((await ask(service)).peak?.hail_probability, probability);
  }
});

test('GET /v1/hail/forecast keeps its tag until an hour is over or another run is in, and charges a 304 its 5 credits', async (t) => {
  const service = await serve(t);
  const path = `${FORECAST}?lat=${IN.lat}&lon=${IN.lon}`;
  const tagOf = async () => (await service.call(path)).headers.get('ETag') ?? '';
  const statusWith = async (tag: string) => (await service.call(path, { headers: { 'If-None-Match': tag } })).status;
  const first = await tagOf();
  service.clock.ms += 60_000;
  t.is(await statusWith(first), 304);
  t.is(await creditsUsed(service), 10);
  service.clock.ms = Date.parse('2026-05-01T21:00:00Z');
  t.is(await statusWith(first), 200);
  const second = await tagOf();
  await publishForecast(service.data_root, forecastRows(CELL, '2026-05-01T20:00:00Z', 48), service.clock.ms);
  await service.services.catalog.refresh();
  t.is(await statusWith(second), 200);
  t.is((await ask(service)).model.run_time, timestamp(Date.parse('2026-05-01T20:00:00Z')));
});

declareRefusals(FORECAST, NOW_MS, [
  '',
  'lat=35',
  'lon=-97',
  'lat=91&lon=0',
  'lat=35&lon=-181',
  'lat=&lon=',
  'lat=35&lon=-97&hours=0',
  'lat=35&lon=-97&hours=49',
  'lat=35&lon=-97&hours=-1',
  'lat=35&lon=-97&hours=1.5',
  'lat=35&lon=-97&hours=',
  'lat=35&lon=-97&hours=x',
  'lat=35&lon=-97&hours=1&hours=2',
]);
