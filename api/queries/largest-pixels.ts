import { distanceKm } from '../../schemas/geo/distance.ts';
import { colLon, rowLat } from '../../schemas/geo/lattice.ts';
import { LOCAL_SLACK, type LocalScale } from '../../schemas/geo/local-scale.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_DAY, utcDate } from '../../schemas/time.ts';
import type { PixelFile, PixelWindow } from './pixel-file.ts';

/** Which pixels count: what is asked, and what makes the answer quick. */
export interface Within {
  readonly centre: Position;
  readonly radius_km: number;
  /** Holds every pixel within the radius. */
  readonly window: PixelWindow;
  /** Around the centre, as far as the window reaches. */
  readonly scale: LocalScale;
  /** Storm dates, both included. */
  readonly first: string;
  readonly last: string;
  readonly min_size_mm: number;
}

/** The largest pixel of a storm date in the radius: of equals the nearest, of those the northernmost, then the westernmost. */
export interface LargestPixel {
  readonly storm_date: string;
  /** Its place among the pixels of the file. */
  readonly index: number;
  readonly row: number;
  readonly col: number;
}

/** So much farther, squared and as the local scale tells it, a pixel may seem to lie than one that is as near. */
const UNSURE = ((1 + LOCAL_SLACK) / (1 - LOCAL_SLACK)) ** 2;

/** The largest pixel of a file on each storm date asked for, in no order. */
export function largestPixels({ columns: { day, max_mm }, inWindow }: PixelFile, within: Within): LargestPixel[] {
  const { centre, radius_km, first, last, min_size_mm, scale } = within;
  const { east, north } = scale;
  const [inner, outer] = [(radius_km * (1 - LOCAL_SLACK)) ** 2, (radius_km * (1 + LOCAL_SLACK)) ** 2];
  const exact_km = (row: number, col: number) => distanceKm(centre, { lat: rowLat(row), lon: colLon(col) });
  const dates = Array.from(day.values, (value) => utcDate(value * MS_PER_DAY));
  const isAsked = dates.map((date) => date >= first && date <= last);
  // By the code of the date: plain arrays of numbers, since most pixels are only compared with what was found before.
  const size = new Float64Array(dates.length).fill(min_size_mm);
  const km2 = new Float64Array(dates.length);
  const found = new Array<LargestPixel | undefined>(dates.length);
  inWindow(within.window, (index, row, col) => {
    const date = day.codeOf(index);
    const mm = max_mm.values[max_mm.codeOf(index)];
    if (mm < size[date] || !isAsked[date]) return;
    const dy = rowLat(row) - centre.lat;
    const dx = colLon(col) - centre.lon;
    const seems_km2 = (dx * (east[0] + dy * (east[1] + dy * east[2]))) ** 2 + (dy * (north[0] + dy * north[1])) ** 2;
    if (seems_km2 > outer) return;
    if (seems_km2 > inner && exact_km(row, col) > radius_km) return;
    const known = found[date];
    if (known !== undefined && mm === size[date]) {
      if (seems_km2 > km2[date] * UNSURE) return;
      const isUnsure = seems_km2 * UNSURE >= km2[date];
      if (isUnsure && !isNearer(row, col, known, exact_km)) return;
    }
    size[date] = mm;
    km2[date] = seems_km2;
    found[date] = { storm_date: dates[date], index, row, col };
  });
  return found.filter((pixel) => pixel !== undefined);
}

function isNearer(
  row: number,
  col: number,
  known: LargestPixel,
  exact_km: (row: number, col: number) => number,
): boolean {
  const farther_km = exact_km(row, col) - exact_km(known.row, known.col);
  if (farther_km !== 0) return farther_km < 0;
  return row !== known.row ? row < known.row : col < known.col;
}
