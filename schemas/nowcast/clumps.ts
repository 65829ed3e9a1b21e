import type { Position } from '../geo/position.ts';

/** Side of the squares that pixels are sorted into, degrees: about 3 km. */
const SQUARE_DEG = 0.03;

/**
 * Pixels that lie together: in squares that touch at a side or a corner, so that neighbours are at most 7 km apart. Clumps are in the
 * order of their first pixels.
 */
export function clumps<Pixel extends Position>(pixels: readonly Pixel[]): Pixel[][] {
  const squares = Map.groupBy(pixels, ({ lat, lon }) => keyOf(squareOf(lat), squareOf(lon)));
  const taken = new Set<string>();
  return [...squares.values()].flatMap(([first]) => {
    const clump: Pixel[] = [];
    const open = [[squareOf((first as Pixel).lat), squareOf((first as Pixel).lon)] as const];
    for (const [row, col] of open) {
      const key = keyOf(row, col);
      const inside = squares.get(key);
      if (inside === undefined || taken.has(key)) continue;
      taken.add(key);
      clump.push(...inside);
      for (const down of [-1, 0, 1]) for (const right of [-1, 0, 1]) open.push([row + down, col + right]);
    }
    return clump.length === 0 ? [] : [clump];
  });
}

function squareOf(degrees: number): number {
  return Math.floor(degrees / SQUARE_DEG);
}

function keyOf(row: number, col: number): string {
  return `${row} ${col}`;
}
