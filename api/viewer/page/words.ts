import { zoneAt } from '../time/zones.ts';
import { MM_PER_INCH, SIZES, stepOf } from './palette.ts';

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const COMPASS = 'north,north-east,east,south-east,south,south-west,west,north-west'.split(',');
const DAY = { weekday: 'short', day: 'numeric', month: 'short' } as const;
const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' } as const;
export const KM_PER_MILE = 1.609344;

/** `1.7 in (44 mm)`. */
export function sizeInWords(mm: number): string {
  return `${(mm / MM_PER_INCH).toFixed(1)} in (${Math.round(mm)} mm)`;
}

/** Words of the step with this lower bound: at a place inside it, and outside the next one. */
export function bandInWords(mm_min: number) {
  const step = stepOf(mm_min);
  const next = SIZES[SIZES.indexOf(step) + 1];
  return {
    mm: next ? `${step.mm_min}–${next.mm_min} mm` : `${step.mm_min} mm or more`,
    inches: next ? `${step.inches}–${next.inches} in` : `${step.inches} in or more`,
    category: step.name,
    step,
  };
}

/** `21 Nov 2026`. */
export function dateInWords(date: string): string {
  const [year, month, day] = date.split('-').map(Number);
  return `${day} ${MONTHS[month - 1]} ${year}`;
}

/** `04:05 UTC`, of a timestamp of the service. */
export function clockInWords(time: string): string {
  return `${time.slice(11, 16)} UTC`;
}

/** `21 Nov 2026 04:05 UTC`. */
export function timeInWords(time: string): string {
  return `${dateInWords(time.slice(0, 10))} ${clockInWords(time)}`;
}

/** `Storm date 21 Nov 2026 (UTC)`. */
export const stormDateInWords = (date: string): string => `Storm date ${dateInWords(date)} (UTC)`;

/** `Fri 20 Nov 22:05–22:31 CST`: a span, or an instant, on the clock of a place; in UTC at sea. */
export function spanInWords({ lat, lng }: { lat: number; lng: number }, first: string, last = first): string {
  const timeZone = zoneAt({ lat, lon: lng }) ?? 'UTC';
  const words = new Intl.DateTimeFormat('en-CA', { ...DAY, ...CLOCK, timeZone });
  return words.formatRange(new Date(first), new Date(last)).replace(/, (\w+) (\d+),/g, ' $2 $1');
}

/** `Fri 20 Nov 22:05–22:31 CST (04:05–04:31 UTC)`. */
export function localInWords(at: { lat: number; lng: number }, first: string, last = first): string {
  const local = spanInWords(at, first, last);
  const utc = [...new Set([first, last].map((time) => time.slice(11, 16)))].join('–');
  return local.endsWith('UTC') ? local : `${local} (${utc} UTC)`;
}

/** `just now`, `2 min ago`, `3 h ago`, `2 days ago`. */
export function agoInWords(age_ms: number): string {
  const minutes = Math.floor(age_ms / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 120) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} days ago`;
}

/** `34 mph (55 km/h) towards the north-east`; `direction_deg` is the direction of motion. */
export function motionInWords(speed_kmh: number, direction_deg: number): string {
  const heading = COMPASS[Math.round(direction_deg / 45) % COMPASS.length];
  return `${Math.round(speed_kmh / KM_PER_MILE)} mph (${Math.round(speed_kmh)} km/h) towards the ${heading}`;
}

/** `35.123° N, 97.456° W`. */
export function placeInWords({ lat, lng }: { lat: number; lng: number }): string {
  return `${Math.abs(lat).toFixed(3)}° ${lat < 0 ? 'S' : 'N'}, ${Math.abs(lng).toFixed(3)}° ${lng < 0 ? 'W' : 'E'}`;
}

/** `1 scan`, `2,000 scans`. */
export function counted(count: number, what: string): string {
  return `${count.toLocaleString('en-US')} ${what}${count === 1 ? '' : 's'}`;
}

const SOURCES = { observed: 'NOAA MRMS', simulated: 'simulated', mixed: 'NOAA MRMS and simulated' };

/** Words of X-Data-Source; empty for a date without data. */
export function sourceInWords(source: string | null): string {
  return source === null ? '' : `Source: ${SOURCES[source as keyof typeof SOURCES]}`;
}
