import { setTimeout as sleep } from 'node:timers/promises';

const WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 5;

/** Waits until something is so. Throws with its text after a minute. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end_ms = performance.now() + WITHIN_MS; !(await isSo()); await sleep(LOOK_EVERY_MS))
    if (performance.now() > end_ms) throw new Error(`waited ${WITHIN_MS / 1000} s in vain for ${isSo}`);
}
