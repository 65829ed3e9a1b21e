import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { UsageError } from '../../pipeline/error.ts';
import { nowcastModelText } from '../../pipeline/train/nowcast-fit.ts';
import { NEAR_KM } from '../../pipeline/train/nowcast-points.ts';
import { NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import { NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import { hasSharedData, sharedData } from '../support/data/shared-folder.ts';
import { rainFrames } from './nowcast-frames.ts';
import { forecastsBy, leadScores, type Material, type RealMaterial, realMaterials } from './nowcast-material.ts';
import { fitModel } from './nowcast-model-file.ts';
import { SCAN_AGE_MAX_MIN, simulatedCases } from './nowcast-simulated.ts';
import { leadTable } from './nowcast-table.ts';
import { reliabilityDiagram } from './reliability-diagram.ts';

/** Seeds of the evenings that weights are fitted on, and of those they are scored on, never meet. */
const FIT_SEEDS = 5000;
const SCORE_SEEDS = 9000;
/** The stand-in that marks hail: weights for observed data are fitted on it. */
const FIT_STAND_IN = 'hail';

/**
 * The strike nowcast on simulated evenings and on real frames, side by side: Brier score and skill against persistence and
 * against the storms' own hail moved along, reliability, sharpness. On simulated evenings the weights come from others, on
 * real frames from other regions. `--real DIR` names the frames; `--fit FILE` first fits the model and writes it;
 * `--diagrams DIR` writes a reliability diagram of every lead.
 */
export async function nowcast(args: string[]): Promise<void> {
  const { evenings, seed, fit, real, diagrams } = options(args);
  const frames = real === null ? [] : rainFrames(real);
  const reals = real === null ? [] : realMaterials(frames);
  let model: typeof NOWCAST_MODEL = NOWCAST_MODEL;
  if (fit !== null) {
    const fitted = fitModel(
      frames,
      reals.find(({ standIn }) => standIn === FIT_STAND_IN) as RealMaterial,
      simulatedCases(FIT_SEEDS, 2 * evenings),
      `${2 * evenings} simulated evenings`,
    );
    model = fitted.model;
    await writeFile(fit, nowcastModelText(model));
    console.log(`nowcast: model written to ${fit}`);
    if (fitted.is_survival_new)
      console.log('nowcast: its survival differs from the one in use, put the file in its place and fit again');
  }
  const materials: Material[] = [];
  const simulated = simulatedCases(seed, evenings);
  const told = forecastsBy(simulated, model.simulated);
  materials.push({ name: 'simulated', cases: simulated, said: told, published: told });
  for (const { name, cases, said } of reals)
    materials.push({ name, cases, said, published: forecastsBy(cases, model.observed) });
  console.log(
    [
      `nowcast: ${evenings} simulated evenings, seeds from ${seed}, newest scan up to ${SCAN_AGE_MAX_MIN} min old, a block each`,
      real === null
        ? 'real frames need ../shared/data, which is absent'
        : `${frames.length} frames of ${real}, regions of 3 degrees are blocks; hail: rate of 53.8 mm/h exactly;`,
      'rain: every rate / 2.63, so that 50 mm/h stands for 19 mm of hail; cores: the same of rates from 50 mm/h on',
      `points spread evenly within ${NEAR_KM} km of a storm; [5 %, 95 %] over draws of whole blocks; weights and the two`,
      'probabilities of advection (the hail of storms moved along their course) were learnt on other blocks',
    ].join('\n  '),
  );
  if (diagrams !== null) await mkdir(diagrams, { recursive: true });
  for (const { key, minutes } of NOWCAST_LEADS) {
    const columns = materials.map((material) => ({ name: material.name, ...leadScores(key, material) }));
    console.log(leadTable(key, columns));
    if (diagrams === null) continue;
    const file = join(diagrams, `nowcast-${key}.svg`);
    await writeFile(file, reliabilityDiagram(minutes, columns));
    console.log(`  reliability of ${key} drawn to ${file}`);
  }
}

interface Options {
  readonly evenings: number;
  readonly seed: number;
  readonly fit: string | null;
  readonly real: string | null;
  readonly diagrams: string | null;
}

function options(args: string[]): Options {
  const command = new Command('nowcast')
    .option('--evenings <n>', 'evenings to score; --fit learns from twice as many others', '20')
    .option('--seed <n>', 'seed of the first evening to score', String(SCORE_SEEDS))
    .option('--fit <file>', 'fit the model and write it')
    .option('--real <dir>', 'folder of real PrecipRate frames')
    .option('--diagrams <dir>', 'folder to write reliability diagrams to');
  command.parse(args, { from: 'user' });
  const { evenings, seed, fit, real, diagrams } = command.opts<{
    evenings: string;
    seed: string;
    fit?: string;
    real?: string;
    diagrams?: string;
  }>();
  if (!/^[1-9]\d{0,2}$/.test(evenings))
    throw new UsageError(`--evenings is '${evenings}', expected a whole number from 1 to 999`);
  if (!/^\d{1,6}$/.test(seed)) throw new UsageError(`--seed is '${seed}', expected a whole number from 0 to 999999`);
  if (fit !== undefined && !hasSharedData)
    throw new UsageError('--fit needs the real files of ../shared/data, which are absent');
  return {
    evenings: Number(evenings),
    seed: Number(seed),
    fit: fit ?? null,
    real: real ?? (hasSharedData ? sharedData('mrms-sequence') : null),
    diagrams: diagrams ?? null,
  };
}
