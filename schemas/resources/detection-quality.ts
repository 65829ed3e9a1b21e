import { z } from 'zod';
import type { DetectionWord, Resolution } from '../geo/beam.ts';
import * as wire from './fields.ts';

const WORDS = ['excellent', 'good', 'fair', 'limited'] as const satisfies readonly DetectionWord[];
const RESOLUTIONS = ['fine (<1 km)', 'standard (1-2 km)', 'coarse (>2 km)'] as const satisfies readonly Resolution[];

/** How well weather radar can see hail at a place. */
export const DetectionQualityBlock = z
  .object({
    hdqi: wire.probability('Detection-quality index: a prior from physics and geometry, not a measured hit rate.'),
    detection_word: z.enum(WORDS).meta({ description: 'The index in a word: from .80, from .60, from .35, below.' }),
    resolution: z.enum(RESOLUTIONS).meta({ description: 'By the width of the lowest beam at the place.' }),
    components: z.object({
      sample_coverage: wire.probability('Share of the layer where hail grows that some radar samples.'),
      beam_blockage: wire.probability(
        'Share of the lowest beam that terrain leaves free, for the most blocked of the radars in use; 1 without a terrain model.',
      ),
      dual_pol_availability: wire.probability('Value of dual polarisation at this distance.'),
    }),
    nearest_radar: z
      .object({ id: z.string().meta({ description: 'WSR-88D site.' }), distance_km: wire.km('Geodesic distance.') })
      .nullable()
      .meta({ description: 'Nearest site at any distance.' }),
    beam_height_m: z.int().nullable().meta({
      description:
        'Centre of the lowest usable beam above the ground; null without a radar within 230 km. The ground is the mean of the terrain model over 0.1 degrees. Where none is worked in, it is that of a coarse model: within 60 m of that of nine in ten airports east of 102 W, within 230 m west of it; in deep valleys the beam is higher than stated. Outside of the grid of data the height is above the sea.',
      unit: 'm',
    }),
    freezing_level_m: z
      .int()
      .meta({ description: 'Height of the 0 C level above sea level on a day with hail in the month.', unit: 'm' }),
  })
  .meta({ id: 'DetectionQuality', description: 'Radar geometry at a place and a month.' });
export type DetectionQualityBlock = z.infer<typeof DetectionQualityBlock>;

export const DETECTION_QUALITY_EXAMPLE: DetectionQualityBlock = {
  hdqi: 0.78,
  detection_word: 'good',
  resolution: 'fine (<1 km)',
  components: { sample_coverage: 0.743, beam_blockage: 1, dual_pol_availability: 1 },
  nearest_radar: { id: 'KTLX', distance_km: 22.53 },
  beam_height_m: 246,
  freezing_level_m: 4278,
};

/** Answer of GET /v1/coverage. */
export const Coverage = wire.resource('Coverage', {
  location: wire.askedPoint(),
  covered: z.boolean().meta({
    description:
      'False without a radar within 230 km, with an index below .10, or outside the published area (20 to 55 N, 130 to 60 W).',
  }),
  month: z.int().min(1).max(12).meta({ description: 'The present UTC month, 1 to 12.' }),
  detection_quality: DetectionQualityBlock,
  note: z.string().meta({ description: 'What the index is and what it leaves out.' }),
});

export const COVERAGE_EXAMPLE: wire.Example<typeof Coverage> = {
  query: { lat: '35.18', lon: '-97.44' },
  reply: {
    location: { lat: 35.18, lon: -97.44 },
    covered: true,
    month: 5,
    detection_quality: DETECTION_QUALITY_EXAMPLE,
    note: 'A prior from radar geometry and the height of the freezing level, not a measured hit rate. No terrain model is loaded: beam_blockage is 1.',
  },
};
