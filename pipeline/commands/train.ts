import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { utcDate } from '../../schemas/time.ts';
import { readConfig } from '../config.ts';
import { modelCard } from '../detect/model-card.ts';
import { type TrainingReport, type TrainingSample, trainModel } from '../detect/train-model.ts';
import { UsageError } from '../error.ts';
import { conusScenario, type DayType } from '../simulate/scenario.ts';
import { eveningSamples, probsevereSamples } from './training-samples.ts';

/** Raised by hand when the form of the model changes. */
const MODEL_NUMBER = '1.0';
const REFERENCE = resolve(import.meta.dirname, '../../data/reference');
const EVENINGS_MAX = 1000;
/** Evenings take turns; quiet days have nothing to learn from. */
const DAY_TYPES: readonly DayType[] = ['pulse', 'marginal', 'supercell', 'qlcs', 'outbreak'];
/** Evenings begin when storms are most common, on consecutive days from the middle of spring. */
const FIRST_EVENING_MS = Date.UTC(2025, 3, 15, 20);
const MS_PER_DAY = 86_400_000;

/** `hail-pipeline train`: refits the small model and writes its weights and its card. */
export function trainCommand(): Command {
  return new Command('train')
    .description('refit the small model of hail probability; writes hail-model.json and model-card.md')
    .option('--evenings <n>', 'simulated evenings to learn from', '60')
    .option('--seed <n>', 'seed of the evenings and of the resampling', '1')
    .option('--probsevere <dir>', 'folder of ProbSevere JSON files to learn from')
    .option('--out <dir>', 'folder to write to; data/reference of the project when left out')
    .option('--json', 'print the report as one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  $ hail-pipeline train
  $ hail-pipeline train --evenings 100 --seed 7 --probsevere ./probsevere --out ./model`,
    )
    .action(run);
}

interface Options {
  readonly evenings: string;
  readonly seed: string;
  readonly probsevere?: string;
  readonly out?: string;
  readonly json?: boolean;
}

async function run(options: Options): Promise<void> {
  const evenings = wholeNumber('--evenings', options.evenings, EVENINGS_MAX);
  const seed = wholeNumber('--seed', options.seed, 2 ** 31 - 1);
  if (evenings === 0 && options.probsevere === undefined)
    throw new UsageError('--evenings is 0 and --probsevere is missing, expected something to learn from');

  const out = options.out ?? REFERENCE;
  const samples: TrainingSample[] = options.probsevere === undefined ? [] : await probsevereSamples(options.probsevere);
  for (let n = 0; n < evenings; n++) {
    const scenario = conusScenario(seed * EVENINGS_MAX + n, DAY_TYPES[n % DAY_TYPES.length] as DayType, WSR88D);
    samples.push(...eveningSamples(scenario, FIRST_EVENING_MS + n * MS_PER_DAY));
    if (!options.json && (n + 1) % 10 === 0)
      process.stderr.write(`${n + 1} of ${evenings} evenings, ${samples.length} cases\n`);
  }
  const { model, report } = trainModel(samples, { version: version(samples), seed });
  await mkdir(out, { recursive: true });
  await writeFile(join(out, 'hail-model.json'), `${JSON.stringify({ ...model, training: report }, null, 1)}\n`);
  await writeFile(join(out, 'model-card.md'), modelCard(model, report, utcDate(readConfig().now())));
  process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : summary(report, out));
}

/** Version with the sources of the material: `hail-lr-1.0+sim+ps`. */
function version(samples: readonly TrainingSample[]): string {
  const has = (source: TrainingSample['source']) => samples.some((sample) => sample.source === source);
  return `hail-lr-${MODEL_NUMBER}${has('simulated') ? '+sim' : ''}${has('probsevere') ? '+ps' : ''}`;
}

function wholeNumber(name: string, text: string, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > max)
    throw new UsageError(`${name} is '${text}', expected a whole number from 0 to ${max}`);
  return value;
}

function summary({ version, samples, held_out }: TrainingReport, out: string): string {
  const lines = Object.entries(held_out).map(
    ([source, { cases, groups, brier, skill_climatology, skill_start, ece }]) =>
      `${source.padEnd(10)}  ${cases} cases in ${groups} groups  Brier ${brier.toFixed(4)}  skill ${skill_climatology.toFixed(3)} over base rate, ` +
      `${skill_start.toFixed(3)} over one-variable law  calibration error ${ece.toFixed(3)}`,
  );
  return [
    `${version}: ${samples.simulated} simulated cases, ${samples.probsevere} of ProbSevere; scores on cases held out:`,
    ...lines,
    `written to ${out}`,
    '',
  ].join('\n');
}
