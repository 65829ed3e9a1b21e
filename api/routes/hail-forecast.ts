import { z } from 'zod';
import { HAIL_FORECAST_EXAMPLE, HailForecast } from '../../schemas/resources/forecast.ts';
import { integerQuery, latitudeQuery, longitudeQuery } from '../decode.ts';
import { flatPrice, readEndpoint } from '../endpoint.ts';
import { forecastOfCell } from '../queries/hail-forecast.ts';
import { hailForecast as forecastAt, hoursAhead } from '../rules/hail-forecast.ts';
import { cellOf } from '../rules/hail-risk.ts';

export const getHailForecast = readEndpoint({
  method: 'GET',
  path: '/v1/hail/forecast',
  group: 'Hail detection',
  summary: 'Hail of the next hours at a point',
  description:
    'Probability of hail >= 25 mm within 40 km in each of the next hours, ten to twenty times that at the point itself, for the geohash4 cell of the point. The first hour is the one that is running; each is told by its end. Nothing is told beyond the reach of the runs, nor outside the area of the model: the list is then shorter than asked, or empty, which is no statement that there is no hail. model.run_time is the start of the newest run that was used, however old; where there is no hour, that of the newest run there is. All of model is null while no run was ever published. The name of a simulated model begins with `simulated-`.',
  scope: 'hail:read',
  params: null,
  query: z.object({
    lat: latitudeQuery(),
    lon: longitudeQuery(),
    hours: integerQuery({ min: 1, max: 48, default: 24, description: 'Hours to tell, the running one included.' }),
  }),
  body: null,
  reply: HailForecast,
  example: HAIL_FORECAST_EXAMPLE,
  price: flatPrice('hail.forecast', 5),
  plan: ({ edition }) => ({ dates: [], collection: edition.collection('forecast') }),
  answer: async ({ query, now_ms, plan: { collection }, services: { cells } }) => {
    if (collection === null) return forecastAt(query, [], null);
    const { hours, newest } = await forecastOfCell(cells, collection, cellOf(query));
    return forecastAt(query, hoursAhead(hours, now_ms, query.hours), newest);
  },
});
