import { resolve } from 'node:path';
import { Command } from 'commander';
import { counted } from '../../schemas/command-line.ts';
import { utcDate } from '../../schemas/time.ts';
import { readConfig } from '../config.ts';
import { UsageError } from '../error.ts';
import { type PublishedTrainingPairs, publishedTrainingPairs } from '../run/training-pairs.ts';
import { EVENINGS_MAX, type PublishedRefit, refitModel, refitPublished, type Supply } from '../train/refit.ts';
import type { TrainingReport } from '../train/train-model.ts';
import { wholeOption } from './arguments.ts';

/** Default number of simulated evenings to fit on. */
const EVENINGS = '60';
const REFERENCE = resolve(import.meta.dirname, '../../data/reference');

/** `hail-pipeline train`: refits the hail model and writes its weights and its card. */
export function trainCommand(): Command {
  return new Command('train')
    .description('refit the small model of hail probability; writes hail-model.json and model-card.md')
    .option('--evenings <n>', `simulated evenings to learn from (default: ${EVENINGS})`)
    .option('--seed <n>', 'seed of the evenings and of the resampling', '1')
    .option('--probsevere <dir>', 'folder of ProbSevere JSON files to learn from')
    .option('--from-published', 'learn from the observed dates of the data root, when they hold enough')
    .option('--out <dir>', 'folder to write to; data/reference of the project when left out')
    .option('--json', 'print the report as one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  $ hail-pipeline train
  $ hail-pipeline train --from-published --out ./model
  $ hail-pipeline train --evenings 100 --seed 7 --probsevere ./probsevere --out ./model`,
    )
    .action(run);
}

interface Options {
  readonly evenings?: string;
  readonly seed: string;
  readonly probsevere?: string;
  readonly fromPublished?: true;
  readonly out?: string;
  readonly json?: boolean;
}

async function run(options: Options): Promise<void> {
  if (options.fromPublished) return fromPublished(options);
  const evenings = wholeOption('--evenings', options.evenings ?? EVENINGS, EVENINGS_MAX);
  const seed = wholeOption('--seed', options.seed, 2 ** 31 - 1);
  if (evenings === 0 && options.probsevere === undefined)
    throw new UsageError('--evenings is 0 and --probsevere is missing, expected something to learn from');
  const out = options.out ?? REFERENCE;
  const report = await refitModel({
    evenings,
    seed,
    out,
    probsevere: options.probsevere ?? null,
    date: utcDate(readConfig().now()),
    onEvening: (evening, cases) => {
      if (!options.json && evening % 10 === 0)
        process.stderr.write(`${evening} of ${evenings} evenings, ${cases} cases\n`);
    },
  });
  process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : summary(report, out));
}

async function fromPublished({ evenings, probsevere, seed, out: folder, json }: Options): Promise<void> {
  for (const [name, value] of Object.entries({ evenings, probsevere }))
    if (value !== undefined)
      throw new UsageError(`--${name} is '${value}' beside --from-published, expected one of the two`);
  const { data_root, now } = readConfig();
  const material = await publishedTrainingPairs(data_root);
  const out = folder ?? REFERENCE;
  const target = { seed: wholeOption('--seed', seed, 2 ** 31 - 1), out, date: utcDate(now()) };
  const refit = await refitPublished(material.samples, material.report_pairs, target);
  const { dates, simulated_dates } = material;
  process.stdout.write(
    json ? `${JSON.stringify({ dates, simulated_dates, ...refit })}\n` : publishedSummary(material, refit, out),
  );
}

function publishedSummary(
  { dates, simulated_dates }: PublishedTrainingPairs,
  { probsevere, reports, report }: PublishedRefit,
  out: string,
): string {
  const days =
    dates.length === 0 ? 'no observed date' : `${counted(dates.length, 'observed date')}: ${dates.join(', ')}`;
  const supply = (what: string, { pairs, dates: on, pairs_needed, dates_needed, enough }: Supply) =>
    `${counted(pairs, `pair`)} of ${what} on ${counted(on, 'date')}${enough ? '' : `, needs ${pairs_needed} on ${dates_needed}`}`;
  return [
    `Published: ${days}${simulated_dates > 0 ? ` (${counted(simulated_dates, 'simulated date')} left out)` : ''}`,
    supply('radar and ProbSevere', probsevere),
    reports === null ? 'no ground reports published' : supply('radar and reports', reports),
    report === null ? 'Not enough to refit from: nothing was changed.' : summary(report, out).trimEnd(),
    '',
  ].join('\n');
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
