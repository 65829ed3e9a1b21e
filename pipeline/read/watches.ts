import type { Watch } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, MS_PER_HOUR } from '../../schemas/time.ts';
import { METRES_PER_MILE, MS_PER_KNOT } from '../../schemas/units.ts';
import { checkPolygon, closed, shapeOf } from './polygon.ts';
import {
  badFile,
  inchesToMm,
  MAX_FUTURE_MS,
  MAX_SIZE_INCH,
  quoted,
  type ReadItem,
  type ReadItems,
  readItems,
  textOf,
  thousandths,
} from './rejected-item.ts';

/** Gusts above 200 kt have never been forecast. */
const MAX_GUST_KT = 200;
/** The longest watch lasts less than a day. */
const LONGEST_MS = MS_PER_DAY;
/** The longest real text has 26 kB. */
const MAX_TEXT_BYTES = 1024 * 1024;
/** Texts of the simulator come from an office that does not exist. */
const SIMULATED_OFFICE = 'KSIM';

/** Lines that have the heading, the product's name and its number. */
const HEAD_LINES = 10;
/** AWIPS line of the texts that are read: each product has one. */
const AWIPS = /^\s*(?:SAW[0-9]|SWOMCD)$/;
/** The centre numbers its tests 9999 or calls them so in the head. */
const TEST = /\b(?:TEST|9999)\b/i;

/**
 * Watch of one aviation text (SAW) of the Storm Prediction Center. Its times have no month and year: the ones nearest to `received_ms`
 * count. A test is counted. A broken or absent outline is rejected and leaves the geometry null. Throws BadInput for another text, for
 * two in one file, and for a text without readable number, type or times.
 */
export function readWatch(bytes: Uint8Array, subject: string, received_ms: number): ReadItems<Watch> {
  return readProduct(bytes, subject, 'watch', (lines) => watchIn(lines, subject, received_ms));
}

function watchIn(lines: readonly string[], subject: string, received_ms: number): ReadItem<Watch> {
  const bad = (reason: string) => badFile(subject, reason);
  const kind = firstMatch(lines.slice(0, HEAD_LINES), /^\s*(SEL|WWP)[0-9]$/);
  if (kind !== null) throw bad(`${kind} text is not read, expected the SAW text of the watch`);
  const heading = wmoHeading(lines);
  if (heading === null) throw bad('no heading, expected that of SAW');
  const issued_at = nearestDayTime(heading.ddhhmm, received_ms);
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
    data_source: heading.data_source,
    received_at: received_ms,
    is_current: false,
  } as const;
  // The aviation text of a cancellation, `WW 575 SEVERE TSTM CANCELLED`, states nothing else.
  if (/^CANCELL?ED/.test(rest)) {
    const silent = { begins_at: null, areas: null, hail_size_mm: null, gust_kmh: null } as const;
    const row = { ...base, ...silent, ...shapeOf(null), expires_at: issued_at, is_cancelled: true };
    return { row: { ...row, headline: watchHeadline(row) } };
  }
  const [, areas, from, to] = /^(.*?) ?(\d{6})Z - (\d{6})Z/.exec(rest) ?? [];
  const times = validity(from, to, issued_at);
  if (times === null) throw bad(`validity is ${quoted(rest)}, expected ddhhmmZ - ddhhmmZ`);
  const inches = bounded(/\bHAIL SURFACE AND ALOFT\.+\s*(\d{1,2}(?:\.\d{1,2})?) INCH/.exec(text)?.[1], MAX_SIZE_INCH);
  const gust_kt = bounded(/\bWIND GUSTS\.+\s*(\d{1,3}) KNOTS/.exec(text)?.[1], MAX_GUST_KT);
  const { outline, polygon_faults } = outlineOf(lines);
  const row = {
    ...base,
    ...times,
    areas: areas?.trim() || null,
    hail_size_mm: inches === null ? null : inchesToMm(inches),
    gust_kmh: gust_kt === null ? null : thousandths(gust_kt * MS_PER_KNOT * 3.6),
    is_cancelled: false,
    ...outline,
  };
  return { row: { ...row, headline: watchHeadline(row) }, polygon_faults };
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
function bounded(text: string | null | undefined, most: number): number | null {
  return text == null || Number(text) > most ? null : Number(text);
}

/**
 * Mesoscale discussion of the Storm Prediction Center (SWOMCD). A test is counted. A broken or absent outline is rejected and leaves
 * the geometry null. Throws BadInput for another text, for two in one file, and for a discussion without readable number, issue or
 * validity.
 */
