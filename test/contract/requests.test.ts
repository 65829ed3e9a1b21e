import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { CommitFailed, OutcomeUnknown, RecordsUnavailable } from '../../api/records/errors.ts';
import { getHealth } from '../../api/routes/health.ts';
import { getUsage } from '../../api/routes/usage.ts';
import { fingerprintOf } from '../../api/server/idempotency.ts';
import { ERRORS, ErrorBody } from '../../schemas/errors.ts';
import { type Account, creditsOf, openAccount } from '../support/service/account.ts';
import { sendRaw } from '../support/service/raw-http.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { type RunningService, serviceFor, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { until } from '../support/until.ts';

const test = testWith(
  async () => {
    const samples = sampleEndpoints();
    return { samples, service: await startService({ endpoints: samples.endpoints }) };
  },
  (t, { service }) => closeWithoutFailures(t, service),
);
const POINT = '/v1/sample/point';

/** Status, code and message of an answer. */
async function told(reply: Response): Promise<string> {
  const { error, message } = (await reply.json()) as { error?: string; message?: string };
  return error === undefined ? String(reply.status) : `${reply.status} ${error}: ${message}`;
}

const QUERIES = [
  ['lat=35&lon=-97', null],
  ['lat=35&lon=-97&_=1714608000000&_lat2=2', null],
  ['lat=35&lon=-97&colour=red', 'colour is not a parameter of this endpoint, expected lat, lon, radius_km, pad'],
  ['lat=35&lon=-97&radius=150', 'radius is not a parameter of this endpoint, did you mean radius_km?'],
  ['latitude=35&lon=-97', 'latitude is not a parameter of this endpoint, did you mean lat?'],
  ['lat=3.5e1&lon=-97.0', null],
  ['lon=-97', 'lat is required, expected a number from -90 to 90'],
  ['lat=&lon=-97', "lat is '', expected a number from -90 to 90"],
  ['lat=+35&lon=-97', "lat is ' 35', expected a number from -90 to 90"],
  ['lat=0x10&lon=-97', "lat is '0x10', expected a number from -90 to 90"],
  ['lat=35&lat=36&lon=-97', 'lat is given more than once, expected a number from -90 to 90'],
  ['lat=35&lng=-97', 'lng is not a parameter of this endpoint (use lon)'],
  ['lat=-97&lon=35', "lat is '-97', expected a number from -90 to 90 (lat and lon look swapped)"],
  ['lat=35&lon=-97&radius_km=0', "radius_km is '0', expected a number above 0, up to 150"],
  ['lat=35&lon=-97&radius_km=151', "radius_km is '151', expected a number above 0, up to 150"],
  ['lat=35&lon=-97&radius_km=%FF', "radius_km is '%FF', expected percent-encoded UTF-8"],
  [
    'lat=35&lon=-97&radius_km=1%E2%80%A8%E2%80%AE%1B2',
    String.raw`radius_km is '1\u{2028}\u{202e}\u{1b}2', expected a number above 0, up to 150`,
  ],
  ['lat=35&lon=-97&radius_km=%00', "radius_km is '%00', expected no NUL character"],
  ['lat=35&lon=-97&unknown%00name', "query holds 'unknown%00name', expected no NUL character"],
  ['lat=35&lon=-97&%', "query holds '%', expected percent-encoded UTF-8"],
] as const;

test('a query is read or refused by name, value and encoding, with what was expected', async (t) => {
  for (const [query, fault] of QUERIES)
    t.is(
      await told(await t.context.service.call(`${POINT}?${query}`)),
      fault === null ? '200' : `400 invalid_parameter: ${fault}`,
      query,
    );
});

const BATCHES = [
  ['{"locations":[{"lat":1,"lon":1},{"lat":91,"lon":1}]}', /^400 bad_request: \/locations\/1\/lat: /],
  ['{"locations":[{"lat":"1","lon":1}]}', /^400 bad_request: \/locations\/0\/lat: /],
  ['{"locations":[]}', /^400 bad_request: \/locations: /],
  ['{}', /^400 bad_request: \/locations: /],
  ['{"locations":[{"lat":-97.5,"lon":35.4}]}', /\/locations\/0\/lat: .*\(lat and lon look swapped\)$/],
  ['{"locations":[{"lat":35.4,"lng":-97.5}]}', /\/locations\/0\/lng: .*\(use lon\)$/],
  ['{"locations":[{"lat":1,"lon":null}]}', /\/locations\/0\/lon: expected number, received null$/],
  // Null means absent, and names that begin with _ are ignored.
  ['{"locations":[{"lat":1,"lon":2,"id":null,"_colour":"red"}],"_more":{},"colour":null}', /^200$/],
] as const;

test('the refusal of a body begins with the pointer to its fault, and hints at what was meant', async (t) => {
  for (const [body, answer] of BATCHES) {
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body };
    t.regex(await told(await t.context.service.call('/v1/sample/batch', init)), answer, body);
  }
});

