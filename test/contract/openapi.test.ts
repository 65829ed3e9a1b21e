import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import { REPLAY_WINDOW_MS } from '../../api/billing/idempotency.ts';
import { docsRoutes, EXAMPLE_URL, GUIDES } from '../../api/docs/pages.ts';
import { startPage } from '../../api/docs/start-page.ts';
import { RATE_WINDOW_S } from '../../api/http/call-limits.ts';
import { EARLIER_DESCRIPTION, EARLIER_ENDPOINTS } from '../../api/legacy/variants.ts';
import { CURSOR_MS } from '../../api/records/own-rows.ts';
import { openApiDocument } from '../../api/routes/files.ts';
import { ENDPOINTS } from '../../api/routes/index.ts';
import {
  BUSY,
  GIVE_UP_AFTER,
  LONGEST_WAIT_MS,
  RETRIES_MAX,
  WARN_AFTER,
  WINDOW_MS,
} from '../../api/rules/webhook-retry.ts';
import { GUEST_RATE_PER_MINUTE } from '../../api/server/admit.ts';
import { describeApi, operationId } from '../../api/server/openapi.ts';
import { CURRENT_EVENTS } from '../../api/server/openapi-webhooks.ts';
import { ATTEMPTS_KEPT } from '../../api/webhooks/attempts.ts';
import { ATTEMPT_MS, CONNECT_MS } from '../../api/webhooks/client.ts';
import { EARLIER_WAITS_MS } from '../../api/webhooks/formats.ts';
import { signatureHeaders, TOLERANCE_S } from '../../api/webhooks/signature.ts';
import { ERROR_ADVICE, ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import { SIZE_COLORS } from '../../schemas/palette.ts';
import { EXPORT_KEPT_DAYS } from '../../schemas/resources/export-job.ts';
import { LOOKBACK_MIN } from '../../schemas/resources/hail-cell.ts';
import { REPORT_KEPT_DAYS, SIGNED_URL_SECONDS } from '../../schemas/resources/report-job.ts';
import { VERIFICATION_DAYS_MAX } from '../../schemas/resources/verification.ts';
import { EARLIER_EVENT_TYPES, EVENT_TYPES } from '../../schemas/webhook-events.ts';
import { departuresOfEvent } from '../support/data/described-events.ts';
import { codeBlocks, PROJECT, readDocument } from '../support/data/markdown.ts';
import { pluck } from '../support/data/rows.ts';
import { now_s, QUESTIONS, STANDARD_QUESTIONS, vectors } from '../support/data/webhook-vectors.ts';
import { openAccount } from '../support/service/account.ts';
import {
  type DescribedOperation,
  type DescribedRequest,
  departuresOf,
  exampleRequest,
  initOf,
  withResponses,
} from '../support/service/document.ts';
import { ownFor } from '../support/service/own-resources.ts';
import { type RunningService, serviceFor, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { startWholeService, type WholeService, wholeRoot } from '../support/service/whole-service.ts';

/** What these tests read of the document. */
interface Described {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly components: object;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly 'x-credits': number;
  readonly security?: readonly unknown[];
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: object; readonly headers?: object }>
  >;
  readonly parameters?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly schema: { description?: string };
  }[];
}

const BASE_URL = 'http://127.0.0.1:8080/v1';
const document = describeApi(ENDPOINTS, BASE_URL);
const earlierDocument = describeApi(EARLIER_ENDPOINTS, BASE_URL, EARLIER_DESCRIPTION);
const published = JSON.parse(JSON.stringify(document)) as Described;
const described = describedOf(document);

/** A description with its shared responses in every place where they are referred to. */
function describedOf(source: object): Described {
  return withResponses(source) as object as Described;
}

const operations = Object.entries(described.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ title: `${method.toUpperCase()} ${path}`, operation })),
);

test('the description lists every endpoint once, the files, and itself', (t) => {
  const titles = [
    ...ENDPOINTS.map(({ method, path }) => `${method} ${path}`),
    'GET /v1/openapi.json',
    'GET /v1/files/{job}',
    'GET /tiles/scan/{date}/{file}',
    'GET /tiles/reflectivity/{date}/{file}',
    'GET /tiles/daily/{date}.pmtiles',
  ];
  t.deepEqual(operations.map(({ title }) => title).sort(), titles.sort());
});

test('every operation has a name of its own, a summary, and an error of every kind any call may meet', (t) => {
  t.is(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length);
  for (const { title, operation } of operations) {
    t.truthy(operation.summary, title);
    if (operation.security?.length === 0) continue; // without a key
    for (const status of ['400', '401', '403', '405', '406', '414', '429', '431', '500', '503'])
      t.truthy(operation.responses[status], `${title} ${status}`);
  }
});

