import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addDays } from '../../schemas/time.ts';
import { runCommand } from '../support/kill/command.ts';
import { lastEntry } from './charges.ts';
import { type Cluster, openCluster } from './cluster.ts';
import { judge } from './judge.ts';
import { killEveryNode } from './kills.ts';
import { startLoad } from './load.ts';
import { prepare } from './prepare.ts';
import { print, printFindings } from './print.ts';
import { startUsage } from './usage.ts';
import { pastDates, recentScans, startFeed } from './weather.ts';

/*
 * A cluster on this computer: PostgreSQL, an object store, three services behind a proxy, a stream and its standby, two workers, and a
 * receiver of webhooks. Puts load on it, kills every node in turn, and prints what was lost and what it cost. Ends with 1 when
 * anything was lost or doubled.
 */
const SCANS = { minutes: 24, interval_s: 24, arrive_every_ms: 3_500 } as const;
const PAST = { from: '2026-05-01', dates: 6 } as const;

const folder = mkdtempSync(join(tmpdir(), 'hail-cluster-'));
const [feed, past] = [join(folder, 'feed'), join(folder, 'past')];
let isFine = false;
mkdirSync(feed);
const cluster = await openCluster(folder, feed);
try {
  isFine = await run(cluster);
} finally {
  await cluster.stop();
  if (isFine) rmSync(folder, { recursive: true, force: true });
  else print(`the logs of the nodes are in ${join(folder, 'logs')}`);
}
process.exitCode = isFine ? 0 : 1;

/** True when nothing was lost or doubled. */
async function run({ nodes, url, database_url, settingsOf, storeTraffic }: Cluster): Promise<boolean> {
  const past_scans = await pastDates(past, PAST.from, PAST.dates);
  const started_ms = performance.now();
  await Promise.all(nodes.slice(2).map((node) => node.start()));
  print(`cluster: ${nodes.length} nodes, all started at once, answered after ${seconds(started_ms)} s`);
  const { keys, places } = await prepare(cluster, folder);
  const scans = await recentScans(join(folder, 'recent'), SCANS.minutes, SCANS.interval_s);
  print(`load: ${keys.length} clients, ${places.length} watched places, ${scans.length} scans that arrive`);
  print(`      and ${past_scans.length} scans of ${PAST.dates} past dates; every node is killed in turn`);

  const usage = startUsage(nodes);
  const charges_before = await lastEntry(database_url);
  const load = startLoad(url, keys);
  const range = ['--from', PAST.from, '--to', addDays(PAST.from, PAST.dates - 1)];
  const backfill = runCommand('hail-pipeline', ['backfill', ...range, '--source', 'dir', '--folder', past], {
    ...settingsOf('backfill'),
  });
  const arriving = startFeed(scans, feed, SCANS.arrive_every_ms);
  const kills = await killEveryNode({ cluster, load, arriving, key: keys[0] ?? '' });
  await arriving.ended;
  const told = await load.end();
  const { code, told: said } = await backfill;
  if (code !== 0) throw new Error(`hail-pipeline backfill ended with ${code}: ${said.slice(-2_000)}`);
  print(`load: ended after ${seconds(started_ms)} s; everything is compared with what was sent`);

  const scan_ids = [...past_scans, ...scans.map(({ scan_id }) => scan_id)];
  const outcomes = await judge(cluster, {
    folder,
    feed,
    past,
    scan_ids,
    told,
    charges_before,
    places,
    key: keys[0] ?? '',
  });
  const traffic = await storeTraffic();
  printFindings({ kills, outcomes, told, usage: usage.end(), traffic, scans: scan_ids.length });
  return kills.every(({ whole_ms }) => whole_ms !== null) && outcomes.every((each) => each.lost + each.doubled === 0);
}

function seconds(since_ms: number): string {
  return ((performance.now() - since_ms) / 1000).toFixed(0);
}
