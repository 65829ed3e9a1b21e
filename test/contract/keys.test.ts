import { randomUUID } from 'node:crypto';
import test from 'ava';
import { purgeBusiness } from '../../api/accounts/businesses.ts';
import { createLink, LINK_MS, listKeys } from '../../api/accounts/keys.ts';
import { getHealth } from '../../api/routes/health.ts';
import { exchangeLink } from '../../api/routes/link.ts';
import { trustedProxies } from '../../api/server/head.ts';
import { creditsOf, openAccount } from '../support/service/account.ts';
import { type DescribedOperation, exampleRequest, initOf } from '../support/service/document.ts';
import { ownFor } from '../support/service/own-resources.ts';
import { LOCATIONS, sending, upload } from '../support/service/portfolio.ts';
import { sendRaw } from '../support/service/raw-http.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { serviceFor, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { startWholeService, type WholeService } from '../support/service/whole-service.ts';

const testKeys = testWith(
  () => startService({ endpoints: [...sampleEndpoints().endpoints, getHealth, exchangeLink] }),
  closeWithoutFailures,
);
const FREE = '/v1/sample/items/known';

/** Status and code of an answer. */
async function outcome(reply: Response): Promise<string> {
  const { error } = (await reply.json()) as { error?: string };
  return error === undefined ? String(reply.status) : `${reply.status} ${error}`;
}

testKeys(
  'a key that is remembered for a moment after its business was purged is 401, also on what is billed',
  async (t) => {
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
  },
);

testKeys('a link opens no data, and is exchanged once for a key with its scopes', async (t) => {
  const { records, services, call } = t.context;
  const { business_id } = await openAccount(t.context);
  const asked = { business_id, name: 'phone', scopes: ['sample:read'] };
  const link = await records.transaction((rows) => createLink(rows, asked, services.now()));
  t.is(Date.parse(link.expires_at), services.now() + LINK_MS);
  t.is(await outcome(await call('/v1/sample/point?lat=35&lon=-97', { key: link.text })), '403 insufficient_scope');
  const exchange = (key: string) => call('/v1/link', { method: 'POST', key });
  const answers = await Promise.all([exchange(link.text), exchange(link.text), exchange(link.text)]);
  const [used, ...more] = answers.filter(({ ok }) => ok);
  t.deepEqual(more, []);
  const made = (await used?.json()) as { key: string; business_name: string };
  t.regex(made.business_name, /^business \d+$/);
  t.is((await call('/v1/sample/point?lat=35&lon=-97', { key: made.key })).status, 200);
  t.is(await outcome(await exchange(link.text)), '403 forbidden', 'nor while its key is remembered for a moment');
  t.is(await outcome(await exchange(made.key)), '403 insufficient_scope');
  const keys = (await listKeys(records.reader, business_id, services.now())).slice(-2);
  t.like(keys, [
    { name: 'link phone', status: 'expired' },
    { name: 'phone', scopes: ['sample:read'], expires_at: null, status: 'active' },
  ]);
});

testKeys('a key that opens everything is not exchanged, and ends not', async (t) => {
  const { key } = await openAccount(t.context);
  t.is(await outcome(await t.context.call('/v1/link', { method: 'POST', key })), '403 forbidden');
  t.is((await t.context.call(FREE, { key })).status, 200);
});

testKeys('the scheme may be written in any case', async (t) => {
  for (const scheme of ['bearer', 'BEARER', 'Bearer'])
    t.is(
      await outcome(
        await t.context.call(FREE, { key: null, headers: { Authorization: `${scheme} ${t.context.live_key}` } }),
      ),
      '200',
    );
});

/** Headers and queries that hold no key, by their fault. */
const WITHOUT_KEY: Readonly<Record<string, (key: string) => string>> = {
  'another scheme': (key) => `Basic ${key}`,
  'no scheme': (key) => key,
  'two words after the scheme': (key) => `Bearer ${key} x`,
  'a key cut short': (key) => `Bearer ${key.slice(0, -1)}`,
  'one letter changed': (key) => `Bearer ${key.slice(0, 20)}${key[20] === 'a' ? 'b' : 'a'}${key.slice(21)}`,
  'a key of nonsense': () => 'Bearer hs_live_',
  'a very long key': () => `Bearer ${'x'.repeat(5000)}`,
};

