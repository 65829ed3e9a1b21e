import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import pino from 'pino';
import { z } from 'zod';
import { countByAddress, NAMES_MAX, openCallLimits } from '../../api/http/call-limits.ts';
import {
  bboxQuery,
  booleanQuery,
  clampedQuery,
  cursorQuery,
  dateQuery,
  enumQuery,
  integerQuery,
  monthQuery,
  numberQuery,
  type Parameter,
  pointQuery,
  repeatedQuery,
  shown,
  stateQuery,
  textQuery,
  unknownCursor,
} from '../../api/http/decode.ts';
import { ApiError } from '../../api/http/errors.ts';
import { createMetrics } from '../../api/http/metrics.ts';
import { canonical, namesTag } from '../../api/http/reply.ts';
import { serviceMetrics } from '../../api/metrics/service-metrics.ts';
import { onThread } from '../../api/published/thread.ts';
import { getHailCurrent } from '../../api/routes/hail-current.ts';
import { getHealth } from '../../api/routes/health.ts';
import { GUEST_ENDPOINTS } from '../../api/routes/index.ts';
import { GUEST_RATE_PER_MINUTE, GUESTS_AT_ONCE } from '../../api/server/admit.ts';
import { telemetryOf } from '../../api/server/answer.ts';
import type { Endpoint } from '../../api/server/endpoint.ts';
import { clientAddress, trustedProxies } from '../../api/server/head.ts';
import type { Services } from '../../api/services.ts';
import { decimal } from '../../schemas/units.ts';
import { midnight, NOW_MS, preparedRoot } from '../support/data/world.ts';
import type { answer } from '../support/service/sample-thread.ts';
import { type RunningService, serviceFor, startService } from '../support/service/service.ts';
import { WHOLE_NOW_MS, wholeRoot } from '../support/service/whole-service.ts';
import { until } from '../support/until.ts';

/** A request from a peer, with a forwarded header. */
function from(peer: string, forwarded?: string) {
  return { socket: { remoteAddress: peer }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } };
}

const trusted = trustedProxies(['10.0.0.0/8', '::1/128']);

for (const [address, network] of [
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['fe80::1%eth0.100', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
] as const)
  test(`${address} counts as ${network}`, (t) => t.is(clientAddress(from(address), null), network));

test('a forwarded address is not believed from a stranger', (t) => {
  t.is(clientAddress(from('192.0.2.7', '198.51.100.1'), trusted), '192.0.2.7');
  t.is(clientAddress(from('10.1.2.3', '198.51.100.1'), null), '10.1.2.3');
});

test('behind a trusted proxy the client is the last address that is not a proxy', (t) => {
  t.is(clientAddress(from('10.1.2.3', '198.51.100.1'), trusted), '198.51.100.1');
  t.is(clientAddress(from('::1', '203.0.113.9, 198.51.100.1, 10.9.9.9'), trusted), '198.51.100.1');
  t.is(clientAddress(from('::ffff:10.1.2.3', '2001:db8::5'), trusted), '2001:db8:0:0::/64');
});

test('a port behind a forwarded address is no part of it, as Azure Application Gateway and RFC 7239 write it', (t) => {
  t.is(clientAddress(from('10.1.2.3', '198.51.100.1:40211'), trusted), '198.51.100.1');
  t.is(clientAddress(from('10.1.2.3', '198.51.100.1:40211, 10.9.9.9:17085'), trusted), '198.51.100.1');
  t.is(clientAddress(from('10.1.2.3', '[2001:db8::5]:40211, [::1]'), trusted), '2001:db8:0:0::/64');
});

test('what is no address ends the search at the proxy', (t) => {
  t.is(clientAddress(from('10.1.2.3', '198.51.100.1, unknown'), trusted), '10.1.2.3');
  t.is(clientAddress(from('10.1.2.3', ''), trusted), '10.1.2.3');
});

for (const [list, etag, strongly, weakly] of [
  ['"abc"', '"abc"', true, true],
  ['W/"abc"', '"abc"', false, true],
  ['"abc"', 'W/"abc"', false, true],
  ['w/"abc"', '"abc"', false, false],
  ['w/"abc"', 'W/"abc"', false, false],
  ['"x", "abc"', '"abc"', true, true],
  ['"x" ,\tW/"abc",', '"abc"', false, true],
  ['"x", w/"abc"', '"abc"', false, false],
  ['"y,"', '"y"', false, false],
  ['abc', '"abc"', false, false],
  ['', '"abc"', false, false],
  [' * ', '"abc"', true, true],
] as const)
  test(`'${list}' ${strongly ? 'names' : weakly ? 'names, weakly compared,' : 'does not name'} ${etag}`, (t) => {
    t.is(namesTag(list, etag, 'strongly'), strongly);
    t.is(namesTag(list, etag, 'weakly'), weakly);
  });
/** Opens connections one after the other; how many of them were left open. */
async function openMany({ url }: RunningService, count: number): Promise<number> {
  const { hostname, port } = new URL(url);
  const answers: Promise<boolean>[] = [];
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n++) {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    // A connection that the service keeps answers; one that it refuses is closed or reset.
    const { promise, resolve } = Promise.withResolvers<boolean>();
    answers.push(promise);
    socket.once('data', () => resolve(true));
    socket.once('close', () => resolve(false));
    socket.on('error', () => resolve(false));
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  }
  const kept = await Promise.all(answers);
  for (const socket of sockets) socket.destroy();
  return kept.filter(Boolean).length;
}

