import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { verifyLedger } from '../../api/billing/usage.ts';
import { readConfig, SettingsError } from '../../api/config.ts';
import { openServices } from '../../api/services.ts';
import { openWebhookClient } from '../../api/webhooks/client.ts';
import { startWorkers, type Worker } from '../../api/workers.ts';
import type { Health } from '../../schemas/resources/health.ts';
import { pluck } from '../support/data/rows.ts';
import { scratch } from '../support/data/world.ts';
import { sendRaw } from '../support/service/raw-http.ts';
import { startServe } from '../support/service/serve-child.ts';
import { type CallInit, type RunningService, type ServiceOptions, serviceFor } from '../support/service/service.ts';
import { testUnknownSettings } from '../support/service/unknown-settings.ts';
import { until } from '../support/until.ts';

const CONFIG = {
  database_url: null,
  storm_day_start_hour: 0,
  base_url: 'http://127.0.0.1:8080/v1',
  now: () => Date.parse('2026-05-02T00:12:00Z'),
};

/** Files of this process that lie below a folder, and are open. */
async function openFilesIn(folder: string): Promise<string[]> {
  const descriptors = await fs.readdir('/proc/self/fd');
  const names = await Promise.all(descriptors.map((each) => fs.readlink(`/proc/self/fd/${each}`).catch(() => '')));
  return names.filter((name) => name.startsWith(folder));
}

test('services over a root that does not exist yet are empty, and close what they opened', async (t) => {
  const data_root = await scratch(t);
  const { services, close } = await openServices({ ...CONFIG, data_root });
  t.deepEqual(services.catalog.edition().dates, []);
  t.is(services.live.snapshot().newest_scan_ms, null);
  t.is(services.terrain.model(), null);
  for (const engine of [services.engine, services.jobEngine])
    t.deepEqual(await engine.rows('SELECT 1 AS one'), [{ one: 1 }]);
  t.not((await openFilesIn(data_root)).length, 0);
  await close();
  t.deepEqual(await openFilesIn(data_root), []);
  await t.throwsAsync(services.engine.rows('SELECT 1'), { message: 'the query engine is closed' });
  await t.throwsAsync(services.jobEngine.rows('SELECT 1'), { message: 'the query engine is closed' });
});

test('records may lie apart from the data root', async (t) => {
  const [data_root, records_root] = [await scratch(t, 'data'), await scratch(t, 'records')];
  const { close } = await openServices({ ...CONFIG, data_root, records_root });
  await close();
  await t.throwsAsync(fs.access(data_root), { code: 'ENOENT' });
  await t.notThrowsAsync(fs.access(join(records_root, 'records/hail.sqlite')));
});

/** Characters of a key that are secret: what follows the kind and the public id. */
const SECRET_FROM = 'hs_live_'.length + 8;

