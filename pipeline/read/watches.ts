import type { Watch } from '../../schemas/tables/feeds.ts';
import { MS_PER_KNOT } from '../../schemas/units.ts';
import { edgesOf } from './polygon.ts';
import { badFile, MAX_FUTURE_MS, quoted, type RejectedItem } from './rejected-item.ts';
import { inchesToMm, MAX_SIZE_INCH } from './reports.ts';
import { issueLine, nearestDayTime, productLines, textOutline, validity, wmoHeading } from './text-product.ts';

/** Gusts above 200 kt have never been forecast. */
const MAX_GUST_KT = 200;

/**
 * Watch of one aviation text (SAW) of the Storm Prediction Center. Its times have no month and year: those nearest to `received_ms`
 * are meant. An outline that is broken or absent is rejected and leaves the geometry null. Throws BadInput for another text, and for
 * one whose number, type or times cannot be read.
 */
export function readWatch(
  bytes: Uint8Array,
  subject: string,
  received_ms: number,
): { row: Watch; set_aside: RejectedItem[] } {
  const lines = productLines(bytes, subject);
  const bad = (reason: string) => badFile(subject, reason);
  const other = lines.slice(0, 10).map((line) => /^(SEL|WWP)[0-9]$/.exec(line.trim())?.[1]);
  const kind = other.find((word) => word !== undefined);
  if (kind !== undefined) throw bad(`${kind} text is not read, expected the SAW text of the watch`);
  const heading = wmoHeading(lines);
  if (heading === null) throw bad('no heading, expected that of SAW');
  const issued_at = nearestDayTime(heading.ddhhmm, issueLine(lines) ?? received_ms);
  if (issued_at === null) throw bad(`heading has the time ${heading.ddhhmm}, expected ddhhmm`);
  if (issued_at > received_ms + MAX_FUTURE_MS) throw bad(`issued ${heading.ddhhmm}, which lies in the future`);
  const line = lines.find((text) => /^WW \d/.test(text)) ?? '';
  const [, digits, words, rest] = /^WW (\d{1,4}) (SEVERE TSTM|TORNADO) (.{1,200})$/.exec(line) ?? [];
  if (digits === undefined || words === undefined || rest === undefined)
    throw bad(`no line 'WW number type …', found ${quoted(line)}`);
  const number = Number(digits);
  const text = lines.join(' ');
  const base = {
    watch_id: watchId(issued_at, number),
    type: words === 'TORNADO' ? 'tornado_watch' : 'severe_thunderstorm_watch',
    number,
    issued_at,
    watch_probability_pct: null,
    replaces: replacedNumbers(text).join(' '),
    data_source: heading.is_simulated ? 'simulated' : 'observed',
    received_at: received_ms,
    is_current: false,
  } as const;
  // The aviation text of a cancellation, `WW 575 SEVERE TSTM CANCELLED`, states nothing else.
  if (/^CANCELL?ED/.test(rest)) {
    const silent = { begins_at: null, areas: null, hail_size_mm: null, gust_kmh: null, geometry: null } as const;
    const row = { ...base, ...silent, ...edgesOf(null), expires_at: issued_at, is_cancelled: true };
    return { row: { ...row, headline: watchHeadline(row) }, set_aside: [] };
  }
  const [, areas, from, to] = /^(.*?) ?(\d{6})Z - (\d{6})Z/.exec(rest) ?? [];
  const times = from !== undefined && to !== undefined ? validity(from, to, issued_at) : null;
  if (times === null) throw bad(`validity is ${quoted(rest)}, expected ddhhmmZ - ddhhmmZ`);
  const outline = textOutline(lines);
  const polygon = typeof outline === 'string' ? null : outline;
  const inches = bounded(/\bHAIL SURFACE AND ALOFT\.+\s*(\d{1,2}(?:\.\d{1,2})?) INCH/.exec(text)?.[1], MAX_SIZE_INCH);
  const gust_kt = bounded(/\bWIND GUSTS\.+\s*(\d{1,3}) KNOTS/.exec(text)?.[1], MAX_GUST_KT);
  const row = {
    ...base,
    begins_at: times.begins_ms,
    expires_at: times.ends_ms,
    areas: areas?.trim() || null,
    hail_size_mm: inches === null ? null : inchesToMm(inches),
    gust_kmh: gust_kt === null ? null : Math.round(gust_kt * MS_PER_KNOT * 3600) / 1000,
    is_cancelled: false,
    geometry: polygon?.geometry ?? null,
    ...edgesOf(polygon),
  };
  return {
    row: { ...row, headline: watchHeadline(row) },
    set_aside: typeof outline === 'string' ? [{ item: 'outline', reason: outline }] : [],
  };
}

/** Kind, year of the issue and number. */
export function watchId(issued_ms: number, number: number): string {
  return `watch-${new Date(issued_ms).getUTCFullYear()}-${String(number).padStart(4, '0')}`;
}

/** Line such as `Tornado Watch 503 OK cancelled`; `replaced_by` is the number of the watch that replaces it. */
export function watchHeadline(
  { type, number, areas, is_cancelled }: Pick<Watch, 'type' | 'number' | 'areas' | 'is_cancelled'>,
  replaced_by: number | null = null,
): string {
  const name = type === 'tornado_watch' ? 'Tornado Watch' : 'Severe Thunderstorm Watch';
  const fate = is_cancelled ? ' cancelled' : replaced_by === null ? '' : ` replaced by watch ${replaced_by}`;
  return `${name} ${number}${areas === null ? '' : ` ${areas}`}${fate}`;
}

const REPLACES =
  /\breplaces\s+(?:WW|(?:(?:severe thunderstorm|tornado)\s+)?watch\s+(?:number)?)\s*(\d{1,4}(?:(?:,|\s+and)\s+(?:WW\s+)?\d{1,4})*)/gi;

/** Numbers of `REPLACES WW 152 AND WW 153`. */
function replacedNumbers(text: string): number[] {
  return [...text.matchAll(REPLACES)].flatMap(([, numbers = '']) => (numbers.match(/\d+/g) ?? []).map(Number));
}

/** Number of a text; null when it is absent or above its maximum. */
function bounded(text: string | undefined, most: number): number | null {
  return text === undefined || Number(text) > most ? null : Number(text);
}
