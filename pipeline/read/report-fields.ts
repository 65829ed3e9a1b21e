import { timestamp } from '../../schemas/time.ts';
import { MM_PER_INCH } from '../../schemas/units.ts';

/** The largest hailstone on record measured 8 inches (Vivian, South Dakota, 2010). */
export const MAX_SIZE_INCH = 10;

/** Reports of the simulator come from an office that does not exist. */
export const SIMULATED_OFFICE = 'SIM';

/** True for a position on the globe; feeds write 0, 0 for an unknown position. */
export function isOnGlobe(lat: number, lon: number): boolean {
  return Math.abs(lat) <= 90 && Math.abs(lon) <= 180 && (lat !== 0 || lon !== 0);
}

/** Feed, office, time and position: the same in every file that carries the report. */
export function reportId(
  feed: 'spc' | 'lsr',
  office: string | null,
  time_ms: number,
  { lat, lon }: { lat: number; lon: number },
): string {
  return [feed, office, timestamp(time_ms), `${lat.toFixed(3)},${lon.toFixed(3)}`]
    .filter((part) => part !== null)
    .join(':');
}

/** Millimetres of inches, freed of binary noise. */
export function inchesToMm(inches: number): number {
  return Math.round(inches * MM_PER_INCH * 1000) / 1000;
}

/**
 * Place of the earlier report that a remark corrects, as in `Corrects previous hail report from 2 ESE Tatum.` or `Corrects
 * location of previous tornado report from 5 N Levelland.`; null for a remark that corrects none.
 */
export function correctedPlace(remark: string): string | null {
  const found = /\bcorrects\b[^.]{0,60}\bprevious\b[^.]{0,60}\breport from ([^.]{1,60})/i.exec(remark.slice(0, 400));
  return found?.[1]?.trim() ?? null;
}

const PRODUCT_ID = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})-[A-Z]{4}-[A-Z]{4}\d{2}-[A-Z0-9]{4,6}(-[A-Z]{3})?$/;

/** When a product was issued, by an identifier such as `202506060006-KMAF-NWUS54-LSRMAF`; null for another text. */
export function issuedByProductId(product_id: string): number | null {
  const [, year, month, day, hour, minute] = PRODUCT_ID.exec(product_id) ?? [];
  if (year === undefined) return null;
  const time_ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:00Z`);
  return Number.isNaN(time_ms) ? null : time_ms;
}

/** Identifier of a product as the Iowa archive writes it. */
export function productId(issued_ms: number, wmo: string, office: string, awips: string): string {
  return `${timestamp(issued_ms).slice(0, 16).replaceAll(/[-:T]/g, '')}-${office}-${wmo}-${awips}`;
}
