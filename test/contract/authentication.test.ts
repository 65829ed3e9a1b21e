import { trustedProxies } from '../../api/http/address.ts';
import { purgeBusiness, setStatus } from '../../api/records/businesses.ts';
import { getHealth } from '../../api/routes/health.ts';
import { openAccount } from '../support/service/account.ts';
import { sendRaw } from '../support/service/raw-http.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(
  () => startService({ endpoints: [...sampleEndpoints().endpoints, getHealth] }),
  closeWithoutFailures,
);
const FREE = '/v1/sample/items/known';

/** Status and code of an answer. */
async function outcome(reply: Response): Promise<string> {
  const { error } = (await reply.json()) as { error?: string };
  return error === undefined ? String(reply.status) : `${reply.status} ${error}`;
}

test('a valid live key opens an endpoint', async (t) => {
  t.is(await outcome(await t.context.call(FREE)), '200');
});

test('a key that is remembered for a moment after its business was purged is 401, also on what is billed', async (t) => {
  const { records, services } = t.context;
  const { business_id, key } = await openAccount(t.context);
  const item = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"name":"roof"}' };
  t.is(await outcome(await t.context.call(FREE, { key })), '200');
  await records.transaction((rows) =>
    purgeBusiness(rows, records.store, { id: business_id, name: 'gone' }, services.now()),
  );
  t.is(await outcome(await t.context.call('/v1/sample/point?lat=35&lon=-97', { key })), '401 unauthorized');
  const reply = await t.context.call('/v1/sample/locations', { ...item, key });
  t.is(reply.headers.get('WWW-Authenticate'), 'Bearer realm="hail"');
  t.is(await outcome(reply), '401 unauthorized');
});

test('the scheme may be written in any case', async (t) => {
  for (const scheme of ['bearer', 'BEARER', 'Bearer'])
    t.is(
      await outcome(
        await t.context.call(FREE, { key: null, headers: { Authorization: `${scheme} ${t.context.live_key}` } }),
      ),
      '200',
    );
});

test('a request without a key is 401 with a challenge', async (t) => {
  const reply = await t.context.call(FREE, { key: null });
  t.is(reply.headers.get('WWW-Authenticate'), 'Bearer realm="hail"');
  t.is(await outcome(reply), '401 unauthorized');
});

for (const [what, header] of [
  ['another scheme', (key: string) => `Basic ${key}`],
  ['no scheme', (key: string) => key],
  ['two words after the scheme', (key: string) => `Bearer ${key} x`],
  ['a key cut short', (key: string) => `Bearer ${key.slice(0, -1)}`],
  [
    'a key with one letter changed',
    (key: string) => `Bearer ${key.slice(0, 20)}${key[20] === 'a' ? 'b' : 'a'}${key.slice(21)}`,
  ],
  ['a key of nonsense', () => 'Bearer hs_live_'],
  ['a very long key', () => `Bearer ${'x'.repeat(5000)}`],
] as const)
  test(`${what} is 401`, async (t) => {
    const reply = await t.context.call(FREE, { key: null, headers: { Authorization: header(t.context.live_key) } });
    t.is(await outcome(reply), '401 unauthorized');
  });

test('two Authorization headers are 401, even when one is valid', async (t) => {
  const { url, live_key } = t.context;
  const reply = await sendRaw(
    url,
    `GET ${FREE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${live_key}\r\nAuthorization: Bearer ${live_key}\r\nConnection: close\r\n\r\n`,
  );
  t.is(reply.status, 401);
});

test('a key in the query string is refused', async (t) => {
  t.is(await outcome(await t.context.call(`${FREE}?api_key=${t.context.live_key}`, { key: null })), '401 unauthorized');
});

test('without a key nobody learns which routes exist', async (t) => {
  const bodies = await Promise.all(
    ['/v1/sample/point', '/v1/nothing', '/nothing', '/v1/sample/locations'].map(async (path) => {
      const reply = await t.context.call(path, { key: null });
      const { error, message } = (await reply.json()) as { error: string; message: string };
      return `${reply.status} ${error} ${message}`;
    }),
  );
  t.is(new Set(bodies).size, 1);
});

test('a test key opens health and is 403 everywhere else', async (t) => {
  const { call, test_key: key } = t.context;
  t.is(await outcome(await call('/v1/health', { key })), '200');
  const refused = await call('/v1/sample/point?lat=1&lon=1', { key });
  const body = (await refused.json()) as { error: string; message: string };
  t.deepEqual([refused.status, body.error], [403, 'forbidden']);
  t.regex(body.message, /live key/);
});

test('a key that has expired is 401', async (t) => {
  const { key } = await openAccount(t.context, { expires_at: '2026-05-02T00:54:59.000Z' });
  t.is(await outcome(await t.context.call(FREE, { key })), '401 unauthorized');
});

test('a suspended business is 403 forbidden on every route', async (t) => {
  const account = await openAccount(t.context);
  const { records, services, call } = t.context;
  await records.transaction((rows) =>
    setStatus(rows, { id: account.business_id, name: '' }, 'suspended', services.now()),
  );
  for (const path of [FREE, '/v1/health', '/v1/nothing'])
    t.is(await outcome(await call(path, account)), '403 forbidden');
});

