import { layout } from '../../schemas/layout.ts';
import { type ForecastModel, forecast } from '../../schemas/tables/forecast.ts';
import { sqlList } from '../duckdb.ts';
import { publishedPaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { hourProbability } from './diurnal-climatology.ts';
import { hourColumns } from './hour-columns.ts';
import { type HourlyClimatology, hourlyForecast } from './hourly.ts';
import type { CellHour } from './model-cells.ts';
import type { Climatology } from './outlook.ts';
import { publishDays, readClimatology } from './publish-outlook.ts';

/** Hours of the interface. */
const HOURS = 48;

/**
 * Publishes the coming hours from the runs of a model, in place of the previous forecast, and the outlook of their days with them.
 * Returns whether the forecast changed; hours that no run reaches have no rows. Throws PipelineError when observed and simulated
 * runs are mixed.
 */
export async function publishForecast(
  root: Root,
  model: ForecastModel,
  hours: readonly CellHour[],
  now_ms: number,
): Promise<boolean> {
  const published = await readClimatology(root);
  const climatology = published === null ? null : hourlyClimatology(published);
  const rowsByHour = hourlyForecast({ model, hours, after: now_ms, count: HOURS, climatology });
  const provenance = hours.some(({ simulated }) => simulated) ? 'simulated' : 'observed';
  const made = {
    hours: hourColumns(rowsByHour.flatMap((rows) => rows.values())),
    provenance,
    published: null,
    is_new: true,
  } as const;
  return (await publishDays(root, made, now_ms)).includes('forecast');
}

/** Latest published hour of a model and provenance; minus infinity when none is published. */
export async function publishedReach(
  { path, engine }: Pick<Root, 'path' | 'engine'>,
  model: ForecastModel,
  is_simulated: boolean,
): Promise<number> {
  const paths = await publishedPaths(path, layout.collectionPartition('forecast'), forecast);
  if (paths.length === 0) return Number.NEGATIVE_INFINITY;
  const [found] = await engine.rows<{ reach_ms: number | null }>(
    `SELECT epoch_ms(max(valid_time))::DOUBLE AS reach_ms FROM read_parquet(${sqlList(paths)})
     WHERE model = '${model}' AND data_source = '${is_simulated ? 'simulated' : 'observed'}'`,
  );
  return found.reach_ms ?? Number.NEGATIVE_INFINITY;
}

/** Probabilities of single hours from those of the months. */
function hourlyClimatology({ monthly }: Climatology): HourlyClimatology {
  return (cell, valid_time) => {
    const time = new Date(valid_time);
    const probability = monthly(cell, time.getUTCMonth() + 1);
    if (probability === null) return null;
    const days_in_month = new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1, 0)).getUTCDate();
    return hourProbability(probability, days_in_month, valid_time, cell.lon);
  };
}
