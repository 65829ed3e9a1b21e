import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { Store } from './database.ts';
import type { Database } from './schema.ts';

/** Interval of the polls for due tasks that no call of `wake` announced: retries, and tasks of other processes. */
const POLL_EVERY_MS = 250;
/** Share of the slots that the tasks of one tenant get at most. */
const TENANT_SHARE = 1 / 4;
/** Tasks of one claim: a task of another tenant that comes later waits for a few hundredths of a second. */
const CLAIMED_AT_ONCE_MAX = 32;
/** Extensions within one lease: two of them may fail. */
const EXTENSIONS_PER_LEASE = 3;

/** Work that starts at a given time. */
interface NewTask {
  /** Selects the handler. */
  readonly name: string;
  /** `at_once_of_group` bounds the running tasks of a group. */
  readonly group: string;
  /** Tenants share the slots of a handler. Default: the group. */
  readonly tenant?: string;
  /** Repeats a failed task: the tenant's first attempts run before it. */
  readonly retry?: true;
  /** Plain JSON. */
  readonly payload: unknown;
  /** Epoch milliseconds of the machine's clock. Default: now. */
  readonly due_ms?: number;
}

export interface Task {
  readonly id: string;
  readonly group: string;
  readonly tenant: string;
  readonly payload: unknown;
  /** Claims of this task, 1 at first. More: an earlier run failed, or its process died. */
  readonly taken: number;
}

interface WorkSettings {
  /** Tasks of this handler that this process runs at the same time: its slots. */
  readonly at_once: number;
  /** The same for one group. */
  readonly at_once_of_group: number;
  /** How long a task stays with a process that was killed, or waits after a failure, milliseconds. */
  readonly lease_ms: number;
}

/**
 * Tasks as rows of one table. A task runs at least once: if its handler fails or its process dies, it runs again when its lease
 * ends. So a handler must read from the records whether its work is already done.
 */
export type Queue = ReturnType<typeof openQueue>;
type Handler = (task: Task) => Promise<void>;

/** Callbacks for failures; the work goes on. */
interface QueueReports {
  /** A handler failed: its task runs again when its lease ends. */
  readonly failed: (name: string, task: Task, error: unknown) => void;
  /** Tasks cannot be claimed or removed: called once, and with null when it works again. */
  readonly troubled: (name: string, error: unknown) => void;
}

type TaskStore = Pick<Store, 'kind' | 'reader' | 'transaction' | 'skipLocked'>;

/** The queue of the records. Due times and leases are those of the database's clock. */
export function openQueue(store: TaskStore, reports: QueueReports) {
  const workers = new Map<string, ReturnType<typeof startWorker>>();
  return {
    /** Adds tasks in the caller's transaction: they exist once it commits. */
    add: async (rows: Transaction<Database>, ...tasks: readonly NewTask[]): Promise<void> => {
      const now_ms = Date.now();
      const added = tasks.map(({ name, group, tenant = group, retry, payload, due_ms = now_ms }) => ({
        ...{ id: randomUUID(), name, task_group: group, tenant, retry: retry ? 1 : 0 },
        ...{ payload: JSON.stringify(payload), lease: null, lease_until_ms: 0, taken: 0 },
        due_ms: sql<number>`${leaseClock(store)} + ${Math.round(due_ms - now_ms)}`,
      }));
      if (added.length > 0) await rows.insertInto('tasks').values(added).execute();
    },
    /**
     * Runs the tasks of a name until the returned function is called, which waits for running ones. Tenants take turns, and each gets
     * a quarter of the slots at most. Of a tenant's tasks the longest due comes first, and retries come last.
     */
    work: (name: string, settings: WorkSettings, handler: Handler): (() => Promise<void>) => {
      const worker = startWorker(store, reports, name, settings, handler);
      workers.set(name, worker);
      return worker.stop;
    },
    /** Polls for due tasks now, for a caller that has just committed one. */
    wake: (name: string): void => workers.get(name)?.wake(),
    /** Null where this process has no handler of that name. */
    load: (name: string) => workers.get(name)?.load() ?? null,
    close: async (): Promise<void> => {
      await Promise.all(workers.values().map(({ stop }) => stop()));
    },
  };
}

