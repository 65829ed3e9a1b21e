import { createHash } from 'node:crypto';
import {
  FEATURES,
  type Feature,
  features,
  type HailModel,
  modelScore,
  onCurve,
  type Predictors,
  type Term,
  within,
} from '../../../pipeline/detect/predict.ts';
import { PipelineError } from '../../../pipeline/error.ts';
import { MM_PER_INCH } from '../../../schemas/units.ts';
import { fitCurve } from './isotonic.ts';
import { fitLogistic, sigmoid } from './logistic.ts';
import { mean as average, type HeldOut, type Metrics, measure } from './skill.ts';

/** Ridge penalty on the standardised weights, because the predictors are correlated. */
const RIDGE = 1;
/**
 * Ridge penalty on the shift of a case in which every predictor but MESH is missing. Larger than RIDGE, because such cases are many
 * but of few dates. Of 1, 10, 100, 1000 and no shift, 100 has the least sum of the held-out Brier scores of both sources.
 */
const MISSING_RIDGE = 100;
/** Knots of the calibration curve. */
const KNOTS = 30;
/** Fewest cases with a known value for a predictor to be used. */
const KNOWN_MIN = 50;
/** Predictors with a non-negative weight: one whose fitted weight is negative is redundant and left out. */
const RISING: readonly Feature[] = ['posh', 'echo_top_50_above_freezing', 'ln_area', 'growth'];
/** Reference size of the one-variable law, mm. */
const LAW_SCALE_MM = MM_PER_INCH;
/** Folds of the cross-validation, over groups. */
const FOLDS = 5;

/** Source of a case: our simulator, or NOAA/CIMSS ProbSevere objects with ProbHail as the target. */
export type SampleSource = 'simulated' | 'probsevere';

/** One storm in one scan, with the probability of hail >= 25.4 mm within 60 minutes as the target. */
export interface TrainingSample {
  readonly source: SampleSource;
  /** Cases of one group depend on one another and are held out together. */
  readonly group: string;
  /** Probability or outcome, 0..1. */
  readonly target: number;
  readonly predictors: Predictors;
}

export interface TrainingReport {
  readonly version: string;
  readonly seed: number;
  /** SHA-256 of the samples. */
  readonly training_sha256: string;
  readonly samples: Readonly<Record<SampleSource, number>>;
  readonly groups: Readonly<Record<SampleSource, number>>;
  /** Cases in which each predictor is known. */
  readonly known: Readonly<Record<Feature, number>>;
  /** Scores on held-out cases, by source; only sources with cases. */
  readonly held_out: Readonly<Partial<Record<SampleSource, Metrics>>>;
  /** Scores of each ProbSevere date by a model and a law fitted without it. */
  readonly unseen: readonly UnseenDate[];
}

/** Root mean square errors on the cases of one date, by fits without it. */
interface UnseenDate {
  readonly date: string;
  readonly cases: number;
  readonly model: number;
  /** The one-variable law, refitted without the date. */
  readonly law: number;
  /** The published law, which was fitted on PRINTED_LAW_DATES. */
  readonly printed_law: number;
}

/**
 * Fits the hail model: a logistic regression of the six predictors, then a calibration curve.
 *
 * A missing predictor is imputed by its mean at the case's MESH, with a shift of the score by how cases without it differ from the
 * others. The probability is non-decreasing in MESH with the other predictors fixed or missing; throws otherwise. The same samples
 * and seed give the same model.
 */
export function trainModel(
  samples: readonly TrainingSample[],
  options: { readonly version: string; readonly seed: number },
): { model: HailModel; report: TrainingReport } {
  if (samples.length < KNOWN_MIN)
    throw new PipelineError('train', 'small model', `${samples.length} samples, expected at least ${KNOWN_MIN}`);
  const model = fitModel(samples, options.version);
  const heldOut = holdOut(samples, options.version);
  const of = (source: SampleSource) => samples.filter((sample) => sample.source === source);
  const metrics = (source: SampleSource) => {
    const cases = heldOut.filter((_, n) => samples[n]?.source === source);
    return cases.length > 0 ? { [source]: measure(cases, options.seed) } : {};
  };
  return {
    model,
    report: {
      version: options.version,
      seed: options.seed,
      training_sha256: createHash('sha256').update(JSON.stringify(samples)).digest('hex'),
      samples: { simulated: of('simulated').length, probsevere: of('probsevere').length },
      groups: { simulated: groupsOf(of('simulated')).length, probsevere: groupsOf(of('probsevere')).length },
      known: Object.fromEntries(
        FEATURES.map((feature) => [
          feature,
          samples.filter(({ predictors }) => features(predictors)[feature] !== null).length,
        ]),
      ) as Record<Feature, number>,
      held_out: { ...metrics('simulated'), ...metrics('probsevere') },
      unseen: unseenDates(samples, heldOut),
    },
  };
}

