import type { Frame } from '../data/day.ts';

/** A longer pause between two scans is an outage: scans come every 2 to 4 minutes. */
export const OUTAGE_MS = 10 * 60_000;
/** Playing shows this much of the day in a second, at speed 1. */
const PLAYED_MS_PER_S = 9 * 60_000;

/** Scans on an axis of time, from the first to the last, with the outages between them. */
type Axis = ReturnType<typeof axisOf>;

/** The axis of some scans, oldest first. */
export function axisOf(frames: readonly Pick<Frame, 'scan_time'>[]) {
  const times_ms = frames.map(({ scan_time }) => Date.parse(scan_time));
  const outages = times_ms
    .map((to_ms, i) => ({ from_ms: times_ms[i - 1] ?? to_ms, to_ms }))
    .filter(({ from_ms, to_ms }) => to_ms - from_ms > OUTAGE_MS);
  return { from_ms: times_ms[0] ?? 0, to_ms: times_ms.at(-1) ?? 0, times_ms, outages };
}

/** Index of the scan nearest to an instant; -1 without scans. */
export function nearestScan({ times_ms }: Pick<Axis, 'times_ms'>, at_ms: number): number {
  const away = (i: number) => Math.abs(times_ms[i] - at_ms);
  return times_ms.reduce((best, _, i) => (best < 0 || away(i) < away(best) ? i : best), -1);
}

/** Share of an axis at which an instant lies. */
export function shareOf({ from_ms, to_ms }: Pick<Axis, 'from_ms' | 'to_ms'>, at_ms: number): number {
  return to_ms === from_ms ? 1 : (at_ms - from_ms) / (to_ms - from_ms);
}

/** Time of playing from the first scan to each scan at speed 1, ms: true to time, but an outage passes as ten minutes do. */
export function playingTimes({ times_ms }: Pick<Axis, 'times_ms'>): number[] {
  let at = 0;
  return times_ms.map((time_ms, i) => {
    at += (1000 * Math.min(OUTAGE_MS, time_ms - (times_ms[i - 1] ?? time_ms))) / PLAYED_MS_PER_S;
    return at;
  });
}
