import type { ModelFieldName, ModelHour, ModelValues } from '../read/model-hour.ts';

/** Inputs of the significant hail parameter. */
interface ShipInput {
  /** CAPE of the most unstable parcel. */
  readonly cape_j_kg: number;
  /** Mixing ratio of that parcel. */
  readonly mixing_ratio_g_kg: number;
  /** Lapse rate from 700 to 500 hPa. */
  readonly lapse_rate_c_km: number;
  readonly temperature_500_c: number;
  /** Magnitude of the wind difference between the ground and 6 km. */
  readonly shear_ms: number;
  /** Height of the 0 C level above the ground. */
  readonly freezing_level_m: number;
}

/** Brings the product of a mean environment of significant hail to about 1. */
const SCALE = 42_000_000;
const MIXING_RATIO_G_KG = { low: 11, high: 13.6 } as const;
const SHEAR_MS = { low: 7, high: 27 } as const;
/** Upper bound of the temperature at 500 hPa. */
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

/** Molar mass of water over that of dry air. */
const EPSILON = 0.622;

/** Value of a derived quantity at a point of the grid. */
type AtPoint = (point: number) => number;

/**
 * Significant hail parameter at every point of a model's grid; NaN where an input is missing, null when the files lack a field.
 *
 * The files do not describe the most unstable parcel; the moisture 2 m above the ground replaces its mixing ratio, which the
 * parameter clamps to 11 .. 13.6 g/kg. The shear from 10 m to 500 hPa replaces a missing 0-6 km shear.
 */
export function shipField({ grid, fields }: ModelHour): ModelValues | null {
  const { cape_j_kg, temperature_500_c } = fields;
  const [mixing_ratio, shear_ms, lapse_rate] = [mixingRatio(fields), shear(fields), lapseRate(fields)];
  const freezing_level = difference(fields, 'freezing_level_m', 'terrain_m');
  if (!cape_j_kg || !temperature_500_c || !mixing_ratio || !shear_ms || !lapse_rate || !freezing_level) return null;
  const result = new Float32Array(grid.rows * grid.cols);
  for (let point = 0; point < result.length; point++)
    result[point] = ship({
      cape_j_kg: cape_j_kg[point],
      mixing_ratio_g_kg: mixing_ratio(point),
      lapse_rate_c_km: lapse_rate(point),
      temperature_500_c: temperature_500_c[point],
      shear_ms: shear_ms(point),
      freezing_level_m: freezing_level(point),
    });
  return result;
}

type Fields = ModelHour['fields'];

/** Mixing ratio 2 m above the ground, g/kg, from specific humidity, else dew point, else relative humidity. */
function mixingRatio(fields: Fields): AtPoint | null {
  const { specific_humidity_g_kg, dew_point_c, relative_humidity_pct, temperature_2m_c, surface_pressure_hpa } = fields;
  if (specific_humidity_g_kg)
    return (point) => specific_humidity_g_kg[point] / (1 - specific_humidity_g_kg[point] / 1000);
  if (!surface_pressure_hpa) return null;
  if (dew_point_c) return (point) => mixingRatioAt(saturationHpa(dew_point_c[point]), surface_pressure_hpa[point]);
  if (!relative_humidity_pct || !temperature_2m_c) return null;
  return (point) =>
    mixingRatioAt(
      (relative_humidity_pct[point] / 100) * saturationHpa(temperature_2m_c[point]),
      surface_pressure_hpa[point],
    );
}

function mixingRatioAt(vapour_hpa: number, pressure_hpa: number): number {
  return (1000 * EPSILON * vapour_hpa) / (pressure_hpa - vapour_hpa);
}

/** Saturation vapour pressure over water. Source: Bolton 1980, Monthly Weather Review 108, eq. 10. */
function saturationHpa(temperature_c: number): number {
  return 6.112 * Math.exp((17.67 * temperature_c) / (temperature_c + 243.5));
}

/** Magnitude of the wind difference; it does not depend on the orientation of the components. */
function shear(fields: Fields): AtPoint | null {
  const { shear_u_ms, shear_v_ms } = fields;
  if (shear_u_ms && shear_v_ms) return (point) => Math.hypot(shear_u_ms[point], shear_v_ms[point]);
  const u = difference(fields, 'wind_500_u_ms', 'wind_10m_u_ms');
  const v = difference(fields, 'wind_500_v_ms', 'wind_10m_v_ms');
  return u && v && ((point) => Math.hypot(u(point), v(point)));
}

/** Lapse rate from 700 to 500 hPa, C/km. */
function lapseRate(fields: Fields): AtPoint | null {
  const cooling_c = difference(fields, 'temperature_700_c', 'temperature_500_c');
  const thickness_m = difference(fields, 'height_500_m', 'height_700_m');
  return cooling_c && thickness_m && ((point) => (1000 * cooling_c(point)) / thickness_m(point));
}

function difference(fields: Fields, minuend: ModelFieldName, subtrahend: ModelFieldName): AtPoint | null {
  const [from, less] = [fields[minuend], fields[subtrahend]];
  return from && less ? (point) => from[point] - less[point] : null;
}
