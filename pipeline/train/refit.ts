import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { conusScenario, type DayType } from '../simulate/scenario.ts';
import { modelCard } from './model-card.ts';
import { eveningSamples, probsevereSamples } from './samples.ts';
import { type TrainingReport, type TrainingSample, trainModel } from './train-model.ts';

/** Raised by hand when the form of the model changes. */
const MODEL_NUMBER = '1.0';
/** Seeds of simulated evenings of two refits never meet below this number of evenings. */
export const EVENINGS_MAX = 1000;
/** Evenings take turns; quiet days have nothing to learn from. */
const DAY_TYPES: readonly DayType[] = ['pulse', 'marginal', 'supercell', 'qlcs', 'outbreak'];
/** Evenings begin when storms are most common, on consecutive days from the middle of spring. */
const FIRST_EVENING_MS = Date.UTC(2025, 3, 15, 20);
const MS_PER_DAY = 86_400_000;

/** What to learn from, and where to write. */
export interface Refit {
  readonly evenings: number;
  readonly seed: number;
  /** Folder of ProbSevere files; null: none. */
  readonly probsevere: string | null;
  /** Folder of the weights and the card; made when missing. */
  readonly out: string;
  /** Date that the card carries. */
  readonly date: string;
  /** Told after each evening how many cases there are. */
  readonly onEvening: (evening: number, cases: number) => void;
}

/** Fits the small model and writes its weights, `hail-model.json`, and its card, `model-card.md`; nothing when that fails. */
export async function refitModel({ evenings, seed, probsevere, out, date, onEvening }: Refit): Promise<TrainingReport> {
  const samples: TrainingSample[] = probsevere === null ? [] : await probsevereSamples(probsevere);
  for (let n = 0; n < evenings; n++) {
    const scenario = conusScenario(seed * EVENINGS_MAX + n, DAY_TYPES[n % DAY_TYPES.length] as DayType, WSR88D);
    samples.push(...eveningSamples(scenario, FIRST_EVENING_MS + n * MS_PER_DAY));
    onEvening(n + 1, samples.length);
  }
  const { model, report } = trainModel(samples, { version: modelVersion(samples), seed });
  await mkdir(out, { recursive: true });
  await writeFile(join(out, 'hail-model.json'), `${JSON.stringify({ ...model, training: report }, null, 1)}\n`);
  await writeFile(join(out, 'model-card.md'), modelCard(model, report, date));
  return report;
}

/** Version with the sources of the material: `hail-lr-1.0+sim+ps`. */
function modelVersion(samples: readonly TrainingSample[]): string {
  const has = (source: TrainingSample['source']) => samples.some((sample) => sample.source === source);
  return `hail-lr-${MODEL_NUMBER}${has('simulated') ? '+sim' : ''}${has('probsevere') ? '+ps' : ''}`;
}