test('every answer has its own request id, errors in the body too, and never the client’s', async (t) => {
  const headers = { 'X-Request-Id': 'mine' };
  const good = await t.context.service.call('/v1/sample/items/known', { headers });
  const bad = await t.context.service.call('/v1/nothing', { headers });
  const { request_id } = (await bad.json()) as { request_id: string };
  t.regex(good.headers.get('X-Request-Id') ?? '', /^req_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.is(bad.headers.get('X-Request-Id'), request_id);
  t.not(good.headers.get('X-Request-Id'), request_id);
});

test('answers above 1 KB are compressed when the client takes gzip, and say what they vary by', async (t) => {
  const path = (pad: number) => `${POINT}?lat=1&lon=1&pad=${pad}`;
  const large = await t.context.service.call(path(5000), { headers: { 'Accept-Encoding': 'gzip' } });
  t.is(large.headers.get('Content-Encoding'), 'gzip');
  t.is(large.headers.get('Vary'), 'Accept-Encoding, Authorization');
  t.true(Number(large.headers.get('Content-Length')) < 500);
  t.is(((await large.json()) as { pad: string }).pad.length, 5000);
  const small = await t.context.service.call(path(500), { headers: { 'Accept-Encoding': 'gzip' } });
  t.is(small.headers.get('Content-Encoding'), null);
  const plain = await t.context.service.call(path(5000), { headers: { 'Accept-Encoding': 'identity' } });
  t.is(plain.headers.get('Content-Encoding'), null);
  t.is(((await plain.json()) as { pad: string }).pad.length, 5000);
});

test('answers may be read from any page, and are not to be sniffed, framed or run', async (t) => {
  const { headers } = await t.context.service.call('/v1/sample/items/known');
  t.is(headers.get('Access-Control-Allow-Origin'), '*');
  t.regex(
    headers.get('Access-Control-Expose-Headers') ?? '',
    /ETag.*Retry-After.*X-RateLimit-Remaining.*Idempotent-Replay.*X-Request-Id.*X-Credits-Charged.*Content-Disposition.*Content-Range/,
  );
  t.is(headers.get('X-Content-Type-Options'), 'nosniff');
  t.is(headers.get('Content-Security-Policy'), "default-src 'none'; frame-ancestors 'none'");
  t.is(headers.get('Server'), null);
  t.is(headers.get('X-Powered-By'), null);
});

test('a public address of https asks for https from then on', async (t) => {
  const { service, samples } = t.context;
  const secure = await serviceFor(t, {
    endpoints: samples.endpoints,
    app: { services: { ...service.services, base_url: 'https://hail.example/v1' } },
  });
  t.is(
    (await secure.call('/v1/nothing', { key: service.live_key })).headers.get('Strict-Transport-Security'),
    'max-age=31536000',
  );
});

const WRITE = '/v1/sample/locations';

const testErrors = testWith(
  async () => {
    const samples = sampleEndpoints();
    const broken = new Set<string>();
    const check = (name: string) => {
      if (broken.has(name)) throw new RecordsUnavailable(`${name} is out of reach at /secret/path`);
      if (broken.has(`${name} outcome`)) throw new OutcomeUnknown('mark of a commit');
      if (broken.has(`${name} commit`)) throw new CommitFailed(`${name} failed at /secret/path`);
    };
    const checked =
      <Given extends unknown[], Found>(name: string, method: (...given: Given) => Promise<Found>) =>
      async (...given: Given) => {
        check(name);
        return method(...given);
      };
    const service = await startService({
      endpoints: [...samples.endpoints, getHealth, getUsage],
      records: (records) => ({
        ...records,
        authenticate: checked('authenticate', records.authenticate),
        charge: checked('charge', records.charge),
        wouldExceed: checked('wouldExceed', records.wouldExceed),
        write: async (...given) => {
          check('write');
          return records.write(...given);
        },
        health: async () => !broken.has('health') && records.health(),
      }),
    });
    return { service, samples, broken };
  },
  (_, { service }) => service.close(),
);

const JSON_BODY = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"name":"a"}' };

/** Status and code, after the body has been found to have exactly the three members. */
async function outcome(t: { is: (a: unknown, b: unknown) => unknown }, reply: Response): Promise<string> {
  const body = await reply.json();
  const parsed = ErrorBody.strict().parse(body);
  t.is(reply.status, ERRORS[parsed.error].status);
  t.is(reply.headers.get('Content-Type'), 'application/json; charset=utf-8');
  return `${reply.status} ${parsed.error}`;
}

testErrors('a bug is 500 internal_error with one fixed sentence, reported whole and not charged', async (t) => {
  const { service, samples } = t.context;
  samples.failure = new Error('SELECT secret FROM /secret/path');
  const account = await openAccount(service);
  const reply = await service.call('/v1/sample/version', account);
  const text = await reply.clone().text();
  t.is(await outcome(t, reply), '500 internal_error');
  t.false(text.includes('secret'));
  t.deepEqual(service.failures, [samples.failure]);
  t.is(await creditsOf(service, account.business_id), 0);
});

testErrors('a reply that departs from its schema is 500 in tests, and not charged', async (t) => {
  const account = await openAccount(t.context.service);
  t.is(await outcome(t, await t.context.service.call('/v1/sample/lying', account)), '500 internal_error');
  t.is(await creditsOf(t.context.service, account.business_id), 0);
});

