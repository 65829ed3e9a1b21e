import test from 'ava';
import { ApiError } from '../../api/http/errors.ts';
import { onThread } from '../../api/published/thread.ts';
import type { answer } from '../support/service/sample-thread.ts';

function openSample(limit_ms = 60_000, module = '../support/service/sample-thread.ts') {
  return onThread<Parameters<typeof answer>[0], number>({
    module: new URL(module, import.meta.url),
    name: 'answer',
    subject: 'a sample',
    limit_ms,
  });
}

test('each question gets its own answer, and more than may be under way are 503 overloaded at once', async (t) => {
  const ask = openSample();
  const asked = await Promise.allSettled(Array.from({ length: 300 }, (_, k) => ask(k)));
  t.true(asked.slice(0, 256).every((outcome, k) => outcome.status === 'fulfilled' && outcome.value === k * k));
  for (const outcome of asked.slice(256))
    t.true(outcome.status === 'rejected' && outcome.reason instanceof ApiError && outcome.reason.code === 'overloaded');
});

test('a question that takes too long is 503 overloaded, and others are answered by another thread', async (t) => {
  const ask = openSample(5000);
  const [slow, ...others] = await Promise.allSettled([ask('hang'), ask(3), ask(4)]);
  t.like(slow, {
    status: 'rejected',
    reason: { code: 'overloaded', message: 'a sample takes longer than 5000 ms' },
  });
  t.deepEqual(
    others.map((other) => other.status === 'fulfilled' && other.value),
    [9, 16],
  );
  t.is(await ask(5), 25);
});

test('a question that fails, or ends the thread, fails alone and with its reason', async (t) => {
  const ask = openSample();
  t.like(await t.throwsAsync(ask('throw'), { message: 'a sample failed' }), { cause: { message: 'no answer' } });
  const [ended, next] = await Promise.allSettled([ask('exit'), ask(5)]);
  t.like(ended, { status: 'rejected', reason: { message: 'a sample failed' } });
  t.like(next, { status: 'fulfilled', value: 25 });
});

test('a thread whose module is missing fails each question', async (t) => {
  const ask = openSample(60_000, './no-such-thread.ts');
  for (const question of [1, 2]) await t.throwsAsync(ask(question), { message: 'a sample failed' });
});
