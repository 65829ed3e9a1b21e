import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { PROJECT } from '../data/markdown.ts';
import { copyFolder } from '../data/prepared.ts';
import { freePort } from '../free-port.ts';
import { commandPath } from '../kill/command.ts';
import { type ServeChild, startServe } from './serve-child.ts';
import { WHOLE_NOW_MS, wholeRoot } from './whole-service.ts';

export const DEPLOY = join(PROJECT, 'data/examples/deploy');
export const file = (name: string) => join(DEPLOY, name);
export const textOf = (name: string) => readFileSync(file(name), 'utf8');

/** Debian keeps some programs where only root looks for them. */
export const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;

export function scratchFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'hail-deploy-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A shipped file with other texts in place of some of its own, each of which must be there. */
export function adapted(name: string, changes: Readonly<Record<string, string>>): string {
  return Object.entries(changes).reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`${name} does not hold '${from}', expected it`);
    return text.replaceAll(from, to);
  }, textOf(name));
}

/** Resolves as soon as somebody listens on the port; rejects when the child that should do so ends. */
async function listening(port: number, ended: Promise<never>): Promise<void> {
  const tried = async (): Promise<void> => {
    for (;;) {
      const socket = connect(port, '127.0.0.1');
      const isOpen = await new Promise<boolean>((resolve) => {
        socket.once('connect', () => resolve(true));
        socket.once('error', () => resolve(false));
      });
      socket.destroy();
      if (isOpen) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.race([tried(), ended]);
}

/** Runs a proxy in the foreground until the test ends. */
export async function startProxy(
  t: ExecutionContext,
  port: number,
  [command = '', ...args]: readonly string[],
  env: Record<string, string>,
) {
  const child = spawn(command, args, { env: { PATH, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const exit = once(child, 'exit');
  const ended = exit.then(() => {
    throw new Error(`${command} ended: ${said}`);
  });
  ended.catch(() => {});
  t.teardown(async () => {
    child.kill('SIGTERM');
    await exit;
  });
  await listening(port, ended);
}

export interface Upstreams {
  readonly port: number;
  readonly upstreams: readonly number[];
}

/** What the clients of a load were told. */
interface Told {
  /** Answers other than 200, and requests without an answer. */
  readonly failures: string[];
  answers: number;
  /** Sum of `X-Credits-Charged`. */
  charged: number;
}

interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly idempotency_key?: string;
}

/** Asks over a connection of the agent; the status, the body and what was charged. */
function ask(url: string, agent: Agent, key: string, { method, path, body, idempotency_key }: Asked) {
  return new Promise<{ readonly status: number; readonly text: string; readonly charged: number }>(
    (resolve, reject) => {
      const outgoing = request(
        `${url}${path}`,
        {
          method,
          agent,
          headers: {
            Authorization: `Bearer ${key}`,
            ...(body === undefined
              ? {}
              : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
            ...(idempotency_key === undefined ? {} : { 'Idempotency-Key': idempotency_key }),
          },
        },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          answer.once('error', reject);
          answer.once('end', () =>
            resolve({
              status: answer.statusCode ?? 0,
              text,
              charged: Number(answer.headers['x-credits-charged'] ?? 0),
            }),
          );
        },
      );
      outgoing.once('error', reject);
      outgoing.end(body);
    },
  );
}

const CLIENTS = 8;
const BAD_GATEWAY = 502;
const QUESTION = JSON.stringify({ lat: 35.235, lon: -96.475, date_start: '2026-05-01', date_end: '2026-05-02' });
const READS = [
  '/v1/hail/current?lat=35.2&lon=-97&radius_km=100',
  '/v1/storms?lat=35.2&lon=-97&radius_km=100',
  '/v1/usage',
];

interface LoadOptions {
  /** Whether a client repeats a write that the proxy could not pass on, under the same key. */
  readonly repeats_writes: boolean;
}

/** Clients that ask one question after the other over kept connections; the function ends them and returns what they were told. */
export function startLoad(
  url: string,
  key: string,
  { repeats_writes }: LoadOptions,
): { readonly told: Told; readonly end: () => Promise<Told> } {
  const told: Told = { failures: [], answers: 0, charged: 0 };
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  let isOver = false;
  let posts = 0;
  const tell = async (asked: Asked): Promise<string> => {
    const what = `${asked.method} ${asked.path}`;
    try {
      const { status, text, charged } = await ask(url, agent, key, asked);
      told.charged += charged;
      if (status === BAD_GATEWAY && asked.method === 'POST' && repeats_writes) return await tell(asked);
      told.answers += 1;
      if (status !== 200) told.failures.push(`${what}: ${status} ${text.slice(0, 200)}`);
      return text;
    } catch (error) {
      told.failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      return '';
    }
  };
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let k = 0; !isOver; k++) {
      if (k % 4 < READS.length) {
        await tell({ method: 'GET', path: READS[(client + k) % READS.length] ?? '' });
        continue;
      }
      const post = { method: 'POST', path: '/v1/verify', body: QUESTION, idempotency_key: `load-${posts++}` } as const;
      const first = await tell(post);
      // The same again, whichever service it reaches, is the same answer without a charge.
      const again = await tell(post);
      if (again !== first)
        told.failures.push(`POST /v1/verify again: ${again.slice(0, 200)}, expected ${first.slice(0, 200)}`);
    }
  });
  return {
    told,
    end: async () => {
      isOver = true;
      await Promise.all(clients);
      agent.destroy();
      return told;
    },
  };
}

/** Resolves when so many more answers came, wherever they came from; rejects when they do not come within a minute. */
export async function moreAnswers(told: Told, count: number): Promise<void> {
  const enough = told.answers + count;
  const until_ms = performance.now() + 60_000;
  while (told.answers < enough) {
    if (performance.now() > until_ms)
      throw new Error(`${told.answers} answers, expected ${enough}: ${told.failures[0]}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Runs `hail-api` on the records of a test. */
export function operate(settings: Readonly<Record<string, string>>, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [commandPath('hail-api'), ...args], {
    encoding: 'utf8',
    env: { PATH, HAIL_LOG_LEVEL: 'error', HAIL_NOW: new Date(WHOLE_NOW_MS).toISOString(), ...settings },
  });
  if (status !== 0) throw new Error(`hail-api ${args.join(' ')} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}

/** Restarts one service after the other while clients ask through the proxy; what they were told must be what was charged. */
export async function restartUnderLoad(
  t: ExecutionContext,
  {
    count,
    rounds,
    database_url,
    startProxyBefore,
    load: options,
  }: {
    readonly count: number;
    readonly rounds: number;
    readonly database_url: string | null;
    readonly startProxyBefore: (t: ExecutionContext, proxy: Upstreams) => Promise<void>;
    readonly load: LoadOptions;
  },
): Promise<void> {
  const root = join(scratchFolder(t), 'root');
  copyFolder(await wholeRoot(), root);
  const records = database_url === null ? {} : { HAIL_DATABASE_URL: database_url };
  const start = (port: number) =>
    startServe(root, WHOLE_NOW_MS, 'warn', { ...records, HAIL_PORT: String(port), HAIL_TRUST_PROXY: '127.0.0.1,::1' });
  const ports: number[] = [];
  const services: ServeChild[] = [];
  t.teardown(() => Promise.all(services.map((service) => service.end('SIGKILL'))));
  for (let k = 0; k < count; k++) {
    ports.push(await freePort());
    services.push(await start(ports[k] ?? 0));
  }
  const key = services[0]?.keys?.live ?? '';
  const settings = { HAIL_DATA: root, ...records };
  operate(settings, 'plan', 'set', 'default', '--rate', '1000000');

  const port = await freePort();
  await startProxyBefore(t, { port, upstreams: ports });
  const load = startLoad(`http://127.0.0.1:${port}`, key, options);
  await moreAnswers(load.told, 50);
  for (let round = 0; round < rounds; round++)
    for (const [k, service] of services.entries()) {
      await service.end('SIGTERM');
      t.is(service.child.exitCode, 0, service.log());
      services[k] = await start(ports[k] ?? 0);
      await moreAnswers(load.told, 50);
    }
  const told = await load.end();
  t.deepEqual(told.failures, []);
  t.true(told.charged > 0);
  const { used } = JSON.parse(operate(settings, 'usage', 'show', 'default', '--json'));
  t.is(used, told.charged);
  operate(settings, 'usage', 'verify');
  t.log(`${told.answers} answers, ${told.charged} credits`);
}
