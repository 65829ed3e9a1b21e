import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Command } from 'commander';
import pg from 'pg';
import { type RateWindows, rateWindows } from '../../api/http/rate-window.ts';
import { openRecords } from '../../api/metering/records.ts';
import { wholeNumber } from '../../pipeline/commands/arguments.ts';
import { PipelineError } from '../../pipeline/error.ts';
import { addDays } from '../../schemas/time.ts';
import { programNode } from '../cluster/node.ts';
import { BOX, pastDates } from '../cluster/weather.ts';
import { freePort } from '../support/free-port.ts';
import { BARE_ENVIRONMENT } from '../support/kill/bare-environment.ts';
import { commandPath, runCommand } from '../support/kill/command.ts';
import {
  noObjectStore,
  type ObjectStoreServer,
  runObjectStore,
  storeSettings,
} from '../support/object-store/server.ts';
import { type ServeChild, startServe } from '../support/service/serve-child.ts';
import { postgresPrograms, runCluster } from '../support/store/cluster.ts';

const CANNON = fileURLToPath(new URL('./cannon.mjs', import.meta.url));
const FIRST = '2026-05-01';
const DATES = 5;
/** Data clock of the services: one minute after the last scan. */
const NOW_MS = Date.parse(`${addDays(FIRST, DATES - 1)}T00:21:00Z`);
const COUNTS = [1, 2] as const;
const CONNECTIONS = 16;
/** Requests a minute of a key: more than any run makes. */
const RATE = 1_000_000;
const at = `lat=${(BOX.south + BOX.north) / 2}&lon=${(BOX.west + BOX.east) / 2}`;
const CURRENT = `/v1/hail/current?${at}&radius_km=80`;
const HISTORY = `/v1/hail/history?${at}&radius_km=80&days=30`;

type Settings = Readonly<Record<string, string>>;
type Stack = AsyncDisposableStack;

/** How answers and backfill grow from one process to two, and what a store costs beside the folder of a local disk. */
export async function nodes(args: string[]): Promise<void> {
  if (noObjectStore !== null || postgresPrograms === null) {
    console.log(`nodes: needs PostgreSQL and an object store (${noObjectStore ?? 'no PostgreSQL is installed'})`);
    return;
  }
  const { seconds } = new Command('nodes')
    .option('--seconds <count>', 'length of a run of requests', wholeNumber(1, 600), 5)
    .parse(args, { from: 'user' })
    .opts<{ seconds: number }>();
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'hail-bench-nodes-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const past = join(folder, 'past');
  const scans = (await pastDates(past, FIRST, DATES)).length;
  const database = runCluster(await freePort(), 'on');
  stack.defer(database.stop);
  await measureRates(folder, database.url, seconds);
  const objects = await runObjectStore();
  stack.defer(objects.stop);
  const { settings, local } = await measureBackfill({ folder, past, scans, database_url: database.url, objects });
  await measureAnswers(stack, { folder, seconds, settings, local });
}

/** Prints how many requests windows in memory and in PostgreSQL count in a second, and how long a single one waits. */
async function measureRates(folder: string, server_url: string, seconds: number): Promise<void> {
  const database_url = await otherDatabase(server_url, 'rates');
  await using stack = new AsyncDisposableStack();
  const records = await openRecords({ data_root: folder, database_url, now: Date.now });
  stack.defer(records.close);
  const shared = records.rateWindows;
  if (shared === null) throw new PipelineError('bench', 'nodes', 'rates are not shared, expected it on PostgreSQL');
  const own = rateWindows({ monotonic_ms: () => performance.now(), unix_ms: Date.now });
  const in_memory = await countedBy(own, seconds, CONNECTIONS);
  const together = await countedBy(shared, seconds, CONNECTIONS);
  const alone = await countedBy(shared, seconds, 1);
  console.log(
    [
      `nodes: rates of ${CONNECTIONS} keys: ${in_memory.toFixed(0)} requests/s counted in memory, ${together.toFixed(0)}/s in PostgreSQL, ratio ${(together / in_memory).toFixed(4)}`,
      `  a key alone waits ${(1000 / alone).toFixed(2)} ms for each request; those of one moment share a statement`,
    ].join('\n'),
  );
}

