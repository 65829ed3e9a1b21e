import type { MultiPolygon, Position } from 'geojson';

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

/** The area without coverage as polygons: everything outside the grid that the map can show, then the uncovered blocks. */
export function uncoveredArea({ north, west, step_deg, rows, cols, runs }: UncoveredBlocks): MultiPolygon {
  const blocks = (top: number, bottom: number, start: number, end: number) =>
    ring(west + start * step_deg, north - bottom * step_deg, west + end * step_deg, north - top * step_deg);
  const outside = [ring(-180, -85, 180, 85), blocks(0, rows, 0, cols).reverse()];
  return {
    type: 'MultiPolygon',
    coordinates: [outside, ...runs.map(([row, ...run]) => [blocks(row, row + 1, ...run)])],
  };
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
