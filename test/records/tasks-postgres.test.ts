import test from 'ava';
import pg from 'pg';
import { hasPostgres, onPostgres, type World } from '../support/store/world.ts';
import { queueContract } from '../support/tasks/contract.ts';
import { Diary, openProcess, SETTINGS } from '../support/tasks/diary.ts';
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
} else test.skip('the queue on a real PostgreSQL (HAIL_TEST_DATABASE_URL is not set)', () => {});

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
