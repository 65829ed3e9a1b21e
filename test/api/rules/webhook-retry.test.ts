import test from 'ava';
import { earlierRetryWait, isDelivered, retryWait } from '../../../api/rules/webhook-retry.ts';

const FAILED = { status_code: 500, retry_after_ms: null, since_first_ms: 0 } as const;

test('five retries wait 10, 20, 40, 80 and 160 s, and there is no sixth', (t) => {
  const waits = [1, 2, 3, 4, 5, 6].map((attempt) => retryWait({ ...FAILED, attempt }));
  t.deepEqual(waits, [10_000, 20_000, 40_000, 80_000, 160_000, null]);
});

test('in the earlier variant three retries wait 1 s, 30 s and 5 min, and there is no fourth', (t) => {
  const waits = [1, 2, 3, 4].map((attempt) => earlierRetryWait({ attempt }));
  t.deepEqual(waits, [1_000, 30_000, 300_000, null]);
});

for (const [status_code, retry_after_ms, wait_ms] of [
  [503, 90_000, 90_000],
  [429, 90_000, 90_000],
  [503, 1_000, 10_000],
  [503, 7_200_000, 600_000],
  [500, 90_000, 10_000],
] as const)
  test(`a first ${status_code} that asks for ${retry_after_ms / 1000} s is waited for ${wait_ms / 1000} s`, (t) => {
    t.is(retryWait({ attempt: 1, status_code, retry_after_ms, since_first_ms: 500 }), wait_ms);
  });

test('a retry that would come more than an hour after the first attempt is not made', (t) => {
  const late = { attempt: 5, status_code: 503, retry_after_ms: 600_000 };
  t.is(retryWait({ ...late, since_first_ms: 3_000_000 }), 600_000);
  t.is(retryWait({ ...late, since_first_ms: 3_000_001 }), null);
});

test('where nobody knows how long ago the first attempt was, the number of attempts alone ends the retries', (t) => {
  const waits = [1, 2, 3, 4, 5, 6].map((attempt) => retryWait({ ...FAILED, attempt, since_first_ms: null }));
  t.deepEqual(waits, [10_000, 20_000, 40_000, 80_000, 160_000, null]);
});

test('a scale shortens the waits, not the hour', (t) => {
  t.is(retryWait({ ...FAILED, attempt: 3 }, 0.01), 400);
  t.is(retryWait({ ...FAILED, attempt: 3, since_first_ms: 3_000_000 }, 0.01), 400);
});

for (const [status, delivered] of [
  [199, false],
  [200, true],
  [299, true],
  [301, false],
  [410, false],
  [null, false],
] as const)
  test(`${status ?? 'no answer'} is ${delivered ? 'delivered' : 'a failure'}`, (t) =>
    t.is(isDelivered(status), delivered));
