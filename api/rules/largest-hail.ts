import { distanceKm } from '../../schemas/geo/distance.ts';
import { colLon, rowLat } from '../../schemas/geo/lattice.ts';
import { LOCAL_SLACK, localScale } from '../../schemas/geo/local-scale.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { addDays, daysBetween, MS_PER_DAY } from '../../schemas/time.ts';
import { type PixelWindow, pixelsAround } from './pixel-distance.ts';

/** The hail of one pixel, or of one detection, as seen from a point. */
export interface RankedHail {
  readonly max_mm: number;
  /** From the point; both sides of a comparison in the same unit. */
  readonly distance: number;
  readonly row: number;
  readonly col: number;
  /** Time of the maximum, epoch milliseconds; where a pixel may stand in several files. */
  readonly max_time?: number;
}

/**
 * The rule of ties: true when `a`, not `b`, is the largest hail of a storm date. The larger size wins; of equal sizes the
 * nearest, then the northernmost, then the westernmost; of one pixel in several files the earliest.
 */
export function isLarger(a: RankedHail, b: RankedHail): boolean {
  if (a.max_mm !== b.max_mm) return a.max_mm > b.max_mm;
  if (a.distance !== b.distance) return a.distance < b.distance;
  if (a.row !== b.row) return a.row < b.row;
  return a.col !== b.col ? a.col < b.col : (a.max_time ?? 0) < (b.max_time ?? 0);
}

/** Day maxima in columns, wherever they were read from. */
export interface PixelRows {
  /** `day`: storm date as days since 1970-01-01. `max_time`: epoch milliseconds. */
  readonly columns: Readonly<Record<'day' | 'max_mm' | 'max_time', { readonly at: (index: number) => number }>>;
  /** Calls `visit` for every row whose pixel lies in a window; rows without a pixel in it are skipped. */
  readonly inWindow: (window: PixelWindow, visit: (index: number, row: number, col: number) => void) => void;
}

/** Which pixels count. */
export interface PixelQuestion extends Position {
  /** To the centre of a pixel, at most 100. */
  readonly radius_km: number;
  /** Storm dates, both included. */
  readonly first: string;
  readonly last: string;
  readonly min_size_mm: number;
}

/** The largest pixel of a storm date. */
export interface LargestPixel<Rows extends PixelRows> extends Position {
  readonly storm_date: string;
  readonly distance_km: number;
  /** The row of the pixel, and where it stands. */
  readonly rows: Rows;
  readonly index: number;
}

interface Pixel<Rows> {
  readonly rows: Rows;
  readonly index: number;
  readonly row: number;
  readonly col: number;
}

/** A degree of latitude is at least this long. */
const KM_PER_DEG_MIN = 110.5;
/** Largest ratio of the true squared distances of two pixels whose approximate distances are equal. */
const MAX_RATIO = ((1 + LOCAL_SLACK) / (1 - LOCAL_SLACK)) ** 2;

/** The largest pixel in the radius on each storm date that has one, newest date first. */
export function largestPerDate<Rows extends PixelRows>(
  sources: readonly Rows[],
  question: PixelQuestion,
): LargestPixel<Rows>[] {
  const { lat, lon, radius_km, first } = question;
  const window = pixelsAround(question, 1000 * radius_km);
  const { east, north } = localScale(question, radius_km / KM_PER_DEG_MIN);
  const [inner, outer] = [(radius_km * (1 - LOCAL_SLACK)) ** 2, (radius_km * (1 + LOCAL_SLACK)) ** 2];
  const first_day = Date.parse(first) / MS_PER_DAY;
  const days = Math.max(0, daysBetween(first, question.last));
  const exactKm = (row: number, col: number) => distanceKm(question, { lat: rowLat(row), lon: colLon(col) });
  const ranked = ({ rows: { columns }, index, row, col }: Pixel<Rows>) => ({
    max_mm: columns.max_mm.at(index),
    distance: exactKm(row, col),
    row,
    col,
    max_time: columns.max_time.at(index),
  });
  // By day since the first one: size, approximate distance and place of the largest so far.
  const size_mm = new Float64Array(days).fill(question.min_size_mm);
  const km2 = new Float64Array(days);
  const found = new Array<Pixel<Rows> | undefined>(days);
  for (const rows of sources) {
    const { day, max_mm } = rows.columns;
    rows.inWindow(window, (index, row, col) => {
      const at = day.at(index) - first_day;
      if (at < 0 || at >= days) return;
      const mm = max_mm.at(index);
      if (mm < size_mm[at]) return;
      const dy = rowLat(row) - lat;
      const dx = colLon(col) - lon;
      // The geodesic takes a hundred times as long: it decides close calls only.
      const near_km2 = (dx * (east[0] + dy * (east[1] + dy * east[2]))) ** 2 + (dy * (north[0] + dy * north[1])) ** 2;
      if (near_km2 > outer || (near_km2 > inner && exactKm(row, col) > radius_km)) return;
      const known = found[at];
      const pixel = { rows, index, row, col };
      if (known !== undefined && mm === size_mm[at]) {
        if (near_km2 > km2[at] * MAX_RATIO || !isLarger(ranked(pixel), ranked(known))) return;
      }
      size_mm[at] = mm;
      km2[at] = near_km2;
      found[at] = pixel;
    });
  }
  return found
    .flatMap((pixel, at) => {
      if (pixel === undefined) return [];
      const { rows, index, row, col } = pixel;
      const position = { lat: rowLat(row), lon: colLon(col) };
      return [{ storm_date: addDays(first, at), rows, index, ...position, distance_km: exactKm(row, col) }];
    })
    .reverse();
}
