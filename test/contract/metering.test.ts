import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import { exportUsage, getUsage } from '../../api/routes/usage.ts';
import type { Usage } from '../../schemas/resources/usage.ts';
import { pluck } from '../support/data/rows.ts';
import { type Account, creditsOf, limitKey, openAccount } from '../support/service/account.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { type RunningService, SERVICE_NOW_MS, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { until } from '../support/until.ts';

const test = testWith(
  async () => {
    const samples = sampleEndpoints();
    return { samples, service: await startService({ endpoints: samples.endpoints }) };
  },
  (t, { service }) => closeWithoutFailures(t, service),
);
const VERSION = '/v1/sample/version';
const JSON_TYPE = { 'Content-Type': 'application/json' };

test('a call by count costs count x price in one row', async (t) => {
  const account = await openAccount(t.context.service);
  const locations = Array.from({ length: 7 }, () => ({ lat: 1, lon: 2 }));
  await t.context.service.call('/v1/sample/batch', {
    ...account,
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify({ locations }),
  });
  const rows = await t.context.service.records.reader
    .selectFrom('ledger')
    .selectAll()
    .where('business_id', '=', account.business_id)
    .execute();
  const charged = rows.map(({ operation, count, credits }) => ({ operation, count, credits }));
  t.deepEqual(charged, [{ operation: 'sample.batch', count: 7, credits: 56 }]);
});

test('exactly reaching the cap is allowed, one credit more is 429 spend_cap_exceeded until next month', async (t) => {
  const { service } = t.context;
  const account = await openAccount(service, { plan: { spend_cap: 25 } });
  t.is((await service.call('/v1/sample/point?lat=1&lon=1', account)).status, 200);
  t.is((await service.call(VERSION, account)).status, 200);
  const refused = await service.call(VERSION, account);
  t.is(refused.status, 429);
  const retry_after = refused.headers.get('Retry-After');
  t.is(retry_after, String((Date.parse('2026-06-01T00:00:00Z') - Date.parse('2026-05-02T00:55:00Z')) / 1000));
  t.is(((await refused.json()) as { error: string }).error, 'spend_cap_exceeded');
  t.is((await service.call('/v1/sample/items/known', account)).status, 200);
  t.is(await creditsOf(service, account.business_id), 25);
});

test('a key over its own cap is 429 spend_cap_exceeded, and the message says whose cap it is', async (t) => {
  const { service } = t.context;
  const account = await openAccount(service, { plan: { spend_cap: 500 } });
  await limitKey(service, account, 25);
  t.is((await service.call('/v1/sample/point?lat=1&lon=1', account)).status, 200);
  t.is((await service.call(VERSION, account)).status, 200);
  const writing = { ...account, method: 'POST', headers: JSON_TYPE, body: '{"name":"a"}' };
  for (const refused of [await service.call(VERSION, account), await service.call('/v1/sample/locations', writing)]) {
    t.is(refused.status, 429);
    t.like(await refused.json(), {
      error: 'spend_cap_exceeded',
      message: "the call would exceed the month's spend cap of this key",
    });
  }
  t.is(await creditsOf(service, account.business_id), 25);
});

test('a cap already reached is found before any work is done', async (t) => {
  const { service, samples } = t.context;
  const account = await openAccount(service, { plan: { spend_cap: 9 } });
  t.is((await service.call(VERSION, account)).status, 429);
  const written = (
    await service.call('/v1/sample/locations', { ...account, method: 'POST', headers: JSON_TYPE, body: '{"name":"a"}' })
  ).status;
  t.is(written, 429);
  t.is(samples.made.size, 0);
});

test('64 parallel writes at the last credits leave exactly as many rows as were paid', async (t) => {
  const { service } = t.context;
  const account = await openAccount(service, { plan: { spend_cap: 95 } });
  const post = (n: number) =>
    service.call('/v1/sample/locations', {
      ...account,
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify({ name: `n${n}` }),
    });
  const statuses = (await Promise.all(Array.from({ length: 64 }, (_, n) => post(n)))).map(({ status }) => status);
  t.is(statuses.filter((status) => status === 200).length, 9);
  const rows = await service.records.reader
    .selectFrom('portfolio_locations')
    .select('id')
    .where('business_id', '=', account.business_id)
    .execute();
  t.is(rows.length, 9);
  t.is(await creditsOf(service, account.business_id), 90);
});

