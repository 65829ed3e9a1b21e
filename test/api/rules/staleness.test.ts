import test from 'ava';
import { ingestHealth } from '../../../api/rules/staleness.ts';

const SCAN_MS = Date.parse('2026-05-01T20:12:00Z');

test('a scan of ten minutes ago is fresh, one second more is stale', (t) => {
  t.is(ingestHealth('observed', SCAN_MS, SCAN_MS + 600_000).status, 'ok');
  const late = ingestHealth('observed', SCAN_MS, SCAN_MS + 601_000);
  t.deepEqual(
    [late.status, late.stale, late.lag_seconds, late.last_scan_at],
    ['degraded', true, 601, '2026-05-01T20:12:00Z'],
  );
});

test('without any scan there is nothing fresh', (t) => {
  const none = ingestHealth(null, null, SCAN_MS);
  t.deepEqual([none.status, none.last_scan_at, none.lag_seconds, none.sources.length], ['degraded', null, null, 1]);
});

test('a scan from a clock ahead of ours has no negative lag', (t) => {
  t.is(ingestHealth('observed', SCAN_MS, SCAN_MS - 5000).lag_seconds, 0);
});
