import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { table } from '../columns.ts';
import { PROVENANCES, provenanceColumn } from '../provenance.ts';
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
  order: 'geohash4, valid_time',
});

/** Components of the blend, in the order that decides ties. */
export const OUTLOOK_SOURCES = ['spc', 'hrrr', 'climatology'] as const;
export type OutlookSource = (typeof OUTLOOK_SOURCES)[number];

/** Words for the confidence of a day, from the lowest. */
export const CONFIDENCE_STATES = ['low', 'medium', 'high'] as const;
export type ConfidenceState = (typeof CONFIDENCE_STATES)[number];

/** Days of the outlook; day 1 began at the last 12 UTC. */
export const OUTLOOK_DAYS = 7;

/** Blended outlook of one day, 12 to 12 UTC, for one four-character geohash. */
export const Outlook = z.object({
  forecast_date: column.stormDate('Date of the 12 UTC at which the day begins.'),
  day: column.count('Day of the outlook, 1 to 7.'),
  geohash4: column.text('Four-character geohash.'),
  lat: column.latitude('Centre of the geohash.'),
  lon: column.longitude('Centre of the geohash.'),
  hail_probability_pct: column.percent(
    `Probability of hail >= 25 mm within 40 km on the day: between what SPC and the model say; where neither speaks, the climatology. ${ASSUMPTIONS.pool_weights}`,
  ),
  spc_pct: column
    .percent(
      'What the Storm Prediction Center says; null where it has issued nothing, and outside its areas from day 4 on.',
    )
    .nullable(),
  hrrr_pct: column.percent('What the forecast model says; null where it does not reach.').nullable(),
  climo_pct: column
    .percent(
      'Climatology of the month; null where it is not known. No part of the blend where SPC or the model speaks.',
    )
    .nullable(),
  confidence_score: column.probability(
    `How well SPC and the model agree, times what the lead of the day is worth; 0.2 for climatology alone. ${ASSUMPTIONS.confidence}`,
  ),
  confidence_state: column.word(
    'The score in a word: low below .4, medium below .65, else high; low for climatology alone.',
    CONFIDENCE_STATES,
  ),
  primary_source: column.word('Component that moves the blend furthest from the climatology.', OUTLOOK_SOURCES),
  data_source: column.word('Who made the components.', [...PROVENANCES, 'mixed']),
});
export type Outlook = z.infer<typeof Outlook>;

export const outlook = table({ name: 'outlook', row: Outlook, schema_version: 2, order: 'geohash4, day' });
