import { z } from 'zod';
import { table } from '../columns.ts';
import { provenanceColumn } from '../provenance.ts';
import { MONTHS, type Month, RISK_TIER_WORDS } from '../risk.ts';
import {
  count,
  instant,
  latitude,
  longitude,
  plainNumber,
  probability,
  stormDateColumn,
  text,
  wholeNumber,
  word,
} from '../units.ts';

/** One column for each month of the year, such as `severe_05`. */
function monthly<Name extends string, Field extends z.ZodType>(name: Name, field: (month: Month) => Field) {
  const columns = MONTHS.map((month) => [`${name}_${month}`, field(month)]);
  return Object.fromEntries(columns) as Record<`${Name}_${Month}`, Field>;
}

/**
 * Climatological risk of one geohash4 cell of the 48 states: the probability of at least one day with hail within 10 km of its
 * centre, in a year and in each month of the year.
 */
export const ClimatologyCell = z.object({
  geohash4: text('Four-character geohash of the cell.'),
  lat: latitude('Centre of the cell.'),
  lon: longitude('Centre of the cell.'),
  annual_any: probability('Probability of hail >= 19 mm in a year.'),
  annual_severe: probability('Probability of hail >= 25.4 mm in a year.'),
  annual_significant: probability('Probability of hail >= 50.8 mm in a year.'),
  annual_giant: probability('Probability of hail >= 101.6 mm in a year.'),
  annual_score: wholeNumber('Score 0 to 100: weighted percentile ranks of the four among all cells.'),
  risk_tier: word('Word for the score.', RISK_TIER_WORDS),
  peak_month: wholeNumber('Month with the largest probability of severe hail, 1 to 12.'),
  years_of_data: count('Years, counted back from the last date, of which at least 90 % of the scans are there.'),
  prior_share: plainNumber('Share of the built-in rate in the annual rate of hail >= 19 mm; the rest is data.', '1'),
  storm_dates: count('Storm dates that were read.'),
  first_date: stormDateColumn('First of them.'),
  last_date: stormDateColumn('Last of them.'),
  data_as_of: instant('When the newest of them was published.'),
  data_source: provenanceColumn('Provenance of all of them: simulated dates count only where none was observed.'),
  ...monthly('any', (month) => probability(`Probability of hail >= 19 mm in month ${month}.`)),
  ...monthly('severe', (month) => probability(`Probability of hail >= 25.4 mm in month ${month}.`)),
  ...monthly('score', (month) => wholeNumber(`Score of month ${month}: ranks among all cells and months.`)),
});
export type ClimatologyCell = z.infer<typeof ClimatologyCell>;

export const climatology = table({
  name: 'climatology',
  row: ClimatologyCell,
  schema_version: 1,
  order: 'geohash4',
});
