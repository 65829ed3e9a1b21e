import { z } from 'zod';
import { HAIL_RISK_EXAMPLE, HailRisk } from '../../schemas/resources/risk.ts';
import { pointQuery } from '../http/decode.ts';
import { cellOf, hailRisk as riskAt } from '../rules/hail-risk.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

export const getHailRisk = readEndpoint({
  route: 'GET /v1/hail/risk',
  group: 'Hail detection',
  summary: 'Climatological risk of hail at a point, by year and month',
  description:
    'The event is at least one day with hail within 10 km of the centre of the geohash4 cell of the point in a year, and in each month: its probability by the size of the hail, from the published storm dates: the observed ones alone where there are any, else the simulated ones. Days are counted at 19, 29, 53 and 90 mm MESH for hail of 19, 25.4, 50.8 and 101.6 mm, smoothed over space and season, and drawn to built-in rates where little was observed; years_of_data, basis and note say how far. GET /v1/hail/outlook tells of another event: hail >= 25 mm within 40 km on one day, for which the climatology here is widened. Made again about once a week of new storm dates.',
  scope: 'hail:read',
  query: z.object(pointQuery),
  reply: HailRisk,
  example: HAIL_RISK_EXAMPLE,
  price: flatPrice('hail.risk', 5),
  plan: ({ services: { climatology } }) => {
    const table = climatology.table();
    return { dates: [], provenance: table?.provenance ?? null, version: `climatology ${table?.version}`, table };
  },
  answer: async ({ query, plan: { table } }) => ({
    body: riskAt(query, table?.cell(cellOf(query)) ?? null, table?.data_as_of ?? null),
  }),
});
