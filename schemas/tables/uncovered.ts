import { z } from 'zod';
import { table } from '../columns.ts';
import * as column from '../units.ts';

/** Side of the blocks in which coverage is published, lattice pixels: 0.1 degree, about 10 km. */
export const COVERAGE_BLOCK_PX = 10;

/** Neighbouring blocks that no radar covered over consecutive scans: one rectangle, one stretch of time. */
export const Uncovered = z.object({
  storm_date: column.stormDate('Storm date of the scans.'),
  row_first: column.latticeIndex('Northernmost lattice row of the blocks.'),
  row_last: column.latticeIndex('Southernmost lattice row of the blocks.'),
  col_first: column.latticeIndex('Westernmost lattice column of the blocks.'),
  col_last: column.latticeIndex('Easternmost lattice column of the blocks.'),
  first_scan: column.instant('Observation time of the first scan without coverage there.'),
  last_scan: column.instant('Observation time of the last of them.'),
  scans: column.count('Scans from the first to the last, both included: all that are published in between.'),
});
export type Uncovered = z.infer<typeof Uncovered>;

export const uncovered = table({
  name: 'uncovered',
  row: Uncovered,
  schema_version: 2,
  older: { readable_from: 1, without: [], retyped: ['row_first', 'row_last', 'col_first', 'col_last'] },
  order: 'row_first, col_first, col_last, row_last, first_scan',
});
