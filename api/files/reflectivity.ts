import type { Edition } from '../catalog.ts';

/** The picture of radar reflectivity of a scan. */
export interface ReflectivityPicture {
  readonly scan_time_ms: number;
  /** Below the tiles' address. */
  readonly path: string;
}

/**
 * The newest picture of reflectivity that an edition lists; null without one.
 *
 * TO PLUG: no archive of reflectivity is published yet.
 */
export function newestReflectivity(_edition: Edition): ReflectivityPicture | null {
  return null;
}
