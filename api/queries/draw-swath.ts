import { Worker } from 'node:worker_threads';
import type { DrawnTier, MaximumPixels } from '../rules/swath-tiers.ts';
import type { Drawing, Drawn } from './swath-thread.ts';

interface Waiting {
  readonly resolve: (tiers: readonly DrawnTier[]) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** A whole outbreak takes a tenth of a second; what takes this long is given up, and its thread with it. */
const LIMIT_MS = 15_000;

let thread: ReturnType<typeof startThread> | null = null;

/**
 * Tiers of a region, as `drawTiers` has them, drawn on a thread of their own so that other requests go on meanwhile. Throws
 * when the drawing fails, takes longer than 15 seconds, or the thread dies; the next drawing starts another one.
 */
export function drawSwath(
  pixels: MaximumPixels,
  min_size_mm: number,
  simplify_m: number,
): Promise<readonly DrawnTier[]> {
  thread ??= startThread(() => {
    thread = null;
  });
  return thread.draw(pixels, min_size_mm, simplify_m);
}

/** Short-lived geometry: a small young generation keeps the thread's memory small at no cost in time. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 24 };

/** Starts a thread that draws one swath after the other; `ended` is called once it is of no more use. */
function startThread(ended: () => void) {
  const worker = new Worker(new URL('./swath-thread.ts', import.meta.url), { resourceLimits: THREAD_LIMITS });
  worker.unref();
  const waiting = new Map<number, Waiting>();
  let drawings = 0;
  const takeWaiting = (id: number): Waiting | undefined => {
    const owed = waiting.get(id);
    waiting.delete(id);
    clearTimeout(owed?.timer);
    if (waiting.size === 0) worker.unref();
    return owed;
  };
  let over = false;
  const giveUp = (error: Error) => {
    if (over) return;
    over = true;
    ended();
    for (const id of [...waiting.keys()]) takeWaiting(id)?.reject(error);
    void worker.terminate();
  };
  worker.on('message', (drawn: Drawn) => {
    const owed = takeWaiting(drawn.id);
    if ('tiers' in drawn) owed?.resolve(drawn.tiers);
    else owed?.reject(new Error(`a swath cannot be drawn: ${drawn.failure}`));
  });
  worker.on('error', giveUp);
  worker.on('exit', (code) => giveUp(new Error(`the thread that draws swaths ended with code ${code}`)));
  return {
    draw: (pixels: MaximumPixels, min_size_mm: number, simplify_m: number) =>
      new Promise<readonly DrawnTier[]>((resolve, reject) => {
        const id = drawings++;
        const timer = setTimeout(() => giveUp(new Error(`a swath took longer than ${LIMIT_MS} ms to draw`)), LIMIT_MS);
        waiting.set(id, { resolve, reject, timer });
        worker.ref();
        worker.postMessage({ id, pixels, min_size_mm, simplify_m } satisfies Drawing);
      }),
  };
}
