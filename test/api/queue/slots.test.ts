import test from 'ava';
import { Slots } from '../../../api/queue/slots.ts';

const SETTINGS = { at_once: 256, at_once_of_group: 4, slow_ms: 5_000, lease_ms: 60_000 };

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
  const ids = new Set(slots.room([]).choose(tasks, tasks.length));
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
    const slots = new Slots(SETTINGS);
    const begun = begin(slots, Array.from({ length: tenants }, (_, k) => tasksOf(`tenant ${k}`, 300)).flat());
    const counts = [...Map.groupBy(begun, ({ tenant }) => tenant).values()].map(({ length }) => length);
    t.is(counts.length, tenants);
    t.true(counts.every((count) => Math.abs(count - each) <= 1));
    t.true(slots.free >= each - 1);
    t.true(begin(slots, tasksOf('newcomer', 1)).length === 1);
  });

test('slow receivers of however many tenants leave a quarter of the slots to quick ones', (t) => {
  const slots = new Slots(SETTINGS);
  const slow = Array.from({ length: 500 }, (_, k) => tasksOf(`tenant ${k}`, 3)).flat();
  for (const task of slow) {
    slots.begin(task);
    slots.end(task, 15_000);
  }
  t.is(begin(slots, slow).length, 192);
  t.is(begin(slots, tasksOf('newcomer', 30)).length, 30);
});

test('a receiver gets four tasks at a time, and one after a slow one, until a quick one', (t) => {
  const slots = new Slots(SETTINGS);
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
  const slots = new Slots(SETTINGS);
  const slow = tasksOf('acme', 300);
  for (const task of slow) {
    slots.begin(task);
    slots.end(task, 15_000);
  }
  t.is(begin(slots, slow).length, 86);
  const quick = tasksOf('acme', 30).map((task) => ({ ...task, id: `quick ${task.id}`, group: `quick ${task.group}` }));
  t.is(begin(slots, quick).length, 30);
  t.true(slots.room([]).full.length >= 300);
});

test('a slow receiver is forgotten after ten minutes', (t) => {
  let now_ms = 0;
  const slots = new Slots(SETTINGS, () => now_ms);
  const tasks = tasksOf('acme', 10, 1);
  const [task] = tasks;
  if (task === undefined) throw new Error('there is no task');
  slots.begin(task);
  slots.end(task, 15_000);
  now_ms = 600_000;
  t.is(begin(slots, tasks).length, 4);
});
