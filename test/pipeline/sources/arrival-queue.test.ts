import test from 'ava';
import { type ArrivalQueue, openArrivalQueue } from '../../../pipeline/sources/arrival-queue.ts';
import type { Arrival } from '../../../pipeline/sources/inbox.ts';

const LONG_MS = 60_000;
const arrival = (key: string): Arrival => ({ files: [], unknown: [key], unreadable: [] });

/** A source that hands over what it is told to, and how far it was read. */
function source() {
  const read: string[] = [];
  let next = Promise.withResolvers<Arrival | null>();
  async function* arrivals() {
    while (true) {
      const found = await next.promise;
      next = Promise.withResolvers();
      if (found === null) return;
      read.push(found.unknown.join());
      yield found;
    }
  }
  return {
    arrivals: arrivals(),
    read,
    bring: (key: string) => next.resolve(arrival(key)),
    fail: (error: Error) => next.reject(error),
    end: () => next.resolve(null),
  };
}

function opened() {
  const stop = new AbortController();
  const given = source();
  const queue: ArrivalQueue = openArrivalQueue(given.arrivals, stop.signal);
  return { ...given, queue, stop };
}

test('what arrived is taken once, and nothing is waited for', async (t) => {
  const { queue, bring } = opened();
  t.is(queue.take(), null);
  bring('one');
  await queue.wait(LONG_MS);
  t.true(queue.hasArrival());
  t.deepEqual(queue.take()?.unknown, ['one']);
  t.deepEqual([queue.hasArrival(), queue.take()], [false, null]);
});

test('the source is read one arrival ahead, no more', async (t) => {
  const { queue, bring, read } = opened();
  bring('one');
  await queue.wait(LONG_MS);
  bring('two');
  await queue.wait(LONG_MS);
  t.deepEqual(read, ['one']);
  queue.take();
  await queue.wait(LONG_MS);
  t.deepEqual(queue.take()?.unknown, ['two']);
});

test('an error of the source is thrown by whoever takes, after what arrived before it', async (t) => {
  const { queue, bring, fail } = opened();
  bring('one');
  await queue.wait(LONG_MS);
  t.deepEqual(queue.take()?.unknown, ['one']);
  fail(new Error('the folder is on fire'));
  await queue.wait(LONG_MS);
  t.false(queue.isOver());
  t.throws(queue.take, { message: 'the folder is on fire' });
});

test('a source that ends is over once everything was taken', async (t) => {
  const { queue, bring, end } = opened();
  bring('last');
  await queue.wait(LONG_MS);
  t.false(queue.isOver());
  queue.take();
  end();
  await queue.wait(LONG_MS);
  t.true(queue.isOver());
});

test('an abort ends the wait', async (t) => {
  const { queue, stop } = opened();
  const wait = queue.wait(LONG_MS);
  stop.abort();
  await t.notThrowsAsync(wait);
});
