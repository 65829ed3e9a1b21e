import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { addDays } from '../../schemas/time.ts';
import { runCommand } from '../support/kill/command.ts';
import { lastEntry } from './charges.ts';
import { type Cluster, openCluster } from './cluster.ts';
import { cutOffMachine } from './cut-off.ts';
import { failDatabase } from './database-faults.ts';
import type { FaultRow, Scene } from './faults.ts';
import { judge } from './judge.ts';
import { killEveryNode } from './kills.ts';
import { startLoad } from './load.ts';
import { prepare } from './prepare.ts';
import { print, printFaults, printFindings } from './print.ts';
import { clocksText } from './skew.ts';
import { failStore } from './store-faults.ts';
import { startUsage } from './usage.ts';
import { pastDates, recentScans, startFeed } from './weather.ts';

/*
 * A cluster on this computer: PostgreSQL with a replica, an object store, services behind a proxy, a stream and its standby, workers, and a
 * receiver of webhooks. Puts load on it, kills every node in turn and makes other faults, and prints what was lost and what it cost.
 * Ends with 1 when anything was lost or doubled. `--only PART` makes the faults of one part, `--short` a few of each in a smaller
 * cluster.
 */
const PARTS: Readonly<Record<string, (scene: Scene) => AsyncGenerator<FaultRow>>> = {
  kills: killEveryNode,
  'store-faults': failStore,
  'database-faults': failDatabase,
  'cut-off': cutOffMachine,
};
/** A service answers this when it meets a bug; other faults have answers of their own. */
const INTERNAL_ERROR = 500;
/** Parts of the short form: no other takes less than a minute. */
const SHORT_PARTS = ['kills', 'store-faults', 'database-faults'];

const { values: given } = parseArgs({ options: { only: { type: 'string' }, short: { type: 'boolean' } } });
const short = given.short ?? false;
const parts = given.only?.split(',') ?? (short ? SHORT_PARTS : Object.keys(PARTS));
for (const part of parts)
  if (PARTS[part] === undefined) throw new Error(`part '${part}' is none of ${Object.keys(PARTS).join(', ')}`);

const size = short ? { services: 2, workers: 0 } : { services: 3, workers: 2 };
const recent = { minutes: 23, interval_s: short ? 40 : 10, arrive_every_ms: short ? 3_000 : 5_000 };
/** Storm dates that workers make meanwhile. */
const past = size.workers > 0 ? { from: '2026-05-01', dates: 6 } : null;

const folder = mkdtempSync(join(tmpdir(), 'hail-cluster-'));
const feed = join(folder, 'feed');
let isFine = false;
mkdirSync(feed);
const cluster = await openCluster(folder, feed, size);
try {
  isFine = await run(cluster);
} finally {
  await cluster.stop();
  if (isFine) rmSync(folder, { recursive: true, force: true });
  else print(`the logs of the nodes are in ${join(folder, 'logs')}`);
}
process.exitCode = isFine ? 0 : 1;

/** True when nothing was lost or doubled, all was whole again, and no request met a bug. */
async function run({ nodes, url, database_url, settingsOf, storeTraffic }: Cluster): Promise<boolean> {
  const past_folder = past === null ? null : join(folder, 'past');
  const past_scans = past && past_folder ? await pastDates(past_folder, past.from, past.dates) : [];
  const started_ms = performance.now();
  await Promise.all(nodes.slice(2).map((node) => node.start()));
  print(`cluster: ${nodes.length} nodes, all started at once, answered after ${seconds(started_ms)} s`);
  print(clocksText());
  const { keys, places } = await prepare(cluster, folder);
  const scans = await recentScans(join(folder, 'recent'), recent.minutes, recent.interval_s);
  print(
    `load: ${keys.length} clients, ${places.length} watched places, a scan every ${recent.arrive_every_ms / 1000} s`,
  );
  if (past !== null) print(`      and ${past_scans.length} scans of ${past.dates} past dates`);
  print(`faults: ${parts.join(', ')}`);

  const usage = startUsage(nodes);
  const charges_before = await lastEntry(database_url);
  const load = startLoad(url, keys);
  const backfill = past && past_folder ? startBackfill(settingsOf('backfill'), past, past_folder) : null;
  // A failure is thrown at the end, when everything can be stopped.
  backfill?.catch(() => {});
  const arriving = startFeed(scans, feed, recent.arrive_every_ms);
  const key = keys[0] ?? '';
  const faults: FaultRow[] = [];
  for (const part of parts)
    for await (const row of PARTS[part]?.({ cluster, load, arriving, key, charges_before, short }) ?? []) {
      print(`  ${seconds(started_ms)} s  ${row.node}: ${row.how}`);
      faults.push(row);
    }
  const arrived = await arriving.end();
  const told = await load.end();
  await backfill;
  printFaults(faults);
  print(`load: ended after ${seconds(started_ms)} s; everything is compared with what was sent`);

  const scan_ids = [...past_scans, ...arrived];
  const sent = { folder, feed, past: past_folder, scan_ids, told, charges_before, places, key };
  const outcomes = await judge(cluster, sent);
  const traffic = await storeTraffic();
  printFindings({ outcomes, told, usage: usage.end(), traffic, scans: scan_ids.length });
  return (
    faults.every(({ whole_ms }) => whole_ms !== null) &&
    outcomes.every((each) => each.lost + each.doubled === 0) &&
    told.failures.every(({ status }) => status !== INTERNAL_ERROR)
  );
}

async function startBackfill(
  settings: Readonly<Record<string, string>>,
  { from, dates }: { readonly from: string; readonly dates: number },
  past_folder: string,
): Promise<void> {
  const range = ['--from', from, '--to', addDays(from, dates - 1)];
  const args = ['backfill', ...range, '--source', 'dir', '--folder', past_folder];
  const { code, told } = await runCommand('hail-pipeline', args, { ...settings });
  if (code !== 0) throw new Error(`hail-pipeline backfill ended with ${code}: ${told.slice(-2_000)}`);
}

function seconds(since_ms: number): string {
  return ((performance.now() - since_ms) / 1000).toFixed(0);
}
