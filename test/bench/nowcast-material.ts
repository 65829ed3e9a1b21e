import { fitLeads, type NowcastCase } from '../../pipeline/train/nowcast-fit.ts';
import { NEAR_KM } from '../../pipeline/train/nowcast-points.ts';
import { STRIKE_KM, weighed } from '../../schemas/nowcast/probability.ts';
import type { NowcastFit } from '../../schemas/reference/nowcast-model.ts';
import type { LeadKey } from '../../schemas/resources/nowcast.ts';
import { STAND_INS, type StandIn } from '../support/data/hail-mask.ts';
import { type RainFrame, realCases } from './nowcast-frames.ts';
import { crossValidated, mean, type Scores, scoresOf, twoProbabilities } from './nowcast-scores.ts';

type Forecast = Readonly<Record<LeadKey, number>>;

/** What the nowcast is scored on. */
export interface Material {
  readonly name: string;
  readonly cases: readonly NowcastCase[];
  /** By weights that did not learn from the block of a case. */
  readonly said: readonly Forecast[];
  /** By the weights that are published. */
  readonly published: readonly Forecast[];
}

/** Real frames read by a stand-in, forecast by weights of other regions. */
export interface RealMaterial extends Omit<Material, 'published'> {
  readonly standIn: StandIn;
}

/** Real frames by every stand-in. */
export function realMaterials(frames: readonly RainFrame[]): RealMaterial[] {
  return STAND_INS.map((standIn) => {
    const name = `real ${standIn}`;
    const cases = realCases(frames, standIn);
    const block = cases.map((one) => one.block);
    const said = crossValidated(block, (learn) => {
      const learnt = learn.map((n) => cases[n] as NowcastCase);
      const leads = fitLeads(learnt, `regions of ${name} but those of a fold`);
      return (n) => weighed(cases[n] as NowcastCase, leads);
    });
    return { name, standIn, cases, said };
  });
}

/** Forecasts of cases by the weights of a fit. */
export function forecastsBy(cases: readonly NowcastCase[], { leads }: NowcastFit): Forecast[] {
  return cases.map((one) => weighed(one, leads));
}

/** Scores of a lead on some material near storms, and what is said and comes farther off. */
export interface LeadScores {
  /** Null where nothing can be scored; `why` says so. */
  readonly scores: Scores | null;
  readonly why: string | null;
  readonly far: { readonly cases: number; readonly said: number; readonly came: number };
}

/** Brier score and reliability of a lead, beside its rivals. */
export function leadScores(key: LeadKey, { cases, said, published }: Material): LeadScores {
  const known = [...cases.keys()].filter((n) => cases[n]?.struck[key] !== null);
  const caseOf = (n: number) => cases[n] as NowcastCase;
  const saidOf = (forecasts: readonly Forecast[], n: number) => (forecasts[n] as Forecast)[key];
  const cameOf = (n: number) => (caseOf(n).struck[key] === true ? 1 : 0);
  const rest = known.filter((n) => caseOf(n).distance_km > NEAR_KM);
  const far = { cases: rest.length, said: mean(rest.map((n) => saidOf(said, n))), came: mean(rest.map(cameOf)) };
  const near = known.filter((n) => caseOf(n).distance_km <= NEAR_KM);
  const came = near.map(cameOf);
  const base = mean(came);
  if (near.length === 0) return { scores: null, why: 'the scans do not reach so far', far };
  if (base === 0 || base === 1)
    return { scores: null, why: `${near.length} cases, ${base * near.length} struck, expected some of both`, far };
  const block = near.map((n) => caseOf(n).block);
  const holds = near.map((n) => caseOf(n).course.path_km[key] <= STRIKE_KM);
  const scores = scoresOf({
    block,
    came,
    said: near.map((n) => saidOf(said, n)),
    rivals: {
      'as published': near.map((n) => saidOf(published, n)),
      'not weighed': near.map((n) => caseOf(n).raw[key]),
      advection: crossValidated(block, twoProbabilities(holds, came)),
      persistence: near.map((n) => (caseOf(n).now ? 1 : 0)),
      'base rate': near.map(() => base),
    },
  });
  return { scores, why: null, far };
}
