import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { selfSigned } from '../../../api/commands/webhook-listen.ts';
import { SettingsError } from '../../../api/config.ts';
import { openResolver, openWebhookClient } from '../../../api/webhooks/client.ts';
import { SAMPLES } from '../../../api/webhooks/event-samples.ts';
import { isPublic, networks, parseReceiverUrl, refusalReason } from '../../../api/webhooks/public-address.ts';
import { signatureFault, signatureHeaders } from '../../../api/webhooks/signature.ts';
import { sizeCategory } from '../../../schemas/size.ts';
import { threatLevel } from '../../../schemas/webhook-events.ts';
import { now_s, QUESTIONS, vectors } from '../../support/data/webhook-vectors.ts';
import { flood, trickle } from '../../support/service/hostile.ts';
import { type Received, type Receiver, startReceiver } from '../../support/service/receiver.ts';

type WebhookClient = ReturnType<typeof openWebhookClient>;

/** What is known of a name; `silent`: nothing is answered. */
type Known = { readonly A?: readonly string[]; readonly AAAA?: readonly string[] } | 'silent';

interface NameServer {
  /** As a resolver takes it. */
  readonly address: string;
  readonly names: Map<string, Known>;
  /** What it was asked, in order: name and type. */
  readonly questions: string[];
}

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };
const HEAD_BYTES = 12;

