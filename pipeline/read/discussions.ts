import type { Watch } from '../../schemas/tables/feeds.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { edgesOf } from './polygon.ts';
import { badFile, MAX_FUTURE_MS, quoted, type RejectedItem } from './rejected-item.ts';
import { inchesToMm } from './reports.ts';
import { issueLine, nearestDayTime, productLines, textOutline, validity, wmoHeading } from './text-product.ts';

/**
 * Mesoscale discussion of the Storm Prediction Center (SWOMCD): number, validity, subject, probability of a watch, peak
 * sizes where given, and outline. An outline that is broken or absent is rejected and leaves the geometry null. Throws BadInput
 * for another text, and for a discussion whose number, issue or validity cannot be read.
 */
export function readDiscussion(
  bytes: Uint8Array,
  subject: string,
  received_ms: number,
): { row: Watch; set_aside: RejectedItem[] } {
  const lines = productLines(bytes, subject);
  const bad = (reason: string) => badFile(subject, reason);
  const number = firstMatch(lines, /^\s*mesoscale discussion\s+(\d{1,4})\b/i);
  if (number === null) throw bad("no line 'Mesoscale Discussion number'");
  const issued_ms = issueLine(lines);
  if (issued_ms === null) throw bad('no issue line with a known time zone');
  const valid = /\bvalid\s+(\d{6})z\s*-\s*(\d{6})z/i.exec(lines.find((line) => /^\s*valid\s+\d{6}z/i.test(line)) ?? '');
  const times = valid === null ? null : validity(valid[1], valid[2], issued_ms);
  if (times === null) throw bad(`validity is ${quoted(valid?.[0] ?? null)}, expected VALID ddhhmmZ - ddhhmmZ`);
  const heading = wmoHeading(lines);
  const issued_at = issueTime(heading?.ddhhmm ?? null, issued_ms);
  if (issued_at > received_ms + MAX_FUTURE_MS) throw bad('issued in the future');
  const outline = textOutline(lines);
  const polygon = typeof outline === 'string' ? null : outline;
  const hail = firstMatch(lines, /most probable peak hail size\.{2,}\s*(?:up to )?(?:[\d.]{1,5}-)?([\d.]{1,5}) inch/i);
  const gust = firstMatch(lines, /most probable peak wind gust\.{2,}\s*(?:up to )?(?:\d{1,3}-)?(\d{1,3}) mph/i);
  const percent = firstMatch(lines, /^\s*probability of watch issuance\s*\.{2,}\s*(\d{1,3}) percent/i);
  return {
    row: {
      watch_id: `discussion-${new Date(issued_ms).getUTCFullYear()}-${number.padStart(4, '0')}`,
      type: 'mesoscale_discussion',
      number: Number(number),
      issued_at,
      begins_at: times.begins_ms,
      expires_at: times.ends_ms,
      headline: paragraph(lines, /^\s*concerning\.{2,}/i) ?? '',
      areas: paragraph(lines, /^\s*areas affected\.{2,}/i),
      watch_probability_pct: percent === null || Number(percent) > 100 ? null : Number(percent),
      hail_size_mm: hail === null || !(Number(hail) > 0) ? null : inchesToMm(Number(hail)),
      gust_kmh: gust === null ? null : Math.round(Number(gust) * METRES_PER_MILE) / 1000,
      is_cancelled: false,
      replaces: '',
      geometry: polygon?.geometry ?? null,
      ...edgesOf(polygon),
      data_source: heading?.is_simulated ? 'simulated' : 'observed',
      received_at: received_ms,
      is_current: true,
    },
    set_aside: typeof outline === 'string' ? [{ item: 'outline', reason: outline }] : [],
  };
}

/** Time of the heading; the issue line dates a copy, whose heading is of another day. */
function issueTime(ddhhmm: string | null, issued_ms: number): number {
  const time_ms = ddhhmm === null ? null : nearestDayTime(ddhhmm, issued_ms);
  return time_ms !== null && Math.abs(time_ms - issued_ms) <= 60 * 60_000 ? time_ms : issued_ms;
}

function firstMatch(lines: readonly string[], pattern: RegExp): string | null {
  for (const line of lines) {
    const found = pattern.exec(line.slice(0, 200))?.[1];
    if (found !== undefined) return found;
  }
  return null;
}

/** Words after a heading such as `CONCERNING...`, to the next empty line or heading, without dots at the end. */
function paragraph(lines: readonly string[], heading: RegExp): string | null {
  const start = lines.findIndex((line) => heading.test(line));
  if (start === -1) return null;
  const words = [lines[start].replace(heading, '')];
  for (const line of lines.slice(start + 1, start + 6)) {
    if (line.trim() === '' || /^\s*(concerning\.{2,}|valid \d{6}z|probability of watch)/i.test(line)) break;
    words.push(line.trim());
  }
  const text = words.join(' ').trim();
  return text.replace(/\.{1,9}$/, '').trim() || null;
}
