import type { Transaction } from 'kysely';
import type { Database } from '../schema.ts';

/** Work that starts at a given time. */
export interface NewTask {
  /** Selects the handler. */
  readonly name: string;
  /** `at_once_of_group` bounds the running tasks of a group; other groups do not wait for it. */
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

export interface WorkSettings {
  /** Tasks of this handler that this process runs at the same time. */
  readonly at_once: number;
  /** The same for one group. */
  readonly at_once_of_group: number;
  /** A group whose last run took this long runs one task at a time for ten minutes. Default: no limit. */
  readonly slow_ms?: number;
  /** How long a claim lasts: longer than any run of the handler, unless the lease is extended. */
  readonly lease_ms: number;
  /** Extends the lease while the handler runs: a short lease then ends soon after its process died. */
  readonly prolonged?: true;
  /** Groups that take turns: one that ran a task waits for the others that have due tasks. Default: 0. */
  readonly groups_in_turn?: number;
}

/** What the handlers of a name are doing in this process. */
export interface QueueLoad {
  /** Tasks that may run at once. */
  readonly slots: number;
  readonly running: number;
  /** Those of them whose group was slow last. */
  readonly running_slow: number;
  /** Tenants with a running task. */
  readonly tenants: number;
  /** Running tasks of the tenant that has the most. */
  readonly largest_share: number;
}

/**
 * Queued work that no caller polls. A task runs at least once: if its handler fails or its process dies, it runs again when its
 * lease ends, not before. Opening a queue ends the leases of dead processes. So a handler must read from the records whether its
 * work is already done.
 */
export interface Queue {
  /** Adds tasks in the caller's transaction: they exist once it commits. */
  readonly add: (rows: Transaction<Database>, ...tasks: readonly NewTask[]) => Promise<void>;
  /** Payloads of the tasks of a name that wait or run. */
  readonly payloads: (name: string) => Promise<readonly unknown[]>;
  /**
   * Runs the tasks of a name until the returned function is called, which waits for running ones. A tenant runs at most as many
   * tasks as slots are free; of its tasks the longest due comes first, and retries come last.
   */
  readonly work: (name: string, settings: WorkSettings, handler: (task: Task) => Promise<void>) => () => Promise<void>;
  /** Looks for due tasks now instead of at the next poll, for a caller that has just committed one. */
  readonly wake: (name: string) => void;
  /** Null where this process has no handler of that name. */
  readonly load: (name: string) => QueueLoad | null;
  readonly close: () => Promise<void>;
}

/** A task under the lease of this process. */
export interface ClaimedTask extends Task {
  /** Names the lease: another name on the row means that the lease was lost. */
  readonly lease: string;
}

/** A due task. */
export type Candidate = Pick<Task, 'id' | 'group' | 'tenant'>;

/** What a handler can run now. */
export interface ClaimLimits {
  /** Number of tasks. */
  readonly most: number;
  /** Ids of the due tasks that fit, at most `most`: of each tenant in the given order, tenants in turn. */
  readonly choose: (due: readonly Candidate[], most: number) => readonly string[];
  /** Groups without room, or that had their turn. */
  readonly full: readonly string[];
  /** Tenants without room. */
  readonly full_tenants: readonly string[];
  readonly lease_ms: number;
  /** Tasks that run here or wait for their removal: never claimed again, even if the clock says that their lease has ended. */
  readonly held: ReadonlySet<string>;
}

/** Storage of tasks. */
export interface TaskStore {
  readonly add: Queue['add'];
  /** Removes finished tasks whose lease is still the same, and claims due tasks within the limits. */
  readonly ackAndClaim: (
    name: string,
    done: readonly ClaimedTask[],
    limits: ClaimLimits,
  ) => Promise<readonly ClaimedTask[]>;
  /** Extends the leases that still exist to `lease_ms` from now. */
  readonly extendLease: (name: string, held: readonly ClaimedTask[], lease_ms: number) => Promise<void>;
  readonly payloads: Queue['payloads'];
  /** Ends the leases of processes of this machine that have died. */
  readonly endLeasesOfDead: () => Promise<void>;
}
