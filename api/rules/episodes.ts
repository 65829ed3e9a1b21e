/** Hail is over when none was detected for this long, milliseconds. */
export const CLEAR_AFTER_MS = 30 * 60_000;
/** A scan that is older than this when it arrives sends no alerts, milliseconds. */
export const LATE_AFTER_MS = 30 * 60_000;

/** Fields of an alert that a scan reads or changes. */
export interface Episode {
  readonly status: 'open' | 'resolved' | 'closed';
  /** First detection, epoch milliseconds. */
  readonly triggered_ms: number;
  readonly last_seen_ms: number;
  /** Largest size so far, mm. */
  readonly max_size_mm: number;
  /** Blocks of and around the place that the scan of the last detection covered; null: not known. */
  readonly covered_blocks: number | null;
}

/** Result of one scan for one subscription or area. */
interface PlaceInScan {
  readonly scan_ms: number;
  /** The scan arrived early enough to send alerts. */
  readonly on_time: boolean;
  /** The subscription or area still raises alerts. */
  readonly asked: boolean;
  /** Largest size among the detections that qualify, mm; null without any. */
  readonly hail_mm: number | null;
  /** Blocks of and around the place that the scan covers; null: not known. */
  readonly covered_blocks: number | null;
}

type Step =
  | { readonly kind: 'nothing' | 'open' | 'close' }
  | { readonly kind: 'keep'; readonly last_seen_ms: number; readonly max_size_mm: number; readonly newer: boolean }
  | { readonly kind: 'resolve'; readonly resolved_ms: number };

const NOTHING: Step = { kind: 'nothing' };

/**
 * Change that a scan makes to the alerts of a place, given in any order. It follows from the alerts and the scan
 * alone, so the same scan again changes nothing: scans may come twice, or late.
 *
 * Hail opens an alert, unless it belongs to an existing one: an open one, or a resolved one that began at most half an hour after
 * the scan. Half an hour after the last detection, a scan without hail resolves the alert if it covers as much of the place as
 * the scan of the last detection did: a radar that failed sees no hail either. Without such a scan the alert stays open.
 * An alert whose subscription or area raises alerts no more is closed without an event.
 */
export function nextStep(
  { scan_ms, on_time, asked, hail_mm, covered_blocks }: PlaceInScan,
  episodes: readonly Episode[],
): Step {
  const open = episodes.find(({ status }) => status === 'open');
  if (open === undefined) {
    const isHeld = episodes.some((episode) => holds(episode, scan_ms));
    return asked && hail_mm !== null && on_time && !isHeld ? { kind: 'open' } : NOTHING;
  }
  if (!asked) return { kind: 'close' };
  const { last_seen_ms, max_size_mm } = open;
  if (hail_mm === null) {
    const resolved_ms = last_seen_ms + CLEAR_AFTER_MS;
    const isCovered = covered_blocks !== null && covered_blocks >= Math.max(1, open.covered_blocks ?? 1);
    return scan_ms >= resolved_ms && isCovered ? { kind: 'resolve', resolved_ms } : NOTHING;
  }
  const newer = scan_ms > last_seen_ms;
  if (!newer && hail_mm <= max_size_mm) return NOTHING;
  const largest = { last_seen_ms: Math.max(last_seen_ms, scan_ms), max_size_mm: Math.max(max_size_mm, hail_mm) };
  return { kind: 'keep', ...largest, newer };
}

/** True when hail of a scan belongs to an alert that was resolved: a late scan does not raise it again. */
function holds({ status, triggered_ms, last_seen_ms }: Episode, scan_ms: number): boolean {
  if (status !== 'resolved') return false;
  return scan_ms > triggered_ms - CLEAR_AFTER_MS && scan_ms < last_seen_ms + CLEAR_AFTER_MS;
}

/**
 * A subscription may be watched twice: for its own threshold, and for any hail, which some event formats report as well. The second
 * watch has a location id of its own, so that each of the two has one open alert at most.
 */
const SUFFIX = ':any';

/** Location id of the any-hail watch of a subscription. */
export function anyHailOf(subscription_id: string): string {
  return `${subscription_id}${SUFFIX}`;
}

export function isAnyHail(location_id: string): boolean {
  return location_id.endsWith(SUFFIX);
}

/** Id of the subscription or area of a location. */
export function ownerOf(location_id: string): string {
  return isAnyHail(location_id) ? location_id.slice(0, -SUFFIX.length) : location_id;
}