testErrors('a failure is forgotten: the next call is answered', async (t) => {
  const { service, samples } = t.context;
  samples.failure = new Error('once');
  t.is((await service.call('/v1/sample/version')).status, 500);
  samples.failure = null;
  t.is((await service.call('/v1/sample/version')).status, 200);
});

testErrors(
  '503 metering_unavailable with Retry-After and nothing served, while the records are out of reach',
  async (t) => {
    const { service, broken } = t.context;
    for (const what of ['wouldExceed', 'charge', 'authenticate']) {
      broken.add(what);
      const reply = await service.call('/v1/sample/version');
      t.is(reply.headers.get('Retry-After'), '5');
      t.is(await outcome(t, reply), '503 metering_unavailable', what);
      broken.clear();
      t.is((await service.call('/v1/sample/version')).status, 200);
    }
  },
);

testErrors('a kept answer is not served without a charge', async (t) => {
  const { service, broken } = t.context;
  t.is((await service.call('/v1/sample/version')).status, 200);
  broken.add('charge');
  t.is(await outcome(t, await service.call('/v1/sample/version')), '503 metering_unavailable');
});

testErrors('502 upstream_write_failed when a write or its commit fails', async (t) => {
  const { service, broken } = t.context;
  broken.add('write commit');
  t.is(await outcome(t, await service.call(WRITE, JSON_BODY)), '502 upstream_write_failed');
});

testErrors(
  '503 metering_unavailable says so when it is not known whether a call was charged, and never that it was not',
  async (t) => {
    const { service, broken } = t.context;
    for (const [name, path, init] of [
      ['charge', '/v1/sample/version', {}],
      ['write', WRITE, JSON_BODY],
    ] as const) {
      broken.clear();
      broken.add(`${name} outcome`);
      const reply = await service.call(path, init);
      const { error, message } = ErrorBody.parse(await reply.json());
      t.deepEqual([reply.status, error], [503, 'metering_unavailable']);
      t.regex(message, /whether this call was charged is not known/);
      t.false(message.includes('nothing was charged'));
    }
  },
);

testErrors('no failure of the records tells where they are', async (t) => {
  const { service, broken } = t.context;
  for (const what of ['charge', 'charge commit', 'authenticate']) {
    broken.clear();
    broken.add(what);
    t.false((await (await service.call('/v1/sample/version')).text()).includes('secret'));
  }
});

testErrors('without records a key seen before opens health, degraded, and nothing else', async (t) => {
  const { service, broken } = t.context;
  t.is((await service.call('/v1/sample/items/known')).status, 200);
  broken.add('authenticate').add('health');
  const health = await service.call('/v1/health');
  t.is(health.status, 200);
  const { status, components } = (await health.json()) as {
    status: string;
    components: Record<string, { status: string }>;
  };
  t.deepEqual([status, components.database?.status, components.metering?.status], ['degraded', 'degraded', 'degraded']);
  t.is(await outcome(t, await service.call('/v1/usage')), '503 metering_unavailable');
  t.is(await outcome(t, await service.call('/v1/sample/items/known')), '503 metering_unavailable');
  t.is(await outcome(t, await service.call('/v1/health', { key: service.test_key })), '503 metering_unavailable');
});

testErrors('without records keyless routes live on, and readyz is 503', async (t) => {
  const { service, broken } = t.context;
  broken.add('authenticate').add('health');
  t.is((await service.call('/livez', { key: null })).status, 200);
  t.is((await service.call('/readyz', { key: null })).status, 503);
  broken.clear();
  t.is((await service.call('/readyz', { key: null })).status, 200);
});

/** The head of a request from its lines. */
const headOf = (...lines: readonly string[]) => [...lines, '', ''].join('\r\n');
const GET = 'GET / HTTP/1.1';
const POST = 'POST / HTTP/1.1';
const MANY = Array.from({ length: 70 }, (_, n) => `X-${n}: 1`);
const target = (bytes: number) => `GET /${'x'.repeat(bytes)} HTTP/1.1`;
const long = (bytes: number) => `X-Long: ${'x'.repeat(bytes)}`;
const CHUNKED = 'Transfer-Encoding: chunked';

