import { z } from 'zod';

/** Metres in an international mile; some radii of the interface are in miles. */
export const METRES_PER_MILE = 1609.344;
/** Millimetres in an inch. */
export const MM_PER_INCH = 25.4;
/** Metres in a foot; heights of sites and of ProbSevere are in feet. */
export const METRES_PER_FOOT = 0.3048;
/** Metres per second in a knot. */
export const MS_PER_KNOT = 0.514444;

const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** A number in plain decimal text, such as -98.8 or 1e-3; null for any other text and for what overflows. */
export function decimal(text: string): number | null {
  if (!DECIMAL.test(text)) return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

/** SQL type of a field's column; read by `columns.ts` from the schema's metadata. */
export type ColumnType =
  | 'BOOLEAN'
  | 'USMALLINT'
  | 'INTEGER'
  | 'BIGINT'
  | 'DOUBLE'
  | 'VARCHAR'
  | 'DATE'
  | 'TIMESTAMPTZ'
  | 'GEOMETRY';

const number = (description: string, unit: string) => z.number().meta({ description, unit, column: 'DOUBLE' });

export const millimetres = (what: string) => number(what, 'mm');
export const kilometres = (what: string) => number(what, 'km');
export const squareKilometres = (what: string) => number(what, 'km2');
export const degrees = (what: string) => number(what, 'deg');
export const kilometresPerHour = (what: string) => number(what, 'km/h');
export const minutes = (what: string) => number(what, 'min');
export const percent = (what: string) => number(what, '%');
export const plainNumber = (what: string, unit: string) => number(what, unit);
export const latitude = (what: string) =>
  z.number().min(-90).max(90).meta({ description: what, unit: 'deg', column: 'DOUBLE' });
export const longitude = (what: string) =>
  z.number().min(-180).max(180).meta({ description: what, unit: 'deg', column: 'DOUBLE' });
export const probability = (what: string) =>
  z.number().min(0).max(1).meta({ description: what, unit: '1', column: 'DOUBLE' });
export const count = (what: string) => z.int().nonnegative().meta({ description: what, unit: '1', column: 'INTEGER' });
export const bigCount = (what: string) =>
  z.int().nonnegative().meta({ description: what, unit: '1', column: 'BIGINT' });
/** A small whole number without a unit, such as a score or a month. */
export const wholeNumber = (what: string) =>
  z.int().min(0).max(65_535).meta({ description: what, column: 'USMALLINT' });
/** Row or column of the lattice; signed, so that differences of rows can be negative. */
export const latticeIndex = (what: string) => z.int().min(0).max(6999).meta({ description: what, column: 'INTEGER' });
export const text = (what: string) => z.string().meta({ description: what, column: 'VARCHAR' });
export const flag = (what: string) => z.boolean().meta({ description: what, column: 'BOOLEAN' });
/** One of a list of words. */
export const word = <const Words extends readonly [string, ...string[]]>(what: string, words: Words) =>
  z.enum(words).meta({ description: what, column: 'VARCHAR' });
export const wholeDegrees = (what: string) =>
  z.int().min(0).max(359).meta({ description: what, unit: 'deg', column: 'USMALLINT' });
/** Instant as epoch milliseconds in code, TIMESTAMPTZ on disk. */
export const instant = (what: string) =>
  z.int().meta({ description: what, unit: 'ms since 1970 UTC', column: 'TIMESTAMPTZ' });
/** Storm date as `YYYY-MM-DD` in code, DATE on disk. */
export const stormDate = (what: string) =>
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/)
    .meta({ description: what, column: 'DATE' });
/** WKT in code, GEOMETRY (GeoParquet) on disk. */
export const geometry = (what: string) => z.string().meta({ description: what, column: 'GEOMETRY' });
