import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { wholeNumber } from '../../pipeline/commands/arguments.ts';
import { PipelineError } from '../../pipeline/error.ts';
import { readScan } from '../../pipeline/read/scan.ts';
import { colLon, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { layout } from '../../schemas/layout.ts';
import { onRoot, type RawScan, rawScans } from '../support/data/world.ts';
import { type PushLoad, pushLoad } from '../support/kill/push-load.ts';
import { type Receiver, type Scope, startReceiver } from '../support/service/receiver.ts';
import { type ServeChild, startServe } from '../support/service/serve-child.ts';

/** Waits of half a second to eight seconds between attempts. */
const TIME_SCALE = 0.05;
const SCANS = 24;
const GOAL_P95_MS = 2_000;
const MIN_SIZE_MM = 25;
const RADIUS_KM = 3;
/** So far the data clock is ahead of the first scan: nothing is late, and little lies in the future. */
const CLOCK_AHEAD_MS = 20 * 60_000;
const ARRIVES_WITHIN_MS = 30_000;

/**
 * How soon a receiver over TLS hears of hail after the scan is committed, and whether events are lost when the service that sends
 * them is killed again and again and a third of the answers are bad. Fails when one is lost.
 */
export async function push(args: string[]): Promise<void> {
  const load = options(args);
  await inScope((scope, folder) => latency(scope, folder));
  await inScope((scope, folder) => losses(scope, folder, load));
}

function options(args: string[]): Omit<PushLoad, 'time_scale'> {
  const command = new Command('push')
    .option('--events <count>', 'events that are sent', wholeNumber(1, 100_000), 3_000)
    .option('--per-second <count>', 'events a second', wholeNumber(1, 10_000), 100)
    .option('--receivers <count>', 'addresses that they are sent to in turn', wholeNumber(1, 10_000), 10)
    .option('--kills <count>', 'how often the service is killed meanwhile', wholeNumber(0, 1_000), 20);
  const { perSecond, ...rest } = command
    .parse(args, { from: 'user' })
    .opts<Omit<PushLoad, 'time_scale' | 'per_second'> & { readonly perSecond: number }>();
  return { ...rest, per_second: perSecond };
}

/** Runs a part with a folder of its own, and ends all that it has begun. */
async function inScope(part: (scope: Scope, folder: string) => Promise<void>): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'hail-bench-push-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await part({ teardown: (end) => stack.defer(async () => end()) }, folder);
}

async function losses(scope: Scope, folder: string, load: Omit<PushLoad, 'time_scale'>): Promise<void> {
  const outcome = await pushLoad(scope, folder, { ...load, time_scale: TIME_SCALE });
  const { requests, taken, failed, hung, reset, delivered, dropped, given_up, repeated, deaths, took_ms, faults } =
    outcome;
  console.log(
    [
      `push: ${load.events} events, ${load.per_second} a second, for ${load.receivers} receivers, service killed ${deaths} times, ${(took_ms / 1000).toFixed(0)} s in all`,
      `  ${requests} requests: ${taken} taken, ${failed} failed, ${hung} left open, ${reset} reset`,
      `  ${delivered} events delivered, ${dropped} dropped after their last retry, ${given_up} with a receiver that failed ten times; ${repeated} requests repeated what was taken, under the same id`,
      `  ${faults.length} faults (goal: 0)`,
    ].join('\n'),
  );
  if (faults.length > 0) throw new PipelineError('bench', 'push', faults.join('; '));
}

/** From the switch to a scan until a subscription that was made for its hail is told, at another place with each scan. */
async function latency(scope: Scope, folder: string): Promise<void> {
  const scans = (await rawScans()).slice(0, SCANS + 1);
  const [first] = scans;
  if (first === undefined) throw new PipelineError('bench', 'push', 'the simulated evening has no scan');
  const receiver = await startReceiver(scope);
  const now_ms = first.time_ms + CLOCK_AHEAD_MS;
  await publish(folder, first);
  const server = await startServe(folder, now_ms, 'error', {
    HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    HAIL_WEBHOOK_CA_FILE: receiver.ca_file,
  });
  scope.teardown(() => server.end('SIGKILL'));
  const arrived = arrivals(receiver);
  const times: number[] = [];
  for (const [k, scan] of scans.slice(1).entries()) {
    const place = await hailOf(scan, k);
    if (place === null) continue;
    const path = `/scan/${k}`;
    await subscribe(server, receiver, place, path);
    const committed_ms = await publish(folder, scan);
    times.push((await arrived(path)) - committed_ms);
  }
  await server.end('SIGTERM');
  times.sort((a, b) => a - b);
  const quantile = (q: number) => times[Math.floor(q * (times.length - 1))]?.toFixed(0);
  console.log(
    `push: from a committed scan to the request at its receiver: ${quantile(0.5)} ms (p50), ${quantile(0.95)} ms (p95, goal: under ${GOAL_P95_MS} ms), ${quantile(0)} to ${quantile(1)} ms over ${times.length} scans`,
  );
}

/** Publishes a scan; returns when the switch was written, epoch milliseconds. */
async function publish(folder: string, { files, time_ms }: RawScan): Promise<number> {
  await onRoot(folder, { now_ms: time_ms + CLOCK_AHEAD_MS }, ({ session }) => session.ingest(files));
  return (await stat(join(folder, layout.current))).mtimeMs;
}

/** When the first request of a path comes, epoch milliseconds. */
function arrivals(receiver: Receiver): (path: string) => Promise<number> {
  const came = new Map<string, number>();
  receiver.answer = ({ path }, response) => {
    if (!came.has(path)) came.set(path, Date.now());
    response.end();
  };
  return async (path) => {
    for (let waited_ms = 0; waited_ms < ARRIVES_WITHIN_MS; waited_ms += 5) {
      const at_ms = came.get(path);
      if (at_ms !== undefined) return at_ms;
      await sleep(5);
    }
    throw new PipelineError('bench', 'push', `nothing was told of ${path} within ${ARRIVES_WITHIN_MS / 1000} s`);
  };
}

/** A pixel with hail that is told, another one for each k; null: the scan has none. */
async function hailOf({ time_ms, files: [file] }: RawScan, k: number): Promise<Position | null> {
  const { mesh: field } = await readScan({
    ...{ scan_time: time_ms, mesh: file?.location ?? '', companions: {} },
    ...{ probsevere: null, previous_probsevere: null },
  });
  const { window, rowStart, col, tenths } = field;
  const large = Array.from(tenths.keys()).filter((at) => (tenths[at] as number) >= 10 * MIN_SIZE_MM);
  const at = large[(k * 7919) % large.length];
  if (at === undefined) return null;
  const row = rowStart.findLastIndex((begin) => begin <= at);
  return { lat: rowLat(window.row0 + row), lon: colLon(col[at] as number) };
}

async function subscribe(server: ServeChild, receiver: Receiver, place: Position, path: string): Promise<void> {
  const response = await fetch(`${server.url}/v1/alerts/subscribe`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${server.keys?.live}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      ...place,
      radius_km: RADIUS_KM,
      min_size_mm: MIN_SIZE_MM,
      webhook_url: new URL(path, receiver.url).href,
    }),
  });
  if (!response.ok) throw new Error(`subscribing answers ${response.status} ${await response.text()}`);
}
