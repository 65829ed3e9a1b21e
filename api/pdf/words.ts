import { sizeCategory } from '../../schemas/size.ts';
import { timestamp, utcDate } from '../../schemas/time.ts';
import { METRES_PER_FOOT, METRES_PER_MILE, MM_PER_INCH } from '../../schemas/units.ts';

export { counted } from '../../schemas/command-line.ts';

/** `1.63 in`. The space does not break, as between all figures and units. */
export function inches(mm: number): string {
  return `${(mm / MM_PER_INCH).toFixed(2)}\u00a0in`;
}

/** `41.5 mm`, `19 mm`. */
export function millimetres(mm: number): string {
  return `${Math.round(10 * mm) / 10}\u00a0mm`;
}

/** `1.63 in (41.5 mm)`. */
export function sizeInWords(mm: number): string {
  return `${inches(mm)} (${millimetres(mm)})`;
}

/** Name of the size band in words: `golf ball`. */
export function sizeName(mm: number): string {
  return sizeCategory(mm)?.replace('_', ' ') ?? 'below nickel';
}

export function miles(distance_m: number): string {
  return `${(distance_m / METRES_PER_MILE).toFixed(2)}\u00a0mi`;
}

export function kilometres(distance_m: number): string {
  return `${(distance_m / 1000).toFixed(2)}\u00a0km`;
}

/** `0.83 mi (1.34 km)`. */
export function distanceInWords(distance_m: number): string {
  return `${miles(distance_m)} (${kilometres(distance_m)})`;
}

/** `0.83 mi (1.34 km) from the location`, or `over the location` for a pixel that holds it. */
export function awayInWords(distance_m: number): string {
  return distance_m === 0 ? 'over the location' : `${distanceInWords(distance_m)} from the location`;
}

/** `3,117 ft (950 m)`. */
export function heightInWords(height_m: number): string {
  return `${thousands(height_m / METRES_PER_FOOT)}\u00a0ft (${thousands(height_m)}\u00a0m)`;
}

/** `39.12345° N, 94.56789° W`. */
export function coordinates({ lat, lon }: { readonly lat: number; readonly lon: number }): string {
  return `${Math.abs(lat).toFixed(5)}° ${lat < 0 ? 'S' : 'N'}, ${Math.abs(lon).toFixed(5)}° ${lon < 0 ? 'W' : 'E'}`;
}

/** `2026-05-01 20:12 UTC`. */
export function instantInWords(time_ms: number): string {
  return `${timestamp(time_ms).slice(0, 16).replace('T', ' ')} UTC`;
}

/** A span of UTC after its storm date: `20:12 – 21:04 UTC`; with the UTC date where it is another: `05-02 00:31 UTC`. */
export function utcSpan(event_date: string, first_ms: number, last_ms = first_ms): string {
  const clock = (time_ms: number) =>
    `${utcDate(time_ms) === event_date ? '' : `${utcDate(time_ms).slice('YYYY-'.length)} `}${timestamp(time_ms).slice(11, 16)}`;
  return `${[...new Set([clock(first_ms), clock(last_ms)])].join(' – ')} UTC`;
}

/** `12,345`. */
export function thousands(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
