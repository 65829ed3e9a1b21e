import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { type Endpoint, readEndpoint } from '../../../api/server/endpoint.ts';
import { type RunningService, startService } from '../../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../../support/service/test-with.ts';

const test = testWith(() => startService({ endpoints: ENDPOINTS }), closeWithoutFailures);

/** An endpoint that tells which it is, and its parameters. */
function endpoint(method: Endpoint['method'], path: `/${string}`): Endpoint {
  return readEndpoint({
    route: `${method} ${path}`,
    group: 'Test',
    summary: path,
    description: '',
    scope: null,
    params: path.includes('{') ? z.looseObject({}) : null,
    cacheable: false,
    reply: z.object({ path: z.string(), params: z.looseObject({}) }),
    price: () => null,
    answer: async ({ params }) => ({ body: { path, params: params ?? {} } }),
  });
}

const ENDPOINTS = [
  endpoint('GET', '/v1/storms'),
  endpoint('GET', '/v1/storms/{track_id}'),
  endpoint('GET', '/v1/alerts/{id}'),
  endpoint('PATCH', '/v1/alerts/{id}'),
  endpoint('POST', '/v1/alerts/subscribe'),
  endpoint('GET', '/v1/webhooks/{id}/deliveries'),
  endpoint('POST', '/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver'),
];

/** What answered: template and parameters, or the code of the refusal with its Allow. */
async function found({ url, live_key }: RunningService, method: string, path: string): Promise<unknown> {
  const { hostname, port } = new URL(url);
  // Not fetch, which would make another path of dots and capitals.
  const call = request({ hostname, port, method, path, headers: { Authorization: `Bearer ${live_key}` } }).end();
  const [reply] = (await once(call, 'response')) as [IncomingMessage];
  const body = JSON.parse(await text(reply)) as { path?: string; params?: object; error?: string };
  if (body.error === 'method_not_allowed') return reply.headers.allow;
  return body.error ?? [body.path, body.params];
}

test('finds literal paths and paths with parameters', async (t) => {
  t.deepEqual(await found(t.context, 'GET', '/v1/storms'), ['/v1/storms', {}]);
  t.deepEqual(await found(t.context, 'GET', '/v1/storms/abc-1'), ['/v1/storms/{track_id}', { track_id: 'abc-1' }]);
  t.deepEqual(await found(t.context, 'POST', '/v1/webhooks/wh_1/deliveries/whd_2/redeliver'), [
    '/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver',
    { id: 'wh_1', deliveryId: 'whd_2' },
  ]);
});

test('the absolute form and one trailing slash lead to the same route', async (t) => {
  for (const path of [
    ...['http://anybody/v1/storms', 'HTTP://anybody/v1/storms/', 'http://[::1/v1/storms'],
    ...['/v1/storms/', '/v1/storms/?_x', '/v1/st%6Frms', '/%761/%73torms'],
  ])
    t.deepEqual(await found(t.context, 'GET', path), ['/v1/storms', {}], path);
});

test('literal segments win over parameters, whatever the method', async (t) => {
  t.is(await found(t.context, 'GET', '/v1/alerts/subscribe'), 'POST, OPTIONS');
  const { headers } = await t.context.call('/v1/alerts/subscribe', { method: 'OPTIONS', key: null });
  t.is(headers.get('allow'), 'POST, OPTIONS');
});

test('another method is told which ones there are, OPTIONS too', async (t) => {
  t.is(await found(t.context, 'PUT', '/v1/alerts/sub_1'), 'GET, HEAD, PATCH, OPTIONS');
  t.is(await found(t.context, 'PROPFIND', '/v1/alerts/sub_1'), 'GET, HEAD, PATCH, OPTIONS');
  const allowed = async (path: string) =>
    (await t.context.call(path, { method: 'OPTIONS', key: null })).headers.get('allow');
  t.is(await allowed('/v1/alerts/sub_1'), 'GET, HEAD, PATCH, OPTIONS');
  t.is(await allowed('/v1/nothing'), 'OPTIONS');
  t.is(await allowed('/v1/alerts/a.b'), 'OPTIONS');
});

test('there is nothing at a path that no route has as it stands', async (t) => {
  for (const path of [
    '/v1',
    '//',
    '/v1//storms',
    '/v1/storms//',
    '/v1/./storms',
    '/v1/alerts/../storms',
    '/v1/%2e%2e/storms',
    '/v1/storms#there',
    '/v1\\storms',
    '/V1/storms',
    '/v1/storms/a.b',
    '/v1/storms/a%20b',
    '/v1/storms/a%zz',
    `/v1/storms/${'a'.repeat(65)}`,
    '/v1/storms/{track_id}',
    '/v1/storms/a/b',
    'ftp://anybody/v1/storms',
    'http://anybody?x',
  ])
    t.is(await found(t.context, 'GET', path), 'not_found', path);
});

test('a method that leads nowhere at an id that cannot exist is 404 as well', async (t) => {
  t.is(await found(t.context, 'PUT', '/v1/alerts/a.b'), 'not_found');
});

test('an endpoint that is declared twice is a mistake', async (t) => {
  await t.throwsAsync(startService({ endpoints: [endpoint('GET', '/v1/storms'), endpoint('GET', '/v1/storms')] }), {
    message: 'GET /v1/storms is declared twice',
  });
});
