import { setTimeout as sleep } from 'node:timers/promises';
import { COMPANION_PRODUCTS } from '../grid.ts';
import { pause } from './http.ts';
import type { Arrival } from './inbox.ts';
import { lookBack, SCAN_PRODUCT, type SourceFile } from './names.ts';

/** Arrivals of a source that wait to be taken. */
export type ArrivalQueue = ReturnType<typeof openArrivalQueue>;

/** Queue that reads a source in the background, one arrival ahead; an abort of `signal` ends every wait. */
export function openArrivalQueue(arrivals: AsyncIterable<Arrival>, signal: AbortSignal) {
  const iterator = arrivals[Symbol.asyncIterator]();
  let next: IteratorResult<Arrival, unknown> | null = null;
  let failure: { readonly error: unknown } | null = null;
  let arrived = new AbortController();
  const readNext = async () => {
    next = null;
    arrived = new AbortController();
    try {
      next = await iterator.next();
    } catch (error) {
      failure = { error };
    }
    arrived.abort();
  };
  void readNext();
  return {
    /** Files that arrived since the last call, null when none did. Throws the error that ended the source. */
    take: (): Arrival | null => {
      if (failure !== null) throw failure.error;
      if (next === null || next.done) return null;
      const { value } = next;
      void readNext();
      return value;
    },
    /** True when an arrival waits to be taken. */
    hasArrival: () => next !== null && !next.done,
    /** Waits until there is an arrival to take or the source has ended, but at most `ms`. */
    wait: (ms: number) => pause(ms, AbortSignal.any([arrived.signal, signal])),
    /** True once the source has ended and every arrival was taken. */
    isOver: () => next?.done === true,
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
      let batch = first.value;
      next = iterator.next();
      const deadline_ms = performance.now() + COMPANION_GRACE_MS;
      while (lacksCompanions(batch.files, usual) && performance.now() < deadline_ms) {
        const more = await Promise.race([next, sleep(deadline_ms - performance.now(), null)]);
        if (more === null || more.done) break;
        batch = joined(batch, more.value);
        next = iterator.next();
      }
      // A rejection of `next` is thrown by the await of the next turn; until then it must not count as unhandled.
      next.catch(() => {});
      for (const file of batch.files) if (file.product !== SCAN_PRODUCT) usual.add(file.product);
      yield batch;
    }
  } finally {
    await iterator.return?.();
  }
}

function joined(a: Arrival, b: Arrival): Arrival {
  return {
    files: [...a.files, ...b.files],
    unknown: [...a.unknown, ...b.unknown],
    unreadable: [...a.unreadable, ...b.unreadable],
  };
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
