import { WHOLE_COLLECTION } from '../../schemas/collections.ts';
import { layout } from '../../schemas/layout.ts';
import { type ForecastModel, forecast } from '../../schemas/tables/forecast.ts';
import { sqlList } from '../duckdb.ts';
import { hourlyForecast } from '../forecast/hourly.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import { readHead, tablePaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { flattened } from './flattened.ts';
import { hourlyClimatology, readUsualHail } from './published-climatology.ts';

/** Hours of the interface. */
const HOURS = 48;

/**
 * Publishes the hours to come from the runs of a model, in place of the last forecast. Returns whether anything changed; hours that
 * no run reaches have no rows. Throws PipelineError when observed and simulated runs are mixed.
 */
export async function publishForecast(
  root: Root,
  model: ForecastModel,
  hours: readonly CellHour[],
  now_ms: number,
): Promise<boolean> {
  const usual = await readUsualHail(root);
  const ask = {
    model,
    hours,
    after: now_ms,
    count: HOURS,
    climatology: usual === null ? null : hourlyClimatology(usual),
  };
  const segment = {
    segment: WHOLE_COLLECTION,
    table: forecast,
    rows: flattened(hourlyForecast(ask)),
    provenance: hours.some(({ simulated }) => simulated) ? ('simulated' as const) : ('observed' as const),
  };
  return (await root.publishUndated('forecast', [segment], now_ms)).changed;
}

/** The last hour that is published of runs of a model and of one provenance; minus infinity when none is. */
export async function publishedReach(
  { path, engine }: Pick<Root, 'path' | 'engine'>,
  model: ForecastModel,
  is_simulated: boolean,
): Promise<number> {
  const head = await readHead(path, layout.collectionPartition('forecast'));
  const paths = head === null ? [] : tablePaths(path, head, forecast.name);
  if (paths.length === 0) return Number.NEGATIVE_INFINITY;
  const [found] = await engine.rows<{ reach_ms: number | null }>(
    `SELECT epoch_ms(max(valid_time))::DOUBLE AS reach_ms FROM read_parquet(${sqlList(paths)})
     WHERE model = '${model}' AND data_source = '${is_simulated ? 'simulated' : 'observed'}'`,
  );
  return found?.reach_ms ?? Number.NEGATIVE_INFINITY;
}
