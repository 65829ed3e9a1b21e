import { creditsOf, limitKey, openAccount } from '../support/service/account.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { type RunningService, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(
  async () => {
    const samples = sampleEndpoints();
    return { samples, service: await startService({ endpoints: samples.endpoints }) };
  },
  (t, { service }) => closeWithoutFailures(t, service),
);
const VERSION = '/v1/sample/version';
const JSON_TYPE = { 'Content-Type': 'application/json' };

test('200 and 304 cost the same, kept answers too', async (t) => {
  const { service } = t.context;
  const account = await openAccount(service);
  const first = await service.call(VERSION, account);
  await service.call(VERSION, account);
  const headers = { 'If-None-Match': first.headers.get('ETag') ?? '' };
  t.is((await service.call(VERSION, { ...account, headers })).status, 304);
  t.is(await creditsOf(service, account.business_id), 30);
});

test('refusals, OPTIONS and free calls cost nothing', async (t) => {
  const { service } = t.context;
  const account = await openAccount(service, { scopes: ['sample:read'] });
  await service.call('/v1/sample/items/known', account);
  await service.call('/v1/sample/items/unknown', account);
  await service.call('/v1/nothing', account);
  await service.call('/v1/sample/point?lat=x', account);
  await service.call(VERSION, { ...account, method: 'POST' });
  await service.call(VERSION, { ...account, method: 'OPTIONS' });
  await service.call('/v1/sample/locations', { ...account, method: 'POST', headers: JSON_TYPE, body: '{"name":"a"}' });
  t.is(await creditsOf(service, account.business_id), 0);
});

test('a call by count costs count x price in one row', async (t) => {
  const { service } = t.context;
  const account = await openAccount(service);
  const locations = Array.from({ length: 7 }, () => ({ lat: 1, lon: 2 }));
  await service.call('/v1/sample/batch', {
    ...account,
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify({ locations }),
  });
  const rows = await service.records.reader
    .selectFrom('ledger')
    .selectAll()
    .where('business_id', '=', account.business_id)
    .execute();
  t.deepEqual(
    rows.map(({ operation, count, credits }) => ({ operation, count, credits })),
    [{ operation: 'sample.batch', count: 7, credits: 56 }],
  );
});

test('exactly reaching the cap is allowed, one credit more is 429 spend_cap_exceeded until next month', async (t) => {
  const { service } = t.context;
  const account = await openAccount(service, { plan: { spend_cap: 25 } });
  t.is((await service.call('/v1/sample/point?lat=1&lon=1', account)).status, 200);
  t.is((await service.call(VERSION, account)).status, 200);
  const refused = await service.call(VERSION, account);
  t.is(refused.status, 429);
  t.is(
    refused.headers.get('Retry-After'),
    String((Date.parse('2026-06-01T00:00:00Z') - Date.parse('2026-05-02T00:55:00Z')) / 1000),
  );
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
  t.is(
    (
      await service.call('/v1/sample/locations', {
        ...account,
        method: 'POST',
        headers: JSON_TYPE,
        body: '{"name":"a"}',
      })
    ).status,
    429,
  );
  t.is(samples.made.size, 0);
});

test('a block policy stops at the limit', async (t) => {
  const { service } = t.context;
  const account = await openAccount(service, { plan: { monthly_limit: 10, overage_policy: 'block' } });
  t.is((await service.call(VERSION, account)).status, 200);
  t.is((await service.call(VERSION, account)).status, 429);
});

test('64 parallel calls at the last credits never overspend: exactly those that fit succeed', async (t) => {
  const { service } = t.context;
  const account = await openAccount(service, { plan: { spend_cap: 200 } });
  const calls = Array.from({ length: 64 }, (_, n) => service.call(`/v1/sample/point?lat=${n % 7}&lon=1`, account));
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  t.is(statuses.filter((status) => status === 200).length, 13); // 13 x 15 = 195
  t.is(statuses.filter((status) => status === 429).length, 51);
  t.is(await creditsOf(service, account.business_id), 195);
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
  while (samples.made.size === 0) await new Promise((next) => setImmediate(next));
  aborter.abort();
  await t.throwsAsync(call);
  while ((await connections(service)) > 0) await new Promise((next) => setImmediate(next));
  resolve();
  t.is((await service.call('/v1/sample/items/known', account)).status, 200);
  t.is(await creditsOf(service, account.business_id), 0);
});

function connections({ server }: RunningService): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}
