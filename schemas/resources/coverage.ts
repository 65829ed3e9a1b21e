import { z } from 'zod';
import { DETECTION_QUALITY_EXAMPLE, DetectionQualityBlock } from './detection-quality.ts';
import type { Example } from './example.ts';
import * as wire from './fields.ts';

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
export type Coverage = z.infer<typeof Coverage>;

export const COVERAGE_EXAMPLE: Example<typeof Coverage> = {
  query: { lat: '35.18', lon: '-97.44' },
  reply: {
    location: { lat: 35.18, lon: -97.44 },
    covered: true,
    month: 5,
    detection_quality: DETECTION_QUALITY_EXAMPLE,
    note: 'A prior from radar geometry and the height of the freezing level, not a measured hit rate. No terrain model is loaded: beam_blockage is 1.',
  },
};
