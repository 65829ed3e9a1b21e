import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import {
  createServer,
  getDefaultAutoSelectFamily,
  type Server,
  type Socket,
  setDefaultAutoSelectFamily,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { selfSigned } from '../../../api/commands/self-signed.ts';
import { SettingsError } from '../../../api/config.ts';
import { type Outlet, type OutletOptions, openOutlet } from '../../../api/push/outlet.ts';
import type { NameResolver } from '../../../api/push/resolver.ts';
import { flood, trickle } from '../../support/service/hostile.ts';
import { type Received, type Receiver, startReceiver } from '../../support/service/receiver.ts';

const HOOKS = 'hooks.example.com';
const BODY = '{"id":"evt_1","location_name":"Zürich"}';
const LOCAL = ['127.0.0.0/8'];
const HALF = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const PUBLIC = '93.184.215.14';

/** A resolver that knows its answers, one after the other; the last is given from then on. */
function answering(...answers: readonly (readonly string[])[]): NameResolver & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    addressesOf: async (name) => answers[Math.min(asked.push(name), answers.length) - 1] ?? [],
    works: async () => true,
    close: () => {},
  };
}

/** Limits of wall time that a busy machine keeps, too. */
const UNHURRIED = 6;

function open(t: ExecutionContext, options: Partial<OutletOptions>): Outlet {
  const defaults = { allow_cidrs: [], ca_file: null, time_scale: UNHURRIED, resolver: answering([]) };
  const outlet = openOutlet({ ...defaults, ...options });
  t.teardown(outlet.close);
  return outlet;
}

/** An outlet that may reach a receiver of this machine. */
function openTo(t: ExecutionContext, { ca_file }: Receiver, options: Partial<OutletOptions> = {}): Outlet {
  return open(t, { allow_cidrs: LOCAL, ca_file, resolver: answering(['127.0.0.1']), ...options });
}

function post(outlet: Outlet, url: string) {
  return outlet.post({ url, body: BODY, headers: { 'X-Service-Event': 'alert.created' } });
}

/** A server that speaks no TLS, by itself. */
async function listen(t: ExecutionContext, onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Cipher suites of TLS 1.2 with ephemeral Diffie-Hellman over finite fields that OpenSSL knows (RFC 5246, 5288, 6655, 7905, 6209). */
const FINITE_FIELD_SUITES: ReadonlySet<number> = new Set([
  0x33, 0x39, 0x67, 0x6b, 0x9e, 0x9f, 0xc052, 0xc053, 0xc09e, 0xc09f, 0xc0a2, 0xc0a3, 0xccaa,
]);

/** Cipher suites that a ClientHello in one TLS record offers: they follow the session id, which follows 43 octets. */
function suitesOf(record: Buffer): readonly number[] {
  const from = 44 + record.readUInt8(43);
  return Array.from({ length: record.readUInt16BE(from) / 2 }, (_, k) => record.readUInt16BE(from + 2 + 2 * k));
}

test('an event is posted byte by byte as it is, under the name of its receiver', async (t) => {
  const receiver = await startReceiver(t, { names: [HOOKS] });
  const outlet = openTo(t, receiver);
  const attempt = await post(outlet, `https://${HOOKS}:${receiver.port}/a%20b?c=d`);
  t.like(attempt, { status_code: 200, error: null, error_class: null, answer: 'thanks', retry_after_ms: null });
  t.true(Number.isInteger(attempt.duration_ms));
  t.is(receiver.received.length, 1);
  const { headers, ...received } = receiver.received[0] as Received;
  t.deepEqual(received, { method: 'POST', path: '/a%20b?c=d', body: BODY, servername: HOOKS });
  const { 'user-agent': name = '', ...others } = headers;
  t.regex(name, /^hail-webhooks\/\d+\.\d+\.\d+$/);
  t.deepEqual(others, {
    host: `${HOOKS}:${receiver.port}`,
    connection: 'close',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(BODY)),
    'x-service-event': 'alert.created',
  });
});

