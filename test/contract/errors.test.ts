import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { CommitFailed, OutcomeUnknown, RecordsUnavailable } from '../../api/records/failures.ts';
import { getHealth, livez, readyz } from '../../api/routes/health.ts';
import { getUsage } from '../../api/routes/usage.ts';
import { ERRORS, ErrorBody } from '../../schemas/errors.ts';
import { creditsOf, openAccount } from '../support/service/account.ts';
import { sendRaw } from '../support/service/raw-http.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { startService } from '../support/service/service.ts';
import { testWith } from '../support/service/test-with.ts';

const test = testWith(
  async () => {
    const samples = sampleEndpoints();
    const broken = new Set<string>();
    const check = (name: string) => {
      if (broken.has(name)) throw new RecordsUnavailable(`${name} is out of reach at /secret/path`);
      if (broken.has(`${name} outcome`)) throw new OutcomeUnknown('mark of a commit');
      if (broken.has(`${name} commit`)) throw new CommitFailed(`${name} failed at /secret/path`);
    };
    const service = await startService({
      endpoints: [...samples.endpoints, getHealth, getUsage],
      records: (records) => ({
        ...records,
        authenticate: async (...given) => {
          check('authenticate');
          return records.authenticate(...given);
        },
        charge: async (...given) => {
          check('charge');
          return records.charge(...given);
        },
        wouldExceed: async (...given) => {
          check('wouldExceed');
          return records.wouldExceed(...given);
        },
        write: async (...given) => {
          check('write');
          return records.write(...given);
        },
        health: async () => !broken.has('health') && records.health(),
      }),
      public_routes: (services) => [livez, readyz(services)],
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

test('a bug is 500 internal_error with one fixed sentence, reported whole and not charged', async (t) => {
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

test('a reply that departs from its schema is 500 in tests, and not charged', async (t) => {
  const { service } = t.context;
  const account = await openAccount(service);
  t.is(await outcome(t, await service.call('/v1/sample/lying', account)), '500 internal_error');
  t.is(await creditsOf(service, account.business_id), 0);
});

test('a failure is forgotten: the next call is answered', async (t) => {
  const { service, samples } = t.context;
  samples.failure = new Error('once');
  t.is((await service.call('/v1/sample/version')).status, 500);
  samples.failure = null;
  t.is((await service.call('/v1/sample/version')).status, 200);
});

for (const what of ['wouldExceed', 'charge', 'authenticate'])
  test(`503 metering_unavailable with Retry-After and nothing served, while ${what} does not reach the records`, async (t) => {
    const { service, broken } = t.context;
    broken.add(what);
    const reply = await service.call('/v1/sample/version');
    t.is(reply.headers.get('Retry-After'), '5');
    t.is(await outcome(t, reply), '503 metering_unavailable');
    broken.clear();
    t.is((await service.call('/v1/sample/version')).status, 200);
  });

test('a kept answer is not served without a charge', async (t) => {
  const { service, broken } = t.context;
  t.is((await service.call('/v1/sample/version')).status, 200);
  broken.add('charge');
  t.is(await outcome(t, await service.call('/v1/sample/version')), '503 metering_unavailable');
});

test('502 upstream_write_failed when a write or its commit fails', async (t) => {
  const { service, broken } = t.context;
  broken.add('write commit');
  t.is(await outcome(t, await service.call('/v1/sample/locations', JSON_BODY)), '502 upstream_write_failed');
});

test('502 upstream_write_failed says so when it is not known whether a call was charged, and never that it was not', async (t) => {
  const { service, broken } = t.context;
  for (const [name, path, init] of [
    ['charge', '/v1/sample/version', {}],
    ['write', '/v1/sample/locations', JSON_BODY],
  ] as const) {
    broken.clear();
    broken.add(`${name} outcome`);
    const reply = await service.call(path, init);
    const { error, message } = ErrorBody.parse(await reply.json());
    t.deepEqual([reply.status, error], [502, 'upstream_write_failed']);
    t.regex(message, /whether it was made is not known yet/);
    t.false(message.includes('nothing was charged'));
  }
});

test('no failure of the records tells where they are', async (t) => {
  const { service, broken } = t.context;
  for (const what of ['charge', 'charge commit', 'authenticate']) {
    broken.clear();
    broken.add(what);
    t.false((await (await service.call('/v1/sample/version')).text()).includes('secret'));
  }
});

test('without records a key seen before opens health, degraded, and nothing else', async (t) => {
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

test('without records keyless routes live on, and readyz is 503', async (t) => {
  const { service, broken } = t.context;
  broken.add('authenticate').add('health');
  t.is((await service.call('/livez', { key: null })).status, 200);
  t.is((await service.call('/readyz', { key: null })).status, 503);
  broken.clear();
  t.is((await service.call('/readyz', { key: null })).status, 200);
});

for (const [what, request, status, code] of [
  [
    'more than 64 headers',
    `GET / HTTP/1.1\r\nHost: x\r\n${Array.from({ length: 70 }, (_, n) => `X-${n}: 1\r\n`).join('')}Connection: close\r\n\r\n`,
    431,
    'headers_too_large',
  ],
  [
    'headers above 16 KB',
    `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(17_000)}\r\n\r\n`,
    431,
    'headers_too_large',
  ],
  [
    'a target above 8 KB',
    `GET /${'x'.repeat(9000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    414,
    'uri_too_long',
  ],
  ['a target above 16 KB', `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414, 'uri_too_long'],
  ['a target above 64 KB', `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414, 'uri_too_long'],
  [
    'headers above 64 KB',
    `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`,
    431,
    'headers_too_large',
  ],
  ['a request of HTTP/1.1 without Host', 'GET / HTTP/1.1\r\n\r\n', 400, 'bad_request'],
  ['a second Host', 'GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', 400, 'bad_request'],
  ['a request of HTTP/2.0', 'GET / HTTP/2.0\r\nHost: x\r\n\r\n', 400, 'bad_request'],
  [
    'a transfer coding beside chunked',
    'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    400,
    'bad_request',
  ],
  ['a tunnel', 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n', 405, 'method_not_allowed'],
  [
    'both Transfer-Encoding and Content-Length',
    'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n',
    400,
    'bad_request',
  ],
  [
    'two Content-Length',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
    400,
    'bad_request',
  ],
  ['a folded header', 'GET / HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n folded\r\n\r\n', 400, 'bad_request'],
  ['nonsense', 'HELLO\r\n\r\n', 400, 'bad_request'],
] as const)
  test(`${what} is ${status} ${code} in the shape of every error`, async (t) => {
    const reply = await sendRaw(t.context.service.url, request);
    const body = ErrorBody.strict().parse(JSON.parse(reply.body));
    t.deepEqual([reply.status, body.error], [status, code]);
    t.is(reply.headers.get('x-request-id'), body.request_id);
    t.truthy(reply.headers.get('x-ratelimit-remaining'));
    t.is(reply.headers.get('connection'), 'close');
  });

for (const [what, pieces, status] of [
  ['a target', ['GET /', 'x'.repeat(9000), 'x'.repeat(9000), ' HTTP/1.1\r\nHost: x\r\n\r\n'], 414],
  ['a header', ['GET / HTTP/1.1\r\nHost: x\r\nX-Long: ', 'x'.repeat(9000), 'x'.repeat(9000), '\r\n\r\n'], 431],
] as const)
  test(`${what} that is too large is ${status}, in however many pieces it comes`, async (t) => {
    const [first, ...more] = pieces;
    t.is((await sendRaw(t.context.service.url, first, ...more)).status, status);
  });

test('a client that was refused a tunnel and leaves its side open is cut off', async (t) => {
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

test('an upload that breaks off counts as a fault of the client, and no claim on its key is left', async (t) => {
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
        failed: (_, error) => t.fail(String(error)),
        schemaMismatch: (_, faults) => t.fail(faults),
      },
    },
  });
  t.teardown(service.close);
  const { hostname, port } = new URL(service.url);
  const socket = connect({ port: Number(port), host: hostname });
  const head = [
    'POST /v1/sample/locations HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${service.live_key}`,
    'Content-Type: application/json',
    'Idempotency-Key: broken-off',
    'Expect: 100-continue',
    'Content-Length: 50',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await once(socket, 'data'); // told to go on: the body is being read
  socket.write('{"name":');
  socket.destroy();
  await told;
  t.deepEqual(statuses, [400]);
  const again = await service.call('/v1/sample/locations', {
    ...JSON_BODY,
    headers: { ...JSON_BODY.headers, 'Idempotency-Key': 'broken-off' },
  });
  t.is(again.status, 200);
  t.is(again.headers.get('Idempotent-Replay'), null);
});
