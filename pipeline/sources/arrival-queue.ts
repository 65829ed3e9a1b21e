import { setTimeout as sleep } from 'node:timers/promises';
import type { Arrival } from './inbox.ts';

/** Arrivals of a source that wait to be taken, so that whoever is at work can look for news without waiting for any. */
export interface Feed {
  /** What arrived since the last call, null when nothing did. Throws the error that ended the source. */
  readonly take: () => Arrival | null;
  /** True when something waits to be taken. */
  readonly hasNews: () => boolean;
  /** Waits until there is something to take or the source has ended, but not longer than `ms`. */
  readonly wait: (ms: number) => Promise<void>;
  /** True once the source has ended and everything was taken. */
  readonly isOver: () => boolean;
}

/** Reads a source in the background, one arrival ahead; an abort of `signal` ends every wait. */
export function openFeed(arrivals: AsyncIterable<Arrival>, signal: AbortSignal): Feed {
  let arrived: Arrival | null = null;
  let failure: { readonly error: unknown } | null = null;
  let ended = false;
  let taken = () => {};
  let news = new AbortController();
  const pump = async () => {
    try {
      for await (const arrival of arrivals) {
        arrived = arrival;
        const wasTaken = new Promise<void>((resolve) => {
          taken = resolve;
        });
        news.abort();
        await wasTaken;
      }
    } catch (error) {
      failure = { error };
    } finally {
      ended = true;
      news.abort();
    }
  };
  void pump();
  return {
    take: () => {
      if (arrived === null && failure !== null) throw failure.error;
      const found = arrived;
      arrived = null;
      if (!ended) news = new AbortController();
      taken();
      return found;
    },
    hasNews: () => arrived !== null,
    wait: async (ms) => {
      const wake = AbortSignal.any([news.signal, signal]);
      try {
        await sleep(ms, undefined, { signal: wake });
      } catch (error) {
        if (!wake.aborted) throw error;
      }
    },
    isOver: () => ended && arrived === null && failure === null,
  };
}
