import { z } from 'zod';
import { ASSUMPTIONS } from '../assumptions.ts';
import { table } from '../columns.ts';
import { provenanceColumn } from '../provenance.ts';
import { MONTHS, type Month, RISK_TIER_WORDS } from '../risk.ts';
import * as column from '../units.ts';

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
  geohash4: column.text('Four-character geohash of the cell.'),
  lat: column.latitude('Centre of the cell.'),
  lon: column.longitude('Centre of the cell.'),
  annual_any: column.probability('Probability of hail >= 19 mm in a year.'),
  annual_severe: column.probability('Probability of hail >= 25.4 mm in a year.'),
  annual_significant: column.probability('Probability of hail >= 50.8 mm in a year.'),
  annual_giant: column.probability('Probability of hail >= 101.6 mm in a year.'),
  annual_score: column.wholeNumber('Score 0 to 100: weighted percentile ranks of the four among all cells.'),
  risk_tier: column.word('Word for the score.', RISK_TIER_WORDS),
  peak_month: column.wholeNumber('Month with the largest probability of severe hail, 1 to 12.'),
  years_of_data: column.count('Years, counted back from the last date, of which at least 90 % of the scans are there.'),
  prior_share: column.plainNumber(
    `Share of the built-in rate in the annual rate of hail >= 19 mm; the rest is data. ${ASSUMPTIONS.climatology}`,
    '1',
  ),
  storm_dates: column.count('Storm dates that were read.'),
  first_date: column.stormDate('First of them.'),
  last_date: column.stormDate('Last of them.'),
  data_as_of: column.instant('When the newest of them was published.'),
  data_source: provenanceColumn('Provenance of all of them: simulated dates count only where none was observed.'),
  ...monthly('any', (month) => column.probability(`Probability of hail >= 19 mm in month ${month}.`)),
  ...monthly('severe', (month) => column.probability(`Probability of hail >= 25.4 mm in month ${month}.`)),
  ...monthly('score', (month) => column.wholeNumber(`Score of month ${month}: ranks among all cells and months.`)),
});
export type ClimatologyCell = z.infer<typeof ClimatologyCell>;

export const climatology = table({ name: 'climatology', row: ClimatologyCell, schema_version: 1, order: 'geohash4' });