testKeys('anything but one key in one Authorization header of the scheme Bearer is 401', async (t) => {
  const { call, url, live_key } = t.context;
  for (const [what, header] of Object.entries(WITHOUT_KEY)) {
    const reply = await call(FREE, { key: null, headers: { Authorization: header(live_key) } });
    t.is(await outcome(reply), '401 unauthorized', what);
  }
  t.is(await outcome(await call(`${FREE}?api_key=${live_key}`, { key: null })), '401 unauthorized');
  const header = `Authorization: Bearer ${live_key}\r\n`;
  const twice = await sendRaw(url, `GET ${FREE} HTTP/1.1\r\nHost: x\r\n${header}${header}Connection: close\r\n\r\n`);
  t.is(twice.status, 401);
});

testKeys('a malformed Authorization is told from a key that is not known', async (t) => {
  const told = async (Authorization: string) =>
    ((await (await t.context.call(FREE, { key: null, headers: { Authorization } })).json()) as { message: string })
      .message;
  t.is(await told('Basic eDp5'), 'Authorization is not of the form Bearer and a key');
  t.is(await told('Bearer hs_live_unknown'), 'the key is not valid');
});

testKeys('a key that has expired is 401', async (t) => {
  const { key } = await openAccount(t.context, { expires_at: '2026-05-02T00:54:59.000Z' });
  t.is(await outcome(await t.context.call(FREE, { key })), '401 unauthorized');
});

testKeys('a plan without the feature is 403 before any validation, for a key with every scope too', async (t) => {
  for (const query of ['', '?lat=nonsense'])
    t.is(await outcome(await t.context.call(`/v1/sample/featured${query}`)), '403 feature_not_available');
});

testKeys(
  'twenty failures lock the address with 429 and Retry-After, and a valid key is served all the same',
  async (t) => {
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
  },
);

testKeys('ten failures lock the guessed key, and its real text is served all the same', async (t) => {
  const { call, live_key } = t.context;
  const guess = live_key.slice(0, 16);
  for (let n = 0; n < 10; n++)
    t.is(await outcome(await call(FREE, { key: `${guess}${n}${'x'.repeat(37)}` })), '401 unauthorized');
  const locked = await call(FREE, { key: `${guess}${'z'.repeat(38)}` });
  t.is(locked.headers.get('Retry-After'), '900');
  t.is(await outcome(locked), '429 too_many_failed_attempts');
  t.is(await outcome(await call(FREE)), '200');
});

testKeys(
  'twenty requests with anything else for a key lock the address, and a valid key is served all the same',
  async (t) => {
    const { url, call } = t.context;
    const forms = [['Basic eDp5'], ['nonsense'], ['Bearer'], [''], ['Bearer x', 'Bearer y']];
    const ask = (lines: readonly string[]) => {
      const headers = lines.map((line) => `Authorization: ${line}\r\n`).join('');
      return sendRaw(url, `GET ${FREE} HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`);
    };
    for (let n = 0; n < 20; n++) t.is((await ask(forms[n % forms.length] ?? [])).status, 401);
    for (const lines of forms) {
      const locked = await ask(lines);
      t.is(locked.status, 429, lines.join());
      t.true(Number(locked.headers.get('retry-after')) > 250);
      t.is((JSON.parse(locked.body) as { error: string }).error, 'too_many_failed_attempts');
    }
    t.is(await outcome(await call(FREE)), '200');
  },
);

testKeys('requests without a header lock nobody out', async (t) => {
  for (let n = 0; n < 25; n++) t.is(await outcome(await t.context.call(FREE, { key: null })), '401 unauthorized');
});

testKeys('a forwarded address from a stranger changes nothing', async (t) => {
  const fail = (n: number) =>
    t.context.call(FREE, {
      key: `hs_live_guess${String(n).padStart(3, '0')}${'x'.repeat(38)}`,
      headers: { 'X-Forwarded-For': `192.0.2.${n}` },
    });
  for (let n = 0; n < 20; n++) await fail(n);
  t.is(await outcome(await fail(20)), '429 too_many_failed_attempts');
});