const HEADS = [
  ['more than 64 headers', headOf(GET, 'Host: x', ...MANY, 'Connection: close'), '431 headers_too_large'],
  ['headers above 16 KB', headOf(GET, 'Host: x', long(17_000)), '431 headers_too_large'],
  ['a target above 8 KB', headOf(target(9000), 'Host: x', 'Connection: close'), '414 uri_too_long'],
  ['a target above 16 KB', headOf(target(17_000), 'Host: x'), '414 uri_too_long'],
  ['a target above 64 KB', headOf(target(100_000), 'Host: x'), '414 uri_too_long'],
  ['headers above 64 KB', headOf(GET, 'Host: x', long(100_000)), '431 headers_too_large'],
  ['a request of HTTP/1.1 without Host', headOf(GET), '400 bad_request'],
  ['a second Host', headOf(GET, 'Host: x', 'Host: y'), '400 bad_request'],
  ['a request of HTTP/2.0', headOf('GET / HTTP/2.0', 'Host: x'), '400 bad_request'],
  [
    'a transfer coding beside chunked',
    `${headOf(POST, 'Host: x', 'Transfer-Encoding: gzip, chunked')}0\r\n\r\n`,
    '400 bad_request',
  ],
  ['a tunnel', headOf('CONNECT a:443 HTTP/1.1', 'Host: a:443'), '405 method_not_allowed'],
  [
    'both Transfer-Encoding and Content-Length',
    `${headOf(POST, 'Host: x', CHUNKED, 'Content-Length: 5')}0\r\n\r\n`,
    '400 bad_request',
  ],
  [
    'two Content-Length',
    `${headOf(POST, 'Host: x', 'Content-Length: 5', 'Content-Length: 6')}hello`,
    '400 bad_request',
  ],
  ['a folded header', headOf(GET, 'Host: x', 'X-A: 1', ' folded'), '400 bad_request'],
  ['nonsense', headOf('HELLO'), '400 bad_request'],
] as const;

testErrors('a head that is too large, ambiguous or no HTTP is refused in the shape of every error', async (t) => {
  for (const [what, request, expected] of HEADS) {
    const reply = await sendRaw(t.context.service.url, request);
    const body = ErrorBody.strict().parse(JSON.parse(reply.body));
    t.is(`${reply.status} ${body.error}`, expected, what);
    t.is(reply.headers.get('x-request-id'), body.request_id, what);
    t.truthy(reply.headers.get('x-ratelimit-remaining'), what);
    t.is(reply.headers.get('connection'), 'close', what);
  }
});

for (const [what, pieces, status] of [
  ['a target', ['GET /', 'x'.repeat(9000), 'x'.repeat(9000), ' HTTP/1.1\r\nHost: x\r\n\r\n'], 414],
  ['a header', ['GET / HTTP/1.1\r\nHost: x\r\nX-Long: ', 'x'.repeat(9000), 'x'.repeat(9000), '\r\n\r\n'], 431],
] as const)
  testErrors(`${what} that is too large is ${status}, in however many pieces it comes`, async (t) => {
    const [first, ...more] = pieces;
    t.is((await sendRaw(t.context.service.url, first, ...more)).status, status);
  });

testErrors('a client that was refused a tunnel and leaves its side open is cut off', async (t) => {
  const { url, server } = t.context.service;
  const accepted = once(server, 'connection');
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  socket.write('CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n');
  socket.resume();
  await once(socket, 'end');
  await t.notThrowsAsync(once((await accepted)[0] as Socket, 'close', { signal: AbortSignal.timeout(20_000) }));
  socket.destroy();
});

/** Everything that comes on a connection until it ends. */
async function untilClosed(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'close');
  return text;
}

