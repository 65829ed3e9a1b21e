import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { UsageError } from '../../pipeline/error.ts';
import { NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import { NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import { hasSharedData, sharedData } from '../support/data/shared-folder.ts';
import {
  cadenceMin,
  type Evening,
  eveningsOf,
  rainFrames,
  SCAN_AGE_MAX_MIN,
  standInsOf,
  thinned,
} from './nowcast-frames.ts';
import { leadScores, readingsOf, realMaterial, simulatedMaterial } from './nowcast-material.ts';
import { fitModel } from './nowcast-model-file.ts';
import { simulatedCases } from './nowcast-simulated.ts';
import { LEGEND, leadTable } from './nowcast-table.ts';
import { nowcastModelText } from './train/nowcast-fit.ts';

/** Seeds of the evenings that weights are fitted on, and of those they are scored on, never meet. */
const FIT_SEEDS = 5000;
const SCORE_SEEDS = 9000;
/** Shared sequences: an evening over the United States, and an afternoon over Switzerland. */
const SEQUENCES = ['mrms-sequence', 'mch-sequence'] as const;

/**
 * The strike nowcast on real evenings and on simulated ones: Brier score and skill against four baselines, reliability, sharpness.
 * The published weights come first, then those that learnt from the other evenings, and from other regions of an evening.
 * `--real DIR` names folders of frames, any number of times, and `--every MIN` thins them; `--fit FILE` first fits the model and
 * writes it.
 */
export async function nowcast(args: string[]): Promise<void> {
  const { evenings, seed, fit, real, every_min } = options(args);
  const realEvenings = eveningsOf(real.flatMap((folder) => thinned(rainFrames(folder), every_min)));
  const readings = readingsOf(realEvenings);
  let model: typeof NOWCAST_MODEL = NOWCAST_MODEL;
  if (fit !== null) {
    model = fitModel(
      realEvenings,
      readings,
      simulatedCases(FIT_SEEDS, 2 * evenings),
      `${2 * evenings} simulated evenings`,
    );
    await writeFile(fit, nowcastModelText(model));
    console.log(`nowcast: model written to ${fit}`);
  }
  console.log(
    [
      `nowcast: weights ${model.observed.version}, learnt from ${model.observed.material.source}`,
      ...(real.length === 0 ? ['real frames need ../shared/data, which is absent'] : realEvenings.map(described)),
      'hail: rate of 53.8 mm/h exactly; cores: rates from 50 mm/h on, / 2.63, so that 50 mm/h stands for 19 mm of hail; rain: every',
      'rate / 2.63; blocks are regions of 3 degrees; other weights and baselines learn from hail where an evening has it, else cores',
      `simulated: a closed loop, ${evenings} evenings, seeds from ${seed}, newest scan up to ${SCAN_AGE_MAX_MIN} min old, a block each`,
      ...LEGEND,
    ].join('\n  '),
  );
  const materials = [
    ...readings.map((reading) => realMaterial(reading, readings, model.observed)),
    simulatedMaterial(simulatedCases(seed, evenings), model.simulated),
  ];
  for (const { key } of NOWCAST_LEADS) {
    const rows = materials.map((material) => ({ name: material.name, ...leadScores(key, material) }));
    console.log(`\n${leadTable(key, rows)}`);
  }
}

/** Frames of an evening, and what it lacks. */
function described(evening: Evening): string {
  const frames = evening.sequences.flat();
  const cadences = evening.sequences.map((sequence) => `${Math.round(cadenceMin(sequence))}-minute`);
  const lacks = standInsOf(evening).includes('hail') ? '' : ', no mask of hail: read as cores and rain only';
  return `${evening.name}: ${frames.length} ${[...new Set(cadences)].join(' and ')} frames${lacks}`;
}

interface Options {
  readonly evenings: number;
  readonly seed: number;
  readonly fit: string | null;
  readonly real: readonly string[];
  readonly every_min: number;
}

function options(args: string[]): Options {
  const command = new Command('nowcast')
    .option('--evenings <n>', 'evenings to score; --fit learns from twice as many others', '20')
    .option('--seed <n>', 'seed of the first evening to score', String(SCORE_SEEDS))
    .option('--fit <file>', 'fit the model and write it')
    .option(
      '--real <dir>',
      'folder of real PrecipRate frames, any number of times',
      (folder, before: string[]) => [...before, folder],
      [],
    )
    .option('--every <min>', 'use frames so many minutes apart', '0');
  command.parse(args, { from: 'user' });
  const { evenings, seed, fit, real, every } = command.opts<{
    evenings: string;
    seed: string;
    fit?: string;
    real: string[];
    every: string;
  }>();
  if (!/^[1-9]\d{0,2}$/.test(evenings))
    throw new UsageError(`--evenings is '${evenings}', expected a whole number from 1 to 999`);
  if (!/^\d{1,6}$/.test(seed)) throw new UsageError(`--seed is '${seed}', expected a whole number from 0 to 999999`);
  if (!/^\d{1,2}$/.test(every)) throw new UsageError(`--every is '${every}', expected whole minutes from 0 to 99`);
  if (fit !== undefined && !hasSharedData)
    throw new UsageError('--fit needs the real files of ../shared/data, which are absent');
  return {
    evenings: Number(evenings),
    seed: Number(seed),
    fit: fit ?? null,
    real: real.length > 0 ? real : hasSharedData ? SEQUENCES.map((name) => sharedData(name)) : [],
    every_min: Number(every),
  };
}
