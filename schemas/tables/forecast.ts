import { z } from 'zod';
import { table } from '../columns.ts';
import { provenanceColumn } from '../provenance.ts';
import { instant, latitude, longitude, millimetres, plainNumber, probability, text, word } from '../units.ts';

/** Models whose files are read. */
export const FORECAST_MODELS = ['hrrr', 'rrfs', 'nam'] as const;
export type ForecastModel = (typeof FORECAST_MODELS)[number];

/** Words for the risk of an hour, from the lowest. */
export const RISK_CATEGORIES = ['minimal', 'low', 'moderate', 'elevated', 'high', 'severe'] as const;
export type RiskCategory = (typeof RISK_CATEGORIES)[number];

/** Forecast of one hour for one four-character geohash. */
export const Forecast = z.object({
  model: word('Model the hour was made from.', FORECAST_MODELS),
  run_time: instant('Start of the newest run that reaches the hour.'),
  runs: text('Starts of all runs that were blended, newest first, as compact times separated by spaces.'),
  valid_time: instant('End of the hour.'),
  geohash4: text('Four-character geohash.'),
  lat: latitude('Centre of the geohash.'),
  lon: longitude('Centre of the geohash.'),
  hail_probability: probability(
    'Probability of hail >= 25 mm within 40 km in the hour; null where the model has neither echoes nor updraft helicity.',
  ).nullable(),
  estimated_size_mm: millimetres(
    'Median of the largest stone, given hail; null below a probability of .02.',
  ).nullable(),
  ship: plainNumber('Largest significant hail parameter within 40 km in the newest run.', '1').nullable(),
  risk_category: word('Risk in a word.', RISK_CATEGORIES).nullable(),
  risk_score: plainNumber('Risk from 0 to 100, rising with probability and size.', '1').nullable(),
  data_source: provenanceColumn('Who made the runs.'),
});
export type Forecast = z.infer<typeof Forecast>;

export const forecast = table({
  name: 'forecast',
  row: Forecast,
  schema_version: 1,
  order: 'geohash4, valid_time',
});
