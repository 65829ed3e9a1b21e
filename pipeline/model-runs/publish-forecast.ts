import { WHOLE_COLLECTION } from '../../schemas/collections.ts';
import { layout } from '../../schemas/layout.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { MONTHS } from '../../schemas/risk.ts';
import { climatology } from '../../schemas/tables/climatology.ts';
import { type ForecastModel, forecast } from '../../schemas/tables/forecast.ts';
import { sqlList } from '../duckdb.ts';
import { hourProbability } from '../forecast/diurnal-climatology.ts';
import { type HourlyClimatology, hourlyForecast } from '../forecast/hourly.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import type { Climatology } from '../forecast/outlook.ts';
import { publishedPaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';

/** Hours of the interface. */
const HOURS = 48;

/**
 * Publishes the coming hours from the runs of a model, in place of the previous forecast. Returns whether anything changed; hours
 * that no run reaches have no rows. Throws PipelineError when observed and simulated runs are mixed.
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
  const segment = {
    segment: WHOLE_COLLECTION,
    table: forecast,
    rows: rowsByHour.flatMap((rows) => rows.values()),
    provenance: hours.some(({ simulated }) => simulated) ? ('simulated' as const) : ('observed' as const),
  };
  return (await root.publishUndated('forecast', [segment], now_ms)).changed;
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

/** Published probabilities of severe hail by place and month; null while no climatology is published. */
export async function readClimatology(root: Pick<Root, 'engine' | 'path'>): Promise<Climatology | null> {
  const paths = await publishedPaths(root.path, layout.staticPartition, climatology);
  if (paths.length === 0) return null;
  const months = MONTHS.map((month) => `severe_${month}`).join(', ');
  const rows = await root.engine.rows<Record<string, number> & { geohash4: string; data_source: Provenance }>(
    `SELECT geohash4, data_source, ${months} FROM read_parquet(${sqlList(paths)})`,
  );
  const byCell = new Map(rows.map((row) => [row.geohash4, MONTHS.map((month) => row[`severe_${month}`] ?? null)]));
  return {
    monthly: ({ geohash4 }, month) => byCell.get(geohash4)?.[month - 1] ?? null,
    provenance: rows[0]?.data_source ?? 'observed',
  };
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
