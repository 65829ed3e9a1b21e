import type { Position } from '../../schemas/geo/position.ts';
import { timestamp } from '../../schemas/time.ts';
import { MM_PER_INCH } from '../../schemas/units.ts';

const MONTHS = 'January February March April May June July August September October November December'.split(' ');

/** `28 February 2024`. */
export function dateInWords(date: string): string {
  const [year, month, day] = date.split('-').map(Number) as [number, number, number];
  return `${day} ${MONTHS[month - 1]} ${year}`;
}

/** `2024-02-28 10:00`. */
export function minuteInDigits(time: number): string {
  return timestamp(time).replace('T', ' ').slice(0, 16);
}

/** `10:00 UTC, 28 February 2024`. */
export function instantInWords(time: number): string {
  const [date, minute] = minuteInDigits(time).split(' ') as [string, string];
  return `${minute} UTC, ${dateInWords(date)}`;
}

/** `data until 2026-05-01 00:04 UTC`. */
export function untilInWords(time: number | null): string {
  return time === null ? 'no scans' : `data until ${minuteInDigits(time)} UTC`;
}

/** `24 hours`, `30 minutes`, `hour`. */
export function periodInWords(minutes: number): string {
  if (minutes === 60) return 'hour';
  return minutes % 60 === 0 ? `${minutes / 60} hours` : `${minutes} minutes`;
}

/** `44.8° N 75.2° W`. */
export function positionInWords({ lat, lon }: Position): string {
  return `${Math.abs(lat).toFixed(1)}° ${lat < 0 ? 'S' : 'N'} ${Math.abs(lon).toFixed(1)}° ${lon < 0 ? 'W' : 'E'}`;
}

/** Parts of a line, those that say something. */
export function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('  ·  ');
}

/** `1.7 in` of a size in millimetres. */
export function inches(mm: number, decimals: number): string {
  return `${(mm / MM_PER_INCH).toFixed(decimals)} in`;
}

/** `1.7 in (44 mm)`. */
export function sizeInWords(mm: number): string {
  return `${inches(mm, 1)} (${Math.round(mm)} mm)`;
}

/** `Largest 1.7 in (44 mm)`; '' for 0. */
export function largestInWords(mm: number): string {
  return mm > 0 ? `Largest ${sizeInWords(mm)}` : '';
}

/** `3 storms`; '' for 0. */
export function counted(count: number, what: string): string {
  return count === 0 ? '' : `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** `12,345`. */
export function thousands(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}
