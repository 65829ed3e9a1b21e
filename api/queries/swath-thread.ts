import { answerQuestions } from '../published/thread.ts';
import { drawTiers, type MaximumPixels } from '../rules/swath-tiers.ts';

export interface Drawing {
  readonly pixels: MaximumPixels;
  readonly min_size_mm: number;
  readonly simplify_m: number;
}

answerQuestions(({ pixels, min_size_mm, simplify_m }: Drawing) => drawTiers(pixels, min_size_mm, simplify_m));
