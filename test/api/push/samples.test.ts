import test from 'ava';
import { SAMPLES } from '../../../api/push/samples.ts';
import { sizeCategory } from '../../../schemas/size.ts';
import { threatLevel } from '../../../schemas/webhook-events.ts';

for (const type of ['alert.created', 'alert.updated'] as const)
  test(`the sample of ${type} has the category and the threat level of its size`, (t) => {
    const { estimated_size_mm, size_category, threat_level } = SAMPLES[type];
    t.deepEqual(
      { size_category, threat_level },
      { size_category: sizeCategory(estimated_size_mm), threat_level: threatLevel(estimated_size_mm) },
    );
  });
