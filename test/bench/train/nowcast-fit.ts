import { UsageError } from '../../../pipeline/error.ts';
import { rawLogit } from '../../../schemas/nowcast/probability.ts';
import type { NOWCAST_MODEL, NowcastFit, NowcastWeights } from '../../../schemas/reference/nowcast-model.ts';
import type { LeadKey } from '../../../schemas/resources/nowcast.ts';
import { fitLogistic, sigmoid } from './logistic.ts';

/** A point at a time: the forecasts of the model and of its simplest rivals, and the outcome. */
export interface NowcastCase {
  /** Cases of a block depend on one another: a simulated evening, or a region of real frames. */
  readonly block: string;
  /** What was fitted on one evening is judged on others. */
  readonly evening: string;
  /** Distance to the nearest storm at its last observed position. */
  readonly distance_km: number;
  /** Raw probability of each lead. */
  readonly raw: Readonly<Record<LeadKey, number>>;
  /** Hail at the point in the newest scan: the persistence forecast. */
  readonly now: boolean;
  /** Null for a lead that the scans do not reach. */
  readonly struck: Readonly<Record<LeadKey, boolean | null>>;
}

/**
 * Share of the targets of a fit that is the raw probability, the rest is what came. Weights learnt on one evening fail on others: from
 * 0 to 1 every step nearer to the raw probability lowers the Brier score of the evening not learnt from. At 0.9 it is within 2 % of it.
 */
const RAW_SHARE = 0.9;
/** Ridge penalty: keeps the fit solvable where all raw probabilities are alike; negligible against thousands of cases. */
const RIDGE = 1e-3;

/** Weights of every lead with their version and their material; `source` describes the cases. Throws as `fitLeads`. */
export function fitWeights(kind: string, source: string, cases: readonly NowcastCase[]): NowcastFit {
  const blocks = new Set(cases.map(({ block }) => block)).size;
  return {
    version: `nowcast-3.0+${kind}`,
    material: { source, cases: cases.length, blocks },
    leads: fitLeads(cases, source),
  };
}

/**
 * Weights of every lead; every evening counts alike, whatever its number of cases. A lead that no case reaches takes the weights of
 * the lead before. Throws UsageError with the name of the `material` when none or all cases of a lead are struck.
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
  const ofEvening = Map.groupBy(known, ({ evening }) => evening);
  const { intercept, weights } = fitLogistic(
    known.map(({ raw }) => [rawLogit(raw[key])]),
    known.map(({ raw, struck }) => RAW_SHARE * sigmoid(rawLogit(raw[key])) + (1 - RAW_SHARE) * (struck[key] ? 1 : 0)),
    known.map(({ evening }) => known.length / ofEvening.size / (ofEvening.get(evening)?.length as number)),
    RIDGE,
  );
  return { base: to4(intercept), raw: to4(weights[0] as number) };
}

/** Value rounded to the four decimals of the coefficient file. */
export function to4(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

/** Text of `nowcast-model.json`, one line for each lead, and one for each evening that it was judged on. */
export function nowcastModelText({ observed, simulated, quality }: typeof NOWCAST_MODEL): string {
  const fitText = ({ version, material, leads }: NowcastFit) => `{
  "version": ${JSON.stringify(version)},
  "material": ${JSON.stringify(material)},
  "leads": {
${Object.entries(leads)
  .map(([key, weights]) => `   ${JSON.stringify(key)}: ${JSON.stringify(weights)}`)
  .join(',\n')}
  }
 }`;
  const evenings = Object.entries(quality).map(([key, list]) => {
    const lines = list.map((evening) => `\n   ${JSON.stringify(evening)}`);
    return `  ${JSON.stringify(key)}: [${lines.join(',')}${lines.length > 0 ? '\n  ' : ''}]`;
  });
  return `{
 "observed": ${fitText(observed)},
 "simulated": ${fitText(simulated)},
 "quality": {
${evenings.join(',\n')}
 }
}
`;
}
