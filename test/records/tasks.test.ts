import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { RecordsUnavailable } from '../../api/records/errors.ts';
import type { Candidate, TaskStore } from '../../api/records/tasks/queue.ts';
import { Slots } from '../../api/records/tasks/slots.ts';
import { tableTaskStore } from '../../api/records/tasks/table.ts';
import { queueOver } from '../../api/records/tasks/work.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';
import { onSqlite, type World } from '../support/store/world.ts';
import { queueContract } from '../support/tasks/contract.ts';
import { Diary, openProcess, SETTINGS } from '../support/tasks/diary.ts';
import { until } from '../support/until.ts';

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
    await until(() => troubles.length > 0);
    other.exec('commit');
    await until(() => troubles.length > 1);
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
  const taskStore: TaskStore = {
    ...tableTaskStore(records.store),
    add: async () => {},
    ackAndClaim: async () => {
      looks += 1;
      return [];
    },
  };
  const queue = queueOver(taskStore, { failed: () => {}, troubled: () => {} });
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
  const taskStore = tableTaskStore(records.store, () => Date.now() + clock.ahead_ms);
  const queue = queueOver(taskStore, { failed: (_, __, error) => t.fail(String(error)), troubled: () => {} });
  t.teardown(queue.close);
  const add = (payload: string, wait_ms: number) =>
    records.transaction((rows) =>
      queue.add(rows, { name: 'write', group: 'one', payload, due_ms: Date.now() + clock.ahead_ms + wait_ms }),
    );
  return { taskStore, queue, add, records };
}

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
  clock.ahead_ms = MS_PER_HOUR;
  await add('an hour later', 0);
  await diary.until(2);
  release();
  await stop();
  t.deepEqual(diary.payloads, ['under way', 'an hour later']);
});

/** Room for one task of anybody. */
const ROOM = {
  most: 1,
  choose: (due: readonly Candidate[]) => due.slice(0, 1).map(({ id }) => id),
  full: [],
  full_tenants: [],
  lease_ms: 60_000,
  held: new Set<string>(),
};

onSqlite(
  'a clock that is put back by an hour while no service runs delays neither what waits nor what a dead process had',
  async (t, world) => {
    const clock = { ahead_ms: MS_PER_HOUR };
    const { taskStore, add, records } = await openWithClock(t, world, clock);
    await add('waits', 10_000);
    await add('of a dead process', -1);
    t.is((await taskStore.ackAndClaim('write', [], ROOM)).length, 1);

    clock.ahead_ms = 0;
    const diary = new Diary();
    const other = queueOver(tableTaskStore(records.store), { failed: () => {}, troubled: () => {} });
    t.teardown(other.close);
    other.work('write', SETTINGS, diary.note);
    await diary.until(2);
    t.deepEqual(diary.payloads.toSorted(), ['of a dead process', 'waits']);
  },
);

for (const [how, before_ms, after_ms] of [
  ['back', MS_PER_HOUR, 0],
  ['forward', 0, MS_PER_HOUR],
] as const)
  onSqlite(`a clock that is put ${how} under a running process changes no wait`, async (t, world) => {
    const wait_ms = 1_500;
    const clock = { ahead_ms: before_ms };
    const { queue, add } = await openWithClock(t, world, clock);
    const diary = new Diary();
    queue.work('write', SETTINGS, diary.note);
    await add('at once', 0);
    await diary.until(1);
    const added_ms = performance.now();
    await add('in a while', wait_ms);
    await add('in an hour', MS_PER_HOUR);
    clock.ahead_ms = after_ms;
    await diary.until(2);
    t.deepEqual(diary.payloads, ['at once', 'in a while']);
    t.true(performance.now() - added_ms >= wait_ms);
  });

onSqlite('a clock that is put back or forward gives no task of a live process to another one', async (t, world) => {
  const clock = { ahead_ms: 0 };
  const { taskStore, add, records } = await openWithClock(t, world, clock);
  const other = tableTaskStore(records.store, () => Date.now() + clock.ahead_ms);
  t.is((await other.ackAndClaim('write', [], ROOM)).length, 0);
  await add('held', 0);
  t.is((await taskStore.ackAndClaim('write', [], ROOM)).length, 1);
  for (const ahead_ms of [MS_PER_HOUR, -MS_PER_HOUR, 0]) {
    clock.ahead_ms = ahead_ms;
    for (const each of [other, taskStore]) t.deepEqual(await each.ackAndClaim('write', [], ROOM), []);
  }
});

onSqlite('a queue that is opened ends no lease of its own process, and none that names nobody', async (t, world) => {
  const { records, add } = await openProcess(t, world);
  const taskStore = tableTaskStore(records.store);
  await add({ payload: 'ours' });
  await add({ payload: 'of an earlier version' });
  const [ours] = await taskStore.ackAndClaim('write', [], ROOM);
  await records.transaction((rows) =>
    rows
      .updateTable('tasks')
      .set({ lease: 'b3c1', lease_until_ms: Date.now() + MS_PER_HOUR })
      .where('id', '!=', ours?.id ?? '')
      .execute(),
  );
  await taskStore.endLeasesOfDead();
  const rows = await records.reader.selectFrom('tasks').select(['lease', 'lease_until_ms']).execute();
  t.true(rows.every(({ lease, lease_until_ms }) => lease !== null && lease_until_ms > Date.now()));
});