test('the 201st connection from one address is closed, and there is room again once others are', async (t) => {
  const service = await serviceFor(t);
  t.is(await openMany(service, 203), 200);
  await until(async () => (await connectionsOf(service)) === 0);
  t.is(await openMany(service, 5), 5);
});

test('connections of a trusted proxy are those of many clients', async (t) => {
  const service = await serviceFor(t, { app: { trusted: trustedProxies(['127.0.0.1/32']) } });
  t.is(await openMany(service, 203), 203);
});

function connectionsOf({ server }: RunningService): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}
test('the order of members does not matter, that of items does', (t) => {
  t.is(canonical({ b: 1, a: [{ d: null, c: 'x' }] }), '{"a":[{"c":"x","d":null}],"b":1}');
  t.not(canonical([1, 2]), canonical([2, 1]));
});

test('canonical JSON means the same as the JSON it came from', (t) => {
  const property = fc.property(fc.jsonValue(), (value) => {
    t.deepEqual(JSON.parse(canonical(value)), JSON.parse(JSON.stringify(value)));
  });
  fc.assert(property);
});

test('canonical JSON writes the sample of RFC 8785, section 3.2, as the RFC does', (t) => {
  const sample = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;
  const written = String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`;
  t.is(canonical(JSON.parse(sample)), written);
});

test('canonical JSON sorts names by UTF-16 code units, as in RFC 8785, section 3.2.3', (t) => {
  const sample = String.raw`{
    "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"
  }`;
  const texts = [...canonical(JSON.parse(sample)).matchAll(/:"([^"]*)"/g)].map(([, text]) => text);
  t.deepEqual(texts, [
    'Carriage Return',
    'One',
    'Control',
    'Latin Small Letter O With Diaeresis',
    'Euro Sign',
    'Emoji: Grinning Face',
    'Hebrew Letter Dalet With Dagesh',
  ]);
});

test('a number that JSON has no form for is refused', (t) => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY])
    t.throws(() => canonical({ a: [value] }), { instanceOf: RangeError });
});
/** Clock and timers of the process stand still until they are moved. */
function stopClock(t: ExecutionContext) {
  const own = Date.now;
  const clock = { ms: own() };
  Date.now = () => clock.ms;
  t.teardown(() => {
    Date.now = own;
  });
  return clock;
}

test.serial('a window begins with its first call, and a refused call does not extend it', async (t) => {
  const clock = stopClock(t);
  const { countCall } = await openCallLimits(null);
  const admitted = async () => (await countCall('key', 60)).retry_after_s === null;
  t.true(await admitted());
  clock.ms += 20_000;
  for (let n = 1; n < 60; n++) t.true(await admitted());
  for (let n = 0; n < 30; n++) t.false(await admitted());
  t.is((await countCall('key', 60)).retry_after_s, 40);
  t.is((await countCall('other', 60)).retry_after_s, null);
  clock.ms += 39_999;
  t.is((await countCall('key', 60)).retry_after_s, 1);
  clock.ms += 1;
  t.true(await admitted());
});

test.serial('remaining counts down, reset is the unix second at which the window ends', async (t) => {
  const clock = stopClock(t);
  clock.ms = 1_000_000_000_500;
  const { countCall } = await openCallLimits(null);
  t.deepEqual((await countCall('key', 60)).headers, {
    'X-RateLimit-Limit': '60',
    'X-RateLimit-Remaining': '59',
    'X-RateLimit-Reset': '1000000061',
    'RateLimit-Policy': '"key";q=60;w=60',
    RateLimit: '"key";r=59;t=60',
  });
});

test.serial('a limit that is raised or lowered holds at once', async (t) => {
  const { countCall } = await openCallLimits(null);
  for (let n = 0; n < 5; n++) await countCall('key', 5);
  t.is((await countCall('key', 10)).retry_after_s, null);
  t.not((await countCall('key', 2)).retry_after_s, null);
});

test('of more addresses than are remembered the one that called longest ago is forgotten', async (t) => {
  const count = countByAddress();
  const remaining = async (name: string) => Number((await count(name, 100)).headers['X-RateLimit-Remaining']);
  t.deepEqual([await remaining('first'), await remaining('second'), await remaining('first')], [99, 99, 98]);
  for (let n = 0; n < NAMES_MAX - 1; n++) await count(`other ${n}`, 100);
  t.deepEqual([await remaining('first'), await remaining('second')], [97, 99]);
});

test.serial(
  'twenty failures in five minutes lock an address for five, ten in ten a guessed key for fifteen',
  async (t) => {
    const clock = stopClock(t);
    const { countFailure } = await openCallLimits(null);
    for (let n = 0; n < 19; n++) t.is(await countFailure('192.0.2.1', `guess ${n}`), 0);
    clock.ms += 299_000;
    t.is(await countFailure('192.0.2.1', null), 0);
    t.is(await countFailure('192.0.2.1', null), 300_000);
    t.is(await countFailure('192.0.2.2', null), 0);
    clock.ms += 300_000;
    t.is(await countFailure('192.0.2.1', null), 0);
    const guess = (text: string) => `hs_live_abcdefgh${text}`;
    for (let n = 0; n < 10; n++) t.is(await countFailure(`192.0.2.${100 + n}`, guess(String(n))), 0);
    t.is(await countFailure('198.51.100.7', guess('other')), 900_000);
    t.is(await countFailure('198.51.100.7', 'hs_live_ABCDEFGH'), 0);
  },
);
const OPEN = [
  '/v1/tiles/scan',
  '/v1/tiles/daily?date=2026-05-01',
  '/v1/events?date_start=2026-05-01&date_end=2026-05-02',
];

async function service(t: ExecutionContext, is_public = true) {
  const app = is_public ? { guestEndpoints: GUEST_ENDPOINTS } : {};
  return await serviceFor(t, { data_root: await wholeRoot(), now_ms: WHOLE_NOW_MS, app });
}

const used = async ({ json }: { json: (path: string) => Promise<unknown> }) =>
  ((await json('/v1/usage')) as { credits: { used: number } }).credits.used;

test('where the operator opens the map, tiles and hail days are listed without a key, and nobody is charged', async (t) => {
  const opened = await service(t);
  for (const path of OPEN) {
    const [guest, keyed] = [await opened.call(path, { key: null }), await opened.call(path)];
    t.is(guest.status, 200, path);
    t.deepEqual(await guest.json(), await keyed.json(), path);
  }
  const before = await used(opened);
  for (const path of OPEN) await opened.call(path, { key: null });
  t.is(await used(opened), before);
});

test('an answer that a guest has made is charged to the next caller with a key', async (t) => {
  const opened = await service(t);
  const before = await used(opened);
  await opened.call('/v1/tiles/scan', { key: null });
  await opened.call('/v1/tiles/scan');
  t.is((await used(opened)) - before, 3);
});

test('a caller with a wrong key is refused as everywhere, though no key would do', async (t) => {
  const { call } = await service(t);
  t.is((await call('/v1/tiles/scan', { key: 'hs_live_abcdefgh' })).status, 401);
});

test('nothing else is open without a key', async (t) => {
  const { call } = await service(t);
  for (const path of ['/v1/usage', '/v1/storms?lat=35&lon=-97', '/v1/hail/current?lat=35&lon=-97', '/v1/tiles/none'])
    t.is((await call(path, { key: null })).status, 401, path);
  t.is((await call('/v1/tiles/scan', { key: null, method: 'POST' })).status, 401);
});

test('the map is closed without a key unless the operator opens it', async (t) => {
  const { call } = await service(t, false);
  for (const path of OPEN) t.is((await call(path, { key: null })).status, 401, path);
});

test('an address without a key has a rate of its own, and refusals say when it may call again', async (t) => {
  const { call } = await service(t);
  const answers = await Promise.all(
    Array.from({ length: GUEST_RATE_PER_MINUTE + 1 }, () => call('/v1/tiles/scan', { key: null })),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  t.is(refused.length, 1);
  t.is(refused[0]?.status, 429);
  t.regex(refused[0]?.headers.get('Retry-After') ?? '', /^\d+$/);
  t.is(answers[0]?.headers.get('X-RateLimit-Limit'), String(GUEST_RATE_PER_MINUTE));
  t.is((await call('/v1/tiles/scan')).status, 200, 'callers with a key have their own');
});

test('however many guests ask, a caller with a key does not wait for them', async (t) => {
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const slow = {
    ...getHealth,
    plan: () => ({ dates: [] }),
    answer: async (question: Parameters<typeof getHealth.answer>[0]) => {
      if (question.caller.business_id !== 'guest') return getHealth.answer(question);
      begun += 1;
      await gate.promise;
      return getHealth.answer(question);
    },
  };
  const { call, close } = await startService({
    endpoints: [slow],
    data_root: await wholeRoot(),
    now_ms: WHOLE_NOW_MS,
    app: { guestEndpoints: [slow] },
  });
  t.teardown(close);
  const guests = Array.from({ length: 10 }, () => call('/v1/health', { key: null }));
  t.is((await call('/v1/health')).status, 200);
  t.is(begun, GUESTS_AT_ONCE);
  gate.resolve();
  for (const answer of await Promise.all(guests)) t.is(answer.status, 200);
});
async function serviceOf(t: ExecutionContext, body: () => Readable): Promise<RunningService> {
  const handler = (ctx: { body: unknown }) => {
    ctx.body = body();
  };
  return await serviceFor(t, { app: { publicRoutes: [{ path: '/it', handler }] } });
}

async function begun({ url }: RunningService): Promise<IncomingMessage> {
  const [reply] = (await once(get(`${url}/it`), 'response')) as [IncomingMessage];
  reply.on('error', () => {}); // an answer that breaks off ends with one
  reply.resume();
  return reply;
}

/** Not `once`, for which an error before the end is a failure of its own. */
function closeOf(stream: Readable): Promise<void> {
  return new Promise((resolve) => stream.once('close', resolve));
}

test('a file that cannot be read to its end is a failure of ours, and breaks its answer off', async (t) => {
  const lost = new Error('EIO: i/o error, read');
  const service = await serviceOf(t, () =>
    Readable.from(
      (async function* () {
        yield Buffer.from('the first part');
        throw lost;
      })(),
    ),
  );
  const reply = await begun(service);
  await closeOf(reply);
  t.false(reply.complete);
  t.deepEqual(service.failures.splice(0), [lost]);
});

test('a client that goes away while it is answered is no failure', async (t) => {
  const endless = new Readable({ read() {} });
  const service = await serviceOf(t, () => endless);
  endless.push('the first part');
  const reply = await begun(service);
  const closed = closeOf(endless);
  reply.destroy();
  await closed;
  t.deepEqual(service.failures, []);
});
/** The value of a parameter named `it`, or what is wrong with it. */
function decoded<Out>(parameter: Parameter<Out> | z.ZodType<Out>, text?: string | string[]): unknown {
  const result = z.object({ it: parameter }).safeParse(text === undefined ? {} : { it: text });
  if (result.success) return result.data.it;
  return `it ${result.error.issues[0]?.message}`;
}

for (const [text, value] of [
  ['0', 0],
  ['-97.5', -97.5],
  ['1e-7', 1e-7],
  ['1E+2', 100],
  ['007', 7],
  ['-0', -0],
] as const)
  test(`'${text}' is the number ${value}`, (t) => t.is(decimal(text), value));

for (const text of [
  '',
  ' ',
  ' 5',
  '5 ',
  '+5',
  '0x10',
  '5,0',
  '.5',
  '5.',
  '1e',
  '--1',
  'Infinity',
  'NaN',
  '1e999',
  '٥',
  '1_000',
])
  test(`'${text}' is no number`, (t) => t.is(decimal(text), null));

interface Case {
  readonly parameter: Parameter<unknown>;
  /** What an absent parameter is; left out: it is refused. */
  readonly absent?: unknown;
  readonly taken: Readonly<Record<string, unknown>>;
  readonly refused: readonly string[];
}

/** By what a refusal expects. */
const CASES: Readonly<Record<string, Case>> = {
  'a number from -90 to 90': {
    parameter: pointQuery.lat,
    taken: { '90': 90, '-90': -90, '-0': 0 },
    refused: ['90.0001', ''],
  },
  'a number from -180 to 180': { parameter: pointQuery.lon, taken: { '180': 180 }, refused: ['-180.1'] },
  'a number above 0, up to 150': {
    parameter: numberQuery({ min: 0, exclusiveMin: true, max: 150, default: 50 }),
    absent: 50,
    taken: { '150': 150, '0.001': 0.001 },
    refused: ['0', '-0', '151', '150.0001'],
  },
  'a number from 1 to 2': { parameter: numberQuery({ min: 1, max: 2 }), absent: null, taken: {}, refused: ['3'] },
  'a whole number from 1 to 365': {
    parameter: integerQuery({ min: 1, max: 365, default: 30 }),
    absent: 30,
    taken: { '24.0': 24, '3e1': 30 },
    refused: ['24.5', '366'],
  },
  'a number, taken as 0 to 5000': {
    parameter: clampedQuery({ min: 0, max: 5000, default: 500 }),
    absent: 500,
    taken: { '-5': 0, '99999': 5000, '10': 10 },
    refused: ['x'],
  },
  'a date YYYY-MM-DD': {
    parameter: dateQuery(),
    absent: null,
    taken: { '2024-02-29': '2024-02-29' },
    refused: ['2026-02-29', '2026-2-3', '20260203', '2026-13-01', '2026-01-01T00:00:00Z', ''],
  },
  'a month YYYY-MM': {
    parameter: monthQuery({}),
    absent: null,
    taken: { '2026-12': '2026-12' },
    refused: ['2026-13', '2026-00', '2026-1', '2026-01-01'],
  },
  'true or false': {
    parameter: booleanQuery(false, {}),
    absent: false,
    taken: { true: true, false: false },
    refused: ['1', 'yes', 'TRUE', ''],
  },
  'one of standard, advanced': {
    parameter: enumQuery(['standard', 'advanced'], 'standard'),
    absent: 'standard',
    taken: { advanced: 'advanced' },
    refused: ['Advanced'],
  },
  'one of polygon, point': {
    parameter: enumQuery(['polygon', 'point'], null),
    absent: null,
    taken: { point: 'point' },
    refused: ['', 'Point', 'circle'],
  },
  'a text of 1 to 3 characters': {
    parameter: textQuery({ max: 3 }),
    absent: null,
    taken: { '🌩🌩🌩': '🌩🌩🌩' },
    refused: ['', 'four', 'a\0'],
  },
  'minLon,minLat,maxLon,maxLat with each minimum below its maximum': {
    parameter: bboxQuery(),
    absent: null,
    taken: { '-103,31,-94,37': [-103, 31, -94, 37] },
    refused: [
      '-103,31,-94',
      '-103,31,-94,37,1',
      '-94,31,-103,37',
      '-103,37,-94,37',
      '-103, 31,-94,37',
      '-181,31,-94,37',
    ],
  },
  'a two-letter USPS state code': {
    parameter: stateQuery(),
    absent: null,
    taken: { OK: 'OK', DC: 'DC', PR: 'PR' },
    refused: ['ok', 'XX', 'Oklahoma', ''],
  },
  'the next_cursor of an earlier page': {
    parameter: cursorQuery(),
    absent: null,
    taken: { 'hail.history.30d': 'hail.history.30d' },
    refused: ["x' or 1=1"],
  },
};

for (const [expected, { parameter, absent, taken, refused }] of Object.entries(CASES))
  test(`a parameter that is ${expected}`, (t) => {
    t.deepEqual(decoded(parameter), absent ?? (absent === null ? null : `it is required, expected ${expected}`));
    for (const [text, value] of Object.entries(taken)) t.deepEqual(decoded(parameter, text), value, text);
    for (const text of refused) t.is(decoded(parameter, text), `it is '${shown(text)}', expected ${expected}`);
    t.is(decoded(parameter, ['1', '2']), `it is given more than once, expected ${expected}`);
  });

test('a date may be required', (t) => {
  t.is(decoded(dateQuery({ required: true })), 'it is required, expected a date YYYY-MM-DD');
});

test('a repeated parameter is a list, up to its limit', (t) => {
  const ids = repeatedQuery({ maxItems: 2 });
  t.deepEqual(decoded(ids), []);
  t.deepEqual(decoded(ids, 'a'), ['a']);
  t.deepEqual(decoded(ids, ['a', 'b']), ['a', 'b']);
  t.is(decoded(ids, ['a', 'b', 'c']), 'it is given 3 times, expected at most 2');
});

test('text in a message is shortened, and its quotes and control characters are replaced', (t) => {
  t.is(shown("a'b\r\nc\0"), String.raw`a?b\u{d}\u{a}c\u{0}`);
  t.is(shown('\u2028\u2029\u202e\u200f\ud800é雹'), String.raw`\u{2028}\u{2029}\u{202e}\u{200f}\u{d800}é雹`);
  t.is(shown('x'.repeat(100)), `${'x'.repeat(60)}…`);
});

test('the refusal of a cursor shows it without what could do harm', (t) => {
  t.is(unknownCursor("a'\n").message, "cursor is 'a?\\u{a}', expected the next_cursor of an earlier page");
});
function openSample(limit_ms = 60_000, module = '../support/service/sample-thread.ts') {
  return onThread<Parameters<typeof answer>[0], number>({
    module: new URL(module, import.meta.url),
    name: 'answer',
    subject: 'a sample',
    limit_ms,
  });
}

test('each question gets its own answer, and more than may be under way are 503 overloaded at once', async (t) => {
  const ask = openSample();
  const asked = await Promise.allSettled(Array.from({ length: 300 }, (_, k) => ask(k)));
  t.true(asked.slice(0, 256).every((outcome, k) => outcome.status === 'fulfilled' && outcome.value === k * k));
  for (const outcome of asked.slice(256))
    t.true(outcome.status === 'rejected' && outcome.reason instanceof ApiError && outcome.reason.code === 'overloaded');
});

test('a question that takes too long is 503 overloaded, and others are answered by another thread', async (t) => {
  const ask = openSample(5000);
  const [slow, ...others] = await Promise.allSettled([ask('hang'), ask(3), ask(4)]);
  t.like(slow, { status: 'rejected', reason: { code: 'overloaded', message: 'a sample takes longer than 5000 ms' } });
  const refused = others.map((other) => other.status === 'fulfilled' && other.value);
  t.deepEqual(refused, [9, 16]);
  t.is(await ask(5), 25);
});

test('a question that fails, or ends the thread, fails alone and with its reason', async (t) => {
  const ask = openSample();
  t.like(await t.throwsAsync(ask('throw'), { message: 'a sample failed' }), { cause: { message: 'no answer' } });
  const [ended, next] = await Promise.allSettled([ask('exit'), ask(5)]);
  t.like(ended, { status: 'rejected', reason: { message: 'a sample failed' } });
  t.like(next, { status: 'fulfilled', value: 25 });
});

test('a thread whose module is missing fails each question', async (t) => {
  const ask = openSample(60_000, './no-such-thread.ts');
  for (const question of [1, 2]) await t.throwsAsync(ask(question), { message: 'a sample failed' });
});
/** Lines of a page of metrics, without the comments: value by series. */
function seriesOf(page: string): ReadonlyMap<string, number> {
  return new Map(
    page
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

async function measured(t: ExecutionContext, data_root?: string, guestEndpoints: readonly Endpoint[] = []) {
  const metrics = createMetrics();
  const service = await serviceFor(t, {
    now_ms: NOW_MS,
    ...(data_root === undefined ? {} : { data_root }),
    app: { guestEndpoints, telemetry: telemetryOf(pino({ level: 'silent' }), metrics) },
  });
  return { metrics, service, pageOf: (changes: Partial<Services> = {}) => pageOf(metrics, service, changes) };
}

function pageOf(metrics: ReturnType<typeof createMetrics>, { services }: RunningService, changes: Partial<Services>) {
  const read = serviceMetrics(metrics, { ...services, ...changes });
  return async () => (await read()).metrics();
}

const promtool = spawnSync('promtool', ['--version']).status === 0;
if (!promtool) test.skip('promtool, which checks the page of metrics, is not installed on this machine', () => {});

test('the page of a service with data says how old its newest scan and its feeds are', async (t) => {
  const { service, pageOf } = await measured(t, await preparedRoot(await midnight()));
  await service.call('/v1/hail/current?lat=35&lon=-97');
  await service.call('/v1/hail/current?lat=35');
  const page = await pageOf()();
  if (promtool) t.notThrows(() => execFileSync('promtool', ['check', 'metrics'], { input: page, stdio: 'pipe' }));
  const series = seriesOf(page);
  const newest_ms = service.services.catalog.edition().newest_scan_ms ?? 0;
  t.is(series.get('hail_scan_age_seconds'), (NOW_MS - newest_ms) / 1000);
  t.is(series.get('hail_feed_stale{feed="MESH"}'), NOW_MS - newest_ms > 600_000 ? 1 : 0);
  t.is(series.get('hail_ready{part="records"}'), 1);
  t.is(series.get('hail_ready{part="data"}'), 1);
  t.is(series.get('hail_refusals_total{code="invalid_parameter"}'), 1);
  t.is(series.get('hail_deliveries_pending'), 0);
  t.is(series.get('hail_delivery_oldest_due_age_seconds'), 0);
  t.is(series.get('hail_scrape_failed{part="records"}'), 0);
  t.is(series.get('hail_engine_statements_max{engine="answers",state="waiting"}'), 256);
  t.true([...series.keys()].some((name) => name.startsWith('hail_build_info{version="')));
});

test('a call without a key that is refused for its rate counts for its route', async (t) => {
  const { service, pageOf } = await measured(t, undefined, [getHailCurrent]);
  const ask = () => service.call('/v1/hail/current?lat=35&lon=-97', { key: null });
  for (let call = 0; call <= GUEST_RATE_PER_MINUTE; call++) await ask();
  const series = seriesOf(await pageOf()());
  t.is(series.get('hail_requests_total{route="/v1/hail/current",method="GET",status="429"}'), 1);
});

test('what is not known has no series: no scan, no feed, no worker of deliveries', async (t) => {
  const { pageOf } = await measured(t);
  const series = seriesOf(await pageOf()());
  const absent = [...series.keys()].filter((name) => /^hail_(scan_age|delivery_(attempts_running|slots))/.test(name));
  t.deepEqual(absent, []);
  t.is(series.get('hail_feed_stale{feed="MESH"}'), 1);
});

test('a clock that is behind the newest scan shows no negative age', async (t) => {
  const { service, pageOf } = await measured(t, await preparedRoot(await midnight()));
  const newest_ms = service.services.catalog.edition().newest_scan_ms ?? 0;
  const series = seriesOf(await pageOf({ now: () => newest_ms - 86_400_000 })());
  t.is(series.get('hail_scan_age_seconds'), 0);
  t.is(series.get('hail_feed_stale{feed="MESH"}'), 1);
});

test('without its database a scrape answers within a second, with what the process itself knows', async (t) => {
  const { service, pageOf } = await measured(t, await preparedRoot(await midnight()));
  const never = new Promise<never>(() => {});
  const hanging = new Proxy(service.services.records.reader, { get: () => () => never, has: () => true });
  const records = { ...service.services.records, reader: hanging, health: () => never };
  // Of two timers of one process the shorter ends first, however busy the machine is.
  const late = sleep(2_000, 'late', { ref: false });
  const series = seriesOf(await Promise.race([pageOf({ records })(), late]));
  t.is(series.get('hail_ready{part="records"}'), 0);
  for (const name of ['ready', 'records']) t.is(series.get(`hail_scrape_failed{part="${name}"}`), 1, name);
  t.false(series.has('hail_deliveries_pending'));
  t.true(series.has('hail_scan_age_seconds'));
});

test('refusals are counted by their reason, and each reason is there before the first', async (t) => {
  const metrics = createMetrics();
  const telemetry = telemetryOf(pino({ level: 'silent' }), metrics);
  const before = seriesOf(await metrics.registry.metrics());
  for (const reason of ['engine', 'thread', 'guests', 'cache'])
    t.is(before.get(`hail_overload_refusals_total{reason="${reason}"}`), 0);
  telemetry.refused(new ApiError('overloaded', 'busy', {}, { reason: 'engine' }));
  telemetry.refused(new ApiError('rate_limited', 'often', {}, { reason: 'day' }));
  telemetry.refused(new ApiError('not_found', 'none'));
  const after = seriesOf(await metrics.registry.metrics());
  t.is(after.get('hail_overload_refusals_total{reason="engine"}'), 1);
  t.is(after.get('hail_rate_refusals_total{reason="day"}'), 1);
  t.is(after.get('hail_refusals_total{code="not_found"}'), 1);
});