/** Runs the tasks of a name. */
function startWorker(
  store: TaskStore,
  reports: QueueReports,
  name: string,
  { at_once, at_once_of_group, lease_ms }: WorkSettings,
  handler: Handler,
) {
  /** Names the leases of this worker. */
  const lease = randomUUID();
  const leaseEnd = () => sql<number>`${leaseClock(store)} + ${lease_ms}`;
  /** By id. */
  const running = new Map<string, Task>();
  const runs = new Set<Promise<void>>();
  /** Ids of finished tasks whose rows are still to be removed. */
  const done = new Set<string>();
  /** Number of the last turn of each tenant. */
  const turns = new Map<string, number>();
  let turn = 0;
  let polling: Promise<void> | null = null;
  let pollAgain = false;
  let isTroubled = false;
  let isStopped = false;

  /** Polls now, or once more after the poll that is running. */
  function wake(): void {
    pollAgain = true;
    polling ??= poll();
  }

  async function poll(): Promise<void> {
    while (pollAgain) {
      pollAgain = false;
      try {
        // There may be more; the tasks that were started get the event loop first.
        if (await removeAndClaim()) pollAgain = true;
        report(null);
      } catch (error) {
        report(error);
      }
      await nextTurn();
    }
    polling = null;
  }

  function report(trouble: unknown): void {
    if (isTroubled !== (trouble !== null)) reports.troubled(name, trouble);
    isTroubled = trouble !== null;
  }

  /** Removes finished tasks and starts due ones, tenants in turn; true when it started any. */
  async function removeAndClaim(): Promise<boolean> {
    const finished = [...done];
    const tenants = await tenantsInTurn();
    if (finished.length === 0 && tenants.length === 0) return false;
    const claimed: Task[] = [];
    await store.transaction(async (rows) => {
      if (finished.length > 0)
        await rows.deleteFrom('tasks').where('id', 'in', finished).where('lease', '=', lease).execute();
      const free = Math.min(at_once - running.size, CLAIMED_AT_ONCE_MAX);
      for (const [k, tenant] of tenants.entries()) {
        const share = Math.ceil((free - claimed.length) / (tenants.length - k));
        const most = Math.min(roomOf(tenant), share);
        if (most === 0) break;
        claimed.push(...(await claimOf(rows, tenant, most)));
      }
    });
    for (const id of finished) done.delete(id);
    for (const task of claimed) begin(task);
    return claimed.length > 0;
  }

  /** Tenants with due tasks and room for them, the one whose last turn is longest ago first. */
  async function tenantsInTurn(): Promise<readonly string[]> {
    if (isStopped || running.size >= at_once) return [];
    const tenants = await dueTenants(store, name);
    const turnOf = (tenant: string) => turns.get(tenant) ?? 0;
    return tenants.filter((tenant) => roomOf(tenant) > 0).toSorted((a, b) => turnOf(a) - turnOf(b));
  }

  function roomOf(tenant: string): number {
    const own = running.values().filter((task) => task.tenant === tenant);
    return Math.ceil(at_once * TENANT_SHARE) - own.toArray().length;
  }

  /** Claims due tasks of a tenant. One that other transactions hold is skipped, and so is one that runs here after its lease ended. */
  async function claimOf(rows: Transaction<Database>, tenant: string, most: number): Promise<readonly Task[]> {
    const groups = Map.groupBy(running.values(), ({ group }) => group);
    const full = [...groups].flatMap(([group, tasks]) => (tasks.length >= at_once_of_group ? [group] : []));
    const due = await rows
      .selectFrom('tasks')
      .select(['id', 'task_group'])
      .where('name', '=', name)
      .where('tenant', '=', tenant)
      .where(isDue(store))
      .$if(full.length > 0, (query) => query.where('task_group', 'not in', full))
      .orderBy('retry')
      .orderBy('due_ms')
      .orderBy('id')
      .limit(most)
      .modifyEnd(store.skipLocked)
      .execute();
    const ids = [...Map.groupBy(due, ({ task_group }) => task_group)].flatMap(([group, tasks]) =>
      tasks
        .filter(({ id }) => !running.has(id))
        .slice(0, at_once_of_group - (groups.get(group)?.length ?? 0))
        .map(({ id }) => id),
    );
    if (ids.length === 0) return [];
    const claimed = await rows
      .updateTable('tasks')
      .set((eb) => ({ lease, lease_until_ms: leaseEnd(), taken: eb('taken', '+', 1) }))
      .where('id', 'in', ids)
      .returning(['id', 'task_group as group', 'tenant', 'payload', 'taken'])
      .execute();
    return claimed
      .map((task) => ({ ...task, payload: JSON.parse(task.payload) }))
      .toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
  }

  function begin(task: Task): void {
    running.set(task.id, task);
    turns.set(task.tenant, ++turn);
    const run = runHandler(task).finally(() => {
      runs.delete(run);
      running.delete(task.id);
      wake();
    });
    runs.add(run);
  }

  async function runHandler(task: Task): Promise<void> {
    try {
      await handler(task);
      done.add(task.id);
    } catch (error) {
      reports.failed(name, task, error);
    }
  }

  /** If an extension fails, the next one makes up for it, or another process claims the task. */
  async function extendLeases(): Promise<void> {
    if (running.size === 0) return;
    const extend = async (rows: Transaction<Database>) => {
      const held = rows.updateTable('tasks').set({ lease_until_ms: leaseEnd() }).where('lease', '=', lease);
      await held.where('id', 'in', [...running.keys()]).execute();
    };
    await store.transaction(extend).catch(report);
  }

  const timers = [
    setInterval(wake, POLL_EVERY_MS).unref(),
    setInterval(() => void extendLeases(), lease_ms / EXTENSIONS_PER_LEASE).unref(),
  ];
  wake();
  return {
    wake,
    /** Tasks that may run at once, and that run. */
    load: () => ({ slots: at_once, running: running.size }),
    /** Claims no more, waits for the running tasks and removes the finished ones. */
    stop: async (): Promise<void> => {
      isStopped = true;
      await polling;
      await Promise.all(runs);
      for (const timer of timers) clearInterval(timer);
      wake();
      await polling;
    },
  };
}

