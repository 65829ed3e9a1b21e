import { drawsOf } from '../../pipeline/simulate/random.ts';

/** Models learn from the blocks of other folds: each block belongs to one of so many. */
const FOLDS = 5;
/** Intervals come from so many draws of whole blocks. */
const DRAWS = 400;
const DRAW_SEED = 1;
/** Forecasts below this are no statement about a storm: most points are out of reach of any. */
export const SAID_MIN = 0.02;
const BINS = [SAID_MIN, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0001];
/** Sharp forecasts seldom lie between these. */
const UNSURE = [0.2, 0.8] as const;
/** Forecasts whose logits differ by less are recalibrated as one. */
const LOGIT_STEP = 0.02;

/** Forecasts of one lead on some material, with those of their rivals, and what came: 1 or 0. */
export interface Forecasts {
  readonly block: readonly string[];
  readonly came: readonly number[];
  readonly said: readonly number[];
  readonly rivals: Readonly<Record<string, readonly number[]>>;
}

/** A value, and where 5 and 95 % of its draws lie; null where they are not to be had. */
export interface Interval {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
}

/** Forecasts of about the same probability. */
export interface Bin {
  readonly cases: number;
  /** Their mean. */
  readonly said: number;
  /** How often they came true. */
  readonly came: number;
}

export interface Scores {
  readonly cases: number;
  readonly blocks: number;
  readonly base_rate: number;
  readonly brier: number;
  readonly rival_brier: Readonly<Record<string, number>>;
  /** Share of a rival's Brier score that the forecasts save. */
  readonly skill: Readonly<Record<string, Interval>>;
  /** Share of cases said with 0.2 to 0.8. */
  readonly unsure: number;
  /** Of forecasts from 0.02 on. */
  readonly bins: readonly Bin[];
  /** The same of each rival. */
  readonly rival_bins: Readonly<Record<string, readonly Bin[]>>;
  readonly said: number;
  readonly came: number;
  readonly slope: Interval;
  readonly intercept: Interval;
}

export function scoresOf({ block, came, said, rivals }: Forecasts): Scores {
  const names = [...new Set(block)];
  const blockAt = block.map((name) => names.indexOf(name));
  const squares = (forecast: readonly number[]) =>
    blockSums(
      names.length,
      blockAt,
      forecast.map((p, n) => (p - came[n]) ** 2),
    );
  const model = squares(said);
  const rival = Object.entries(rivals).map(([name, forecast]) => [name, squares(forecast)] as const);
  const draws = names.length > 1 ? drawsOfBlocks(names.length) : []; // one block drawn again and again is no interval
  const told = said.flatMap((p, n) => (p >= SAID_MIN ? [n] : []));
  const tallies = talliesOf(
    told.map((n) => said[n]),
    told.map((n) => came[n]),
    told.map((n) => blockAt[n]),
  );
  const whole = recalibration(tallies.map(summed()));
  const redrawn = draws.map((times) => recalibration(tallies.map(summed(times)), { from: whole, steps: 4 }));
  const even = new Float64Array(names.length).fill(1);
  return {
    cases: said.length,
    blocks: names.length,
    base_rate: mean(came),
    brier: dot(even, model) / said.length,
    rival_brier: Object.fromEntries(rival.map(([name, sums]) => [name, dot(even, sums) / said.length])),
    skill: Object.fromEntries(
      rival.map(([name, sums]) => {
        const skill = (times: Float64Array) => 1 - dot(times, model) / dot(times, sums);
        return [name, interval(skill(even), draws.map(skill))];
      }),
    ),
    unsure: mean(said.map((p) => (p >= UNSURE[0] && p <= UNSURE[1] ? 1 : 0))),
    bins: reliability(said, came),
    rival_bins: Object.fromEntries(
      Object.entries(rivals).map(([name, forecast]) => [name, reliability(forecast, came)]),
    ),
    said: mean(told.map((n) => said[n])),
    came: mean(told.map((n) => came[n])),
    slope: interval(
      whole.slope,
      redrawn.map(({ slope }) => slope),
    ),
    intercept: interval(
      whole.intercept,
      redrawn.map(({ intercept }) => intercept),
    ),
  };
}

/** Forecasts from 0.02 on in bins, without the empty ones. */
export function reliability(said: readonly number[], came: readonly number[]): Bin[] {
  return BINS.slice(0, -1)
    .map((low, bin) => said.flatMap((value, index) => (value >= low && value < BINS[bin + 1] ? [index] : [])))
    .filter((members) => members.length > 0)
    .map((members) => ({
      cases: members.length,
      said: mean(members.map((index) => said[index])),
      came: mean(members.map((index) => came[index])),
    }));
}

