import { LATTICE, type Window } from '../../schemas/geo/lattice.ts';
import { CELL_GROW_MM } from '../../schemas/size.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { eachPixel, type HailField, type ScanField } from '../grid.ts';

/** Scans that are kept: the newest, and those of the six minutes before it, usually two minutes apart. */
const SCANS_KEPT = 4;
/** Number of earlier scans that distinguish a lasting echo from a spurious one. */
const SCANS = 2;
/** Largest age of these scans, minutes: after a longer gap the storm's past is unknown. */
const SCANS_MAX_AGE_MIN = 10;
/** Age up to which detections count for a place, minutes. */
const PLACES_MAX_AGE_MIN = 30;

/** Pixels >= 5 mm of a scan as row x 7000 + column, ascending, and their values. */
interface Echo {
  readonly scan_time: number;
  readonly window: Window;
  readonly pixels: readonly number[];
  readonly tenths: readonly number[];
}

/** Earlier scans: plain JSON, part of the checkpoint. */
export interface DetectionHistory {
  /** The last scans, oldest first. */
  readonly scans: readonly Echo[];
  /** Scan times with a detection, ascending, by geohash5. */
  readonly places: Readonly<Record<string, readonly number[]>>;
}

export const emptyDetectionHistory: DetectionHistory = { scans: [], places: {} };

function latticePlace(row: number, col: number): number {
  return row * LATTICE.cols + col;
}

/** History without the detections that are too old at `scan_time`. */
export function prune({ scans, places }: DetectionHistory, scan_time: number): DetectionHistory {
  const oldest = scan_time - PLACES_MAX_AGE_MIN * MS_PER_MIN;
  const kept = Object.entries(places)
    .map(([place, times]) => [place, times.filter((time) => time >= oldest)] as const)
    .filter(([, times]) => times.length > 0);
  return { scans, places: Object.fromEntries(kept) };
}

/** The earlier scans in which an echo shows that it lasts. */
export function confirmingScans({ scans }: DetectionHistory, scan_time: number): readonly Echo[] {
  return scans.slice(-SCANS).filter((scan) => scan_time - scan.scan_time <= SCANS_MAX_AGE_MIN * MS_PER_MIN);
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
  return { scans: [...history.scans, echoOf(scan_time, field)].slice(-SCANS_KEPT), places };
}

function echoOf(scan_time: number, field: HailField): Echo {
  const pixels: number[] = [];
  const tenths: number[] = [];
  eachPixel(field, (row, pixel) => {
    if (field.tenths[pixel] < CELL_GROW_MM * 10) return;
    pixels.push(latticePlace(row, field.col[pixel]));
    tenths.push(field.tenths[pixel]);
  });
  return { scan_time, window: field.window, pixels, tenths };
}

/** The field of a scan that is kept, from 5 mm on; its coverage is not stored. */
export function echoField({ scan_time, window, pixels, tenths }: Echo): ScanField {
  const rowStart = new Uint32Array(window.rows + 1);
  for (const pixel of pixels) rowStart[Math.floor(pixel / LATTICE.cols) - window.row0 + 1]++;
  for (let r = 0; r < window.rows; r++) rowStart[r + 1] += rowStart[r];
  const col = Uint16Array.from(pixels, (pixel) => pixel % LATTICE.cols);
  const mesh = { window, rowStart, col, tenths: Uint16Array.from(tenths), covered_px: 0, uncovered_px: 0 };
  return { scan_time, mesh };
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
