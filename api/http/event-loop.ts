import { setImmediate as nextIteration } from 'node:timers/promises';

/** The result of a promise; throws the reason of the signal when it aborts first. */
export async function unlessAborted<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([result, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Resolves in the next iteration of the event loop, after the input and output that wait: other requests go on meanwhile. */
export async function yieldToEventLoop(): Promise<void> {
  await nextIteration();
}

/** Does `work` on every item in order, letting other requests go on after every `size` items. */
export async function forEachInChunks<Item>(
  items: Iterable<Item>,
  size: number,
  work: (item: Item, index: number) => void,
): Promise<void> {
  let index = 0;
  for (const item of items) {
    if (index > 0 && index % size === 0) await yieldToEventLoop();
    work(item, index);
    index++;
  }
}
