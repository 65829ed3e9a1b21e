import type { Provenance } from '../../schemas/provenance.ts';
import type { Health } from '../../schemas/resources/health.ts';
import { timestamp } from '../../schemas/time.ts';

/** Every product comes about every two minutes and takes up to five to be published; twice that is late. */
const STALE_AFTER_S = 600;
/** The product that scans are made of. */
const SCANS = 'MESH';

type Ingest = Health['components']['ingest'];

/** What is known of the feeds that the published data were made of. */
export interface Feeds {
  /** Provenance of the newest data. */
  readonly newest_provenance: Provenance | null;
  readonly newest_scan_ms: number | null;
  /** Time of the newest file of each product, epoch milliseconds. */
  readonly feeds: ReadonlyMap<string, number>;
}

/**
 * How fresh the published data and each of their feeds are at an instant; without any they are stale. One late feed is enough
 * for `degraded`: scans go on without it, but their values are missing.
 */
export function ingestHealth({ newest_provenance, newest_scan_ms, feeds }: Feeds, now_ms: number): Ingest {
  const companions = [...feeds.keys()].filter((name) => name !== SCANS).sort();
  const sources = [
    feedHealth(SCANS, newest_scan_ms, now_ms),
    ...companions.map((name) => feedHealth(name, feeds.get(name) ?? null, now_ms)),
  ];
  const { last_success_at, lag_seconds, stale } = sources[0] as Ingest['sources'][number];
  const status = sources.every((feed) => feed.status === 'ok') ? 'ok' : 'degraded';
  return { status, source: newest_provenance, last_scan_at: last_success_at, lag_seconds, stale, sources };
}

function feedHealth(name: string, newest_ms: number | null, now_ms: number): Ingest['sources'][number] {
  const lag_seconds = newest_ms === null ? null : Math.max(0, Math.round((now_ms - newest_ms) / 1000));
  const stale = lag_seconds === null || lag_seconds > STALE_AFTER_S;
  return {
    name,
    status: stale ? 'degraded' : 'ok',
    last_success_at: newest_ms === null ? null : timestamp(newest_ms),
    lag_seconds,
    stale,
  };
}
