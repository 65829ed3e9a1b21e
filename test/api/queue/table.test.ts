import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import type { Shelf } from '../../../api/queue/shelf.ts';
import { tableShelf } from '../../../api/queue/table.ts';
import { queueOver } from '../../../api/queue/work.ts';
import { RecordsUnavailable } from '../../../api/records/failures.ts';
import { onSqlite, type World } from '../../records/world.ts';
import { queueContract } from './contract.ts';
import { Diary, openProcess, SETTINGS } from './diary.ts';

queueContract(onSqlite);

onSqlite(
  'while another process locks the records, nothing is lost, and what was done is not run again',
  async (t, world) => {
    const { add, queue, troubles } = await openProcess(t, world, { write_wait_ms: 50 });
    const diary = new Diary();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await add({ payload: 'done while they were locked' });
    queue.work('write', SETTINGS, async (task) => {
      await diary.note(task);
      await released;
    });
    await diary.until(1);
    const other = new DatabaseSync('path' in world.location ? world.location.path : '');
    t.teardown(() => other.close());
    other.exec('begin immediate');
    release();
    while (troubles.length === 0) await new Promise(setImmediate);
    other.exec('commit');
    while (troubles.length === 1) await new Promise(setImmediate);
    t.true(troubles[0] instanceof RecordsUnavailable);
    t.is(troubles[1], null);
    await add({ payload: 'last' });
    await diary.until(2);
    t.deepEqual(diary.payloads, ['done while they were locked', 'last']);
  },
);

onSqlite('tasks are looked for when they are due, beside the usual four looks a second', async (t, world) => {
  const { records } = await openProcess(t, world);
  let looks = 0;
  const shelf: Shelf = {
    ...tableShelf(records.store),
    add: async () => {},
    exchange: async () => {
      looks += 1;
      return [];
    },
  };
  const queue = queueOver(shelf, { failed: () => {}, troubled: () => {} });
  t.teardown(queue.close);
  queue.work('write', SETTINGS, async () => {});
  const task = { name: 'write', group: 'one', payload: null };
  await records.transaction((rows) => {
    const now_ms = Date.now();
    return queue.add(rows, ...Array.from({ length: 24 }, (_, k) => ({ ...task, due_ms: now_ms + 30 * (k + 1) })));
  });
  const before = looks;
  await sleep(900);
  t.true(looks - before >= 12, `${looks - before} looks`);
});

/** A process whose clock can be put forward and back. */
async function openWithClock(t: ExecutionContext, world: World, clock: { ahead_ms: number }) {
  const { records } = await openProcess(t, world);
  const shelf = tableShelf(records.store, () => Date.now() + clock.ahead_ms);
  const queue = queueOver(shelf, { failed: (_, __, error) => t.fail(String(error)), troubled: () => {} });
  t.teardown(queue.close);
  const add = (payload: string, wait_ms: number) =>
    records.transaction((rows) =>
      queue.add(rows, { name: 'write', group: 'one', payload, due_ms: Date.now() + clock.ahead_ms + wait_ms }),
    );
  return { shelf, queue, add, records };
}

const HOUR_MS = 3_600_000;

onSqlite('a clock that is put forward by an hour makes nobody run a task that is being run', async (t, world) => {
  const clock = { ahead_ms: 0 };
  const { queue, add } = await openWithClock(t, world, clock);
  const diary = new Diary();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await add('under way', 0);
  const stop = queue.work('write', SETTINGS, async (task) => {
    await diary.note(task);
    if (task.payload === 'under way') await released;
  });
  await diary.until(1);
  clock.ahead_ms = HOUR_MS;
  await add('an hour later', 0);
  await diary.until(2);
  release();
  await stop();
  t.deepEqual(diary.payloads, ['under way', 'an hour later']);
});

onSqlite(
  'a clock that is put back by an hour delays neither what waits nor what a dead process had',
  async (t, world) => {
    const clock = { ahead_ms: HOUR_MS };
    const { shelf, add, records } = await openWithClock(t, world, clock);
    await add('waits', 10_000);
    await add('of a dead process', -1);
    const room = {
      most: 1,
      of: () => 1,
      of_any_group: 1,
      full: [],
      full_at_most: 1,
      lease_ms: 60_000,
      held: new Set(''),
    };
    t.is((await shelf.exchange('write', [], room)).length, 1);

    clock.ahead_ms = 0;
    const diary = new Diary();
    const other = queueOver(tableShelf(records.store), { failed: () => {}, troubled: () => {} });
    t.teardown(other.close);
    other.work('write', SETTINGS, diary.note);
    await diary.until(2);
    t.deepEqual(diary.payloads.toSorted(), ['of a dead process', 'waits']);
  },
);

onSqlite('a clock that is put back under a running process delays nothing', async (t, world) => {
  const clock = { ahead_ms: HOUR_MS };
  const { queue, add } = await openWithClock(t, world, clock);
  const diary = new Diary();
  queue.work('write', SETTINGS, diary.note);
  await add('at once', 0);
  await diary.until(1);
  await add('in a while', 600_000);
  clock.ahead_ms = 0;
  await diary.until(2);
  t.deepEqual(diary.payloads, ['at once', 'in a while']);
});
