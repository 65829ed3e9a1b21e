import { PipelineError } from '../../../pipeline/error.ts';

const ITERATIONS_MAX = 100;
/** Newton decrement at convergence: twice the largest further decrease of the loss. Quadratic convergence leaves an error far below it. */
const DECREMENT_MIN = 1e-16;
/** Relative rounding error of a loss summed over many cases. */
const LOSS_ROUNDING = 1e-10;
/** Smallest fraction to which a step is halved. */
const SHARE_MIN = 1e-9;

export const sigmoid = (score: number): number => 1 / (1 + Math.exp(-score));

/**
 * Logistic regression of targets 0..1 (shares are allowed) on rows of predictors.
 *
 * Minimises the weighted cross-entropy plus ridge / 2 x the sum of squared weights; the intercept is free. A ridge above 0
 * keeps the weights finite where predictors separate the cases.
 * Throws when all targets are 0 or all are 1, and when it does not converge in 100 steps.
 * Source: Newton's method (iteratively reweighted least squares) with step halving.
 */
export function fitLogistic(
  rows: readonly (readonly number[])[],
  targets: readonly number[],
  caseWeights: readonly number[],
  ridge: number,
): { readonly intercept: number; readonly weights: readonly number[] } {
  if (!targets.some((target) => target > 0) || !targets.some((target) => target < 1))
    throw new PipelineError(
      'train',
      'logistic regression',
      `${targets.length} cases with ${targets.filter((target) => target > 0).length} true, expected true and false ones`,
    );
  const xs = rows.map((row) => [1, ...row]);
  const cases = { xs, targets, caseWeights, ridge };
  let beta = new Float64Array(xs[0]?.length ?? 1);
  for (let iteration = 0; iteration < ITERATIONS_MAX; iteration++) {
    const { gradient, hessian } = derivatives(cases, beta);
    const step = solve(hessian, gradient);
    const full = stepped(beta, step, 1);
    if (scoreOf(gradient, step) < DECREMENT_MIN) return { intercept: full[0], weights: Array.from(full.subarray(1)) };
    const highest = lossAt(cases, beta) * (1 + LOSS_ROUNDING);
    let next = full;
    for (let share = 0.5; lossAt(cases, next) > highest && share >= SHARE_MIN; share /= 2)
      next = stepped(beta, step, share);
    beta = next;
  }
  throw new PipelineError('train', 'logistic regression', `no convergence in ${ITERATIONS_MAX} steps`);
}

interface Cases {
  /** Predictors after a 1 for the intercept. */
  readonly xs: readonly (readonly number[])[];
  readonly targets: readonly number[];
  readonly caseWeights: readonly number[];
  readonly ridge: number;
}

/** Gradient and negative second derivatives of the log-likelihood, ridge included. */
function derivatives({ xs, targets, caseWeights, ridge }: Cases, beta: Float64Array) {
  const width = beta.length;
  const gradient = new Float64Array(width);
  const hessian = Array.from({ length: width }, () => new Float64Array(width));
  for (const [n, x] of xs.entries()) {
    const p = sigmoid(scoreOf(x, beta));
    const weight = caseWeights[n];
    const error = weight * (targets[n] - p);
    const curvature = weight * Math.max(p * (1 - p), 1e-12);
    for (let j = 0; j < width; j++) {
      const xj = x[j];
      gradient[j] = gradient[j] + error * xj;
      const line = hessian[j];
      for (let k = 0; k < width; k++) line[k] = line[k] + curvature * xj * x[k];
    }
  }
  for (let j = 1; j < width; j++) {
    gradient[j] = gradient[j] - ridge * beta[j];
    const line = hessian[j];
    line[j] = line[j] + ridge;
  }
  return { gradient, hessian };
}

function lossAt({ xs, targets, caseWeights, ridge }: Cases, beta: Float64Array): number {
  const penalty = beta.subarray(1).reduce((sum, value) => sum + (ridge / 2) * value * value, 0);
  return xs.reduce((sum, x, n) => sum + caseWeights[n] * crossEntropy(scoreOf(x, beta), targets[n]), penalty);
}

function scoreOf(x: ArrayLike<number>, beta: Float64Array): number {
  let sum = 0;
  for (let j = 0; j < beta.length; j++) sum += x[j] * beta[j];
  return sum;
}

function stepped(beta: Float64Array, step: Float64Array, share: number): Float64Array<ArrayBuffer> {
  return Float64Array.from(beta, (value, j) => value + share * step[j]);
}

/** Cross-entropy of a score and a target, without overflow. */
function crossEntropy(score: number, target: number): number {
  return Math.max(score, 0) + Math.log1p(Math.exp(-Math.abs(score))) - target * score;
}

/** Solution of a symmetric linear system by Gaussian elimination with row pivots. */
function solve(matrix: readonly Float64Array[], right: Float64Array): Float64Array {
  const n = right.length;
  const lines: Float64Array[] = matrix.map((line, j) => Float64Array.from([...line, right[j]]));
  for (let column = 0; column < n; column++) {
    let pivot = column;
    for (let j = column + 1; j < n; j++) if (Math.abs(lines[j]?.[column]) > Math.abs(lines[pivot]?.[column])) pivot = j;
    const line = lines[pivot];
    lines[pivot] = lines[column];
    lines[column] = line;
    if (Math.abs(line[column]) < 1e-300)
      throw new PipelineError(
        'train',
        'logistic regression',
        `predictor ${column} depends on the others, expected independent ones`,
      );
    for (let j = 0; j < n; j++) {
      if (j === column) continue;
      const other = lines[j];
      const factor = other[column] / line[column];
      for (let k = column; k <= n; k++) other[k] = other[k] - factor * line[k];
    }
  }
  return Float64Array.from(lines, (line, j) => line[n] / line[j]);
}
