import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { table } from '../columns.ts';
import { provenanceColumn } from '../provenance.ts';
import * as column from '../units.ts';

/** Models whose files are read. */
export const FORECAST_MODELS = ['hrrr', 'rrfs', 'nam'] as const;
export type ForecastModel = (typeof FORECAST_MODELS)[number];

/** Words for the risk of an hour, from the lowest. */
export const RISK_CATEGORIES = ['minimal', 'low', 'moderate', 'elevated', 'high', 'severe'] as const;
export type RiskCategory = (typeof RISK_CATEGORIES)[number];

/** Forecast of one hour for one four-character geohash. */
export const Forecast = z.object({
  model: column.word('Model the hour was made from.', FORECAST_MODELS),
  run_time: column.instant('Start of the newest run that reaches the hour.'),
  runs: column.text('Starts of all runs that were blended, newest first, as compact times separated by spaces.'),
  valid_time: column.instant('End of the hour.'),
  geohash4: column.text('Four-character geohash.'),
  lat: column.latitude('Centre of the geohash.'),
  lon: column.longitude('Centre of the geohash.'),
  hail_probability: column
    .probability(
      `Probability of hail >= 25 mm within 40 km in the hour, shifted with the other hours of its outlook day until they agree with the day; null where the model has neither echoes nor updraft helicity. ${ASSUMPTIONS.hourly_steps}`,
    )
    .nullable(),
  estimated_size_mm: column
    .millimetres('Median of the largest stone, given hail; null below a probability of .02.')
    .nullable(),
  ship: column.plainNumber('Largest significant hail parameter within 40 km in the newest run.', '1').nullable(),
  risk_category: column.word('Risk in a word.', RISK_CATEGORIES).nullable(),
  risk_score: column.plainNumber('Risk from 0 to 100, rising with probability and size.', '1').nullable(),
  model_probability: column
    .probability(
      'The probability of the hour before the shift: that of the model, drawn to the climatology of the hour.',
    )
    .nullable(),
  model_size_mm: column.millimetres('Median of the largest stone, given hail, at any probability.').nullable(),
  data_source: provenanceColumn('Who made the runs.'),
});
export type Forecast = z.infer<typeof Forecast>;

export const forecast = table({
  name: 'forecast',
  row: Forecast,
  schema_version: 2,
  // Hours of version 1 are the model's own: they were not shifted.
  older: { readable_from: 1, without: ['model_probability', 'model_size_mm'] },
  order: 'geohash4, valid_time',
});
