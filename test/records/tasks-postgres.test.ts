import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import pg from 'pg';
import { recordsOver } from '../../api/billing/records.ts';
import { openDatabase } from '../../api/records/database.ts';
import { tableTaskStore } from '../../api/records/tasks/table.ts';
import { startProxy } from '../support/store/proxy.ts';
import { hasPostgres, onPostgres, type World } from '../support/store/world.ts';
import { queueContract } from '../support/tasks/contract.ts';
import { Diary, openProcess, type Process, SETTINGS } from '../support/tasks/diary.ts';
import { until } from '../support/until.ts';

if (hasPostgres) {
  queueContract(onPostgres);

  onPostgres('connections that the server ends lose no task', async (t, world) => {
    const { add, queue, troubles } = await openProcess(t, world);
    const diary = new Diary();
    const tasks = Array.from({ length: 40 }, (_, k) => ({ payload: k, group: `group ${k % 5}` }));
    await add(...tasks);
    const done = new Set<unknown>();
    const { promise: allDone, resolve } = Promise.withResolvers<void>();
    queue.work('write', { ...SETTINGS, at_once: 3, lease_ms: 1_000 }, async (task) => {
      await diary.note(task);
      if (diary.runs.length % 10 === 5) await endConnections(world);
      done.add(task.payload);
      if (done.size === tasks.length) resolve();
    });
    await allDone;
    t.is(done.size, 40);
    // The last connections may have ended a moment ago.
    await until(() => (troubles.at(-1) ?? null) === null);
  });

  onPostgres('a claim whose answer was lost holds up no task until the end of its lease', async (t, world) => {
    const proxy = await startProxy(urlOf(world));
    t.teardown(proxy.close);
    const { records, queue, add, troubles } = await openProcess(t, over(world, proxy.url));
    t.teardown(records.close);
    const diary = new Diary();
    const stop = queue.work('write', SETTINGS, diary.note);
    await add({ payload: 'first' });
    const isLeft = async () => (await queue.payloads('write')).length > 0;
    await until(async () => !(await isLeft()));
    proxy.commits = 'cut after';
    await add(...Array.from({ length: 8 }, (_, k) => ({ payload: k, group: `group ${k}` })));
    await until(() => troubles.length > 0);
    proxy.commits = 'passes';
    const began_ms = performance.now();
    await diary.until(9);
    t.true(performance.now() - began_ms < SETTINGS.lease_ms / 4);
    t.deepEqual(
      diary.runs
        .slice(1)
        .map(({ payload, taken }) => [payload, taken])
        .toSorted(),
      Array.from({ length: 8 }, (_, k) => [k, 2]),
    );
    await stop();
  });

  onPostgres(
    'a clock of the server that is set forward makes no task due early, and ends the lease of none that runs',
    async (t, world) => {
      const url = new URL(urlOf(world));
      const schema = url.searchParams.get('application_name') ?? '';
      const client = new pg.Client(url.href);
      await client.connect();
      t.teardown(() => client.end());
      await client.query(`create table clock (ahead interval); insert into clock values ('0');
        create function statement_timestamp() returns timestamptz stable
          return pg_catalog.statement_timestamp() + (select ahead from clock)`);
      // Before the functions of PostgreSQL.
      url.searchParams.set('options', `-c search_path=${schema},pg_catalog`);
      const processes = [await openProcess(t, over(world, url.href)), await openProcess(t, over(world, url.href))];
      for (const { records } of processes) t.teardown(records.close);
      const diary = new Diary();
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      t.teardown(end);
      for (const { queue } of processes)
        queue.work('write', SETTINGS, async (task) => {
          await diary.note(task);
          if (task.payload === 'long') await ended;
        });
      const [{ add }] = processes as [Process];
      const at_ms = Date.now();
      await add(
        { payload: 'long' },
        { payload: 'soon', group: 'two', due_ms: at_ms + 1_500 },
        { payload: 'late', group: 'three', due_ms: at_ms + 60_000 },
      );
      await diary.until(1);
      await client.query("update clock set ahead = '7 minutes'");
      await diary.until(2);
      t.true(Date.now() - at_ms > 900);
      await sleep(500);
      t.deepEqual(diary.payloads, ['long', 'soon']);
    },
  );

  onPostgres('tasks that a backup of a SQLite file brought with it are run', async (t, world) => {
    const { records } = await openProcess(t, world);
    const table = tableTaskStore(records.store);
    await records.transaction((rows) => table.add(rows, { name: 'write', group: 'one', payload: ['from', 'a file'] }));
    const { queue } = await openProcess(t, world);
    const diary = new Diary();
    const stop = queue.work('write', SETTINGS, diary.note);
    await diary.until(1);
    await stop();
    t.like(diary.runs[0], { payload: ['from', 'a file'], group: 'one' });
    t.deepEqual(await records.reader.selectFrom('tasks').select('id').execute(), []);
  });

  onPostgres(
    'tasks that wait in the pg-boss schema of an earlier version are run, and that schema goes',
    async (t, world) => {
      const client = new pg.Client('url' in world.location ? world.location.url : '');
      await client.connect();
      t.teardown(() => client.end());
      const { rows } = await client.query("select current_schema() || '_queue' as schema");
      const { schema } = rows[0];
      // What pg-boss 12 makes, as far as tasks were stored in it.
      await client.query(`create schema ${schema};
      create type ${schema}.job_state as enum ('created', 'retry', 'active', 'completed', 'cancelled', 'failed');
      create table ${schema}.job (id uuid primary key default gen_random_uuid(), name text, state ${schema}.job_state,
        priority integer, data jsonb, group_id text, singleton_key text, retry_count integer default 0,
        start_after timestamptz default now(), created_on timestamptz default now(), started_on timestamptz);
      insert into ${schema}.job (name, state, priority, data, group_id, singleton_key, started_on) values
        ('write', 'retry', -28211876, '{"payload": "retry"}', 'a', 'one', null),
        ('write', 'active', 971788064, '{"payload": "held"}', 'b', 'one', now()),
        ('write', 'created', 971788059, '{"payload": ["it''s", null]}', 'c', null, null),
        ('write', 'completed', 971788059, '{"payload": "done"}', 'c', null, now())`);
      const { queue } = await openProcess(t, world);
      const diary = new Diary();
      const stop = queue.work('write', SETTINGS, diary.note);
      await diary.until(3);
      await stop();
      t.deepEqual(diary.runs.map(({ payload, group, tenant, taken }) => [payload, group, tenant, taken]).toSorted(), [
        ['held', 'b', 'one', 2],
        [["it's", null], 'c', 'c', 1],
        ['retry', 'a', 'one', 1],
      ]);
      const { rows: left } = await client.query('select 1 from pg_namespace where nspname = $1', [schema]);
      t.deepEqual(left, []);
    },
  );
} else test.skip('the queue on a real PostgreSQL (HAIL_TEST_DATABASE_URL is not set)', () => {});

function urlOf({ location }: World): string {
  if (!('url' in location)) throw new Error('the test is on no server, expected PostgreSQL');
  return location.url;
}

/** The world of a test whose records are reached by another address. */
function over(world: World, url: string): World {
  return { ...world, open: () => recordsOver(openDatabase({ url }), { now: () => world.now_ms }) };
}

/** Ends every connection to the schemas of a test. */
async function endConnections({ location }: World): Promise<void> {
  const url = new URL('url' in location ? location.url : '');
  const name = url.searchParams.get('application_name');
  // Its own connection goes by no name.
  url.searchParams.delete('application_name');
  const client = new pg.Client(url.href);
  await client.connect();
  await client.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [name]);
  await client.end();
}