test('every operation tells that a request may be refused for its head', (t) => {
  for (const { title, operation } of operations)
    for (const [status, code] of [
      ['400', 'bad_request'],
      ['414', 'uri_too_long'],
      ['431', 'headers_too_large'],
    ] as const)
      t.regex(operation.responses[status]?.description ?? '', new RegExp(`\`${code}\``), `${title} ${status}`);
});

test('every operation that costs credits tells that it may be refused as too much at once', (t) => {
  const keyed = operations.filter(({ operation }) => operation.security === undefined);
  const refusing = keyed.filter(({ operation }) => /`overloaded`/.test(operation.responses['503']?.description ?? ''));
  const billed = operations.filter(({ operation }) => operation['x-credits'] > 0);
  t.deepEqual(pluck(refusing, 'title'), pluck(billed, 'title'));
});

test('every parameter says what it means', (t) => {
  for (const { title, operation } of operations)
    for (const parameter of operation.parameters ?? [])
      t.truthy(parameter.description ?? parameter.schema.description, `${title} ${parameter.name}`);
});

for (const [variant, described] of [
  ['current', document],
  ['earlier', earlierDocument],
] as const)
  test(`every reference in the description of the ${variant} variant leads somewhere`, (t) => {
    const references = [...JSON.stringify(described).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path);
    t.true(references.length > 100);
    for (const reference of new Set(references)) {
      const target = reference
        .split('/')
        .reduce<unknown>((value, name) => (value as Record<string, unknown>)?.[name], described);
      t.truthy(target, reference);
    }
  });

test('every time of the description has the format of one, and every calendar date too', (t) => {
  const strings = [...schemasIn(published)].filter(([, { type }]) => type === 'string');
  const described = (words: RegExp) =>
    strings.filter(([place, { description }]) => words.test(String(description)) && !place.includes('/headers/'));
  const times = described(/ISO 8601/);
  t.true(times.length > 50, `${times.length}`);
  const untimed = times.filter(([, { format }]) => format !== 'date-time').map(([place]) => place);
  t.deepEqual(untimed, []);
  const dates = described(/storm date\b|YYYY-MM-DD/i).filter(
    ([, { format, enum: words }]) => format !== 'date' && words === undefined,
  );
  const undated = dates.map(([place]) => place);
  t.deepEqual(undated, []);
});

test('what has a default may be left out: no required parameter and no property of a body has one', (t) => {
  const parameters = operations.flatMap(({ title, operation }) =>
    (operation.parameters ?? []).map((parameter) => ({ title: `${title} ${parameter.name}`, parameter })),
  );
  const standard = parameters.filter(({ parameter }) => 'default' in parameter.schema);
  t.true(standard.length > 20);
  const required = pluck(
    standard.filter(({ parameter }) => 'required' in parameter),
    'title',
  );
  t.deepEqual(required, []);
  const bodies = [...schemasIn(published.components)].filter(([, { properties }]) => properties !== undefined);
  const withDefaults = bodies
    .filter(([, { properties }]) => Object.values(properties as object).some((one) => one?.default !== undefined))
    .map(([place]) => place);
  t.deepEqual(withDefaults, []);
  const schemas = (document.components as { schemas: Record<string, { properties: object; required: string[] }> })
    .schemas;
  t.like(schemas.SubscriptionCreation?.properties, { radius_km: { 'x-default': 25 } });
  t.false(schemas.SubscriptionCreation?.required.includes('radius_km'));
});

test('operations on files tell of ranges, preconditions and their refusals, and need no key', (t) => {
  const files = operations.filter(({ title }) => title.includes('/files/') || title.includes(' /tiles/'));
  t.is(files.length, 4);
  for (const { title, operation } of files) {
    t.deepEqual(operation.security, [], title);
    for (const status of ['200', '206', '304', '400', '404', '405', '412', '416'])
      t.truthy(operation.responses[status], `${title} ${status}`);
    const asked = operation.parameters?.map(({ name }) => name) ?? [];
    for (const name of ['Range', 'If-Range', 'If-Match', 'If-None-Match']) t.true(asked.includes(name), title);
  }
});

test('every list of a schema says what its items are', (t) => {
  const lists = [...schemasIn(described)].filter(([, { type }]) => type === 'array');
  t.true(lists.length > 50);
  const openLists = lists.filter(([, schema]) => schema.items === undefined).map(([place]) => place);
  t.deepEqual(openLists, []);
});