/** A name server (RFC 1035) over UDP on this machine. Other names do not exist. */
async function startNameServer(t: ExecutionContext): Promise<NameServer> {
  const socket = createSocket('udp4');
  const names = new Map<string, Known>();
  const questions: string[] = [];
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = question(query);
    questions.push(`${name} ${type}`);
    const known = names.get(name);
    if (known === 'silent') return;
    const records = recordsOf(known, type).map((data) => record(query.readUInt16BE(end - 4), data));
    const head = Buffer.from(query.subarray(0, HEAD_BYTES));
    head.writeUInt16BE(known === undefined ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(records.length, 6);
    // No additional records.
    head.fill(0, 8);
    socket.send(Buffer.concat([head, query.subarray(HEAD_BYTES, end), ...records]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.teardown(() => socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, names, questions };
}

function question(query: Buffer) {
  const labels: string[] = [];
  let at = HEAD_BYTES;
  for (let length = query[at] as number; length > 0; length = query[at] as number) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join('.'), type: TYPES[query.readUInt16BE(at + 1)], end: at + 5 };
}

function recordsOf(known: Exclude<Known, 'silent'> | undefined, type: 'A' | 'AAAA' | undefined): Buffer[] {
  if (type === 'A') return (known?.A ?? []).map((text) => Buffer.from(text.split('.').map(Number)));
  return (known?.AAAA ?? []).map((text) => Buffer.from(text.replaceAll(':', ''), 'hex'));
}

/** An answer about the name of the question, for a minute. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, HEAD_BYTES, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]);
  return Buffer.concat([head, data]);
}

const HOOKS = 'hooks.example.com';
const BODY = '{"id":"evt_1","location_name":"Zürich"}';
const LOCAL = ['127.0.0.0/8'];
const HALF = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const PUBLIC = '93.184.215.14';

/** A resolver that knows its answers, one after the other; the last is given from then on. */
function answering(...answers: readonly (readonly string[] | null)[]) {
  const asked: string[] = [];
  return {
    asked,
    resolve: async (name: string) =>
      answers[Math.min(asked.push(name), answers.length) - 1] as readonly string[] | null,
    close: () => {},
  };
}

/** Limits of wall time that a busy machine keeps, too. */
const UNHURRIED = 6;
/** Limits that no test waits for. */
const HOURS = 1_000;

function open(t: ExecutionContext, options: Partial<Parameters<typeof openWebhookClient>[0]>): WebhookClient {
  const defaults = { allow_cidrs: [], ca_file: null, time_scale: UNHURRIED, resolver: answering([]) };
  const webhookClient = openWebhookClient({ ...defaults, ...options });
  t.teardown(webhookClient.close);
  return webhookClient;
}

/** An webhookClient that may reach a receiver of this machine. */
function openTo(
  t: ExecutionContext,
  { ca_file }: Receiver,
  options: Partial<Parameters<typeof openWebhookClient>[0]> = {},
): WebhookClient {
  return open(t, { allow_cidrs: LOCAL, ca_file, resolver: answering(['127.0.0.1']), ...options });
}

function post(webhookClient: WebhookClient, url: string) {
  return webhookClient.post({ url, body: BODY, headers: { 'X-Service-Event': 'alert.created' } });
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
  const webhookClient = openTo(t, receiver);
  const attempt = await post(webhookClient, `https://${HOOKS}:${receiver.port}/a%20b?c=d`);
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
  const webhookClient = open(t, { allow_cidrs: LOCAL });
  t.not((await post(webhookClient, `https://127.0.0.1:${port}/`)).error_class, 'timeout');
  const suites = suitesOf(await hello.promise);
  t.true(suites.includes(0xc02b), 'ECDHE-ECDSA-AES128-GCM-SHA256');
  const finiteField = suites.filter((suite) => FINITE_FIELD_SUITES.has(suite));
  t.deepEqual(finiteField, []);
});

test('each attempt has a connection of its own', async (t) => {
  const receiver = await startReceiver(t, { names: [HOOKS, 'other.example.com'] });
  const webhookClient = openTo(t, receiver);
  for (const name of [HOOKS, HOOKS, 'other.example.com'])
    t.is((await post(webhookClient, `https://${name}:${receiver.port}/`)).status_code, 200);
  t.is(receiver.connections(), 3);
});

test('nothing connects to this machine, under any of its names and numbers', async (t) => {
  const receiver = await startReceiver(t, { names: ['localhost'] });
  const webhookClient = open(t, { ca_file: receiver.ca_file, resolver: answering(['127.0.0.1']) });
  for (const host of [
    ...['127.0.0.1', '2130706433', '0x7f.1', '017700000001', '127.1', '%31%32%37.0.0.1', '①②⑦.⓪.⓪.①', '0'],
    ...['[::]', '[::1]', '[::ffff:7f00:1]', '[::ffff:127.0.0.1]', 'localhost', 'localhost.', 'app.localhost'],
  ]) {
    const url = `https://${host}:${receiver.port}/`;
    t.not(await webhookClient.validateUrl(url), null, host);
    t.like(await post(webhookClient, url), { status_code: null, error_class: 'blocked', answer: '' }, host);
  }
  t.is(receiver.connections(), 0);
});

test('a name that led to a public address when it was given, and leads to a private one now, is not connected to', async (t) => {
  const receiver = await startReceiver(t, { names: [HOOKS] });
  const resolver = answering([PUBLIC], ['127.0.0.1'], [PUBLIC, '127.0.0.1']);
  const webhookClient = open(t, { ca_file: receiver.ca_file, resolver });
  const url = `https://${HOOKS}:${receiver.port}/`;
  t.is(await webhookClient.validateUrl(url), null);
  t.like(await post(webhookClient, url), { error_class: 'blocked', error: 'must not lead to a private address' });
  t.like(await post(webhookClient, url), { error_class: 'blocked' });
  t.is(receiver.connections(), 0);
});

test('the address that was judged is the one that is connected to: a name is looked up once for an attempt', async (t) => {
  const receiver = await startReceiver(t, { names: [HOOKS] });
  const resolver = answering(['127.0.0.1'], ['10.0.0.1']);
  const webhookClient = openTo(t, receiver, { resolver });
  t.like(await post(webhookClient, `https://${HOOKS}:${receiver.port}/`), { status_code: 200 });
  t.deepEqual(resolver.asked, [HOOKS]);
});

test('of several addresses one that answers is enough', async (t) => {
  const receiver = await startReceiver(t, { names: [HOOKS] });
  const webhookClient = openTo(t, receiver, { resolver: answering(['127.0.0.2', '127.0.0.1']) });
  t.like(await post(webhookClient, `https://${HOOKS}:${receiver.port}/`), { status_code: 200 });
});

test('a redirect fails with its status and is not followed', async (t) => {
  const [receiver, other] = [await startReceiver(t), await startReceiver(t)];
  receiver.answer = (_, response) => response.writeHead(307, { Location: other.url }).end();
  const attempt = await post(openTo(t, receiver), receiver.url);
  t.like(attempt, { status_code: 307, error: 'HTTP 307', error_class: 'http_status' });
  t.is(other.connections(), 0);
});

test('answers of 2xx are successes and no others', async (t) => {
  const receiver = await startReceiver(t);
  const webhookClient = openTo(t, receiver);
  for (const status_code of [200, 204, 299, 300, 410, 429, 503]) {
    receiver.answer = (_, response) => response.writeHead(status_code, { 'Retry-After': '120' }).end();
    const fault =
      status_code < 300
        ? { error: null, error_class: null }
        : { error: `HTTP ${status_code}`, error_class: 'http_status' as const };
    t.like(await post(webhookClient, receiver.url), { status_code, ...fault, retry_after_ms: 120_000 });
  }
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
  t.like(attempt, { status_code: 500, error_class: 'http_status', answer: 'é'.repeat(1_024) });
  await closed;
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

test('1xx answers before the answer are skipped', async (t) => {
  const receiver = await startReceiver(t);
  const webhookClient = openTo(t, receiver);
  for (const interim of [
    '100 Continue',
    '102 Processing',
    '103 Early Hints\r\nLink: </a>; rel=preload',
    '199 Anything',
  ]) {
    receiver.answer = (_, response) => {
      for (let k = 0; k < 3; k++) response.socket?.write(`HTTP/1.1 ${interim}\r\n\r\n`);
      response.end('thanks');
    };
    const attempt = await post(webhookClient, receiver.url);
    t.like(attempt, { status_code: 200, error_class: null, answer: 'thanks' }, interim);
  }
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
  t.like(attempt, { status_code: null, error_class: 'timeout', error: 'no answer within 2 s' });
  await closed;
});

test('the body after the head of a 2xx answer is not waited for', async (t) => {
  const receiver = await startReceiver(t);
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  receiver.answer = (_, response) => response.on('close', close).writeHead(202).flushHeaders();
  const attempt = await post(openTo(t, receiver, { time_scale: HOURS }), receiver.url);
  t.like(attempt, { status_code: 202, error_class: null, answer: '' });
  await closed;
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
  const resolver = { ...answering([]), resolve: () => new Promise<null>(() => {}) };
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
  const webhookClient = openTo(t, receiver);
  for (const url of [receiver.url, `https://localhost:${receiver.port}/`, 'https://receiver.test:22/']) {
    t.is(await webhookClient.validateUrl(url), null);
  }
  t.like(await post(webhookClient, `https://localhost:${receiver.port}/`), { status_code: 200 });
});

test('a name without an address is refused, and taken unchecked where no name server can say', async (t) => {
  const url = `https://${HOOKS}/`;
  t.is(await open(t, {}).validateUrl(url), 'must have a host name that has an address');
  t.is(await open(t, { resolver: answering(null) }).validateUrl(url), null);
});

test('names of this machine are refused before anybody is asked for them', async (t) => {
  const resolver = answering([PUBLIC]);
  const webhookClient = open(t, { resolver });
  const reason = 'must not have a host name that ends in .local';
  t.is(await webhookClient.validateUrl('https://printer.local/'), reason);
  t.deepEqual(resolver.asked, []);
});

test('a network or a file of authorities that cannot be read keeps the webhook client closed', (t) => {
  t.throws(() => open(t, { allow_cidrs: ['127.0.0.1'] }));
  t.throws(() => open(t, { ca_file: join('no', 'such', 'file.pem') }), { code: 'ENOENT' });
});

for (const [what, text, reason] of [
  ['text', async () => 'localhost', /holds no certificate, expected some in PEM$/],
  ['a key', async () => (await selfSigned()).key, /holds no certificate/],
  [
    'a certificate and half of another',
    async () => (await selfSigned()).cert + HALF,
    /^HAIL_WEBHOOK_CA_FILE: certificate 2 of .* malformed$/,
  ],
] as const)
  test(`a file of authorities that holds ${what} keeps the webhook client closed`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'hail-authorities-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const ca_file = join(folder, 'ca.pem');
    writeFileSync(ca_file, await text());
    t.throws(() => open(t, { ca_file }), { instanceOf: SettingsError, message: reason });
  });

const RECEIVER_THREAD = new URL('../../support/service/receiver-thread.ts', import.meta.url);
/** Longer than the shortest limit of an attempt. */
const HELD_UP_MS = 2_500;
/** The hold-up has to begin well before the shortest limit, which a busy machine may miss. */
const IN_TIME_MS = 1_000;
const TRIES = 5;

test('an answer that arrived in time counts, also when the service was held up until after the limit', async (t) => {
  for (let k = 1; ; k++) {
    const answered = new Int32Array(new SharedArrayBuffer(4));
    const thread = new Worker(RECEIVER_THREAD, { workerData: answered });
    t.teardown(() => thread.postMessage('end'));
    const [receiver] = (await once(thread, 'message')) as [Receiver];
    const begun_ms = performance.now();
    const posted = post(openTo(t, receiver, { time_scale: 0.001 }), receiver.url);
    const early = await Promise.race([once(thread, 'message').then(() => null), posted]);
    if (early !== null || performance.now() - begun_ms > IN_TIME_MS) {
      const { error } = await posted;
      if (k === TRIES) return t.fail(`no request arrived within ${IN_TIME_MS / 1000} s: ${error}`);
      continue;
    }
    // Nothing else runs in this thread meanwhile, as while it is starved of its processor.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, HELD_UP_MS);
    t.not(Atomics.wait(answered, 0, 0, 60_000), 'timed-out');
    t.like(await posted, { status_code: 200, error_class: null });
    return;
  }
});

const NOT_PUBLIC = {
  'IPv4, this network (0/8)': ['0.0.0.0', '0.255.255.255'],
  'IPv4, private (10/8)': ['10.0.0.0', '10.255.255.255'],
  'IPv4, carrier-grade NAT (100.64/10)': ['100.64.0.0', '100.127.255.255'],
  'IPv4, loopback (127/8)': ['127.0.0.0', '127.0.0.1', '127.255.255.255'],
  'IPv4, link-local and metadata (169.254/16)': ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  'IPv4, private (172.16/12)': ['172.16.0.0', '172.31.255.255'],
  'IPv4, protocol assignments (192.0.0/24)': ['192.0.0.0', '192.0.0.255'],
  'IPv4, documentation (192.0.2/24)': ['192.0.2.0', '192.0.2.255'],
  'IPv4, 6to4 relays (192.88.99/24)': ['192.88.99.0', '192.88.99.255'],
  'IPv4, private (192.168/16)': ['192.168.0.0', '192.168.255.255'],
  'IPv4, benchmarks (198.18/15)': ['198.18.0.0', '198.19.255.255'],
  'IPv4, documentation (198.51.100/24)': ['198.51.100.0', '198.51.100.255'],
  'IPv4, documentation (203.0.113/24)': ['203.0.113.0', '203.0.113.255'],
  'IPv4, multicast (224/4)': ['224.0.0.0', '239.255.255.255'],
  'IPv4, reserved and broadcast (240/4)': ['240.0.0.0', '255.255.255.255'],
  'IPv4, the host of Azure': ['168.63.129.16'],
  'IPv6, unspecified (::)': ['::'],
  'IPv6, loopback (::1)': ['::1'],
  'IPv6, private IPv4 mapped (::ffff:0:0/96)': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.1.2.3', '::ffff:0:0'],
  'IPv6, IPv4 in its compatible form (::/96)': ['::127.0.0.1', '::8.8.8.8'],
  'IPv6, NAT64 (64:ff9b::/96)': ['64:ff9b::', '64:ff9b::8.8.8.8', '64:ff9b::7f00:1'],
  'IPv6, local NAT64 (64:ff9b:1::/48)': ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, discard (100::/64)': ['100::', '100::ffff:ffff:ffff:ffff'],
  'IPv6, Teredo (2001::/32)': ['2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, documentation (2001:db8::/32)': ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, 6to4 (2002::/16)': ['2002::', '2002:7f00:1::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, documentation (3fff::/20)': ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, segment routing (5f00::/16)': ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, unique local (fc00::/7)': ['fc00::', 'fd12:3456:789a::1', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, link-local (fe80::/10)': ['fe80::', 'fe80::1', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, site-local (fec0::/10)': ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, multicast (ff00::/8)': ['ff00::', 'ff02::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'no address': ['', 'localhost', '1.2.3', '1.2.3.4.5', '[::1]', 'fe80::1%lo'],
};
for (const [range, addresses] of Object.entries(NOT_PUBLIC))
  test(`not public: ${range}`, (t) => {
    for (const address of addresses) t.false(isPublic(address, []), address);
  });

test('public: what lies just outside of the ranges that are not', (t) => {
  for (const address of [
    ...['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
    ...['168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
    ...['192.0.1.0', '192.0.3.0', '192.88.98.255', '192.88.100.0', '192.167.255.255', '192.169.0.0'],
    ...['198.17.255.255', '198.20.0.0', '198.51.99.255', '198.51.101.0', '203.0.112.255', '203.0.114.0'],
    ...['223.255.255.255', '::ffff:8.8.8.8', '2001:4860:4860::8888', '2001:db7::1', '2001:db9::1', '2003::', '2600::'],
  ])
    t.true(isPublic(address, []), address);
});

test('not public: addresses of this machine itself, however public their numbers are', (t) => {
  t.true(isPublic('8.8.8.8', ['9.9.9.9']));
  t.false(isPublic('8.8.8.8', ['8.8.8.8']));
  t.false(isPublic('::ffff:8.8.8.8', ['8.8.8.8']));
  t.false(isPublic('2600:0::1', ['2600::1']));
  for (const { address } of Object.values(networkInterfaces()).flatMap((each) => each ?? []))
    t.false(isPublic(address));
});

for (const [what, url, reason] of [
  ['plain HTTP', 'http://example.com/', 'must be an https URL, found http'],
  ['another scheme', 'file:///etc/passwd', 'must be an https URL, found file'],
  ['no URL', 'example.com/hook', 'must be a URL'],
  ['an IPv4 address of five parts', 'https://1.2.3.4.5/', 'must be a URL'],
  ['a user name', 'https://me@example.com/', 'must not contain a user name or a password'],
  ['a password', 'https://:secret@example.com/', 'must not contain a user name or a password'],
  ...['https://@example.com/', 'https:@example.com/', 'https:\\\\@example.com/', 'HTTPS://:@example.com/'].map(
    (url) => [`an empty user name (${url})`, url, 'must not contain a user name or a password'] as const,
  ),
  ['a fragment', 'https://example.com/#top', 'must not contain a fragment'],
  ['an empty fragment', 'https://example.com/#', 'must not contain a fragment'],
  ['a line feed, which the parser would drop', 'https://127.0.\n0.1/', 'must not contain control characters'],
  ['a carriage return', 'https://example.com/\r', 'must not contain control characters'],
  ['a tab', 'https://exam\tple.com/', 'must not contain control characters'],
  ['NUL', 'https://example.com/\0', 'must not contain control characters'],
  ['an empty label', 'https://example..com/', 'must have a host name without empty labels'],
  ['two dots at the end', 'https://example.com../', 'must have a host name without empty labels'],
  ['2049 characters', `https://example.com/${'a'.repeat(2029)}`, 'must have at most 2048 characters, found 2049'],
] as const)
  test(`refused: a URL with ${what}`, (t) => t.is(parseReceiverUrl(url), reason));

test('taken: a URL of 2048 characters, with port, path and query', (t) => {
  const url = `https://hooks.example.com:8443/a/b?c=${'d'.repeat(2011)}`;
  t.is(url.length, 2048);
  const receiver = parseReceiverUrl(url);
  if (typeof receiver === 'string') return t.fail(receiver);
  t.like(receiver, { host: 'hooks.example.com', port: 8443, local: null });
  t.is(receiver.url.href, url);
});

for (const [host, reason] of [
  ['localhost', 'must have a full host name'],
  ['localhost.', 'must have a full host name'],
  ['LOCALHOST', 'must have a full host name'],
  ['intranet', 'must have a full host name'],
  ['app.localhost', 'must not have a host name that ends in .localhost'],
  ['app.localhost.', 'must not have a host name that ends in .localhost'],
  ['printer.local', 'must not have a host name that ends in .local'],
  ['metadata.google.internal', 'must not have a host name that ends in .internal'],
  ['nobody.invalid', 'must not have a host name that ends in .invalid'],
  ['receiver.test', 'must not have a host name that ends in .test'],
  ['hidden.onion', 'must not have a host name that ends in .onion'],
  ['router.home.arpa', 'must not have a host name that ends in .home.arpa'],
  ['example.com:22', 'must not lead to port 22'],
  ['example.com:25', 'must not lead to port 25'],
  ['example.com:0', 'must not lead to port 0'],
  ['example.com:6379', 'must not lead to port 6379'],
  ['8.8.8.8:5432', 'must not lead to port 5432'],
] as const)
  test(`refused, unless its network is allowed: ${host}`, (t) => {
    const receiver = parseReceiverUrl(`https://${host}/`);
    if (typeof receiver === 'string') return t.fail(receiver);
    const allowed = networks('192.168.1.0/24', 'fd00::/8');
    t.is(receiver.local, reason);
    t.is(refusalReason(receiver, ['93.184.215.14'], allowed), reason);
    t.is(refusalReason(receiver, ['192.168.1.7', '93.184.215.14'], allowed), reason);
    t.is(refusalReason(receiver, ['192.168.1.7', 'fd00::7'], allowed), null);
  });

test('one private address among public ones is enough to be refused', (t) => {
  const receiver = parseReceiverUrl('https://example.com/');
  if (typeof receiver === 'string') return t.fail(receiver);
  t.is(refusalReason(receiver, ['93.184.215.14', '2600::1'], []), null);
  t.is(refusalReason(receiver, ['93.184.215.14', '10.0.0.1'], []), 'must not lead to a private address');
  t.is(refusalReason(receiver, ['2600::1', '::1'], []), 'must not lead to a private address');
});

test('an allowed network makes up for its own addresses alone', (t) => {
  const receiver = parseReceiverUrl('https://example.com/');
  if (typeof receiver === 'string') return t.fail(receiver);
  const allowed = networks('10.1.0.0/16');
  t.is(refusalReason(receiver, ['10.1.2.3', '93.184.215.14'], allowed), null);
  t.is(refusalReason(receiver, ['::ffff:10.1.2.3'], allowed), null);
  t.is(refusalReason(receiver, ['10.2.0.1'], allowed), 'must not lead to a private address');
});

for (const cidr of ['10.0.0.0', '10.0.0.0/33', 'ten/8', ''])
  test(`networks are read in one form, not ${JSON.stringify(cidr)}`, (t) => {
    t.throws(() => networks('127.0.0.0/8', cidr));
  });

async function openWith(t: ExecutionContext, names: Readonly<Record<string, Known>>, own_names = false) {
  const server = await startNameServer(t);
  for (const [name, known] of Object.entries(names)) server.names.set(name, known);
  const resolver = openResolver(own_names, [server.address]);
  t.teardown(resolver.close);
  return { server, resolver };
}

test('a name has the addresses of both families', async (t) => {
  const v6 = '2600:0001:0000:0000:0000:0000:0000:0007';
  const { resolver } = await openWith(t, { 'hooks.example.com': { A: ['93.184.215.14', '10.0.0.1'], AAAA: [v6] } });
  t.deepEqual(await resolver.resolve('hooks.example.com'), ['93.184.215.14', '10.0.0.1', '2600:1::7']);
});

test('a name that does not exist, or that has no address, has none', async (t) => {
  const { resolver } = await openWith(t, { 'mail.example.com': {} });
  t.deepEqual(await resolver.resolve('gone.example.com'), []);
  t.deepEqual(await resolver.resolve('mail.example.com'), []);
});

test('a name whose server is silent is asked for twice, and then its addresses are not known', async (t) => {
  const { resolver, server } = await openWith(t, { 'hangs.example.com': 'silent' });
  t.is(await resolver.resolve('hangs.example.com'), null);
  t.is(server.questions.filter((question) => question === 'hangs.example.com A').length, 2);
});

test('a name of this machine counts where own names do, and there alone', async (t) => {
  const { resolver: own } = await openWith(t, {}, true);
  t.true((await own.resolve('localhost'))?.some((address) => ['127.0.0.1', '::1'].includes(address)));
  const { resolver: others } = await openWith(t, {});
  t.falsy((await others.resolve('localhost'))?.length);
});

test('a receiver finds our signature good for five minutes, before and after, and says what it found', (t) => {
  const [{ body = '', secrets: [secret = ''] = [], headers = {} } = {}] = vectors;
  const signature = headers['X-Service-Signature'] ?? '';
  for (const off_s of [-300, 0, 300]) t.is(signatureFault(signature, body, secret, (now_s + off_s) * 1000), null);
  for (const off_s of [-300.001, 300.001])
    t.regex(
      signatureFault(signature, body, secret, (now_s + off_s) * 1000) ?? '',
      /^signature is of \S+Z, expected one of the last 300 s$/,
    );
  for (const [other, fault] of [
    [signature.slice(0, -2), 'signature does not match secret and body'],
    [signature.replace('v1', 'v0'), 'signature does not match secret and body'],
    ['v1=00', 'signature begins with "v1=00", expected t=<unix time>'],
    ['', 'signature begins with "", expected t=<unix time>'],
  ] as const)
    t.is(signatureFault(other, body, secret, now_s * 1000), fault);
});

for (const { what, secrets, body, headers } of vectors)
  test(`the published vector of ${what} is what is sent`, (t) => {
    const { 'X-Service-Event': event = '', 'X-Service-Delivery-Id': id = '' } = headers;
    t.deepEqual(signatureHeaders({ id, event, body }, secrets, now_s * 1000), headers);
    t.is(JSON.parse(body).id, id);
  });

test('our own check takes every published vector, and none of the forged ones', (t) => {
  for (const { what, body, signature, secret, now_s: at_s, ours } of QUESTIONS)
    t.is(signatureFault(signature, body, secret, at_s * 1000) === null, ours, what);
});

for (const type of ['alert.created', 'alert.updated'] as const)
  test(`the sample of ${type} has the category and the threat level of its size`, (t) => {
    const { estimated_size_mm, size_category, threat_level } = SAMPLES.current[type];
    t.deepEqual(
      { size_category, threat_level },
      { size_category: sizeCategory(estimated_size_mm), threat_level: threatLevel(estimated_size_mm) },
    );
  });
