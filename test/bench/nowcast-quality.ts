import type { EveningQuality, NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import type { LeadKey } from '../../schemas/resources/nowcast.ts';
import { leadingReadings, leadScores, othersOf, type Reading, saidByOthers } from './nowcast-material.ts';
import { to4 } from './train/nowcast-fit.ts';

/**
 * What each evening says of each lead, by weights and baselines that did not learn from it. Evenings whose frames do not reach a
 * lead say nothing of it, and a single evening says nothing at all.
 */
export function leadQualities(readings: readonly Reading[]): (typeof NOWCAST_MODEL)['quality'] {
  const judged = leadingReadings(readings).flatMap((reading) => {
    const { name, evening, cases } = reading;
    const others = othersOf(reading, readings);
    return others.length === 0 ? [] : [{ evening, name, cases, said: [saidByOthers(reading, others)], others }];
  });
  const ofLead = (key: LeadKey): EveningQuality[] =>
    judged.flatMap(({ evening, ...material }) => {
      const { byWeights, best } = leadScores(key, material);
      return byWeights.map(({ scores: { skill, intercept } }) => {
        const { low = null, high = null } = skill[best] ?? {};
        return { evening, rival: best, low: known(low), high: known(high), intercept: known(intercept.value) };
      });
    });
  return { t15: ofLead('t15'), t30: ofLead('t30'), t45: ofLead('t45') };
}

/** A value to four decimals, null where it is not to be had. */
function known(value: number | null): number | null {
  return value !== null && Number.isFinite(value) ? to4(value) : null;
}
