import test from 'ava';
import { describeApi, operationId } from '../../api/openapi.ts';
import { docsPage } from '../../api/routes/docs.ts';
import { ENDPOINTS } from '../../api/routes/index.ts';
import { openApiDocument } from '../../api/routes/openapi.ts';
import { ERRORS } from '../../schemas/errors.ts';
import { startService } from '../service.ts';

/** What these tests read of the document. */
interface Described {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly unknown[];
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: object }>>;
  readonly parameters?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly schema: { description?: string };
  }[];
}

const document = describeApi({ endpoints: ENDPOINTS, base_url: 'http://127.0.0.1:8080/v1', version: '1.2.3' });
const described = JSON.parse(JSON.stringify(document)) as Described;
const operations = Object.entries(described.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ title: `${method.toUpperCase()} ${path}`, operation })),
);

test('the description lists every endpoint once, and itself', (t) => {
  t.deepEqual(
    operations.map(({ title }) => title).sort(),
    [...ENDPOINTS.map(({ method, path }) => `${method} ${path}`), 'GET /v1/openapi.json'].sort(),
  );
});

test('every operation has a name of its own, a summary, and an error of every kind any call may meet', (t) => {
  t.is(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length);
  for (const { title, operation } of operations) {
    t.truthy(operation.summary, title);
    if (title === 'GET /v1/openapi.json') continue;
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

test('every parameter says what it means', (t) => {
  for (const { title, operation } of operations)
    for (const parameter of operation.parameters ?? [])
      t.truthy(parameter.description ?? parameter.schema.description, `${title} ${parameter.name}`);
});

test('every reference in the description leads somewhere', (t) => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map((match) => match[1] as string);
  t.true(references.length > 100);
  for (const reference of new Set(references)) {
    const target = reference
      .split('/')
      .reduce<unknown>((value, name) => (value as Record<string, unknown>)?.[name], document);
    t.truthy(target, reference);
  }
});

test('operations are named after method and path', (t) => {
  t.is(operationId({ method: 'GET', path: '/v1/storms/{track_id}' }), 'getStormsByTrackId');
  t.is(operationId({ method: 'POST', path: '/v1/hail/current/batch' }), 'postHailCurrentBatch');
});

test('GET /v1/openapi.json and /docs need no key, carry a tag, and have a page of their own rules', async (t) => {
  const service = await startService({
    endpoints: ENDPOINTS,
    open_routes: () => [openApiDocument(document), docsPage(document)],
  });
  const json = await service.call('/v1/openapi.json', { key: null });
  t.is(json.status, 200);
  t.is(json.headers.get('Content-Type'), 'application/json; charset=utf-8');
  t.deepEqual(await json.json(), described);
  const tag = json.headers.get('ETag') ?? '';
  t.is((await service.call('/v1/openapi.json', { key: null, headers: { 'If-None-Match': tag } })).status, 304);
  const head = await service.call('/v1/openapi.json', { key: null, method: 'HEAD' });
  t.is(head.headers.get('ETag'), tag);
  t.is((await service.call('/v1/openapi.json', { key: null, method: 'POST' })).status, 405);
  const page = await service.call('/docs', { key: null });
  t.regex(page.headers.get('Content-Security-Policy') ?? '', /^default-src 'none'; style-src 'sha256-/);
  t.is(page.headers.get('Content-Type'), 'text/html; charset=utf-8');
  t.deepEqual(service.failures, []);
  await service.close();
});

test('the page names every endpoint, price and error, and asks nobody else for anything', async (t) => {
  const service = await startService({ endpoints: [], open_routes: () => [docsPage(document)] });
  const html = await (await service.call('/docs', { key: null })).text();
  for (const endpoint of ENDPOINTS) t.true(html.includes(`id="${operationId(endpoint)}"`), endpoint.path);
  for (const code of Object.keys(ERRORS)) t.true(html.includes(`<code>${code}</code>`), code);
  t.true(html.includes('30 credits'));
  t.false(/<(script|img|link|iframe)|@import|url\(/.test(html));
  await service.close();
});
