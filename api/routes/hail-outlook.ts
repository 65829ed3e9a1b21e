import { z } from 'zod';
import { boxAround } from '../../schemas/geo/around.ts';
import { cellsIn } from '../../schemas/geo/geohash4.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import { HAIL_OUTLOOK_EXAMPLE, HailOutlook } from '../../schemas/resources/outlook.ts';
import { outlook } from '../../schemas/tables/forecast.ts';
import { latitudeQuery, longitudeQuery, radiusQuery } from '../http/decode.ts';
import { readTable } from '../queries/sql.ts';
import { hailOutlook as outlookAt, runningOutlookDate } from '../rules/hail-outlook.ts';
import { nearestWithin } from '../rules/nearest.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

/** The bounds leave out most of the file by its statistics. */
const NEAR = `WHERE forecast_date >= $2::DATE AND geohash4 BETWEEN $4 AND $5
  AND geohash4 IN (SELECT unnest($3::VARCHAR[])) ORDER BY day`;

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
    const { radius_km } = query;
    const near = cellsIn(boxAround(query, radius_km));
    const names = near.map(({ geohash4 }) => geohash4).sort();
    const asked = [runningOutlookDate(now_ms), names, names[0] ?? '', names.at(-1) ?? ''];
    const rows = await readTable(engine, outlook, names.length === 0 ? [] : collection.paths(), NEAR, asked);
    const daysOf = Map.groupBy(rows, ({ geohash4 }) => geohash4);
    const cell = nearestWithin(
      query,
      near.filter(({ geohash4 }) => daysOf.has(geohash4)),
      radius_km,
    );
    const found = cell === null ? null : { cell, days: daysOf.get(cell.item.geohash4) ?? [] };
    const provenances = found?.days.map(({ data_source }) => data_source) ?? [collection.source];
    return { body: outlookAt(query, found, collection.as_of_ms), provenance: combineProvenances(provenances) };
  },
});