/** Requests that carry a key where none belongs, and those that carry it where it does. */
function misplaced(key: string): string[] {
  const authorized = `Authorization: Bearer ${key}`;
  const json = 'Content-Type: application/json';
  const request = (line: string, ...headers: string[]) => {
    const [head = '', body = ''] = line.split('\n');
    const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
    return `${[`${head} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers, ...length].join('\r\n')}\r\n\r\n${body}`;
  };
  return [
    request('GET /v1/health', authorized),
    request('GET /v1/usage', authorized),
    request(`GET /v1/usage?key=${key}`),
    request(`GET /v1/usage?api_key=${key}`, authorized),
    request(`GET /v1/usage?period=${key}`, authorized),
    request(`GET /v1/hail/current?lat=${key}&lon=1`, authorized),
    request(`GET /v1/portfolio/locations?cursor=${key}`, authorized),
    request(`GET /v1/storms/${key}`, authorized),
    request(`GET /v1/${key}`, authorized),
    request(`GET /${key}`),
    request(`GET /%68s%5flive${key.slice('hs_live'.length)}`),
    request(`GET /tiles/${key}`),
    request(`GET /tiles/daily/${key}.pmtiles`),
    request(`${key} /v1/usage`, authorized),
    request('GET /v1/usage', `X-Api-Key: ${key}`),
    request('GET /v1/usage', `Authorization: ${key}`),
    request('GET /v1/usage', `Authorization: Basic ${key}`),
    request('GET /v1/usage', `Authorization: Bearer ${key}x`),
    request('GET /v1/usage', authorized, authorized),
    request('GET /v1/usage', authorized, `X-Request-Id: ${key}`),
    request('GET /v1/usage', authorized, `Accept: ${key}`),
    request('GET /v1/usage', authorized, `Cookie: key=${key}`),
    request(`POST /v1/portfolio/locations\n{"format":"json","data":"${key}`, authorized, json),
    request(`POST /v1/portfolio/locations\n${key}`, authorized, json),
    request(`POST /v1/portfolio/locations\n{"format":"${key}","data":[]}`, authorized, json),
    request('POST /v1/portfolio/locations\n{"format":"json","data":[]}', authorized, `Content-Type: ${key}`),
    request('POST /v1/portfolio/locations\n{"format":"json","data":[]}', authorized, json, `Content-Encoding: ${key}`),
    request(`GET /v1/usage?a=%${key}`, authorized),
    request(
      'POST /v1/portfolio/locations\n{"format":"json","data":[{"name":"Depot","lat":35,"lon":-97}]}',
      authorized,
      json,
      `Idempotency-Key: ${key}`,
    ),
  ];
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

const SIGNATURE = 'Zq3_'.repeat(11).slice(1);

/** Addresses of files whose question mark a client, or something on its way, wrote in another way. */
const mangled = (signature: string) =>
  ['%3F', '%253F', ';', '/?'].map(
    (mark) => `GET /v1/files/exp_01KAJ4D2M8N6P4R2T0V8X6Z4B2${mark}exp=1&sig=${signature} HTTP/1.1\r\nHost: x\r\n\r\n`,
  );

test('no secret of a key stands in the log, in an answer or in the records, wherever clients put it', async (t) => {
  const folder = await scratch(t);
  const server = await startServe(folder);
  t.teardown(() => server.end('SIGKILL'));
  if (server.keys === null) throw new Error('the first start shows no keys');
  const secrets = Object.values(server.keys).map((key) => key.slice(SECRET_FROM));
  const holds = (text: string) => secrets.some((secret) => text.includes(secret));
  const told: string[] = [];
  for (const key of Object.values(server.keys))
    for (const request of misplaced(key)) {
      const answer = await sendRaw(server.url, request);
      const line = request.split('\r\n')[0]?.replaceAll(key, 'KEY');
      t.true(answer.status >= 200 && answer.status < 500, `${line} is ${answer.status}`);
      if (holds(answer.body) || holds([...answer.headers.values()].join())) told.push(`${line}: ${answer.body}`);
    }
  t.deepEqual(told, [], 'answers');
  for (const request of mangled(SIGNATURE)) t.true((await sendRaw(server.url, request)).status >= 400);
  await server.end('SIGTERM');
  const log = server.log();
  t.true(log.includes('Request:Answer:Sent'));
  t.deepEqual(log.split('\n').filter(holds), [], 'log');
  t.true(log.includes('&sig=…') && !log.includes(SIGNATURE), 'signatures in the log');
  const files = filesUnder(folder);
  t.true(files.some((file) => file.endsWith('hail.sqlite')));
  const foundIn = files.filter((file) => holds(readFileSync(file, 'latin1')));
  t.deepEqual(foundIn, [], 'files');
});

const COVERAGE = '/v1/coverage?lat=35&lon=-97';
const LOCATIONS = '/v1/portfolio/locations';
const UPLOAD = {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ format: 'json', data: [{ name: 'Depot', lat: 35.2, lon: -97.4 }] }),
};
/** Everything that has to answer while nothing can be metered. */
const ALIVE = ['/livez', '/readyz', '/v1/health'];

