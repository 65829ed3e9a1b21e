import model from '../../data/reference/nowcast-model.json' with { type: 'json' };
import type { Provenance } from '../provenance.ts';

type LeadKey = 't15' | 't30' | 't45';

/**
 * Logistic of a lead. Its score is `base` + `raw` x logit of the raw probability + `path` where hail that keeps its course
 * passes + `now` where it is by now + `distance` x ln(1 + km to its path).
 */
export interface NowcastWeights {
  readonly base: number;
  readonly raw: number;
  readonly path: number;
  readonly now: number;
  readonly distance: number;
}

/** Weights for data of a provenance, and the material they were fitted on. */
export interface NowcastFit {
  readonly version: string;
  readonly material: { readonly source: string; readonly cases: number; readonly blocks: number };
  readonly leads: Readonly<Record<LeadKey, NowcastWeights>>;
}

/** The strike nowcast as fitted by `npm run bench -- nowcast --fit`. A fit on simulations never judges observed data. */
export const NOWCAST_MODEL: Readonly<Record<Provenance, NowcastFit>> & {
  /** Hail >= 19 mm persists: logit = base + size ln(M / 19) + lead L. */
  readonly survival: (typeof model)['survival'];
  /**
   * Skill over advection, measured on real frames of regions outside the training data: 5 and 95 % of draws of regions. Null
   * for leads beyond the frames.
   */
  readonly skill_over_advection: Readonly<Record<LeadKey, { readonly low: number; readonly high: number } | null>>;
} = model;
