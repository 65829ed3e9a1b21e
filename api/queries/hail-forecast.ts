import { type Forecast, forecast } from '../../schemas/tables/forecast.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { ForecastRow, ForecastRun } from '../rules/hail-forecast.ts';
import { type CellRows, type CellView, IN_PART, rowsAsJson, rowsFromJson } from './cell-rows.ts';
import { FILES } from './sql.ts';

const HOUR_COLUMNS = [
  'valid_time',
  'hail_probability',
  'estimated_size_mm',
  'risk_category',
  'risk_score',
] as const satisfies readonly (keyof Forecast)[];
type Hour = Pick<Forecast, (typeof HOUR_COLUMNS)[number]>;

/** Hours of one cell that one run was the newest for. */
interface CellRun extends ForecastRun {
  readonly geohash4: string;
  readonly hours: string;
}

interface ForecastCells {
  readonly cells: ReadonlyMap<string, readonly CellRun[]>;
  readonly newest: ForecastRun | null;
}

const FORECAST: CellView<CellRun, ForecastCells> = {
  collection: 'forecast',
  statement: `SELECT geohash4, model, run_time, data_source, ${rowsAsJson(forecast, HOUR_COLUMNS)} AS hours
    FROM ${FILES} WHERE ${IN_PART} GROUP BY geohash4, model, run_time, data_source`,
  make: (runs) => ({
    cells: Map.groupBy(runs, ({ geohash4 }) => geohash4),
    newest: runs.reduce<ForecastRun | null>(
      (newest, run) => (newest === null || run.run_time > newest.run_time ? run : newest),
      null,
    ),
  }),
};

/** Forecast hours of a cell, none outside the area of the model, and the newest run of any cell. */
export async function forecastOfCell(
  rows: CellRows,
  { paths }: CollectionEdition,
  geohash4: string,
): Promise<{ readonly hours: ForecastRow[]; readonly newest: ForecastRun | null }> {
  const { cells, newest } = await rows.of(FORECAST, paths());
  const hours = (cells.get(geohash4) ?? []).flatMap(({ model, run_time, data_source, hours: text }) =>
    rowsFromJson<Hour>(HOUR_COLUMNS, text).map((hour) => ({ ...hour, model, run_time, data_source })),
  );
  return { hours: hours.sort((a, b) => a.valid_time - b.valid_time), newest };
}
