import { z } from 'zod';
import { combineProvenances } from '../../schemas/provenance.ts';
import { HailOutlook } from '../../schemas/resources/outlook.ts';
import { latitudeQuery, longitudeQuery, radiusQuery } from '../decode.ts';
import { readEndpoint } from '../endpoint.ts';
import { nearestOutlook } from '../queries/hail-outlook.ts';
import { hailOutlook as outlookAt, runningOutlookDate } from '../rules/hail-outlook.ts';

const EXAMPLE_DAYS = [
  [12.3, 0.82, 'high', 'spc', 15, 11.2, 3.1],
  [8.4, 0.71, 'high', 'spc', 15, 6.2, 3.1],
  [4.9, 0.58, 'medium', 'spc', 5, null, 3.1],
  [3.2, 0.44, 'medium', 'climatology', 3.1, null, 3.1],
  [3.2, 0.35, 'medium', 'climatology', 3.1, null, 3.1],
  [3.3, 0.27, 'low', 'climatology', 3.1, null, 3.1],
  [3.1, 0.2, null, 'climatology', null, null, 3.1],
] as const;
/** From 12 UTC on; their complements multiply to that of 12.3 %. */
const EXAMPLE_HOURS = [
  ...[0.1117, 0.1183, 0.1332, 0.1604, 0.2066, 0.2822, 0.4003, 0.5722, 0.7975, 1.0523, 1.2833, 1.4226],
  ...[1.4216, 1.2807, 1.0489, 0.7942, 0.5695, 0.3984, 0.281, 0.2058, 0.1599, 0.133, 0.1182, 0.1117],
] as const;

export const hailOutlook = readEndpoint({
  method: 'GET',
  path: '/v1/hail/outlook',
  group: 'Hail detection',
  summary: 'Hail of the next seven days at a point',
  description:
    'Probability in percent of hail >= 25 mm within 40 km on each of seven days, 12 to 12 UTC, blended from the convective outlooks of the Storm Prediction Center, the forecast model and the climatology; for the cell whose centre is nearest, within radius_km. A day that is over is left out: an outlook that was not made anew keeps the numbers of its days and begins with a later one, and when all of its days are over nothing is covered. data_as_of tells how old it is. covered is false where no cell is near enough, and while no outlook was ever published: that is no statement that there is no hail.',
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
