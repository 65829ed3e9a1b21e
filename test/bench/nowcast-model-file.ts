import type { NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import type { Evening } from './nowcast-frames.ts';
import { leadingReadings, type Reading } from './nowcast-material.ts';
import { leadQualities } from './nowcast-quality.ts';
import { fitWeights, type NowcastCase } from './train/nowcast-fit.ts';

type NowcastModel = typeof NOWCAST_MODEL;

/** The fitted model: weights for observed data from real hail, those for simulated data from the `simulated` cases, which `evenings` describes. */
export function fitModel(
  real: readonly Evening[],
  readings: readonly Reading[],
  simulated: readonly NowcastCase[],
  evenings: string,
): NowcastModel {
  const cases = leadingReadings(readings).flatMap((reading) => reading.cases);
  return {
    observed: fitWeights('mrms', `${spansOf(real)} of rain rates, in which the hail cap or 50 mm/h mark hail`, cases),
    simulated: fitWeights('sim', evenings, simulated),
    quality: leadQualities(readings),
  };
}

/** Duration and date of each evening. */
function spansOf(evenings: readonly Evening[]): string {
  const spans = evenings.map(({ name, sequences }) => {
    const times_ms = sequences.flat().map(({ scan_time }) => scan_time);
    return `${Math.round((Math.max(...times_ms) - Math.min(...times_ms)) / MS_PER_MIN)} minutes (${name})`;
  });
  return spans.join(' and ');
}
