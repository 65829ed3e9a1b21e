import type { Transaction } from 'kysely';
import type { Database } from '../schema.ts';

/** Work to be done once its time has come. */
export interface NewTask {
  /** Which handler it is for. */
  readonly name: string;
  /** At most so many tasks of one group run at a time as its handler says; tasks of other groups do not wait for them. */
  readonly group: string;
  /** Whose task it is: tenants share what a handler can do at a time. The group, when left out. */
  readonly tenant?: string;
  /** Tasks of a tenant that repeat a failed one come after its others. */
  readonly retry?: true;
  /** Plain JSON. */
  readonly payload: unknown;
  /** Epoch milliseconds of the machine's clock; at once when left out. */
  readonly due_ms?: number;
}

export interface Task {
  readonly id: string;
  readonly group: string;
  readonly tenant: string;
  readonly payload: unknown;
  /** How often it was taken, 1 for the first time: more tells that somebody died over it, or failed. */
  readonly taken: number;
}

export interface WorkSettings {
  /** Tasks of this handler at a time in this process. */
  readonly at_once: number;
  /** Of one group, in this process. */
  readonly at_once_of_group: number;
  /** A group whose last run took so long is run one task at a time for a while. No group when left out. */
  readonly slow_ms?: number;
  /** How long a task belongs to who took it: longer than any run of the handler, unless it is prolonged. */
  readonly lease_ms: number;
  /** The lease is prolonged for as long as the handler runs: it may be shorter than that, and ends soon after a process died. */
  readonly prolonged?: true;
  /** So many groups take turns: one that had a task run waits while others have one that is due. None when left out. */
  readonly groups_in_turn?: number;
}

/**
 * Queued work that no caller polls. A task is run at least once: one whose process died, or whose handler failed, is taken
 * again when its lease is over, and not before; when a queue is opened, the leases of dead processes end. A handler must therefore see from the records whether its work is done.
 */
export interface Queue {
  /** Adds tasks in the transaction that causes them: they are there when it is committed. */
  readonly add: (rows: Transaction<Database>, ...tasks: readonly NewTask[]) => Promise<void>;
  /** What the tasks of a name are about that wait or are under way. */
  readonly payloads: (name: string) => Promise<readonly unknown[]>;
  /**
   * Hands the tasks of a name to a handler until the function returned is called, which waits for those under way. A tenant has
   * at most as many tasks under way as there are free slots; of its tasks the longest due comes first, and retries come last.
   */
  readonly work: (name: string, settings: WorkSettings, handler: (task: Task) => Promise<void>) => () => Promise<void>;
  /** Looks for due tasks now instead of at the next look: for who just committed one. */
  readonly wake: (name: string) => void;
  readonly close: () => Promise<void>;
}
