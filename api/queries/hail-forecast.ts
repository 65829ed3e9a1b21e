import { LRUCache } from 'lru-cache';
import { forecast } from '../../schemas/tables/forecast.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { memoize } from '../published/memoize.ts';
import { FORECAST_COLUMNS, type ForecastRow, type ForecastRun } from '../rules/hail-forecast.ts';
import { FILES, selectList } from './sql.ts';

const HOURS_SQL = `SELECT ${selectList(forecast, FORECAST_COLUMNS)} FROM ${FILES} WHERE geohash4 = $2 ORDER BY valid_time`;
const NEWEST_RUN_SQL = `SELECT model, run_time, data_source FROM ${FILES} ORDER BY run_time DESC, model LIMIT 1`;

/** Newest run of the files that were asked for last, by their paths: it takes a look at every row. */
const newestRuns = new LRUCache<string, Promise<ForecastRun | null>>({ max: 4 });

/** Forecast hours of a cell, none outside the area of the model, and the newest run of any cell. */
export async function forecastOfCell(
  engine: Queries,
  collection: CollectionEdition,
  geohash4: string,
): Promise<{ readonly hours: ForecastRow[]; readonly newest: ForecastRun | null }> {
  const paths = collection.paths();
  if (paths.length === 0) return { hours: [], newest: null };
  const [hours, newest] = await Promise.all([
    engine.rows<ForecastRow>(HOURS_SQL, [paths, geohash4]),
    memoize(newestRuns, paths.join('\n'), async () => {
      const [run] = await engine.rows<ForecastRun>(NEWEST_RUN_SQL, [paths]);
      return run ?? null;
    }),
  ]);
  return { hours, newest };
}
