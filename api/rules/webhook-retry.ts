export const RETRIES_MAX = 5;
const FIRST_WAIT_MS = 10_000;
export const LONGEST_WAIT_MS = 600_000;
/** From the first attempt of an event; what would come later is not sent. */
export const WINDOW_MS = 3_600_000;
/** Answers whose Retry-After counts. */
export const BUSY: readonly number[] = [429, 503];

/** Distinct events in a row whose first attempt failed: the number after which the team is mailed, and the number that ends the deliveries. */
export const WARN_AFTER = 5;
export const GIVE_UP_AFTER = 10;

export interface FailedAttempt {
  /** 1 for the first. */
  readonly attempt: number;
  readonly status_code: number | null;
  /** What the answer asked for. */
  readonly retry_after_ms: number | null;
  /** From the beginning of the first attempt to the end of this one. */
  readonly since_first_ms: number;
}

/**
 * How long to wait from the end of a failed attempt to the next, milliseconds; null: there is none. The waits double, and a
 * busy receiver may ask for longer ones: all five together are shorter than the hour, which ends only what a service that did not
 * run sends late. `time_scale` shortens waits alone, for trials: the window stays an hour.
 */
export function retryWait(
  { attempt, status_code, retry_after_ms, since_first_ms }: FailedAttempt,
  time_scale = 1,
): number | null {
  if (attempt > RETRIES_MAX) return null;
  const usual_ms = FIRST_WAIT_MS * 2 ** (attempt - 1);
  const asked_ms = status_code !== null && BUSY.includes(status_code) ? (retry_after_ms ?? 0) : 0;
  const wait_ms = Math.min(Math.max(usual_ms, asked_ms), LONGEST_WAIT_MS) * time_scale;
  return since_first_ms + wait_ms <= WINDOW_MS ? wait_ms : null;
}

/** True for the statuses of a delivery that was taken. */
export function isDelivered(status_code: number | null): boolean {
  return status_code !== null && status_code >= 200 && status_code < 300;
}

/**
 * Milliseconds that the value of a `Retry-After` header asks to wait, counted from `now_ms`: whole seconds or an HTTP date (RFC 9110,
 * IMF-fixdate), 0 for a date in the past. May be Infinity. Null for a header that is missing or has another form; of several
 * headers the first counts.
 */
export function retryAfter(header: string | string[] | undefined, now_ms: number): number | null {
  const text = [header].flat()[0]?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const until = new Date(text);
  return until.toUTCString() === text ? Math.max(0, until.getTime() - now_ms) : null;
}
