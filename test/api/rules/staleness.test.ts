import test from 'ava';
import { type Feeds, ingestHealth } from '../../../api/rules/staleness.ts';
import type { FeedState } from '../../../schemas/collections.ts';

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
  t.deepEqual(
    [late.status, late.stale, late.lag_seconds, late.last_scan_at],
    ['degraded', true, 601, '2026-05-01T20:12:00Z'],
  );
});

test('without any scan there is nothing fresh', (t) => {
  const none = ingestHealth(
    { newest_provenance: null, newest_scan_ms: null, feeds: new Map(), feedStates: [] },
    SCAN_MS,
  );
  t.deepEqual([none.status, none.last_scan_at, none.lag_seconds, none.sources.length], ['degraded', null, null, 1]);
});

test('a scan from a clock ahead of ours has no negative lag', (t) => {
  t.is(ingestHealth(SCANS, SCAN_MS - 5000).lag_seconds, 0);
});

test('a scan that lies more than ten minutes ahead of the clock is not taken for fresh', (t) => {
  t.is(ingestHealth(SCANS, SCAN_MS - 600_000).status, 'ok');
  const ahead = ingestHealth(SCANS, SCAN_MS - 601_000);
  t.deepEqual([ahead.status, ahead.stale, ahead.lag_seconds], ['degraded', true, 0]);
});

test('a companion feed that stopped shows with its own lag, while the scans are fresh', (t) => {
  const feeds = new Map([
    ['VIL', SCAN_MS - 3_600_000],
    ['MESH', SCAN_MS],
    ['POSH', SCAN_MS - 120_000],
  ]);
  const { status, stale, lag_seconds, sources } = ingestHealth({ ...SCANS, feeds }, SCAN_MS + 60_000);
  t.deepEqual([status, stale, lag_seconds], ['degraded', false, 60]);
  t.deepEqual(
    sources.map((feed) => [feed.name, feed.status, feed.lag_seconds, feed.stale, feed.last_success_at]),
    [
      ['MESH', 'ok', 60, false, '2026-05-01T20:12:00Z'],
      ['POSH', 'ok', 180, false, '2026-05-01T20:10:00Z'],
      ['VIL', 'degraded', 3660, true, '2026-05-01T19:12:00Z'],
    ],
  );
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
