import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_DAY, MS_PER_HOUR, timestamp } from '../../schemas/time.ts';
import { MM_PER_INCH } from '../../schemas/units.ts';
import { type HailArea, hailArea, ringAround } from './hail-area.ts';
import type { TextFile } from './report-files.ts';
import type { Scenario } from './scenario.ts';

/** Length and lead of a watch (6 h, 30 min), and of a discussion (2 h, one hour before the watch). */
const WATCH_MS = 6 * MS_PER_HOUR;
const WATCH_AHEAD_MS = MS_PER_HOUR / 2;
const DISCUSSION_MS = 2 * MS_PER_HOUR;
const DISCUSSION_AHEAD_MS = 1.5 * MS_PER_HOUR;
/** Hail size from which on a watch is issued: 1.5 inches. */
const WATCHED_MM = 38;
/** The folder keeps the texts of one day. */
const REACH_MS = MS_PER_DAY;

/** Watches and discussions issued in the day up to `to_ms`, for every six hours of UTC with large hail. */
export function watchFiles(scenario: Scenario, to_ms: number): TextFile[] {
  const files: TextFile[] = [];
  const last_ms = Math.floor(to_ms / WATCH_MS + 1) * WATCH_MS;
  for (let begins_ms = last_ms; begins_ms >= to_ms - REACH_MS; begins_ms -= WATCH_MS) {
    const area = hailArea(scenario, begins_ms, begins_ms + WATCH_MS, WATCHED_MM);
    if (area === null) continue;
    const number = numberOf(begins_ms);
    const discussed_ms = begins_ms - DISCUSSION_AHEAD_MS;
    const issued_ms = begins_ms - WATCH_AHEAD_MS;
    const name = `${timestamp(begins_ms).slice(0, 13).replaceAll(/[-T]/g, '')}`;
    if (discussed_ms <= to_ms)
      files.push({ path: `watches/SWOMCD-${name}.txt`, text: discussion(number, discussed_ms, area) });
    if (issued_ms <= to_ms)
      files.push({ path: `watches/SAW-${name}.txt`, text: watch(number, issued_ms, begins_ms, area) });
  }
  return files;
}

/** Number of a watch within the year, at four a day. */
function numberOf(begins_ms: number): number {
  const year_ms = Date.UTC(new Date(begins_ms).getUTCFullYear(), 0, 1);
  return 1 + Math.floor((begins_ms - year_ms) / WATCH_MS);
}

function watch(number: number, issued_ms: number, begins_ms: number, area: HailArea): string {
  return [
    '000',
    `WWUS30 KSIM ${ddhhmm(issued_ms)}`,
    `SAW${number % 10}`,
    `SPC AWW ${ddhhmm(issued_ms)}`,
    `WW ${number} SEVERE TSTM SIMULATED ${ddhhmm(begins_ms)}Z - ${ddhhmm(begins_ms + WATCH_MS)}Z`,
    `HAIL SURFACE AND ALOFT..${inches(area)} INCHES. WIND GUSTS..60 KNOTS.`,
    'MAX TOPS TO 500. MEAN STORM MOTION VECTOR 24030.',
    '',
    `LAT...LON ${outline(area, 1.8)}`,
    '',
    'THIS IS A SIMULATED WATCH.',
    '',
  ].join('\n');
}

function discussion(number: number, issued_ms: number, area: HailArea): string {
  return [
    '000',
    `ACUS11 KSIM ${ddhhmm(issued_ms)}`,
    'SWOMCD',
    `SPC MCD ${ddhhmm(issued_ms)}`,
    '',
    `MESOSCALE DISCUSSION ${String(number).padStart(4, '0')}`,
    'SIMULATED',
    issueLine(issued_ms),
    '',
    'AREAS AFFECTED...SIMULATED',
    '',
    'CONCERNING...SEVERE POTENTIAL...WATCH LIKELY',
    '',
    `VALID ${ddhhmm(issued_ms)}Z - ${ddhhmm(issued_ms + DISCUSSION_MS)}Z`,
    '',
    'PROBABILITY OF WATCH ISSUANCE...80 PERCENT',
    '',
    'SUMMARY...SIMULATED STORMS WITH LARGE HAIL ARE EXPECTED.',
    '',
    `LAT...LON ${outline(area, 1.5)}`,
    '',
    `MOST PROBABLE PEAK HAIL SIZE...${inches(area)} INCHES`,
    '',
  ].join('\n');
}

function inches({ largest_mm }: HailArea): string {
  return (Math.round((2 * largest_mm) / MM_PER_INCH) / 2).toFixed(1).replace(/\.0$/, '');
}

/** Every third corner of the ring in the form of the text products: hundredths of a degree, longitudes without the leading 100. */
function outline(area: HailArea, deviations: number): string {
  return ringAround(area, deviations)
    .slice(0, -1)
    .filter((_, corner) => corner % 3 === 0)
    .map(eightDigits)
    .join(' ');
}

function eightDigits({ lat, lon }: Position): string {
  const digits = (value: number) => String(Math.round(value * 100)).padStart(4, '0');
  return `${digits(lat)}${digits(-lon >= 100 ? -lon - 100 : -lon)}`;
}

function ddhhmm(time_ms: number): string {
  return timestamp(time_ms).slice(8, 16).replaceAll(/[T:]/g, '');
}

/** Issue line such as `0830 PM UTC FRI MAY 01 2026`: UTC on a twelve-hour clock. */
function issueLine(time_ms: number): string {
  const time = new Date(time_ms);
  const hour = time.getUTCHours();
  const clock = `${String(hour % 12 === 0 ? 12 : hour % 12).padStart(2, '0')}${String(time.getUTCMinutes()).padStart(2, '0')}`;
  const [weekday = '', day = '', month = '', year = ''] = time.toUTCString().toUpperCase().replace(',', '').split(' ');
  return `${clock} ${hour < 12 ? 'AM' : 'PM'} UTC ${weekday} ${month} ${day} ${year}`;
}