testErrors(
  'a connection that sends nothing is closed without an answer, a head or body that is late is 408',
  async (t) => {
    const { url, server, live_key } = t.context.service;
    server.headersTimeout = 200;
    server.requestTimeout = 200;
    const authorization = `Authorization: Bearer ${live_key}`;
    const fields = ['Host: x', authorization, 'Content-Type: application/json', 'Content-Length: 50'];
    const { hostname, port } = new URL(url);
    const [silent, late_head, late_body] = await Promise.all(
      ['', 'GET /v1/sample/version HT', `${headOf(`POST ${WRITE} HTTP/1.1`, ...fields)}{"name":`].map((text) => {
        const socket = connect({ port: Number(port), host: hostname });
        socket.write(text);
        return untilClosed(socket);
      }),
    );
    t.is(silent, '');
    for (const answer of [late_head, late_body]) {
      t.regex(answer ?? '', /^HTTP\/1.1 408 /);
      t.regex(answer ?? '', /\r\nconnection: close\r\n/i);
      const text = answer ?? '';
      t.regex(text, /\{"error":"request_timeout","message":"request took too long to arrive","request_id":"req_/);
    }
  },
);

testErrors('the refusal of an upload reaches a client that is still sending it', async (t) => {
  const body = 'x'.repeat(5_000_000);
  const head = headOf(`POST ${WRITE} HTTP/1.1`, 'Host: x', 'Connection: close', `Content-Length: ${body.length}`);
  t.is((await sendRaw(t.context.service.url, head + body)).status, 401);
});

testErrors('an upload that breaks off counts as a fault of the client, and no claim on its key is left', async (t) => {
  const statuses: number[] = [];
  const { resolve: tell, promise: told } = Promise.withResolvers<void>();
  const service = await startService({
    endpoints: sampleEndpoints().endpoints,
    app: {
      telemetry: {
        answered: (ctx) => {
          statuses.push(ctx.status);
          tell();
        },
        refused: () => {},
        failed: (_, error) => t.fail(String(error)),
      },
    },
  });
  t.teardown(service.close);
  const { hostname, port } = new URL(service.url);
  const socket = connect({ port: Number(port), host: hostname });
  const fields = ['Content-Type: application/json', 'Idempotency-Key: broken-off', 'Expect: 100-continue'];
  const authorization = `Authorization: Bearer ${service.live_key}`;
  socket.write(headOf(`POST ${WRITE} HTTP/1.1`, 'Host: x', authorization, ...fields, 'Content-Length: 50'));
  await once(socket, 'data'); // told to go on: the body is being read
  socket.write('{"name":');
  socket.destroy();
  await told;
  t.deepEqual(statuses, [400]);
  const again = await service.call(WRITE, {
    ...JSON_BODY,
    headers: { ...JSON_BODY.headers, 'Idempotency-Key': 'broken-off' },
  });
  t.is(again.status, 200);
  t.is(again.headers.get('Idempotent-Replay'), null);
});

const testMethods = testWith(() => startService({ endpoints: sampleEndpoints().endpoints }), closeWithoutFailures);

testMethods('OPTIONS needs no key, is free, and is 204 with Allow and CORS', async (t) => {
  const reply = await t.context.call('/v1/sample/items/known', { method: 'OPTIONS', key: null });
  t.is(reply.status, 204);
  t.is(reply.headers.get('Allow'), 'GET, HEAD, DELETE, OPTIONS');
  t.is(reply.headers.get('Access-Control-Allow-Methods'), 'GET, HEAD, DELETE, OPTIONS');
  t.is(reply.headers.get('Access-Control-Allow-Origin'), '*');
  t.is(reply.headers.get('Access-Control-Allow-Headers'), '*, Authorization');
  t.is(reply.headers.get('Access-Control-Max-Age'), '86400');
  t.is(reply.headers.get('Cache-Control'), 'private, max-age=86400');
  t.is(reply.headers.get('Content-Length'), null);
});

testMethods('Accept is refused with 406 only where it rules JSON out', async (t) => {
  for (const [accept, status] of [
    ['*/*', 200],
    ['application/json', 200],
    ['application/*;q=0.2', 200],
    ['text/html', 406],
    ['application/json;q=0', 406],
  ] as const) {
    const reply = await t.context.call('/v1/sample/point?lat=1&lon=1', { headers: { Accept: accept } });
    const { error } = (await reply.json()) as { error?: string };
    t.deepEqual([reply.status, error], [status, status === 200 ? undefined : 'not_acceptable'], accept);
  }
});

testMethods('Accept has to admit the format that was chosen, and refusing it costs nothing', async (t) => {
  const account = await openAccount(t.context);
  const ask = async (format: string, accept: string) =>
    (await t.context.call(`/v1/sample/version?format=${format}`, { ...account, headers: { Accept: accept } })).status;
  t.is(await ask('text', 'text/plain'), 200);
  t.is(await ask('json', 'application/json'), 200);
  t.is(await ask('text', 'application/json'), 406);
  t.is(await ask('json', 'text/plain'), 406);
  t.is(await creditsOf(t.context, account.business_id), 20);
});

testMethods('a body that is not plain JSON in UTF-8 by its headers is 415', async (t) => {
  const body = new TextEncoder().encode('{"name":"a"}');
  for (const [headers, status] of [
    [{ 'Content-Type': 'application/json' }, 200],
    [{ 'Content-Type': 'application/json; charset=utf-8' }, 200],
    [{ 'Content-Type': 'Application/JSON; charset="UTF-8"' }, 200],
    [{ 'Content-Type': 'application/merge-patch+json' }, 200],
    [{ 'Content-Type': 'text/plain' }, 415],
    [{ 'Content-Type': 'application/json; charset=iso-8859-1' }, 415],
    [{ 'Content-Type': 'application/x-www-form-urlencoded' }, 415],
    [{ 'Content-Type': 'application/jsonp' }, 415],
    [{}, 415],
    [{ 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, 415],
  ] as const) {
    const reply = await t.context.call(WRITE, { method: 'POST', headers: { ...headers }, body });
    const { error } = (await reply.json()) as { error?: string };
    const found = [reply.status, error];
    t.deepEqual(found, [status, status === 200 ? undefined : 'unsupported_media_type'], JSON.stringify(headers));
  }
});

testMethods('a missing body is 400', async (t) => {
  const reply = await t.context.call(WRITE, { method: 'POST' });
  const found = [reply.status, ((await reply.json()) as { message: string }).message];
  t.deepEqual(found, [400, 'body is missing, expected a JSON object']);
});

testMethods('a body above the limit of the route is 413, announced or not', async (t) => {
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

const BODIES = [
  ['a list', '[]', 'body is not a JSON object'],
  ['a byte order mark', '\uFEFF{}', 'body is not valid JSON'],
  ['trailing garbage', '{} {}', 'body is not valid JSON'],
  ['bytes that are no UTF-8', Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d), 'body is not UTF-8'],
  ['33 levels', `{"a":${'['.repeat(32)}${']'.repeat(32)}}`, 'body is nested deeper than 32'],
  [
    '10,001 keys',
    `{"a":{${Array.from({ length: 10_001 }, (_, n) => `"k${n}":0`)}}}`,
    '/a has 10001 keys, expected at most 10000',
  ],
  ['a number that overflows', '{"a":[1,1e999]}', '/a/1 is a number that overflows'],
  ['NUL', '{"a":"x\\u0000"}', '/a holds NUL or a lone surrogate'],
  ['a lone surrogate', '{"a":{"b":"\\ud800"}}', '/a/b holds NUL or a lone surrogate'],
  ['NUL in a name', '{"\\u0000":1}', 'body has a key with NUL or a lone surrogate'],
  ['brackets in a string', `{"name":"${'['.repeat(40)}"}`, null],
  ['__proto__ and constructor', '{"name":"a","__proto__":{"name":"b"},"constructor":{}}', null],
] as const;

testMethods('a body is one JSON object in UTF-8 of bounded depth and width, with plain strings', async (t) => {
  for (const [what, body, message] of BODIES) {
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body };
    const reply = await t.context.call(message === null ? WRITE : '/v1/sample/batch', init);
    const answer = (await reply.json()) as { message?: string };
    t.deepEqual([reply.status, answer.message ?? null], [message === null ? 200 : 400, message], what);
  }
});

testMethods('a DELETE that takes no body ignores one', async (t) => {
  const reply = await t.context.call('/v1/sample/items/known', { method: 'DELETE', body: 'anything' });
  t.is(reply.status, 200);
});

testMethods('the type is checked before the syntax, the syntax before the fields', async (t) => {
  const send = async (type: string, body: string) => {
    const reply = await t.context.call(WRITE, { method: 'POST', headers: { 'Content-Type': type }, body });
    return ((await reply.json()) as { message: string }).message;
  };
  t.regex(await send('text/plain', '{'), /^Content-Type/);
  t.is(await send('application/json', '{'), 'body is not valid JSON');
  t.regex(await send('application/json', '{}'), /^\/name: /);
});

testMethods('an expectation that nobody knows is passed over', async (t) => {
  const { url, live_key } = t.context;
  const authorization = `Authorization: Bearer ${live_key}`;
  const fields = ['Host: x', authorization, 'Expect: foo', 'Connection: close'];
  const reply = await sendRaw(url, headOf('GET /v1/sample/items/known HTTP/1.1', ...fields));
  t.deepEqual([reply.status, reply.body], [200, '{"id":"known"}']);
});

/** Answer to a client that says it waits to be told to send its body. */
function announce({ url }: RunningService, key: string, length: number, ...body: readonly string[]) {
  const sender = ['Host: x', `Authorization: Bearer ${key}`, 'Connection: close'];
  const content = ['Content-Type: application/json', `Content-Length: ${length}`, 'Expect: 100-continue'];
  return sendRaw(url, headOf(`POST ${WRITE} HTTP/1.1`, ...sender, ...content), ...body);
}

testMethods('a client that waits with its body is told to go on', async (t) => {
  const reply = await announce(t.context, t.context.live_key, 12, '{"name":"a"}');
  t.is(reply.status, 100);
  t.true(reply.body.startsWith('HTTP/1.1 200 OK\r\n'));
});

testMethods('what is refused before its body is never told to go on', async (t) => {
  t.is((await announce(t.context, 'hs_live_nonsense', 12)).status, 401);
  t.is((await announce(t.context, t.context.live_key, 5001)).status, 413);
});

const ETAG_POINT = '/v1/sample/point?lat=1&lon=1';
const VERSION = '/v1/sample/version';

test('a second later the age differs, the tag does not', async (t) => {
  const first = await t.context.service.call(ETAG_POINT);
  t.context.service.clock.ms += 1000;
  const second = await t.context.service.call(ETAG_POINT);
  const age_seconds = ((await first.json()) as { age_seconds: number }).age_seconds;
  t.not(age_seconds, ((await second.json()) as { age_seconds: number }).age_seconds);
  t.is(first.headers.get('ETag'), second.headers.get('ETag'));
});

test('changed data change the tag', async (t) => {
  const { service, samples } = t.context;
  const tag = (await service.call(ETAG_POINT)).headers.get('ETag') ?? '';
  samples.value = 2;
  service.clock.ms += 1000;
  const reply = await service.call(ETAG_POINT, { headers: { 'If-None-Match': tag } });
  t.is(reply.status, 200);
  t.not(reply.headers.get('ETag'), tag);
});

test('defaults written out make the same tag, other parameters another', async (t) => {
  const tag = async (query: string) => (await t.context.service.call(`/v1/sample/point?${query}`)).headers.get('ETag');
  const usual = await tag('lat=1&lon=1');
  t.is(await tag('lon=1.0&lat=1&radius_km=50'), usual);
  t.not(await tag('lat=1&lon=2'), usual);
});

test('lists and * are understood, other tags are not ours', async (t) => {
  const tag = (await t.context.service.call(VERSION)).headers.get('ETag') ?? '';
  const status = async (header: string) =>
    (await t.context.service.call(VERSION, { headers: { 'If-None-Match': header } })).status;
  t.is(await status(`"other", ${tag}`), 304);
  t.is(await status(tag.replace('W/', '')), 304);
  t.is(await status('*'), 304);
  t.is(await status('"other"'), 200);
});

test('where a version of the data stands for the answer, a 304 makes no answer', async (t) => {
  const { service, samples } = t.context;
  const tag = (await service.call(VERSION)).headers.get('ETag') ?? '';
  samples.made.clear();
  t.is((await service.call(`${VERSION}?format=json`, { headers: { 'If-None-Match': tag } })).status, 304);
  t.is(samples.made.size, 0);
  samples.version = 'v2';
  const changed = await service.call(`${VERSION}?format=json`, { headers: { 'If-None-Match': tag } });
  t.is(changed.status, 200);
  t.deepEqual(await changed.json(), { version: 'v2' });
});

test('an answer is made once per second', async (t) => {
  const { service, samples } = t.context;
  for (let n = 0; n < 3; n++) {
    await service.call(VERSION);
    await service.call(ETAG_POINT);
    service.clock.ms += 300;
  }
  t.deepEqual([...samples.made.values()], [1, 1]);
  service.clock.ms += 200;
  await service.call(VERSION);
  await service.call(ETAG_POINT);
  t.deepEqual(Object.fromEntries(samples.made), { '/v1/sample/version': 2, '/v1/sample/point': 2 });
});

test('a refusal under a tag stays a refusal', async (t) => {
  const reply = await t.context.service.call('/v1/sample/point?lat=x&lon=1', { headers: { 'If-None-Match': '*' } });
  t.is(reply.status, 400);
});

const testIdempotency = testWith(
  async () => {
    const samples = sampleEndpoints();
    const service = await startService({ endpoints: samples.endpoints });
    return { samples, service, account: await openAccount(service) };
  },
  (_, { service }) => service.close(),
);

interface Sent {
  readonly status: number;
  readonly text: string;
  readonly replay: string | null;
  readonly request_id: string | null;
}

/** Posts a name under an idempotency key. */
async function post(
  { service, account }: { service: RunningService; account: Account },
  idempotency_key: string,
  body: unknown,
  path = WRITE,
): Promise<Sent> {
  const reply = await service.call(path, {
    key: account.key,
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': idempotency_key },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return {
    status: reply.status,
    text: await reply.text(),
    replay: reply.headers.get('Idempotent-Replay'),
    request_id: reply.headers.get('X-Request-Id'),
  };
}

const code = ({ text }: Sent) => (JSON.parse(text) as { error?: string }).error;
const rowsOf = async ({ service, account }: { service: RunningService; account: Account }) =>
  (
    await service.records.reader
      .selectFrom('portfolio_locations')
      .select('id')
      .where('business_id', '=', account.business_id)
      .execute()
  ).length;

testIdempotency('the same key replays the exact answer, with no second row and no second charge', async (t) => {
  const first = await post(t.context, 'k1', { name: 'a', note: 'n' });
  const again = await post(t.context, 'k1', '{ "note": "n", "name": "a" }');
  t.is(first.status, 200);
  t.is(first.replay, null);
  t.deepEqual([again.status, again.text, again.replay], [200, first.text, 'true']);
  t.not(again.request_id, first.request_id);
  t.is(await rowsOf(t.context), 1);
  t.is(await creditsOf(t.context.service, t.context.account.business_id), 10);
});

testIdempotency('another key, or none, is another request', async (t) => {
  await post(t.context, 'k1', { name: 'a' });
  await post(t.context, 'k2', { name: 'a' });
  t.is(await rowsOf(t.context), 2);
});

testIdempotency('the same key with another body or query after a success is 400 invalid_idempotency_key', async (t) => {
  await post(t.context, 'k1', { name: 'a' });
  const other = await post(t.context, 'k1', { name: 'b' });
  t.deepEqual([other.status, code(other)], [400, 'invalid_idempotency_key']);
  t.is(code(await post(t.context, 'k1', { name: 'a' }, `${WRITE}?x=1`)), 'invalid_idempotency_key');
});

test('the fingerprint of ten thousand rows lets other requests run, and does not depend on the order of names', async (t) => {
  const rows = Array.from({ length: 10_000 }, (_, k) => ({ name: `Location ${k}`, lat: 35, lon: -97 }));
  const query = { x: '1' };
  let turns = 0;
  const turn = () => {
    turns += 1;
    running = setImmediate(turn);
  };
  let running = setImmediate(turn);
  const made = await fingerprintOf({ query, body: { format: 'json', data: rows } });
  clearImmediate(running);
  t.true(turns >= 9);
  t.is(
    await fingerprintOf({ query, body: { data: rows.map(({ name, ...at }) => ({ ...at, name })), format: 'json' } }),
    made,
  );
  t.not(await fingerprintOf({ query, body: { format: 'json', data: rows.slice(1) } }), made);
  for (const [one, other] of [
    [{ data: [1] }, { data: 1 }],
    [{ bbox: [-98.5, 35] }, { bbox: [-98.53, 5] }],
    [{}, null],
  ] as const)
    t.not(await fingerprintOf({ query, body: one }), await fingerprintOf({ query, body: other }));
});

testIdempotency('while the first request is in flight the same key is 409 at once', async (t) => {
  const { samples } = t.context;
  const { promise, resolve } = Promise.withResolvers<void>();
  samples.gate = promise;
  const first = post(t.context, 'k1', { name: 'a' });
  await until(() => samples.made.size > 0);
  const others = await Promise.all(Array.from({ length: 20 }, () => post(t.context, 'k1', { name: 'a' })));
  for (const other of others) t.deepEqual([other.status, code(other)], [409, 'idempotency_key_in_progress']);
  resolve();
  const { status, text } = await first;
  const after = await post(t.context, 'k1', { name: 'a' });
  t.deepEqual([status, after.text, after.replay], [200, text, 'true']);
  t.is(await rowsOf(t.context), 1);
});

testIdempotency('a hundred parallel calls with one key make one resource and one charge', async (t) => {
  const all = await Promise.all(Array.from({ length: 100 }, () => post(t.context, 'k1', { name: 'a' })));
  const originals = all.filter(({ status, replay }) => status === 200 && replay === null);
  t.is(originals.length, 1);
  for (const one of all) t.true(one.status === 409 || one.text === originals[0]?.text);
  t.is(await rowsOf(t.context), 1);
  t.is(await creditsOf(t.context.service, t.context.account.business_id), 10);
});

testIdempotency('a refusal by validation is replayed, and another body under its key is new', async (t) => {
  const first = await post(t.context, 'k1', { name: '' });
  const again = await post(t.context, 'k1', { name: '' });
  t.deepEqual([first.status, again.status, again.replay, again.text], [400, 400, 'true', first.text]);
  t.is((await post(t.context, 'k1', { name: 'a' })).status, 200);
  t.is(await creditsOf(t.context.service, t.context.account.business_id), 10);
});

testIdempotency('a conflict found while writing is replayed, and its rows are rolled back', async (t) => {
  const first = await post(t.context, 'k1', { name: 'conflict' });
  const again = await post(t.context, 'k1', { name: 'conflict' });
  t.deepEqual([first.status, again.status, again.replay, again.text], [409, 409, 'true', first.text]);
  t.is(await rowsOf(t.context), 0);
});

testIdempotency('bad JSON is refused before the key is looked at', async (t) => {
  t.is((await post(t.context, 'k1', '{')).status, 400);
  const next = await post(t.context, 'k1', { name: 'a' });
  t.deepEqual([next.status, next.replay], [200, null]);
});

testIdempotency('a failure of ours is never replayed', async (t) => {
  const { samples } = t.context;
  samples.failure = new Error('once');
  t.is((await post(t.context, 'k1', { name: 'a' })).status, 500);
  samples.failure = null;
  const next = await post(t.context, 'k1', { name: 'a' });
  t.deepEqual([next.status, next.replay], [200, null]);
  t.is(await rowsOf(t.context), 1);
});

/** Posts a name with headers as they are, byte by byte. */
function postRaw({ service, account }: { service: RunningService; account: Account }, keys: readonly string[]) {
  const body = '{"name":"a"}';
  const fields = ['Host: x', `Authorization: Bearer ${account.key}`, 'Content-Type: application/json'];
  const own = ['Connection: close', `Content-Length: ${body.length}`, ...keys.map((key) => `Idempotency-Key: ${key}`)];
  return sendRaw(service.url, headOf(`POST ${WRITE} HTTP/1.1`, ...fields, ...own) + body);
}

testIdempotency('a key has 1 to 255 characters of UTF-8', async (t) => {
  for (const [what, key, status] of [
    ['one character', 'x', 200],
    ['255 characters', 'x'.repeat(255), 200],
    ['256 characters', 'x'.repeat(256), 400],
    ['255 characters beyond ASCII', Buffer.from('é'.repeat(255)).toString('latin1'), 200],
    ['256 characters beyond ASCII', Buffer.from('é'.repeat(256)).toString('latin1'), 400],
    ['blanks', '   ', 400],
    ['quotes', '"k"', 200],
    ['bytes that are no UTF-8', 'caf\xe9', 400],
    ['UTF-8 cut short', 'caf\xc3', 400],
    ['a surrogate', '\xed\xa0\x80', 400],
    ['a blank that is none to HTTP', '\xc2\xa0', 200],
  ] as const) {
    const reply = await postRaw(t.context, [key]);
    t.is(reply.status, status, what);
    if (status === 400) t.is((JSON.parse(reply.body) as { error: string }).error, 'invalid_idempotency_key', what);
  }
  t.is((await postRaw(t.context, ['a', 'b'])).status, 400);
});

testIdempotency('keys that differ in any byte are different keys', async (t) => {
  for (const key of ['k', '\xef\xbb\xbfk', 'k\xc2\xa0', 'caf\xc3\xa9', 'caf\xc3\xa8', 'cafe\xcc\x81']) {
    const reply = await postRaw(t.context, [key]);
    t.deepEqual([reply.status, reply.headers.get('idempotent-replay')], [200, undefined]);
  }
  t.is(await rowsOf(t.context), 6);
});

testIdempotency('where it is not honoured the header is ignored', async (t) => {
  const { service, account } = t.context;
  const headers = { 'Idempotency-Key': 'x'.repeat(300), 'Content-Type': 'application/json' };
  const reply = await service.call('/v1/sample/batch', {
    ...account,
    method: 'POST',
    headers,
    body: '{"locations":[{"lat":1,"lon":1}]}',
  });
  t.is(reply.status, 200);
});
