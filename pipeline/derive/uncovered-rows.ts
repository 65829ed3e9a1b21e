import { ROW_STRIDE } from '../../schemas/geo/lattice.ts';
import type { Uncovered } from '../../schemas/tables/radar.ts';
import type { ScanInput } from '../grid.ts';

/** A run of blocks that no radar covered in one scan, as a rectangle of the lattice. */
export type UncoveredPatch = Pick<Uncovered, 'row_first' | 'row_last' | 'col_first' | 'col_last'>;

/** Blocks of the grid of a scan without radar coverage; null when unknown. */
export function uncoveredPatches({ mesh: { window }, uncovered }: ScanInput): UncoveredPatch[] | null {
  if (uncovered === null) return null;
  const block_px = Math.round(uncovered.step_deg / window.lattice.step);
  const [last_row, last_col] = [window.row0 + window.rows - 1, window.col0 + window.cols - 1];
  return uncovered.runs.map(([row, start, end]) => ({
    row_first: window.row0 + row * block_px,
    // The last block of a grid may be partial.
    row_last: Math.min(last_row, window.row0 + (row + 1) * block_px - 1),
    col_first: window.col0 + start * block_px,
    col_last: Math.min(last_col, window.col0 + end * block_px - 1),
  }));
}

/** Coverage of a scan. */
interface ScanOfPatches {
  readonly scan_time: number;
  readonly storm_date: string;
  readonly uncovered: readonly UncoveredPatch[] | null;
}

/** Rows of the scans of one storm date, given in order of time. A block that stays uncovered from scan to scan is one row. */
export function uncoveredRows(scans: readonly ScanOfPatches[]): Uncovered[] {
  const rows: Uncovered[] = [];
  let open = new Map<number, Uncovered>();
  for (const { scan_time, storm_date, uncovered } of scans) {
    const next = new Map<number, Uncovered>();
    for (const patch of uncovered ?? []) {
      const known = open.get(keyOf(patch));
      const row = known ?? { storm_date, ...patch, first_scan: scan_time, last_scan: scan_time, scans: 0 };
      if (known === undefined) rows.push(row);
      row.last_scan = scan_time;
      row.scans += 1;
      next.set(keyOf(patch), row);
    }
    open = next;
  }
  return rows;
}

function keyOf({ row_first, row_last, col_first, col_last }: UncoveredPatch): number {
  return ((row_first * ROW_STRIDE + col_first) * ROW_STRIDE + col_last) * ROW_STRIDE + (row_last - row_first);
}
