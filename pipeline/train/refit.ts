import { join } from 'node:path';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_DAY } from '../../schemas/time.ts';
import { replaceFile } from '../files.ts';
import { conusScenario, type DayType } from '../simulate/scenario.ts';
import { modelCard, SOURCE_TITLES } from './model-card.ts';
import { reliabilitySvg } from './reliability-svg.ts';
import { fitSizeLaw, type ReportPair } from './report-pairs.ts';
import { eveningSamples, probsevereSamples } from './samples.ts';
import { type SampleSource, type TrainingReport, type TrainingSample, trainModel } from './train-model.ts';

/** Version of the model's form; raise it when the form changes. */
const MODEL_NUMBER = '1.2';
/** Most evenings of a refit: up to here the evenings of two seeds are distinct. */
export const EVENINGS_MAX = 1000;
/** Day types of the evenings, in rotation; quiet days have no hail to fit on. */
const DAY_TYPES: readonly DayType[] = ['pulse', 'marginal', 'supercell', 'qlcs', 'outbreak'];
/** Start of the first evening; evenings are on consecutive days, at the hour with most storms. */
const FIRST_EVENING_MS = Date.UTC(2025, 3, 15, 20);

/** Training data of a refit, and its output folder. */
export interface Refit {
  readonly evenings: number;
  readonly seed: number;
  /** Folder of ProbSevere files; null: none. */
  readonly probsevere: string | null;
  /** Folder of the weights and the card; made when missing. */
  readonly out: string;
  /** Date on the card. */
  readonly date: string;
  /** Called after each evening with its number and the number of cases so far. */
  readonly onEvening: (evening: number, cases: number) => void;
}

/**
 * Fits the hail model and writes its weights, `hail-model.json`, and its card, `model-card.md` with the diagram
 * `reliability.svg`. Writes nothing when the fit fails, and no weights when the card or the diagram cannot be written.
 */
export async function refitModel({ evenings, seed, probsevere, out, date, onEvening }: Refit): Promise<TrainingReport> {
  const samples: TrainingSample[] = probsevere === null ? [] : await probsevereSamples(probsevere);
  for (let n = 0; n < evenings; n++) {
    const scenario = conusScenario(seed * EVENINGS_MAX + n, DAY_TYPES[n % DAY_TYPES.length], WSR88D);
    samples.push(...eveningSamples(scenario, FIRST_EVENING_MS + n * MS_PER_DAY));
    onEvening(n + 1, samples.length);
  }
  return writeModel(samples, null, { seed, out, date });
}

/** Fewest pairs of radar and truth, and fewest dates, for a refit from published data. */
export const ENOUGH = { probsevere: { pairs: 2000, dates: 10 }, reports: { pairs: 300, dates: 20 } } as const;

/** Available and required pairs of one kind. */
export type Supply = Readonly<ReturnType<typeof supplyOf>>;

/** Outcome of a refit from published pairs. */
export interface PublishedRefit {
  readonly probsevere: Supply;
  /** Null when no ground report is published. */
  readonly reports: Supply | null;
  /** Null when nothing was written. */
  readonly report: TrainingReport | null;
}

/**
 * Refits the probability when there are enough pairs of radar and ProbSevere, and with it the size law when there are enough pairs of
 * radar and reports; otherwise writes nothing. The confidence keeps its weights: a detection without a report is no evidence of no
 * hail, so pairs with reports have no negative cases.
 */
export async function refitPublished(
  samples: readonly TrainingSample[],
  pairs: readonly ReportPair[] | null,
  target: Target,
): Promise<PublishedRefit> {
  const probsevere = supplyOf(
    samples.map(({ group }) => group),
    ENOUGH.probsevere,
  );
  const reports =
    pairs &&
    supplyOf(
      pairs.map(({ date }) => date),
      ENOUGH.reports,
    );
  if (!probsevere.enough) return { probsevere, reports, report: null };
  return { probsevere, reports, report: await writeModel(samples, reports?.enough ? pairs : null, target) };
}

function supplyOf(dates: readonly string[], needed: { readonly pairs: number; readonly dates: number }) {
  const days = new Set(dates).size;
  return {
    pairs: dates.length,
    dates: days,
    pairs_needed: needed.pairs,
    dates_needed: needed.dates,
    enough: dates.length >= needed.pairs && days >= needed.dates,
  };
}

type Target = Pick<Refit, 'seed' | 'out' | 'date'>;

async function writeModel(
  samples: readonly TrainingSample[],
  pairs: readonly ReportPair[] | null,
  { seed, out, date }: Target,
): Promise<TrainingReport> {
  const { model: fitted, report } = trainModel(samples, { version: modelVersion(samples), seed });
  const size_law = pairs && fitSizeLaw(pairs);
  const model = size_law ? { ...fitted, size_law } : fitted;
  const curves = Object.entries(report.held_out).map(([source, { reliability }]) => ({
    title: SOURCE_TITLES[source as SampleSource],
    bins: reliability,
  }));
  // The weights are written last, and atomically: the pipeline reads them, and a newer card does no harm.
  const card = modelCard(model, report, date, size_law ? (pairs?.length ?? 0) : 0);
  await replaceFile(
    join(out, 'reliability.svg'),
    reliabilitySvg(`${model.version}: hail >= 25.4 mm in 60 minutes`, curves),
  );
  await replaceFile(join(out, 'model-card.md'), card);
  await replaceFile(join(out, 'hail-model.json'), `${JSON.stringify({ ...model, training: report }, null, 1)}\n`);
  return report;
}

/** Version with the sources of the samples: `hail-lr-1.2+sim+ps`. */
function modelVersion(samples: readonly TrainingSample[]): string {
  const has = (source: TrainingSample['source']) => samples.some((sample) => sample.source === source);
  return `hail-lr-${MODEL_NUMBER}${has('simulated') ? '+sim' : ''}${has('probsevere') ? '+ps' : ''}`;
}
