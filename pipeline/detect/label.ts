import { pixelAreaKm2 } from '../../schemas/geo/lattice.ts';
import { rootOf } from '../../schemas/geo/union-find.ts';
import { CELL_GROW_MM } from '../../schemas/size.ts';
import type { HailField } from '../grid.ts';

/** Connected components of a hail field, numbered by their first pixel, in rows from north. */
export interface Labels {
  readonly count: number;
  /** Component of each pixel of the field; -1 below the threshold. */
  readonly label: Int32Array;
  readonly pixels: Uint32Array;
  readonly max_tenths: Uint16Array;
  /** Sum of the exact pixel areas. */
  readonly area_km2: Float64Array;
}

/** Unbroken stretches of a row at or above the threshold, in the order of the field; pixels first .. end - 1. */
interface Runs {
  readonly count: number;
  readonly first: Uint32Array;
  readonly end: Uint32Array;
  /** Runs of window row r are rowStart[r] .. rowStart[r + 1] - 1. */
  readonly rowStart: Uint32Array;
}

function findRuns(field: HailField, min_tenths: number): Runs {
  const { rowStart: pixelStart, col, tenths } = field;
  const rows = field.window.rows;
  const first = new Uint32Array(tenths.length);
  const end = new Uint32Array(tenths.length);
  const rowStart = new Uint32Array(rows + 1);
  let count = 0;
  for (let row = 0; row < rows; row++) {
    rowStart[row] = count;
    const stop = pixelStart[row + 1];
    let next = -1; // column that would continue the open run
    for (let i = pixelStart[row]; i < stop; i++) {
      if (tenths[i] < min_tenths) {
        next = -1;
        continue;
      }
      const column = col[i];
      if (column !== next) first[count++] = i;
      end[count - 1] = i + 1;
      next = column + 1;
    }
  }
  rowStart[rows] = count;
  return { count, first, end, rowStart };
}

/** Parent run of every run. The root of a component is its first run, so roots are in the order of first pixels. */
function joinRuns(field: HailField, runs: Runs, connectivity: 4 | 8): Int32Array {
  const { col } = field;
  const reach = connectivity === 8 ? 1 : 0;
  const parent = new Int32Array(runs.count);
  for (let run = 0; run < runs.count; run++) parent[run] = run;
  for (let row = 1; row < field.window.rows; row++) {
    let above = runs.rowStart[row - 1];
    let below = runs.rowStart[row];
    const aboveStop = below;
    const belowStop = runs.rowStart[row + 1];
    while (above < aboveStop && below < belowStop) {
      const aboveLast = col[runs.end[above] - 1];
      const belowLast = col[runs.end[below] - 1];
      const aboveFirst = col[runs.first[above]];
      const belowFirst = col[runs.first[below]];
      if (aboveFirst <= belowLast + reach && belowFirst <= aboveLast + reach) {
        const a = rootOf(parent, above);
        const b = rootOf(parent, below);
        if (a < b) parent[b] = a;
        else parent[a] = b;
      }
      if (aboveLast < belowLast) above++;
      else below++;
    }
  }
  return parent;
}

/**
 * Connected components of the pixels at or above a threshold.
 *
 * `connectivity` 8 joins pixels that share an edge or a corner, 4 only an edge.
 * Source: run-based two-pass labelling with union-find (Rosenfeld & Pfaltz 1966; He, Chao & Suzuki 2008).
 */
export function labelComponents(field: HailField, min_tenths: number, connectivity: 4 | 8): Labels {
  const runs = findRuns(field, min_tenths);
  const parent = joinRuns(field, runs, connectivity);
  const componentOfRun = new Int32Array(runs.count);
  let count = 0;
  for (let run = 0; run < runs.count; run++)
    componentOfRun[run] = parent[run] === run ? count++ : componentOfRun[rootOf(parent, run)];

  const label = new Int32Array(field.tenths.length).fill(-1);
  const pixels = new Uint32Array(count);
  const max_tenths = new Uint16Array(count);
  const area_km2 = new Float64Array(count);
  for (let row = 0; row < field.window.rows; row++) {
    const pixel_km2 = pixelAreaKm2(field.window.row0 + row);
    const stop = runs.rowStart[row + 1];
    for (let run = runs.rowStart[row]; run < stop; run++) {
      const component = componentOfRun[run];
      const first = runs.first[run];
      const end = runs.end[run];
      let max = max_tenths[component];
      for (let i = first; i < end; i++) if (field.tenths[i] > max) max = field.tenths[i];
      label.fill(component, first, end);
      max_tenths[component] = max;
      pixels[component] = pixels[component] + end - first;
      area_km2[component] = area_km2[component] + (end - first) * pixel_km2;
    }
  }
  return { count, label, pixels, max_tenths, area_km2 };
}

/** 8-connected components of the pixels >= 5 mm: the input of cells and of the flags of detections. */
export function labelHail(field: HailField): Labels {
  return labelComponents(field, CELL_GROW_MM * 10, 8);
}
