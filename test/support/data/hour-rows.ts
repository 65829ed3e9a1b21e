import { forecastRow, type HourColumns, modelProbability } from '../../../pipeline/forecast/hourly.ts';
import { CONUS_CELLS } from '../../../schemas/geo/geohash4.ts';
import type { Forecast } from '../../../schemas/tables/forecast.ts';

/** Rows of each hour with the model's own probabilities. */
export function hourRows(hours: Iterable<HourColumns>): Forecast[][] {
  return Array.from(hours, (hour) =>
    [...CONUS_CELLS.keys()]
      .filter((k) => hour.covered[k] === 1)
      .map((k) => forecastRow(hour, k, modelProbability(hour, k))),
  );
}
