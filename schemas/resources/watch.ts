import { z } from 'zod';
import * as wire from './fields.ts';
import { PolygonGeometry } from './geometry.ts';

const common = {
  id: z.string().meta({ description: 'Kind, year and number: numbers start again every year.' }),
  issued_at: wire.time('When the newest of its products was issued.'),
  expires_at: wire.time('End of its validity; of a cancelled watch its cancellation.'),
  headline: z.string().meta({ description: 'What it is about; of a discussion the CONCERNING line.' }),
  geometry: PolygonGeometry.nullable().meta({ description: 'Outline; null where no product gives a usable one.' }),
  bbox: z
    .object({
      min_lat: wire.lat('Southern edge.'),
      max_lat: wire.lat('Northern edge.'),
      min_lon: wire.lon('Western edge.'),
      max_lon: wire.lon('Eastern edge.'),
    })
    .meta({
      description:
        'Box of the outline; without one that of the states it names, or of the 48 states where it names none.',
    }),
};

/** A watch of the Storm Prediction Center. */
export const Watch = wire.resource('Watch', {
  ...common,
  type: z.enum(['tornado_watch', 'severe_thunderstorm_watch']).meta({ description: 'What is watched for.' }),
  watch_number: wire.count('Number of the watch within its year.'),
});
export type Watch = z.infer<typeof Watch>;

/** A mesoscale discussion of the Storm Prediction Center. */
export const MesoscaleDiscussion = wire.resource('MesoscaleDiscussion', {
  ...common,
  type: z.literal('mesoscale_discussion').meta({ description: 'It is no watch, and may say that one follows.' }),
  md_number: wire.count('Number of the discussion within its year.'),
  watch_number: z.null().meta({ description: 'A discussion has none.' }),
  watch_probability_pct: wire.percent('Probability that a watch follows; null where the text gives none.').nullable(),
  areas_affected: z.string().nullable().meta({ description: 'Areas in words; null where the text names none.' }),
});
export type MesoscaleDiscussion = z.infer<typeof MesoscaleDiscussion>;
