import table from '../../data/reference/mrms-products.json' with { type: 'json' };

/** One row of NOAA's table of MRMS products: numbers under GRIB2 discipline 209, and the values that are no measurement. */
export interface MrmsProduct {
  readonly category: number;
  readonly number: number;
  readonly name: string;
  readonly unit: string;
  /** Value where radars see no echo. */
  readonly missing: number;
  /** Value without radar coverage; the same as `missing` in products that do not distinguish the two. */
  readonly no_coverage: number;
}

/** All GRIB2 products of MRMS by NOAA's table, each number once. */
export const MRMS_PRODUCTS: readonly MrmsProduct[] = table;