function groupsOf(samples: readonly TrainingSample[]): string[] {
  return [...new Set(samples.map(({ group }) => group))].sort();
}

function fitModel(samples: readonly TrainingSample[], version: string): HailModel {
  const plain = new Set<Feature>();
  const leftOut = new Set<Feature>();
  for (;;) {
    const { intercept, terms } = fitTerms(samples, plain, leftOut);
    const negative = RISING.filter((feature) => terms[feature].weight < 0);
    const falling = FEATURES.filter((feature) => terms[feature].weight * terms[feature].missing.slope < 0);
    for (const feature of negative) leftOut.add(feature);
    // Impute by the plain mean where the imputed value would lower the probability at a larger MESH.
    for (const feature of falling) plain.add(feature);
    if (negative.length + falling.length > 0) continue;
    if (terms.ln_mesh.weight < 0)
      throw new PipelineError('train', 'small model', 'the weight of MESH is negative, expected a rising one');
    const scores = samples.map(({ predictors }) => modelScore({ intercept, terms }, predictors).score);
    const targets = samples.map(({ target }) => target);
    const equal = samples.map(() => 1);
    return { version, intercept, terms, curve: fitCurve(scores, targets, equal, KNOTS) };
  }
}

/** Terms with the weights of the logistic; features in `plain` are imputed by their mean alone. */
function fitTerms(
  samples: readonly TrainingSample[],
  plain: ReadonlySet<Feature>,
  leftOut: ReadonlySet<Feature>,
): Pick<HailModel, 'intercept' | 'terms'> {
  const known = samples.map(({ predictors }) => features(predictors));
  const drafts = FEATURES.map((feature) =>
    leftOut.has(feature) ? UNUSED : draftTerm(known, feature, plain.has(feature)),
  );
  const active = FEATURES.flatMap((feature, n) => {
    const term = drafts[n];
    return term === UNUSED ? [] : [{ feature, n, term }];
  });
  const rows = known.map((values) =>
    active.map(({ feature, term: { mean, scale, low, high, missing } }) => {
      const value = values[feature] ?? missing.base + missing.slope * (values.ln_mesh as number);
      return (within(value, low, high) - mean) / scale;
    }),
  );
  const targets = samples.map(({ target }) => target);
  const equal = samples.map(() => 1);
  const shares = missingShares(active, fitLogistic(rows, targets, equal, RIDGE).weights);
  // The column is made smaller instead of the penalty larger, which is the same.
  const unit = Math.sqrt(RIDGE / MISSING_RIDGE);
  const missing = known.map((values) =>
    active.reduce((sum, { feature }, n) => sum + (values[feature] === null ? unit * shares[n] : 0), 0),
  );
  const fit = fitLogistic(
    rows.map((row, n) => [...row, missing[n]]),
    targets,
    equal,
    RIDGE,
  );
  const shift = unit * fit.weights[active.length];
  const fitted = new Map(
    active.map(({ feature, term }, n) => [
      feature,
      { ...term, weight: fit.weights[n], missing: { ...term.missing, shift: shift * shares[n] } },
    ]),
  );
  const terms = FEATURES.map((feature) => [feature, fitted.get(feature) ?? UNUSED] as const);
  return { intercept: fit.intercept, terms: Object.fromEntries(terms) as Record<Feature, Term> };
}

/** Share of each predictor in the shift of a case without any but MESH: by the size of its weight, so that a weak one shifts little. */
function missingShares(active: readonly { readonly feature: Feature }[], weights: readonly number[]): number[] {
  const sizes = active.map(({ feature }, n) => (feature === 'ln_mesh' ? 0 : Math.abs(weights[n])));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return sizes.map((size) => (total > 0 ? size / total : 0));
}

/** A term without effect. */
const UNUSED: Term = { weight: 0, mean: 0, scale: 1, low: 0, high: 0, missing: { base: 0, slope: 0, shift: 0 } };

