import { setTimeout as sleep } from 'node:timers/promises';

/** What a part of the metrics knows. */
export interface Known<Figures> {
  /** Null: not known, or known too long ago. */
  readonly figures: Figures | null;
  /** Age of the figures, seconds; null without any. */
  readonly age_s: number | null;
  /** True when they could not be read anew in time. */
  readonly has_failed: boolean;
}

interface PartTimes {
  /** Figures this young are not read again. */
  readonly fresh_ms: number;
  /** Figures older than this are shown no more. */
  readonly kept_ms: number;
  /** Longest wait of a caller. */
  readonly wait_ms: number;
}

/** One read goes on at a time, however many ask; a caller waits no longer than it may, and gets what is known. */
export function part<Figures>(
  read: () => Promise<Figures>,
  { fresh_ms, kept_ms, wait_ms }: PartTimes,
  monotonic_ms: () => number = () => performance.now(),
): () => Promise<Known<Figures>> {
  let last: { readonly figures: Figures; readonly at_ms: number } | null = null;
  let reading: Promise<boolean> | null = null;
  const readOnce = async () => {
    const at_ms = monotonic_ms();
    try {
      last = { figures: await read(), at_ms };
      return true;
    } catch {
      // The service logs its own failures; here it is one figure.
      return false;
    } finally {
      reading = null;
    }
  };
  return async () => {
    let isRead = last !== null && monotonic_ms() - last.at_ms < fresh_ms;
    if (!isRead) {
      reading ??= readOnce();
      isRead = await Promise.race([reading, sleep(wait_ms, false, { ref: false })]);
    }
    const age_ms = last === null ? null : Math.max(0, monotonic_ms() - last.at_ms);
    const isKnown = age_ms !== null && age_ms <= kept_ms;
    return {
      figures: isKnown ? (last?.figures ?? null) : null,
      age_s: isKnown ? age_ms / 1000 : null,
      has_failed: !isRead,
    };
  };
}
