import type { Queue, Task } from './queue.ts';

/** A task that was taken. */
export interface Held extends Task {
  /** Names the lease under which it was taken: whoever has another one no longer has the task. */
  readonly lease: string;
}

/** What a handler has room for. */
export interface Room {
  /** Tasks. */
  readonly most: number;
  /** Of any group that is not full. */
  readonly of_any_group: number;
  /** Of one group. */
  readonly of: (group: string) => number;
  /** Groups that have room for none, or had their turn. */
  readonly full: readonly string[];
  /** Most groups that `full` can name. */
  readonly full_at_most: number;
  readonly lease_ms: number;
  /** Tasks that are being run here, or were and have yet to be removed: not to be taken, whatever the clock says of their lease. */
  readonly held: ReadonlySet<string>;
}

/** Where tasks lie. */
export interface Shelf {
  readonly add: Queue['add'];
  /** Removes tasks that are done, where their lease is still that one, and takes some that are due, the longest due first. */
  readonly exchange: (name: string, done: readonly Held[], room: Room) => Promise<readonly Held[]>;
  /** Lets tasks belong to who took them for a lease more, counted from now, where they still do. */
  readonly prolong: (name: string, held: readonly Held[], lease_ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
}
