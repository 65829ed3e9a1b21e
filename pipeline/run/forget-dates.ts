import { addDays, utcDate } from '../../schemas/time.ts';
import { newestScan } from '../publish/published-dates.ts';
import type { Root } from '../publish/root.ts';

/**
 * Unpublishes simulated storm dates that lie more than `keep_dates` before the newest scan: their lists stay, empty, and the sweep
 * deletes their files. Dates with observed data stay.
 */
export async function forgetOldDates(root: Root, keep_dates: number, now_ms: number): Promise<void> {
  // Counted from the newest scan: a clock that was set wrong removes nothing.
  const newest_ms = Math.min(now_ms, newestScan(root.heads.values()) ?? now_ms);
  const first = addDays(utcDate(newest_ms), -keep_dates);
  for (const { partition, provenance, scan_count } of [...root.heads.values()])
    if (partition < first && provenance === 'simulated' && scan_count > 0) await root.clear(partition, now_ms);
}
