import { openThread } from '../published/thread.ts';
import type { DrawnTier, MaximumPixels } from '../rules/swath-tiers.ts';
import type { Drawing } from './swath-thread.ts';

/** A whole outbreak takes a tenth of a second. */
const LIMIT_MS = 15_000;

const draw = openThread<Drawing, readonly DrawnTier[]>({
  entry: new URL('./swath-thread.ts', import.meta.url),
  subject: 'the drawing of a swath',
  limit_ms: LIMIT_MS,
  // Short-lived geometry: a small young generation keeps the thread's memory small at no cost in time.
  resource_limits: { maxYoungGenerationSizeMb: 24 },
});

/** Tiers of a region, as `drawTiers` returns them, drawn on a separate thread. Throws like `openThread`. */
export function drawSwath(
  pixels: MaximumPixels,
  min_size_mm: number,
  simplify_m: number,
): Promise<readonly DrawnTier[]> {
  return draw({ pixels, min_size_mm, simplify_m });
}
