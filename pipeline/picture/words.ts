import { MM_PER_INCH } from '../../schemas/units.ts';

const MONTHS = 'January February March April May June July August September October November December'.split(' ');

/** `28 February 2024`. */
export function dateInWords(date: string): string {
  const [year, month, day] = date.split('-').map(Number) as [number, number, number];
  return `${day} ${MONTHS[month - 1]} ${year}`;
}

/** `1.7 in` of a size in millimetres. */
export function inches(mm: number, decimals: number): string {
  return `${(mm / MM_PER_INCH).toFixed(decimals)} in`;
}

/** `Largest 1.7 in (44 mm)`; '' for 0. */
export function largestInWords(mm: number): string {
  return mm > 0 ? `Largest ${inches(mm, 1)} (${Math.round(mm)} mm)` : '';
}

/** `3 storms`; '' for 0. */
export function counted(count: number, what: string): string {
  return count === 0 ? '' : `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** `12,345`. */
export function thousands(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}
