import table from '../../data/reference/mrms-products.json' with { type: 'json' };

/** One row of NOAA's table of MRMS products: numbers under GRIB2 discipline 209, and the values that are no measurement. */
export interface MrmsProduct {
  readonly category: number;
  readonly number: number;
  readonly name: string;
  readonly unit: string;
  /** Value where radars look and see nothing. */
  readonly missing: number;
  /** Value where no radar looks; the same as `missing` in products that do not tell the two apart. */
  readonly no_coverage: number;
}

/** All GRIB2 products of MRMS by NOAA's table, each number once. */
export const MRMS_PRODUCTS: readonly MrmsProduct[] = table;
