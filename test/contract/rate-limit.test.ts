import { SELF_HOSTED } from '../../api/records/plans.ts';
import { openAccount } from '../support/service/account.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { SERVICE_NOW_MS, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(
  async () => {
    const clock = { ms: 0 };
    const service = await startService({
      endpoints: sampleEndpoints().endpoints,
      app: { clock: { monotonic_ms: () => clock.ms, unix_ms: () => SERVICE_NOW_MS + clock.ms } },
    });
    return { service, clock };
  },
  (t, { service }) => closeWithoutFailures(t, service),
);
const FREE = '/v1/sample/items/known';
const HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit', 'RateLimit-Policy'];

test('the 61st request of a minute is 429 rate_limited with Retry-After', async (t) => {
  const { service, clock } = t.context;
  const { key } = await openAccount(service, { plan: { rate_per_minute: 60 } });
  for (let n = 0; n < 60; n++) {
    const reply = await service.call(FREE, { key });
    t.is(reply.status, 200);
    t.is(reply.headers.get('X-RateLimit-Remaining'), String(59 - n));
  }
  clock.ms = 12_500;
  const refused = await service.call(FREE, { key });
  t.is(refused.status, 429);
  t.is(((await refused.json()) as { error: string }).error, 'rate_limited');
  t.is(refused.headers.get('Retry-After'), '48');
  clock.ms = 60_000;
  t.is((await service.call(FREE, { key })).status, 200);
});

test('every kind of answer carries both header families', async (t) => {
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
  t.deepEqual(
    replies.map(({ status }) => status),
    [200, 200, 204, 401, 401, 404, 400, 405, 403],
  );
  for (const reply of replies) for (const name of HEADERS) t.truthy(reply.headers.get(name), `${reply.status} ${name}`);
});

test('free calls, refusals and 304 count, answers without a key do not', async (t) => {
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
  t.is(last.headers.get('X-RateLimit-Reset'), String(SERVICE_NOW_MS / 1000 + 60));
});

test('answers without a key show the bucket of the address, which refuses nobody', async (t) => {
  const { service } = t.context;
  for (let n = 0; n < 70; n++) {
    const reply = await service.call(FREE, { key: null });
    t.is(reply.status, 401);
    t.is(reply.headers.get('X-RateLimit-Remaining'), String(Math.max(0, 59 - n)));
  }
});

test('a plan may raise the rate', async (t) => {
  const { service } = t.context;
  const { key } = await openAccount(service, { plan: { rate_per_minute: 600 } });
  t.is((await service.call(FREE, { key })).headers.get('RateLimit-Policy'), '"key";q=600;w=60');
});

test('a call above the rate is neither answered nor charged', async (t) => {
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

test('a plan that bounds requests a day answers the next one 429 until UTC midnight', async (t) => {
  const { service } = t.context;
  const quotas = { ...SELF_HOSTED.quotas, requests_per_day: 3 };
  const { key } = await openAccount(service, { plan: { quotas } });
  const statuses = [
    await service.call(FREE, { key }),
    await service.call('/v1/nothing', { key }),
    await service.call(FREE, { key }),
  ];
  t.deepEqual(
    statuses.map(({ status }) => status),
    [200, 404, 200],
  );
  const refused = await service.call(FREE, { key });
  const rest_s = (Date.parse('2026-05-03T00:00:00Z') - SERVICE_NOW_MS) / 1000;
  t.is(refused.status, 429);
  t.like(await refused.json(), { error: 'rate_limited', message: 'more than 3 requests on this UTC day' });
  t.is(refused.headers.get('Retry-After'), String(rest_s));
  t.is(Number(refused.headers.get('X-RateLimit-Reset')) >= Date.parse('2026-05-03T00:00:00Z') / 1000, true);
  t.is(refused.headers.get('X-RateLimit-Remaining'), '0');
  for (const name of HEADERS) t.truthy(refused.headers.get(name), name);
});
