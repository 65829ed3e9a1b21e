import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { type MadeDate, openDateTasks } from '../../../pipeline/cluster/date-tasks.ts';
import { readConfig } from '../../../pipeline/config.ts';
import { silent } from '../../../pipeline/log.ts';
import { work } from '../../../pipeline/run/work.ts';
import { layout } from '../../../schemas/layout.ts';
import { openObjectStore } from '../../../schemas/object-store/client.ts';
import { timestamp } from '../../../schemas/time.ts';
import { contentOfFiles, logicalContent, sameContent } from '../../support/data/content.ts';
import { aroundMidnight, betweenMonths, midnight, nextMidnight } from '../../support/data/small-world.ts';
import {
  asObserved,
  deliver,
  filesOf,
  MONTH_LATER_MS,
  preparedMonth,
  type RawScan,
  scratch,
} from '../../support/data/world.ts';
import type { Events } from '../../support/kill/events.ts';
import { command, ended, faultsOf } from '../../support/kill/killed.ts';
import { runFaultProxy } from '../../support/object-store/fault-proxy.ts';
import { storeSettings } from '../../support/object-store/server.ts';
import { noSharedStore, type Running, startServers } from '../../support/store/shared-store.ts';

if (noSharedStore !== null)
  test(`backfills by workers are not tested: ${noSharedStore}`, (t) => t.truthy(noSharedStore));
