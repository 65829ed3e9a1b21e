import test from 'ava';
import { openAccount } from '../support/service/account.ts';
import {
  type DescribedOperation,
  type DescribedRequest,
  departuresOf,
  exampleRequest,
  initOf,
} from '../support/service/document.ts';
import { ownFor } from '../support/service/own-resources.ts';
import { startWholeService, type WholeService } from '../support/service/whole-service.ts';

/** Rows of the interface's endpoint table: method and path, credits of the example, operation, scope, ETag. */
const TABLE = [
  ['GET /v1/hail/current', 15, 'hail.current', 'hail:read', 'tag'],
  ['POST /v1/hail/current/batch', 8, 'hail.current.batch', 'hail:read', ''],
  ['GET /v1/hail/forecast', 5, 'hail.forecast', 'hail:read', 'tag'],
  ['GET /v1/hail/history', 15, 'hail.history.30d', 'hail:read', 'tag'],
  ['GET /v1/hail/nowcast', 10, 'hail.nowcast', 'hail:read', 'tag'],
  ['GET /v1/hail/outlook', 15, 'hail.outlook', 'hail:read', 'tag'],
  ['GET /v1/storms', 15, 'storms.list', 'storms:read', 'tag'],
  ['GET /v1/storms/{track_id}', 10, 'storms.get', 'storms:read', 'tag'],
  ['GET /v1/coverage', 5, 'coverage.get', 'coverage:read', 'tag'],
  ['GET /v1/hail/risk', 5, 'hail.risk', 'hail:read', 'tag'],
  ['GET /v1/hail/swaths', 30, 'hail.swaths', 'swaths:read', 'tag'],
  ['GET /v1/events', 15, 'events.list', 'events:read', 'tag'],
  ['GET /v1/tiles/scan', 3, 'tiles.scan', 'tiles:read', 'tag'],
  ['GET /v1/tiles/daily', 2, 'tiles.daily', 'tiles:read', 'tag'],
  ['GET /v1/outlooks/spc', 5, 'outlooks.spc', 'outlooks:read', 'tag'],
  ['GET /v1/warnings', 8, 'warnings.list', 'warnings:read', 'tag'],
  ['POST /v1/verify', 50, 'verify.create', 'verify:write', ''],
  ['POST /v1/verify/report', 100, 'verify.report.create', 'verify:write', ''],
  ['GET /v1/verify/report/{reportId}', 0, null, 'verify:read', ''],
  ['POST /v1/exports', 40, 'exports.create', 'exports:write', ''],
  ['GET /v1/exports/{jobId}', 0, null, 'exports:read', ''],
  ['GET /v1/alerts', 1, 'alerts.list', 'alerts:read', ''],
  ['POST /v1/alerts/subscribe', 2, 'alerts.subscribe', 'alerts:write', ''],
  ['GET /v1/alerts/{id}', 1, 'alerts.get', 'alerts:read', ''],
  ['PATCH /v1/alerts/{id}', 2, 'alerts.update', 'alerts:write', ''],
  ['DELETE /v1/alerts/{id}', 1, 'alerts.delete', 'alerts:write', ''],
  ['POST /v1/portfolio/locations', 10, 'portfolio.locations.upsert', 'portfolio:write', ''],
  ['GET /v1/portfolio/locations', 1, 'portfolio.locations.list', 'portfolio:read', ''],
  ['DELETE /v1/portfolio/locations', 5, 'portfolio.locations.delete', 'portfolio:write', ''],
  ['GET /v1/portfolio/impacts', 20, 'portfolio.impacts', 'portfolio:read', ''],
  ['POST /v1/areas', 3, 'areas.create', 'areas:write', ''],
  ['GET /v1/areas', 1, 'areas.list', 'areas:read', ''],
  ['GET /v1/areas/{id}', 1, 'areas.get', 'areas:read', ''],
  ['GET /v1/areas/{id}/geometry', 1, 'areas.geometry', 'areas:read', ''],
  ['PATCH /v1/areas/{id}', 3, 'areas.update', 'areas:write', ''],
  ['DELETE /v1/areas/{id}', 2, 'areas.delete', 'areas:write', ''],
  ['POST /v1/webhooks', 2, 'webhooks.create', 'webhooks:write', ''],
  ['GET /v1/webhooks', 1, 'webhooks.list', 'webhooks:read', ''],
  ['GET /v1/webhooks/{id}', 1, 'webhooks.get', 'webhooks:read', ''],
  ['PUT /v1/webhooks/{id}', 2, 'webhooks.update', 'webhooks:write', ''],
  ['DELETE /v1/webhooks/{id}', 1, 'webhooks.delete', 'webhooks:write', ''],
  ['POST /v1/webhooks/{id}/test', 3, 'webhooks.test', 'webhooks:write', ''],
  ['GET /v1/webhooks/{id}/deliveries', 1, 'webhooks.deliveries', 'webhooks:read', ''],
  ['POST /v1/webhooks/{id}/deliveries/{deliveryId}/redeliver', 3, 'webhooks.redeliver', 'webhooks:write', ''],
  ['GET /v1/usage', 0, null, 'usage:read', ''],
  ['GET /v1/usage/export', 0, null, 'usage:read', ''],
  ['GET /v1/health', 0, null, null, ''],
  ['GET /v1/openapi.json', 0, null, null, ''],
] as const;
/** Prices of the interface's endpoint table where the question decides; of the batch, for each location. */
const PRICES = {
  'GET /v1/hail/current': [
    ['detail=standard', 'hail.current', 15],
    ['detail=advanced', 'hail.current.advanced', 25],
  ],
  'POST /v1/hail/current/batch': [
    ['estimate=false', 'hail.current.batch', 8],
    ['estimate=true', null, 0],
  ],
  'GET /v1/hail/history': [
    ['days=30&detail=standard', 'hail.history.30d', 15],
    ['days=90&detail=standard', 'hail.history.90d', 25],
    ['days=180&detail=standard', 'hail.history.180d', 40],
    ['days=365&detail=standard', 'hail.history.365d', 60],
    ['days=30&detail=advanced', 'hail.history.30d.advanced', 25],
    ['days=90&detail=advanced', 'hail.history.90d.advanced', 35],
    ['days=180&detail=advanced', 'hail.history.180d.advanced', 55],
    ['days=365&detail=advanced', 'hail.history.365d.advanced', 80],
  ],
  'GET /v1/storms': [
    ['detail=standard', 'storms.list', 15],
    ['detail=advanced', 'storms.list.advanced', 25],
  ],
  'GET /v1/storms/{track_id}': [
    ['detail=standard', 'storms.get', 10],
    ['detail=advanced', 'storms.get.advanced', 18],
  ],
};
const RATE_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
];
/** They answer 202: what they ask for is made later. */
const ACCEPTED = ['POST /v1/verify/report', 'POST /v1/exports'];
/** Its answer follows from where radars stand: no storm date is read. */
const WITHOUT_DATES = ['GET /v1/coverage'];
/** Data answers without a tag: they too say where their data come from. */
const UNTAGGED_DATA = ['POST /v1/hail/current/batch', 'GET /v1/portfolio/impacts', 'POST /v1/verify'];

