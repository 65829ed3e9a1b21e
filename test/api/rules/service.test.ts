import test from 'ava';
import { creditBalance } from '../../../api/routes/usage.ts';
import { localTimeAt } from '../../../api/rules/local-time.ts';
import { type Feeds, ingestHealth } from '../../../api/rules/staleness.ts';
import { isDelivered, retryAfter, retryWait } from '../../../api/rules/webhook-retry.ts';
import type { FeedState } from '../../../schemas/collections.ts';

const NOW_MS = Date.parse('2026-05-20T12:00:00Z');

for (const [header, wait_ms] of [
  ['0', 0],
  ['120', 120_000],
  [' 7 ', 7_000],
  ['9999999999', 9_999_999_999_000],
  ['9'.repeat(400), Number.POSITIVE_INFINITY],
  ['Wed, 20 May 2026 12:01:30 GMT', 90_000],
  ['Wed, 20 May 2026 11:00:00 GMT', 0],
  ['', null],
  [['7', '9'], 7_000],
  ['-5', null],
  ['1.5', null],
  ['soon', null],
  ['2026-05-20T12:01:30Z', null],
  ['Wed, 20 May 2026 12:01:30 EST', null],
  ['Wed May 20 12:01:30 2026', null],
  ['Mon, 31 Feb 2026 12:00:00 GMT', null],
  ['Wed, 20 May 2026 24:00:00 GMT', null],
  [undefined, null],
] as const)
  test(`Retry-After ${header === undefined ? 'left out' : JSON.stringify(header).slice(0, 40)} asks for ${wait_ms ?? 'nothing'}`, (t) => {
    t.is(retryAfter(typeof header === 'object' ? [...header] : header, NOW_MS), wait_ms);
  });

test('whatever is longer than the longest wait counts as the longest wait', (t) => {
  for (const header of ['601', '9999999999', '9'.repeat(400), 'Fri, 31 Dec 9999 23:59:59 GMT']) {
    const failed = { attempt: 1, status_code: 503, retry_after_ms: retryAfter(header, NOW_MS), since_first_ms: 0 };
    t.is(retryWait(failed), 600_000, header);
  }
});

const FAILED = { status_code: 500, retry_after_ms: null, since_first_ms: 0 } as const;

