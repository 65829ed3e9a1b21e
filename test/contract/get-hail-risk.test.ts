import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { coverage } from '../../api/routes/coverage.ts';
import { hailRisk } from '../../api/routes/hail-risk.ts';
import { HailRisk } from '../../schemas/resources/risk.ts';
import { climatologyRow, publishClimatologyRows } from '../support/data/climatology.ts';
import { publishBlockage, raysOfKtlx } from '../support/data/terrain.ts';
import { scratch } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const RISK = '/v1/hail/risk';
const NORMAN = 'lat=35.18&lon=-97.44';

async function serviceOver(t: ExecutionContext, data_root: string): Promise<RunningService> {
  const service = await startService({ endpoints: [hailRisk, coverage], data_root });
  t.teardown(async () => {
    await service.close();
    if (service.failures.length > 0) throw service.failures[0];
  });
  return service;
}

/** A service over a climatology of one cell, which is all that its answer depends on. */
async function overCell(
  t: ExecutionContext,
  fields: Parameters<typeof climatologyRow>[0] = {},
): Promise<RunningService & { data_root: string }> {
  const data_root = await scratch(t);
  const row = climatologyRow(fields);
  await publishClimatologyRows(data_root, [row], row.data_source);
  return Object.assign(await serviceOver(t, data_root), { data_root });
}

async function ask(service: RunningService, query = NORMAN): Promise<HailRisk> {
  const response = await service.call(`${RISK}?${query}`);
  if (response.status !== 200) throw new Error(`risk answers ${response.status} ${await response.text()}`);
  return HailRisk.parse(await response.json());
}

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
  t.deepEqual(
    monthly.map(({ month }) => month),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  );
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
  const { annual, note } = await ask(await overCell(t, { prior_share: 0.97, storm_dates: 1, years_of_data: 0 }));
  t.is(annual?.years_of_data, 0);
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
  const service = await serviceOver(t, await scratch(t));
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
  const service = await startService({ endpoints: [hailRisk], data_root });
  t.teardown(() => service.close());
  const response = await service.call(`${RISK}?${NORMAN}`);
  t.is(response.status, 500);
  t.like(await response.json(), { error: 'internal_error' });
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

test('GET /v1/hail/risk costs 5 credits, a 304 too, and a refusal nothing', async (t) => {
  const service = await overCell(t);
  const before = await creditsUsed(service);
  const response = await service.call(`${RISK}?${NORMAN}`);
  await response.text();
  t.is((await creditsUsed(service)) - before, 5);
  await service.call(`${RISK}?${NORMAN}`, { headers: { 'If-None-Match': response.headers.get('ETag') ?? '' } });
  t.is((await creditsUsed(service)) - before, 10);
  await service.call(RISK);
  t.is((await creditsUsed(service)) - before, 10);
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
  test(`GET /v1/hail/risk refuses '${query}', and begins with what is at fault`, async (t) => {
    const response = await (await overCell(t)).call(`${RISK}?${query}`);
    t.is(response.status, 400);
    const { error, message } = (await response.json()) as { error: string; message: string };
    t.is(error, 'invalid_parameter');
    t.true(message.startsWith(start), message);
  });

test('GET /v1/hail/risk hints that lat and lon look swapped', async (t) => {
  const response = await (await overCell(t)).call(`${RISK}?lat=-97.44&lon=35.18`);
  t.regex(((await response.json()) as { message: string }).message, /lat and lon look swapped/);
});
