import { creditsOf, openAccount } from '../support/service/account.ts';
import { sendRaw } from '../support/service/raw-http.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { type RunningService, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(() => startService({ endpoints: sampleEndpoints().endpoints }), closeWithoutFailures);
const WRITE = '/v1/sample/locations';

test('HEAD answers with status and headers of the GET, without a body, and is billed like it', async (t) => {
  const account = await openAccount(t.context);
  const path = '/v1/sample/version';
  const get = await t.context.call(path, account);
  const head = await t.context.call(path, { ...account, method: 'HEAD' });
  t.is(head.status, 200);
  t.is(await head.text(), '');
  for (const name of ['Content-Type', 'Content-Length', 'ETag', 'Cache-Control', 'Vary'])
    t.is(head.headers.get(name), get.headers.get(name), name);
  t.is(await creditsOf(t.context, account.business_id), 20);
});

test('OPTIONS needs no key, is free, and is 204 with Allow and CORS', async (t) => {
  const reply = await t.context.call('/v1/sample/items/known', { method: 'OPTIONS', key: null });
  t.is(reply.status, 204);
  t.is(reply.headers.get('Allow'), 'GET, HEAD, DELETE, OPTIONS');
  t.is(reply.headers.get('Access-Control-Allow-Methods'), 'GET, HEAD, DELETE, OPTIONS');
  t.is(reply.headers.get('Access-Control-Allow-Origin'), '*');
  t.regex(reply.headers.get('Access-Control-Allow-Headers') ?? '', /Authorization.*Idempotency-Key.*If-None-Match/);
  t.is(reply.headers.get('Access-Control-Max-Age'), '86400');
  t.is(reply.headers.get('Cache-Control'), 'private, max-age=86400');
  t.is(reply.headers.get('Content-Length'), null);
});

test('a method that the path does not take is 405 with Allow', async (t) => {
  for (const [method, path, allow] of [
    ['PUT', '/v1/sample/point', 'GET, HEAD, OPTIONS'],
    ['GET', WRITE, 'POST, OPTIONS'],
    ['HEAD', WRITE, 'POST, OPTIONS'],
    ['PATCH', '/v1/sample/items/known', 'GET, HEAD, DELETE, OPTIONS'],
  ] as const) {
    const reply = await t.context.call(path, { method });
    t.is(reply.status, 405);
    t.is(reply.headers.get('Allow'), allow);
    if (method !== 'HEAD') t.is(((await reply.json()) as { error: string }).error, 'method_not_allowed');
  }
});

for (const [accept, status] of [
  ['*/*', 200],
  ['application/json', 200],
  ['application/*;q=0.2', 200],
  ['text/html', 406],
  ['application/json;q=0', 406],
] as const)
  test(`Accept: ${accept} is ${status}`, async (t) => {
    const reply = await t.context.call('/v1/sample/point?lat=1&lon=1', { headers: { Accept: accept } });
    t.is(reply.status, status);
    const { error } = (await reply.json()) as { error?: string };
    t.is(error, status === 200 ? undefined : 'not_acceptable');
  });

test('Accept has to admit the format that was chosen, and refusing it costs nothing', async (t) => {
  const account = await openAccount(t.context);
  const ask = async (format: string, accept: string) =>
    (await t.context.call(`/v1/sample/version?format=${format}`, { ...account, headers: { Accept: accept } })).status;
  t.is(await ask('text', 'text/plain'), 200);
  t.is(await ask('json', 'application/json'), 200);
  t.is(await ask('text', 'application/json'), 406);
  t.is(await ask('json', 'text/plain'), 406);
  t.is(await creditsOf(t.context, account.business_id), 20);
});

for (const [type, status] of [
  ['application/json', 200],
  ['application/json; charset=utf-8', 200],
  ['Application/JSON; charset="UTF-8"', 200],
  ['application/merge-patch+json', 200],
  ['text/plain', 415],
  ['application/json; charset=iso-8859-1', 415],
  ['application/x-www-form-urlencoded', 415],
  ['application/jsonp', 415],
] as const)
  test(`Content-Type: ${type} is ${status}`, async (t) => {
    const reply = await t.context.call(WRITE, {
      method: 'POST',
      headers: { 'Content-Type': type },
      body: '{"name":"a"}',
    });
    t.is(reply.status, status);
    if (status === 415) t.is(((await reply.json()) as { error: string }).error, 'unsupported_media_type');
  });

test('a body without a Content-Type is 415', async (t) => {
  const reply = await t.context.call(WRITE, { method: 'POST', body: new TextEncoder().encode('{"name":"a"}') });
  t.is(reply.status, 415);
});

test('a body with a Content-Encoding is 415', async (t) => {
  const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
  t.is((await t.context.call(WRITE, { method: 'POST', headers, body: '{"name":"a"}' })).status, 415);
});

test('a missing body is 400', async (t) => {
  const reply = await t.context.call(WRITE, { method: 'POST' });
  t.deepEqual(
    [reply.status, ((await reply.json()) as { message: string }).message],
    [400, 'body is missing, expected a JSON object'],
  );
});

test('a body above the limit of the route is 413, announced or not', async (t) => {
  const headers = { 'Content-Type': 'application/json' };
  const body = (bytes: number) => `{"name":"${'x'.repeat(bytes - 11)}"}`;
  t.is((await t.context.call(WRITE, { method: 'POST', headers, body: body(5000) })).status, 200);
  const announced = await t.context.call(WRITE, { method: 'POST', headers, body: body(5001) });
  t.is(announced.status, 413);
  t.is(((await announced.json()) as { error: string }).error, 'payload_too_large');
  const stream = new Blob([body(6000)]).stream();
  const chunked = await t.context.call(WRITE, { method: 'POST', headers, body: stream, duplex: 'half' });
  t.is(chunked.status, 413);
});

test('a DELETE that takes no body ignores one', async (t) => {
  const reply = await t.context.call('/v1/sample/items/known', { method: 'DELETE', body: 'anything' });
  t.is(reply.status, 200);
});

test('the type is checked before the syntax, the syntax before the fields', async (t) => {
  const send = async (type: string, body: string) => {
    const reply = await t.context.call(WRITE, { method: 'POST', headers: { 'Content-Type': type }, body });
    return ((await reply.json()) as { message: string }).message;
  };
  t.regex(await send('text/plain', '{'), /^Content-Type/);
  t.is(await send('application/json', '{'), 'body is not valid JSON');
  t.regex(await send('application/json', '{}'), /^\/name: /);
});

test('an expectation that nobody knows is passed over', async (t) => {
  const { url, live_key } = t.context;
  const reply = await sendRaw(
    url,
    `GET /v1/sample/items/known HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${live_key}\r\nExpect: foo\r\nConnection: close\r\n\r\n`,
  );
  t.deepEqual([reply.status, reply.body], [200, '{"id":"known"}']);
});

/** Answer to a client that says it waits to be told to send its body. */
function announce({ url }: RunningService, key: string, length: number, ...body: readonly string[]) {
  return sendRaw(
    url,
    `POST ${WRITE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
    ...body,
  );
}

test('a client that waits with its body is told to go on', async (t) => {
  const reply = await announce(t.context, t.context.live_key, 12, '{"name":"a"}');
  t.is(reply.status, 100);
  t.true(reply.body.startsWith('HTTP/1.1 200 OK\r\n'));
});

test('what is refused before its body is never told to go on', async (t) => {
  t.is((await announce(t.context, 'hs_live_nonsense', 12)).status, 401);
  t.is((await announce(t.context, t.context.live_key, 5001)).status, 413);
});
