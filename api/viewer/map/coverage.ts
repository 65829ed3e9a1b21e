import type { MultiPolygon, Position } from 'geojson';
import type { LngLat } from '../data/day.ts';

/** Blocks of the grid without radar coverage, from the metadata of a scan's archive. */
export interface UncoveredBlocks {
  readonly north: number;
  readonly west: number;
  readonly step_deg: number;
  readonly rows: number;
  readonly cols: number;
  /** `[row, start, end]`: columns from `start` to before `end`; rows from north. */
  readonly runs: readonly (readonly [number, number, number])[];
}

/** Metadata of an archive, as far as this page reads it. */
export interface ArchiveNote {
  /** West, south, east, north. */
  readonly hail_bounds?: [number, number, number, number] | null;
  readonly uncovered?: UncoveredBlocks;
}

/** West, south, east, north of the area that the map can show. */
const WORLD = [-180, -85, 180, 85] as const;

/** Whether radar covers a place; null where coverage is not known. */
export function isCovered(uncovered: UncoveredBlocks | null, { lng, lat }: LngLat): boolean | null {
  if (!uncovered) return null;
  const { north, west, step_deg, rows, cols, runs } = uncovered;
  const row = Math.floor((north - lat) / step_deg);
  const col = Math.floor((lng - west) / step_deg);
  if (row < 0 || row >= rows || col < 0 || col >= cols) return false;
  return !runs.some(([at, start, end]) => at === row && start <= col && col < end);
}

/**
 * The area without coverage as polygons: everything outside the grid, then the uncovered blocks. Equal runs in consecutive
 * rows become one rectangle.
 */
export function uncoveredArea({ north, west, step_deg, rows, cols, runs }: UncoveredBlocks): MultiPolygon {
  const blocks = (top: number, bottom: number, start: number, end: number) =>
    ring(west + start * step_deg, north - bottom * step_deg, west + end * step_deg, north - top * step_deg);
  const rectangles: { readonly top: number; bottom: number; readonly start: number; readonly end: number }[] = [];
  /** The last rectangle of each run of columns. */
  const last = new Map<string, (typeof rectangles)[number]>();
  for (const [row, start, end] of runs) {
    const above = last.get(`${start} ${end}`);
    if (above?.bottom === row) {
      above.bottom += 1;
      continue;
    }
    const made = { top: row, bottom: row + 1, start, end };
    last.set(`${start} ${end}`, made);
    rectangles.push(made);
  }
  const outside = [ring(...WORLD), blocks(0, rows, 0, cols).reverse()];
  const inside = rectangles.map(({ top, bottom, start, end }) => [blocks(top, bottom, start, end)]);
  return { type: 'MultiPolygon', coordinates: [outside, ...inside] };
}

function ring(west: number, south: number, east: number, north: number): Position[] {
  return [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
}