test('no key exchange is offered whose numbers a receiver chooses: long ones stop the event loop', async (t) => {
  const hello = Promise.withResolvers<Buffer>();
  const port = await listen(t, (socket) => {
    socket.once('data', (record) => {
      hello.resolve(record);
      socket.destroy();
    });
  });
  const outlet = open(t, { allow_cidrs: LOCAL });
  await post(outlet, `https://127.0.0.1:${port}/`);
  const suites = suitesOf(await hello.promise);
  t.true(suites.includes(0xc02b), 'ECDHE-ECDSA-AES128-GCM-SHA256');
  t.deepEqual(
    suites.filter((suite) => FINITE_FIELD_SUITES.has(suite)),
    [],
  );
});

test('each attempt has a connection of its own', async (t) => {
  const receiver = await startReceiver(t, { names: [HOOKS, 'other.example.com'] });
  const outlet = openTo(t, receiver);
  for (const name of [HOOKS, HOOKS, 'other.example.com'])
    t.is((await post(outlet, `https://${name}:${receiver.port}/`)).status_code, 200);
  t.is(receiver.connections(), 3);
});

for (const host of [
  ...['127.0.0.1', '2130706433', '0x7f.1', '017700000001', '127.1', '%31%32%37.0.0.1', '①②⑦.⓪.⓪.①', '0'],
  ...['[::]', '[::1]', '[::ffff:7f00:1]', '[::ffff:127.0.0.1]', 'localhost', 'localhost.', 'app.localhost'],
])
  test(`nothing connects to this machine as ${host}`, async (t) => {
    const receiver = await startReceiver(t, { names: ['localhost'] });
    const { ca_file } = receiver;
    const outlet = open(t, { ca_file, resolver: answering(['127.0.0.1']) });
    const url = `https://${host}:${receiver.port}/`;
    t.false((await outlet.judge(url)).ok);
    t.like(await post(outlet, url), { status_code: null, error_class: 'blocked', answer: '' });
    t.is(receiver.connections(), 0);
  });

test('a name that led to a public address when it was given, and leads to a private one now, is not connected to', async (t) => {
  const receiver = await startReceiver(t, { names: [HOOKS] });
  const resolver = answering([PUBLIC], ['127.0.0.1'], [PUBLIC, '127.0.0.1']);
  const outlet = open(t, { ca_file: receiver.ca_file, resolver });
  const url = `https://${HOOKS}:${receiver.port}/`;
  t.deepEqual(await outlet.judge(url), { ok: true, dns_checked: true });
  t.like(await post(outlet, url), { error_class: 'blocked', error: 'must not lead to a private address' });
  t.like(await post(outlet, url), { error_class: 'blocked' });
  t.is(receiver.connections(), 0);
});

test('the address that was judged is the one that is connected to: a name is looked up once for an attempt', async (t) => {
  const receiver = await startReceiver(t, { names: [HOOKS] });
  const resolver = answering(['127.0.0.1'], ['10.0.0.1']);
  const outlet = openTo(t, receiver, { resolver });
  t.like(await post(outlet, `https://${HOOKS}:${receiver.port}/`), { status_code: 200 });
  t.deepEqual(resolver.asked, [HOOKS]);
});

test('of several addresses one that answers is enough', async (t) => {
  const receiver = await startReceiver(t, { names: [HOOKS] });
  const outlet = openTo(t, receiver, { resolver: answering(['127.0.0.2', '127.0.0.1']) });
  t.like(await post(outlet, `https://${HOOKS}:${receiver.port}/`), { status_code: 200 });
});

test.serial('a process that is told to try one address only tries the first', async (t) => {
  const receiver = await startReceiver(t, { names: [HOOKS] });
  const usual = getDefaultAutoSelectFamily();
  setDefaultAutoSelectFamily(false);
  t.teardown(() => setDefaultAutoSelectFamily(usual));
  const url = `https://${HOOKS}:${receiver.port}/`;
  for (const [addresses, error] of [
    [['127.0.0.1', '127.0.0.2'], null],
    [['127.0.0.2', '127.0.0.1'], 'ECONNREFUSED'],
  ] as const)
    t.like(await post(openTo(t, receiver, { resolver: answering(addresses) }), url), { error });
});

test('a redirect fails with its status and is not followed', async (t) => {
  const [receiver, other] = [await startReceiver(t), await startReceiver(t)];
  receiver.answer = (_, response) => response.writeHead(307, { Location: other.url }).end();
  const attempt = await post(openTo(t, receiver), receiver.url);
  t.like(attempt, { status_code: 307, error: 'HTTP 307', error_class: 'http_status' });
  t.is(other.connections(), 0);
});

