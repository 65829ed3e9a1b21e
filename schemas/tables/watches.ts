import { z } from 'zod';
import { table } from '../columns.ts';
import { provenanceColumn } from '../provenance.ts';
import * as column from '../units.ts';

export const WATCH_TYPES = ['tornado_watch', 'severe_thunderstorm_watch', 'mesoscale_discussion'] as const;

/** A watch or mesoscale discussion of the Storm Prediction Center. */
export const Watch = z.object({
  watch_id: column.text('Kind, year and number: numbers start again every year.'),
  type: column.word('What it is.', WATCH_TYPES),
  number: column.count('Number of the watch or discussion within its year.'),
  issued_at: column.instant('When the newest of its products was issued.'),
  begins_at: column.instant('Start of its validity; null for a cancellation.').nullable(),
  expires_at: column.instant(
    'End of its validity; for a cancelled watch the moment of the cancellation, for a replaced one the issue of the one that replaces it.',
  ),
  headline: column.text('Line that says what it is about; of a discussion the CONCERNING line.'),
  areas: column.text('Areas in words.').nullable(),
  watch_probability_pct: column.percent('Probability that a watch follows; discussions only.').nullable(),
  hail_size_mm: column.millimetres('Largest hail expected, from inches.').nullable(),
  gust_kmh: column.kilometresPerHour('Strongest gust expected, from knots or miles per hour.').nullable(),
  severe_hail_probability_pct: column.percent('Probability of 10 or more severe hail events; watches only.').nullable(),
  significant_hail_probability_pct: column
    .percent('Probability of an event of 2 inches or more; watches only.')
    .nullable(),
  is_particularly_dangerous: column
    .flag('The product says: particularly dangerous situation; null where it is silent.')
    .nullable(),
  is_cancelled: column.flag('The watch was cancelled before its end.'),
  geometry: column.geometry('Polygon, RFC 7946 winding; null where no product gave one or it was refused.').nullable(),
  west: column.longitude('Western edge of the polygon.').nullable(),
  south: column.latitude('Southern edge of the polygon.').nullable(),
  east: column.longitude('Eastern edge of the polygon.').nullable(),
  north: column.latitude('Northern edge of the polygon.').nullable(),
  data_source: provenanceColumn('Who wrote the products.'),
});
export type Watch = z.infer<typeof Watch>;

export const watches = table({ name: 'watches', row: Watch, schema_version: 1, order: 'issued_at, watch_id' });