/** Requests per second that some clients count, each with a key of its own and one after the other. */
async function countedBy(windows: RateWindows, seconds: number, clients: number): Promise<number> {
  const end_ms = performance.now() + seconds * 1000;
  const counts = Array.from({ length: clients }, async (_, client) => {
    let count = 0;
    for (; performance.now() < end_ms; count++) await windows.consume(`key ${client}`, RATE);
    return count;
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0) / seconds;
}

interface Backfills {
  readonly folder: string;
  readonly past: string;
  readonly scans: number;
  readonly database_url: string;
  readonly objects: ObjectStoreServer;
}

/** Times a backfill in a local root, and by one and two workers over a store; returns the settings of the last store. */
async function measureBackfill({ folder, past, scans, database_url, objects }: Backfills) {
  const range = ['--from', FIRST, '--to', addDays(FIRST, DATES - 1), '--source', 'dir', '--folder', past];
  const local = join(folder, 'local');
  const alone = await timed(() => succeed('hail-pipeline', ['backfill', ...range], { HAIL_DATA: local }));
  const rate = (seconds: number) => `${(scans / seconds).toFixed(2)} scans/s`;
  console.log(`nodes: backfill of ${scans} scans of ${DATES} dates: ${rate(alone)} in a folder`);
  let settings: Settings = {};
  const rates: number[] = [];
  for (const count of COUNTS) {
    settings = { ...storeSettings(await objects.bucket(`workers-${count}`)), HAIL_DATABASE_URL: database_url };
    const workers = Array.from({ length: count }, (_, k) =>
      programNode({
        name: `worker ${k + 1} of ${count}`,
        command: process.execPath,
        args: [commandPath('hail-pipeline'), 'work'],
        environment: { ...BARE_ENVIRONMENT, ...settings, HAIL_DATA: join(folder, `work-${count}-${k}`) },
        log: join(folder, `work-${count}-${k}.log`),
        ready: async () => true,
      }),
    );
    const order = { ...settings, HAIL_DATA: join(folder, `order-${count}`) };
    const seconds = await timed(async () => {
      await Promise.all(workers.map((worker) => worker.start()));
      await succeed('hail-pipeline', ['backfill', ...range], order);
    });
    await Promise.all(workers.map((worker) => worker.stop()));
    rates.push(scans / seconds);
    const beside = `ratio ${(alone / seconds).toFixed(2)} to the folder`;
    console.log(`  ${count} worker${count === 1 ? '' : 's'} over a store: ${rate(seconds)}, ${beside}`);
  }
  const [one = 0, two = 0] = rates;
  console.log(`  from one worker to two: ${(two / one).toFixed(2)} times`);
  return { settings, local };
}

interface Answers {
  readonly folder: string;
  readonly seconds: number;
  readonly settings: Settings;
  /** Data root with the same content. */
  readonly local: string;
}

/** Answers per second of a service over a folder, and of one and two over a store, all on the same PostgreSQL. */
async function measureAnswers(stack: Stack, { folder, seconds, settings, local }: Answers): Promise<void> {
  const stored: Settings = { ...settings, HAIL_MASTER_KEY: '7'.repeat(64) };
  // Records belong to one published root: those of the folder are in a database of their own.
  const { HAIL_STORE_URL: _, ...beside_store } = stored;
  const folder_records = {
    ...beside_store,
    HAIL_DATABASE_URL: await otherDatabase(settings.HAIL_DATABASE_URL ?? '', 'beside'),
  };
  const start = async (data_root: string, own: Settings) => {
    const service = await startServe(data_root, NOW_MS, 'error', own);
    stack.defer(() => service.end('SIGKILL'));
    return service;
  };
  const raise = (own: Settings) => succeed('hail-api', ['plan', 'set', 'default', '--rate', String(RATE)], own);
  const beside = await start(local, folder_records);
  const over = [await start(join(folder, 'serve-0'), stored)];
  await raise({ ...folder_records, HAIL_DATA: local });
  await raise({ ...stored, HAIL_DATA: join(folder, 'serve-0') });
  const local_key = beside.keys?.live ?? '';
  const key = over[0]?.keys?.live ?? '';
  const first = {
    folder: await timed(() => answered(beside, local_key)),
    store: await timed(() => answered(over[0], key)),
  };
  console.log(
    `nodes: first question about 30 dates: ${ms(first.folder)} from a folder, ${ms(first.store)} from a store, ratio ${(first.store / first.folder).toFixed(1)}; again ${ms(await timed(() => answered(over[0], key)))}`,
  );
  const local_rate = await rateOf([beside], local_key, seconds);
  await beside.end('SIGTERM');
  const one = await rateOf(over, key, seconds);
  over.push(await start(join(folder, 'serve-1'), stored));
  const two = await rateOf(over, key, seconds);
  console.log(
    [
      `  answers about hail now: ${local_rate.toFixed(0)}/s from a folder, ${one.toFixed(0)}/s over a store, ratio ${(one / local_rate).toFixed(2)}`,
      `  two services over the store: ${two.toFixed(0)}/s, ${(two / one).toFixed(2)} times one; clients and PostgreSQL share the processors`,
    ].join('\n'),
  );
}

/** Answers per second of some services that are asked at the same time, each by clients of its own. */
async function rateOf(services: readonly ServeChild[], key: string, seconds: number): Promise<number> {
  const run = promisify(execFile);
  const rates = await Promise.all(
    services.map(async ({ url }) => {
      const headers = { authorization: `Bearer ${key}` };
      const connections = CONNECTIONS / services.length;
      const shot = { url: `${url}${CURRENT}`, connections, seconds, headers, per_second: null, varied: true };
      const { stdout } = await run(process.execPath, [CANNON, JSON.stringify(shot)], { maxBuffer: 50_000_000 });
      const result = JSON.parse(stdout) as { requests: { average: number }; non2xx: number; errors: number };
      if (result.non2xx + result.errors > 0)
        throw new PipelineError('bench', 'nodes', `${result.non2xx + result.errors} requests failed, expected none`);
      return result.requests.average;
    }),
  );
  return rates.reduce((sum, rate) => sum + rate, 0);
}

async function answered(service: ServeChild | undefined, key: string): Promise<void> {
  const response = await fetch(`${service?.url}${HISTORY}`, { headers: { Authorization: `Bearer ${key}` } });
  if (!response.ok) throw new PipelineError('bench', 'nodes', `${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}

async function succeed(name: 'hail-api' | 'hail-pipeline', args: readonly string[], settings: Settings): Promise<void> {
  const { code, told } = await runCommand(name, args, { ...settings });
  if (code !== 0) throw new PipelineError('bench', 'nodes', `${name} ${args[0]} ended with ${code}: ${told}`);
}

/** Makes another database on the server of an address; returns its address. */
async function otherDatabase(database_url: string, name: string): Promise<string> {
  const client = new pg.Client(database_url);
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const url = new URL(database_url);
  url.pathname = `/${name}`;
  return url.href;
}

/** Seconds that some work takes. */
async function timed(work: () => Promise<void>): Promise<number> {
  const started_ms = performance.now();
  await work();
  return (performance.now() - started_ms) / 1000;
}

function ms(seconds: number): string {
  return `${(seconds * 1000).toFixed(0)} ms`;
}
