import { uniformOf } from './random.ts';

export const SCAN_INTERVAL_MS = 120_000;
/** Share of scans that never arrive. */
const MISSED = 0.01;
/** Largest deviation of a scan from its regular time, for that interval; less for a shorter one. */
const JITTER_S = 5;

/**
 * Times of the scans in [from_ms, to_ms), epoch milliseconds at whole seconds, in order.
 * About every `interval_ms`, 120 s as of the real radars, not aligned with the clock, 1 % missing. A function of the seed and
 * absolute time: the scans of two adjoining spans are the scans of the whole.
 */
export function scanTimes(seed: number, from_ms: number, to_ms: number, interval_ms = SCAN_INTERVAL_MS): number[] {
  const phase_ms = 1000 * Math.floor((interval_ms / 1000) * uniformOf(seed, 0x5ca, 0));
  const jitter_of_interval_s = (JITTER_S * interval_ms) / SCAN_INTERVAL_MS;
  const times: number[] = [];
  const first = Math.floor((from_ms - phase_ms) / interval_ms) - 1;
  for (let n = first; n * interval_ms + phase_ms - 1000 * jitter_of_interval_s < to_ms; n += 1) {
    const jitter_s = Math.round(jitter_of_interval_s * (2 * uniformOf(seed, 0x5ca, 1, n) - 1));
    const time_ms = n * interval_ms + phase_ms + 1000 * jitter_s;
    if (time_ms >= from_ms && time_ms < to_ms && uniformOf(seed, 0x5ca, 2, n) >= MISSED) times.push(time_ms);
  }
  return times;
}
