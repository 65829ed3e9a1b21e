import { z } from 'zod';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { integerQuery, latitudeQuery, longitudeQuery } from '../../http/decode.ts';
import { getHailForecast } from '../../routes/hail-forecast.ts';
import { earlierRead } from '../endpoint.ts';
import { EARLIER_FORECAST_EXAMPLE } from '../examples.ts';
import { EarlierForecast } from '../resources.ts';
import { forecastConfidence } from '../rules.ts';
import { simulatedForecast } from '../simulated-data.ts';

/** GET /legacy/v1/hail/forecast?lat=35.22&lng=-97.44&hours=6 */
export const earlierHailForecast = earlierRead(getHailForecast, {
  path: '/hail/forecast',
  summary: 'Hail of the next hours at a point',
  description:
    'The hours of GET /v1/hail/forecast, the current one included. There is no forecast beyond the reach of the runs or outside the area of the model: the list is then shorter than requested, or empty, which does not mean that no hail is expected.',
  params: null,
  query: z.object({
    lat: latitudeQuery(),
    lng: longitudeQuery(),
    hours: integerQuery({ min: 1, max: 48, default: 12, description: 'Hours to tell, the running one included.' }),
  }),
  body: null,
  data: EarlierForecast,
  example: EARLIER_FORECAST_EXAMPLE,
  toCurrent: ({ query: { lat, lng, hours } }) => ({ params: null, query: { lat, lon: lng, hours }, body: null }),
  fromCurrent: ({ hourly }, { now_ms }) =>
    hourly.map(({ valid_time, hail_probability, estimated_size_mm }) => ({
      time: valid_time,
      probability: hail_probability,
      max_size_mm: estimated_size_mm,
      confidence: forecastConfidence(Math.ceil((Date.parse(valid_time) - now_ms) / MS_PER_HOUR)),
    })),
  simulate: ({ query, now_ms }) => simulatedForecast(query, now_ms),
});
