import test from 'ava';
import { creditsOf, openAccount } from '../support/service/account.ts';
import { type DescribedOperation, departuresOf, exampleRequest, initOf } from '../support/service/document.ts';
import { ownFor } from '../support/service/own-resources.ts';
import { startWholeService, type WholeService } from '../support/service/whole-service.ts';

/** Endpoints of the earlier variant: credits of the example, operation that is charged, scope. */
const TABLE = [
  ['GET /legacy/v1/hail/current', 15, 'storms.list', 'storms:read'],
  ['GET /legacy/v1/hail/forecast', 5, 'hail.forecast', 'hail:read'],
  ['GET /legacy/v1/hail/history', 15, 'hail.history.30d', 'hail:read'],
  ['GET /legacy/v1/locations/{id}/risk', 5, 'hail.risk', 'hail:read'],
  ['GET /legacy/v1/radar/current', 3, 'tiles.scan', 'tiles:read'],
  ['POST /legacy/v1/alerts/subscribe', 2, 'alerts.subscribe', 'alerts:write'],
  ['GET /legacy/v1/alerts/{id}', 1, 'alerts.get', 'alerts:read'],
  ['DELETE /legacy/v1/alerts/{id}', 1, 'alerts.delete', 'alerts:write'],
  ['POST /legacy/v1/webhooks', 2, 'webhooks.create', 'webhooks:write'],
  ['GET /legacy/v1/webhooks', 1, 'webhooks.list', 'webhooks:read'],
  ['GET /legacy/v1/webhooks/{id}', 1, 'webhooks.get', 'webhooks:read'],
  ['PUT /legacy/v1/webhooks/{id}', 2, 'webhooks.update', 'webhooks:write'],
  ['DELETE /legacy/v1/webhooks/{id}', 1, 'webhooks.delete', 'webhooks:write'],
  ['POST /legacy/v1/webhooks/{id}/test', 3, 'webhooks.test', 'webhooks:write'],
  ['GET /legacy/v1/webhooks/{id}/deliveries', 1, 'webhooks.deliveries', 'webhooks:read'],
  ['POST /legacy/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver', 3, 'webhooks.redeliver', 'webhooks:write'],
  ['GET /legacy/v1/usage', 0, null, 'usage:read'],
  ['GET /legacy/v1/usage/export', 0, null, 'usage:read'],
  ['GET /legacy/v1/health', 0, null, null],
  ['GET /legacy/v1/openapi.json', 0, null, null],
] as const;
/** What a test key is told like any other: figures of the business and of the service. */
const NOT_SIMULATED = ['GET /legacy/v1/usage', 'GET /legacy/v1/usage/export', 'GET /legacy/v1/health'];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

let whole: WholeService;

test.before(async () => {
  whole = await startWholeService();
});
test.after.always(async (t) => {
  t.deepEqual(whole.service.failures, []);
  await whole.service.close();
});

function keyed(): DescribedOperation[] {
  return whole.earlier.operations.filter((operation) => operation.keyed);
}

/** Sends an operation's example; `own` is what its path names. */
async function ask(operation: DescribedOperation, key: string | null, own: Readonly<Record<string, string>> = {}) {
  const request = exampleRequest(operation, { ...whole.known, ...own });
  const response = await whole.service.call(request.target, { ...initOf(request), key });
  return { response, text: await response.text() };
}

interface EarlierError {
  readonly error: { readonly code: string };
  readonly meta: { readonly request_id: string };
}

test('the description of the earlier variant lists exactly its endpoints, with the price, operation and scope of those that serve them', (t) => {
  const described = whole.earlier.operations.map((operation) => [
    operation.title,
    operation['x-credits'],
    operation['x-operation'],
    operation['x-scope'],
  ]);
  const byTitle = (rows: readonly (readonly unknown[])[]) => Object.fromEntries(rows.map((row) => [row[0], row]));
  t.deepEqual(byTitle(described), byTitle(TABLE));
  t.is(described.length, TABLE.length);
});

