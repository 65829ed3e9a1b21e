import type { Edition } from '../catalog.ts';

/** An archive of the reflectivity of one scan. */
export interface ReflectivityArchive {
  /** Below the tiles' address. */
  readonly path: string;
  /** Epoch milliseconds. */
  readonly scan_time: number;
}

/**
 * The newest archive of reflectivity that is published; null without any.
 *
 * TO PLUG: no archive of reflectivity is made yet.
 */
export function newestReflectivity(_edition: Edition): ReflectivityArchive | null {
  return null;
}
