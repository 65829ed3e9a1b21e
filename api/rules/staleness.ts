import type { Health } from '../../schemas/resources/health.ts';
import { timestamp } from '../../schemas/time.ts';
import type { Edition } from '../published/catalog.ts';

/** A product comes about every two minutes and is published within five; twice that is late. */
const STALE_AFTER_S = 600;
/** Product that defines scans. */
const SCANS = 'MESH';

type Ingest = Health['components']['ingest'];

/** A feed other than the scans is late after this many of its usual pauses, but not before STALE_AFTER_S. */
const LATE_AFTER_PAUSES = 3;

/** State of the feeds behind the published data. */
export type Feeds = Pick<Edition, 'newest_provenance' | 'newest_scan_ms' | 'feeds' | 'feedStates'>;

/**
 * How fresh the published data and each of their feeds are at an instant; without any they are stale. One late feed is enough
 * for `degraded`: scans go on without it, but their values are missing.
 */
export function ingestHealth({ newest_provenance, newest_scan_ms, feeds, feedStates }: Feeds, now_ms: number): Ingest {
  const scans = feedHealth(SCANS, newest_scan_ms, now_ms, STALE_AFTER_S);
  const companions = [...feeds].filter(([name]) => name !== SCANS).sort(([a], [b]) => (a < b ? -1 : 1));
  const sources = [
    scans,
    ...companions.map(([name, newest_ms]) => feedHealth(name, newest_ms, now_ms, STALE_AFTER_S)),
    ...feedStates.map(({ name, every_s, last_success_at }) => {
      const newest_ms = last_success_at === null ? null : Date.parse(last_success_at);
      return feedHealth(name, newest_ms, now_ms, Math.max(STALE_AFTER_S, LATE_AFTER_PAUSES * every_s));
    }),
  ];
  const { last_success_at, lag_seconds, stale } = scans;
  const status = sources.every((feed) => feed.status === 'ok') ? 'ok' : 'degraded';
  return { status, source: newest_provenance, last_scan_at: last_success_at, lag_seconds, stale, sources };
}

function feedHealth(
  name: string,
  newest_ms: number | null,
  now_ms: number,
  stale_after_s: number,
): Ingest['sources'][number] {
  const age_s = newest_ms === null ? null : Math.round((now_ms - newest_ms) / 1000);
  // A scan from a wrong clock lies ahead, and would count as fresh until then, whatever fails.
  const isAhead = name === SCANS && age_s !== null && age_s < -STALE_AFTER_S;
  const stale = age_s === null || age_s > stale_after_s || isAhead;
  return {
    name,
    status: stale ? 'degraded' : 'ok',
    last_success_at: timestamp(newest_ms),
    lag_seconds: age_s === null ? null : Math.max(0, age_s),
    stale,
  };
}
