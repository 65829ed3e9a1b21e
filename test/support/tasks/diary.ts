import type { ExecutionContext } from 'ava';
import { openQueue, type Queue, type Task } from '../../../api/records/tasks.ts';
import type { World } from '../store/world.ts';
import { until } from '../until.ts';

export const SETTINGS: Parameters<Queue['work']>[1] = { at_once: 8, at_once_of_group: 4, lease_ms: 60_000 };

/** A queue as one process has it, with its own connections. */
export type Process = Awaited<ReturnType<typeof openProcess>>;

/** Opens the records of a world, and the queue beside them. */
export async function openProcess(t: ExecutionContext, world: World, settings: Parameters<World['open']>[0] = {}) {
  const records = await world.open(settings);
  const failures: unknown[] = [];
  const troubles: unknown[] = [];
  const queue = openQueue(records.store, {
    failed: (_, __, error) => failures.push(error),
    troubled: (_, error) => troubles.push(error),
  });
  t.teardown(queue.close);
  // The queue keeps no process alive; here nothing else does while a task is waited for.
  const alive = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(alive));
  return {
    records,
    queue,
    diary: new Diary(),
    /** What its handlers failed with. */
    failures,
    /** What kept it from taking and removing tasks. */
    troubles,
    add: (...tasks: readonly Partial<Parameters<Queue['add']>[1]>[]) =>
      records.transaction((rows) =>
        queue.add(rows, ...tasks.map((task) => ({ name: 'write', group: 'one', payload: null, ...task }))),
      ),
  };
}

/** Runs of tasks, in the order in which they began. */
export class Diary {
  readonly runs: (Task & { readonly at_ms: number })[] = [];

  /** Notes a run. */
  readonly note = async (task: Task): Promise<void> => void this.runs.push({ ...task, at_ms: Date.now() });

  /** Resolves once so many have begun. */
  until(count: number): Promise<void> {
    return until(() => this.runs.length >= count);
  }

  get payloads(): unknown[] {
    return this.runs.map(({ payload }) => payload);
  }
}
