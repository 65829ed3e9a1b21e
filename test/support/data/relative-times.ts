/**
 * Text of a real alert file whose times are relative (`date:now -44 seconds`, `date:today 16:00:-5 +40 hours`) with instants
 * around a clock in their place, as the real feed sends them. Throws on a relative time of another form.
 */
export function withInstants(text: string, now_ms: number): string {
  return text.replaceAll(/"date:([^"]*)"/g, (_, words: string) => `"${isoInstant(instantOf(words, now_ms))}"`);
}

const UNIT_MS: Readonly<Record<string, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
};

function instantOf(words: string, now_ms: number): number {
  const [, today, hour, minute, zone, shift] =
    /^(?:now|(today|tomorrow)(?: (\d{1,2}):(\d{2}):(-?\d{1,2}))?)((?: [+-]?\d+ [a-z]+)*)$/.exec(words.trim()) ?? [];
  if (shift === undefined) throw new SyntaxError(`relative time is '${words}', expected such as 'now +1 hour'`);
  const zone_ms = Number(zone ?? 0) * 3_600_000;
  const midnight_ms = Math.floor((now_ms + zone_ms) / 86_400_000) * 86_400_000 - zone_ms;
  const base_ms =
    today === undefined
      ? now_ms
      : midnight_ms +
        Number(hour ?? 0) * 3_600_000 +
        Number(minute ?? 0) * 60_000 +
        (today === 'tomorrow' ? 86_400_000 : 0);
  return [...shift.matchAll(/([+-]?\d+) ([a-z]+?)s?(?= |$)/g)].reduce((time, [, amount, unit]) => {
    const unit_ms = UNIT_MS[unit as string];
    if (unit_ms === undefined) throw new SyntaxError(`relative time is '${words}', expected a known unit`);
    return time + Number(amount) * unit_ms;
  }, base_ms);
}

function isoInstant(time_ms: number): string {
  return `${new Date(time_ms).toISOString().slice(0, 19)}+00:00`;
}