test('a client that is gone before the answer is ready pays nothing', async (t) => {
  const { service, samples } = t.context;
  const account = await openAccount(service);
  const { promise, resolve } = Promise.withResolvers<void>();
  samples.gate = promise;
  const aborter = new AbortController();
  const call = service.call(VERSION, { ...account, signal: aborter.signal });
  await until(() => samples.made.size > 0);
  aborter.abort();
  await t.throwsAsync(call);
  await until(async () => (await connections(service)) === 0);
  resolve();
  t.is((await service.call('/v1/sample/items/known', account)).status, 200);
  t.is(await creditsOf(service, account.business_id), 0);
});

function connections({ server }: RunningService): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}

const testRate = testWith(
  async () => ({ service: await startService({ endpoints: sampleEndpoints().endpoints }) }),
  (t, { service }) => closeWithoutFailures(t, service),
);
const FREE = '/v1/sample/items/known';
const HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit', 'RateLimit-Policy'];

testRate('the 61st request of a minute is 429 rate_limited with Retry-After', async (t) => {
  const { key } = await openAccount(t.context.service, { plan: { rate_per_minute: 60 } });
  for (let n = 0; n < 60; n++) {
    const reply = await t.context.service.call(FREE, { key });
    t.is(reply.status, 200);
    t.is(reply.headers.get('X-RateLimit-Remaining'), String(59 - n));
  }
  const refused = await t.context.service.call(FREE, { key });
  t.is(refused.status, 429);
  t.is(((await refused.json()) as { error: string }).error, 'rate_limited');
  const [wait_s, reset_s] = ['Retry-After', 'X-RateLimit-Reset'].map((name) => Number(refused.headers.get(name)));
  t.true(wait_s! > 0 && wait_s! <= 60);
  t.true(Math.abs(reset_s! - Date.now() / 1000 - wait_s!) < 5);
  t.is(refused.headers.get('RateLimit'), `"key";r=0;t=${wait_s}`);
});

testRate('every kind of answer carries both header families', async (t) => {
  const { service } = t.context;
  const replies = await Promise.all([
    service.call(FREE),
    service.call(FREE, { method: 'HEAD' }),
    service.call(FREE, { method: 'OPTIONS', key: null }),
    service.call(FREE, { key: null }),
    service.call(FREE, { key: 'hs_live_nonsense' }),
    service.call('/v1/nothing'),
    service.call('/v1/sample/point?lat=x&lon=1'),
    service.call(FREE, { method: 'PUT' }),
    service.call(FREE, { key: service.test_key }),
  ]);
  t.deepEqual(pluck(replies, 'status'), [200, 200, 204, 401, 401, 404, 400, 405, 403]);
  for (const reply of replies) for (const name of HEADERS) t.truthy(reply.headers.get(name), `${reply.status} ${name}`);
});

testRate('free calls, refusals and 304 count, answers without a key do not', async (t) => {
  const { service } = t.context;
  const { key } = await openAccount(service, { plan: { rate_per_minute: 60 } });
  const first = await service.call('/v1/sample/version', { key });
  const tag = first.headers.get('ETag') ?? '';
  await service.call('/v1/sample/version', { key, headers: { 'If-None-Match': tag } });
  await service.call('/v1/nothing', { key });
  await service.call(FREE, { key: null });
  const last = await service.call(FREE, { key });
  t.is(last.headers.get('X-RateLimit-Remaining'), '56');
  t.is(last.headers.get('X-RateLimit-Limit'), '60');
});

testRate('answers without a key show the bucket of the address, which refuses nobody', async (t) => {
  for (let n = 0; n < 70; n++) {
    const reply = await t.context.service.call(FREE, { key: null });
    t.is(reply.status, 401);
    t.is(reply.headers.get('X-RateLimit-Remaining'), String(Math.max(0, 59 - n)));
  }
});

testRate('a plan may raise the rate', async (t) => {
  const { key } = await openAccount(t.context.service, { plan: { rate_per_minute: 600 } });
  t.is((await t.context.service.call(FREE, { key })).headers.get('RateLimit-Policy'), '"key";q=600;w=60');
});

testRate('a call above the rate is neither answered nor charged', async (t) => {
  const { service } = t.context;
  const account = await openAccount(service, { plan: { rate_per_minute: 1 } });
  t.is((await service.call('/v1/sample/version', account)).status, 200);
  t.is((await service.call('/v1/sample/version', account)).status, 429);
  const { used } = await service.records.reader
    .selectFrom('periods')
    .select('used')
    .where('business_id', '=', account.business_id)
    .executeTakeFirstOrThrow();
  t.is(used, 10);
});