test('five retries wait 10, 20, 40, 80 and 160 s, and there is no sixth', (t) => {
  const waits = [1, 2, 3, 4, 5, 6].map((attempt) => retryWait({ ...FAILED, attempt }));
  t.deepEqual(waits, [10_000, 20_000, 40_000, 80_000, 160_000, null]);
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

const plan = { name: 'p', monthly_limit: 1000, spend_cap: 1500, overage_policy: 'allow', overage_rate: 0.004 } as const;

test('below the limit nothing is over', (t) => {
  t.deepEqual(creditBalance(plan, 400, 1500, []), {
    credits: { limit: 1000, used: 400, remaining: 600, spend_cap: 1500, until_cap: 1100 },
    overage: { credits: 0, estimated_cost: 0, rate: 0.004 },
    overage_policy: { policy: 'allow', spend_cap: 1500, per_key_overrides: [] },
  });
});

test('above the limit the remainder is clamped, and the overage is not taken off twice', (t) => {
  const { credits, overage } = creditBalance(plan, 1234, 1500, []);
  t.deepEqual([credits.remaining, credits.until_cap], [0, 266]);
  t.deepEqual(overage, { credits: 234, estimated_cost: 0.94, rate: 0.004 });
});

test('without a bound there is nothing left to count', (t) => {
  const { credits, overage } = creditBalance({ ...plan, monthly_limit: null, spend_cap: null }, 1234, null, []);
  t.deepEqual(credits, { limit: null, used: 1234, remaining: null, spend_cap: null, until_cap: null });
  t.is(overage.credits, 0);
});

const SCAN_MS = Date.parse('2026-05-01T20:12:00Z');
const SCANS: Feeds = {
  newest_provenance: 'observed',
  newest_scan_ms: SCAN_MS,
  feeds: new Map([['MESH', SCAN_MS]]),
  feedStates: [],
};
const WARNINGS: FeedState = {
  name: 'warnings',
  collection: 'warnings',
  every_s: 120,
  last_attempt_at: '2026-05-01T20:12:00Z',
  last_success_at: '2026-05-01T20:12:00Z',
  failure: null,
  source: 'observed',
};

test('a scan of ten minutes ago is fresh, one second more is stale', (t) => {
  t.is(ingestHealth(SCANS, SCAN_MS + 600_000).status, 'ok');
  const late = ingestHealth(SCANS, SCAN_MS + 601_000);
  const told = [late.status, late.stale, late.lag_seconds, late.last_scan_at];
  t.deepEqual(told, ['degraded', true, 601, '2026-05-01T20:12:00Z']);
});

test('a scan from a clock ahead of ours has no negative lag', (t) => {
  t.is(ingestHealth(SCANS, SCAN_MS - 5000).lag_seconds, 0);
});

test('a scan that lies more than ten minutes ahead of the clock is not taken for fresh', (t) => {
  t.is(ingestHealth(SCANS, SCAN_MS - 600_000).status, 'ok');
  const ahead = ingestHealth(SCANS, SCAN_MS - 601_000);
  t.deepEqual([ahead.status, ahead.stale, ahead.lag_seconds], ['degraded', true, 0]);
});

test('a feed beside the scans that was never read shows, and makes the service degraded', (t) => {
  const dead = { ...WARNINGS, last_success_at: null, failure: 'server answers 503' };
  const { status, stale, sources } = ingestHealth({ ...SCANS, feedStates: [dead] }, SCAN_MS);
  t.deepEqual([status, stale], ['degraded', false]);
  t.deepEqual(sources[1], {
    name: 'warnings',
    status: 'degraded',
    last_success_at: null,
    lag_seconds: null,
    stale: true,
  });
});

test('a feed of every two minutes is stale after ten, one of every hour after three hours', (t) => {
  const staleAt = (every_s: number, age_s: number) =>
    ingestHealth({ ...SCANS, feedStates: [{ ...WARNINGS, every_s }] }, SCAN_MS + age_s * 1000).sources[1]?.stale;
  t.deepEqual([staleAt(120, 600), staleAt(120, 601)], [false, true]);
  t.deepEqual([staleAt(3600, 10_800), staleAt(3600, 10_801)], [false, true]);
});

for (const [where, lat, lon, time, expected] of [
  ['Kansas City in summer', 39.1, -94.6, '2026-05-02T00:31:00Z', 'Fri, May 1, 2026, 7:31 PM CDT'],
  ['Kansas City in winter', 39.1, -94.6, '2026-01-02T06:05:00Z', 'Fri, Jan 2, 2026, 12:05 AM CST'],
  ['the last minute of winter time', 39.1, -94.6, '2026-03-08T07:59:00Z', 'Sun, Mar 8, 2026, 1:59 AM CST'],
  ['the first of summer time', 39.1, -94.6, '2026-03-08T08:00:00Z', 'Sun, Mar 8, 2026, 3:00 AM CDT'],
  ['Phoenix, without summer time', 33.45, -112.07, '2026-07-01T19:00:00Z', 'Wed, Jul 1, 2026, 12:00 PM MST'],
  ['Denver', 39.74, -104.99, '2026-07-01T19:00:00Z', 'Wed, Jul 1, 2026, 1:00 PM MDT'],
  ['New York', 40.71, -74.01, '2026-07-01T19:00:00Z', 'Wed, Jul 1, 2026, 3:00 PM EDT'],
  ['western Kansas', 39.35, -101.71, '2026-07-01T19:00:00Z', 'Wed, Jul 1, 2026, 1:00 PM MDT'],
  ['far out at sea', 35, -140, '2026-07-01T19:00:00Z', 'Wed, Jul 1, 2026, 7:00 PM UTC'],
] as const)
  test(`local time: ${where}`, (t) => {
    t.is(localTimeAt({ lat, lon }).words('medium', Date.parse(time)).replaceAll('\u00a0', ' '), expected);
  });

test('local time: a span across midnight has both dates, one across the end of summer time both abbreviations', (t) => {
  const words = (first: string, last: string) =>
    localTimeAt({ lat: 39.1, lon: -94.6 })
      .words('short', Date.parse(first), Date.parse(last))
      .replaceAll('\u00a0', ' ');
  t.is(words('2026-11-28T03:29:00Z', '2026-11-28T03:52:00Z'), 'Nov 27, 9:29 – 9:52 PM CST');
  t.is(words('2026-11-28T05:50:00Z', '2026-11-28T06:20:00Z'), 'Nov 27, 11:50 PM CST – Nov 28, 12:20 AM CST');
  t.is(words('2026-11-01T06:50:00Z', '2026-11-01T07:20:00Z'), 'Nov 1, 1:50 AM CDT – Nov 1, 1:20 AM CST');
});
