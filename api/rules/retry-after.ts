const MONTHS: readonly string[] = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)';
const SHORT_DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';

/** The three forms of an HTTP date, RFC 9110 section 5.6.7: IMF-fixdate, RFC 850 and asctime. All are UTC. */
const DATE_FORMS = [
  new RegExp(`^${SHORT_DAY}, (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`),
  new RegExp(`^${SHORT_DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

/**
 * Milliseconds that the value of a `Retry-After` header asks to wait, counted from `now_ms`: whole seconds or an HTTP date, 0 for
 * a date in the past. May be Infinity. Null for a header that is missing or has another form; of several headers the first counts.
 */
export function retryAfter(header: string | string[] | undefined, now_ms: number): number | null {
  const text = [header].flat()[0]?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const until_ms = parseHttpDate(text, now_ms);
  return until_ms === null ? null : Math.max(0, until_ms - now_ms);
}

/** Epoch milliseconds of an HTTP date; null for any other text, and for a date that the calendar does not have. */
function parseHttpDate(text: string, now_ms: number): number | null {
  const parts = DATE_FORMS.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (parts === undefined) return null;
  const { year = '', month = '', day, hour, minute, second } = parts;
  const [hours, minutes, seconds] = [Number(hour), Number(minute), Number(second)];
  const fullYear = year.length === 2 ? nearestYear(Number(year), now_ms) : Number(year);
  const date = new Date(Date.UTC(fullYear, MONTHS.indexOf(month), Number(day)));
  if (date.getUTCDate() !== Number(day) || hours > 23 || minutes > 59 || seconds > 60) return null;
  return date.getTime() + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

/** Year of two digits: a year more than 50 years ahead is taken for one in the past (RFC 9110, section 5.6.7). */
function nearestYear(twoDigits: number, now_ms: number): number {
  const thisYear = new Date(now_ms).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}
