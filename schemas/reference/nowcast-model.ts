import model from '../../data/reference/nowcast-model.json' with { type: 'json' };
import type { Provenance } from '../provenance.ts';

type LeadKey = 't15' | 't30' | 't45';

/** Logistic of a lead: its score is `base` + `raw` x logit of the raw probability. */
interface NowcastWeights {
  readonly base: number;
  readonly raw: number;
}

/** Weights for data of a provenance, and the material they were fitted on. */
export interface NowcastFit {
  readonly version: string;
  readonly material: { readonly source: string; readonly cases: number; readonly blocks: number };
  readonly leads: Readonly<Record<LeadKey, NowcastWeights>>;
}

/** How a lead did on an evening of real frames, by weights and baselines fitted on the other evenings. */
export interface EveningQuality {
  /** Region and year. */
  readonly evening: string;
  /** The baseline with the lowest Brier score on it. */
  readonly rival: string;
  /** Skill over that baseline: 5 and 95 % of draws of regions. */
  readonly low: number;
  readonly high: number;
  /** Of the logistic recalibration, where 0.02 or more was said. */
  readonly intercept: number;
}

/** The strike nowcast as fitted by `npm run bench -- nowcast --fit`. A fit on simulations never judges observed data. */
export const NOWCAST_MODEL: Readonly<Record<Provenance, NowcastFit>> & {
  /** What each evening of real frames says of a lead; none for a lead that no evening was judged on. */
  readonly quality: Readonly<Record<LeadKey, readonly EveningQuality[]>>;
} = model;