/** Mean, scale, range and imputation of a feature; UNUSED when it is known in few cases or constant. */
function draftTerm(known: readonly Readonly<Record<Feature, number | null>>[], feature: Feature, plain: boolean): Term {
  const pairs = known.flatMap((values) => {
    const value = values[feature];
    return value === null ? [] : [{ value, ln_mesh: values.ln_mesh as number }];
  });
  const mean = average(pairs.map(({ value }) => value));
  const scale = Math.sqrt(average(pairs.map(({ value }) => (value - mean) ** 2)));
  if (pairs.length < KNOWN_MIN || scale < 1e-9) return UNUSED;
  const meanLn = average(pairs.map(({ ln_mesh }) => ln_mesh));
  const spread = average(pairs.map(({ ln_mesh }) => (ln_mesh - meanLn) ** 2));
  const together = average(pairs.map(({ value, ln_mesh }) => (value - mean) * (ln_mesh - meanLn)));
  const slope = plain || spread < 1e-9 || feature === 'ln_mesh' ? 0 : together / spread;
  return {
    weight: 0,
    mean,
    scale,
    low: pairs.reduce((low, { value }) => Math.min(low, value), Number.POSITIVE_INFINITY),
    high: pairs.reduce((high, { value }) => Math.max(high, value), Number.NEGATIVE_INFINITY),
    missing: { base: mean - slope * meanLn, slope, shift: 0 },
  };
}

/** Errors by date; empty with a single group, because nothing is held out then. */
function unseenDates(samples: readonly TrainingSample[], heldOut: readonly HeldOut[]): UnseenDate[] {
  if (groupsOf(samples).length < 2) return [];
  const cases = samples.flatMap(({ source, predictors }, n) =>
    source === 'probsevere' ? [{ ...heldOut[n], printed: startLaw(predictors.mesh_mm) }] : [],
  );
  const rms = (errors: readonly number[]) => Math.sqrt(average(errors.map((error) => error ** 2)));
  return [...Map.groupBy(cases, ({ group }) => group)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([date, of]) => ({
      date,
      cases: of.length,
      model: rms(of.map(({ probability, target }) => probability - target)),
      law: rms(of.map(({ start, target }) => start - target)),
      printed_law: rms(of.map(({ printed, target }) => printed - target)),
    }));
}

/** Each case with the probability of a model and of a law fitted without its group, in the order of the samples. */
function holdOut(samples: readonly TrainingSample[], version: string): HeldOut[] {
  const groups = groupsOf(samples);
  const folds = Math.min(FOLDS, groups.length);
  const foldOf = new Map(groups.map((group, n) => [group, n % folds]));
  const cases = new Array<HeldOut>(samples.length);
  for (let fold = 0; fold < folds; fold++) {
    const inFold = (sample: TrainingSample) => foldOf.get(sample.group) === fold;
    // A single group cannot be held out; the report then has one group.
    const seen = folds > 1 ? samples.filter((sample) => !inFold(sample)) : samples;
    const model = fitModel(seen, version);
    const laws = { simulated: fitLaw(seen, 'simulated'), probsevere: fitLaw(seen, 'probsevere') };
    samples.forEach((sample, n) => {
      if (!inFold(sample)) return;
      const probability = onCurve(model.curve, modelScore(model, sample.predictors).score);
      cases[n] = {
        group: sample.group,
        target: sample.target,
        probability,
        start: laws[sample.source](sample.predictors.mesh_mm),
      };
    });
  }
  return cases;
}

/** The one-variable law fitted to the samples of a source, or to all samples when these are too few. */
function fitLaw(seen: readonly TrainingSample[], source: SampleSource): (mesh_mm: number) => number {
  const own = seen.filter((sample) => sample.source === source);
  const used = own.length >= KNOWN_MIN ? own : seen;
  const logMesh = (mesh_mm: number) => Math.log(mesh_mm / LAW_SCALE_MM);
  const { intercept, weights } = fitLogistic(
    used.map(({ predictors }) => [logMesh(predictors.mesh_mm)]),
    used.map(({ target }) => target),
    used.map(() => 1),
    0,
  );
  return (mesh_mm) => sigmoid(intercept + weights[0] * logMesh(mesh_mm));
}

/** The one-variable law as published. */
function startLaw(mesh_mm: number): number {
  return sigmoid(-0.26 + 3.63 * Math.log(mesh_mm / LAW_SCALE_MM));
}