else {
  const servers = startServers(test, 'backfill');

  /** A store of the test's own with a folder of raw files, the command that adds dates, and workers. */
  async function openWorld(t: ExecutionContext) {
    const shared = await servers.openStore(t);
    const { folder, environment } = shared;
    const settings = { now_ms: MONTH_LATER_MS, environment };
    const root = await scratch(t);
    const backfill = (from: string, to: string, ...more: string[]) =>
      command(
        root,
        ['backfill', '--from', from, '--to', to, '--source', 'dir', '--folder', folder, '--json', ...more],
        settings,
      );
    /** A worker that goes on until it is ended. */
    const startWork = async (name: string) => shared.run(await scratch(t, name), ['work'], settings);
    return { ...shared, root, backfill, startWork };
  }

  const threeDates = async () => [...(await midnight()), ...(await nextMidnight())];

  const expectedOf = (scans: readonly RawScan[]) => contentOfFiles(filesOf(scans), { now_ms: MONTH_LATER_MS });

  test.serial('two workers publish what one ingest does, over two midnights with live storms', async (t) => {
    const { root, backfill, startWork, bring } = await openWorld(t);
    const scans = await threeDates();
    await bring(scans);
    const workers = [await startWork('first'), await startWork('second')];
    const { code, stdout, stderr } = await backfill('2026-05-01', '2026-05-03');
    t.is(code, 0, stderr);
    t.is(JSON.parse(stdout).scans, scans.length);
    sameContent(t, await logicalContent(root), await expectedOf(scans));
    t.deepEqual(await faultsOf(root), []);
    for (const { child } of workers) {
      child.kill('SIGTERM');
      t.is((await ended(child)).code, 0);
    }
  });

  test.serial('the date of a worker that is killed is made by another one', async (t) => {
    const { root, backfill, startWork, bring } = await openWorld(t);
    const scans = await threeDates();
    await bring(scans);
    const { child, events } = await startWork('killed');
    const result = backfill('2026-05-01', '2026-05-03');
    await events.next('Backfill:Date:Begin');
    await sleep(700);
    child.kill('SIGKILL');
    const other = await startWork('other');
    const { code, stderr } = await result;
    t.is(code, 0, stderr);
    t.true(other.events.all.some(({ msg, attempt }) => msg === 'Backfill:Date:Begin' && attempt === 2));
    sameContent(t, await logicalContent(root), await expectedOf(scans));
  });

  test.serial('a date that was made without the date before is made again once that is there', async (t) => {
    const { root, backfill, startWork, bring } = await openWorld(t);
    const scans = await midnight();
    const { events } = await startWork('worker');
    await bring(scans.slice(6));
    t.is((await backfill('2026-05-02', '2026-05-02')).code, 0);
    await bring(scans.slice(0, 6));
    const { code, stderr } = await backfill('2026-05-01', '2026-05-02');
    t.is(code, 0, stderr);
    t.is(events.all.filter(({ msg, date }) => msg === 'Backfill:Date:Done' && date === '2026-05-02').length, 2);
    sameContent(t, await logicalContent(root), await expectedOf(scans));
  });

  test.serial('the date after the range is made again when its tracks change', async (t) => {
    const { root, folder, environment, backfill, startWork, bring } = await openWorld(t);
    const scans = await midnight();
    await bring(scans.slice(6));
    const ingest = await command(root, ['ingest', '--from', folder], { now_ms: MONTH_LATER_MS, environment });
    t.is(ingest.code, 0, ingest.stderr);
    await bring(scans.slice(0, 6));
    await startWork('worker');
    const { code, stderr } = await backfill('2026-05-01', '2026-05-01');
    t.is(code, 0, stderr);
    sameContent(t, await logicalContent(root), await expectedOf(scans));
  });

  test.serial('a date that would lose scans or change its kind fails alone, and stays', async (t) => {
    const { root, folder, backfill, startWork, bring } = await openWorld(t);
    const scans = await aroundMidnight();
    await startWork('worker');
    await bring(scans.slice(0, 3));
    t.is((await backfill('2026-05-01', '2026-05-01')).code, 0);
    const before = await logicalContent(root);
    // Another folder has one scan of the first date.
    await deliver(`${folder}-fewer`, filesOf(scans.slice(2)));
    const fewer = await backfill('2026-05-01', '2026-05-02', '--again', '--folder', `${folder}-fewer`);
    t.is(fewer.code, 1);
    const [first, second] = JSON.parse(fewer.stdout).dates;
    t.regex(first.reason, /2026-05-01: holds 3 scans, of which 2 \(.* first\) are not in the source/);
    t.is(second.status, 'done');
    await deliver(`${folder}-observed`, filesOf(await asObserved(t, scans.slice(0, 3))));
    const observed = await backfill('2026-05-01', '2026-05-01', '--folder', `${folder}-observed`);
    t.regex(JSON.parse(observed.stdout).dates[0].reason, /holds simulated data, found observed data/);
    const after = await logicalContent(root);
    t.deepEqual(after['2026-05-01 scans'], before['2026-05-01 scans']);
    t.deepEqual(after['2026-05-01 tracks'], before['2026-05-01 tracks']);
  });

  test.serial(
    'a stream that leads takes the dates of workers and joins their months, again after it was killed',
    async (t) => {
      const shared = await openWorld(t);
      const { root, backfill, startWork, bring, run } = shared;
      const [earlier, live] = [await betweenMonths('23:54', '00:06'), await aroundMidnight()];
      await bring(earlier);
      const incoming = await scratch(t, 'incoming');
      mkdirSync(incoming);
      const settings = { now_ms: MONTH_LATER_MS };
      const stream = async (name: string) =>
        run(await scratch(t, name), ['stream', '--from', incoming, '--every', '0.3'], settings);
      const leader = await stream('leader');
      await deliver(incoming, filesOf(live.slice(0, 4)));
      await leader.events.next('Stream:Publish:Done');
      await startWork('worker');
      const { code, stderr } = await backfill('2026-03-31', '2026-04-01');
      t.is(code, 0, stderr);
      t.regex(stderr, /Backfill:Finish:Postponed/);
      await joined(leader, '2026-03');
      await joined(leader, '2026-04');
      await deliver(incoming, filesOf(live.slice(4)));
      await leader.events.next('Stream:Publish:Done');

      const next = await stream('next');
      await next.events.next('Lease:Wait:Begin');
      const again = backfill('2026-04-01', '2026-04-01', '--again');
      await leader.events.next('Replica:Take:Done');
      leader.child.kill('SIGKILL');
      t.is((await again).code, 0);
      // The one that was killed may just have joined the month and pushed it to the store.
      const joins = () =>
        [leader, next].flatMap(({ events }) => monthsOf(events)).filter((month) => month === '2026-04');
      while (joins().length < 2) await sleep(100);
      next.child.kill('SIGTERM');
      await once(next.child, 'exit');
      t.is([leader, next].flatMap(({ events }) => monthsOf(events)).filter((month) => month === '2026-03').length, 1);
      t.true(joins().length <= 3, 'once for each time that it was made, and once more at the most for the kill');
      const { code: last } = await command(root, ['compact'], { ...settings, environment: shared.environment });
      t.is(last, 0);
      t.deepEqual(await faultsOf(root), []);
      sameContent(t, await logicalContent(root), await expectedOf([...earlier, ...live]));
    },
  );

  test.serial('a date costs the same requests however many dates the store holds', async (t) => {
    const { address, environment, bring, folder } = await openWorld(t);
    const store = openObjectStore(address);
    const proxy = await runFaultProxy(address);
    t.teardown(proxy.stop);
    const scans = await aroundMidnight();
    await bring(scans);
    await store.put(layout.root, await fs.readFile(join(await preparedMonth(scans), layout.root)));
    const proxied = { ...environment, ...storeSettings(proxy.through(address)), HAIL_NOW: timestamp(MONTH_LATER_MS) };
    const config = readConfig({ ...proxied, HAIL_DATA: await scratch(t, 'worker') });
    const tasks = await openDateTasks(servers.databaseUrl(), proxied.HAIL_STORE_URL);
    t.teardown(tasks.close);
    /** Requests that making the date takes; the number of its list depends on the lease. */
    const cost = async () => {
      const first = proxy.seen.length;
      await tasks.add(['2026-05-02'], { kind: 'dir', folder }, true);
      const request = { threads: 1, log: silent, signal: new AbortController().signal, until_done: true };
      t.deepEqual(await work(config, request), { dates: 1, scans: 3, failed: 0 });
      return proxy.seen.slice(first).map(({ method, key }) => `${method} ${key.replace(/\d{6,}\.json/, 'N.json')}`);
    };
    const alone = await cost();
    const objects = await Array.fromAsync(store.list(''), ({ key }) => key);
    for (const key of objects.filter((one) => one.includes('2026-05-02'))) {
      const text = Buffer.from((await store.get(key))?.content ?? []);
      for (const date of ['2026-04-01', '2026-04-02', '2026-04-03', '2026-04-04', '2026-04-05', '2026-04-06'])
        await store.put(
          key.replaceAll('2026-05-02', date),
          key.endsWith('.json') ? Buffer.from(text.toString().replaceAll('2026-05-02', date)) : text,
        );
      await store.remove(key);
    }
    const among = await cost();
    t.log(`${alone.length} requests`);
    t.deepEqual(among.sort(), alone.sort());
  });

  /** Months that a process has joined, in order. */
  const monthsOf = (events: Events) =>
    events.all.filter(({ msg }) => msg === 'Month:Join:Done').map(({ month }) => String(month));

  async function joined({ events }: Running, month: string): Promise<void> {
    while (!monthsOf(events).includes(month)) await sleep(100);
  }

  /** Lets the leases and rests of the tasks of a store end. */
  async function makeDue(store: string): Promise<void> {
    const client = new pg.Client(servers.databaseUrl());
    await client.connect();
    await client.query("update pipeline_tasks set due_at = clock_timestamp() - interval '1 s' where store = $1", [
      store,
    ]);
    await client.end();
  }

  const MADE: MadeDate = {
    ...{ scans: 1, seconds: 1, rejected: 0, missing: 0 },
    ...{ made_from: null, left_as: 'a', follows_from_ms: 0, ends_ms: 1 },
  };

  test.serial('a date that always fails is tried three times, and its reason stays', async (t) => {
    const tasks = await openDateTasks(servers.databaseUrl(), 'failing');
    t.teardown(tasks.close);
    await tasks.add(['2026-05-01'], {}, false);
    for (let attempt = 1; attempt <= 3; attempt++) {
      const task = await tasks.claim('worker');
      if (task === null) throw new Error('no date was due');
      t.deepEqual([task.attempts, task.is_last], [attempt, attempt === 3]);
      t.is(await tasks.claim('other'), null);
      await tasks.fail(task, 'the grid is broken', false);
      t.is(await tasks.claim('worker'), null);
      await makeDue('failing');
    }
    const [row] = await tasks.list('2026-05-01', '2026-05-01');
    t.deepEqual([row?.status, row?.reason, (await tasks.count()).open], ['failed', 'the grid is broken', 0]);
    await tasks.add(['2026-05-01'], {}, false);
    t.is((await tasks.claim('worker'))?.attempts, 1);
  });

  test.serial('a date whose workers vanish three times has failed, and names the last one', async (t) => {
    const tasks = await openDateTasks(servers.databaseUrl(), 'vanishing');
    t.teardown(tasks.close);
    await tasks.add(['2026-05-01'], {}, false);
    for (let attempt = 1; attempt <= 3; attempt++) {
      const task = await tasks.claim(`worker ${attempt}`);
      if (task === null) throw new Error('no date was due');
      t.true(await tasks.renew(task));
      await makeDue('vanishing');
    }
    t.is(await tasks.claim('worker 4'), null);
    const [row] = await tasks.list('2026-05-01', '2026-05-01');
    t.deepEqual([row?.status, row?.reason], ['failed', 'worker 3 did not renew its claim']);
  });

  test.serial('a date waits again when it was made from other tracks than the date before leaves', async (t) => {
    const tasks = await openDateTasks(servers.databaseUrl(), 'joined');
    t.teardown(tasks.close);
    await tasks.add(['2026-05-01', '2026-05-02', '2026-05-03'], {}, false);
    const first = await tasks.claim('one');
    const third = await tasks.claim('two');
    const second = await tasks.claim('three');
    if (first === null || second === null || third === null) throw new Error('three dates were due');
    t.deepEqual([first.storm_date, second.storm_date, third.storm_date], ['2026-05-01', '2026-05-02', '2026-05-03']);
    const statuses = async () => (await tasks.list('2026-05-01', '2026-05-03')).map(({ status }) => status);
    t.true(await tasks.finish(third, { ...MADE, made_from: 'b', left_as: 'c' }));
    t.true(await tasks.finish(second, { ...MADE, made_from: 'x', left_as: 'b' }));
    t.deepEqual(await statuses(), ['running', 'done', 'done']);
    t.true(await tasks.finish(first, { ...MADE, left_as: 'a' }));
    t.deepEqual(await statuses(), ['done', 'waiting', 'done']);
    const again = await tasks.claim('one');
    if (again === null) throw new Error('the second date was due');
    t.true(await tasks.finish(again, { ...MADE, made_from: 'a', left_as: 'b' }));
    t.deepEqual(await statuses(), ['done', 'done', 'done']);
    t.false(await tasks.finish(again, MADE));
  });
}