testRate('a plan that bounds requests a day answers the next one 429 until UTC midnight', async (t) => {
  const { service } = t.context;
  const quotas = { ...SELF_HOSTED.quotas, requests_per_day: 3 };
  const { key } = await openAccount(service, { plan: { quotas } });
  const statuses = [
    await service.call(FREE, { key }),
    await service.call('/v1/nothing', { key }),
    await service.call(FREE, { key }),
  ];
  t.deepEqual(pluck(statuses, 'status'), [200, 404, 200]);
  const refused = await service.call(FREE, { key });
  const rest_s = (Date.parse('2026-05-03T00:00:00Z') - SERVICE_NOW_MS) / 1000;
  t.is(refused.status, 429);
  t.like(await refused.json(), { error: 'rate_limited', message: 'more than 3 requests on this UTC day' });
  t.is(refused.headers.get('Retry-After'), String(rest_s));
  t.is(Number(refused.headers.get('X-RateLimit-Reset')) >= Date.parse('2026-05-03T00:00:00Z') / 1000, true);
  t.is(refused.headers.get('X-RateLimit-Remaining'), '0');
  for (const name of HEADERS) t.truthy(refused.headers.get(name), name);
});

const testUsage = testWith(
  () => startService({ endpoints: [...sampleEndpoints().endpoints, getUsage] }),
  closeWithoutFailures,
);

const usageOf = async (service: RunningService, account: Account, query = '') =>
  (await service.json(`/v1/usage${query}`, account)) as Usage;

testUsage('GET /v1/usage of a new business is all zeros, with every day of the month so far', async (t) => {
  const account = await openAccount(t.context);
  const usage = await usageOf(t.context, account);
  t.is(usage.period, '2026-05');
  t.is(usage.plan, 'self-hosted');
  t.deepEqual(usage.credits, { limit: null, used: 0, remaining: null, spend_cap: null, until_cap: null });
  t.deepEqual(usage.daily, [
    { date: '2026-05-01', credits: 0 },
    { date: '2026-05-02', credits: 0 },
  ]);
  t.deepEqual(usage.operations, { items: [], total_count: 0, next_cursor: null });
  t.is(usage.last_updated, null);
});

testUsage('GET /v1/usage sees every call that was answered before it', async (t) => {
  const account = await openAccount(t.context, { plan: { monthly_limit: 20, spend_cap: 100, overage_rate: 0.01 } });
  await t.context.call('/v1/sample/version', account);
  await t.context.call('/v1/sample/point?lat=1&lon=1', account);
  await t.context.call('/v1/sample/point?lat=1&lon=1', account);
  await t.context.call('/v1/sample/items/known', account);
  const usage = await usageOf(t.context, account);
  t.deepEqual(usage.credits, { limit: 20, used: 40, remaining: 0, spend_cap: 100, until_cap: 60 });
  t.deepEqual(usage.overage, { credits: 20, estimated_cost: 0.2, rate: 0.01 });
  t.deepEqual(usage.operations.items, [
    { operation: 'sample.point', count: 2, credits: 30, cost_per_call: 15 },
    { operation: 'sample.version', count: 1, credits: 10, cost_per_call: 10 },
  ]);
  t.is(usage.daily.at(-1)?.credits, 40);
  t.is(usage.last_updated, '2026-05-02T00:55:00Z');
});

testUsage('GET /v1/usage lists the keys that have a cap of their own', async (t) => {
  const account = await openAccount(t.context, { plan: { spend_cap: 100 } });
  t.deepEqual((await usageOf(t.context, account)).overage_policy.per_key_overrides, []);
  await limitKey(t.context, account, 25);
  const { overage_policy, credits } = await usageOf(t.context, account);
  t.deepEqual(overage_policy, {
    policy: 'allow',
    spend_cap: 100,
    per_key_overrides: [{ key_id: account.key_id, name: 'key', policy: 'block', spend_cap: 25 }],
  });
  t.is(credits.until_cap, 100);
});

testUsage('GET /v1/usage names the key, its scopes and its requests, never its secret', async (t) => {
  const account = await openAccount(t.context, { scopes: ['usage:read', 'sample:*'] });
  await t.context.call('/v1/sample/version', account);
  const reply = await t.context.call('/v1/usage', account);
  const text = await reply.text();
  const { keys } = JSON.parse(text) as Usage;
  const shownKeys = keys.items.map(({ id, name, status, scopes }) => ({ id, name, status, scopes }));
  t.deepEqual(shownKeys, [{ id: account.key_id, name: 'key', status: 'active', scopes: ['usage:read', 'sample:*'] }]);
  t.is(keys.count, 1);
  t.false(text.includes(account.key.slice(16)));
});

