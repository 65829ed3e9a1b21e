import { z } from 'zod';
import { HAIL_FORECAST_EXAMPLE, HailForecast } from '../../schemas/resources/forecast.ts';
import { forecast } from '../../schemas/tables/forecast.ts';
import { integerQuery, pointQuery } from '../http/decode.ts';
import { FILES, readTable } from '../queries/sql.ts';
import { type ForecastRun, hailForecast as forecastAt, hoursAhead } from '../rules/hail-forecast.ts';
import { cellOf } from '../rules/hail-risk.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

const NEWEST_RUN_SQL = `SELECT model, run_time, data_source FROM ${FILES} ORDER BY run_time DESC, model LIMIT 1`;

export const getHailForecast = readEndpoint({
  route: 'GET /v1/hail/forecast',
  group: 'Hail detection',
  summary: 'Hail of the next hours at a point',
  description:
    'The event is hail >= 25 mm within 40 km of the centre of the geohash4 cell of the point in one hour: ten to twenty times as likely as at the point itself. The hours of a day, 12 to 12 UTC, are shifted together to agree with the day of GET /v1/hail/outlook for the cell: no hour is likelier than its day, nor is a day with all its hours forecast likelier than these together. The first hour is the current one; each hour is named by its end. There is no forecast beyond the reach of the runs or outside the area of the model: the list is then shorter than requested, or empty, which does not mean that no hail is expected. model.run_time is the start of the newest run that was used, however old; where there is no hour, that of the newest run there is. All of model is null while no run was ever published. The name of a simulated model begins with `simulated-`.',
  scope: 'hail:read',
  query: z.object({
    ...pointQuery,
    hours: integerQuery({ min: 1, max: 48, default: 24, description: 'Hours to tell, the running one included.' }),
  }),
  reply: HailForecast,
  example: HAIL_FORECAST_EXAMPLE,
  price: flatPrice('hail.forecast', 5),
  plan: ({ edition }) => ({ dates: [], paths: edition.collection('forecast')?.paths() ?? [] }),
  answer: async ({ query, now_ms, plan: { paths }, services: { engine } }) => {
    const rows = await readTable(engine, forecast, paths, 'WHERE geohash4 = $2 ORDER BY valid_time', [cellOf(query)]);
    const hours = hoursAhead(rows, now_ms, query.hours);
    const isOver = hours.length === 0 && paths.length > 0;
    const [newest = null] = isOver ? await engine.rows<ForecastRun>(NEWEST_RUN_SQL, [paths]) : [];
    return forecastAt(query, hours, newest);
  },
});
