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
