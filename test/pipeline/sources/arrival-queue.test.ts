import test from 'ava';
import { type Feed, openFeed } from '../../../pipeline/sources/arrival-queue.ts';
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
  const feed: Feed = openFeed(given.arrivals, stop.signal);
  return { ...given, feed, stop };
}

test('what arrived is taken once, and nothing is waited for', async (t) => {
  const { feed, bring } = opened();
  t.is(feed.take(), null);
  bring('one');
  await feed.wait(LONG_MS);
  t.true(feed.hasNews());
  t.deepEqual(feed.take()?.unknown, ['one']);
  t.deepEqual([feed.hasNews(), feed.take()], [false, null]);
});

test('the source is read one arrival ahead, no more', async (t) => {
  const { feed, bring, read } = opened();
  bring('one');
  await feed.wait(LONG_MS);
  bring('two');
  await feed.wait(LONG_MS);
  t.deepEqual(read, ['one']);
  feed.take();
  await feed.wait(LONG_MS);
  t.deepEqual(feed.take()?.unknown, ['two']);
});

test('an error of the source is thrown by whoever takes, after what arrived before it', async (t) => {
  const { feed, bring, fail } = opened();
  bring('one');
  await feed.wait(LONG_MS);
  t.deepEqual(feed.take()?.unknown, ['one']);
  fail(new Error('the folder is on fire'));
  await feed.wait(LONG_MS);
  t.false(feed.isOver());
  t.throws(feed.take, { message: 'the folder is on fire' });
});

test('a source that ends is over once everything was taken', async (t) => {
  const { feed, bring, end } = opened();
  bring('last');
  await feed.wait(LONG_MS);
  t.false(feed.isOver());
  feed.take();
  end();
  await feed.wait(LONG_MS);
  t.true(feed.isOver());
});

test('an abort ends the wait', async (t) => {
  const { feed, stop } = opened();
  const wait = feed.wait(LONG_MS);
  stop.abort();
  await t.notThrowsAsync(wait);
});
