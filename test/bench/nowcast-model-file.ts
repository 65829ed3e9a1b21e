import { fitWeights, type NowcastCase, to4 } from '../../pipeline/train/nowcast-fit.ts';
import { fitSurvival, readSizes, survivalCases } from '../../pipeline/train/nowcast-survival.ts';
import { NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import type { LeadKey } from '../../schemas/resources/nowcast.ts';
import { MS_PER_MIN, utcDate } from '../../schemas/time.ts';
import { sharedData } from '../support/data/shared-folder.ts';
import type { RainFrame } from './nowcast-frames.ts';
import { leadScores, type RealMaterial } from './nowcast-material.ts';

type NowcastModel = typeof NOWCAST_MODEL;

/**
 * The fitted model: survival from ProbSevere objects, weights for observed data from real hail, weights for simulated data from
 * the `simulated` cases, which `evenings` describes.
 *
 * Raw probabilities use the survival of the committed model: when the new survival differs, commit the file and fit again.
 */
export function fitModel(
  frames: readonly RainFrame[],
  real: RealMaterial,
  simulated: readonly NowcastCase[],
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
    observed: fitWeights('mrms', `${spanOf(frames)} of MRMS rain rates in which the hail cap marks hail`, real.cases),
    simulated: fitWeights('sim', evenings, simulated),
    skill_over_advection: { t15: skillOf('t15'), t30: skillOf('t30'), t45: skillOf('t45') },
  };
  return { model, is_survival_new: JSON.stringify(survival) !== JSON.stringify(NOWCAST_MODEL.survival) };
}

/** Duration and date of the frames. */
function spanOf(frames: readonly RainFrame[]): string {
  const [first_ms, last_ms] = [frames[0]?.scan_time as number, frames.at(-1)?.scan_time as number];
  return `${Math.round((last_ms - first_ms) / MS_PER_MIN)} minutes (${utcDate(first_ms)})`;
}
