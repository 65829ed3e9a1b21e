import type { Queue, Task } from './queue.ts';

/** A task that was taken. */
export interface ClaimedTask extends Task {
  /** Names the lease under which it was taken: whoever has another one no longer has the task. */
  readonly lease: string;
}

/** A task that is due. */
export type Candidate = Pick<Task, 'id' | 'group' | 'tenant'>;

/** What a handler has room for. */
export interface ClaimLimits {
  /** Tasks. */
  readonly most: number;
  /** Ids of the due tasks that fit, at most `most`: those of each tenant in the order given, tenants in turn. */
  readonly choose: (due: readonly Candidate[], most: number) => readonly string[];
  /** Groups that have room for none, or had their turn. */
  readonly full: readonly string[];
  /** Tenants that have room for none. */
  readonly full_tenants: readonly string[];
  readonly lease_ms: number;
  /** Tasks that are being run here, or were and have yet to be removed: not to be taken, whatever the clock says of their lease. */
  readonly held: ReadonlySet<string>;
}

/** Where tasks lie. */
export interface TaskStore {
  readonly add: Queue['add'];
  /** Removes tasks that are done, where their lease is still that one, and takes some that are due and fit into the room. */
  readonly ackAndClaim: (
    name: string,
    done: readonly ClaimedTask[],
    room: ClaimLimits,
  ) => Promise<readonly ClaimedTask[]>;
  /** Lets tasks belong to who took them for a lease more, counted from now, where they still do. */
  readonly extendLease: (name: string, held: readonly ClaimedTask[], lease_ms: number) => Promise<void>;
  readonly payloads: Queue['payloads'];
  /** Ends the leases of processes of this machine that have died. */
  readonly endLeasesOfDead: () => Promise<void>;
  readonly close: () => Promise<void>;
}
