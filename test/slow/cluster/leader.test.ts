import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import fs from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { openReplica } from '../../../pipeline/replica/replica.ts';
import type { SourceFile } from '../../../pipeline/sources/names.ts';
import { layout } from '../../../schemas/layout.ts';
import { Current } from '../../../schemas/manifest.ts';
import { type ObjectStore, openObjectStore, type StoreAddress } from '../../../schemas/object-store/client.ts';
import { startBucket } from '../../support/data/bucket-server.ts';
import { contentOfFiles, logicalContent, sameContent } from '../../support/data/content.ts';
import {
  asObserved,
  filesOf,
  type OpenSettings,
  type RawScan,
  scansBetween,
  scratch,
} from '../../support/data/world.ts';
import { freePort } from '../../support/free-port.ts';
import { command, faultsOf } from '../../support/kill/killed.ts';
import { runCluster } from '../../support/store/cluster.ts';
import { startProxy } from '../../support/store/proxy.ts';
import { noSharedStore, type Running, startServers } from '../../support/store/shared-store.ts';

/** A standby publishes within this time after the leader was killed or stopped. */
const TAKEOVER_MS = 10_000;

if (noSharedStore !== null) test(`leader and standby are not tested: ${noSharedStore}`, (t) => t.truthy(noSharedStore));
else {
  const servers = startServers(test, 'leader');

  /** A store of the test's own, and streams that share it and one folder of raw files. */
  async function openWorld(t: ExecutionContext) {
    const shared = await servers.openStore(t);
    const { address, folder } = shared;
    const stream = async (name: string, environment: Record<string, string> = {}): Promise<Running> => {
      const root = environment.HAIL_DATA ?? (await scratch(t, name));
      return shared.run(root, ['stream', '--from', folder, '--every', '0.3'], { environment });
    };
    const store = openObjectStore(address);
    /** Waits until readers of the store see a scan; returns when that was. */
    const shown = async ({ scan_id }: RawScan): Promise<number> => {
      while (((await pointerIn(store))?.scan_id ?? '') < scan_id) await sleep(100);
      return performance.now();
    };
    return { ...shared, store, stream, shown };
  }

  for (const signal of ['SIGKILL', 'SIGSTOP'] as const)
    test.serial(
      `${signal} to the leader: the standby goes on within 10 s, no scan is missing, made twice or published by both`,
      async (t) => {
        const { address, store, stream, bring, shown } = await openWorld(t);
        const scans = await scansBetween('23:40', '00:20');
        const [early, late] = [scans.slice(0, 8), scans.slice(8)];
        const leader = await stream('first');
        const first = await leader.events.next('Lease:Take:Done');
        const standby = await stream('second');
        await standby.events.next('Lease:Wait:Begin');
        for (const scan of early.slice(0, -1)) {
          await bring([scan]);
          await shown(scan);
        }
        // The last one of these is in work.
        await bring(early.slice(-1));
        await sleep(300);
        leader.child.kill(signal);
        const begun_ms = performance.now();
        await bring(late.slice(0, 1));
        const second = await standby.events.next('Lease:Take:Done');
        const taken_ms = performance.now();
        const published_ms = await shown(late[0] as RawScan);
        const before = standby.events.all.filter(({ msg }) => msg === 'Scan:Commit:Done').length;
        t.log(
          `${signal}: leads after ${seconds(begun_ms, taken_ms)}, publishes after ${seconds(begun_ms, published_ms)}`,
        );
        t.true(taken_ms - begun_ms < TAKEOVER_MS);
        t.true(Number(second.fence) > Number(first.fence));
        t.true(before >= 1);
        for (const scan of late.slice(1)) {
          await bring([scan]);
          await shown(scan);
        }
        if (signal === 'SIGSTOP') {
          const untouched = await store.head(layout.current);
          leader.child.kill('SIGCONT');
          await leader.events.next('Lease:Lost');
          await leader.events.next('Lease:Wait:Begin');
          await sleep(3_000);
          t.is((await store.head(layout.current))?.etag, untouched?.etag, 'the one that wakes up publishes nothing');
        }
        await end(standby);
        const made = standby.events.all.filter(({ msg }) => msg === 'Scan:Commit:Done');
        t.deepEqual(
          made.map(({ redone }) => redone),
          made.map(() => 0),
        );
        if (signal === 'SIGSTOP') {
          await leader.events.next('Lease:Take:Done');
          await end(leader);
          t.is(leader.child.exitCode, 0);
        }
        await sameAsOneRun(t, address, scans);
      },
    );

  test.serial(
    'leaders that are killed and stopped at any moment of their work leave what one run would have published',
    async (t) => {
      const { address, environment, folder, stream, bring, shown } = await openWorld(t);
      const scans = await scansBetween('23:30', '00:40');
      let done = 0;
      let [leader, standby] = [await stream('first'), await stream('second')];
      for (const [round, wait_ms] of [50, 250, 500, 800, 1_200, 1_700].entries()) {
        await until(() => leads(leader) || leads(standby));
        if (leads(standby)) [leader, standby] = [standby, leader];
        await bring(scans.slice(done, done + 3));
        done += 3;
        await sleep(wait_ms);
        if (round % 2 === 0) {
          leader.child.kill('SIGKILL');
          leader = await stream('again', { HAIL_DATA: leader.root });
          continue;
        }
        leader.child.kill('SIGSTOP');
        await until(() => leads(standby));
        leader.child.kill('SIGCONT');
        await until(() => !leads(leader));
        await bring(scans.slice(done, done + 1));
        done += 1;
        await sleep(wait_ms);
        standby.child.kill('SIGKILL');
        standby = await stream('again', { HAIL_DATA: standby.root });
      }
      await bring(scans.slice(done));
      await shown(scans.at(-1) as RawScan);
      await Promise.all([end(leader), end(standby)]);
      // Scans that were published before all of their files had come are made again.
      const last = await command(leader.root, ['ingest', '--from', folder], { environment });
      t.is(last.code, 0, last.stderr);
      await sameAsOneRun(t, address, scans);
    },
  );

  test.serial('a leader cut off from the database publishes nothing more, and stands by once it is back', async (t) => {
    const { address, store, stream, bring, shown } = await openWorld(t);
    const proxy = await startProxy(servers.databaseUrl());
    t.teardown(proxy.close);
    const scans = await scansBetween('23:48', '00:12');
    const leader = await stream('cut', { HAIL_DATABASE_URL: proxy.url });
    await leader.events.next('Lease:Take:Done');
    await bring(scans.slice(0, 3));
    await shown(scans[2] as RawScan);
    const standby = await stream('other');
    await standby.events.next('Lease:Wait:Begin');
    proxy.silent = true;
    const begun_ms = performance.now();
    await bring(scans.slice(3, 6));
    const { fence } = await standby.events.next('Lease:Take:Done');
    t.log(`leads after ${seconds(begun_ms, performance.now())}`);
    t.true(performance.now() - begun_ms < TAKEOVER_MS);
    await leader.events.next('Lease:Lost');
    await bring(scans.slice(6));
    await shown(scans.at(-1) as RawScan);
    t.is((await pointerIn(store))?.fence, Number(fence));
    proxy.silent = false;
    await leader.events.next('Lease:Wait:Begin');
    await end(standby);
    await leader.events.next('Lease:Take:Done');
    await end(leader);
    await sameAsOneRun(t, address, scans);
  });

  test.serial(
    'the database is restarted, and fails over to a replica without the last fence: publishing goes on by itself',
    async (t) => {
      const own = runCluster(await freePort());
      t.teardown(own.stop);
      const { address, store, stream, bring, shown } = await openWorld(t);
      const scans = await scansBetween('23:48', '00:12');
      const settings = { HAIL_DATABASE_URL: own.url };
      const streams = [await stream('first', settings), await stream('second', settings)];
      const fences: number[] = [];
      const publish = async (from: number, to: number) => {
        await bring(scans.slice(from, to));
        await shown(scans[to - 1] as RawScan);
        fences.push((await pointerIn(store))?.fence ?? 0);
      };
      await publish(0, 3);
      own.copy();
      own.restart();
      await publish(3, 6);
      own.restart();
      await publish(6, 9);
      own.failOver();
      await publish(9, scans.length);
      t.deepEqual(
        fences,
        [...new Set(fences)].sort((a, b) => a - b),
        'each leader has a larger fence',
      );
      for (const one of streams) await end(one);
      await sameAsOneRun(t, address, scans);
    },
  );

  test.serial('a late file for a scan that the leader before published makes it again', async (t) => {
    const { address, stream, bring, shown } = await openWorld(t);
    const scans = await scansBetween('23:48', '00:12');
    const [earlier] = scans.slice(3);
    const late = earlier?.files.filter(({ product }) => product === 'VIL') ?? [];
    const leader = await stream('first');
    await bring(
      scans.slice(0, 6).map((scan) => ({ ...scan, files: scan.files.filter((file) => !late.includes(file)) })),
    );
    await shown(scans[5] as RawScan);
    leader.child.kill('SIGKILL');
    const next = await stream('second');
    await bring(scans.slice(6));
    await shown(scans.at(-1) as RawScan);
    await bring([{ ...(earlier as RawScan), files: late }]);
    while (!next.events.all.some(({ msg, redone }) => msg === 'Scan:Commit:Done' && Number(redone) > 0))
      await sleep(200);
    await end(next);
    await sameAsOneRun(t, address, scans);
  });

  test.serial(
    'SIGKILL to a leader over the bucket: the standby goes on, and makes again what a late file changes',
    async (t) => {
      const { address, store, run } = await openWorld(t);
      const scans = await asObserved(t, await scansBetween('23:46', '00:08'));
      const bucket = await startBucket({ pageSize: 1000 });
      t.teardown(bucket.close);
      const put = async (files: readonly SourceFile[]) => {
        for (const file of files) bucket.put(file.key, await fs.readFile(file.location));
      };
      const [early, fresh] = [
        scans.filter(({ time_ms }) => time_ms < at('00:05')),
        scans.filter(({ time_ms }) => time_ms >= at('00:05')),
      ];
      const late =
        early.findLast(({ time_ms }) => time_ms < at('00:00'))?.files.filter(({ product }) => product === 'VIL') ?? [];
      t.is(late.length, 1);
      const stream = async (name: string, now_ms: number) =>
        run(await scratch(t, name), ['stream', '--source', 'noaa', '--no-feeds', '--every', '0.5'], {
          now_ms,
          environment: { HAIL_MRMS_URL: bucket.url, HAIL_STORM_DAY_START_HOUR: '12' },
        });
      await put(filesOf(early).filter((file) => !late.includes(file)));
      const leader = await stream('first', at('00:05'));
      await leader.events.next('Lease:Take:Done');
      const standby = await stream('second', at('00:08'));
      await leader.events.next('Date:Finish:Done');
      await standby.events.next('Lease:Wait:Begin');
      leader.child.kill('SIGKILL');
      const begun_ms = performance.now();
      await put([...late, ...filesOf(fresh)]);
      await standby.events.next('Lease:Take:Done');
      const taken_ms = performance.now();
      while (((await pointerIn(store))?.scan_id ?? '') < (fresh.at(-1)?.scan_id ?? '')) await sleep(100);
      t.log(`leads after ${seconds(begun_ms, taken_ms)}, publishes after ${seconds(begun_ms, performance.now())}`);
      t.true(taken_ms - begun_ms < TAKEOVER_MS);
      while (!standby.events.all.some(({ msg, redone }) => msg === 'Scan:Commit:Done' && Number(redone) > 0))
        await sleep(100);
      await end(standby);
      await sameAsOneRun(t, address, scans, { storm_day_start_hour: 12 });
    },
  );

  test.serial('a command is refused while a stream writes to the store, and works once it has ended', async (t) => {
    const { environment, stream, bring, shown, address } = await openWorld(t);
    const scans = await scansBetween('23:48', '23:56');
    const leader = await stream('leader');
    await bring(scans);
    await shown(scans.at(-1) as RawScan);
    const other = await scratch(t, 'other');
    const refused = await command(other, ['compact'], { environment });
    t.is(refused.code, 4, refused.stderr);
    t.regex(refused.stderr, /lease live http.*: held by .* process \d+ .*, expected no other pipeline/);
    await end(leader);
    const done = await command(other, ['compact'], { environment });
    t.is(done.code, 0, done.stderr);
    await sameAsOneRun(t, address, scans);
  });

  test.serial('a store without a database is a mistake of the settings', async (t) => {
    const { environment } = await openWorld(t);
    const { HAIL_DATABASE_URL: _, ...without } = environment;
    const { code, stderr } = await command(await scratch(t), ['compact'], { environment: without });
    t.is(code, 2);
    t.regex(stderr, /HAIL_STORE_URL is set, expected HAIL_DATABASE_URL with it/);
  });
}