async function start(t: ExecutionContext, options: Partial<ServiceOptions> = {}): Promise<RunningService> {
  return await serviceFor(t, options);
}

/** Another process that holds the records' write lock from when this returns until it is released. */
async function lock({ records }: RunningService): Promise<() => Promise<void>> {
  const script = `
    const database = new (require('node:sqlite').DatabaseSync)(process.argv[1]);
    database.exec('pragma busy_timeout = 5000; begin exclusive');
    process.stdout.write('locked');
    process.stdin.once('data', () => { database.exec('commit'); database.close(); process.exit(); });`;
  const child: ChildProcess = spawn(process.execPath, ['-e', script, records.store.name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (child.stdin === null || child.stdout === null) throw new Error('the child has no pipes');
  const { stdin, stdout } = child;
  await once(stdout, 'readable');
  if (stdout.read() === null) throw new Error('the child ended before it held the lock');
  return async () => {
    stdin.write('release');
    await once(child, 'exit');
  };
}

/** Waits for a call to be answered 200. */
async function recovers(service: RunningService, path: string, init?: CallInit): Promise<boolean> {
  await until(async () => (await service.call(path, init)).status === 200);
  return true;
}

async function rowsOf({ records }: RunningService) {
  const ledger = await records.reader.selectFrom('ledger').selectAll().execute();
  const locations = await records.reader.selectFrom('portfolio_locations').selectAll().execute();
  return [ledger.length, locations.length];
}

test.serial(
  'billed calls that find the records locked are refused, nothing served or charged; probes and free calls answer',
  async (t) => {
    const service = await start(t);
    t.is((await service.call(COVERAGE)).status, 200);
    const release = await lock(service);
    const keyed = { ...UPLOAD, headers: { ...UPLOAD.headers, 'Idempotency-Key': 'key' } };
    const refusals = [service.call(COVERAGE), service.call(LOCATIONS, UPLOAD), service.call(LOCATIONS, keyed)];
    for (const reply of await Promise.all(refusals)) {
      t.is(reply.status, 503);
      t.is(((await reply.json()) as { error: string }).error, 'metering_unavailable');
      t.is(reply.headers.get('Retry-After'), '5');
    }
    const alive = await Promise.all([...ALIVE, '/v1/usage'].map((path) => service.call(path)));
    t.deepEqual(pluck(alive, 'status'), [200, 503, 200, 200]);
    const [, ready, health] = await Promise.all(alive.map((reply) => reply.json()));
    t.like(ready, { status: 'unavailable', records: false });
    const { status, components } = health as Health;
    t.deepEqual([status, components.database.status, components.metering.status], Array(3).fill('degraded'));
    await release();
    t.true(await recovers(service, '/readyz'));
    t.true(await recovers(service, COVERAGE));
    t.deepEqual(await rowsOf(service), [2, 0]);
    t.deepEqual((await verifyLedger(service.records.reader)).faults, []);
    t.true(service.failures.splice(0).length >= 3);
  },
);

test.serial('a command that holds the lock of the records for a moment costs no call its answer', async (t) => {
  const service = await start(t);
  const release = await lock(service);
  let came = 0;
  service.server.on('request', () => {
    came += 1;
  });
  const waiting = Promise.all([
    ...Array.from({ length: 5 }, () => service.call(COVERAGE)),
    service.call(LOCATIONS, UPLOAD),
  ]);
  await until(() => came === 6);
  await release();
  for (const { status } of await waiting) t.is(status, 200);
  t.deepEqual(await rowsOf(service), [6, 1]);
});

const LONG_MS = 60_000;

/** Services over an empty root, and a log that is kept. */
async function open(t: ExecutionContext) {
  const { services, close } = await openServices({
    data_root: await scratch(t),
    database_url: null,
    storm_day_start_hour: 0,
    base_url: 'http://127.0.0.1:8080/v1',
    now: () => 0,
  });
  t.teardown(close);
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(line) });
  return { services, log, logged: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

test('every worker is started with the services, and ended once', async (t) => {
  const { services, log, logged } = await open(t);
  const told: string[] = [];
  const worker = (name: string): Worker => ({
    name,
    start: (given) => {
      t.is(given, services);
      told.push(`${name} starts`);
      return async () => {
        told.push(`${name} ends`);
      };
    },
  });
  const stop = await startWorkers(services, log, [worker('jobs'), worker('alerts')]);
  await stop(LONG_MS);
  t.deepEqual(told, ['jobs starts', 'alerts starts', 'jobs ends', 'alerts ends']);
  t.deepEqual(pluck(logged(), 'msg'), ['Workers:Start:Done', 'Workers:Stop:Done']);
});

test('stopping waits for what is under way', async (t) => {
  const { services, log } = await open(t);
  const job = Promise.withResolvers<void>();
  let done = false;
  const stop = await startWorkers(services, log, [{ name: 'jobs', start: () => () => job.promise }]);
  const stopped = stop(LONG_MS).then(() => done);
  await new Promise(setImmediate);
  done = true;
  job.resolve();
  t.true(await stopped);
});

test('a worker that fails to end, or does not end in time, is named in the log and keeps nobody else from ending', async (t) => {
  const { services, log, logged } = await open(t);
  let ended = false;
  const end = async () => {
    ended = true;
  };
  const stop = await startWorkers(services, log, [
    { name: 'stuck', start: () => () => new Promise(() => {}) },
    { name: 'broken', start: () => () => Promise.reject(new Error('no')) },
    { name: 'sound', start: () => end },
  ]);
  await stop(20);
  t.true(ended);
  const told = logged().flatMap(({ worker, msg }) => (worker === undefined ? [] : [`${worker} ${msg}`]));
  t.deepEqual(told.sort(), ['broken Worker:Stop:Failed', 'stuck Worker:Stop:Late']);
});

test('workers that had started are ended when a later one cannot start', async (t) => {
  const { services, log } = await open(t);
  let ended = false;
  const end = async () => {
    ended = true;
  };
  const starting = startWorkers(services, log, [
    { name: 'sound', start: () => end },
    {
      name: 'broken',
      start: () => {
        throw new Error('no queue');
      },
    },
  ]);
  await t.throwsAsync(starting, { message: 'no queue' });
  t.true(ended);
});

test('without any setting the service listens on this machine alone, on port 8080', (t) => {
  const { host, port, base_url, database_url, trusted_proxies, metrics_port } = readConfig({});
  t.deepEqual(
    { host, port, base_url, database_url, trusted_proxies, metrics_port },
    { host: '127.0.0.1', port: 8080, base_url: null, database_url: null, trusted_proxies: [], metrics_port: null },
  );
});

test('an empty setting is one left out', (t) => {
  t.is(readConfig({ HAIL_PORT: '', HAIL_BASE_URL: '' }).port, 8080);
});

test('settings are read as what they mean', (t) => {
  const config = readConfig({
    HAIL_PORT: '9000',
    HAIL_BASE_URL: 'https://hail.example/api/v1/',
    HAIL_TRUST_PROXY: '10.0.0.0/8, ::1',
    HAIL_METRICS_PORT: '9001',
    HAIL_NOW: '2026-05-01T20:00:00Z',
    HAIL_DATABASE_URL: 'postgres://u@localhost/hail',
  });
  t.is(config.port, 9000);
  t.is(config.base_url, 'https://hail.example/api/v1');
  t.deepEqual(config.trusted_proxies, ['10.0.0.0/8', '::1/128']);
  t.is(config.metrics_port, 9001);
  t.is(config.now(), Date.parse('2026-05-01T20:00:00Z'));
});

test('settings of webhooks and mail are read, and have usual values', (t) => {
  const { master_keys, webhooks, smtp_url } = readConfig({});
  t.deepEqual(webhooks, { allow_cidrs: [], ca_file: null, time_scale: 1 });
  t.deepEqual([master_keys, smtp_url], [null, null]);
  const [hex, base64] = ['ab'.repeat(32), Buffer.alloc(32, 7).toString('base64')];
  const config = readConfig({
    HAIL_MASTER_KEY: `${hex},${base64}`,
    HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8, 10.1.2.3,::1',
    HAIL_WEBHOOK_CA_FILE: '/etc/ca.pem',
    HAIL_WEBHOOK_TIME_SCALE: '0.01',
    HAIL_SMTP_URL: 'smtps://u:p@mail.example:465?from=hail@example.com',
  });
  t.deepEqual(config.master_keys, [Buffer.from(hex, 'hex'), Buffer.alloc(32, 7)]);
  const allow_cidrs = ['127.0.0.0/8', '10.1.2.3/32', '::1/128'];
  t.deepEqual(config.webhooks, { allow_cidrs, ca_file: '/etc/ca.pem', time_scale: 0.01 });
  t.is(config.smtp_url, 'smtps://u:p@mail.example:465?from=hail@example.com');
});

test('an address among allowed networks allows receivers at it alone', async (t) => {
  const { webhooks } = readConfig({ HAIL_WEBHOOK_ALLOW_CIDRS: '10.1.2.3, ::1' });
  const client = openWebhookClient(webhooks);
  t.teardown(client.close);
  for (const host of ['10.1.2.3', '[::1]']) t.is(await client.validateUrl(`https://${host}:8443/`), null);
  for (const host of ['10.1.2.4', '[::2]', '127.0.0.1'])
    t.is(await client.validateUrl(`https://${host}:8443/`), 'must not lead to a private address');
});

for (const [name, value] of [
  ['HAIL_MASTER_KEY', 'ab'.repeat(31)],
  ['HAIL_MASTER_KEY', `${'ab'.repeat(32)},s3cret`],
  ['HAIL_SMTP_URL', 'http://u:s3cret@mail.example'],
] as const)
  test(`${name} is refused without repeating its ${value.length} characters`, (t) => {
    const error = t.throws(() => readConfig({ [name]: value }), { instanceOf: SettingsError });
    t.true(error?.message.startsWith(`${name} is set: `));
    t.false(error?.message.includes('s3cret') || error?.message.includes('abab'));
  });

for (const [name, value] of [
  ['HAIL_WEBHOOK_TIME_SCALE', '0'],
  ['HAIL_WEBHOOK_TIME_SCALE', '2'],
  ['HAIL_WEBHOOK_ALLOW_CIDRS', 'localhost'],
  ['HAIL_PORT', '70000'],
  ['HAIL_PORT', '80 80'],
  ['HAIL_BASE_URL', 'https://hail.example'],
  ['HAIL_BASE_URL', 'ftp://hail.example/v1'],
  ['HAIL_DATABASE_URL', 'mysql://localhost/hail'],
  ['HAIL_TRUST_PROXY', '10.0.0.0/33'],
  ['HAIL_TRUST_PROXY', 'proxy.example'],
] as const)
  test(`${name}=${value} is refused by name`, (t) => {
    const error = t.throws(() => readConfig({ [name]: value }), { instanceOf: SettingsError });
    t.true(error?.message.startsWith(`${name} is '${value}'`));
  });

test('every setting that does not fit is named', (t) => {
  t.throws(() => readConfig({ HAIL_PORT: 'x', HAIL_METRICS_PORT: 'y' }), { message: /HAIL_PORT.*; HAIL_METRICS_PORT/ });
});

testUnknownSettings(readConfig, SettingsError);
