import { distanceKm, isWithinKm } from '../../schemas/geo/distance.ts';
import { colLon, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { addDays, daysBetween, MS_PER_DAY } from '../../schemas/time.ts';
import { type PixelWindow, pixelsAround } from './pixel-distance.ts';

/** Day maxima in columns, wherever they were read from. */
export interface PixelRows {
  /** `day`: storm date as days since 1970-01-01. `max_time`: epoch milliseconds. */
  readonly columns: Readonly<Record<'day' | 'max_mm' | 'max_time', { readonly at: (index: number) => number }>>;
  /** Calls `visit` for every row whose pixel lies in a window; rows without a pixel in it are skipped. */
  readonly inWindow: (window: PixelWindow, visit: (index: number, row: number, col: number) => void) => void;
}

export interface PixelQuestion extends Position {
  /** To the centre of a pixel, at most 100. */
  readonly radius_km: number;
  /** Storm dates, both included. */
  readonly first: string;
  readonly last: string;
  readonly min_size_mm: number;
}

export interface LargestPixel<Rows extends PixelRows> extends Position {
  readonly storm_date: string;
  readonly distance_km: number;
  /** The row of the pixel, and where it stands. */
  readonly rows: Rows;
  readonly index: number;
}

/**
 * The largest pixel in the radius on each storm date that has one, newest date first. Of equal sizes the nearest counts, then the
 * northernmost, then the westernmost; of one pixel in several files the earliest.
 */
export function largestPerDate<Rows extends PixelRows>(
  sources: readonly Rows[],
  question: PixelQuestion,
): LargestPixel<Rows>[] {
  const { radius_km, first } = question;
  const window = pixelsAround(question, 1000 * radius_km);
  const first_day = Date.parse(first) / MS_PER_DAY;
  const days = Math.max(0, daysBetween(first, question.last));
  // By day since the first one: the largest size so far, and the pixels that have it.
  const size_mm = new Float64Array(days).fill(question.min_size_mm);
  const equals = Array.from(
    { length: days },
    (): { rows: Rows; index: number; row: number; col: number; max_time: number }[] => [],
  );
  for (const rows of sources) {
    const { day, max_mm, max_time } = rows.columns;
    rows.inWindow(window, (index, row, col) => {
      const at = day.at(index) - first_day;
      if (at < 0 || at >= days) return;
      const mm = max_mm.at(index);
      const position = { lat: rowLat(row), lon: colLon(col) };
      if (mm < size_mm[at] || !isWithinKm(question, position, radius_km)) return;
      if (mm > size_mm[at]) equals[at] = [];
      size_mm[at] = mm;
      equals[at]?.push({ rows, index, row, col, max_time: max_time.at(index) });
    });
  }
  return equals
    .flatMap((pixels, at) => {
      const [largest] = pixels
        .map(({ row, col, ...pixel }) => {
          const position = { lat: rowLat(row), lon: colLon(col) };
          return { ...pixel, row, col, ...position, distance_km: distanceKm(question, position) };
        })
        .sort((a, b) => a.distance_km - b.distance_km || a.row - b.row || a.col - b.col || a.max_time - b.max_time);
      if (largest === undefined) return [];
      const { rows, index, lat, lon, distance_km } = largest;
      return [{ storm_date: addDays(first, at), rows, index, lat, lon, distance_km }];
    })
    .reverse();
}
