import test from 'ava';
import { keptAnswers, type Prepared } from '../../../api/middleware/kept-answers.ts';

const answer = (bytes: number): Prepared => ({
  price: null,
  tag: null,
  type: 'application/json',
  headers: [],
  bytes: Buffer.alloc(bytes),
  gzipped: null,
});

test('an answer is found as long as it holds, and forgotten then', (t) => {
  const kept = keptAnswers();
  const here = answer(1);
  let holds = true;
  kept.keep('/a', here, () => holds);
  t.is(kept.find('/a'), here);
  t.is(kept.find('/b'), null);
  holds = false;
  t.is(kept.find('/a'), null);
  holds = true;
  t.is(kept.find('/a'), null);
});

test('the oldest answers go first when there are too many bytes', (t) => {
  const kept = keptAnswers();
  for (let n = 0; n < 10; n++) kept.keep(`/${n}`, answer(6_000_000), () => true);
  t.deepEqual(
    Array.from({ length: 10 }, (_, n) => kept.find(`/${n}`) !== null),
    [false, false, true, true, true, true, true, true, true, true],
  );
});

test('an answer that is too large is not kept', (t) => {
  const kept = keptAnswers();
  kept.keep('/large', answer(8_000_001), () => true);
  t.is(kept.find('/large'), null);
});