for (const [status, error_class] of [
  [200, null],
  [204, null],
  [299, null],
  [300, 'http_status'],
  [410, 'http_status'],
  [429, 'http_status'],
  [503, 'http_status'],
] as const)
  test(`an answer of ${status} is ${error_class === null ? 'a success' : 'a failure'}`, async (t) => {
    const receiver = await startReceiver(t);
    receiver.answer = (_, response) => response.writeHead(status, { 'Retry-After': '120' }).end();
    const attempt = await post(openTo(t, receiver), receiver.url);
    t.like(attempt, { status_code: status, error_class, retry_after_ms: 120_000 });
    t.is(attempt.error, error_class === null ? null : `HTTP ${status}`);
  });

test('of the endless body of a failure 2 KB are kept', async (t) => {
  const receiver = await startReceiver(t);
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  receiver.answer = (_, response) => {
    const more = () => {
      while (!response.destroyed && response.write('é'.repeat(8_192)));
    };
    response.writeHead(500).on('drain', more).on('close', close);
    more();
  };
  const attempt = await post(openTo(t, receiver), receiver.url);
  await closed;
  t.like(attempt, { status_code: 500, error_class: 'http_status', answer: 'é'.repeat(1_024) });
});

/** What receivers send without an end, after a beginning: one write after the other, as fast as it is taken. */
const ENDLESS = {
  '1xx answers': ['', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'],
  continues: ['', 'HTTP/1.1 100 Continue\r\n\r\n'],
  headers: ['HTTP/1.1 200 OK\r\n', 'X-More: of the same\r\n'],
  'header names': ['HTTP/1.1 200 OK\r\n', 'x'],
  reasons: ['HTTP/1.1 200 ', 'OK '],
  'empty lines': ['', '\r\n'],
} as const;

for (const [what, [beginning, more]] of Object.entries(ENDLESS))
  test(`an answer of endless ${what} ends with its bytes, and its connection with it`, async (t) => {
    const receiver = await startReceiver(t);
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    receiver.answer = (_, response) => flood(response.socket, beginning, more, close);
    const attempt = await post(openTo(t, receiver), receiver.url);
    t.like(attempt, { status_code: null, error_class: 'connect' });
    await closed;
  });

for (const [what, more] of [
  ['chunk extensions', `5;${'x'.repeat(1_000)}`],
  ['chunks', '5\r\nhello\r\n'],
  ['gzip', '5\r\n\x1f\x8b\x08\x00\x00\r\n'],
] as const)
  for (const status of [200, 500])
    test(`a ${status} with endless ${what} is a ${status}, and its connection ends`, async (t) => {
      const receiver = await startReceiver(t);
      const { promise: closed, resolve: close } = Promise.withResolvers<void>();
      const head = `HTTP/1.1 ${status} Any\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n`;
      receiver.answer = (_, response) => flood(response.socket, head, more, close);
      t.like(await post(openTo(t, receiver), receiver.url), { status_code: status });
      await closed;
    });

for (const [interim, lines] of [
  [100, ['HTTP/1.1 100 Continue']],
  [102, ['HTTP/1.1 102 Processing']],
  [103, ['HTTP/1.1 103 Early Hints', 'Link: </style.css>; rel=preload']],
  [199, ['HTTP/1.1 199 Anything']],
] as const)
  test(`a ${interim} before the answer is skipped`, async (t) => {
    const receiver = await startReceiver(t);
    receiver.answer = (_, response) => {
      for (let k = 0; k < 3; k++) response.socket?.write(`${lines.join('\r\n')}\r\n\r\n`);
      response.end('thanks');
    };
    const attempt = await post(openTo(t, receiver), receiver.url);
    t.like(attempt, { status_code: 200, error_class: null, answer: 'thanks' });
  });

for (const upgrade of ['', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'])
  test(`an answer of 101 ${upgrade === '' ? 'without' : 'with'} an upgrade is a failure`, async (t) => {
    const receiver = await startReceiver(t);
    receiver.answer = (_, response) => {
      response.socket?.end(`HTTP/1.1 101 Switching Protocols\r\n${upgrade}\r\n`);
    };
    const attempt = await post(openTo(t, receiver), receiver.url);
    t.like(attempt, { status_code: 101, error_class: 'http_status', error: 'HTTP 101' });
  });

test.serial('an answer that trickles in byte by byte ends with the time of its attempt', async (t) => {
  const receiver = await startReceiver(t);
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  receiver.answer = (_, { socket }) => trickle(socket, 'HTTP/1.1 200 ', 'O', 50, close);
  const attempt = await post(openTo(t, receiver, { time_scale: 0.1 }), receiver.url);
  await closed;
  t.like(attempt, { status_code: null, error_class: 'timeout', error: 'no answer within 2 s' });
});

test('the body after the head of a 2xx answer is not waited for', async (t) => {
  const receiver = await startReceiver(t);
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  receiver.answer = (_, response) => response.on('close', close).writeHead(202).flushHeaders();
  const attempt = await post(openTo(t, receiver), receiver.url);
  await closed;
  t.like(attempt, { status_code: 202, error_class: null, answer: '' });
  t.true(attempt.duration_ms < 15_000);
});

test('what is kept of an answer is text: no half characters, and no NUL', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = (_, response) =>
    response.end(Buffer.concat([Buffer.from('a\0b\xff'), Buffer.from('€').subarray(0, 2)]));
  const { answer } = await post(openTo(t, receiver), receiver.url);
  t.is(answer, 'a\uFFFDbÿ');
});

test.serial('an attempt to a receiver that is silent in TLS ends with the time to connect', async (t) => {
  const port = await listen(t, () => {});
  const attempt = await post(open(t, { allow_cidrs: LOCAL, time_scale: 0.1 }), `https://127.0.0.1:${port}/`);
  t.like(attempt, { status_code: null, error_class: 'timeout', error: 'no connection within 2 s' });
});

test.serial('an attempt to a receiver that takes the event and hangs ends with its time', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = () => {};
  const attempt = await post(openTo(t, receiver, { time_scale: 0.1 }), receiver.url);
  t.like(attempt, { status_code: null, error_class: 'timeout', error: 'no answer within 2 s' });
});

test.serial('a status decides, also when the body after it hangs', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = (_, response) => response.writeHead(500).write('beginning');
  const attempt = await post(openTo(t, receiver, { time_scale: 0.1 }), receiver.url);
  t.like(attempt, { status_code: 500, error_class: 'http_status', answer: 'beginning' });
});