testKeys('behind a trusted proxy each client has its own lock', async (t) => {
  const service = await serviceFor(t, {
    endpoints: sampleEndpoints().endpoints,
    app: { trusted: trustedProxies(['127.0.0.1/32']) },
  });
  const fail = (n: number, client: string) =>
    service.call(FREE, {
      key: `hs_live_guess${String(n).padStart(3, '0')}${'x'.repeat(38)}`,
      headers: { 'X-Forwarded-For': client },
    });
  for (let n = 0; n < 20; n++) await fail(n, '198.51.100.1');
  t.is(await outcome(await fail(20, '198.51.100.1')), '429 too_many_failed_attempts');
  t.is(await outcome(await fail(21, '198.51.100.2')), '401 unauthorized');
});

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const HEALTH = 'GET /v1/health';

let whole: WholeService;

test.before(async () => {
  whole = await startWholeService();
});
test.after.always((t) => closeWithoutFailures(t, whole.service));

function keyed(): DescribedOperation[] {
  return whole.operations.filter((operation) => operation.keyed);
}

/** Sends an operation's example; `key` null: without one; `own` is what its path names. */
async function ask(operation: DescribedOperation, key: string | null, own: Readonly<Record<string, string>> = {}) {
  const request = exampleRequest(operation, { ...whole.known, ...own });
  const response = await whole.service.call(request.target, { ...initOf(request), key });
  const { error, message } = (await response.json()) as { error?: string; message?: string };
  return { status: response.status, headers: response.headers, error, message };
}

test('every operation but health and the description needs a scope', async (t) => {
  const free = whole.operations.filter((operation) => operation['x-scope'] === null).map(({ title }) => title);
  t.deepEqual(free.sort(), [HEALTH, 'GET /v1/openapi.json']);
  const { key } = await openAccount(whole.service, { scopes: [] });
  t.is((await whole.service.call('/v1/health', { key })).status, 200);
});

test('every operation refuses a key without its scope, names the scope, and charges nothing', async (t) => {
  const scopes = [...new Set(keyed().flatMap((operation) => operation['x-scope'] ?? []))];
  for (const operation of keyed()) {
    const scope = operation['x-scope'];
    if (scope === null) continue;
    const others = scopes.filter((other) => other !== scope);
    const account = await openAccount(whole.service, { scopes: others });
    const { status, headers, error, message } = await ask(operation, account.key);
    t.deepEqual([status, error], [403, 'insufficient_scope'], operation.title);
    t.is(headers.get('X-Required-Scope'), scope);
    t.true(message?.includes(scope), message);
    t.is(await creditsOf(whole.service, account.business_id), 0);
  }
});

test('every operation is open to a key that has its scope alone, and to one of the whole resource', async (t) => {
  for (const operation of keyed()) {
    const scope = operation['x-scope'];
    const [status, success] = Object.entries(operation.responses).find(([code]) => code.startsWith('2')) ?? [];
    if (scope === null || success?.content['application/json'] === undefined) continue;
    for (const scopes of [[scope], [`${scope.split(':')[0]}:*`]]) {
      const { key, business_id } = await openAccount(whole.service, { scopes });
      const own = await ownFor(operation, whole.service, business_id);
      t.is((await ask(operation, key, own)).status, Number(status), `${operation.title} with ${scopes}`);
    }
  }
});

test('every operation but health refuses a test key that has every scope', async (t) => {
  const { key } = await openAccount(whole.service, { kind: 'test' });
  for (const operation of keyed()) {
    const { status, headers, error, message } = await ask(operation, key);
    if (operation.title === HEALTH) t.is(status, 200);
    else {
      t.deepEqual([status, error], [403, 'forbidden'], operation.title);
      t.regex(message ?? '', /live key/);
      t.is(headers.get('X-Required-Scope'), null);
    }
    t.is(operation['x-test-key'], operation.title === HEALTH, operation.title);
  }
});

test('every operation without a key is 401 with a challenge, like a path that does not exist', async (t) => {
  const nowhere = await whole.service.json('/v1/nothing/at/all', { key: null });
  for (const operation of keyed()) {
    const { status, headers, error, message } = await ask(operation, null);
    t.deepEqual([status, error], [401, 'unauthorized'], operation.title);
    t.like(nowhere, { error, message });
    t.is(headers.get('WWW-Authenticate'), 'Bearer realm="hail"');
  }
});

