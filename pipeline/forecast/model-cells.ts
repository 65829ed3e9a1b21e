import type { Position } from '../../schemas/geo/position.ts';
import type { ModelGrid, ModelHour, ModelValues } from '../grid.ts';
import type { Predictors } from './hail-law.ts';
import { shipField } from './ship.ts';

/** Predictors of one hour of a model run at places: the largest value within 40 km, NaN where the grid has none. */
export interface CellHour {
  readonly run_time: number;
  readonly valid_time: number;
  readonly simulated: boolean;
  /** 1 for places on the grid, else 0. */
  readonly covered: Uint8Array;
  /** Null for a field that the files lack. */
  readonly largest: Readonly<Record<keyof Predictors, Float32Array | null>>;
}

/** The predictors of hail around each place, from the fields of one hour of a run. */
export function cellHour(hour: ModelHour, places: readonly Position[]): CellHour {
  const around = neighbourhoods(hour.grid, places);
  const { run_time, valid_time, simulated, fields } = hour;
  const ship = shipField(hour);
  const largest = (values: Float32Array | null | undefined) => (values ? largestAround(around, values) : null);
  return {
    run_time,
    valid_time,
    simulated,
    covered: Uint8Array.from(places, (_, k) => (around.first[k + 1] > around.first[k] ? 1 : 0)),
    largest: {
      reflectivity_dbz: largest(fields.reflectivity_dbz),
      updraft_helicity_m2_s2: largest(fields.updraft_helicity_m2_s2),
      hail_mm: largest(fields.hail_mm),
      cape_j_kg: largest(fields.cape_j_kg),
      ship: largest(ship),
    },
  };
}

/** Radius of the interface's "within 40 km". */
const NEIGHBOURHOOD_KM = 40;

/** Segments of grid rows around each place: place k has the points from `start[s]` to `end[s]`, for s from `first[k]` to `first[k + 1]`. */
interface Neighbourhoods {
  readonly first: Int32Array;
  readonly start: Int32Array;
  readonly end: Int32Array;
}

/**
 * Grid points within 40 km of each place, row by row; the nearest point where the grid is coarser, none for a place outside
 * the grid. Distances use the scale of the map projection at the place.
 */
function neighbourhoods(grid: ModelGrid, places: readonly Position[]): Neighbourhoods {
  const first = new Int32Array(places.length + 1);
  const start: number[] = [];
  const end: number[] = [];
  for (const [k, place] of places.entries()) {
    addSegments(grid, place, start, end);
    first[k + 1] = start.length;
  }
  return { first, start: Int32Array.from(start), end: Int32Array.from(end) };
}

function addSegments(grid: ModelGrid, place: Position, start: number[], end: number[]): void {
  const { row, col } = grid.locate(place);
  const [nearestRow, nearestCol] = [Math.round(row), Math.round(col)];
  if (!(nearestRow >= 0 && nearestRow < grid.rows && nearestCol >= 0 && nearestCol < grid.cols)) return;
  const { row_km, col_km } = grid.stepsAt(place);
  const reach = NEIGHBOURHOOD_KM / row_km;
  const before = start.length;
  for (let r = Math.max(0, Math.ceil(row - reach)); r <= Math.min(grid.rows - 1, Math.floor(row + reach)); r++) {
    const half = Math.sqrt(Math.max(0, NEIGHBOURHOOD_KM ** 2 - ((r - row) * row_km) ** 2)) / col_km;
    const from = Math.max(0, Math.ceil(col - half));
    const to = Math.min(grid.cols - 1, Math.floor(col + half));
    if (from > to) continue;
    start.push(r * grid.cols + from);
    end.push(r * grid.cols + to + 1);
  }
  if (start.length > before) return;
  start.push(nearestRow * grid.cols + nearestCol);
  end.push(nearestRow * grid.cols + nearestCol + 1);
}

/** Largest value around each place; NaN where there is none. */
function largestAround({ first, start, end }: Neighbourhoods, values: ModelValues): Float32Array {
  const largest = new Float32Array(first.length - 1);
  for (let k = 0; k < largest.length; k++) {
    let most = Number.NEGATIVE_INFINITY;
    for (let s = first[k]; s < first[k + 1]; s++)
      for (let point = start[s]; point < end[s]; point++) if (values[point] > most) most = values[point];
    largest[k] = most === Number.NEGATIVE_INFINITY ? Number.NaN : most;
  }
  return largest;
}