export function readDiscussion(bytes: Uint8Array, subject: string, received_ms: number): ReadItems<Watch> {
  return readProduct(bytes, subject, 'discussion', (lines) => discussionIn(lines, subject, received_ms));
}

function discussionIn(lines: readonly string[], subject: string, received_ms: number): ReadItem<Watch> {
  const bad = (reason: string) => badFile(subject, reason);
  const number = firstMatch(lines, /^\s*mesoscale discussion\s+(\d{1,4})\b/i);
  if (number === null) throw bad("no line 'Mesoscale Discussion number'");
  const issued_ms = issueTime(lines);
  if (issued_ms === null) throw bad('no issue line with a known time zone');
  const valid = /\bvalid\s+(\d{6})z\s*-\s*(\d{6})z/i.exec(lines.find((line) => /^\s*valid\s+\d{6}z/i.test(line)) ?? '');
  const times = validity(valid?.[1], valid?.[2], issued_ms);
  if (times === null) throw bad(`validity is ${quoted(valid?.[0] ?? null)}, expected VALID ddhhmmZ - ddhhmmZ`);
  const heading = wmoHeading(lines);
  // The issue line dates a copy, whose heading is of another day.
  const sent_ms = heading === null ? null : nearestDayTime(heading.ddhhmm, issued_ms);
  const issued_at = sent_ms !== null && Math.abs(sent_ms - issued_ms) <= MS_PER_HOUR ? sent_ms : issued_ms;
  if (issued_at > received_ms + MAX_FUTURE_MS) throw bad('issued in the future');
  const hail = firstMatch(lines, /most probable peak hail size\.{2,}\s*(?:up to )?(?:[\d.]{1,5}-)?([\d.]{1,5}) inch/i);
  const gust = firstMatch(lines, /most probable peak wind gust\.{2,}\s*(?:up to )?(?:\d{1,3}-)?(\d{1,3}) mph/i);
  const percent = firstMatch(lines, /^\s*probability of watch issuance\s*\.{2,}\s*(\d{1,3}) percent/i);
  const { outline, polygon_faults } = outlineOf(lines);
  return {
    row: {
      watch_id: `discussion-${new Date(issued_ms).getUTCFullYear()}-${number.padStart(4, '0')}`,
      type: 'mesoscale_discussion',
      number: Number(number),
      issued_at,
      ...times,
      headline: paragraph(lines, /^\s*concerning\.{2,}/i) ?? '',
      areas: paragraph(lines, /^\s*areas affected\.{2,}/i),
      watch_probability_pct: bounded(percent, 100),
      hail_size_mm: Number(hail) > 0 ? inchesToMm(Number(hail)) : null,
      gust_kmh: gust === null ? null : Math.round(Number(gust) * METRES_PER_MILE) / 1000,
      is_cancelled: false,
      replaces: '',
      ...outline,
      data_source: heading?.data_source ?? 'observed',
      received_at: received_ms,
      is_current: true,
    },
    polygon_faults,
  };
}

/** The one product of a text, read by `read`; a test is counted as one of its `kind`. */
function readProduct(
  bytes: Uint8Array,
  subject: string,
  kind: string,
  read: (lines: readonly string[]) => ReadItem<Watch>,
): ReadItems<Watch> {
  const lines = productLines(bytes, subject);
  const products = lines.filter((line) => AWIPS.test(line)).length;
  if (products > 1) throw badFile(subject, `${products} products, expected one`);
  const is_test = lines.slice(0, HEAD_LINES).some((line) => TEST.test(line));
  return readItems([lines], is_test ? () => ({ other: `${kind} (Test)` }) : read, () => 'outline');
}