let whole: WholeService;

test.before(async () => {
  whole = await startWholeService();
});
test.after.always(async (t) => {
  t.deepEqual(whole.service.failures, []);
  await whole.service.close();
});

/** What a success of an operation is described as. */
function successOf({ responses }: DescribedOperation) {
  return responses['200'] ?? responses['202'];
}

function operationOf(title: string): DescribedOperation {
  const found = whole.operations.find((operation) => operation.title === title);
  if (found === undefined) throw new Error(`the description has no ${title}`);
  return found;
}

/** A key of a new business that owns what the path of an operation names, and what it has used so far as its own usage tells. */
async function newCaller(operation: DescribedOperation) {
  const { key, business_id } = await openAccount(whole.service);
  const request = exampleRequest(operation, {
    ...whole.known,
    ...(await ownFor(operation, whole.service, business_id)),
  });
  const used = async () =>
    ((await whole.service.json('/v1/usage', { key })) as { credits: { used: number } }).credits.used;
  return { key, used, request };
}

function send(request: DescribedRequest, key: string | null, headers: Record<string, string> = {}): Promise<Response> {
  return whole.service.call(request.target, { ...initOf(request, headers), key });
}

test('the description lists exactly the endpoints of the interface, with their price, operation and scope', (t) => {
  const described = whole.operations.map((operation) => [
    operation.title,
    operation['x-credits'],
    operation['x-operation'],
    operation['x-scope'],
    operation.keyed && 'ETag' in (successOf(operation)?.headers ?? {}) ? 'tag' : '',
  ]);
  const byTitle = (rows: readonly (readonly unknown[])[]) => Object.fromEntries(rows.map((row) => [row[0], row]));
  t.deepEqual(byTitle(described), byTitle(TABLE));
  t.is(described.length, TABLE.length);
});

