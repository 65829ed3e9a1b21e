import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_EVERY_MS = 5;

/** Waits until something is so, for a minute unless told otherwise. Throws with its text then. */
export async function until(isSo: () => boolean | Promise<boolean>, within_s = 60): Promise<void> {
  for (const end_ms = performance.now() + 1000 * within_s; !(await isSo()); await sleep(LOOK_EVERY_MS))
    if (performance.now() > end_ms) throw new Error(`waited ${within_s} s in vain for ${isSo}`);
}
