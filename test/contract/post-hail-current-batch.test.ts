import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { hailCurrent, hailCurrentBatch } from '../../api/routes/hail-current.ts';
import { BatchResult, HailBatch, HailBatchEstimate } from '../../schemas/resources/hail-batch.ts';
import { HailCurrent } from '../../schemas/resources/hail-cell.ts';
import { midnight, publish, SCRATCH } from '../support/data/world.ts';
import { limitKey, openAccount } from '../support/service/account.ts';
import { changePlan, creditsUsed, sending } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const PATH = '/v1/hail/current/batch';
const NOW_MS = Date.parse('2026-05-02T00:20:30Z');
const data_root = mkdtempSync(join(SCRATCH, 'hail-batch-'));
const endpoints = [hailCurrent, hailCurrentBatch];
let service: RunningService;

test.before(async () => {
  await publish(data_root, await midnight());
  service = await startService({ endpoints, data_root, now_ms: NOW_MS });
});
test.after.always(async (t) => {
  t.deepEqual(service.failures, []);
  await service.close();
  rmSync(data_root, { recursive: true, force: true });
});

const send = (body: unknown, query = '') => service.call(`${PATH}${query}`, sending('POST', body));
async function ask(locations: readonly unknown[]) {
  const response = await send({ locations });
  if (response.status !== 200) throw new Error(`batch answers ${response.status} ${await response.text()}`);
  return HailBatch.parse(await response.json());
}

const PLACES = [
  { lat: 35.2, lon: -97, radius_km: 150 },
  { lat: 35.4, lon: -97.3 },
  { lat: 45, lon: -80, radius_km: 10 },
  { lat: 35.0, lon: -96.6, radius_km: 20 },
];

test.serial('POST /v1/hail/current/batch answers each location as GET /v1/hail/current does', async (t) => {
  const { results, count, active_count } = await ask(PLACES);
  for (const [index, { lat, lon, radius_km }] of PLACES.entries()) {
    const query = `lat=${lat}&lon=${lon}${radius_km === undefined ? '' : `&radius_km=${radius_km}`}`;
    const { summary, cells } = HailCurrent.parse(await service.json(`/v1/hail/current?${query}`));
    const expected = { id: null, lat, lon, active: summary.total_cells > 0 };
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

test.serial(
  'POST /v1/hail/current/batch echoes ids byte for byte, keeps the order and allows duplicates',
  async (t) => {
    const ids = ['ü 🌩 "x"', '', 'same', 'same', null, undefined];
    const { results } = await ask(ids.map((id) => ({ lat: 35, lon: -97, id })));
    t.deepEqual(
      results.map(({ id }) => id),
      ['ü 🌩 "x"', '', 'same', 'same', null, null],
    );
  },
);

test.serial('POST /v1/hail/current/batch leaves the size fields of an inactive location out', async (t) => {
  const { results } = await ask([{ lat: 45, lon: -80, radius_km: null }]);
  t.deepEqual(results, [{ id: null, lat: 45, lon: -80, active: false }]);
  t.true(BatchResult.safeParse(results[0]).success);
});

test.serial('POST /v1/hail/current/batch costs 8 credits per location', async (t) => {
  for (const count of [1, 7, 50]) {
    const before = await creditsUsed(service);
    await ask(Array.from({ length: count }, () => ({ lat: 35, lon: -97 })));
    t.is((await creditsUsed(service)) - before, 8 * count);
  }
});

test.serial('POST /v1/hail/current/batch carries data_timestamp, no ETag, and no-store', async (t) => {
  const response = await send({ locations: PLACES });
  t.is(response.headers.get('etag'), null);
  t.is(response.headers.get('cache-control'), 'no-store');
  t.is(response.headers.get('x-data-source'), 'simulated');
  t.truthy(HailBatch.parse(await response.json()).data_timestamp);
});

test.serial('POST /v1/hail/current/batch?estimate=true says the exact cost, runs nothing and is free', async (t) => {
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

test.serial(
  'POST /v1/hail/current/batch?estimate=true tells what is left, and when the cap would be passed',
  async (t) => {
    const capped = await startService({ endpoints, data_root, now_ms: NOW_MS });
    t.teardown(() => capped.close());
    await changePlan(capped, { monthly_limit: 100, spend_cap: 60, overage_policy: 'block' });
    const batch = (locations: readonly unknown[], query = '') =>
      capped.call(`${PATH}${query}`, sending('POST', { locations }));
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
    t.is((await capped.call(PATH, { ...sending('POST', { locations: [PLACES[0]] }), ...key })).status, 200);
    const ofKey = { ...sending('POST', { locations: [PLACES[0], PLACES[0]] }), ...key };
    t.like(await (await capped.call(`${PATH}?estimate=true`, ofKey)).json(), { until_cap: 8, would_exceed_cap: true });
  },
);

const at = (fields: object, index = 0) =>
  Array.from({ length: index + 1 }, (_, k) => ({ lat: 35, lon: -97, ...(k === index ? fields : {}) }));
for (const [what, body, pointer] of [
  ['without locations', {}, '/locations'],
  ['without any location', { locations: [] }, '/locations'],
  ['of 51 locations', { locations: at({}, 50) }, '/locations'],
  ['with a latitude of 91 in the eighth', { locations: at({ lat: 91 }, 7) }, '/locations/7/lat'],
  ['with a longitude as text', { locations: at({ lon: '-97' }) }, '/locations/0/lon'],
  ['with a radius of 0', { locations: at({ radius_km: 0 }) }, '/locations/0/radius_km'],
  ['with a radius of 151', { locations: at({ radius_km: 151 }) }, '/locations/0/radius_km'],
  ['with a number as id', { locations: at({ id: 7 }) }, '/locations/0/id'],
] as const)
  for (const query of ['', '?estimate=true'])
    test.serial(`POST /v1/hail/current/batch${query} ${what} is 400 bad_request at ${pointer}, and free`, async (t) => {
      const before = await creditsUsed(service);
      const response = await send(body, query);
      t.is(response.status, 400);
      const { error, message } = (await response.json()) as { error: string; message: string };
      t.is(error, 'bad_request');
      t.true(message.startsWith(pointer), message);
      t.is(await creditsUsed(service), before);
    });

test.serial('POST /v1/hail/current/batch?estimate=yes is 400 invalid_parameter', async (t) => {
  const response = await send({ locations: PLACES }, '?estimate=yes');
  t.is(response.status, 400);
  t.is(((await response.json()) as { error: string }).error, 'invalid_parameter');
});

test.serial('POST /v1/hail/current/batch needs the scope hail:read', (t) => {
  t.is(hailCurrentBatch.scope, 'hail:read');
});