test('the description lists every price where the question decides', (t) => {
  const described = whole.operations
    .filter((operation) => operation['x-prices'].length > 0)
    .map((operation) => [
      operation.title,
      operation['x-prices'].map(({ when, operation: name, credits }) => [when, name, credits]),
    ]);
  t.deepEqual(Object.fromEntries(described), PRICES);
});

test('every operation id is there once', (t) => {
  const ids = whole.operations.map(({ operationId }) => operationId);
  t.deepEqual([...new Set(ids)], ids);
});

for (const [title, credits, operationName, , tagged] of TABLE) {
  test(`${title} answers its example as described, for ${credits} credits`, async (t) => {
    const operation = operationOf(title);
    const caller = await newCaller(operation);
    const answer = await send(caller.request, caller.key);
    const text = await answer.text();
    t.is(answer.status, ACCEPTED.includes(title) ? 202 : 200, text);
    t.deepEqual(departuresOf(whole.description, operation, answer, text), []);
    t.is(await caller.used(), credits);
    const usage = (await whole.service.json('/v1/usage', { key: caller.key })) as {
      operations: { items: { operation: string; credits: number }[] };
    };
    t.deepEqual(
      usage.operations.items.map((item) => [item.operation, item.credits]),
      operationName === null ? [] : [[operationName, credits]],
    );
  });

  test(`${title} carries its request id, both families of rate headers and what may be kept of it`, async (t) => {
    const operation = operationOf(title);
    const { request, key } = await newCaller(operation);
    const { headers } = await send(request, key);
    t.regex(headers.get('X-Request-Id') ?? '', /^req_[0-9A-HJKMNP-TV-Z]{26}$/);
    for (const name of RATE_HEADERS) t.not(headers.get(name), null, name);
    if (operation.keyed) t.is(headers.get('Cache-Control'), tagged === '' ? 'no-store' : 'private, no-cache');
    if (operation.keyed) t.is(headers.has('ETag'), tagged !== '');
    const isData = (tagged !== '' && !WITHOUT_DATES.includes(title)) || UNTAGGED_DATA.includes(title);
    t.is(headers.get('X-Data-Source'), isData ? 'simulated' : null);
    t.is('X-Data-Source' in (successOf(operation)?.headers ?? {}), isData);
    for (const name of Object.keys(successOf(operation)?.headers ?? {}))
      if (name !== 'Idempotent-Replay') t.true(headers.has(name), `${name} is described`);
  });

  if (title.startsWith('GET'))
    test(`${title} answers HEAD as it answers GET, without the body, for the same price`, async (t) => {
      const { key, used, request } = await newCaller(operationOf(title));
      const get = await send(request, key);
      await get.arrayBuffer();
      const paid = await used();
      const head = await send({ ...request, method: 'HEAD' }, key);
      t.is(head.status, 200);
      t.is(await head.text(), '');
      const names = [...get.headers.keys()].filter(
        (name) => !/ratelimit|x-request-id|^(date|connection|keep-alive)$/.test(name),
      );
      for (const name of names) t.is(head.headers.get(name), get.headers.get(name), name);
      t.is(await used(), 2 * paid);
    });

  if (tagged !== '')
    test(`${title} answers its own tag with 304, for the same price`, async (t) => {
      const { key, used, request } = await newCaller(operationOf(title));
      const first = await send(request, key);
      const tag = first.headers.get('ETag') ?? '';
      t.regex(tag, /^W\/"[^"]+"$/);
      for (const given of [tag, `"other", ${tag.slice(2)}`, '*']) {
        const again = await send(request, key, { 'If-None-Match': given });
        t.is(again.status, 304, given);
        t.is(await again.text(), '');
        t.is(again.headers.get('ETag'), tag);
        t.is(again.headers.get('Cache-Control'), 'private, no-cache');
        for (const name of ['X-Request-Id', ...RATE_HEADERS]) t.true(again.headers.has(name), name);
      }
      t.is((await send(request, key, { 'If-None-Match': 'W/"other"' })).status, 200);
      t.is(await used(), 5 * credits);
    });
}

for (const path of ['/v1/tiles/scan', '/v1/tiles/daily'])
  test(`GET ${path} has one tag, whether its date is said or left out`, async (t) => {
    const { key } = await openAccount(whole.service);
    const answer = await whole.service.call(path, { key });
    const { date } = (await answer.json()) as { date: string };
    const said = await whole.service.call(`${path}?date=${date}`, { key });
    t.is(said.headers.get('ETag'), answer.headers.get('ETag'));
  });
