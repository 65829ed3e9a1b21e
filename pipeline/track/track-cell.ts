import type { Cell } from '../../schemas/tables/radar.ts';
import type { Heading } from './motion.ts';

/** The centroid is tracked, `lat` and `lon` are published; the size is in mm of hail or in the product's own unit. */
type CellColumn = 'cell_index' | 'lat' | 'lon' | `centroid_${'lat' | 'lon'}` | 'area_km2' | 'estimated_size_mm';

/** A cell of one scan, input of the tracker. */
export interface TrackCell extends Readonly<Pick<Cell, CellColumn>> {
  /** Lattice pixels of the cell, in rows from north, columns from west. */
  readonly rows: Uint16Array;
  readonly cols: Uint16Array;
  /** Tenths of the value at each of these pixels. */
  readonly tenths: Uint16Array;
  /** Motion of this storm by another product; null without one. */
  readonly motion_hint: Heading | null;
}

/** A cell, or a part of it while several tracks share the cell. */
export interface CellPart extends TrackCell {
  /** Index of its cell in the scan's list. */
  readonly cell: number;
  /** Number of the part within its cell, 0 for a whole cell. */
  readonly part: number;
  /** Index of the prediction that holds the part; null for a whole cell and for a part that moved too far. */
  readonly held_by: number | null;
  /** The storm that holds the part crosses another one that shares the cell. */
  readonly crossing: boolean;
}
