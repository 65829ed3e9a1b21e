import { z } from 'zod';
import { HAIL_FORECAST_EXAMPLE, HailForecast } from '../../schemas/resources/forecast.ts';
import { integerQuery, latitudeQuery, longitudeQuery } from '../http/decode.ts';
import { forecastOfCell } from '../queries/hail-forecast.ts';
import { hailForecast as forecastAt, hoursAhead } from '../rules/hail-forecast.ts';
import { cellOf } from '../rules/hail-risk.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

export const getHailForecast = readEndpoint({
  method: 'GET',
  path: '/v1/hail/forecast',
  group: 'Hail detection',
  summary: 'Hail of the next hours at a point',
  description:
    'The event is hail >= 25 mm within 40 km of the centre of the geohash4 cell of the point in one hour: ten to twenty times as likely as at the point itself. The hours of a day, 12 to 12 UTC, are shifted together to agree with the day of GET /v1/hail/outlook for the cell: no hour is likelier than its day, nor is a day with all its hours forecast likelier than these together. The first hour is the current one; each hour is named by its end. There is no forecast beyond the reach of the runs or outside the area of the model: the list is then shorter than requested, or empty, which does not mean that no hail is expected. model.run_time is the start of the newest run that was used, however old; where there is no hour, that of the newest run there is. All of model is null while no run was ever published. The name of a simulated model begins with `simulated-`.',
  scope: 'hail:read',
  query: z.object({
    lat: latitudeQuery(),
    lon: longitudeQuery(),
    hours: integerQuery({ min: 1, max: 48, default: 24, description: 'Hours to tell, the running one included.' }),
  }),
  reply: HailForecast,
  example: HAIL_FORECAST_EXAMPLE,
  price: flatPrice('hail.forecast', 5),
  plan: ({ edition }) => ({ dates: [], collection: edition.collection('forecast') }),
  answer: async ({ query, now_ms, plan: { collection }, services: { engine } }) => {
    if (collection === null) return forecastAt(query, [], null);
    const { hours, newest } = await forecastOfCell(engine, collection, cellOf(query));
    return forecastAt(query, hoursAhead(hours, now_ms, query.hours), newest);
  },
});