testUsage('GET /v1/usage counts free and refused requests once they are written down', async (t) => {
  const account = await openAccount(t.context);
  for (const path of ['/v1/sample/items/known', '/v1/nothing', '/v1/sample/version'])
    await t.context.call(path, account);
  let [asked, total] = [0, 0];
  await until(async () => {
    asked += 1;
    total = (await usageOf(t.context, account)).keys.total_requests;
    return total >= 3;
  });
  // Each look at the usage is a free request, too.
  t.true(total <= 3 + asked, `${total} after ${asked} looks`);
});

testUsage('GET /v1/usage pages operations by name', async (t) => {
  const account = await openAccount(t.context);
  await t.context.call('/v1/sample/version', account);
  await t.context.call('/v1/sample/point?lat=1&lon=1', account);
  const first = await usageOf(t.context, account, '?operations_limit=1');
  t.is(first.operations.next_cursor, 'sample.point');
  const second = await usageOf(
    t.context,
    account,
    `?operations_limit=1&operations_cursor=${first.operations.next_cursor}`,
  );
  t.deepEqual(pluck(second.operations.items, 'operation'), ['sample.version']);
  t.is(second.operations.next_cursor, null);
  t.is(second.operations.total_count, 2);
});

testUsage('GET /v1/usage of a month to come is zeros without days', async (t) => {
  const account = await openAccount(t.context);
  await t.context.call('/v1/sample/version', account);
  const usage = await usageOf(t.context, account, '?period=2026-06');
  t.is(usage.credits.used, 0);
  t.deepEqual(usage.daily, []);
});

testUsage('GET /v1/usage refuses a period that is no month, and a page of no size or place', async (t) => {
  const periods = ['period=2026-13', 'period=2026-5', 'period='];
  const pages = ['operations_limit=0', 'operations_limit=101', 'operations_limit=1.5', 'operations_cursor=%27'];
  for (const query of [...periods, ...pages]) {
    const reply = await t.context.call(`/v1/usage?${query}`);
    t.is(reply.status, 400, query);
    t.like(await reply.json(), { error: 'invalid_parameter' }, query);
  }
});

testUsage('GET /v1/usage shows nothing of another business', async (t) => {
  const [mine, theirs] = [await openAccount(t.context), await openAccount(t.context)];
  await t.context.call('/v1/sample/version', theirs);
  const usage = await usageOf(t.context, mine);
  t.is(usage.credits.used, 0);
  t.deepEqual(pluck(usage.keys.items, 'id'), [mine.key_id]);
});

const testExport = testWith(
  () => startService({ endpoints: [...sampleEndpoints().endpoints, exportUsage] }),
  closeWithoutFailures,
);

testExport('GET /v1/usage/export is every operation of the month as an attachment of CSV', async (t) => {
  const account = await openAccount(t.context);
  await t.context.call('/v1/sample/version', account);
  await t.context.call('/v1/sample/point?lat=1&lon=1', account);
  await t.context.call('/v1/sample/point?lat=2&lon=1', account);
  const reply = await t.context.call('/v1/usage/export', account);
  t.is(reply.headers.get('Content-Type'), 'text/csv; charset=utf-8; header=present');
  t.is(reply.headers.get('Content-Disposition'), 'attachment; filename="usage-2026-05.csv"');
  const text = await reply.text();
  t.is(text, 'operation,count,credits,cost_per_call\r\nsample.point,2,30,15\r\nsample.version,1,10,10\r\n');
});

testExport('GET /v1/usage/export of a month without calls is the header alone', async (t) => {
  const reply = await t.context.call('/v1/usage/export?period=2025-01');
  t.is(await reply.text(), 'operation,count,credits,cost_per_call\r\n');
});

testExport('GET /v1/usage/export is 406 where CSV is ruled out, and 400 for a period that is no month', async (t) => {
  t.is((await t.context.call('/v1/usage/export', { headers: { Accept: 'text/csv' } })).status, 200);
  t.is((await t.context.call('/v1/usage/export', { headers: { Accept: 'image/png' } })).status, 406);
  t.is((await t.context.call('/v1/usage/export?period=May')).status, 400);
});