test('every path refuses the methods it does not have with 405 and lists those it has', async (t) => {
  const byPath = Map.groupBy(keyed(), ({ path }) => path);
  for (const [path, operations] of byPath) {
    const served = operations.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const target = path.replace(/\{(\w+)\}/g, (_, name: string) => whole.known[name] ?? 'unknown');
    for (const method of METHODS.filter((name) => !served.includes(name))) {
      const reply = await whole.service.call(target, { method });
      t.is(reply.status, 405, `${method} ${path}`);
      t.deepEqual(reply.headers.get('Allow')?.split(', ').sort(), [...served, 'OPTIONS'].sort(), path);
      if (method !== 'HEAD') t.is(((await reply.json()) as { error: string }).error, 'method_not_allowed');
    }
    const options = await whole.service.call(target, { method: 'OPTIONS', key: null });
    t.deepEqual(options.headers.get('Allow')?.split(', ').sort(), [...served, 'OPTIONS'].sort(), path);
  }
});

test('every operation refuses the key of a suspended business, and charges nothing', async (t) => {
  const { business_id, key } = await openAccount(whole.service);
  await whole.service.records.transaction(async (rows) => {
    await rows.updateTable('businesses').set({ status: 'suspended' }).where('id', '=', business_id).execute();
  });
  for (const operation of keyed()) {
    const { status, error } = await ask(operation, key);
    t.deepEqual([status, error], [403, 'forbidden'], operation.title);
  }
  t.is((await whole.service.call('/v1/nothing', { key })).status, 403);
  t.is(await creditsOf(whole.service, business_id), 0);
});

test('locations of another business are as unknown as any: not listed, not deleted, no cursor', async (t) => {
  const [owner, stranger] = [await openAccount(whole.service), await openAccount(whole.service)];
  const { accepted } = await upload(
    whole.service,
    [
      { name: 'a', lat: 35, lon: -97 },
      { name: 'b', lat: 35, lon: -98 },
    ],
    owner.key,
  );
  const [first, second] = accepted.map(({ id }) => id) as [string, string];
  const told = async (response: Promise<Response>) => {
    const reply = await response;
    const text = (await reply.text()).replace(/req_\w+/g, 'req_');
    return { status: reply.status, text };
  };
  const unknown = `${first.slice(0, -4)}0000`;
  for (const id of [first, unknown]) {
    const reply = await told(whole.service.call(LOCATIONS, { ...sending('DELETE', { ids: [id] }), key: stranger.key }));
    t.is(reply.status, 200);
    t.deepEqual(JSON.parse(reply.text), { deleted_count: 0, not_found_count: 1, deleted: [], not_found: [id] });
  }
  const page = (id: string, key: string) => told(whole.service.call(`${LOCATIONS}?limit=1&cursor=${id}`, { key }));
  const list = (await whole.service.json(`${LOCATIONS}?limit=1`, owner)) as { next_cursor: string };
  t.is(list.next_cursor, first);
  t.is((await page(first, owner.key)).status, 200);
  const foreign = await page(first, stranger.key);
  t.is(foreign.status, 400);
  t.is(foreign.text.replaceAll(first, ''), (await page(unknown, stranger.key)).text.replaceAll(unknown, ''));
  t.deepEqual(((await whole.service.json(LOCATIONS, stranger)) as { locations: unknown[] }).locations, []);
  t.deepEqual(
    ((await whole.service.json(LOCATIONS, owner)) as { locations: { id: string }[] }).locations.map(({ id }) => id),
    [first, second],
  );
});

test('an Idempotency-Key of another business opens nothing: each has an upload of its own', async (t) => {
  const name = randomUUID();
  const send = async () => {
    const { business_id, key } = await openAccount(whole.service);
    const data = [{ name: 'same', lat: 35, lon: -97 }];
    const reply = await whole.service.call(LOCATIONS, {
      ...sending('POST', { format: 'json', data }, { 'Idempotency-Key': name }),
      key,
    });
    t.is(reply.status, 200);
    t.is(reply.headers.get('Idempotent-Replay'), null);
    t.is(await creditsOf(whole.service, business_id), 10);
    return ((await reply.json()) as { accepted: { id: string }[] }).accepted[0]?.id;
  };
  t.not(await send(), await send());
});
