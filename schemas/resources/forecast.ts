import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { RISK_CATEGORIES } from '../tables/forecast.ts';
import * as wire from './fields.ts';

const EXAMPLE_PEAK = {
  valid_time: '2026-05-01T22:00:00Z',
  hail_probability: 0.183,
  estimated_size_mm: 31.4,
  risk_category: 'elevated',
} as const;
const EXAMPLE_HOUR = { ...EXAMPLE_PEAK, risk_score: 47 };

export const ForecastHour = z
  .object({
    valid_time: wire.time('End of the hour.'),
    hail_probability: wire
      .probability(
        `Probability, 0 to 1, of hail >= 25 mm within 40 km of the centre of the cell in the hour: ten to twenty times that at the point itself; never above that of its day in GET /v1/hail/outlook. Null where the model gives nothing. ${ASSUMPTIONS.hourly_steps}`,
      )
      .nullable(),
    estimated_size_mm: wire.mm('Median of the largest stone, given hail. Null below a probability of .02.').nullable(),
    risk_category: z.enum(RISK_CATEGORIES).nullable().meta({
      description:
        'Risk by the probability: below .02, .05, .15, .30, .45, and above; one step higher from .10 on where the significant hail parameter reaches 1.5.',
    }),
    risk_score: z
      .number()
      .min(0)
      .max(100)
      .nullable()
      .meta({ description: 'Risk from 0 to 100, rising with probability and size.', unit: '1' }),
  })
  .meta({
    id: 'ForecastHour',
    description: 'Forecast of one hour.',
    example: EXAMPLE_HOUR,
  });
export type ForecastHour = z.infer<typeof ForecastHour>;

export const ForecastPeak = ForecastHour.omit({ risk_score: true }).meta({
  id: 'ForecastPeak',
  description: 'The hour with the largest probability, the earliest of several.',
  example: EXAMPLE_PEAK,
});
export type ForecastPeak = z.infer<typeof ForecastPeak>;

/** Answer of GET /v1/hail/forecast. */
export const HailForecast = wire.resource('HailForecast', {
  location: wire.askedPoint().extend({
    geohash4: z.string().meta({ description: 'Four-character geohash that the forecast is for.' }),
  }),
  model: z
    .object({
      name: z.string().nullable().meta({
        description: 'The model, such as `hrrr`; `simulated-hrrr` for runs of the simulator. Null without a run.',
      }),
      run_time: wire.time('Start of the newest run that was used, however old it is; null without a run.').nullable(),
      source: z.string().nullable().meta({ description: 'Who made the runs, in words. Null without a run.' }),
    })
    .meta({ description: 'What the forecast was made from.' }),
  peak: ForecastPeak.nullable().meta({ description: 'Null when there is no hour with a probability.' }),
  hourly: z.array(ForecastHour).meta({
    description:
      'Hours from the first full one that ends after now. Fewer than asked where the run ends sooner, none outside the area of the model.',
  }),
  count: wire.count('Hours in the list.'),
});
export type HailForecast = z.infer<typeof HailForecast>;

/** Name of a model on the wire; simulated runs have a name of their own. */
export function modelName(model: string, simulated: boolean): string {
  return simulated ? `simulated-${model}` : model;
}

/** Attribution of the runs of a model. */
export function modelSource(model: string, simulated: boolean): string {
  return simulated
    ? `simulated, in the format of ${model.toUpperCase()}`
    : `NOAA/NCEP ${model.toUpperCase()}, time-lagged runs`;
}

export const HAIL_FORECAST_EXAMPLE: wire.Example<typeof HailForecast> = {
  query: { lat: '35.22', lon: '-97.44', hours: '3' },
  reply: {
    location: { lat: 35.22, lon: -97.44, geohash4: '9y68' },
    model: {
      name: 'hrrr',
      run_time: '2026-05-01T18:00:00Z',
      source: 'NOAA/NCEP HRRR, time-lagged runs',
    },
    peak: EXAMPLE_PEAK,
    hourly: [
      {
        valid_time: '2026-05-01T21:00:00Z',
        hail_probability: 0.116,
        estimated_size_mm: 28.9,
        risk_category: 'moderate',
        risk_score: 32,
      },
      EXAMPLE_HOUR,
      {
        valid_time: '2026-05-01T23:00:00Z',
        hail_probability: 0.014,
        estimated_size_mm: null,
        risk_category: 'minimal',
        risk_score: 4,
      },
    ],
    count: 3,
  },
};