onSqlite('the backlog of one tenant is not read through for the tasks of others', async (t, world) => {
  const { records, queue, add } = await openProcess(t, world);
  const long_ago_ms = Date.now() - MS_PER_HOUR;
  const backlog = Array.from({ length: 1_000 }, (_, k) => ({
    ...{ tenant: 'large', group: `group ${k % 50}`, payload: k, due_ms: long_ago_ms },
  }));
  await add(...backlog);
  await add({ tenant: 'small', group: 'of small', payload: 'mine' });
  const { rows } = await sql<{ detail: string }>`explain query plan select min(tenant) from tasks where name = 'write'
    and tenant > 'large'`.execute(records.reader);
  t.regex(rows.map(({ detail }) => detail).join(), /SEARCH tasks USING COVERING INDEX tasks_by_tenant/);
  const diary = new Diary();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const stop = queue.work('write', { ...SETTINGS, at_once: 8 }, async (task) => {
    await diary.note(task);
    await released;
  });
  await diary.until(5);
  t.true(diary.payloads.includes('mine'));
  await records.transaction((transaction) => transaction.deleteFrom('tasks').execute());
  release();
  await stop();
});

const SLOTS_SETTINGS = { at_once: 256, at_once_of_group: 4, slow_ms: 5_000, lease_ms: 60_000 };

interface Waiting {
  readonly id: string;
  readonly tenant: string;
  readonly group: string;
}

/** Tasks of a tenant, each of a receiver of its own where `receivers` is left out. */
function tasksOf(tenant: string, count: number, receivers = count): readonly Waiting[] {
  return Array.from({ length: count }, (_, k) => ({
    ...{ id: `${tenant} ${k}`, tenant, group: `${tenant} receiver ${k % receivers}` },
  }));
}

/** Begins what fits of the tasks; returns what was begun. */
function begin(slots: Slots, tasks: readonly Waiting[]): readonly Waiting[] {
  const ids = new Set(slots.limits([]).choose(tasks, tasks.length));
  const begun = tasks.filter(({ id }) => ids.has(id));
  for (const task of begun) slots.begin(task);
  return begun;
}

for (const [tenants, each] of [
  [1, 128],
  [2, 85],
  [3, 64],
  [7, 32],
  [63, 4],
] as const)
  test(`${tenants} tenants whose tasks hang get ${each} slots each, and leave some`, (t) => {
    const slots = new Slots(SLOTS_SETTINGS);
    const begun = begin(slots, Array.from({ length: tenants }, (_, k) => tasksOf(`tenant ${k}`, 300)).flat());
    const counts = [...Map.groupBy(begun, ({ tenant }) => tenant).values()].map(({ length }) => length);
    t.is(counts.length, tenants);
    t.true(counts.every((count) => Math.abs(count - each) <= 1));
    t.true(slots.free >= each - 1);
    t.true(begin(slots, tasksOf('newcomer', 1)).length === 1);
  });

test('slow receivers of however many tenants leave a quarter of the slots to quick ones', (t) => {
  const slots = new Slots(SLOTS_SETTINGS);
  const slow = Array.from({ length: 500 }, (_, k) => tasksOf(`tenant ${k}`, 3)).flat();
  for (const task of slow) {
    slots.begin(task);
    slots.end(task, 15_000);
  }
  t.is(begin(slots, slow).length, 192);
  t.is(begin(slots, tasksOf('newcomer', 30)).length, 30);
});

test('a receiver gets four tasks at a time, and one after a slow one, until a quick one', (t) => {
  const slots = new Slots(SLOTS_SETTINGS);
  const tasks = tasksOf('acme', 10, 1);
  const first = begin(slots, tasks);
  t.is(first.length, 4);
  for (const task of first) slots.end(task, 15_000);
  const second = begin(slots, tasks);
  t.is(second.length, 1);
  for (const task of second) slots.end(task, 100);
  t.is(begin(slots, tasks).length, 4);
});

test('slow receivers of a tenant leave half of its slots to its quick ones', (t) => {
  const slots = new Slots(SLOTS_SETTINGS);
  const slow = tasksOf('acme', 300);
  for (const task of slow) {
    slots.begin(task);
    slots.end(task, 15_000);
  }
  t.is(begin(slots, slow).length, 86);
  const quick = tasksOf('acme', 30).map((task) => ({ ...task, id: `quick ${task.id}`, group: `quick ${task.group}` }));
  t.is(begin(slots, quick).length, 30);
  t.true(slots.limits([]).full.length >= 300);
});

test('a slow receiver is forgotten after ten minutes', (t) => {
  let now_ms = 0;
  const slots = new Slots(SLOTS_SETTINGS, () => now_ms);
  const tasks = tasksOf('acme', 10, 1);
  const [task] = tasks;
  if (task === undefined) throw new Error('there is no task');
  slots.begin(task);
  slots.end(task, 15_000);
  now_ms = 600_000;
  t.is(begin(slots, tasks).length, 4);
});