/** The clock of PostgreSQL, epoch milliseconds; read anew at each use: a statement may have waited for another. */
const SERVER_MS = sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** The clock of due times and leases within a statement: the server's on PostgreSQL, the machine's on SQLite. Epoch milliseconds. */
function leaseClock({ kind }: TaskStore): RawBuilder<number> {
  return kind === 'postgres' ? SERVER_MS : sql<number>`cast(${Date.now()} as integer)`;
}

/** Condition of a task that is due and that no process has. */
function isDue(store: TaskStore) {
  const now_ms = leaseClock(store);
  return sql<boolean>`due_ms <= ${now_ms} and lease_until_ms <= ${now_ms}`;
}

/** Tenants with due tasks. The query skips from tenant to tenant in the index `tasks_by_tenant`: it reads through no backlog. */
async function dueTenants(store: TaskStore, name: string): Promise<readonly string[]> {
  const { rows } = await sql<{ tenant: string }>`
    with recursive waiting (tenant) as (
      select min(tenant) from tasks where name = ${name}
      union all
      select (select min(tenant) from tasks where name = ${name} and tenant > waiting.tenant)
      from waiting where waiting.tenant is not null
    )
    select tenant from waiting where exists (
      select 1 from tasks where name = ${name} and tasks.tenant = waiting.tenant and ${isDue(store)}
    )`.execute(store.reader);
  return rows.map(({ tenant }) => tenant);
}
