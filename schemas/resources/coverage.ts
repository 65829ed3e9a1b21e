import { z } from 'zod';
import { DetectionQualityBlock } from './detection-quality.ts';
import * as wire from './fields.ts';

/** Answer of GET /v1/coverage. */
export const Coverage = z.object({
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