/** True from the moment that a stream took the lease until it learns that it lost it. */
function leads({ child, events }: Running): boolean {
  const last = events.all.findLast(({ msg }) => msg === 'Lease:Take:Done' || msg === 'Lease:Lost');
  return child.signalCode === null && last?.msg === 'Lease:Take:Done';
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(50);
}

async function pointerIn(store: ObjectStore): Promise<Current | null> {
  const found = await store.get(layout.current);
  return found === null ? null : Current.parse(JSON.parse(Buffer.from(found.content).toString()));
}

/** Time of `HH:MM` of the evening of `scansBetween`, epoch milliseconds. */
function at(clock: string): number {
  return Date.parse(`2026-05-0${clock.startsWith('23') ? 1 : 2}T${clock}:00Z`);
}

/** Ends a stream as an operator does. */
async function end({ child }: Running): Promise<void> {
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** What the store holds is whole, and what one run over the same files publishes. */
async function sameAsOneRun(
  t: ExecutionContext,
  address: StoreAddress,
  scans: readonly RawScan[],
  settings: OpenSettings = {},
): Promise<void> {
  const copy = await scratch(t, 'copy');
  mkdirSync(copy);
  await openReplica({ path: copy, store: openObjectStore(address), fence: null }).pull(null, 'hash');
  t.deepEqual(await faultsOf(copy), []);
  sameContent(t, await logicalContent(copy), await contentOfFiles(filesOf(scans), settings));
}

function seconds(from_ms: number, to_ms: number): string {
  return `${((to_ms - from_ms) / 1000).toFixed(1)} s`;
}
