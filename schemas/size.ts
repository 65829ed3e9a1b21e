/**
 * The six size bands of the interface: inclusive lower bounds in mm, smallest first.
 * The bounds are the floor in mm of 0.75, 1.00, 1.50, 2.50, 2.75 and 4.00 inch.
 * Categories, swath tiers, tile layers and map legends derive from this table.
 */
export const SIZE_BANDS = [
  { category: 'nickel', threshold_mm: 19, inches: 0.75 },
  { category: 'quarter', threshold_mm: 25, inches: 1 },
  { category: 'golf_ball', threshold_mm: 38, inches: 1.5 },
  { category: 'tennis_ball', threshold_mm: 63, inches: 2.5 },
  { category: 'baseball', threshold_mm: 69, inches: 2.75 },
  { category: 'softball', threshold_mm: 101, inches: 4 },
] as const;

export type SizeCategory = (typeof SIZE_BANDS)[number]['category'];
export const SIZE_CATEGORIES = SIZE_BANDS.map(({ category }) => category) as [SizeCategory, ...SizeCategory[]];

/** Name of the largest band whose bound is at most `size_mm`; null below 19 mm. */
export function sizeCategory(size_mm: number): SizeCategory | null {
  return SIZE_BANDS.findLast((band) => size_mm >= band.threshold_mm)?.category ?? null;
}

/** MESH from which a pixel of a scan is a detection. */
export const DETECTION_MIN_MM = 10;
/** A storm date with such a detection is an event day; every figure of an event day counts detections from this size on. */
export const EVENT_MIN_MM = SIZE_BANDS[0].threshold_mm;
/** Storm cells grow at this MESH, and the day maximum keeps pixels from it. */
export const CELL_GROW_MM = 5;
/** A storm cell has at least this peak. */
export const CELL_PEAK_MIN_MM = 15;
/** Sizes above this are stored as this: larger MESH values are artefacts. */
export const SIZE_CAP_MM = 150;
/** Sizes above this are flagged: often spikes, sun strobes or chaff. */
export const EXTREME_MM = 110;

/** Severe hail index that MRMS turned into this MESH (Witt et al. 1998: MESH = 2.54 SHI^0.5), J m-1 s-1. */
export function shiOfMesh(mesh_mm: number): number {
  return (mesh_mm / 2.54) ** 2;
}

/** 75th percentile size for an index (Murillo, Homeyer & Allen 2021), mm; published only where MESH >= 5 mm. */
export function mesh75OfShi(shi: number): number {
  return 15.096 * shi ** 0.206;
}

/** 95th percentile size for an index (Murillo, Homeyer & Allen 2021), mm; published only where MESH >= 5 mm. */
export function mesh95OfShi(shi: number): number {
  return 22.157 * shi ** 0.212;
}

/**
 * Probability of severe hail (>= 19 mm) in percent, 0..100, not rounded.
 * `freezing_level_km` is above the ground or radar; the warning threshold is floored at 20 J m-1 s-1.
 * Source: Witt et al. 1998, POSH = 29 ln(SHI / WT) + 50 with WT = 57.5 H0 - 121.
 */
export function poshOfShi(shi: number, freezing_level_km: number): number {
  if (shi <= 0) return 0;
  const warning = Math.max(20, 57.5 * freezing_level_km - 121);
  return Math.min(100, Math.max(0, 29 * Math.log(shi / warning) + 50));
}