for (const [title, credits, operationName] of TABLE)
  test(`${title} answers its example as described, for ${credits} credits each time`, async (t) => {
    const operation = whole.earlier.operations.find((one) => one.title === title);
    if (operation === undefined) throw new Error(`the description has no ${title}`);
    const { key, business_id } = await openAccount(whole.service, { variant: 'earlier' });
    const own = await ownFor(operation, whole.service, business_id);
    const { response, text } = await ask(operation, key, own);
    t.is(response.status, 200, text);
    t.deepEqual(departuresOf(whole.earlier.description, operation, response, text), []);
    t.is(await creditsOf(whole.service, business_id), credits);
    const ledger = whole.service.records.reader.selectFrom('ledger').select('operation');
    t.deepEqual(
      (await ledger.where('business_id', '=', business_id).execute()).map((row) => row.operation),
      operationName === null ? [] : [operationName],
    );
    if (!operation.keyed) return;
    t.is(response.headers.get('ETag'), null);
    t.is(response.headers.get('Cache-Control'), 'no-store');
    t.not(response.headers.get('X-RateLimit-Remaining'), null);
    if (operation.method !== 'GET') return;
    t.is((await ask(operation, key, own)).response.status, 200);
    t.is(await creditsOf(whole.service, business_id), 2 * credits);
  });

test('every operation of the earlier variant refuses a key without its scope, in its own shape, for nothing', async (t) => {
  const scopes = [...new Set(keyed().flatMap((operation) => operation['x-scope'] ?? []))];
  for (const operation of keyed()) {
    const scope = operation['x-scope'];
    if (scope === null) continue;
    const account = await openAccount(whole.service, { scopes: scopes.filter((other) => other !== scope) });
    const { response, text } = await ask(operation, account.key);
    const { error, meta } = JSON.parse(text) as EarlierError;
    t.deepEqual([response.status, error.code], [403, 'insufficient_scope'], operation.title);
    t.is(response.headers.get('X-Required-Scope'), scope);
    t.is(meta.request_id, response.headers.get('X-Request-Id') ?? '');
    t.is(await creditsOf(whole.service, account.business_id), 0);
  }
});

test('every operation of the earlier variant is 401 without a key, in its own shape', async (t) => {
  for (const operation of keyed()) {
    const { response, text } = await ask(operation, null);
    t.deepEqual([response.status, (JSON.parse(text) as EarlierError).error.code], [401, 'unauthorized']);
  }
});

test('every operation of the earlier variant but health refuses a test key of the current one', async (t) => {
  const { key } = await openAccount(whole.service, { kind: 'test' });
  for (const operation of keyed()) {
    const { response, text } = await ask(operation, key);
    if (operation.title.endsWith('/health')) t.is(response.status, 200);
    else t.deepEqual([response.status, (JSON.parse(text) as EarlierError).error.code], [403, 'forbidden']);
  }
});

test('every operation answers a test_ key as described, for nothing, the same each time, and says that it is simulated', async (t) => {
  const accounts = [
    await openAccount(whole.service, { kind: 'test', variant: 'earlier' }),
    await openAccount(whole.service, { kind: 'test', variant: 'earlier' }),
  ];
  const own = { id: 'any_id', deliveryId: 'whd_any' };
  for (const operation of keyed()) {
    const answers = [];
    for (const { key } of accounts) answers.push(await ask(operation, key, own));
    for (const { response, text } of answers) {
      t.is(response.status, 200, `${operation.title} ${text}`);
      t.deepEqual(departuresOf(whole.earlier.description, operation, response, text), []);
    }
    if (NOT_SIMULATED.includes(operation.title)) continue;
    for (const { response } of answers) t.is(response.headers.get('X-Data-Source'), 'simulated', operation.title);
    const [first, second] = answers.map(({ text }) => (JSON.parse(text) as { data: unknown }).data);
    t.deepEqual(first, second, operation.title);
  }
  for (const { business_id } of accounts) {
    t.is(await creditsOf(whole.service, business_id), 0);
    for (const table of ['subscriptions', 'webhooks', 'earlier_receivers'] as const) {
      const rows = whole.service.records.reader.selectFrom(table).select('business_id');
      t.deepEqual(await rows.where('business_id', '=', business_id).execute(), []);
    }
  }
});

test('every path of the earlier variant refuses the methods it does not have with 405 and lists those it has, at both places', async (t) => {
  const { key } = await openAccount(whole.service, { variant: 'earlier' });
  for (const [path, operations] of Map.groupBy(keyed(), ({ path }) => path)) {
    const served = operations.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const target = path.replace(/\{(\w+)\}/g, 'unknown');
    for (const place of [target, target.replace('/legacy', '')])
      for (const method of METHODS.filter((name) => !served.includes(name))) {
        const reply = await whole.service.call(place, { method, key });
        t.is(reply.status, 405, `${method} ${place}`);
        t.deepEqual(reply.headers.get('Allow')?.split(', ').sort(), [...served, 'OPTIONS'].sort(), place);
      }
    const options = await whole.service.call(target, { method: 'OPTIONS', key: null });
    t.deepEqual(options.headers.get('Allow')?.split(', ').sort(), [...served, 'OPTIONS'].sort(), path);
  }
});
