import { parentPort } from 'node:worker_threads';
import { type DrawnTier, drawTiers, type MaximumPixels } from '../rules/swath-tiers.ts';

/** What the drawing thread is asked. */
export interface Drawing {
  readonly id: number;
  readonly pixels: MaximumPixels;
  readonly min_size_mm: number;
  readonly simplify_m: number;
}

/** What it answers. */
export type Drawn =
  | { readonly id: number; readonly tiers: readonly DrawnTier[] }
  | { readonly id: number; readonly failure: string };

parentPort?.on('message', (drawing: Drawing) => parentPort?.postMessage(answer(drawing)));

function answer({ id, pixels, min_size_mm, simplify_m }: Drawing): Drawn {
  try {
    return { id, tiers: drawTiers(pixels, min_size_mm, simplify_m) };
  } catch (error) {
    return { id, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
