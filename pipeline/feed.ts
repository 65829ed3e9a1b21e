import type { FeedState } from '../schemas/collections.ts';
import type { Root } from './publish/root.ts';
import type { RejectedItem } from './read/rejected-item.ts';

/** Outcome of one file of a feed; `feeds --json` prints it. */
export interface IngestedFile {
  readonly name: string;
  /** Collection of its items; null for a file of no known kind. */
  readonly collection: string | null;
  /** Items that were used. */
  readonly items: number;
  /** Items that were rejected. */
  readonly set_aside: readonly RejectedItem[];
  /** Items of other kinds, by kind. */
  readonly others: Readonly<Record<string, number>>;
  /** Why the whole file was rejected; null when it was used. */
  readonly refused: string | null;
}

/** Name, collection and pace of a feed. */
export type FeedIdentity = Pick<FeedState, 'name' | 'collection' | 'every_s'>;

/** Outcome of publishing one poll. */
export interface PollOutcome {
  /** Why the poll failed, although a part of it may have been published; null when it succeeded. */
  readonly failure: string | null;
  readonly files: readonly IngestedFile[];
  /** Collections whose rows changed. */
  readonly changed: readonly string[];
}

/** Result of one poll, not yet published. After a transient fault it can be published again. */
export interface PollResult {
  readonly publish: (root: Root) => Promise<PollOutcome>;
}

/** A feed that is polled at its own pace. Polling does not touch the data root; publishing does. */
export interface Feed extends FeedIdentity {
  /** Throws when the feed cannot be read. */
  readonly poll: (now_ms: number) => Promise<PollResult>;
}
