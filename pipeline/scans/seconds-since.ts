/** Seconds that passed since a reading of the monotonic clock, to the millisecond. */
export function secondsSince(begun_ms: number): number {
  return Math.round(performance.now() - begun_ms) / 1000;
}
