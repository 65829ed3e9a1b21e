import type { SimulatedProduct } from './fields.ts';

/** How a product stands in its GRIB2 file: value = (reference + X) / 10^decimal_scale. */
export interface ProductFile {
  readonly category: number;
  readonly number: number;
  readonly generating_process: number;
  readonly decimal_scale: number;
  /** "No radar covers this pixel" and "covered, nothing there", in steps of 10^-decimal_scale. */
  readonly no_coverage: number;
  readonly nothing: number;
}

/** Parameter numbers: MRMS GRIB2 table v12.2. Scales: as in real files of each product. */
export const PRODUCT_FILES: Readonly<Record<SimulatedProduct, ProductFile>> = {
  MESH: { category: 3, number: 28, generating_process: 97, decimal_scale: 1, no_coverage: -30, nothing: -10 },
  POSH: { category: 3, number: 27, generating_process: 97, decimal_scale: 1, no_coverage: -30, nothing: -10 },
  VIL: { category: 3, number: 41, generating_process: 97, decimal_scale: 1, no_coverage: -30, nothing: -10 },
  EchoTop_18: {
    category: 3,
    number: 44,
    generating_process: 100,
    decimal_scale: 3,
    no_coverage: -3000,
    nothing: -1000,
  },
  EchoTop_50: {
    category: 3,
    number: 46,
    generating_process: 100,
    decimal_scale: 3,
    no_coverage: -3000,
    nothing: -1000,
  },
  MergedReflectivityQCComposite: {
    category: 10,
    number: 0,
    generating_process: 97,
    decimal_scale: 1,
    no_coverage: -9990,
    nothing: -990,
  },
};
