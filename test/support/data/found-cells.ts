import { type CellShape, findCells } from '../../../pipeline/detect/cells.ts';
import type { FoundCells } from '../../../pipeline/detect/detections.ts';
import { labelHail } from '../../../pipeline/detect/label.ts';
import { matchObjects } from '../../../pipeline/detect/probsevere.ts';
import type { ScanInput } from '../../../pipeline/grid.ts';

/** What the cells of a scan were found by, as `processScan` hands it to `findDetections`. */
export function foundCells(input: ScanInput, cells: readonly CellShape[] = findCells(input)): FoundCells {
  return {
    labels: labelHail(input.mesh),
    cells,
    matches: matchObjects(input.mesh, cells, input.probsevere ?? [], input.scan_time),
  };
}
