import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { midnight, publishedRoot, type RawScan, scratch } from '../../world.ts';

const MAIN = fileURLToPath(new URL('../../../api/main.ts', import.meta.url));

interface Served {
  readonly child: ChildProcess;
  /** Everything on standard output until the service said how to call it. */
  readonly said: string;
  readonly took_ms: number;
}

/** Starts `hail-api serve` on a free port and waits for its last line. */
async function serve(t: ExecutionContext, data_root: string, settings: Record<string, string> = {}): Promise<Served> {
  const started_ms = performance.now();
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: { HAIL_DATA: data_root, HAIL_PORT: '0', HAIL_LOG_LEVEL: 'warn', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  while (!/\/usage'\n/.test(said)) said += String((await once(child.stdout, 'data'))[0]);
  return { child, said, took_ms: performance.now() - started_ms };
}

/** Sends what a printed curl line would send. */
async function curl(line: string): Promise<Response> {
  const [, key, url] = /-H "Authorization: Bearer ([^"]+)" '([^']+)'/.exec(line) ?? [];
  return fetch(url as string, { headers: { Authorization: `Bearer ${key}` } });
}

async function stop({ child }: Served): Promise<number | null> {
  child.kill('SIGTERM');
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

test('the first start prints two keys and three curl lines that work; the second start prints no key', async (t) => {
  const scans = (await midnight()).slice(0, 2);
  const root = await publishedRoot(t, scans);
  const now = new Date((scans.at(-1) as RawScan).time_ms + 60_000).toISOString();
  const first = await serve(t, root, { HAIL_NOW: now });
  t.true(first.took_ms < 5000, `ready after ${first.took_ms} ms`);
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
  t.is(await stop(second), 0);
});

test('an empty data root is served, and its records hold no key in clear', async (t) => {
  const root = await scratch(t);
  const served = await serve(t, root);
  const keys = served.said.match(/hs_(?:live|test)_\w+/g) ?? [];
  const lines = served.said.split('\n').filter((line) => line.includes('curl'));
  for (const line of lines) t.is((await curl(line)).status, 200);
  await stop(served);
  const stored = await readFile(join(root, 'records', 'hail.sqlite'), 'latin1');
  for (const key of keys) t.false(stored.includes(key.slice('hs_live_'.length + 8)));
});

test('a request under way is answered before the service stops', async (t) => {
  const served = await serve(t, await scratch(t));
  const { hostname, port } = new URL(/'(http[^']+)\/health'/.exec(served.said)?.[1] ?? '');
  const key = /hs_live_\w+/.exec(served.said)?.[0] ?? '';
  const body = '{"locations":[{"lat":35,"lon":-97}]}';
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  socket.write(
    `POST /v1/hail/current/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  const [first] = (await once(socket, 'data')) as [string];
  t.regex(first, /^HTTP\/1.1 100 /); // the head has arrived
  const stopped = stop(served);
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.write(body);
  const [answer] = (await once(socket, 'data')) as [string];
  t.regex(answer, /^HTTP\/1.1 200 /);
  t.is(await stopped, 0);
});

test('a setting that does not fit ends the command with 2', async (t) => {
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: { HAIL_PORT: 'x' },
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
