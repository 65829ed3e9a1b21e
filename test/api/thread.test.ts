import test from 'ava';
import { ApiError } from '../../api/errors.ts';
import { openThread } from '../../api/thread.ts';

/** What the thread of these tests does with a question: a number is squared, the rest goes wrong in its own way. */
type Question = number | 'hang' | 'throw' | 'exit';

function open(limit_ms = 60_000) {
  return openThread<Question, number>({
    entry: new URL('../support/service/sample-thread.ts', import.meta.url),
    subject: 'a sample',
    limit_ms,
  });
}

test('questions are answered in order, one after the other', async (t) => {
  const ask = open();
  const answers = await Promise.all(Array.from({ length: 50 }, (_, k) => ask(k)));
  t.deepEqual(
    answers,
    Array.from({ length: 50 }, (_, k) => k * k),
  );
});

test('a question that takes too long is 503 overloaded, and those behind it are answered by another thread', async (t) => {
  const ask = open(300);
  const [slow, ...others] = await Promise.allSettled([ask('hang'), ask(3), ask(4)]);
  if (slow?.status !== 'rejected') return t.fail('the slow question was answered');
  t.true(slow.reason instanceof ApiError);
  t.like(slow.reason, { code: 'overloaded', message: 'a sample takes longer than 300 ms' });
  t.deepEqual(
    others.map((other) => other.status === 'fulfilled' && other.value),
    [9, 16],
  );
});

test('a question that fails, or ends the thread, fails alone and with its reason', async (t) => {
  const ask = open();
  await t.throwsAsync(ask('throw'), { message: /a sample failed: Error: no answer to throw/ });
  const [ended, next] = await Promise.allSettled([ask('exit'), ask(5)]);
  t.is(ended?.status === 'rejected' && (ended.reason as Error).message, 'the thread for a sample ended with code 7');
  t.is(next?.status === 'fulfilled' && next.value, 25);
});

test('more questions than may wait are 503 overloaded at once', async (t) => {
  const ask = open();
  const asked = await Promise.allSettled(Array.from({ length: 300 }, (_, k) => ask(k)));
  const refused = asked.filter((outcome) => outcome.status === 'rejected');
  t.is(refused.length, 300 - 256);
  t.true(refused.every(({ reason }) => reason instanceof ApiError && reason.code === 'overloaded'));
});

test('a thread that cannot be started fails what waits for it, and is tried again', async (t) => {
  const ask = openThread<number, number>({
    entry: new URL('./no-such-thread.ts', import.meta.url),
    subject: 'nothing',
    limit_ms: 60_000,
  });
  for (const message of ['first', 'second'])
    await t.throwsAsync(Promise.all([ask(1), ask(2)]), { message: 'the thread for nothing failed' }, message);
});
