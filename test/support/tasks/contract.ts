import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { pluck } from '../data/rows.ts';
import type { Register, World } from '../store/world.ts';
import { Diary, openProcess, type Process, SETTINGS } from './diary.ts';

const CHILD = fileURLToPath(new URL('working-child.ts', import.meta.url));

/** What every queue promises, whatever it lies on. */
export function queueContract(test: Register): void {
  test('a task runs once, when the transaction that added it is committed', async (t, world) => {
    const { add, queue, diary } = await openProcess(t, world);
    queue.work('write', SETTINGS, diary.note);
    await add({ payload: { of: ['any', { json: null }] }, group: 'some group' });
    queue.wake('write');
    await diary.until(1);
    await add({ payload: 'last' });
    await diary.until(2);
    t.deepEqual(diary.payloads, [{ of: ['any', { json: null }] }, 'last']);
    t.like(diary.runs[0], { group: 'some group', taken: 1 });
  });

  test('a task of a transaction that was rolled back never runs', async (t, world) => {
    const { records, add, queue, diary } = await openProcess(t, world);
    const cause = new Error('taken back');
    const failed = records.transaction(async (rows) => {
      await queue.add(rows, { name: 'write', group: 'one', payload: 'never' });
      throw cause;
    });
    t.is(await t.throwsAsync(failed), cause);
    await add({ payload: 'after it' });
    queue.work('write', { ...SETTINGS, at_once: 1 }, diary.note);
    await diary.until(1);
    await add({ payload: 'last' });
    await diary.until(2);
    t.deepEqual(diary.payloads, ['after it', 'last']);
  });

  test('a task waits until it is due, and of those that are due the longest due runs first', async (t, world) => {
    const { add, queue, diary } = await openProcess(t, world);
    const now_ms = Date.now();
    const later_ms = now_ms + 1_500;
    await add(
      { payload: 'later', due_ms: later_ms },
      { payload: 'third', due_ms: now_ms },
      { payload: 'second', due_ms: now_ms - 5_000 },
      { payload: 'first', due_ms: now_ms - 60_000 },
    );
    queue.work('write', { ...SETTINGS, at_once: 1 }, diary.note);
    await diary.until(4);
    t.deepEqual(diary.payloads, ['first', 'second', 'third', 'later']);
    t.true((diary.runs[3]?.at_ms ?? 0) >= later_ms);
  });

  test('tasks of other names are left alone', async (t, world) => {
    const { add, queue, diary } = await openProcess(t, world);
    await add({ name: 'rest', payload: 'not mine' }, { payload: 'mine' });
    const stop = queue.work('write', SETTINGS, diary.note);
    await diary.until(1);
    await stop();
    t.deepEqual(diary.payloads, ['mine']);
    queue.work('rest', SETTINGS, diary.note);
    await diary.until(2);
    t.deepEqual(diary.payloads, ['mine', 'not mine']);
  });

  test('a task whose handler failed runs again when its lease is over, and not before', async (t, world) => {
    const { add, queue, failures, diary } = await openProcess(t, world);
    const cause = new Error('not this time');
    const lease_ms = 1_200;
    const added_ms = Date.now();
    await add({ payload: 'again' });
    queue.work('write', { ...SETTINGS, lease_ms }, async (task) => {
      await diary.note(task);
      if (diary.runs.length === 1) throw cause;
    });
    await diary.until(2);
    t.deepEqual(pluck(diary.runs, 'payload'), ['again', 'again']);
    t.deepEqual(pluck(diary.runs, 'taken'), [1, 2]);
    t.true((diary.runs[1]?.at_ms ?? 0) >= added_ms + lease_ms);
    t.deepEqual(failures, [cause]);
  });

  test('a stuck group runs no more than its share, and delays no other', async (t, world) => {
    const { add, queue, diary } = await openProcess(t, world);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const long_ago_ms = Date.now() - 3_600_000;
    await add(
      ...Array.from({ length: 12 }, (_, k) => ({ tenant: 'one', group: 'stuck', payload: k, due_ms: long_ago_ms })),
      ...Array.from({ length: 12 }, (_, k) => ({ tenant: 'one', group: 'well', payload: k })),
    );
    let stuck = 0;
    let most_stuck = 0;
    const stop = queue.work('write', { ...SETTINGS, at_once: 16, at_once_of_group: 3 }, async (task) => {
      await diary.note(task);
      if (task.group === 'well') return;
      most_stuck = Math.max(most_stuck, ++stuck);
      await released;
      stuck -= 1;
    });
    await diary.until(3 + 12);
    const began = diary.runs.map(({ group }) => group);
    t.is(began.filter((group) => group === 'stuck').length, 3);
    release();
    await diary.until(24);
    await stop();
    t.is(most_stuck, 3);
    t.is(new Set(diary.runs.map(({ id }) => id)).size, 24);
  });

  test('a tenant whose tasks hang leaves slots to the tenants that come after it', async (t, world) => {
    const { add, queue, diary } = await openProcess(t, world);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const hanging = (tenant: string, k: number) => ({ tenant, group: `${tenant} ${k}`, payload: tenant });
    await add(...Array.from({ length: 60 }, (_, k) => hanging(`stuck ${k % 3}`, k)));
    const stop = queue.work('write', { ...SETTINGS, at_once: 16 }, async (task) => {
      await diary.note(task);
      if (task.tenant.startsWith('stuck')) await released;
    });
    await diary.until(12);
    await add(...Array.from({ length: 20 }, (_, k) => ({ tenant: 'well', group: `well ${k}`, payload: 'well' })));
    await diary.until(12 + 20);
    t.deepEqual(
      Map.groupBy(diary.payloads, (payload) => payload)
        .values()
        .map((runs) => runs.length)
        .toArray()
        .toSorted(),
      [20, 4, 4, 4],
    );
    release();
    await diary.until(60 + 20);
    await stop();
  });

  test('first attempts of a tenant come before its retries, however long those are due', async (t, world) => {
    const { add, queue, diary } = await openProcess(t, world);
    const retry = { tenant: 'one', retry: true, due_ms: Date.now() - 3_600_000 } as const;
    await add(
      ...['a', 'b'].map((group) => ({ ...retry, group, payload: `retry ${group}` })),
      ...['c', 'd'].map((group) => ({ tenant: 'one', group, payload: `first ${group}` })),
    );
    queue.work('write', { ...SETTINGS, at_once: 1 }, diary.note);
    await diary.until(4);
    t.deepEqual(
      diary.payloads.map((payload) => String(payload).split(' ')[0]),
      ['first', 'first', 'retry', 'retry'],
    );
  });

  test('two processes at the same tasks run each of them once', async (t, world) => {
    const processes = [await openProcess(t, world), await openProcess(t, world)] as const;
    const diary = new Diary();
    await processes[0].add(...Array.from({ length: 60 }, (_, k) => ({ payload: k, group: `group ${k % 7}` })));
    const stops = processes.map(({ queue }) => queue.work('write', SETTINGS, diary.note));
    await diary.until(60);
    for (const stop of stops) await stop();
    t.deepEqual(
      diary.payloads.toSorted((a, b) => Number(a) - Number(b)),
      Array.from({ length: 60 }, (_, k) => k),
    );
  });

  test('who stops takes no more, waits for what is under way, and leaves the rest to others', async (t, world) => {
    const { add, queue } = await openProcess(t, world);
    const [first, second] = [new Diary(), new Diary()];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await add({ payload: 'under way', due_ms: Date.now() - 60_000 }, { payload: 'left' });
    const stop = queue.work('write', { ...SETTINGS, at_once: 1 }, async (task) => {
      await first.note(task);
      await released;
    });
    await first.until(1);
    let stopped = false;
    const stopping = stop().then(() => {
      stopped = true;
    });
    queue.work('write', SETTINGS, second.note);
    await second.until(1);
    t.false(stopped);
    release();
    await stopping;
    await add({ payload: 'last' });
    await second.until(2);
    t.deepEqual([first.payloads, second.payloads], [['under way'], ['left', 'last']]);
  });

  test('tenants take turns, whoever was due first', async (t, world) => {
    const { add, queue, diary } = await openProcess(t, world);
    const due_ms = Date.now() - 60_000;
    for (const [k, group] of ['a', 'a', 'a', 'b', 'b', 'c'].entries())
      await add({ payload: `${group}${k}`, group, due_ms: due_ms + 1_000 * k });
    queue.work('write', { ...SETTINGS, at_once: 1 }, diary.note);
    await diary.until(6);
    t.deepEqual(diary.payloads, ['a0', 'b3', 'c5', 'a1', 'b4', 'a2']);
  });

  test('a lease lasts as long as its handler runs, however short it is', async (t, world) => {
    const processes = [await openProcess(t, world), await openProcess(t, world)] as const;
    const diary = new Diary();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const settings = { at_once: 1, at_once_of_group: 1, lease_ms: 8_000 };
    const work = ({ queue }: Process) =>
      queue.work('write', settings, async (task) => {
        await diary.note(task);
        if (task.payload === 'long') await released;
      });
    await processes[0].add({ payload: 'long' });
    work(processes[0]);
    await diary.until(1);
    work(processes[1]);
    await processes[0].add({ payload: 'last', due_ms: Date.now() + 9_500 });
    await diary.until(2);
    release();
    t.deepEqual(diary.payloads, ['long', 'last']);
    for (const { troubles } of processes) t.deepEqual(troubles, []);
  });

  test('a task of a killed process runs again when its lease is over, and not before', async (t, world) => {
    const { add, queue, diary } = await openProcess(t, world);
    const lease_ms = 3_000;
    const child = startChild(t, world, lease_ms);
    t.is(await child.next(), 'works');
    const added_ms = Date.now();
    await add({ payload: 'held' });
    t.is(await child.next(), 'took held');

    queue.work('write', { ...SETTINGS, lease_ms }, diary.note);
    await add({ payload: 'while it lives' });
    await diary.until(1);
    child.process.kill('SIGKILL');
    await once(child.process, 'exit');
    await add({ payload: 'after its death' });
    await diary.until(3);
    t.deepEqual(diary.payloads, ['while it lives', 'after its death', 'held']);
    t.is(diary.runs[2]?.taken, 2);
    t.true((diary.runs[2]?.at_ms ?? 0) >= added_ms + lease_ms);
  });

  test('seven thousand tasks of one tenant that have long been due keep no other tenant waiting', async (t, world) => {
    const { add, queue } = await openProcess(t, world);
    const due_ms = Date.now() - 3_600_000;
    const of = (k: number) => ({ payload: k, tenant: 'many', group: `group ${k % 300}`, due_ms });
    for (let k = 0; k < 7_000; k += 1_000) await add(...Array.from({ length: 1_000 }, (_, n) => of(k + n)));
    await add({ payload: 'of another', tenant: 'other', group: 'of another' });
    const { promise: hasRun, resolve } = Promise.withResolvers<void>();
    let runs = 0;
    queue.work('write', { at_once: 64, at_once_of_group: 4, lease_ms: 60_000 }, async ({ payload }) => {
      runs += 1;
      if (payload === 'of another') resolve();
    });
    await hasRun;
    t.true(runs < 500, `${runs} ran before it`);
  });
}

function startChild(t: ExecutionContext, { location }: World, lease_ms: number) {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(location), String(lease_ms)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string | undefined> => (await lines.next()).value;
  return { process: child, next };
}
