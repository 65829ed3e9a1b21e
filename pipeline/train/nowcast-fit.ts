import type { Course } from '../../schemas/nowcast/course.ts';
import { predictors } from '../../schemas/nowcast/probability.ts';
import type { NOWCAST_MODEL, NowcastFit, NowcastWeights } from '../../schemas/reference/nowcast-model.ts';
import type { LeadKey } from '../../schemas/resources/nowcast.ts';
import { UsageError } from '../error.ts';
import { fitLogistic } from './logistic.ts';

/** A point at a time: the forecasts of the model and of its simplest rivals, and the outcome. */
export interface NowcastCase {
  /** Cases of a block depend on one another: an evening, or a region of real frames. */
  readonly block: string;
  /** Distance to the nearest storm at its last observed position. */
  readonly distance_km: number;
  readonly raw: Readonly<Record<LeadKey, number>>;
  readonly course: Course;
  /** Hail at the point in the newest scan: the persistence forecast. */
  readonly now: boolean;
  /** Null for a lead that the scans do not reach. */
  readonly struck: Readonly<Record<LeadKey, boolean | null>>;
}

/**
 * Ridge penalty: stabilises weights fitted on few storms, and keeps them finite where a predictor separates struck from spared
 * cases. It is negligible against thousands of cases.
 */
const RIDGE = 1;

/** Weights of every lead with their version and their material; `source` describes the cases. Throws as `fitLeads`. */
export function fitWeights(kind: string, source: string, cases: readonly NowcastCase[]): NowcastFit {
  const blocks = new Set(cases.map(({ block }) => block)).size;
  return {
    version: `nowcast-2.0+${kind}`,
    material: { source, cases: cases.length, blocks },
    leads: fitLeads(cases, source),
  };
}

/**
 * Weights of every lead. A lead that no case reaches takes the weights of the lead before. Throws UsageError with the name of the
 * `material` when none or all cases of a lead are struck.
 */
export function fitLeads(cases: readonly NowcastCase[], material: string): NowcastFit['leads'] {
  const t15 = fitLead(cases, 't15', material);
  if (t15 === null) throw new UsageError(`nowcast weights: no case of ${material} reaches 15 minutes, expected some`);
  const t30 = fitLead(cases, 't30', material) ?? t15;
  return { t15, t30, t45: fitLead(cases, 't45', material) ?? t30 };
}

function fitLead(cases: readonly NowcastCase[], key: LeadKey, material: string): NowcastWeights | null {
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

/** Value rounded to the four decimals of the coefficient file. */
export function to4(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

/** Text of `nowcast-model.json`, one line for each lead. */
export function nowcastModelText({
  survival,
  observed,
  simulated,
  skill_over_advection,
}: typeof NOWCAST_MODEL): string {
  const fitText = ({ version, material, leads }: NowcastFit) => `{
  "version": ${JSON.stringify(version)},
  "material": ${JSON.stringify(material)},
  "leads": {
${Object.entries(leads)
  .map(([key, weights]) => `   ${JSON.stringify(key)}: ${JSON.stringify(weights)}`)
  .join(',\n')}
  }
 }`;
  return `{
 "survival": ${JSON.stringify(survival)},
 "observed": ${fitText(observed)},
 "simulated": ${fitText(simulated)},
 "skill_over_advection": ${JSON.stringify(skill_over_advection)}
}
`;
}
