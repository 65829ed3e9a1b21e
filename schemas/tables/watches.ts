import { z } from 'zod';
import { table } from '../columns.ts';
import { provenanceColumn } from '../provenance.ts';
import {
  count,
  flag,
  geometry,
  instant,
  kilometresPerHour,
  latitude,
  longitude,
  millimetres,
  percent,
  text,
  word,
} from '../units.ts';

export const WATCH_TYPES = ['tornado_watch', 'severe_thunderstorm_watch', 'mesoscale_discussion'] as const;

/** A watch or mesoscale discussion of the Storm Prediction Center. */
export const Watch = z.object({
  watch_id: text('Kind, year and number: numbers start again every year.'),
  type: word('What it is.', WATCH_TYPES),
  number: count('Number of the watch or discussion within its year.'),
  issued_at: instant('When the newest of its products was issued.'),
  begins_at: instant('Start of its validity; null for a cancellation.').nullable(),
  expires_at: instant(
    'End of its validity; for a cancelled watch the moment of the cancellation, for a replaced one the issue of the one that replaces it.',
  ),
  headline: text('Line that says what it is about; of a discussion the CONCERNING line.'),
  areas: text('Areas in words.').nullable(),
  watch_probability_pct: percent('Probability that a watch follows; discussions only.').nullable(),
  hail_size_mm: millimetres('Largest hail expected, from inches.').nullable(),
  gust_kmh: kilometresPerHour('Strongest gust expected, from knots or miles per hour.').nullable(),
  severe_hail_probability_pct: percent('Probability of 10 or more severe hail events; watches only.').nullable(),
  significant_hail_probability_pct: percent('Probability of an event of 2 inches or more; watches only.').nullable(),
  is_particularly_dangerous: flag(
    'The product says: particularly dangerous situation; null where it is silent.',
  ).nullable(),
  is_cancelled: flag('The watch was cancelled before its end.'),
  geometry: geometry('Polygon, RFC 7946 winding; null where no product gave one or it was refused.').nullable(),
  west: longitude('Western edge of the polygon.').nullable(),
  south: latitude('Southern edge of the polygon.').nullable(),
  east: longitude('Eastern edge of the polygon.').nullable(),
  north: latitude('Northern edge of the polygon.').nullable(),
  data_source: provenanceColumn('Who wrote the products.'),
});
export type Watch = z.infer<typeof Watch>;

export const watches = table({ name: 'watches', row: Watch, schema_version: 1, order: 'issued_at, watch_id' });
