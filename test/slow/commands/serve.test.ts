import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { startServing } from '../../../api/commands/serve.ts';
import { readConfig } from '../../../api/config.ts';
import type { Services } from '../../../api/services.ts';
import { WORKERS, type Worker } from '../../../api/workers.ts';
import { midnight, publishedRoot, type RawScan, scratch } from '../../support/data/world.ts';
import { BARE_ENVIRONMENT } from '../../support/kill/bare-environment.ts';

const MAIN = fileURLToPath(new URL('../../../api/start.js', import.meta.url));

interface Served {
  readonly child: ChildProcess;
  /** Everything on standard output until the service said how to call it. */
  readonly said: string;
  /** The log so far. */
  readonly log: () => string;
}

/** Starts `hail-api serve` on a free port and waits for its last line. */
async function serve(
  t: ExecutionContext,
  data_root: string,
  settings: Record<string, string> = {},
  options: readonly string[] = [],
): Promise<Served> {
  const child = spawn(process.execPath, [MAIN, 'serve', ...options], {
    env: { ...BARE_ENVIRONMENT, HAIL_DATA: data_root, HAIL_PORT: '0', HAIL_LOG_LEVEL: 'warn', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  let said = '';
  for await (const text of child.stdout.iterator({ destroyOnReturn: false })) {
    said += text;
    if (/\/usage'\n/.test(said)) return { child, said, log: () => log };
  }
  throw new Error(`serve ended before it listened: ${log}`);
}

/** Starts the same service in this process, which costs far less than a process of its own. */
async function serveHere(t: ExecutionContext, data_root: string) {
  let said = '';
  const config = readConfig({ HAIL_DATA: data_root, HAIL_PORT: '0', HAIL_LOG_LEVEL: 'fatal' });
  const stopOnce = await startServing(config, WORKERS, (text) => {
    said += text;
  });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= stopOnce();
    return stopped;
  };
  t.teardown(stop);
  return { said, stop };
}

/** Sends what a printed curl line would send. */
async function curl(line: string): Promise<Response> {
  const [, key, url] = /-H "Authorization: Bearer ([^"]+)" '([^']+)'/.exec(line) ?? [];
  // A kept connection may have ended while the loop of this process stood still.
  return fetch(url as string, { headers: { Authorization: `Bearer ${key}`, Connection: 'close' } });
}

async function stop({ child }: Served, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
  child.kill(signal);
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

test('the first start prints two keys and three curl lines that work; the second start prints no key', async (t) => {
  const scans = (await midnight()).slice(0, 2);
  const root = await publishedRoot(t, scans);
  const now = new Date((scans.at(-1) as RawScan).time_ms + 60_000).toISOString();
  const first = await serve(t, root, { HAIL_NOW: now });
  const keys = first.said.match(/hs_(live|test)_\w+/g) ?? [];
  t.is(new Set(keys).size, 2);
  const lines = first.said.split('\n').filter((line) => line.includes('curl'));
  t.is(lines.length, 3);
  for (const line of lines) {
    const reply = await curl(line);
    t.is(reply.status, 200, `${line}: ${await reply.text()}`);
  }
  t.is(await stop(first), 0);
  const second = await serve(t, root, { HAIL_NOW: now });
  t.notRegex(second.said, /hs_(live|test)_/);
  t.regex(second.said, /`npm run -s hail-api -- key create BUSINESS --live` makes one/);
  t.is(await stop(second), 0);
});

test('a busy port names HAIL_PORT and makes no keys: the start on a free port prints them', async (t) => {
  const [first, root] = [await serve(t, await scratch(t)), await scratch(t)];
  const port = new URL(/'(http[^']+)\/health'/.exec(first.said)?.[1] ?? '').port;
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: { ...BARE_ENVIRONMENT, HAIL_DATA: root, HAIL_PORT: port, HAIL_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const [said, error] = [child.stdout, child.stderr].map((stream) => text(stream));
  t.deepEqual(await once(child, 'close'), [4, null]);
  t.is(await said, '');
  t.is(
    await error,
    `hail-api: serve: port ${port} of 127.0.0.1 is in use by another program, expected a free one: stop that program, or set HAIL_PORT to another port\n`,
  );
  t.regex(
    (await serve(t, root)).said,
    /live {2}hs_live_\w+\n {2}test {2}hs_test_\w+\nIf they are lost, `npm run -s hail-api -- key create default --live`/,
  );
});

test('a connection is kept for 75 seconds after an answer, unless HAIL_KEEP_ALIVE_S says otherwise', async (t) => {
  const served = await serveHere(t, await scratch(t));
  const { hostname, port } = new URL(/'(http[^']+)\/health'/.exec(served.said)?.[1] ?? '');
  const request = get({ hostname, port, path: '/livez', agent: new Agent({ keepAlive: true }) });
  const [reply] = (await once(request, 'response')) as [IncomingMessage];
  reply.resume();
  t.is(reply.headers['keep-alive'], 'timeout=75');
  t.is(readConfig({ HAIL_KEEP_ALIVE_S: '120' }).keep_alive_s, 120);
});

test('a request under way is answered before the service stops', async (t) => {
  const served = await serveHere(t, await scratch(t));
  const { hostname, port } = new URL(/'(http[^']+)\/health'/.exec(served.said)?.[1] ?? '');
  const key = /hs_live_\w+/.exec(served.said)?.[0] ?? '';
  const body = '{"locations":[{"lat":35,"lon":-97}]}';
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  socket.write(
    `POST /v1/hail/current/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  const [first] = (await once(socket, 'data')) as [string];
  t.regex(first, /^HTTP\/1.1 100 /); // the head has arrived
  const stopped = served.stop();
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.write(body);
  const [answer] = (await once(socket, 'data')) as [string];
  t.regex(answer, /^HTTP\/1.1 200 /);
  await stopped;
});

const EVENTS = /Workers?:\w+:\w+|Service:\w+:\w+/g;

test('workers are started with the service, and are through before it closes what they work with', async (t) => {
  const served = await serve(t, await scratch(t), { HAIL_LOG_LEVEL: 'info' });
  t.is(await stop(served), 0);
  t.deepEqual(served.log().match(EVENTS), [
    'Workers:Start:Done',
    'Service:Listen:Ready',
    'Service:Stop:Begun',
    'Workers:Stop:Done',
    'Service:Stop:Done',
  ]);
});

test('serve --no-workers answers, and starts none', async (t) => {
  const served = await serve(t, await scratch(t), { HAIL_LOG_LEVEL: 'info' }, ['--no-workers']);
  const [first = ''] = served.said.split('\n').filter((line) => line.includes('curl'));
  t.is((await curl(first)).status, 200);
  t.is(await stop(served), 0);
  t.deepEqual(served.log().match(EVENTS), ['Service:Listen:Ready', 'Service:Stop:Begun', 'Service:Stop:Done']);
});

test('SIGHUP stops the service like SIGTERM, and SIGUSR1 opens no inspector', async (t) => {
  const served = await serve(t, await scratch(t), { HAIL_LOG_LEVEL: 'info' });
  served.child.kill('SIGUSR1');
  const [first = ''] = served.said.split('\n').filter((line) => line.includes('curl'));
  t.is((await curl(first)).status, 200);
  t.is(await stop(served, 'SIGHUP'), 0);
  t.notRegex(served.log(), /debugger/i);
  t.regex(served.log(), /Service:Stop:Done/);
});

test("a second service on one SQLite file is refused in a sentence, commands are not, and a killed one is in nobody's way", async (t) => {
  const root = await scratch(t);
  const first = await serve(t, root);
  const run = async (...command: string[]) => {
    const child = spawn(process.execPath, [MAIN, ...command], {
      env: { ...BARE_ENVIRONMENT, HAIL_DATA: root, HAIL_PORT: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, said };
  };
  for (const options of [[], ['--no-workers']])
    t.deepEqual(await run('serve', ...options), {
      code: 4,
      said: `hail-api: serve: another service runs on the SQLite records of ${root}, expected one; several need PostgreSQL (HAIL_DATABASE_URL)\n`,
    });
  t.is((await run('key', 'list', 'default')).code, 0);
  t.is(await stop(first, 'SIGKILL'), null);
  t.is(await stop(await serve(t, root)), 0);
});

test('a worker may use the services until it has ended', async (t) => {
  const config = readConfig({ HAIL_DATA: await scratch(t), HAIL_PORT: '0', HAIL_LOG_LEVEL: 'fatal' });
  const found: unknown[] = [];
  const worker: Worker = {
    name: 'jobs',
    start: ({ records, jobEngine, catalog }) => {
      found.push('started');
      return async () => {
        await new Promise(setImmediate);
        found.push(
          await records.reader.selectFrom('probes').selectAll().execute(),
          await jobEngine.rows('SELECT 1 AS one'),
          catalog.edition().dates,
        );
      };
    },
  };
  const stop = await startServing(config, [worker], () => {});
  t.deepEqual(found, ['started']);
  await stop();
  t.deepEqual(found, ['started', [], [{ one: 1 }], []]);
});

test('a worker that cannot start ends the start of the service, which leaves nothing open and makes no keys', async (t) => {
  const config = readConfig({ HAIL_DATA: await scratch(t), HAIL_PORT: '0', HAIL_LOG_LEVEL: 'fatal' });
  let services: Services | undefined;
  const worker: Worker = {
    name: 'jobs',
    start: (given) => {
      services = given;
      throw new Error('no queue');
    },
  };
  const serving = startServing(config, [worker], () => t.fail());
  await t.throwsAsync(serving, { message: 'no queue' });
  await t.throwsAsync(async () => services?.engine.rows('SELECT 1'), { message: 'the query engine is closed' });
  const stop = await startServing(config, [], (said) => t.regex(said, /live {2}hs_live_/));
  await stop();
});

test('a setting that does not fit ends the command with 2', async (t) => {
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: { ...BARE_ENVIRONMENT, HAIL_PORT: 'x' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  child.stderr.on('data', (chunk) => {
    told += chunk;
  });
  const [code] = (await once(child, 'exit')) as [number];
  t.is(code, 2);
  t.regex(told, /HAIL_PORT is 'x'/);
});
