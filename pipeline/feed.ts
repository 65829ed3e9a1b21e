import type { FeedState } from '../schemas/collections.ts';
import type { Root } from './publish/root.ts';
import type { RejectedItem } from './read/rejected-item.ts';

/** Outcome of one file of a feed. */
export interface IngestedFile {
  readonly name: string;
  /** Collection that it belongs to; null for a file of no known kind. */
  readonly collection: string | null;
  /** Items that were used. */
  readonly items: number;
  readonly set_aside: readonly RejectedItem[];
  /** Items of other kinds, by kind. */
  readonly others: Readonly<Record<string, number>>;
  /** Why nothing of it was used; null when it was. */
  readonly refused: string | null;
}

/** Identity of a feed. */
export type FeedIdentity = Pick<FeedState, 'name' | 'collection' | 'every_s'>;

/** Outcome of publishing one poll. */
export interface PollOutcome {
  /** Why the feed does not count as read, although something of it may have been published; null when it does. */
  readonly failure: string | null;
  readonly files: readonly IngestedFile[];
  /** Collections whose rows changed. */
  readonly changed: readonly string[];
}

/** Result of one poll, not yet published. It can be published again after a failure. */
export interface PollResult {
  readonly publish: (root: Root) => Promise<PollOutcome>;
}

/** A feed that is polled at its own pace. Polling does not touch the data root; publishing does. */
export interface Feed extends FeedIdentity {
  /** Throws when the feed cannot be read. */
  readonly poll: (now_ms: number) => Promise<PollResult>;
}