/**
 * Forecasts of every case by a model that learnt from the cases of other blocks. `learnt` gets the indices to learn from, and
 * gives the forecast of an index.
 */
export function crossValidated<Forecast>(
  block: readonly string[],
  learnt: (from: readonly number[]) => (index: number) => Forecast,
): Forecast[] {
  const names = [...new Set(block)].sort();
  const foldOf = new Map(names.map((name, place) => [name, place % FOLDS]));
  const folds = block.map((name) => foldOf.get(name) as number);
  const models = Array.from({ length: Math.min(FOLDS, names.length) }, (_, fold) =>
    learnt(folds.flatMap((other, index) => (other === fold ? [] : [index]))),
  );
  return block.map((_, index) => models[folds[index]]?.(index) as Forecast);
}

/** A logistic in the logit of a forecast. */
export interface Recalibration {
  readonly slope: number;
  readonly intercept: number;
}

/** Forecasts of one logit: how many, and how many of them came true. */
export interface Tally {
  readonly logit: number;
  readonly cases: number;
  readonly came: number;
}

/**
 * The logistic that turns forecasts into what came; slope 1 and intercept 0 when nothing is left to mend. `from`: where the
 * search starts; near the answer a few steps are enough.
 */
export function recalibration(
  tallies: readonly Tally[],
  { from = { slope: 1, intercept: 0 }, steps = 20 }: { from?: Recalibration; steps?: number } = {},
): Recalibration {
  let { slope, intercept } = from;
  for (let step = 0; step < steps; step++) {
    let [g0, g1, h00, h01, h11] = [0, 0, 0, 0, 0];
    for (const { logit, cases, came } of tallies) {
      const p = 1 / (1 + Math.exp(-(intercept + slope * logit)));
      const miss = came - cases * p;
      const curvature = cases * p * (1 - p);
      g0 += miss;
      g1 += miss * logit;
      h00 += curvature;
      h01 += curvature * logit;
      h11 += curvature * logit * logit;
    }
    const determinant = h00 * h11 - h01 * h01;
    intercept += (h11 * g0 - h01 * g1) / determinant;
    slope += (h00 * g1 - h01 * g0) / determinant;
  }
  return { slope, intercept };
}

/** Forecasts of about one logit, block by block. */
interface BlockTallies {
  readonly logit: number;
  readonly ofBlock: ReadonlyMap<number, { readonly cases: number; readonly came: number }>;
}

/** Forecasts, above 0 and below 1, by their logit and block: draws of whole blocks add these up instead of single cases. */
function talliesOf(said: readonly number[], came: readonly number[], blockAt: readonly number[]): BlockTallies[] {
  const logits = said.map((p) => Math.log(p / (1 - p)));
  return [...Map.groupBy(logits.keys(), (n) => Math.round(logits[n] / LOGIT_STEP)).values()].map((members) => ({
    logit: mean(members.map((n) => logits[n])),
    ofBlock: new Map(
      [...Map.groupBy(members, (n) => blockAt[n])].map(([block, own]) => [
        block,
        { cases: own.length, came: own.reduce((sum, n) => sum + came[n], 0) },
      ]),
    ),
  }));
}

/** Tallies of all blocks together, each as often as it is drawn; once each by default. */
function summed(times: Float64Array | null = null) {
  return ({ logit, ofBlock }: BlockTallies): Tally => {
    let [cases, came] = [0, 0];
    for (const [block, own] of ofBlock) {
      const count = times === null ? 1 : times[block];
      cases += count * own.cases;
      came += count * own.came;
    }
    return { logit, cases, came };
  };
}

/** How often each block is drawn, with replacement, in each draw. */
function drawsOfBlocks(blocks: number): Float64Array[] {
  const draw = drawsOf(DRAW_SEED);
  return Array.from({ length: DRAWS }, () => {
    const times = new Float64Array(blocks);
    for (let n = 0; n < blocks; n++) {
      const block = Math.floor(blocks * draw());
      times[block] = times[block] + 1;
    }
    return times;
  });
}

function blockSums(blocks: number, blockAt: readonly number[], values: readonly number[]): Float64Array {
  const sums = new Float64Array(blocks);
  for (const [n, value] of values.entries()) sums[blockAt[n]] = sums[blockAt[n]] + value;
  return sums;
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, index) => sum + value * b[index], 0);
}

/** The value with 5 and 95 % of its draws; draws without any forecast or event have no value. */
function interval(value: number, draws: readonly number[]): Interval {
  const sorted = draws.filter(Number.isFinite).sort((a, b) => a - b);
  if (draws.length === 0 || sorted.length < draws.length / 2) return { value, low: null, high: null };
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] as number;
  return { value, low: at(0.05), high: at(0.95) };
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
