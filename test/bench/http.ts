import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { ingest, midnight, type RawScan } from '../support/data/world.ts';
import type { Listening, Spent } from './http-server.ts';

const GOAL_200 = 0.45;
const GOAL_304 = 0.45;
const GOAL_P99_MS = 50;
const GOAL_STALL_MS = 50;

const run = promisify(execFile);
const CANNON = fileURLToPath(new URL('./cannon.mjs', import.meta.url));
const SERVER = fileURLToPath(new URL('./http-server.ts', import.meta.url));

/** Questions under way at the same time. */
const CONNECTIONS = 64;

/**
 * hail/current with everything it does (key, rate, validation, tag, a charge that is on the disk before the answer leaves)
 * against a bare Koa with a router that returns the same bytes, in one run, by turns: the same question again and again, the
 * same with its tag, and a new point each time, which is what customers ask. `--seconds N` per measurement, `--path /v1/…` for
 * another question.
 */
export async function http(args: string[] = []): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '4' },
      path: { type: 'string', default: '/v1/hail/current?lat=35.2&lon=-97.1&radius_km=20' },
    },
  });
  const seconds = Number(values.seconds);
  const root = await mkdtemp(join(tmpdir(), 'hail-bench-http-'));
  const scans = await midnight();
  await ingest(root, scans);
  const minuteLater_ms = (scans.at(-1) as RawScan).time_ms + 60_000;
  const { ours, bare, bytes, tag, stop } = await startServers(root, minuteLater_ms, values.path);
  try {
    console.log(`http: ${values.path}, ${bytes} bytes, ${CONNECTIONS} connections`);
    const varied: Question = { ...SAME, varied: true };
    for (const target of [bare, ours]) for (const question of [SAME, varied]) await load(target, 1, question);
    const full = await compare(ours, bare, seconds, SAME);
    tell('200', full, GOAL_200);
    tell('304', await compare(ours, bare, seconds, { ...SAME, tag }), GOAL_304);
    tell('200, a new point each time', await compare(ours, bare, seconds, varied), null);
    const half = await load(ours, seconds, SAME, Math.round(full.ours.per_second / 2));
    console.log(
      `  at half of the peak rate: p99 ${half.p99_ms} ms (goal < ${GOAL_P99_MS}), longest stall ${half.longest_stall_ms.toFixed(1)} ms (goal < ${GOAL_STALL_MS})`,
    );
  } finally {
    await stop();
    await rm(root, { recursive: true, force: true });
  }
}

const SAME: Question = { tag: null, varied: false };

interface Compared {
  readonly ours: Load;
  readonly bare: Load;
}

/** The better of two turns each, by turns, so that what else the machine does hits both. */
async function compare(ours: Target, bare: Target, seconds: number, question: Question): Promise<Compared> {
  const rounds: Compared[] = [];
  for (let round = 0; round < 2; round++)
    rounds.push({ bare: await load(bare, seconds, question), ours: await load(ours, seconds, question) });
  const best = (of: (round: Compared) => Load) =>
    rounds.map(of).reduce((a, b) => (a.per_second >= b.per_second ? a : b));
  return { ours: best((round) => round.ours), bare: best((round) => round.bare) };
}

function tell(what: string, { ours, bare }: Compared, goal: number | null): void {
  const ratio = ours.per_second / bare.per_second;
  console.log(
    `  ${what}: ${Math.round(ours.per_second)}/s (p99 ${ours.p99_ms} ms), bare Koa ${Math.round(bare.per_second)}/s, ratio ${ratio.toFixed(2)}${goal === null ? '' : ` (goal ${goal})`}; processor ${ours.cpu_us_each.toFixed(0)} against ${bare.cpu_us_each.toFixed(0)} µs each`,
  );
}

/** A question to a server and the key it is asked with; null: without a key. */
interface Target {
  readonly server: ChildProcess;
  readonly url: string;
  readonly key: string | null;
}

/** Starts the service and a bare Koa that gives the same answer, in one process of their own, over a data root. */
async function startServers(data_root: string, now_ms: number, path: string) {
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

type Load = Awaited<ReturnType<typeof load>>;

interface Question {
  /** Tag that the client has; null: none. */
  readonly tag: string | null;
  /** A new point for every request. */
  readonly varied: boolean;
}

/** One run of autocannon. `per_second`: the rate to keep, as fast as it goes when left out. Throws when an answer is no success. */
async function load(
  { server, url, key }: Target,
  seconds: number,
  { tag, varied }: Question,
  per_second: number | null = null,
) {
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
    /** Processor time of the server, of every thread. */
    cpu_us_each: spent.cpu_us / result.requests.total,
    longest_stall_ms: spent.longest_stall_ms,
  };
}
