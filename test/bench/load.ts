import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Listening, Spent } from './http-server.ts';

const run = promisify(execFile);
const CANNON = fileURLToPath(new URL('./cannon.mjs', import.meta.url));
const SERVER = fileURLToPath(new URL('./http-server.ts', import.meta.url));

/** Questions under way at the same time. */
export const CONNECTIONS = 64;

/** What is asked of a server, and by whom; null: without a key. */
export interface Target {
  readonly server: ChildProcess;
  readonly url: string;
  readonly key: string | null;
}

/** The service and a bare Koa that gives the same answer, in one process of their own. */
interface Servers {
  readonly ours: Target;
  readonly bare: Target;
  /** Size of the answer. */
  readonly bytes: number;
  readonly tag: string;
  readonly stop: () => Promise<void>;
}

/** Starts both over a data root, asked for a path of `/v1`. */
export async function startServers(data_root: string, now_ms: number, path: string): Promise<Servers> {
  const server = fork(SERVER, [data_root, String(now_ms), path]);
  const [{ url, key, bare_url, bytes, tag }] = (await once(server, 'message')) as [Listening];
  return {
    ours: { server, url: `${url}${path}`, key },
    bare: { server, url: `${bare_url}${path}`, key: null },
    bytes,
    tag,
    stop: async () => {
      server.send('stop');
      await once(server, 'exit');
    },
  };
}

export interface Load {
  readonly per_second: number;
  readonly p99_ms: number;
  /** Processor time of the server, of every thread. */
  readonly cpu_us_each: number;
  readonly longest_stall_ms: number;
}

export interface Question {
  /** Tag that the client has; null: none. */
  readonly tag: string | null;
  /** A new point for every request. */
  readonly varied: boolean;
}

/** One run of autocannon. `per_second`: the rate to keep, as fast as it goes when left out. Throws when an answer is no success. */
export async function load(
  { server, url, key }: Target,
  seconds: number,
  { tag, varied }: Question,
  per_second: number | null = null,
): Promise<Load> {
  server.send('reset');
  const headers = {
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...(tag === null ? {} : { 'if-none-match': tag }),
  };
  const shot = { url, connections: CONNECTIONS, seconds, headers, per_second, varied };
  const { stdout } = await run(process.execPath, [CANNON, JSON.stringify(shot)], { maxBuffer: 50_000_000 });
  const result = JSON.parse(stdout) as {
    requests: { average: number; total: number };
    latency: { p99: number };
    non2xx: number;
    errors: number;
    statusCodeStats: Record<string, { count: number }>;
  };
  const expected = tag === null ? '200' : '304';
  const codes = Object.keys(result.statusCodeStats);
  if (result.errors > 0 || codes.some((code) => code !== expected))
    throw new Error(`${url} answered ${codes.join()} with ${result.errors} errors, expected ${expected}`);
  server.send('spent');
  const [spent] = (await once(server, 'message')) as [Spent];
  if (spent.failures > 0) throw new Error(`${url} failed ${spent.failures} times`);
  return {
    per_second: result.requests.average,
    p99_ms: result.latency.p99,
    cpu_us_each: spent.cpu_us / result.requests.total,
    longest_stall_ms: spent.longest_stall_ms,
  };
}
