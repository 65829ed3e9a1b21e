import type { Window } from '../../schemas/geo/lattice.ts';
import type { TrackCell } from './track-cell.ts';

/** A rectangle of the lattice that no radar covered. */
interface Unseen {
  readonly row_first: number;
  readonly row_last: number;
  readonly col_first: number;
  readonly col_last: number;
}

/**
 * Indices of the cells that the edge of the grid or of radar coverage cuts: a neighbour of one of their pixels was not observed. Such a
 * cell may continue there, so its centroid stays behind when it leaves.
 */
export function cutCells(cells: readonly TrackCell[], window: Window, unseen: readonly Unseen[]): Set<number> {
  const last_row = window.row0 + window.rows - 1;
  const last_col = window.col0 + window.cols - 1;
  const cut = new Set<number>();
  cells.forEach(({ rows, cols }, index) => {
    const near = unseen.filter((patch) => {
      const [first, last] = [rows[0], rows[rows.length - 1]];
      return patch.row_first <= last + 1 && patch.row_last >= first - 1;
    });
    const isCut = rows.some((row, i) => {
      const col = cols[i];
      if (row === window.row0 || row === last_row || col === window.col0 || col === last_col) return true;
      return near.some(
        (patch) =>
          row >= patch.row_first - 1 &&
          row <= patch.row_last + 1 &&
          col >= patch.col_first - 1 &&
          col <= patch.col_last + 1,
      );
    });
    if (isCut) cut.add(index);
  });
  return cut;
}
