import type { DataSource } from '../../schemas/data-source.ts';
import type { Health } from '../../schemas/resources/health.ts';
import { timestamp } from '../../schemas/time.ts';

/** Scans come every two minutes and take up to five to be published; twice that is late. */
const STALE_AFTER_S = 600;
/** Name of the feed that scans come from. */
const SCANS = 'mrms';

/** How fresh the published data are at an instant; without any they are stale. */
export function ingestHealth(
  source: DataSource | null,
  newest_scan_ms: number | null,
  now_ms: number,
): Health['components']['ingest'] {
  const lag_seconds = newest_scan_ms === null ? null : Math.max(0, Math.round((now_ms - newest_scan_ms) / 1000));
  const stale = lag_seconds === null || lag_seconds > STALE_AFTER_S;
  const last = newest_scan_ms === null ? null : timestamp(newest_scan_ms);
  const status = stale ? 'degraded' : 'ok';
  return {
    status,
    source,
    last_scan_at: last,
    lag_seconds,
    stale,
    sources: [{ name: SCANS, status, last_success_at: last, lag_seconds, stale }],
  };
}
