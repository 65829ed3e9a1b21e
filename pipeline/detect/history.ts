import { LATTICE } from '../../schemas/geo/lattice.ts';
import { CELL_GROW_MM } from '../../schemas/size.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { eachPixel, type HailField } from '../grid.ts';

/** Number of earlier scans kept to distinguish a lasting echo from a spurious one. */
const SCANS = 2;
/** Largest age of these scans, minutes: after a longer gap the storm's past is unknown. */
const SCANS_MAX_AGE_MIN = 10;
/** Age up to which detections count for a place, minutes. */
const PLACES_MAX_AGE_MIN = 30;

/** Earlier scans as detection uses them: plain JSON, part of the checkpoint. */
export interface DetectionHistory {
  /** The last scans, oldest first, with their pixels >= 5 mm as row x 7000 + column, ascending. */
  readonly scans: readonly { readonly scan_time: number; readonly pixels: readonly number[] }[];
  /** Scan times with a detection, ascending, by geohash5. */
  readonly places: Readonly<Record<string, readonly number[]>>;
}

export const emptyDetectionHistory: DetectionHistory = { scans: [], places: {} };

function latticePlace(row: number, col: number): number {
  return row * LATTICE.cols + col;
}

/** History without the scans and detections that are too old at `scan_time`. */
export function prune(history: DetectionHistory, scan_time: number): DetectionHistory {
  const oldestScan = scan_time - SCANS_MAX_AGE_MIN * MS_PER_MIN;
  const oldestPlace = scan_time - PLACES_MAX_AGE_MIN * MS_PER_MIN;
  const places = Object.entries(history.places)
    .map(([place, times]) => [place, times.filter((time) => time >= oldestPlace)] as const)
    .filter(([, times]) => times.length > 0);
  return {
    scans: history.scans.filter((scan) => scan.scan_time >= oldestScan),
    places: Object.fromEntries(places),
  };
}

/** History with a scan appended: its pixels >= 5 mm and its places with a detection. */
export function append(
  history: DetectionHistory,
  scan_time: number,
  field: HailField,
  detectedPlaces: ReadonlySet<string>,
): DetectionHistory {
  const places: Record<string, readonly number[]> = { ...history.places };
  for (const place of [...detectedPlaces].sort()) places[place] = [...(places[place] ?? []), scan_time];
  return {
    scans: [...history.scans, { scan_time, pixels: pixelsOf(field) }].slice(-SCANS),
    places,
  };
}

function pixelsOf(field: HailField): number[] {
  const pixels: number[] = [];
  eachPixel(field, (row, pixel) => {
    if (field.tenths[pixel] >= CELL_GROW_MM * 10) pixels.push(latticePlace(row, field.col[pixel]));
  });
  return pixels;
}

/** True when one of the ascending `places` lies within `reach` rows and columns of a pixel. */
export function anyNear(places: readonly number[], row: number, col: number, reach: number): boolean {
  for (let r = row - reach; r <= row + reach; r++) {
    const from = latticePlace(r, Math.max(0, col - reach));
    const to = latticePlace(r, Math.min(LATTICE.cols - 1, col + reach));
    const at = lowerBound(places, from);
    if (at < places.length && places[at] <= to) return true;
  }
  return false;
}

function lowerBound(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
