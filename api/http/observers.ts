import { yieldToEventLoop } from './event-loop.ts';

/** Time until an item is offered again after a failure. */
const RETRY_MS = 2_000;

/** Reacts to published items. */
interface Observer<Item> {
  /** Items published while it is busy are skipped, but for the newest. `ending` aborts when no more work is to be begun. */
  readonly react: (item: Item, ending: AbortSignal) => Promise<void>;
  /** Called with the error when it could not react; the newest item is offered again. */
  readonly failed: (error: unknown) => void;
}

/** Offers the newest item to every observer, each by itself: a slow one delays no other. */
export function createObservers<Item>() {
  let newest: Item | null = null;
  const observers = new Set<{ readonly wake: () => void; readonly end: () => Promise<void> }>();
  return {
    /** Adds an observer. The function that it returns removes it, and waits while it reacts. */
    add: ({ react, failed }: Observer<Item>): (() => Promise<void>) => {
      const ending = new AbortController();
      let done: Item | null = null;
      let reacting: Promise<void> | null = null;
      let retry: NodeJS.Timeout | undefined;
      const work = async () => {
        await yieldToEventLoop();
        try {
          while (newest !== done && newest !== null && !ending.signal.aborted) {
            const item = newest;
            await react(item, ending.signal);
            done = item;
          }
        } catch (error) {
          failed(error);
          retry = setTimeout(observer.wake, RETRY_MS).unref();
        }
        reacting = null;
      };
      const observer = {
        wake: () => {
          clearTimeout(retry);
          if (newest !== done && !ending.signal.aborted) reacting ??= work();
        },
        end: async () => {
          observers.delete(observer);
          ending.abort();
          clearTimeout(retry);
          await reacting;
        },
      };
      observers.add(observer);
      observer.wake();
      return observer.end;
    },
    /** Returns at once. */
    publish: (item: Item): void => {
      newest = item;
      for (const { wake } of observers) wake();
    },
    /** Offers nothing more, and waits for the observers that react. */
    close: async (): Promise<void> => {
      await Promise.all([...observers].map(({ end }) => end()));
    },
  };
}
