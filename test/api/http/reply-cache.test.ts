import test from 'ava';
import type { Reply } from '../../../api/http/reply.ts';
import { replyCache } from '../../../api/http/reply-cache.ts';

const cached = (bytes: number): { readonly reply: Reply } => ({
  reply: { status: 200, type: 'application/json', headers: {}, bytes: Buffer.alloc(bytes), gzipped: null },
});

test('an answer is found under its target alone, and no more once it was dropped', (t) => {
  const cache = replyCache();
  const here = cached(1);
  cache.keep('/a', here);
  t.is(cache.find('/a'), here);
  t.is(cache.find('/b'), null);
  cache.drop('/a');
  t.is(cache.find('/a'), null);
});

test('the oldest answers go first when there are too many bytes', (t) => {
  const cache = replyCache();
  for (let n = 0; n < 10; n++) cache.keep(`/${n}`, cached(6_000_000));
  t.deepEqual(
    Array.from({ length: 10 }, (_, n) => cache.find(`/${n}`) !== null),
    [false, false, true, true, true, true, true, true, true, true],
  );
});

test('an answer that replaces another takes the place of its bytes', (t) => {
  const cache = replyCache();
  cache.keep('/first', cached(1));
  for (let n = 0; n < 20; n++) cache.keep('/again', cached(6_000_000));
  t.not(cache.find('/first'), null);
});

test('an answer that is too large is not kept', (t) => {
  const cache = replyCache();
  cache.keep('/large', cached(8_000_001));
  t.is(cache.find('/large'), null);
});
