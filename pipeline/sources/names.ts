import { utcDate } from '../../schemas/time.ts';
import { COMPANION_PRODUCTS } from '../grid.ts';

/** One raw file of a known product, wherever it lies. */
export interface SourceFile {
  /** Product as the bucket names its folder, without the level: `MESH`, `EchoTop_18`, `ProbSevere`. */
  readonly product: string;
  /** Observation time from the name, epoch milliseconds. */
  readonly time_ms: number;
  /** Base name. */
  readonly name: string;
  /** Path relative to the root of the source, with forward slashes. */
  readonly key: string;
  readonly bytes: number;
  /** Absolute path, or the URL of a file that is still in the bucket. */
  readonly location: string;
  /** Time of the last change to its content, epoch milliseconds, where the source says it. */
  readonly modified_ms?: number;
  /** Hash of its unpacked content, where several files of its product and time were given. */
  readonly sha256?: string;
  /** Beside the archived file of its name: 1 for a newer one with other content, a correction; -1 for any other. */
  readonly precedence?: 1 | -1;
}

/** The product whose files are the scans; every other product accompanies it. */
export const SCAN_PRODUCT = 'MESH';
export const PROBSEVERE_PRODUCT = 'ProbSevere';

/** Products that a scan can be made of, and that are fetched unless others are asked for. */
export const SCAN_PRODUCTS: readonly string[] = [
  SCAN_PRODUCT,
  ...Object.values(COMPANION_PRODUCTS),
  PROBSEVERE_PRODUCT,
];

/** A companion belongs to a scan while it is at most this much older: one scan of two minutes and its jitter. */
export const MAX_COMPANION_AGE_MS = 150_000;
export const MAX_PROBSEVERE_AGE_MS = 5 * 60_000;

/** How much earlier than a scan a file of this product may be and still belong to it, milliseconds. */
export function lookBack(product: string): number {
  if (product === PROBSEVERE_PRODUCT) return 2 * MAX_PROBSEVERE_AGE_MS;
  return Object.values(COMPANION_PRODUCTS).includes(product) ? MAX_COMPANION_AGE_MS : 0;
}

/** Level of every product that is fetched, km. */
const LEVEL = '00.50';

const GRID_NAME = /^(?:MRMS_)?([A-Za-z][\w-]*?)_\d{2}\.\d{2}_(\d{8})-(\d{6})\.grib2(?:\.gz)?$/;
const PROBSEVERE_NAME = /^MRMS_PROBSEVERE_(\d{8})[_-](\d{6})\.json$/i;
/** Regions of the bucket beside CONUS: the same product and second there is another grid. */
const OTHER_REGION = /(?:^|\/)(?:ALASKA|CARIB|GUAM|HAWAII)(?:\/|_MRMS_)/i;

/**
 * Product and observation time (epoch milliseconds) that a file name states; null for any other name,
 * for a date or time that does not exist, and for a region beside CONUS.
 * Other folders play no part: a flat folder reads like the bucket's layout.
 */
export function parseName(key: string): { readonly product: string; readonly time_ms: number } | null {
  if (OTHER_REGION.test(key)) return null;
  const name = baseName(key);
  const grid = GRID_NAME.exec(name);
  if (grid) return named(grid[1] as string, grid[2] as string, grid[3] as string);
  const objects = PROBSEVERE_NAME.exec(name);
  return objects ? named(PROBSEVERE_PRODUCT, objects[1] as string, objects[2] as string) : null;
}

export function baseName(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/** Folder of the bucket that holds a product's files of one UTC date `YYYY-MM-DD`, with its closing slash. */
export function bucketPrefix(product: string, date: string): string {
  const day = date.replaceAll('-', '');
  return product === PROBSEVERE_PRODUCT ? `ProbSevere/${day}/` : `CONUS/${product}_${LEVEL}/${day}/`;
}

/** Key of a product at a time (whole seconds count) in the layout of the public bucket, without its extension. */
export function bucketStem(product: string, time_ms: number): string {
  const [day, clock] = new Date(time_ms).toISOString().replaceAll(/[-:]/g, '').split(/[T.]/) as [string, string];
  const prefix = bucketPrefix(product, utcDate(time_ms));
  return product === PROBSEVERE_PRODUCT
    ? `${prefix}MRMS_PROBSEVERE_${day}_${clock}`
    : `${prefix}MRMS_${product}_${LEVEL}_${day}-${clock}`;
}

function named(product: string, day: string, clock: string): { product: string; time_ms: number } | null {
  const iso = `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}T${clock.slice(0, 2)}:${clock.slice(2, 4)}:${clock.slice(4)}.000Z`;
  const time_ms = Date.parse(iso);
  // Date.parse takes 31 April for 1 May and 24:00 for the next midnight: only what prints as it reads exists.
  return Number.isNaN(time_ms) || new Date(time_ms).toISOString() !== iso ? null : { product, time_ms };
}
