import { z } from 'zod';
import { HailRisk } from '../../schemas/resources/risk.ts';
import { latitudeQuery, longitudeQuery } from '../decode.ts';
import { readEndpoint } from '../endpoint.ts';
import { cellOf, hailRisk as riskAt, riskNote } from '../rules/hail-risk.ts';

const EXAMPLE_MONTHS = [
  [0.006, 0.002, 6],
  [0.021, 0.008, 22],
  [0.148, 0.06, 58],
  [0.412, 0.188, 82],
  [0.566, 0.284, 93],
  [0.498, 0.231, 89],
  [0.317, 0.131, 75],
  [0.214, 0.083, 66],
  [0.101, 0.039, 49],
  [0.044, 0.016, 33],
  [0.02, 0.007, 21],
  [0.007, 0.002, 7],
] as const;

export const getHailRisk = readEndpoint({
  method: 'GET',
  path: '/v1/hail/risk',
  group: 'Hail detection',
  summary: 'Climatological risk of hail at a point, by year and month',
  description:
    'Probability of at least one day with hail within 10 km of the centre of the geohash4 cell of the point, in a year and in each month, from the published storm dates: the observed ones alone where there are any, else the simulated ones. Days are counted at 19, 29, 53 and 90 mm MESH for hail of 19, 25.4, 50.8 and 101.6 mm, smoothed over space and season, and drawn to built-in rates where little was observed; years_of_data, basis and note say how far. Made again about once a week of new storm dates.',
  scope: 'hail:read',
  params: null,
  query: z.object({ lat: latitudeQuery(), lon: longitudeQuery() }),
  body: null,
  reply: HailRisk,
  example: {
    query: { lat: '35.18', lon: '-97.44' },
    reply: {
      location: { lat: 35.18, lon: -97.44, geohash4: '9y68' },
      covered: true,
      annual: {
        any: 0.952,
        severe: 0.689,
        significant: 0.142,
        giant: 0.009,
        score: 91,
        risk_tier: 'very_high',
        peak_month: 5,
        years_of_data: 5,
      },
      monthly: EXAMPLE_MONTHS.map(([any, severe, score], index) => ({
        month: index + 1,
        probability: { any, severe },
        score,
      })),
      basis: {
        source: 'observed',
        storm_dates: 1826,
        first_date: '2021-05-02',
        last_date: '2026-05-01',
        prior_share: 0.021,
      },
      note: riskNote({ data_source: 'observed', prior_share: 0.021, storm_dates: 1826, years_of_data: 5 }),
      data_as_of: '2026-05-02T01:05:12Z',
    },
  },
  price: () => ({ operation: 'hail.risk', credits: 5, count: 1 }),
  plan: ({ services: { climatology } }) => {
    const table = climatology.table();
    return { dates: [], provenance: table?.provenance ?? null, version: `climatology ${table?.version}`, table };
  },
  answer: async ({ query, plan: { table } }) => ({
    body: riskAt(query, table?.cell(cellOf(query)) ?? null, table?.data_as_of ?? null),
  }),
});
