/** Hail is over when none was detected for so long. */
export const CLEAR_AFTER_MS = 30 * 60_000;
/** A scan that is older than this when it arrives tells nobody of hail: it is history by then. */
export const LATE_AFTER_MS = 30 * 60_000;

/** An alert, as far as a scan decides about it. */
export interface Episode {
  readonly status: 'open' | 'resolved' | 'closed';
  /** First detection, epoch milliseconds. */
  readonly triggered_ms: number;
  /** Last detection. */
  readonly last_seen_ms: number;
  /** Largest size so far, mm. */
  readonly max_size_mm: number;
  /** Blocks of and around the place that the scan of the last detection covered; null: not known. */
  readonly covered_blocks: number | null;
}

/** What one scan says of one subscription or area. */
export interface PlaceInScan {
  readonly scan_ms: number;
  /** It arrived in time to tell somebody. */
  readonly on_time: boolean;
  /** The subscription or area still wants to know. */
  readonly asked: boolean;
  /** Largest size among the detections that qualify, mm; null without any. */
  readonly hail_mm: number | null;
  /** Blocks of and around the place that the scan covers; null: not known. */
  readonly covered_blocks: number | null;
}

/** What becomes of the alerts of a place. */
export type Step =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'open' }
  | { readonly kind: 'keep'; readonly last_seen_ms: number; readonly max_size_mm: number; readonly newer: boolean }
  | { readonly kind: 'resolve'; readonly resolved_ms: number }
  | { readonly kind: 'close' };

const NOTHING: Step = { kind: 'nothing' };

/**
 * What a scan does to a place with these alerts, in any order. It follows from the alerts and the scan alone, so that the same
 * scan again does nothing more, whoever brings it.
 *
 * Hail opens an alert, unless it belongs to one that is there: an open one, or one that was resolved and began at most half an
 * hour after the scan. Half an hour after the last detection it is resolved by a scan without hail that covers as much of the
 * place as the scan that saw the last: a radar that failed sees no hail either. Without such a scan it stays open, however long.
 * An alert that nobody asks for any more is closed, and nobody is told.
 */
export function nextStep(scan: PlaceInScan, episodes: readonly Episode[]): Step {
  const open = episodes.find(({ status }) => status === 'open');
  if (!scan.asked) return open === undefined ? NOTHING : { kind: 'close' };
  if (scan.hail_mm !== null) {
    if (open !== undefined) return kept(open, scan.scan_ms, scan.hail_mm);
    return scan.on_time && !episodes.some((episode) => holds(episode, scan.scan_ms)) ? { kind: 'open' } : NOTHING;
  }
  if (open === undefined) return NOTHING;
  const resolved_ms = open.last_seen_ms + CLEAR_AFTER_MS;
  return scan.scan_ms >= resolved_ms && coversAsMuch(scan, open) ? { kind: 'resolve', resolved_ms } : NOTHING;
}

/** Hail of a scan in an open alert. What is known already changes nothing: a scan may come twice, or late. */
function kept({ last_seen_ms, max_size_mm }: Episode, scan_ms: number, hail_mm: number): Step {
  const newer = scan_ms > last_seen_ms;
  if (!newer && hail_mm <= max_size_mm) return NOTHING;
  return {
    kind: 'keep',
    last_seen_ms: Math.max(last_seen_ms, scan_ms),
    max_size_mm: Math.max(max_size_mm, hail_mm),
    newer,
  };
}

/** True when hail of a scan belongs to an alert that was resolved: a late scan does not raise it again. */
function holds({ status, triggered_ms, last_seen_ms }: Episode, scan_ms: number): boolean {
  if (status !== 'resolved') return false;
  return scan_ms > triggered_ms - CLEAR_AFTER_MS && scan_ms < last_seen_ms + CLEAR_AFTER_MS;
}

function coversAsMuch({ covered_blocks }: PlaceInScan, open: Episode): boolean {
  return covered_blocks !== null && covered_blocks >= Math.max(1, open.covered_blocks ?? 1);
}
