import { MS_PER_DAY, MS_PER_MIN } from '../../schemas/time.ts';
import { type CheckedPolygon, checkPolygon, closed } from './polygon.ts';
import { quoted, rejectHtml, rejectLarge } from './rejected-item.ts';

/** Products are pages of text: the longest real one has 26 kB. */
const MAX_PRODUCT_BYTES = 1024 * 1024;

/** Hours that a zone of an issue line is ahead of UTC. */
const ZONE_HOURS: Readonly<Record<string, number>> = {
  UTC: 0,
  GMT: 0,
  AST: -4,
  ADT: -3,
  EST: -5,
  EDT: -4,
  CST: -6,
  CDT: -5,
  MST: -7,
  MDT: -6,
  PST: -8,
  PDT: -7,
  AKST: -9,
  AKDT: -8,
  HST: -10,
  SST: -11,
  CHST: 10,
};

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];

/**
 * Lines of a text product of the National Weather Service, without the control characters and doubled carriage returns of
 * its transmission, and without blanks at their ends. Throws BadInput for an error page and for a file too large.
 */
export function productLines(bytes: Uint8Array, subject: string): string[] {
  rejectLarge(bytes, subject, MAX_PRODUCT_BYTES);
  rejectHtml(bytes, subject, 'a text product');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  return text.split('\n').map((line) => withoutControls(line).trimEnd());
}

function withoutControls(line: string): string {
  let clean = '';
  for (const letter of line) if (letter >= ' ' || letter === '\t') clean += letter;
  return clean;
}

/** Products of the simulator come from an office that does not exist. */
const SIMULATED_OFFICE = 'KSIM';

/**
 * First WMO heading among the first lines of a product, such as `WUUS01 KWNS 011237`: type and region, office that sent it,
 * day, hour and minute of the transmission. Null without one.
 */
export function wmoHeading(lines: readonly string[]) {
  for (const line of lines.slice(0, 10)) {
    const [, wmo, office, ddhhmm] = /^([A-Z]{4}\d{1,2}) ([A-Z]{4}) (\d{6})( [A-Z]{3})?$/.exec(line.trim()) ?? [];
    if (wmo !== undefined && office !== undefined && ddhhmm !== undefined)
      return { wmo, office, ddhhmm, is_simulated: office === SIMULATED_OFFICE };
  }
  return null;
}

const ISSUE_LINE =
  /^\s*(\d{1,2})(\d{2}) (AM|PM) ([A-Z]{2,4}) [A-Z]{3} (?:[A-Z]{3} )?([A-Z]{3}) (\d{1,2}) (\d{4})(?:\s|\/|$)/i;

/** Time in the issue line of a product, such as `0736 AM CDT TUE JUN 01 2021`; null without a line whose zone is known. */
export function issueLine(lines: readonly string[]): number | null {
  for (const line of lines.slice(0, 40)) {
    const parts = ISSUE_LINE.exec(line.slice(0, 120));
    if (!parts) continue;
    const [, hour, minute, half, zone, month, day, year] = parts;
    const hours = ZONE_HOURS[zone.toUpperCase()];
    const minutes = clockMinutes(Number(hour), Number(minute), half);
    const local_ms = localTime(Number(year), MONTHS.indexOf(month.toUpperCase()), Number(day), minutes);
    if (hours === undefined || local_ms === null) continue;
    return local_ms - hours * 60 * MS_PER_MIN;
  }
  return null;
}

/** Minutes since midnight of a 12-hour clock; null for a time that it does not show. */
function clockMinutes(hour: number, minute: number, half: string): number | null {
  if (!(hour >= 1 && hour <= 12) || !(minute >= 0 && minute <= 59)) return null;
  return ((hour % 12) + (half.toUpperCase() === 'PM' ? 12 : 0)) * 60 + minute;
}

