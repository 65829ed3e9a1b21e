import test from 'ava';
import { retryAfter } from '../../../api/rules/retry-after.ts';
import { retryWait } from '../../../api/rules/webhook-retry.ts';

const NOW_MS = Date.parse('2026-05-20T12:00:00Z');
const IN_90_S = NOW_MS + 90_000;

for (const [header, wait_ms] of [
  ['0', 0],
  ['120', 120_000],
  [' 7 ', 7_000],
  ['9999999999', 9_999_999_999_000],
  ['9'.repeat(400), Number.POSITIVE_INFINITY],
  ['Wed, 20 May 2026 12:01:30 GMT', 90_000],
  ['Wednesday, 20-May-26 12:01:30 GMT', 90_000],
  ['Wed May 20 12:01:30 2026', 90_000],
  ['Wed, 20 May 2026 11:00:00 GMT', 0],
  ['Wednesday, 20-May-76 12:00:00 GMT', Date.UTC(2076, 4, 20, 12) - NOW_MS],
  ['Friday, 20-May-77 12:00:00 GMT', 0],
  ['Mon Jun  1 12:00:00 2026', 12 * 86_400_000],
  ['', null],
  [['7', '9'], 7_000],
  ['-5', null],
  ['1.5', null],
  ['soon', null],
  ['2026-05-20T12:01:30Z', null],
  ['Wed, 20 May 2026 12:01:30 EST', null],
  ['Wed May 20 2026 12:01:30', null],
  ['Mon, 31 Feb 2026 12:00:00 GMT', null],
  ['Wed, 20 May 2026 24:00:00 GMT', null],
  [undefined, null],
] as const)
  test(`Retry-After ${header === undefined ? 'left out' : JSON.stringify(header).slice(0, 40)} asks for ${wait_ms ?? 'nothing'}`, (t) => {
    t.is(retryAfter(typeof header === 'object' ? [...header] : header, NOW_MS), wait_ms);
  });

test('the asctime form is UTC in every time zone of the machine', (t) => {
  const zone = process.env.TZ;
  t.teardown(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });
  process.env.TZ = 'America/Chicago';
  t.is(retryAfter('Wed May 20 12:01:30 2026', NOW_MS), IN_90_S - NOW_MS);
});

test('whatever is longer than the longest wait counts as the longest wait', (t) => {
  for (const header of ['601', '9999999999', '9'.repeat(400), 'Fri, 31 Dec 9999 23:59:59 GMT']) {
    const failed = { attempt: 1, status_code: 503, retry_after_ms: retryAfter(header, NOW_MS), since_first_ms: 0 };
    t.is(retryWait(failed), 600_000, header);
  }
});