test('an event of each variant is a webhook with an example that fits its schema', (t) => {
  for (const [variant, events] of [
    ['current', EVENT_TYPES],
    ['legacy', EARLIER_EVENT_TYPES],
  ] as const) {
    const source = describeApi([], BASE_URL, variant === 'current' ? undefined : EARLIER_DESCRIPTION);
    t.deepEqual(Object.keys(source.webhooks ?? {}), events);
    for (const { type, example } of variant === 'current' ? CURRENT_EVENTS : EARLIER_DESCRIPTION.events) {
      t.deepEqual(departuresOfEvent(variant, JSON.stringify(example)), [], type);
      t.not(departuresOfEvent(variant, JSON.stringify({ ...example, more: 1 })).length, 0);
      t.not(departuresOfEvent(variant, JSON.stringify({ ...example, data: {} })).length, 0);
    }
  }
});

test('a parameter that is moved to its limits says so', (t) => {
  const swaths = operations.find(({ title }) => title === 'GET /v1/hail/swaths');
  const simplify = swaths?.operation.parameters?.find(({ name }) => name === 'simplify_m');
  t.regex(simplify?.schema.description ?? simplify?.description ?? '', /Below 0 it counts as 0, above 5000 as 5000\.$/);
});

/** Every schema of the description, with its place in it. */
function* schemasIn(value: unknown, place = '#'): Generator<[string, Readonly<Record<string, unknown>>]> {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value || 'properties' in value) yield [place, value as Readonly<Record<string, unknown>>];
  for (const [name, member] of Object.entries(value))
    if (name !== 'example' && name !== 'examples') yield* schemasIn(member, `${place}/${name}`);
}

test('no schema has members that JSON Schema does not know: a unit is an extension', (t) => {
  const units = [...schemasIn(described)].filter(([, schema]) => 'x-unit' in schema);
  t.true(units.length > 100);
  t.deepEqual(
    [...schemasIn(described)].filter(([, { unit, column }]) => typeof unit === 'string' || column !== undefined),
    [],
  );
});

/** Places of schemas of request bodies. */
const BODIES =
  /\/requestBody\/|^#\/components\/schemas\/(HailBatchRequest|BatchLocation|NewArea|AreaChange|(Export|Report|Verification)Request(?!Output)|Subscription(Creation|Update)|Webhook(Creation|Update|Test)\b|Portfolio(Upload|Deletion)\b|UploadedRow)/;

