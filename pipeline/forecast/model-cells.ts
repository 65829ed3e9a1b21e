import type { Position } from '../../schemas/geo/position.ts';
import type { ModelGrid, ModelHour, ModelValues } from '../read/model-hour.ts';
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
  const around = places.map((place) => segmentsAround(hour.grid, place));
  const { run_time, valid_time, simulated, fields } = hour;
  const largest = (values: ModelValues | null | undefined) => (values ? largestAround(around, values) : null);
  return {
    run_time,
    valid_time,
    simulated,
    covered: Uint8Array.from(around, (segments) => (segments.length > 0 ? 1 : 0)),
    largest: {
      reflectivity_dbz: largest(fields.reflectivity_dbz),
      updraft_helicity_m2_s2: largest(fields.updraft_helicity_m2_s2),
      hail_mm: largest(fields.hail_mm),
      cape_j_kg: largest(fields.cape_j_kg),
      ship: largest(shipField(hour)),
    },
  };
}

/** Radius of the interface's "within 40 km". */
const NEIGHBOURHOOD_KM = 40;

/**
 * Grid points within 40 km of a place, row by row, each row as its first point and the one after its last; the nearest point where
 * the grid is coarser, none for a place outside the grid. Distances use the scale of the map projection at the place.
 */
function segmentsAround(grid: ModelGrid, place: Position): number[] {
  const { row, col } = grid.locate(place);
  const [nearestRow, nearestCol] = [Math.round(row), Math.round(col)];
  if (!(nearestRow >= 0 && nearestRow < grid.rows && nearestCol >= 0 && nearestCol < grid.cols)) return [];
  const { row_km, col_km } = grid.stepsAt(place);
  const reach = NEIGHBOURHOOD_KM / row_km;
  const segments: number[] = [];
  for (let r = Math.max(0, Math.ceil(row - reach)); r <= Math.min(grid.rows - 1, Math.floor(row + reach)); r++) {
    const half = Math.sqrt(Math.max(0, NEIGHBOURHOOD_KM ** 2 - ((r - row) * row_km) ** 2)) / col_km;
    const from = Math.max(0, Math.ceil(col - half));
    const to = Math.min(grid.cols - 1, Math.floor(col + half));
    if (from <= to) segments.push(r * grid.cols + from, r * grid.cols + to + 1);
  }
  const nearest = nearestRow * grid.cols + nearestCol;
  return segments.length > 0 ? segments : [nearest, nearest + 1];
}

/** Largest value around each place; NaN where there is none. */
function largestAround(around: readonly (readonly number[])[], values: ModelValues): Float32Array {
  return Float32Array.from(around, (segments) => {
    let most = Number.NEGATIVE_INFINITY;
    for (let s = 0; s < segments.length; s += 2)
      for (let point = segments[s]; point < segments[s + 1]; point++) if (values[point] > most) most = values[point];
    return most === Number.NEGATIVE_INFINITY ? Number.NaN : most;
  });
}
