import type { PartitionCommit } from './catalogues.ts';
import type { Swept } from './sweep-raw.ts';

/** A store that follows the commits of a data root. */
export interface RootReplica {
  /** Of the holder of the lease to write to the store; null for a writer that is known to be the only one. */
  readonly fence: number | null;
  /** Throws when the lease is lost: nothing may be published any more. */
  readonly check: () => void;
  /**
   * To be called when the root is locked, before anything is read: brings root and store to the same state.
   * Throws Conflict when they do not belong together.
   */
  readonly reconcile: () => Promise<void>;
  /** Remembers that partitions were committed. */
  readonly committed: (manifests: readonly PartitionCommit[]) => void;
  /** Remembers that a commit failed: some of its heads may have moved. */
  readonly commitFailed: () => void;
  /** Brings the store up to what was committed; costs nothing when nothing was. */
  readonly update: () => Promise<void>;
  /**
   * Brings one partition of the root to what a writer under another lease has pushed, such as a date of a backfill. Returns its name;
   * null when there is none. To be called between two operations.
   */
  readonly takePushed: () => Promise<string | null>;
  /** Deletes from the store what no list in use names. */
  readonly sweep: () => Promise<Swept>;
}
