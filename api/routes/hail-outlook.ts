import { z } from 'zod';
import { combineProvenances } from '../../schemas/provenance.ts';
import { HailOutlook } from '../../schemas/resources/outlook.ts';
import { latitudeQuery, longitudeQuery, radiusQuery } from '../decode.ts';
import { readEndpoint } from '../endpoint.ts';
import { nearestOutlook } from '../queries/hail-outlook.ts';
import { hailOutlook as outlookAt, runningOutlookDate } from '../rules/hail-outlook.ts';

const EXAMPLE_DAYS = [
  [13.3, 0.9, 'high', 'spc', 15, 11.2, 3.1],
  [11.8, 0.8, 'high', 'spc', 15, 6.2, 3.1],
  [8.3, 0.525, 'medium', 'spc', 8.3, null, 3.1],
  [8.3, 0.375, 'low', 'spc', 8.3, null, 3.1],
  [3.1, 0.2, null, 'climatology', null, null, 3.1],
  [3.1, 0.2, null, 'climatology', null, null, 3.1],
  [3.1, 0.2, null, 'climatology', null, null, 3.1],
] as const;
/** From 12 UTC on; their complements multiply to that of 13.3 %. */
const EXAMPLE_HOURS = [
  ...[0.1215, 0.1286, 0.1448, 0.1742, 0.2244, 0.3065, 0.4347, 0.6213, 0.8661, 1.143, 1.3943, 1.5461],
  ...[1.5454, 1.3926, 1.1408, 0.864, 0.6196, 0.4335, 0.3057, 0.2239, 0.1739, 0.1446, 0.1285, 0.1214],
] as const;

export const getHailOutlook = readEndpoint({
  method: 'GET',
  path: '/v1/hail/outlook',
  group: 'Hail detection',
  summary: 'Hail of the next seven days at a point',
  description:
    'Probability in percent of hail >= 25 mm within 40 km on each of seven days, 12 to 12 UTC, blended from the convective outlooks of the Storm Prediction Center and the forecast model, and from the climatology where neither speaks; for the cell whose centre is nearest, within radius_km. A day that is over is left out: an outlook that was not made anew keeps the numbers of its days and begins with a later one, and when all of its days are over nothing is covered. data_as_of tells how old it is. covered is false where no cell is near enough, and while no outlook was ever published: that is no statement that there is no hail.',
  scope: 'hail:read',
  params: null,
  query: z.object({
    lat: latitudeQuery(),
    lon: longitudeQuery(),
    radius_km: radiusQuery({
      max: 200,
      default: 50,
      description: 'How far away the centre of the nearest cell with an outlook may be.',
    }),
  }),
  body: null,
  reply: HailOutlook,
  example: {
    query: { lat: '35.22', lon: '-97.44' },
    reply: {
      location: { lat: 35.22, lon: -97.44 },
      covered: true,
      cell: { geohash4: '9y68', distance_km: 11.12 },
      outlook: EXAMPLE_DAYS.map(
        ([hail_probability, score, state, primary_source, spc_pct, hrrr_pct, climo_pct], k) => ({
          day: k + 1,
          forecast_date: `2026-05-0${k + 1}`,
          hail_probability,
          confidence: { score, state },
          primary_source,
          components: { spc_pct, hrrr_pct, climo_pct },
          hourly: k === 0 ? [...EXAMPLE_HOURS] : null,
        }),
      ),
      data_as_of: '2026-05-01T13:02:11Z',
    },
  },
  price: () => ({ operation: 'hail.outlook', credits: 15, count: 1 }),
  plan: ({ edition }) => ({ dates: [], collection: edition.collection('outlook') }),
  answer: async ({ query, now_ms, plan: { collection }, services: { cells } }) => {
    if (collection === null) return { body: outlookAt(query, null, null), provenance: null };
    const found = await nearestOutlook(cells, collection, query, runningOutlookDate(now_ms));
    const provenances = found?.days.map(({ data_source }) => data_source) ?? [collection.source];
    return { body: outlookAt(query, found, collection.as_of_ms), provenance: combineProvenances(provenances) };
  },
});