test('a receiver whose name servers are silent is not found', async (t) => {
  const resolver: NameResolver = { ...answering([]), addressesOf: () => new Promise(() => {}) };
  const attempt = await post(open(t, { time_scale: 0.1, resolver }), `https://${HOOKS}/`);
  t.like(attempt, { status_code: null, error_class: 'timeout', error: 'no connection within 2 s' });
});

test('a receiver without an address is not found', async (t) => {
  const attempt = await post(open(t, {}), `https://${HOOKS}/`);
  t.like(attempt, { status_code: null, error_class: 'dns', error: 'no address was found for its name' });
});

test('a receiver that resets what it was sent gets a failed connection', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = receiver.reset;
  t.like(await post(openTo(t, receiver), receiver.url), { status_code: null, error_class: 'connect' });
});

test('a receiver that resets the connection before TLS gets a failed connection', async (t) => {
  const port = await listen(t, (socket) => socket.resetAndDestroy());
  const attempt = await post(open(t, { allow_cidrs: LOCAL }), `https://127.0.0.1:${port}/`);
  t.like(attempt, { status_code: null, error_class: 'connect' });
});

test('a receiver that does not listen gets a failed connection', async (t) => {
  const attempt = await post(open(t, { allow_cidrs: LOCAL }), 'https://127.0.0.1:1/');
  t.like(attempt, { status_code: null, error_class: 'connect', error: 'ECONNREFUSED' });
});

test('a receiver that answers in another protocol gets a failed connection', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = (_, response) => response.socket?.end('SSH-2.0-OpenSSH_9.2\r\n');
  t.like(await post(openTo(t, receiver), receiver.url), { status_code: null, error_class: 'connect' });
});

