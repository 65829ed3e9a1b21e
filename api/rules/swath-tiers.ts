import { LATTICE, pixelAreaKm2 } from '../../schemas/geo/lattice.ts';
import { type MultiPolygon, traceMultiPolygon } from '../../schemas/geo/rings.ts';
import { SIZE_BANDS, type SizeCategory } from '../../schemas/size.ts';
import { simplifyMultiPolygon } from './geo/simplify.ts';

/** Pixels of a day maximum: lattice row and column, largest size in mm; a pixel named twice counts once, as the larger. */
type MaximumPixels = Readonly<Record<'row' | 'col' | 'mm', ArrayLike<number>>>;

/** Asks for the tiers of some pixels. */
export type Drawing = Readonly<{ pixels: MaximumPixels; min_size_mm: number; simplify_m: number }>;

/** The footprint of all hail at or above a size. */
export interface DrawnTier {
  readonly threshold_mm: number;
  readonly category: SizeCategory;
  /** Sum of the exact pixel areas, before simplification. */
  readonly area_km2: number;
  readonly geometry: MultiPolygon;
}

/** Bounds of the tiers of an answer for hail from a size on, smallest first. */
export function tierBounds(min_size_mm: number): (typeof SIZE_BANDS)[number][] {
  return SIZE_BANDS.filter(({ threshold_mm }) => threshold_mm >= min_size_mm);
}

/**
 * Cumulative tiers at the bounds of at least `min_size_mm`, smallest first; one without pixels is absent. Outlines run
 * along pixel edges and are simplified by at most `simplify_m`; 0 leaves them exact. Always valid MultiPolygons, with every
 * footprint of the tier, and none reaches out of the tier below by more than `simplify_m`.
 */
export function drawTiers({ pixels, min_size_mm, simplify_m }: Drawing): DrawnTier[] {
  const tiers: DrawnTier[] = [];
  for (const { threshold_mm, category } of tierBounds(min_size_mm)) {
    const tier = pixelsFrom(pixels, threshold_mm);
    if (tier.rows.length === 0) break; // larger hail would be in this tier too
    const area_km2 = tier.rows.reduce((sum, row) => sum + pixelAreaKm2(row), 0);
    const below = tiers.at(-1)?.geometry ?? null;
    const geometry = simplifyMultiPolygon(traceMultiPolygon(tier), simplify_m, below);
    tiers.push({ threshold_mm, category, area_km2, geometry });
  }
  return tiers;
}

/** Distinct pixels at or above a size, from north and west. */
function pixelsFrom({ row, col, mm }: MaximumPixels, threshold_mm: number) {
  const keys = new Set<number>();
  for (let i = 0; i < mm.length; i++) if (mm[i] >= threshold_mm) keys.add(row[i] * LATTICE.cols + col[i]);
  const sorted = Uint32Array.from(keys).sort();
  return {
    rows: Uint16Array.from(sorted, (key) => Math.floor(key / LATTICE.cols)),
    cols: Uint16Array.from(sorted, (key) => key % LATTICE.cols),
  };
}
