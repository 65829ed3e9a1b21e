/** What the significant hail parameter is made of. */
export interface ShipInput {
  /** CAPE of the most unstable parcel. */
  readonly cape_j_kg: number;
  /** Mixing ratio of that parcel. */
  readonly mixing_ratio_g_kg: number;
  /** Lapse rate from 700 to 500 hPa. */
  readonly lapse_rate_c_km: number;
  readonly temperature_500_c: number;
  /** Length of the wind difference between the ground and 6 km. */
  readonly shear_ms: number;
  /** Height of the 0 C level above the ground. */
  readonly freezing_level_m: number;
}

/** Brings the product of a mean environment of significant hail to about 1. */
const SCALE = 42_000_000;
const MIXING_RATIO_G_KG = { low: 11, high: 13.6 } as const;
const SHEAR_MS = { low: 7, high: 27 } as const;
/** A warmer 500 hPa level counts as this. */
const WARMEST_500_C = -5.5;
/** Below these the parameter is reduced in proportion. */
const FULL_CAPE_J_KG = 1300;
const FULL_LAPSE_RATE_C_KM = 5.8;
const FULL_FREEZING_LEVEL_M = 2400;

/**
 * Significant hail parameter: above 1 favours hail >= 2 inches where storms form, 1.5 to 2 is usual with it, above 4 is
 * very high. Neither a size nor a probability. NaN where an input is NaN, never below 0.
 * Source: SPC, Significant Hail Parameter help page.
 */
export function ship(input: ShipInput): number {
  const { cape_j_kg, lapse_rate_c_km, freezing_level_m } = input;
  const cape = Math.max(0, cape_j_kg);
  const lapse_rate = Math.max(0, lapse_rate_c_km);
  const product =
    (cape *
      clamp(input.mixing_ratio_g_kg, MIXING_RATIO_G_KG) *
      lapse_rate *
      -Math.min(WARMEST_500_C, input.temperature_500_c) *
      clamp(input.shear_ms, SHEAR_MS)) /
    SCALE;
  return (
    product *
    Math.min(1, cape / FULL_CAPE_J_KG) *
    Math.min(1, lapse_rate / FULL_LAPSE_RATE_C_KM) *
    Math.min(1, Math.max(0, freezing_level_m) / FULL_FREEZING_LEVEL_M)
  );
}

function clamp(value: number, { low, high }: { readonly low: number; readonly high: number }): number {
  return Math.min(high, Math.max(low, value));
}
