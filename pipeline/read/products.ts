import table from '../../data/reference/mrms-products.json' with { type: 'json' };
import type { Field } from '../grib2/index.ts';

/** GRIB2 discipline of all MRMS products. */
const MRMS_DISCIPLINE = 209;

/**
 * All GRIB2 products of MRMS in NOAA's table (UserTable_MRMS, version 12.2), each number once. `missing` is the value where
 * radars look and see nothing, `no_coverage` where no radar looks: the same in products that do not distinguish the two.
 */
export const MRMS_PRODUCTS: readonly (typeof table)[number][] = table;

/** One MRMS product: its name in the public bucket, its numbers under discipline 209, and which values its grids may hold. */
export interface Product {
  readonly name: string;
  readonly category: number;
  readonly number: number;
  readonly unit: string;
  /** "No radar covers this pixel". */
  readonly no_coverage: number;
  /** "Covered, nothing there"; null when the product has none. */
  readonly missing: number | null;
  /** What "covered, nothing there" amounts to; NaN where nothing has no value, as for heights and reflectivity. */
  readonly missing_as: number;
  /** Lowest and highest value that is a measurement. */
  readonly low: number;
  readonly high: number;
}

const NO_VALUE = Number.NaN;
/** Rain products have no "nothing" sentinel but real zeros, as measured on files; NOAA's table gives them one. */
const RAIN_CATEGORY = 6;

/**
 * The products we read, by their names in the public bucket; the sentinels are those of NOAA's table. Ranges are wider than
 * nature, so that only a damaged file leaves them. Largest values in real files: MESH 82.8 mm, VIL 53.1 kg/m2, echo top
 * 19 km (the mosaic ends there), reflectivity -25 to 67.5 dBZ, rain rate 155 mm/h, correlation 0.94 to 1.05. A MESH of
 * 250 mm is the index of a column of 80 dBZ; records of hail on the ground end at 203 mm.
 */
export const PRODUCTS: readonly Product[] = (
  [
    // name, category, number, unit, missing as, lowest, highest
    ['MergedAzShear_0-2kmAGL', 3, 0, '0.001/s', NO_VALUE, -200, 200],
    ['SHI', 3, 26, 'J/m/s', 0, 0, 10_000],
    ['POSH', 3, 27, '%', 0, 0, 100],
    ['MESH', 3, 28, 'mm', 0, 0, 250],
    ['MESH_Max_30min', 3, 29, 'mm', 0, 0, 250],
    ['MESH_Max_60min', 3, 30, 'mm', 0, 0, 250],
    ['MESH_Max_120min', 3, 31, 'mm', 0, 0, 250],
    ['MESH_Max_240min', 3, 32, 'mm', 0, 0, 250],
    ['MESH_Max_360min', 3, 33, 'mm', 0, 0, 250],
    ['MESH_Max_1440min', 3, 34, 'mm', 0, 0, 250],
    ['VIL', 3, 41, 'kg/m2', 0, 0, 500],
    ['VIL_Density', 3, 42, 'g/m3', 0, 0, 50],
    ['VII', 3, 43, 'kg/m2', 0, 0, 500],
    ['EchoTop_18', 3, 44, 'km', NO_VALUE, 0, 30],
    ['EchoTop_30', 3, 45, 'km', NO_VALUE, 0, 30],
    ['EchoTop_50', 3, 46, 'km', NO_VALUE, 0, 30],
    ['EchoTop_60', 3, 47, 'km', NO_VALUE, 0, 30],
    ['H50_Above_-20C', 3, 48, 'km', NO_VALUE, -30, 30],
    ['H50_Above_0C', 3, 49, 'km', NO_VALUE, -30, 30],
    ['H60_Above_-20C', 3, 50, 'km', NO_VALUE, -30, 30],
    ['H60_Above_0C', 3, 51, 'km', NO_VALUE, -30, 30],
    ['Reflectivity_0C', 3, 52, 'dBZ', NO_VALUE, -50, 100],
    ['Reflectivity_-5C', 3, 53, 'dBZ', NO_VALUE, -50, 100],
    ['Reflectivity_-10C', 3, 54, 'dBZ', NO_VALUE, -50, 100],
    ['Reflectivity_-15C', 3, 55, 'dBZ', NO_VALUE, -50, 100],
    ['Reflectivity_-20C', 3, 56, 'dBZ', NO_VALUE, -50, 100],
    ['ReflectivityAtLowestAltitude', 3, 57, 'dBZ', NO_VALUE, -50, 100],
    ['PrecipRate', 6, 1, 'mm/h', 0, 0, 1000],
    ['RadarOnly_QPE_01H', 6, 2, 'mm', 0, 0, 1000],
    ['MultiSensor_QPE_01H_Pass1', 6, 30, 'mm', 0, 0, 1000],
    ['MergedReflectivityQC', 9, 0, 'dBZ', NO_VALUE, -50, 100],
    ['MergedRhoHV', 9, 3, '1', NO_VALUE, 0, 1.5],
    ['MergedZdr', 9, 4, 'dB', NO_VALUE, -20, 20],
    ['MergedReflectivityQCComposite', 10, 0, 'dBZ', NO_VALUE, -50, 100],
  ] as const
).map(([name, category, number, unit, missing_as, low, high]) => {
  const row = MRMS_PRODUCTS.find((one) => one.category === category && one.number === number);
  if (row === undefined) throw new RangeError(`product ${category}/${number} is not in the table of MRMS products`);
  const missing = category === RAIN_CATEGORY ? null : row.missing;
  return { name, category, number, unit, no_coverage: row.no_coverage, missing, missing_as, low, high };
});

/** Numbers that say which product a GRIB2 field is. */
type ProductNumbers = Pick<Field, 'discipline' | 'category' | 'number'>;

/** The product of a field; null when we do not read it. */
export function productOf(field: ProductNumbers): Product | null {
  if (field.discipline !== MRMS_DISCIPLINE) return null;
  return PRODUCTS.find(({ category, number }) => category === field.category && number === field.number) ?? null;
}

/** A product by name, with its sentinels as far as it has any. */
type ListedProduct = Pick<Product, 'name' | 'unit' | 'missing'> & { readonly no_coverage: number | null };

/** The product of any MRMS field: the products we read as measured, all others as in NOAA's table; null for other fields. */
export function listedProduct(field: ProductNumbers): ListedProduct | null {
  const known = productOf(field);
  if (known !== null || field.discipline !== MRMS_DISCIPLINE) return known;
  const row = MRMS_PRODUCTS.find(({ category, number }) => category === field.category && number === field.number);
  if (row === undefined) return null;
  const { name, unit, missing, no_coverage } = row;
  if (missing !== no_coverage) return { name, unit, no_coverage, missing };
  // One value for both: 0 is the value of a quiet place, any other means that nothing is known.
  return missing === 0 ? { name, unit, no_coverage: null, missing: 0 } : { name, unit, no_coverage, missing: null };
}

/** True for a sentinel of the product and for a value within its range. */
export function isProductValue({ no_coverage, missing, low, high }: Product, value: number): boolean {
  return (value >= low && value <= high) || value === no_coverage || value === missing;
}

/** Value of a covered pixel without an echo: the sentinel, or 0 where the product has none. */
export function quietValue({ missing }: Product): number {
  return missing ?? 0;
}

/** The values of a product in words: `-3, -1 or 0 to 250 mm`. */
export function productValueWords({ no_coverage, missing, low, high, unit }: Product): string {
  const sentinels = [...new Set([no_coverage, missing])].filter((value) => value !== null);
  return `${sentinels.join(', ')} or ${low} to ${high} ${unit}`;
}
