import type { Heading } from './motion.ts';

/** A cell of one scan, input of the tracker. */
export interface TrackCell {
  readonly cell_index: number;
  /** Published position. */
  readonly lat: number;
  readonly lon: number;
  /** Centre of gravity: the tracked position. */
  readonly centroid_lat: number;
  readonly centroid_lon: number;
  readonly area_km2: number;
  /** Largest value in the cell; mm of hail, or the product's own unit. */
  readonly estimated_size_mm: number;
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
}
