/**
 * Minimum-cost assignment of rows to columns: the column of each row, -1 for a row left alone.
 *
 * `cost`: rows x columns, row-major, Infinity where a pair is forbidden. A row left alone costs `alone` (a dummy column per row);
 * a column left alone costs 0. Ties go to the lowest column.
 * Source: Jonker & Volgenant 1987, Computing 38, 325-340: shortest augmenting paths over reduced costs, O(n^3).
 */
export function assign(cost: Float64Array, rows: number, columns: number, alone: number): Int32Array {
  const all = columns + rows;
  const rowOfColumn = new Int32Array(all).fill(-1);
  const rowPrice = new Float64Array(rows);
  const columnPrice = new Float64Array(all);
  const distance = new Float64Array(all);
  const cameFrom = new Int32Array(all);
  const done = new Uint8Array(all);
  const costAt = (row: number, column: number): number => {
    if (column < columns) return cost[row * columns + column];
    return column - columns === row ? alone : Number.POSITIVE_INFINITY;
  };

  for (let start = 0; start < rows; start++) {
    distance.fill(Number.POSITIVE_INFINITY);
    done.fill(0);
    let row = start;
    let reached = -1;
    let travelled = 0;
    while (reached < 0 || rowOfColumn[reached] !== -1) {
      if (reached >= 0) row = rowOfColumn[reached];
      let nearest = -1;
      for (let column = 0; column < all; column++) {
        if (done[column]) continue;
        const reduced = costAt(row, column) - rowPrice[row] - columnPrice[column];
        if (travelled + reduced < distance[column]) {
          distance[column] = travelled + reduced;
          cameFrom[column] = reached;
        }
        if (nearest < 0 || distance[column] < distance[nearest]) nearest = column;
      }
      reached = nearest;
      travelled = distance[reached];
      done[reached] = 1;
    }
    rowPrice[start] = rowPrice[start] + travelled;
    for (let column = 0; column < all; column++) {
      if (!done[column] || column === reached) continue;
      const slack = travelled - distance[column];
      const owner = rowOfColumn[column];
      rowPrice[owner] = rowPrice[owner] + slack;
      columnPrice[column] = columnPrice[column] - slack;
    }
    while (reached >= 0) {
      const before = cameFrom[reached];
      rowOfColumn[reached] = before >= 0 ? rowOfColumn[before] : start;
      reached = before;
    }
  }

  const columnOfRow = new Int32Array(rows).fill(-1);
  for (let column = 0; column < columns; column++)
    if (rowOfColumn[column] >= 0) columnOfRow[rowOfColumn[column]] = column;
  return columnOfRow;
}
