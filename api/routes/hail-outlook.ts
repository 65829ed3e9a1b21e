import { z } from 'zod';
import { combineProvenances } from '../../schemas/provenance.ts';
import { HAIL_OUTLOOK_EXAMPLE, HailOutlook } from '../../schemas/resources/outlook.ts';
import { latitudeQuery, longitudeQuery, radiusQuery } from '../http/decode.ts';
import { nearestOutlook } from '../queries/hail-outlook.ts';
import { hailOutlook as outlookAt, runningOutlookDate } from '../rules/hail-outlook.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

export const getHailOutlook = readEndpoint({
  method: 'GET',
  path: '/v1/hail/outlook',
  group: 'Hail detection',
  summary: 'Hail of the next seven days at a point',
  description:
    'The event is hail >= 25 mm within 40 km of the centre of a cell on one day, 12 to 12 UTC: its probability in percent on each of seven days, blended from the convective outlooks of the Storm Prediction Center and the forecast model, and from the climatology where neither speaks; for the cell whose centre is nearest, within radius_km. No hour of GET /v1/hail/forecast is likelier than its day here. The climatology is that of GET /v1/hail/risk, which is of hail within 10 km in a month, widened to 40 km and brought to one day. A day that is over is left out: an outlook that was not made anew keeps the numbers of its days and begins with a later one, and when all of its days are over nothing is covered. data_as_of tells how old it is. covered is false where no cell is near enough, and while no outlook was ever published: that is no statement that there is no hail.',
  scope: 'hail:read',
  query: z.object({
    lat: latitudeQuery(),
    lon: longitudeQuery(),
    radius_km: radiusQuery({
      max: 200,
      default: 50,
      description: 'How far away the centre of the nearest cell with an outlook may be.',
    }),
  }),
  reply: HailOutlook,
  example: HAIL_OUTLOOK_EXAMPLE,
  price: flatPrice('hail.outlook', 15),
  plan: ({ edition }) => ({ dates: [], collection: edition.collection('outlook') }),
  answer: async ({ query, now_ms, plan: { collection }, services: { engine } }) => {
    if (collection === null) return { body: outlookAt(query, null, null), provenance: null };
    const found = await nearestOutlook(engine, collection, query, runningOutlookDate(now_ms));
    const provenances = found?.days.map(({ data_source }) => data_source) ?? [collection.source];
    return { body: outlookAt(query, found, collection.as_of_ms), provenance: combineProvenances(provenances) };
  },
});
