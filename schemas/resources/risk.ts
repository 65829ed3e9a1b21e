import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { PROVENANCES } from '../provenance.ts';
import { RISK_TIER_WORDS, TIER_PRIOR_SHARE_MAX } from '../risk.ts';
import * as wire from './fields.ts';

const score = (what: string) => z.int().min(0).max(100).meta({ description: what });
const month = (what: string) => z.int().min(1).max(12).meta({ description: what });

const AnnualRisk = wire.resource('AnnualRisk', {
  any: wire.probability('Hail >= 19 mm on at least one day of a year within 10 km of the centre of the cell.'),
  severe: wire.probability('The same for hail >= 25.4 mm; never above any.'),
  significant: wire.probability('The same for hail >= 50.8 mm; never above severe.'),
  giant: wire.probability('The same for hail >= 101.6 mm; never above significant.'),
  score: score('Weighted percentile ranks of the four among all cells of the 48 states.'),
  risk_tier: z
    .enum(RISK_TIER_WORDS)
    .nullable()
    .meta({
      description: `Word for the score: from 0, 10, 30, 55 and 80 on. Null while prior_share is above ${TIER_PRIOR_SHARE_MAX}.`,
    }),
  peak_month: month('Month with the largest probability of severe hail.'),
  years_of_data: wire.count('Years of which at least 90 % of the scans are there; 0 with less than one.'),
});

const MonthlyRisk = wire.resource('MonthlyRisk', {
  month: month('1 to 12.'),
  probability: z.object({
    any: wire.probability('Hail >= 19 mm on at least one day of the month; the months together make the year.'),
    severe: wire.probability('The same for hail >= 25.4 mm.'),
  }),
  score: score('Ranks among all cells and all months, so that it shows the season.'),
});

const RiskBasis = wire.resource('RiskBasis', {
  source: z.enum(PROVENANCES).meta({ description: 'Simulated dates count only where none was observed.' }),
  storm_dates: wire.count('Storm dates that were counted.'),
  first_date: z.string().meta({ description: 'First of them.', format: 'date' }),
  last_date: z.string().meta({ description: 'Last of them.', format: 'date' }),
  prior_share: wire.probability(
    `Share of built-in rates in the rate of hail >= 19 mm; the rest was counted. ${ASSUMPTIONS.climatology}`,
  ),
});

/** Climatological risk of hail at a point. */
export const HailRisk = wire.resource('HailRisk', {
  location: wire.askedPoint().extend({
    geohash4: z.string().meta({ description: 'Cell of the point: four characters, about 20 by 30 km.' }),
  }),
  covered: z.boolean().meta({
    description:
      'False where no climatology is published for the cell, which says nothing about hail; the note tells why.',
  }),
  annual: AnnualRisk.nullable().meta({ description: `Null when not covered. ${ASSUMPTIONS.climatology}` }),
  monthly: z.array(MonthlyRisk).meta({ description: 'Twelve months, January first; empty when not covered.' }),
  basis: RiskBasis.nullable().meta({ description: 'What the probabilities rest on; null when not covered.' }),
  note: z.string().meta({ description: 'What the probabilities are and how far they may be trusted.' }),
  data_as_of: wire
    .time('When the newest data that were counted were published; null without a climatology.')
    .nullable(),
});
export type HailRisk = z.infer<typeof HailRisk>;

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

export const HAIL_RISK_EXAMPLE: wire.Example<typeof HailRisk> = {
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
    note: 'Probability of at least one day with such hail within 10 km of the centre of the cell, from radar estimates of size.',
    data_as_of: '2026-05-02T01:05:12Z',
  },
};
