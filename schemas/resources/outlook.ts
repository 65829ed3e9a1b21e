import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { CONFIDENCE_STATES, OUTLOOK_DAYS, OUTLOOK_SOURCES } from '../tables/forecast.ts';
import * as wire from './fields.ts';

const EXAMPLE_DAYS = [
  [13.3, 0.9, 'high', 'spc', 15, 11.2, 3.1],
  [11.8, 0.8, 'high', 'spc', 15, 6.2, 3.1],
  [8.3, 0.525, 'medium', 'spc', 8.3, null, 3.1],
  [8.3, 0.375, 'low', 'spc', 8.3, null, 3.1],
  [3.1, 0.2, 'low', 'climatology', null, null, 3.1],
  [3.1, 0.2, 'low', 'climatology', null, null, 3.1],
  [3.1, 0.2, 'low', 'climatology', null, null, 3.1],
] as const;

const EXAMPLE_HOURS = [
  ...[null, 0.1291, 0.1452, 0.1746, 0.2247, 0.3068, 0.4347, 0.6208, 0.8646, 1.1401, 1.3899, 1.5413],
  ...[1.5419, 1.3916, 1.1423, 0.8668, 0.6225, 0.436, 0.3076, 0.2253, 0.1749, 0.1454, 0.1292, 0.122],
] as const;

const EXAMPLE_OUTLOOK = EXAMPLE_DAYS.map(
  ([hail_probability, score, state, primary_source, spc_pct, hrrr_pct, climo_pct], k) => ({
    day: k + 1,
    forecast_date: `2026-05-0${k + 1}`,
    hail_probability,
    confidence: { score, state },
    primary_source,
    components: { spc_pct, hrrr_pct, climo_pct },
    remaining_probability: k === 0 ? 13.1941 : null,
    hourly: k === 0 ? [...EXAMPLE_HOURS] : null,
  }),
);

export const OutlookDay = z
  .object({
    day: z
      .int()
      .min(1)
      .max(OUTLOOK_DAYS)
      .meta({ description: 'Day of the outlook; day 1 had begun when it was made. Days that are over are left out.' }),
    forecast_date: z
      .string()
      .meta({ description: 'Date of the 12 UTC at which the day begins, YYYY-MM-DD.', format: 'date' }),
    hail_probability: wire.percent(
      `Probability in percent of hail >= 25 mm within 40 km on the day, one decimal: between what SPC and the model say; where neither speaks, the climatology. ${ASSUMPTIONS.pool_weights}`,
    ),
    confidence: z.object({
      score: wire.probability(
        `How well SPC and the model agree (1 within one contour of SPC, falling to .5 at three; .75 for one alone), times .9, .8, .7, .5, .4, .3, .25 by day; .2 for climatology alone. ${ASSUMPTIONS.confidence}`,
      ),
      state: z
        .enum(CONFIDENCE_STATES)
        .meta({ description: 'The score in a word: below .4, below .65, above; low for climatology alone.' }),
    }),
    primary_source: z
      .enum(OUTLOOK_SOURCES)
      .meta({ description: 'Component that moves the blend furthest from the climatology.' }),
    components: z
      .object({
        spc_pct: wire
          .percent(
            'Storm Prediction Center, at the centre of the cell; GET /v1/outlooks/spc tells it at the point. Of a combined value of all hazards the usual share of hail. Outside its areas 1 on day 1, 1.5 on days 2 and 3, and null later.',
          )
          .nullable(),
        hrrr_pct: wire
          .percent(
            'Forecast model, days 1 and 2; null where it covers less than half of the hours of the day, on the running day of those that are not over.',
          )
          .nullable(),
        climo_pct: wire.percent('Climatology of the month: the answer where neither of the others speaks.').nullable(),
      })
      .meta({
        description: 'SPC and the model make the blend; one that is null is left out, and the other stands alone.',
      }),
    remaining_probability: wire
      .percent(
        'What remains of day 1 at the time of the answer: its usual rest by the course of hail over a day, or what the forecast says of the hours ahead where that is more; never more than the day, nor than the hours ahead together, an hour without a forecast with its usual part. Null on later days.',
      )
      .nullable(),
    hourly: z.array(wire.percent('Share of one hour in what remains.').nullable()).length(24).nullable().meta({
      description:
        'The 24 hours of day 1 from 12 UTC on; an hour that is over is null. What remains is dealt out over those ahead as if they were independent: percentages whose complements multiply to the complement of remaining_probability, none above the same hour of GET /v1/hail/forecast, whose timing they follow. The hours there are each the whole probability of that hour: one storm counts in several of them, so that they add up to more than the day. Null on later days.',
    }),
  })
  .meta({
    id: 'OutlookDay',
    description: 'Blended outlook of one day, 12 to 12 UTC.',
    example: EXAMPLE_OUTLOOK[1],
  });
export type OutlookDay = z.infer<typeof OutlookDay>;

/** Answer of GET /v1/hail/outlook. */
export const HailOutlook = wire.resource('HailOutlook', {
  location: wire.askedPoint(),
  covered: z.boolean().meta({ description: 'True when a cell with an outlook lies within the radius.' }),
  cell: z
    .object({
      geohash4: z.string().meta({ description: 'Four-character geohash.' }),
      distance_km: wire.km('Geodesic distance from the point to its centre.'),
    })
    .nullable()
    .meta({ description: 'Nearest cell with an outlook; null when not covered.' }),
  outlook: z.array(OutlookDay).meta({ description: 'Days in order; empty when not covered.' }),
  data_as_of: wire.time('Newest time of what was read; null while nothing is published.').nullable(),
});
export type HailOutlook = z.infer<typeof HailOutlook>;

export const HAIL_OUTLOOK_EXAMPLE: wire.Example<typeof HailOutlook> = {
  query: { lat: '35.22', lon: '-97.44' },
  reply: {
    location: { lat: 35.22, lon: -97.44 },
    covered: true,
    cell: { geohash4: '9y68', distance_km: 11.12 },
    outlook: EXAMPLE_OUTLOOK,
    data_as_of: '2026-05-01T13:02:11Z',
  },
};
