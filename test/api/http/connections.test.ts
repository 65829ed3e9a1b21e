import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { serveInTurn, WAITING_MAX } from '../../../api/http/connections.ts';
import { ApiError } from '../../../api/http/errors.ts';
import type { PublicRoute } from '../../../api/server/middleware/public-routes.ts';
import type { Context } from '../../../api/server/state.ts';
import { type RunningService, startService } from '../../support/service/service.ts';
import { until } from '../../support/until.ts';

/** A service with one route, which needs no key. */
async function serviceOf(
  t: ExecutionContext,
  bodyOf: (ctx: Context) => Promise<string | Readable>,
): Promise<RunningService> {
  const route: PublicRoute = {
    path: '/it/:name',
    methods: ['GET', 'POST'],
    handler: async (ctx) => {
      ctx.body = await bodyOf(ctx);
    },
  };
  const service = await startService({ endpoints: [], app: { publicRoutes: [route] } });
  t.teardown(service.close);
  return service;
}

function open(t: ExecutionContext, { server }: RunningService): Socket {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {}); // a connection that is cut may end with a reset
  t.teardown(() => socket.destroy());
  return socket;
}

const get = (name: string | number) => `GET /it/${name} HTTP/1.1\r\nHost: x\r\n\r\n`;
const nameOf = ({ state }: Context) => state.path.slice('/it/'.length);

/** Bodies of the answers on a connection, and whether the last said that it closes it, once so many came or it ended. */
async function bodies(socket: Socket, count: number): Promise<{ readonly bodies: string[]; readonly closes: boolean }> {
  let all = '';
  const found = () => [...all.matchAll(/\r\n\r\n<(\w+)>/g)].map(([, body]) => body as string);
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    all += chunk;
    if (found().length >= count) break;
  }
  return { bodies: found(), closes: /connection: close/i.test(all.slice(all.lastIndexOf('HTTP/1.1'))) };
}

test('requests sent ahead on one connection are handled one at a time and answered in their order', async (t) => {
  let [now, most] = [0, 0];
  const service = await serviceOf(t, async (ctx) => {
    now += 1;
    most = Math.max(most, now);
    await pause(1);
    now -= 1;
    return `<${nameOf(ctx)}>`;
  });
  const socket = open(t, service);
  const names = Array.from({ length: 80 }, (_, k) => `r${k}`);
  socket.write(names.map(get).join(''));
  t.deepEqual((await bodies(socket, names.length)).bodies, names);
  t.is(most, 1);
});

test('bodies sent ahead are read in their turn', async (t) => {
  const service = await serviceOf(t, async (ctx) => {
    let bytes = 0;
    for await (const chunk of ctx.req) bytes += (chunk as Buffer).length;
    return `<${nameOf(ctx)}of${bytes}>`;
  });
  const socket = open(t, service);
  const posts = [10, 200_000, 0, 3].map(
    (length, k) =>
      `POST /it/p${k} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${'x'.repeat(length)}${get(`g${k}`)}`,
  );
  socket.write(posts.join(''));
  t.deepEqual((await bodies(socket, 8)).bodies, [
    ...['p0of10', 'g0of0', 'p1of200000', 'g1of0', 'p2of0', 'g2of0', 'p3of3', 'g3of0'],
  ]);
});

test('connections are handled beside each other', async (t) => {
  const both = Promise.withResolvers<void>();
  let here = 0;
  const service = await serviceOf(t, async () => {
    here += 1;
    if (here === 2) both.resolve();
    await both.promise;
    return '<ok>';
  });
  const sockets = [open(t, service), open(t, service)];
  for (const socket of sockets) socket.write(get('x'));
  for (const socket of sockets) t.deepEqual((await bodies(socket, 1)).bodies, ['ok']);
});

test('a connection with more requests ahead than may wait is answered so far, and told that it ends', async (t) => {
  let handled = 0;
  const service = await serviceOf(t, async () => {
    handled += 1;
    await pause(0);
    return `<n${handled}>`;
  });
  const socket = open(t, service);
  const sent = Array.from({ length: 10 * WAITING_MAX }, (_, k) => k);
  socket.write(sent.map(get).join(''));
  const answers = await bodies(socket, sent.length);
  t.is(answers.bodies.length, WAITING_MAX + 1);
  t.true(answers.closes);
  t.is(handled, WAITING_MAX + 1);
});

test('what waits on a connection that breaks is never handled', async (t) => {
  const first = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  let handled = 0;
  const service = await serviceOf(t, async () => {
    handled += 1;
    first.resolve();
    await finish.promise;
    return '<ok>';
  });
  const socket = open(t, service);
  const served = once(service.server, 'connection') as Promise<[Socket]>;
  socket.write(get('a') + get('b') + get('c'));
  const [peer] = await served;
  await first.promise;
  const closed = once(peer, 'close');
  peer.destroy();
  await closed;
  finish.resolve();
  t.is((await service.call('/it/after', { key: null })).status, 200);
  t.is(handled, 2, 'the first of the connection and the one after it');
});

