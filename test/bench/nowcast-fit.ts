import { UsageError } from '../../pipeline/error.ts';
import { fitLogistic } from '../../pipeline/train/logistic.ts';
import { predictors } from '../../schemas/nowcast/probability.ts';
import type { NowcastFit, NowcastWeights } from '../../schemas/reference/nowcast-model.ts';
import type { LeadKey } from '../../schemas/resources/nowcast.ts';
import type { Case } from './nowcast-cases.ts';

/**
 * Holds weights together that hang on few storms, and keeps them finite where a predictor separates struck from spared cases;
 * against thousands of cases it is next to nothing.
 */
const RIDGE = 1;

/**
 * Weights of every lead on some cases. A lead that none of them reaches takes those of the lead before. Throws where none or
 * all of the cases of a lead are struck; `material` names them then.
 */
export function fitLeads(cases: readonly Case[], material: string): NowcastFit['leads'] {
  const t15 = fitLead(cases, 't15', material);
  if (t15 === null) throw new UsageError(`nowcast weights: no case of ${material} reaches 15 minutes, expected some`);
  const t30 = fitLead(cases, 't30', material) ?? t15;
  return { t15, t30, t45: fitLead(cases, 't45', material) ?? t30 };
}

function fitLead(cases: readonly Case[], key: LeadKey, material: string): NowcastWeights | null {
  const known = cases.filter(({ struck }) => struck[key] !== null);
  if (known.length === 0) return null;
  const count = known.filter(({ struck }) => struck[key]).length;
  if (count === 0 || count === known.length)
    throw new UsageError(
      `nowcast weights: ${material} have ${known.length} cases of ${key} with ${count} struck, expected some of both; give more of them`,
    );
  const { intercept, weights } = fitLogistic(
    known.map((one) => predictors(one, key)),
    known.map(({ struck }) => (struck[key] ? 1 : 0)),
    known.map(() => 1),
    RIDGE,
  );
  const [raw, path, now, distance] = weights.map(to4) as [number, number, number, number];
  return { base: to4(intercept), raw, path, now, distance };
}

/** Rounded to what a coefficient file holds. */
export function to4(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
