import { LATTICE } from '../../schemas/geo/lattice.ts';
import { COVERAGE_BLOCK_PX as BLOCK_PX } from '../../schemas/tables/radar.ts';
import { type Grid, packedNumber, type UncoveredBlocks } from '../grid.ts';
import { thousandths } from './rejected-item.ts';

/**
 * Area without radar coverage, as runs of blocks of ten by ten pixels: a block counts as uncovered when its middle pixel has no coverage.
 * Blocks suffice: coverage ends along beams and ranges, and readers need the difference between "no hail" and "no radar
 * coverage". A product without a no-coverage value is covered throughout.
 */
export function uncoveredBlocks({ window, packed, ...grid }: Grid): UncoveredBlocks {
  const rows = Math.ceil(window.rows / BLOCK_PX);
  const cols = Math.ceil(window.cols / BLOCK_PX);
  const none = grid.no_coverage === null ? null : packedNumber(grid, grid.no_coverage);
  const runs: [number, number, number][] = [];
  for (let row = 0; row < rows && none !== null; row++) {
    const line = middle(row, window.rows) * window.cols;
    let start = -1;
    for (let col = 0; col <= cols; col++) {
      const bare = col < cols && packed[line + middle(col, window.cols)] === none;
      if (bare && start < 0) start = col;
      if (bare || start < 0) continue;
      runs.push([row, start, col]);
      start = -1;
    }
  }
  return {
    north: thousandths(LATTICE.north - window.row0 * LATTICE.step),
    west: thousandths(LATTICE.west + window.col0 * LATTICE.step),
    step_deg: BLOCK_PX * LATTICE.step,
    rows,
    cols,
    runs,
  };
}

/** Index of the middle pixel of a block; the last block may be cut. */
function middle(block: number, length: number): number {
  return Math.min(block * BLOCK_PX + BLOCK_PX / 2, length - 1);
}
