import { setTimeout as sleep } from 'node:timers/promises';
import { COMPANION_PRODUCTS } from '../grid.ts';
import { pause } from './http.ts';
import type { Arrival } from './inbox.ts';
import { lookBack, SCAN_PRODUCT, type SourceFile } from './names.ts';

/** Arrivals of a source that wait to be taken: a run polls the queue between two scans without waiting for the source. */
export interface ArrivalQueue {
  /** Files that arrived since the last call, null when none did. Throws the error that ended the source. */
  readonly take: () => Arrival | null;
  /** True when an arrival waits to be taken. */
  readonly hasArrival: () => boolean;
  /** Waits until there is an arrival to take or the source has ended, but at most `ms`. */
  readonly wait: (ms: number) => Promise<void>;
  /** True once the source has ended and every arrival was taken. */
  readonly isOver: () => boolean;
}

/** Queue that reads a source in the background, one arrival ahead; an abort of `signal` ends every wait. */
export function openArrivalQueue(arrivals: AsyncIterable<Arrival>, signal: AbortSignal): ArrivalQueue {
  let waiting: Arrival | null = null;
  let failure: { readonly error: unknown } | null = null;
  let ended = false;
  let taken = () => {};
  let wake = new AbortController();
  const pump = async () => {
    try {
      for await (const arrival of arrivals) {
        waiting = arrival;
        const { promise: wasTaken, resolve } = Promise.withResolvers<void>();
        taken = resolve;
        wake.abort();
        await wasTaken;
      }
    } catch (error) {
      failure = { error };
    } finally {
      ended = true;
      wake.abort();
    }
  };
  void pump();
  return {
    take: () => {
      if (waiting === null && failure !== null) throw failure.error;
      const arrival = waiting;
      waiting = null;
      if (!ended) wake = new AbortController();
      taken();
      return arrival;
    },
    hasArrival: () => waiting !== null,
    wait: (ms) => pause(ms, AbortSignal.any([wake.signal, signal])),
    isOver: () => ended && waiting === null && failure === null,
  };
}

/** A MESH file waits this long for the companions that usually come with it; later ones make the scan again. */
const COMPANION_GRACE_MS = 1500;

/** Arrivals joined with those that follow at once, while companions that usually come with a scan are still missing. */
export async function* batchArrivals(arrivals: AsyncIterable<Arrival>): AsyncGenerator<Arrival, void, undefined> {
  const usual = new Set<string>();
  const iterator = arrivals[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    while (true) {
      const first = await next;
      if (first.done) return;
      const files = [...first.value.files];
      const unknown = [...first.value.unknown];
      const unreadable = [...first.value.unreadable];
      next = iterator.next();
      const deadline_ms = performance.now() + COMPANION_GRACE_MS;
      while (lacksCompanions(files, usual) && performance.now() < deadline_ms) {
        const more = await Promise.race([next, sleep(deadline_ms - performance.now(), null)]);
        if (more === null || more.done) break;
        files.push(...more.value.files);
        unknown.push(...more.value.unknown);
        unreadable.push(...more.value.unreadable);
        next = iterator.next();
      }
      // A rejection of `next` is thrown by the await of the next turn; until then it must not count as unhandled.
      next.catch(() => {});
      for (const file of files) if (file.product !== SCAN_PRODUCT) usual.add(file.product);
      yield { files, unknown, unreadable };
    }
  } finally {
    await iterator.return?.();
  }
}

/** True when the newest scan lacks a companion of a product that came with earlier scans. */
function lacksCompanions(files: readonly SourceFile[], usual: ReadonlySet<string>): boolean {
  const newest = Math.max(...files.filter((file) => file.product === SCAN_PRODUCT).map((file) => file.time_ms));
  if (newest === Number.NEGATIVE_INFINITY) return false;
  const belongs = (file: SourceFile) => file.time_ms <= newest && newest - file.time_ms <= lookBack(file.product);
  return Object.values(COMPANION_PRODUCTS).some(
    (product) => usual.has(product) && !files.some((file) => file.product === product && belongs(file)),
  );
}
