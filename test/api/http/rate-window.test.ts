import test from 'ava';
import { type Consumed, rateWindows } from '../../../api/http/rate-window.ts';

/** A limiter whose clocks are moved by hand. */
function limiterAt(max?: number) {
  const clock = { ms: 0 };
  const windows = rateWindows({ monotonic_ms: () => clock.ms, unix_ms: () => 1_000_000_000_000 + clock.ms }, max);
  const take = (bucket: string, limit: number) => {
    const consumed = windows.consume(bucket, limit);
    return { ...consumed, admitted: consumed.retry_after_s === null };
  };
  const header = ({ headers }: Consumed, name: string) => headers[name];
  return { clock, take, header };
}

test('admits as many requests as the limit and refuses the next', (t) => {
  const { take } = limiterAt();
  const admitted = Array.from({ length: 61 }, () => take('key', 60).admitted);
  t.is(admitted.filter(Boolean).length, 60);
  t.false(admitted[60]);
});

test('the window rolls: never more than the limit in any 60 seconds', (t) => {
  const { clock, take } = limiterAt();
  const times: number[] = [];
  for (clock.ms = 0; clock.ms < 200_000; clock.ms += 250) if (take('key', 60).admitted) times.push(clock.ms);
  const most = Math.max(
    ...times.map((from) => times.filter((time_ms) => time_ms >= from && time_ms < from + 60_000).length),
  );
  t.is(most, 60);
  t.is(times.length, 60 * 4); // 0, 60, 120 and 180 s each open the window again
});

test('a refused request does not extend the wait', (t) => {
  const { clock, take } = limiterAt();
  for (let n = 0; n < 60; n++) take('key', 60);
  for (clock.ms = 1000; clock.ms < 60_000; clock.ms += 100) t.false(take('key', 60).admitted);
  clock.ms = 60_000;
  t.true(take('key', 60).admitted);
});

test('a refusal says in how many seconds the next request will be admitted', (t) => {
  const { clock, take } = limiterAt();
  take('key', 2);
  clock.ms = 20_500;
  take('key', 2);
  clock.ms = 30_000;
  t.is(take('key', 2).retry_after_s, 30);
  clock.ms = 59_999;
  t.is(take('key', 2).retry_after_s, 1);
});

test('remaining counts down, reset is the unix second at which the window is empty again', (t) => {
  const { clock, take, header } = limiterAt();
  const first = take('key', 60);
  t.is(header(first, 'X-RateLimit-Limit'), '60');
  t.is(header(first, 'X-RateLimit-Remaining'), '59');
  t.is(header(first, 'X-RateLimit-Reset'), '1000000060');
  t.is(header(first, 'RateLimit'), '"key";r=59;t=60');
  t.is(header(first, 'RateLimit-Policy'), '"key";q=60;w=60');
  clock.ms = 1500;
  t.is(header(take('key', 60), 'X-RateLimit-Reset'), '1000000062');
});

test('at a moment that is no whole millisecond the window is still empty again in at most its length', (t) => {
  const { clock, take, header } = limiterAt();
  const now_ms = 5556.040000000001;
  t.true(now_ms + 60_000 - now_ms > 60_000, 'a moment whose sums are rounded up');
  clock.ms = now_ms;
  const first = take('key', 1);
  t.is(header(first, 'RateLimit'), '"key";r=0;t=60');
  t.is(header(first, 'X-RateLimit-Reset'), '1000000066');
  t.is(take('key', 1).retry_after_s, 60);
  clock.ms = now_ms + 59_999.5;
  t.is(header(take('key', 1), 'RateLimit'), '"key";r=0;t=1');
});

test('an empty window is empty now', (t) => {
  const { clock, take, header } = limiterAt();
  clock.ms = 5556.040000000001;
  const refused = take('key', 0);
  t.is(header(refused, 'RateLimit'), '"key";r=0;t=0');
  t.is(header(refused, 'X-RateLimit-Reset'), '1000000006');
});

test('buckets do not share their windows', (t) => {
  const { take } = limiterAt();
  for (let n = 0; n < 60; n++) take('one', 60);
  t.false(take('one', 60).admitted);
  t.true(take('other', 60).admitted);
});

test('a window is kept for as long as it counts, however many others there are', (t) => {
  const { clock, take } = limiterAt();
  for (let n = 0; n < 60; n++) take('key', 60);
  for (let n = 0; n < 50_000; n++) take(`other ${n}`, 60);
  t.false(take('key', 60).admitted);
  clock.ms = 59_999;
  for (let n = 0; n < 50_000; n++) take(`another ${n}`, 60);
  t.false(take('key', 60).admitted);
});

test('of windows that are bounded the one that admitted nothing for longest is forgotten first', (t) => {
  const { take } = limiterAt(3);
  for (const name of ['first', 'second', 'third', 'first', 'fourth']) take(name, 2);
  t.deepEqual(
    ['first', 'third', 'fourth', 'second'].map((name) => take(name, 1).admitted),
    [false, false, false, true],
  );
});

test('a raised limit holds at once, beyond the first capacity of a bucket', (t) => {
  const { clock, take } = limiterAt();
  for (let n = 0; n < 60; n++) take('key', 60);
  t.is(Array.from({ length: 1000 }, () => take('key', 1000).admitted).filter(Boolean).length, 940);
  clock.ms = 60_000;
  t.true(take('key', 60).admitted);
});

test('a lowered limit refuses until the window has room', (t) => {
  const { clock, take } = limiterAt();
  for (let n = 0; n < 10; n++) {
    clock.ms = n * 1000;
    take('key', 60);
  }
  const refused = take('key', 2);
  t.false(refused.admitted);
  t.is(refused.retry_after_s, 59); // nine of ten have to leave: the ninth was at 8 s, now it is 9 s
});