test('an answer may have fields that are new, a body may not', (t) => {
  for (const [place, schema] of schemasIn(described))
    if ('properties' in schema && !/^#\/webhooks\/|\/geometry$/.test(place))
      t.is(schema.additionalProperties, BODIES.test(place) ? false : undefined, place);
});

test('words of questions are closed, those of answers are open', (t) => {
  const answers = [...schemasIn(described)].filter(
    ([place]) => /\/responses\/|^#\/components\/schemas\//.test(place) && !BODIES.test(place),
  );
  const closedWords = answers.filter(([, schema]) => 'enum' in schema).map(([place]) => place);
  t.deepEqual(closedWords, []);
  t.true(answers.some(([, schema]) => 'x-extensible-enum' in schema));
  const questions = [...schemasIn(described)].filter(([place]) => place.includes('/parameters/'));
  t.true(questions.some(([, schema]) => 'enum' in schema));
  t.false(questions.some(([, schema]) => 'x-extensible-enum' in schema));
});

test('every resource is a component of its own name, and every answer refers to one', (t) => {
  const components = (document.components as { schemas: Record<string, unknown> }).schemas;
  for (const name of [
    'HailCell',
    'Storm',
    'HistoryEvent',
    'SwathTier',
    'EventDay',
    'TileFrame',
    'PortfolioLocation',
    'UploadedRow',
  ])
    t.truthy(components[name], name);
  for (const { title, operation } of operations)
    for (const [status, { content }] of Object.entries(operation.responses))
      for (const { schema } of Object.values((content ?? {}) as Record<string, { schema: Record<string, unknown> }>)) {
        const isText = schema.type === 'string' || title.endsWith('/v1/openapi.json');
        t.true(isText || '$ref' in schema || 'anyOf' in schema, `${title} ${status}`);
      }
});

test('every answer about now says what a false `active` does not mean', (t) => {
  for (const path of ['/v1/hail/current', '/v1/hail/current/batch', '/v1/hail/nowcast', '/v1/storms']) {
    const { reply } = ENDPOINTS.find((endpoint) => endpoint.path === path) ?? {};
    const schema = JSON.stringify(reply instanceof z.ZodType ? z.toJSONSchema(reply, { io: 'input' }) : null);
    t.regex(schema, /False says nothing about now where the newest scan is more than ten minutes old/, path);
  }
});

test('a row of an upload is described field by field, with what it must have', (t) => {
  const { UploadedRow } = (
    document.components as { schemas: Record<string, { properties: object; required: string[] }> }
  ).schemas;
  t.deepEqual(Object.keys(UploadedRow?.properties ?? {}), ['id', 'name', 'lat', 'lon', 'address', 'tags']);
  t.deepEqual(UploadedRow?.required, ['name', 'lat', 'lon']);
});

test('the price is that of a call without what is optional, and of one location of a batch', (t) => {
  const price = (title: string) => {
    const { 'x-credits': credits, 'x-credits-per': per } = z
      .looseObject({ 'x-credits': z.number(), 'x-credits-per': z.string() })
      .parse(operations.find((one) => one.title === title)?.operation);
    return [credits, per];
  };
  t.deepEqual(price('POST /v1/hail/current/batch'), [8, 'location']);
  t.deepEqual(price('GET /v1/hail/history'), [15, 'call']);
});

test('operations are named after method and path', (t) => {
  t.is(operationId({ method: 'GET', path: '/v1/storms/{track_id}' }), 'getStormsByTrackId');
  t.is(operationId({ method: 'POST', path: '/v1/hail/current/batch' }), 'postHailCurrentBatch');
});

test('the description of each variant needs no key and carries a tag', async (t) => {
  const service = await startService({
    public_routes: () => [openApiDocument(document), openApiDocument(earlierDocument, EARLIER_DESCRIPTION.own_path)],
  });
  const json = await service.call('/v1/openapi.json', { key: null });
  t.is(json.status, 200);
  t.is(json.headers.get('Content-Type'), 'application/json; charset=utf-8');
  t.deepEqual(await json.json(), published);
  const tag = json.headers.get('ETag') ?? '';
  t.is((await service.call('/v1/openapi.json', { key: null, headers: { 'If-None-Match': tag } })).status, 304);
  const head = await service.call('/v1/openapi.json', { key: null, method: 'HEAD' });
  t.is(head.headers.get('ETag'), tag);
  t.is((await service.call('/v1/openapi.json', { key: null, method: 'POST' })).status, 405);
  const earlier = await service.call('/legacy/v1/openapi.json', { key: null });
  t.deepEqual(await earlier.json(), JSON.parse(JSON.stringify(earlierDocument)));
  t.deepEqual(service.failures, []);
  await service.close();
});

test('the earlier variant is described below /legacy/v1, each operation by its own name', (t) => {
  const paths = EARLIER_ENDPOINTS.map(({ path }) => path);
  const described = Object.keys(earlierDocument.paths ?? {}).sort();
  t.deepEqual(described, [...new Set([...paths, '/legacy/v1/openapi.json'])].sort());
  t.true(paths.every((path) => path.startsWith('/legacy/v1/')));
  const names = EARLIER_ENDPOINTS.map(operationId);
  t.is(new Set(names).size, names.length);
  t.true(names.includes('getLegacyHailCurrent'));
});

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
test.after.always((t) => closeWithoutFailures(t, whole.service));

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

for (const [title, credits, operationName, , tagged] of TABLE) {
  test(`${title} answers its example as described, for ${credits} credits`, async (t) => {
    const operation = operationOf(title);
    const caller = await newCaller(operation);
    const answer = await send(caller.request, caller.key);
    const text = await answer.text();
    t.is(answer.status, ACCEPTED.includes(title) ? 202 : 200, text);
    t.deepEqual(departuresOf(whole.description, operation, answer, text), []);
    t.is(await caller.used(), credits);
    t.is(answer.headers.get('X-Credits-Charged'), String(credits));
    const usage = (await whole.service.json('/v1/usage', { key: caller.key })) as {
      operations: { items: { operation: string; credits: number }[] };
    };
    const shownOperations = usage.operations.items.map((item) => [item.operation, item.credits]);
    t.deepEqual(shownOperations, operationName === null ? [] : [[operationName, credits]]);
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

  if (title !== 'GET /v1/openapi.json')
    test(`${title} says in X-Credits-Charged what was charged, however it is answered`, async (t) => {
      const { request, key, used } = await newCaller(operationOf(title));
      const once: Record<string, string> = title.startsWith('GET') ? {} : { 'Idempotency-Key': 'once' };
      const unknown = `${request.target}${request.target.includes('?') ? '&' : '?'}qqqqqqqqqqqq=1`;
      const ask = async (change: Partial<DescribedRequest>, headers = once) => {
        const before = await used();
        const answer = await send({ ...request, ...change }, key, headers);
        await answer.arrayBuffer();
        const charged = (await used()) - before;
        const what = `${answer.status} to ${JSON.stringify([change, headers])}`;
        t.is(answer.headers.get('X-Credits-Charged'), String(charged), what);
        if (answer.headers.has('Idempotent-Replay') || answer.status >= 400) t.is(charged, 0, what);
        if (answer.status === 304) t.is(charged, credits, what);
        return answer.headers.get('ETag');
      };
      const tag = await ask({});
      await ask({});
      await ask({ target: unknown }, {});
      await ask({}, { Accept: 'image/png' });
      for (const target of title.startsWith('GET') ? [request.target, unknown] : [])
        await ask({ method: 'HEAD', target });
      for (const given of tag === null ? [] : [tag, '*']) await ask({}, { 'If-None-Match': given });
      for (const method of ['OPTIONS', 'PROPFIND']) await ask({ method }, {});
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
      // The body of health counts the jobs of other tests.
      const other = title.endsWith('/health') ? '|content-length' : '';
      const unlike = new RegExp(`ratelimit|x-request-id|^(date|connection|keep-alive${other})$`);
      const names = [...get.headers.keys()].filter((name) => !unlike.test(name));
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
        t.is(again.headers.get('X-Credits-Charged'), String(credits));
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

const testStartPage = testWith(
  () => startService({ public_routes: (services) => [startPage(services)] }),
  closeWithoutFailures,
);

for (const method of ['GET', 'HEAD'] as const)
  testStartPage(
    `${method} of the start page with an Accept of JSON leads to the documentation with nothing in its body, so of no type`,
    async (t) => {
      const headers = { Accept: 'application/json' };
      const reply = await t.context.call('/', { method, key: null, redirect: 'manual', headers });
      t.is(reply.status, 302);
      t.is(reply.headers.get('Location'), 'docs');
      t.is(reply.headers.get('Cache-Control'), 'no-store');
      t.is(reply.headers.get('Content-Length'), '0');
      t.is(reply.headers.get('Content-Type'), null);
      t.is(await reply.text(), '');
    },
  );

test('the start page has the colours of the hail sizes', (t) => {
  const text = readDocument('api/docs/start.html');
  for (const { category, mm_min, color } of SIZE_COLORS)
    if (category !== null) t.true(text.includes(`fill="${color}"/></svg>${mm_min} mm, ${category.replace('_', ' ')}`));
});

testStartPage(
  'the start page needs no key and no script, and of an empty root says that nothing is published',
  async (t) => {
    const reply = await t.context.call('/', { key: null, headers: { Accept: 'text/html,*/*;q=0.8' } });
    t.is(reply.status, 200);
    t.is(reply.headers.get('Content-Type'), 'text/html; charset=utf-8');
    t.is(reply.headers.get('X-RateLimit-Limit'), null);
    t.regex(
      reply.headers.get('Content-Security-Policy') ?? '',
      /^default-src 'none';.* frame-ancestors 'none'; style-src 'self'$/,
    );
    const text = await reply.text();
    t.true(text.includes('Nothing yet.'));
    t.notRegex(text, /<style| style=/);
  },
);

test('the start page says which dates are published, that they are simulated, and links to map, guides and reference', async (t) => {
  const beside = whole.service;
  const service = await serviceFor(t, {
    beside,
    data_root: await wholeRoot(),
    public_routes: (services) => [startPage(services)],
  });
  const text = await (await service.call('/', { key: null })).text();
  for (const words of [
    'Simulated · not real weather',
    '2026-05-01 to 2026-05-02',
    '2 simulated',
    '2026-05-02 00:11 UTC',
  ])
    t.true(text.includes(words), words);
  for (const link of ['viewer', 'docs', 'docs/quickstart']) t.true(text.includes(`href="${link}"`), link);
});

const GUIDES_URL = 'https://hail.example.com/v1';
const source = describeApi(ENDPOINTS, GUIDES_URL);
const guide = (name: string) => readDocument(`api/docs/${name}.md`);
/** Text without the line breaks of its source. */
const flowing = (name: string) => guide(name).replaceAll(/\s+/g, ' ');

let service: RunningService;
test.before(async () => {
  service = await startService({ public_routes: () => docsRoutes(source) });
});
test.after.always('no page failed', (t) => closeWithoutFailures(t, service));
const fetchPage = (path: string) => service.call(path, { key: null });
const pageOf = async (path: string) => (await fetchPage(path)).text();

test('the navigation names every file of api/docs once', (t) => {
  const files = readdirSync(`${PROJECT}api/docs`).filter((name) => name.endsWith('.md'));
  t.deepEqual(GUIDES.map((name) => `${name}.md`).sort(), files.sort());
});

test('the page of a link needs no key, asks this service alone, and keeps the key where the map looks for it', async (t) => {
  const reply = await fetchPage('/link');
  t.is(reply.status, 200);
  t.regex(reply.headers.get('Content-Security-Policy') ?? '', /^default-src 'none';.*; connect-src 'self'$/);
  t.true((await reply.text()).includes('docs/link.js'));
  const [, place = 'none'] = /'(hail\.key)'/.exec(readDocument('api/viewer/site.ts')) ?? [];
  t.true((await pageOf('/docs/link.js')).includes(`localStorage.setItem('${place}'`));
});

const operationHashes = new Set(ENDPOINTS.map((endpoint) => `#${operationId(endpoint)}`));

for (const path of [...GUIDES, 'guides', 'search?q=hail'])
  test(`every link of the page /docs/${path} inside the service leads to a page and a place on it`, async (t) => {
    const page = await pageOf(`/docs/${path}`);
    t.false(page.includes('<!-- facts'));
    const links = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'));
    const inside = new Set(links.filter((link) => !link.startsWith('https:')));
    t.true(inside.size > 10);
    for (const link of inside) {
      const { pathname, hash } = new URL(link, `http://service/docs/${path}`);
      if (['/', '/viewer'].includes(pathname)) continue;
      if (pathname === '/docs' && hash !== '') {
        t.true(operationHashes.has(hash) || hash === '#getOpenapiJson' || /Archive|File/.test(hash), link);
        continue;
      }
      const reply = await fetchPage(pathname);
      t.is(reply.status, 200, link);
      if (hash !== '') t.true((await reply.text()).includes(`id="${hash.slice(1)}"`), link);
    }
  });

for (const path of ['link', 'docs', 'docs/quickstart', 'docs/guides', 'docs/search?q=hail', 'docs/webhooks'])
  test(`/${path} with a slash at its end leads to the page without, because the links of a page are relative`, async (t) => {
    const reply = await fetch(`${service.url}/${path.replace(/(?=\?|$)/, '/')}`, { redirect: 'manual' });
    t.is(reply.headers.get('location'), `../${path.slice(path.lastIndexOf('/') + 1)}`);
  });

test('the examples of a page have the address of its own service', async (t) => {
  for (const name of GUIDES) {
    const page = await pageOf(`/docs/${name}`);
    t.false(page.includes(EXAMPLE_URL), name);
    if (guide(name).includes('export HAIL_URL=')) t.true(page.includes(`export HAIL_URL=${GUIDES_URL}\n`), name);
  }
});

test('guides and reference load from their own service alone', async (t) => {
  for (const path of ['/docs', '/docs/quickstart', '/docs/search?q=hail']) {
    const policy = (await fetchPage(path)).headers.get('Content-Security-Policy') ?? '';
    t.regex(
      policy,
      /^default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'/,
    );
    t.is(policy.includes('unsafe'), path === '/docs', path);
    t.false(/https?:|\*/.test(policy), path);
  }
});

test('the search finds sections by words, their beginnings and with a typing error, and calls', async (t) => {
  const found = async (words: string) => {
    const page = await pageOf(`/docs/search?q=${encodeURIComponent(words)}`);
    return [...page.matchAll(/<li><a href="([^"]+)">[^<]*<\/a> <span>/g)].map(([, link]) => link);
  };
  t.is((await found('check signature'))[0], 'receive-events#check-the-signature');
  t.is((await found('geopand'))[0]?.split('#')[0], 'files');
  t.true((await found('idempotncy')).includes('credits-and-pages#repeats'));
  t.true((await found('range_not_satisfiable')).includes('errors#the-codes'));
  t.true((await found('nowcast')).includes('../docs#getHailNowcast'));
  t.deepEqual(await found('xylophone'), []);
});

test('the search shows what was typed as text, says when nothing is found, and asks for words when there are none', async (t) => {
  const page = await pageOf(`/docs/search?q=${encodeURIComponent('<b onclick=x>"zzqq')}`);
  t.true(page.includes('Nothing contains “&lt;b onclick=x&gt;&quot;zzqq”'));
  t.true(page.includes('value="&lt;b onclick=x&gt;&quot;zzqq"'));
  t.true((await pageOf('/docs/search')).includes('Type words'));
  t.false((await pageOf(`/docs/search?q=${'hail '.repeat(500)}`)).includes('hail '.repeat(30)));
  t.is((await fetchPage('/docs/search?q=%FF')).status, 400);
});

test('the catalogue of errors has every code with its status, its meaning and what to do', async (t) => {
  const page = (await pageOf('/docs/errors')).replaceAll(/<\/?code>/g, '`');
  for (const [code, { status, meaning }] of Object.entries(ERRORS)) {
    t.true(page.includes(`<h3 id="${code}">\`${code}\`</h3>\n<p>Status ${status}. `), code);
    t.true(page.includes(meaning.slice(1)), code);
    t.true(page.includes(`<strong>What to do.</strong> ${ERROR_ADVICE[code as ErrorCode]}`), code);
  }
});

test('the price list has every call with a key', async (t) => {
  const page = (await pageOf('/docs/credits-and-pages')).replaceAll('\n', '');
  for (const endpoint of ENDPOINTS) {
    const { method, path } = endpoint;
    t.true(page.includes(`<a href="../docs#${operationId(endpoint)}"><code>${method} ${path}</code></a>`), path);
  }
  for (const row of [
    '/v1/hail/swaths</code></a></td><td>30</td>',
    '/v1/hail/history</code></a></td><td>15 to 80, by its parameters</td>',
    '/v1/hail/current/batch</code></a></td><td>8 for each location</td>',
    '/v1/usage</code></a></td><td>free</td>',
    '/v1/portfolio/impacts</code></a></td><td><code>limit</code>, <code>cursor</code></td><td>50</td><td>500</td>',
    '<code>operations_limit</code>, <code>operations_cursor</code></td><td>20</td><td>100</td>',
  ])
    t.true(page.includes(row), row);
});

test('the guide for receivers has every event, header, wait and a test vector; its earlier address leads there', async (t) => {
  const page = await pageOf('/docs/receive-events');
  for (const type of [...EVENT_TYPES, ...EARLIER_EVENT_TYPES]) t.true(page.includes(`<code>${type}</code></h3>`), type);
  const sent = signatureHeaders({ id: 'evt_1', event: 'x', body: '{}' }, [], 0);
  for (const name of Object.keys(sent)) t.true(page.includes(`<td><code>${name}</code></td>`), name);
  for (const [attempt, wait] of [10, 20, 40, 80, 160].entries())
    t.true(page.includes(`<td>${wait} seconds after attempt ${attempt + 1} has ended</td>`), String(wait));
  const [first] = vectors;
  for (const header of ['X-Service-Signature', 'webhook-signature'])
    t.true(page.includes(`${header}: ${first?.headers[header]}`), header);
  t.is(await pageOf('/docs/webhooks/vectors.json'), readDocument('data/reference/webhook-vectors.json'));
  const earlier = await service.call('/docs/webhooks', { key: null, redirect: 'manual' });
  t.is(earlier.headers.get('Location'), 'receive-events');
});

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Sentences of the guides whose figures are constants of the service. */
const FACTS: readonly (readonly [guide: string, sentence: string])[] = [
  [
    'receive-events',
    `within ${ATTEMPT_MS / 1000} seconds; the connection must be made within ${CONNECT_MS / 1000} of them`,
  ],
  ['receive-events', `more than ${TOLERANCE_S} seconds off`],
  ['receive-events', `repeated up to ${RETRIES_MAX} times`],
  [
    'receive-events',
    `An answer of ${BUSY.join(' or ')} with \`Retry-After\` (seconds or a date) makes the wait longer, up to ${LONGEST_WAIT_MS / MINUTE_MS} minutes`,
  ],
  ['receive-events', `later than ${WINDOW_MS === HOUR_MS ? 'an hour' : '?'} after the first attempt`],
  ['receive-events', `the last ${ATTEMPTS_KEPT} attempts of a webhook`],
  ['receive-events', `first attempts of ${GIVE_UP_AFTER} events in a row fail`],
  ['receive-events', `An earlier mail comes after ${WARN_AFTER} failures`],
  [
    'receive-events',
    `after ${EARLIER_WAITS_MS[0] / 1000} second, ${EARLIER_WAITS_MS[1] / 1000} seconds and ${EARLIER_WAITS_MS[2] / MINUTE_MS} minutes`,
  ],
  ['credits-and-pages', `${SELF_HOSTED.rate_per_minute} requests in ${RATE_WINDOW_S} seconds`],
  ['credits-and-pages', `each address may make ${GUEST_RATE_PER_MINUTE} in ${RATE_WINDOW_S} seconds`],
  ['credits-and-pages', `again within ${REPLAY_WINDOW_MS / HOUR_MS} hours`],
  ['credits-and-pages', `continue a walk within ${CURSOR_MS === HOUR_MS ? 'an hour' : '?'}`],
  ['verify-a-date', `up to ${VERIFICATION_DAYS_MAX} days`],
  ['quickstart', `in the last ${LOOKBACK_MIN} minutes`],
  ['verify-a-date', `without a key for ${SIGNED_URL_SECONDS / 60} minutes`],
  ['verify-a-date', `deleted after ${REPORT_KEPT_DAYS} days`],
  ['exports', `valid for ${SIGNED_URL_SECONDS / 60} minutes`],
  ['exports', `Reports are kept for ${REPORT_KEPT_DAYS} days, exports for ${EXPORT_KEPT_DAYS}`],
];
for (const [name, sentence] of FACTS)
  test(`${name} says '${sentence}', as the service does`, (t) => t.true(flowing(name).includes(sentence)));

/** Code of a guide that begins with a comment which names its file. */
function sample(language: string, file: string, name = 'receive-events'): string {
  const code = codeBlocks(guide(name), language).find((block) => block.split('\n')[0]?.includes(file));
  if (code === undefined) throw new Error(`no ${language} block of ${name} names ${file}`);
  return code;
}

function folderWith(t: ExecutionContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'hail-guide-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** Skipped, with its reason in the title, where a program is not there to be run. */
function testWhere(program: string, title: string, body: (t: ExecutionContext) => void): void {
  const isThere = spawnSync(program, ['--version']).error === undefined;
  (isThere ? test : test.skip)(`${title} (needs ${program})`, body);
}

test('the TypeScript of the guide accepts every published vector by either signature, and no forged one', async (t) => {
  const folder = folderWith(t, { 'verify-webhook.ts': sample('ts', 'verify-webhook.ts') });
  const { verify, verifyStandard } = await import(pathToFileURL(join(folder, 'verify-webhook.ts')).href);
  for (const { what, body, signature, secret, now_s: at_s, ours } of QUESTIONS)
    t.is(verify(body, signature, secret, at_s), ours, what);
  for (const { what, body, id, timestamp, signature, secret, now_s: at_s, ours } of STANDARD_QUESTIONS)
    t.is(verifyStandard(body, [id, timestamp, signature], secret, at_s), ours, what);
});

testWhere(
  'python3',
  'the Python of the guide accepts every published vector by either signature, and no forged one',
  (t) => {
    const folder = folderWith(t, {
      'verify_webhook.py': sample('python', 'verify_webhook.py'),
      'questions.json': JSON.stringify([QUESTIONS, STANDARD_QUESTIONS]),
    });
    const ask = [
      'import json; from verify_webhook import verify, verify_standard',
      "own, standard = json.load(open('questions.json', encoding='utf-8'))",
      "print(json.dumps([[verify(q['body'].encode(), q['signature'], q['secret'], q['now_s']) for q in own],",
      "  [verify_standard(q['body'].encode(), q['id'], q['timestamp'], q['signature'], q['secret'], q['now_s']) for q in standard]]))",
    ].join('\n');
    const { stdout, stderr } = spawnSync('python3', ['-B', '-c', ask], { cwd: folder, encoding: 'utf8' });
    t.is(stderr, '');
    t.deepEqual(
      JSON.parse(stdout),
      [QUESTIONS, STANDARD_QUESTIONS].map((questions) => questions.map(({ ours }) => ours)),
    );
  },
);

testWhere(
  'openssl',
  'the shell of the guide accepts every published vector by either signature, and no forged one of that time',
  (t) => {
    const folder = folderWith(t, {
      'own.sh': sample('sh', 'verify-webhook.sh'),
      'standard.sh': sample('sh', 'verify-standard.sh'),
    });
    const run = (body: string, ...args: string[]) => {
      writeFileSync(join(folder, 'body'), body);
      return spawnSync('sh', args, { cwd: folder }).status === 0;
    };
    for (const { what, body, signature, secret, ours } of QUESTIONS.filter((each) => each.now_s === now_s))
      t.is(run(body, 'own.sh', 'body', signature, secret), ours, what);
    for (const { what, body, id, timestamp, signature, secret, ours } of STANDARD_QUESTIONS.filter(
      (each) => each.now_s === now_s,
    ))
      t.is(run(body, 'standard.sh', 'body', id, timestamp, signature, secret), ours, what);
  },
);