/** Epoch milliseconds of a date and minutes since midnight as if they were UTC; `month` counts from 0. Null if there is no such date. */
function localTime(year: number, month: number, day: number, minutes: number | null): number | null {
  if (minutes === null || month < 0 || year < 1900 || year > 2200) return null;
  const midnight = new Date(Date.UTC(year, month, day));
  if (midnight.getUTCMonth() !== month || midnight.getUTCDate() !== day) return null;
  return midnight.getTime() + minutes * MS_PER_MIN;
}

/**
 * Instant of a day of the month, hour and minute (`ddhhmm`, UTC), in whichever month brings it nearest to `near_ms`: products
 * leave out month and year. Null for a time that no month has.
 */
export function nearestDayTime(ddhhmm: string, near_ms: number): number | null {
  const [, day, hour, minute] = /^(\d{2})(\d{2})(\d{2})$/.exec(ddhhmm) ?? [];
  if (day === undefined || Number(hour) > 23 || Number(minute) > 59) return null;
  const near = new Date(near_ms);
  const minutes = Number(hour) * 60 + Number(minute);
  const candidates = [-1, 0, 1]
    .map((shift) => new Date(Date.UTC(near.getUTCFullYear(), near.getUTCMonth() + shift, 1)))
    .map((month) => localTime(month.getUTCFullYear(), month.getUTCMonth(), Number(day), minutes))
    .filter((time) => time !== null);
  candidates.sort((a, b) => Math.abs(a - near_ms) - Math.abs(b - near_ms));
  return candidates[0] ?? null;
}

/** First and last instant of a validity such as `VALID TIME 011300Z - 021200Z`; the end comes after the start. */
interface Validity {
  readonly begins_ms: number;
  readonly ends_ms: number;
}

/** Longest validity of a product: days 4 to 8. */
const LONGEST_MS = 6 * MS_PER_DAY;

/** Validity from two times without month and year; null when either is no time or the end does not follow the start. */
export function validity(from: string, to: string, near_ms: number): Validity | null {
  const begins_ms = nearestDayTime(from, near_ms);
  if (begins_ms === null) return null;
  const ends_ms = nearestDayTime(to, begins_ms);
  if (ends_ms === null || ends_ms <= begins_ms || ends_ms - begins_ms > LONGEST_MS) return null;
  return { begins_ms, ends_ms };
}

/**
 * Position of eight digits: latitude and west longitude in hundredths of a degree, of which the hundreds digit is cut, so that
 * longitudes below 50 are those from 100 W on. Null when the latitude is none.
 */
function eightDigitPosition(digits: string): [lon: number, lat: number] | null {
  if (!/^\d{8}$/.test(digits)) return null;
  const lat = Number(digits.slice(0, 4)) / 100;
  const west = Number(digits.slice(4)) + (Number(digits.slice(4)) < 5000 ? 10_000 : 0);
  return lat <= 90 ? [-west / 100, lat] : null;
}

/** Offices write different numbers of dots. */
const LAT_LON = /^\s*LAT\.+LON\b/i;

/** Words of digits after `LAT...LON` and on the lines of digits that follow; null when the product has no such line. */
function latLonDigits(lines: readonly string[]): string[] | null {
  const start = lines.findIndex((line) => LAT_LON.test(line));
  if (start === -1) return null;
  const digits: string[] = [];
  for (let i = start; i < lines.length; i++) {
    const words = (i === start ? lines[i].replace(LAT_LON, '') : lines[i]).match(/\S+/g) ?? [];
    if (i > start && (words.length === 0 || !words.every((word) => /^\d+$/.test(word)))) break;
    digits.push(...words);
  }
  return digits;
}

/** Polygon of the `LAT...LON` line of a product, which may leave out the closing position; or the reason why it has none. */
export function textOutline(lines: readonly string[]): CheckedPolygon | string {
  const digits = latLonDigits(lines);
  if (digits === null) return 'no line LAT...LON';
  const positions = digits.map(eightDigitPosition);
  const wrong = positions.indexOf(null);
  if (wrong !== -1) return `position ${quoted(digits[wrong])}, expected eight digits`;
  return checkPolygon([closed(positions.filter((position) => position !== null))]);
}
