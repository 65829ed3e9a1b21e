import { yieldToEventLoop } from './event-loop.ts';

/** Reacts to published items. */
export interface Observer<Item> {
  /**
   * `last` is the item to which this observer reacted before, null at first. Items published while it was busy are skipped.
   */
  readonly react: (item: Item, last: Item | null) => Promise<void>;
  /** Called with the error when it could not react; the next item is offered with the same `last`. */
  readonly failed: (error: unknown) => void;
}

/** Offers each new item to every observer, in the order in which they were added, one at a time. */
interface Observers<Item> {
  /** Adds an observer, which is offered the newest item too. The function that it returns removes it, and waits while it reacts. */
  readonly add: (observer: Observer<Item>) => () => Promise<void>;
  /** Returns at once. */
  readonly publish: (item: Item) => void;
  /** Offers nothing more, and waits for the observer that reacts. */
  readonly close: () => Promise<void>;
}

interface Entry<Item> {
  readonly observer: Observer<Item>;
  /** Reacted to, successfully or not. */
  offered: Item | null;
  /** Reacted to successfully. */
  last: Item | null;
  reacting: Promise<void> | null;
}

export function createObservers<Item>(): Observers<Item> {
  const entries = new Set<Entry<Item>>();
  let newest: Item | null = null;
  let working = false;
  let closed = false;

  /** The newest item, if an observer has not seen it; else null. */
  const due = () => (!closed && [...entries].some(({ offered }) => offered !== newest) ? newest : null);

  const offer = async (entry: Entry<Item>, item: Item) => {
    entry.offered = item;
    try {
      await entry.observer.react(item, entry.last);
      entry.last = item;
    } catch (error) {
      entry.observer.failed(error);
    }
  };

  const work = async () => {
    working = true;
    await yieldToEventLoop();
    for (let item = due(); item !== null; item = due())
      for (const entry of [...entries]) {
        if (closed || !entries.has(entry) || entry.offered === item) continue;
        entry.reacting = offer(entry, item);
        await entry.reacting;
        entry.reacting = null;
      }
    working = false;
  };
  const begin = () => {
    if (!working && due() !== null) void work();
  };

  return {
    add: (observer) => {
      const entry: Entry<Item> = { observer, offered: null, last: null, reacting: null };
      entries.add(entry);
      begin();
      return async () => {
        entries.delete(entry);
        await entry.reacting;
      };
    },
    publish: (item) => {
      newest = item;
      begin();
    },
    close: async () => {
      closed = true;
      for (const { reacting } of entries) await reacting;
    },
  };
}
