import { NOWCAST_MODEL, type NowcastFit } from '../../schemas/reference/nowcast-model.ts';
import type { LeadKey } from '../../schemas/resources/nowcast.ts';
import { MS_PER_MIN, utcDate } from '../../schemas/time.ts';
import { sharedData } from '../support/data/shared-folder.ts';
import type { Case } from './nowcast-cases.ts';
import { fitLeads, to4 } from './nowcast-fit.ts';
import type { RainFrame } from './nowcast-frames.ts';
import { leadScores, type RealMaterial } from './nowcast-material.ts';
import { fitSurvival, readSizes, survivalCases } from './nowcast-survival.ts';

type NowcastModel = typeof NOWCAST_MODEL;

/**
 * The model as its material has it: survival from ProbSevere objects, weights for observed data from real hail, weights for
 * simulated data from simulated evenings. `simulated`: their cases; `evenings`: what they are.
 *
 * Raw probabilities go by the survival in use: where the new one differs, the file has to be put in its place and the fit
 * repeated.
 */
export function fitModel(
  frames: readonly RainFrame[],
  real: RealMaterial,
  simulated: readonly Case[],
  evenings: string,
): { readonly model: NowcastModel; readonly is_survival_new: boolean } {
  const { dates, days } = readSizes(sharedData('probsevere'));
  const survival = fitSurvival(survivalCases(days), `ProbSevere objects of ${dates.join(' and ')}`);
  const skillOf = (key: LeadKey) => {
    const { scores } = leadScores(key, { ...real, published: real.said });
    const { low = null, high = null } = scores?.skill.advection ?? {};
    return low === null || high === null ? null : { low: to4(low), high: to4(high) };
  };
  const model = {
    survival,
    observed: fitOf('mrms', `${spanOf(frames)} of MRMS rain rates in which the hail cap marks hail`, real.cases),
    simulated: fitOf('sim', evenings, simulated),
    skill_over_advection: { t15: skillOf('t15'), t30: skillOf('t30'), t45: skillOf('t45') },
  };
  return { model, is_survival_new: JSON.stringify(survival) !== JSON.stringify(NOWCAST_MODEL.survival) };
}

function fitOf(kind: string, source: string, cases: readonly Case[]): NowcastFit {
  const blocks = new Set(cases.map(({ block }) => block)).size;
  return {
    version: `nowcast-2.0+${kind}`,
    material: { source, cases: cases.length, blocks },
    leads: fitLeads(cases, source),
  };
}

/** How long frames last, and of which date. */
function spanOf(frames: readonly RainFrame[]): string {
  const [first_ms, last_ms] = [frames[0]?.scan_time as number, frames.at(-1)?.scan_time as number];
  return `${Math.round((last_ms - first_ms) / MS_PER_MIN)} minutes (${utcDate(first_ms)})`;
}

/** Text of a coefficient file: a lead a line. */
export function modelText({ survival, observed, simulated, skill_over_advection }: NowcastModel): string {
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
