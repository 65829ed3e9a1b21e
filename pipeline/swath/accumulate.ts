import { geohash } from '../../schemas/geo/geohash.ts';
import { colLon, LATTICE, rowLat } from '../../schemas/geo/lattice.ts';
import { CELL_GROW_MM, DETECTION_MIN_MM, SIZE_BANDS, SIZE_CAP_MM } from '../../schemas/size.ts';
import type { DayMax } from '../../schemas/tables/radar.ts';
import { type CompanionValues, companionAt, eachPixel, everyCompanion, type HailField } from '../grid.ts';
import type { FilledPixel } from './advect-between.ts';

const SEVERE_MM = SIZE_BANDS[0].threshold_mm;

/** Contribution of one scan or one interpolation to a pixel. */
type Contribution = Omit<DayMax, 'storm_date' | 'lat' | 'lon' | 'geohash5' | `place_${string}`>;

/** One scan as input of the day maximum. */
export interface ScanOfDay {
  readonly scan_time: number;
  readonly mesh: HailField;
  readonly companions: CompanionValues;
  /** The scan's detections: confidence of its pixels >= 10 mm. */
  readonly detections: readonly { readonly row: number; readonly col: number; readonly confidence: number }[];
  /** Pixels that its storms passed over since the previous scan. */
  readonly filled: readonly FilledPixel[];
}

/**
 * Maximum of one storm date so far, by pixel. Mutable; scans may be added in any order.
 * Observed and interpolated values are kept apart, because interpolated values shape the swaths only. An interpolated pixel is
 * dropped once a scan has observed at least as much there.
 */
interface DayMaximum {
  readonly seen: Map<number, Contribution>;
  readonly filled: Map<number, Contribution>;
}

export function emptyDayMaximum(): DayMaximum {
  return { seen: new Map(), filled: new Map() };
}

/** Adds the observed and interpolated pixels >= 5 mm of a scan to the maximum. Not idempotent: a scan added twice counts twice. */
export function updateDayMaximum(maximum: DayMaximum, scan: ScanOfDay): void {
  const confidences = new Map(scan.detections.map(({ row, col, confidence }) => [pixelKey(row, col), confidence]));
  eachPixel(scan.mesh, (row, i) => {
    const max_mm = Math.min(SIZE_CAP_MM, scan.mesh.tenths[i] / 10);
    if (max_mm < CELL_GROW_MM) return;
    const col = scan.mesh.col[i];
    const detected = max_mm >= DETECTION_MIN_MM;
    add(maximum.seen, {
      row,
      col,
      max_mm,
      max_time: scan.scan_time,
      interpolated: false,
      first_detected: detected ? scan.scan_time : null,
      last_detected: detected ? scan.scan_time : null,
      detection_scans: detected ? 1 : 0,
      severe_scans: max_mm >= SEVERE_MM ? 1 : 0,
      confidence: detected ? (confidences.get(pixelKey(row, col)) ?? null) : null,
      ...everyCompanion((name) => companionAt(scan.companions, name, i)),
    });
  });
  for (const { row, col, mm, time } of scan.filled)
    add(maximum.filled, {
      row,
      col,
      max_mm: Math.min(SIZE_CAP_MM, mm),
      max_time: time,
      interpolated: true,
      first_detected: null,
      last_detected: null,
      detection_scans: 0,
      severe_scans: 0,
      confidence: null,
      ...everyCompanion(() => null),
    });
}

/**
 * Rows of the day-max table, in its order. A pixel has one row of observed values and, where the interpolated maximum is larger,
 * a second row with `interpolated` true. The columns of the place are null until the day is closed.
 */
export function dayMaxRows(maximum: DayMaximum, storm_date: string): DayMax[] {
  const rows = [...maximum.seen.values()];
  for (const [key, filled] of maximum.filled) {
    const seen = maximum.seen.get(key);
    if (!seen || seen.max_mm < filled.max_mm) rows.push(filled);
  }
  return rows.sort(inTableOrder).map((row) => toRow(row, storm_date));
}

function pixelKey(row: number, col: number): number {
  return row * LATTICE.cols + col;
}

function add(pixels: Map<number, Contribution>, pixel: Contribution): void {
  const key = pixelKey(pixel.row, pixel.col);
  const before = pixels.get(key);
  pixels.set(key, before ? combine(before, pixel) : pixel);
}

/** The larger maximum with its time, confidence and companions, the earlier of equals; the span of both; the sums of the counts. */
function combine(a: Contribution, b: Contribution): Contribution {
  const winner = b.max_mm > a.max_mm || (b.max_mm === a.max_mm && b.max_time < a.max_time) ? b : a;
  return {
    ...winner,
    first_detected: earlier(a.first_detected, b.first_detected),
    last_detected: later(a.last_detected, b.last_detected),
    detection_scans: a.detection_scans + b.detection_scans,
    severe_scans: a.severe_scans + b.severe_scans,
  };
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

function later(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}

/** Rows are sorted by squares of this side, half a degree: Parquet row groups then prune in space. */
const SQUARE_PX = 50;

function inTableOrder(a: Contribution, b: Contribution): number {
  return (
    Math.floor(a.row / SQUARE_PX) - Math.floor(b.row / SQUARE_PX) ||
    Math.floor(a.col / SQUARE_PX) - Math.floor(b.col / SQUARE_PX) ||
    a.row - b.row ||
    a.col - b.col ||
    Number(a.interpolated) - Number(b.interpolated)
  );
}

function toRow(pixel: Contribution, storm_date: string): DayMax {
  const lat = rowLat(pixel.row);
  const lon = colLon(pixel.col);
  return {
    ...pixel,
    storm_date,
    lat,
    lon,
    geohash5: geohash(lat, lon, 5),
    place_first_detected: null,
    place_last_detected: null,
    place_scans: null,
    place_duration_min: null,
  };
}
