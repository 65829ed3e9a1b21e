/** The last instant written: charges of one commit share few. */
let last = { time_ms: Number.NaN, text: '' };

/** `2026-05-01T20:12:00.123Z`: how rows hold an instant, so that its text sorts by time. `time_ms`: epoch milliseconds. */
export function instant(time_ms: number): string {
  if (time_ms !== last.time_ms) last = { time_ms, text: new Date(time_ms).toISOString() };
  return last.text;
}
