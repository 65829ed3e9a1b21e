import type { Position } from '../../schemas/geo/position.ts';
import type { ModelHour } from '../grid.ts';
import { shipField } from './environment.ts';
import type { Predictors } from './hail-law.ts';
import { largestAround, neighbourhoods } from './neighbourhood.ts';

/** An hour of a model run brought to places: each value is the largest within 40 km, NaN where the grid has none. */
export interface CellHour {
  readonly run_time: number;
  readonly valid_time: number;
  readonly simulated: boolean;
  /** 1 for places that the grid covers. */
  readonly covered: Uint8Array;
  /** Null for what the files lack. */
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