test('a receiver without TLS is not talked to', async (t) => {
  const port = await listen(t, (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
  const attempt = await post(open(t, { allow_cidrs: LOCAL }), `https://127.0.0.1:${port}/`);
  t.like(attempt, { status_code: null, error_class: 'tls' });
});

test('a receiver whose authority is unknown is not talked to', async (t) => {
  const receiver = await startReceiver(t);
  const attempt = await post(openTo(t, receiver, { ca_file: null }), receiver.url);
  t.like(attempt, { status_code: null, error_class: 'tls', error: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  t.is(receiver.received.length, 0);
});

test('a receiver that proves to be somebody else is not talked to', async (t) => {
  const receiver = await startReceiver(t, { names: ['other.example.com'] });
  const attempt = await post(openTo(t, receiver), `https://${HOOKS}:${receiver.port}/`);
  t.like(attempt, { status_code: null, error_class: 'tls', error: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  t.is(receiver.received.length, 0);
});

test('a receiver that speaks TLS 1.1 at best is not talked to', async (t) => {
  const receiver = await startReceiver(t, { newest_tls: 'TLSv1.1' });
  const attempt = await post(openTo(t, receiver), receiver.url);
  t.like(attempt, { status_code: null, error_class: 'tls', error: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' });
  t.is(receiver.received.length, 0);
});

test('names and ports of this machine pass where its network is allowed', async (t) => {
  const receiver = await startReceiver(t, { names: ['localhost'] });
  const outlet = openTo(t, receiver);
  for (const url of [receiver.url, `https://localhost:${receiver.port}/`, 'https://receiver.test:22/']) {
    t.deepEqual(await outlet.judge(url), { ok: true, dns_checked: true });
  }
  t.like(await post(outlet, `https://localhost:${receiver.port}/`), { status_code: 200 });
});

test('a name without an address is refused while name servers work, and taken unchecked while none does', async (t) => {
  const url = `https://${HOOKS}/`;
  t.deepEqual(await open(t, {}).judge(url), { ok: false, reason: 'must have a host name that has an address' });
  const resolver: NameResolver = { ...answering([]), works: async () => false };
  t.deepEqual(await open(t, { resolver }).judge(url), { ok: true, dns_checked: false });
});

test('names of this machine are refused before anybody is asked for them', async (t) => {
  const resolver = answering([PUBLIC]);
  const outlet = open(t, { resolver });
  t.deepEqual(await outlet.judge('https://printer.local/'), {
    ok: false,
    reason: 'must not have a host name that ends in .local',
  });
  t.deepEqual(resolver.asked, []);
});

test('a network or a file of authorities that cannot be read keeps the outlet closed', (t) => {
  t.throws(() => open(t, { allow_cidrs: ['127.0.0.1'] }));
  t.throws(() => open(t, { ca_file: join('no', 'such', 'file.pem') }), { code: 'ENOENT' });
});

for (const [what, text, reason] of [
  ['text', 'localhost', /holds no certificate, expected some in PEM$/],
  ['a key', selfSigned().key, /holds no certificate/],
  [
    'a certificate and half of another',
    selfSigned().cert + HALF,
    /^HAIL_WEBHOOK_CA_FILE: certificate 2 of .* malformed$/,
  ],
] as const)
  test(`a file of authorities that holds ${what} keeps the outlet closed`, (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'hail-authorities-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const ca_file = join(folder, 'ca.pem');
    writeFileSync(ca_file, text);
    t.throws(() => open(t, { ca_file }), { instanceOf: SettingsError, message: reason });
  });

const RECEIVER_CHILD = fileURLToPath(new URL('../../support/service/receiver-child.ts', import.meta.url));
/** Longer than the shortest limit of an attempt. */
const HELD_UP_MS = 2_500;

test('an answer that arrived in time counts, also when the service was held up until after the limit', async (t) => {
  const child = fork(RECEIVER_CHILD);
  t.teardown(() => child.disconnect());
  const [receiver] = (await once(child, 'message')) as [Receiver];
  const outlet = openTo(t, receiver, { time_scale: 0.001 });
  const posted = post(outlet, receiver.url);
  t.deepEqual(await once(child, 'message'), ['received', undefined]);
  // Nothing else runs in this process meanwhile, as while it is starved of its processor.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, HELD_UP_MS);
  t.like(await posted, { status_code: 200, error_class: null });
});
