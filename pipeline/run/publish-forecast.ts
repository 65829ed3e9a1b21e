import { WHOLE_COLLECTION } from '../../schemas/collections.ts';
import { type ForecastModel, forecast } from '../../schemas/tables/forecast.ts';
import { hourlyForecast } from '../forecast/hourly.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import type { Root } from '../publish/root.ts';
import { flattened } from './flattened.ts';
import { hourlyClimatology, readUsualHail } from './usual-hail.ts';

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
    state: null,
  };
  return root.publishCollection('forecast', [segment], [], now_ms);
}
