import test from 'ava';
import { z } from 'zod';
import { type Endpoint, readEndpoint } from '../../../api/endpoint.ts';
import { router } from '../../../api/middleware/router.ts';

function endpoint(method: Endpoint['method'], path: string): Endpoint {
  return readEndpoint({
    method,
    path,
    group: 'Test',
    summary: path,
    description: '',
    scope: null,
    params: null,
    query: null,
    body: null,
    reply: z.object({}),
    price: () => null,
    answer: async () => ({ body: {} }),
  });
}

const routes = router([
  endpoint('GET', '/v1/storms'),
  endpoint('GET', '/v1/storms/{track_id}'),
  endpoint('GET', '/v1/alerts/{id}'),
  endpoint('PATCH', '/v1/alerts/{id}'),
  endpoint('POST', '/v1/alerts/subscribe'),
  endpoint('GET', '/v1/webhooks/{id}/deliveries'),
  endpoint('POST', '/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver'),
]);

const found = (method: string, path: string) => {
  const match = routes.match(method, path);
  return match.kind === 'found' ? [match.endpoint.path, match.params] : match.kind;
};

test('finds literal paths and paths with parameters', (t) => {
  t.deepEqual(found('GET', '/v1/storms'), ['/v1/storms', {}]);
  t.deepEqual(found('GET', '/v1/storms/abc-1'), ['/v1/storms/{track_id}', { track_id: 'abc-1' }]);
  t.deepEqual(found('POST', '/v1/webhooks/wh_1/deliveries/whd_2/redeliver'), [
    '/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver',
    { id: 'wh_1', deliveryId: 'whd_2' },
  ]);
});

test('HEAD finds what GET finds', (t) => {
  t.deepEqual(found('HEAD', '/v1/storms'), ['/v1/storms', {}]);
});

test('literal segments win over parameters, whatever the method', (t) => {
  t.deepEqual(routes.match('GET', '/v1/alerts/subscribe'), { kind: 'wrong_method', allow: 'POST, OPTIONS' });
});

test('another method is told which ones there are', (t) => {
  t.deepEqual(routes.match('PUT', '/v1/alerts/sub_1'), { kind: 'wrong_method', allow: 'GET, HEAD, PATCH, OPTIONS' });
  t.is(routes.allowed('/v1/alerts/sub_1'), 'GET, HEAD, PATCH, OPTIONS');
  t.is(routes.allowed('/v1/nothing'), null);
});

for (const path of [
  '/v1',
  '/',
  '/v1//storms',
  '/v1/storms//',
  '/v1/./storms',
  '/v1/alerts/../storms',
  '/v1/%2e%2e/storms',
  '/V1/storms',
  '/v1/storms/a.b',
  '/v1/storms/a%20b',
  `/v1/storms/${'a'.repeat(65)}`,
  '/v1/storms/{track_id}',
  '/v1/storms/a/b',
])
  test(`there is nothing at ${path}`, (t) => t.is(found('GET', path), 'nothing'));

test('an endpoint that is declared twice is a mistake', (t) => {
  t.throws(() => router([endpoint('GET', '/v1/storms'), endpoint('GET', '/v1/storms')]), {
    message: 'GET /v1/storms is declared twice',
  });
});
