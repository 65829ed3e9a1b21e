import { predictors } from '../../api/rules/nowcast.ts';
import { fitLogistic } from '../../pipeline/train/logistic.ts';
import type { NowcastFit, NowcastWeights } from '../../schemas/reference/nowcast-model.ts';
import type { LeadKey } from '../../schemas/resources/nowcast.ts';
import type { Case } from './nowcast-cases.ts';

/** Holds weights together that hang on few storms; against thousands of cases it is next to nothing. */
const RIDGE = 1;

/** Weights of every lead on some cases. A lead that none of them reaches takes those of the lead before. */
export function fitLeads(cases: readonly Case[]): NowcastFit['leads'] {
  const t15 = fitLead(cases, 't15');
  if (t15 === null) throw new RangeError('no case reaches 15 minutes, expected some');
  const t30 = fitLead(cases, 't30') ?? t15;
  return { t15, t30, t45: fitLead(cases, 't45') ?? t30 };
}

function fitLead(cases: readonly Case[], key: LeadKey): NowcastWeights | null {
  const known = cases.filter(({ struck }) => struck[key] !== null);
  if (known.length === 0) return null;
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
