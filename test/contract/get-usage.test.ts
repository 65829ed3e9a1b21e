import { getUsage } from '../../api/routes/usage.ts';
import type { Usage } from '../../schemas/resources/usage.ts';
import { type Account, limitKey, openAccount } from '../support/service/account.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { type RunningService, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(
  () => startService({ endpoints: [...sampleEndpoints().endpoints, getUsage] }),
  closeWithoutFailures,
);

const usageOf = async (service: RunningService, account: Account, query = '') =>
  (await service.json(`/v1/usage${query}`, account)) as Usage;

test('GET /v1/usage of a new business is all zeros, with every day of the month so far', async (t) => {
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

test('GET /v1/usage sees every call that was answered before it', async (t) => {
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

test('GET /v1/usage lists the keys that have a cap of their own', async (t) => {
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

test('GET /v1/usage names the key, its scopes and its requests, never its secret', async (t) => {
  const account = await openAccount(t.context, { scopes: ['usage:read', 'sample:*'] });
  await t.context.call('/v1/sample/version', account);
  const reply = await t.context.call('/v1/usage', account);
  const text = await reply.text();
  const { keys } = JSON.parse(text) as Usage;
  t.deepEqual(
    keys.items.map(({ id, name, status, scopes }) => ({ id, name, status, scopes })),
    [{ id: account.key_id, name: 'key', status: 'active', scopes: ['usage:read', 'sample:*'] }],
  );
  t.is(keys.count, 1);
  t.false(text.includes(account.key.slice(16)));
});

test('GET /v1/usage counts free and refused requests once they are written down', async (t) => {
  const account = await openAccount(t.context);
  for (const path of ['/v1/sample/items/known', '/v1/nothing', '/v1/sample/version'])
    await t.context.call(path, account);
  let total = 0;
  for (let tries = 0; tries < 400 && total < 3; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    total = (await usageOf(t.context, account)).keys.total_requests;
  }
  t.true(total >= 3);
});

test('GET /v1/usage pages operations by name', async (t) => {
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
  t.deepEqual(
    second.operations.items.map(({ operation }) => operation),
    ['sample.version'],
  );
  t.is(second.operations.next_cursor, null);
  t.is(second.operations.total_count, 2);
});

test('GET /v1/usage of a month to come is zeros without days', async (t) => {
  const account = await openAccount(t.context);
  await t.context.call('/v1/sample/version', account);
  const usage = await usageOf(t.context, account, '?period=2026-06');
  t.is(usage.credits.used, 0);
  t.deepEqual(usage.daily, []);
});

for (const query of [
  'period=2026-13',
  'period=2026-5',
  'period=',
  'operations_limit=0',
  'operations_limit=101',
  'operations_limit=1.5',
  'operations_cursor=%27',
])
  test(`GET /v1/usage?${query} is 400 invalid_parameter`, async (t) => {
    const reply = await t.context.call(`/v1/usage?${query}`);
    t.deepEqual([reply.status, ((await reply.json()) as { error: string }).error], [400, 'invalid_parameter']);
  });

test('GET /v1/usage is free, not stored, and without a tag', async (t) => {
  const account = await openAccount(t.context);
  const reply = await t.context.call('/v1/usage', account);
  t.is(reply.headers.get('Cache-Control'), 'no-store');
  t.is(reply.headers.get('ETag'), null);
  t.is((await usageOf(t.context, account)).credits.used, 0);
});

test('GET /v1/usage shows nothing of another business', async (t) => {
  const [mine, theirs] = [await openAccount(t.context), await openAccount(t.context)];
  await t.context.call('/v1/sample/version', theirs);
  const usage = await usageOf(t.context, mine);
  t.is(usage.credits.used, 0);
  t.deepEqual(
    usage.keys.items.map(({ id }) => id),
    [mine.key_id],
  );
});