test('a client that does not read its answer is cut off, and what was being sent is closed', async (t) => {
  const streams: Readable[] = [];
  const service = await serviceOf(t, async (ctx) => {
    const stream = Readable.from(endless());
    streams.push(stream);
    ctx.req.socket.setTimeout(200);
    return stream;
  });
  t.true(service.server.timeout > 0);
  const socket = open(t, service);
  socket.pause();
  const served = once(service.server, 'connection') as Promise<[Socket]>;
  socket.write(get('much').repeat(3));
  const [peer] = await served;
  await once(peer, 'close');
  await until(() => streams.every((stream) => stream.destroyed));
  t.is(streams.length, 1, 'the next answer was not begun');
});

async function* endless(): AsyncGenerator<Buffer> {
  for (;;) yield Buffer.alloc(65_536);
}

/** Everything that comes on a connection until it ends, and how it ended. */
async function everything(socket: Socket): Promise<{ readonly text: string; readonly reset: boolean }> {
  let [text, reset] = ['', false];
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {
    reset = true;
  });
  if (!socket.closed) await once(socket, 'close');
  return { text, reset };
}

const answersIn = (text: string) => text.match(/HTTP\/1\.1 \d+/g) ?? [];

for (const [what, head, rest] of [
  ['is not sent', 'Content-Length: 10', ''],
  ['looks like a request', 'Content-Length: 1000', get('inner')],
  ['is no chunk', 'Transfer-Encoding: chunked', 'zz\r\n'],
] as const)
  test(`a request that is answered before its body has come is answered once, and its connection closed: the rest ${what}`, async (t) => {
    const handled: string[] = [];
    const service = await serviceOf(t, async (ctx) => {
      handled.push(nameOf(ctx));
      return '<ok>';
    });
    service.server.requestTimeout = 300;
    const socket = open(t, service);
    socket.once('data', () => socket.write(rest));
    socket.write(`POST /it/outer HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
    const { text, reset } = await everything(socket);
    t.deepEqual(answersIn(text), ['HTTP/1.1 200']);
    t.regex(text, /connection: close/i);
    t.false(reset);
    t.deepEqual(handled, ['outer']);
  });

test('the refusal of an upload reaches a client that is still sending it', async (t) => {
  const service = await serviceOf(t, async () => {
    throw new ApiError('forbidden', 'not this one');
  });
  const socket = open(t, service);
  const body = Buffer.alloc(5_000_000, 0x78);
  socket.write(`POST /it/upload HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`);
  const whole = everything(socket);
  socket.end(body);
  const { text, reset } = await whole;
  t.deepEqual(answersIn(text), ['HTTP/1.1 403']);
  t.false(reset);
});

test('what cannot be read behind a request is refused after the answer to it', async (t) => {
  const finish = Promise.withResolvers<void>();
  const service = await serviceOf(t, async () => {
    await finish.promise;
    return '<ok>';
  });
  const failed = once(service.server, 'clientError');
  const socket = open(t, service);
  socket.write(`${get('a')}garbage\r\n\r\n`);
  await failed;
  finish.resolve();
  t.deepEqual(answersIn((await everything(socket)).text), ['HTTP/1.1 200', 'HTTP/1.1 400']);
});

const WAITING = 30;
/** Opens connections, sends a request on each, and prints how each ended. */
const CLIENTS = `
  const { connect } = require('node:net');
  const ends = [];
  let connected = 0;
  for (let k = 0; k < ${WAITING}; k++) {
    const socket = connect(Number(process.argv[1]), '127.0.0.1', () => {
      socket.write('GET /it/x HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n');
      connected += 1;
      if (connected === ${WAITING}) require('node:fs').writeSync(1, 'connected\\n');
    });
    let text = '';
    const end = (how) => { if (ends.push(how) === ${WAITING}) console.log(JSON.stringify(ends)); };
    socket.on('data', (chunk) => { text += chunk; });
    socket.once('error', (error) => end(error.code));
    socket.once('end', () => end(/^HTTP.1.1 200 .*connection: close/is.test(text) ? 'answered' : 'cut'));
  }`;

test('connections that wait in the listen queue when the server is told to stop are all taken before one is answered', async (t) => {
  const server = createServer();
  const begunWhileListening: boolean[] = [];
  const connections = serveInTurn(server, (_, response) => {
    begunWhileListening.push(server.listening);
    response.end('<ok>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const log = join(await mkdtemp(join(tmpdir(), 'hail-')), 'ends');
  t.teardown(() => rm(dirname(log), { recursive: true }));
  // The event loop stands still until all have connected: the system has taken them, the server has not.
  const out = openSync(log, 'w');
  const child = spawn(process.execPath, ['-e', CLIENTS, String(port)], { stdio: ['ignore', out, 'inherit'] });
  const ended = once(child, 'exit');
  while (!readFileSync(log, 'utf8').includes('connected'))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  await connections.drain(20_000);
  await ended;
  const [, ends = '[]'] = readFileSync(log, 'utf8').split('\n');
  t.deepEqual(JSON.parse(ends), Array(WAITING).fill('answered'));
  t.deepEqual(begunWhileListening, Array(WAITING).fill(false));
});
