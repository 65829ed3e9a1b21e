import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import type { Forecast } from '../../schemas/tables/forecast.ts';
import { riskOf } from './hourly.ts';

/** Columns that all cells share in an hour. */
export type HourFacts = Pick<Forecast, 'model' | 'run_time' | 'runs' | 'valid_time' | 'data_source'>;
/** A row of the forecast before the hours of its day are shifted. */
export type ModelRow = HourFacts & Pick<Forecast, 'geohash4' | 'model_probability' | 'model_size_mm' | 'ship'>;

/**
 * One hour of the forecast at `CONUS_CELLS`, before the shift: the million rows of long runs take a tenth of the memory that they
 * take as objects. NaN where a value is null.
 */
export interface HourColumns {
  readonly facts: HourFacts;
  /** 1 for cells that have a row. */
  readonly covered: Uint8Array;
  readonly probability: Float64Array;
  readonly size_mm: Float64Array;
  readonly ship: Float64Array;
}

const INDEX = new Map(CONUS_CELLS.map(({ geohash4 }, k) => [geohash4, k]));

/** Rows of a forecast, by hour. Throws RangeError for a cell outside CONUS. */
export function hourColumns(rows: Iterable<ModelRow>): HourColumns[] {
  const hours = new Map<number, HourColumns>();
  for (const row of rows) {
    const k = INDEX.get(row.geohash4);
    if (k === undefined) throw new RangeError(`cell is ${row.geohash4}, expected one of CONUS`);
    const hour = hours.get(row.valid_time) ?? emptyHour(row);
    hours.set(row.valid_time, hour);
    hour.covered[k] = 1;
    hour.probability[k] = row.model_probability ?? Number.NaN;
    hour.size_mm[k] = row.model_size_mm ?? Number.NaN;
    hour.ship[k] = row.ship ?? Number.NaN;
  }
  return [...hours.values()].sort((a, b) => a.facts.valid_time - b.facts.valid_time);
}

function emptyHour({ model, run_time, runs, valid_time, data_source }: HourFacts): HourColumns {
  const column = () => new Float64Array(CONUS_CELLS.length).fill(Number.NaN);
  return {
    facts: { model, run_time, runs, valid_time, data_source },
    covered: new Uint8Array(CONUS_CELLS.length),
    probability: column(),
    size_mm: column(),
    ship: column(),
  };
}

/** Row of cell k with the probability to publish; the columns that follow from it are derived here. */
export function forecastRow(hour: HourColumns, k: number, hail_probability: number | null): Forecast {
  const { geohash4, lat, lon } = CONUS_CELLS[k];
  const model_size_mm = known(hour.size_mm[k]);
  const ship = known(hour.ship[k]);
  return {
    ...hour.facts,
    geohash4,
    lat,
    lon,
    ship,
    model_probability: modelProbability(hour, k),
    model_size_mm,
    ...riskOf(hail_probability, model_size_mm, ship),
  };
}

/** The model's own probability at cell k; null where it has none. */
export function modelProbability({ probability }: HourColumns, k: number): number | null {
  return known(probability[k]);
}

function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