test('a key without the scope is 403 and told which one it lacks', async (t) => {
  const { key } = await openAccount(t.context, { scopes: ['sample:write', 'hail:read'] });
  const reply = await t.context.call(FREE, { key });
  t.is(reply.headers.get('X-Required-Scope'), 'sample:read');
  const body = (await reply.json()) as { error: string; message: string };
  t.deepEqual([reply.status, body.error], [403, 'insufficient_scope']);
  t.regex(body.message, /sample:read/);
});

for (const scope of ['*', 'sample:*', 'sample:read'])
  test(`the scope ${scope} opens what needs sample:read`, async (t) => {
    const { key } = await openAccount(t.context, { scopes: [scope] });
    t.is(await outcome(await t.context.call(FREE, { key })), '200');
  });

test('health needs no scope', async (t) => {
  const { key } = await openAccount(t.context, { scopes: [] });
  t.is(await outcome(await t.context.call('/v1/health', { key })), '200');
});

test('a plan without the feature is 403 feature_not_available, for a key with every scope too', async (t) => {
  t.is(await outcome(await t.context.call('/v1/sample/featured')), '403 feature_not_available');
});

test('the feature is checked before validation', async (t) => {
  t.is(await outcome(await t.context.call('/v1/sample/featured?lat=nonsense')), '403 feature_not_available');
});

test('twenty failures lock the address with 429 and Retry-After, and a valid key is served all the same', async (t) => {
  const { call } = t.context;
  for (let n = 0; n < 20; n++)
    t.is(
      await outcome(await call(FREE, { key: `hs_live_guess${String(n).padStart(3, '0')}${'x'.repeat(38)}` })),
      '401 unauthorized',
    );
  const locked = await call(FREE, { key: 'hs_live_anotherone' });
  t.is(locked.headers.get('Retry-After'), '300');
  t.is(await outcome(locked), '429 too_many_failed_attempts');
  t.is(await outcome(await call(FREE)), '200');
});

test('ten failures lock the guessed key, and its real text is served all the same', async (t) => {
  const { call, live_key } = t.context;
  const guess = live_key.slice(0, 16);
  for (let n = 0; n < 10; n++)
    t.is(await outcome(await call(FREE, { key: `${guess}${n}${'x'.repeat(37)}` })), '401 unauthorized');
  const locked = await call(FREE, { key: `${guess}${'z'.repeat(38)}` });
  t.is(locked.headers.get('Retry-After'), '900');
  t.is(await outcome(locked), '429 too_many_failed_attempts');
  t.is(await outcome(await call(FREE)), '200');
});

for (const [what, lines] of [
  ['another scheme', ['Basic eDp5']],
  ['no scheme', ['nonsense']],
  ['an empty token', ['Bearer']],
  ['nothing in it', ['']],
  ['a second header', ['Bearer x', 'Bearer y']],
] as const)
  test(`twenty requests with ${what} for a key lock the address, and a valid key is served all the same`, async (t) => {
    const { url, call } = t.context;
    const headers = lines.map((line) => `Authorization: ${line}\r\n`).join('');
    const ask = () => sendRaw(url, `GET ${FREE} HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`);
    for (let n = 0; n < 20; n++) t.is((await ask()).status, 401);
    const locked = await ask();
    t.deepEqual([locked.status, locked.headers.get('retry-after')], [429, '300']);
    t.is((JSON.parse(locked.body) as { error: string }).error, 'too_many_failed_attempts');
    t.is(await outcome(await call(FREE, { key: 'hs_live_anotherone' })), '429 too_many_failed_attempts');
    t.is(await outcome(await call(FREE)), '200');
  });

test('requests without a header lock nobody out', async (t) => {
  for (let n = 0; n < 25; n++) t.is(await outcome(await t.context.call(FREE, { key: null })), '401 unauthorized');
});

test('a forwarded address from a stranger changes nothing', async (t) => {
  const fail = (n: number) =>
    t.context.call(FREE, {
      key: `hs_live_guess${String(n).padStart(3, '0')}${'x'.repeat(38)}`,
      headers: { 'X-Forwarded-For': `192.0.2.${n}` },
    });
  for (let n = 0; n < 20; n++) await fail(n);
  t.is(await outcome(await fail(20)), '429 too_many_failed_attempts');
});

test('behind a trusted proxy each client has its own lock', async (t) => {
  const service = await startService({
    endpoints: sampleEndpoints().endpoints,
    app: { trusted: trustedProxies(['127.0.0.1']) },
  });
  const fail = (n: number, client: string) =>
    service.call(FREE, {
      key: `hs_live_guess${String(n).padStart(3, '0')}${'x'.repeat(38)}`,
      headers: { 'X-Forwarded-For': client },
    });
  for (let n = 0; n < 20; n++) await fail(n, '198.51.100.1');
  t.is(await outcome(await fail(20, '198.51.100.1')), '429 too_many_failed_attempts');
  t.is(await outcome(await fail(21, '198.51.100.2')), '401 unauthorized');
  await service.close();
});