function firstMatch(lines: readonly string[], pattern: RegExp): string | null {
  return lines.map((line) => pattern.exec(line.slice(0, 200))?.[1]).find((found) => found !== undefined) ?? null;
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

/** Lines of a text without control characters and blanks at their ends. Throws BadInput for an error page and for a file too large. */
function productLines(bytes: Uint8Array, subject: string): string[] {
  const text = textOf(bytes, subject, 'a text product', MAX_TEXT_BYTES);
  return text.split('\n').map((line) => line.replaceAll(/(?!\t)\p{Cc}/gu, '').trimEnd());
}

/** Transmission and provenance of the first WMO heading, such as `WUUS01 KWNS 011237`; null without one. */
function wmoHeading(lines: readonly string[]) {
  for (const line of lines.slice(0, HEAD_LINES)) {
    const [, office, ddhhmm] = /^[A-Z]{4}\d{1,2} ([A-Z]{4}) (\d{6})(?: [A-Z]{3})?$/.exec(line.trim()) ?? [];
    const data_source = office === SIMULATED_OFFICE ? 'simulated' : 'observed';
    if (ddhhmm !== undefined) return { ddhhmm, data_source } as const;
  }
  return null;
}

const ISSUE_LINE = /^\s*(\d{1,2})(\d{2}) ([AP]M) (C[DS]T|UTC) [A-Z]{3} ([A-Z]{3}) (\d{1,2}) (\d{4})\b/i;

/** Time of the issue line, such as `0736 AM CDT TUE JUN 01 2021`, in the zone of Oklahoma or of the simulator; null without one. */
function issueTime(lines: readonly string[]): number | null {
  for (const line of lines.slice(0, 40)) {
    const [, hour, minute, half, zone, month, day, year] = ISSUE_LINE.exec(line.slice(0, 120)) ?? [];
    const isDate = new Date(`${day} ${month} ${year} UTC`).getUTCDate() === Number(day);
    const time_ms = Date.parse(`${day} ${month} ${year} ${hour}:${minute} ${half} ${zone}`);
    if (isDate && !Number.isNaN(time_ms)) return time_ms;
  }
  return null;
}

/**
 * Instant of a day, hour and minute (`ddhhmm`, UTC), in the month that brings it nearest to `near_ms`; null for a time that no month
 * has.
 */
function nearestDayTime(ddhhmm: string, near_ms: number): number | null {
  const [day = 0, hour = 24, minute = 60] = ddhhmm.match(/\d{2}/g)?.map(Number) ?? [];
  if (hour > 23 || minute > 59) return null;
  const near = new Date(near_ms);
  const times_ms = [-1, 0, 1]
    .map((shift) => Date.UTC(near.getUTCFullYear(), near.getUTCMonth() + shift, day, hour, minute))
    .filter((time_ms) => new Date(time_ms).getUTCDate() === day);
  return times_ms.sort((a, b) => Math.abs(a - near_ms) - Math.abs(b - near_ms))[0] ?? null;
}

/** Times of `011300Z - 021200Z`; null when either is no time or the end does not follow the start. */
function validity(from: string | undefined, to: string | undefined, near_ms: number) {
  const begins_at = from === undefined ? null : nearestDayTime(from, near_ms);
  const expires_at = to === undefined || begins_at === null ? null : nearestDayTime(to, begins_at);
  if (begins_at === null || expires_at === null) return null;
  return expires_at > begins_at && expires_at - begins_at <= LONGEST_MS ? { begins_at, expires_at } : null;
}

/**
 * Position of eight digits: latitude and west longitude in hundredths of a degree, without the hundreds digit: longitudes below 50 are
 * those from 100 W on. Null when the latitude is above 90.
 */
function eightDigitPosition(digits: string): [lon: number, lat: number] | null {
  if (!/^\d{8}$/.test(digits)) return null;
  const lat = Number(digits.slice(0, 4)) / 100;
  const west = Number(digits.slice(4)) + (Number(digits.slice(4)) < 5000 ? 10_000 : 0);
  return lat <= 90 ? [-west / 100, lat] : null;
}

/** Offices write different numbers of dots. */
const LAT_LON = /^\s*LAT\.+LON\b/i;

/** Geometry and box of the `LAT...LON` line and the lines of digits that follow, which may leave out the closing position. */
function outlineOf(lines: readonly string[]) {
  const polygon = polygonOf(lines);
  if (typeof polygon === 'string') return { outline: shapeOf(null), polygon_faults: [polygon] };
  return { outline: shapeOf(polygon), polygon_faults: [] };
}

function polygonOf(lines: readonly string[]) {
  const start = lines.findIndex((line) => LAT_LON.test(line));
  if (start === -1) return 'no line LAT...LON';
  const [first, ...rest] = lines.slice(start).map((line) => line.replace(LAT_LON, '').match(/\S+/g) ?? []);
  const end = rest.findIndex((words) => words.length === 0 || !words.every((word) => /^\d+$/.test(word)));
  const digits = [...first, ...rest.slice(0, end === -1 ? rest.length : end).flat()];
  const positions = digits.map(eightDigitPosition);
  const wrong = positions.indexOf(null);
  if (wrong !== -1) return `position ${quoted(digits[wrong])}, expected eight digits`;
  return checkPolygon([closed(positions.filter((position) => position !== null))]);
}
