import { PipelineError } from '../error.ts';

const ITERATIONS_MAX = 100;
const STEP_TOLERANCE = 1e-10;

export interface LogisticFit {
  readonly intercept: number;
  readonly weights: readonly number[];
}

export const sigmoid = (score: number): number => 1 / (1 + Math.exp(-score));

/**
 * Logistic regression of targets 0..1 (shares are allowed) on rows of predictors.
 *
 * Minimises the weighted cross-entropy plus ridge / 2 x the sum of squared weights; the intercept is free.
 * Throws when it does not converge in 100 steps. Source: Newton's method (iteratively reweighted least squares).
 */
export function fitLogistic(
  rows: readonly (readonly number[])[],
  targets: readonly number[],
  caseWeights: readonly number[],
  ridge: number,
): LogisticFit {
  const width = (rows[0]?.length ?? 0) + 1;
  const beta = new Float64Array(width);
  for (let iteration = 0; iteration < ITERATIONS_MAX; iteration++) {
    const gradient = new Float64Array(width);
    const hessian = Array.from({ length: width }, () => new Float64Array(width));
    rows.forEach((row, n) => {
      const x = [1, ...row];
      const p = sigmoid(x.reduce((sum, value, j) => sum + value * beta[j], 0));
      const weight = caseWeights[n];
      const error = weight * (targets[n] - p);
      const curvature = weight * Math.max(p * (1 - p), 1e-12);
      for (let j = 0; j < width; j++) {
        const xj = x[j];
        gradient[j] = gradient[j] + error * xj;
        const line = hessian[j] as Float64Array;
        for (let k = 0; k < width; k++) line[k] = line[k] + curvature * xj * x[k];
      }
    });
    for (let j = 1; j < width; j++) {
      gradient[j] = gradient[j] - ridge * beta[j];
      const line = hessian[j] as Float64Array;
      line[j] = line[j] + ridge;
    }
    const step = solve(hessian, gradient);
    let largest = 0;
    for (let j = 0; j < width; j++) {
      beta[j] = beta[j] + step[j];
      largest = Math.max(largest, Math.abs(step[j]));
    }
    if (largest < STEP_TOLERANCE) return { intercept: beta[0], weights: Array.from(beta.subarray(1)) };
  }
  throw new PipelineError('train', 'logistic regression', `no convergence in ${ITERATIONS_MAX} steps`);
}

/** Solution of a symmetric linear system by Gaussian elimination with row pivots. */
function solve(matrix: readonly Float64Array[], right: Float64Array): Float64Array {
  const n = right.length;
  const lines: Float64Array[] = matrix.map((line, j) => Float64Array.from([...line, right[j]]));
  for (let column = 0; column < n; column++) {
    let pivot = column;
    for (let j = column + 1; j < n; j++) if (Math.abs(lines[j]?.[column]) > Math.abs(lines[pivot]?.[column])) pivot = j;
    const line = lines[pivot] as Float64Array;
    lines[pivot] = lines[column] as Float64Array;
    lines[column] = line;
    if (Math.abs(line[column]) < 1e-300)
      throw new PipelineError(
        'train',
        'logistic regression',
        `predictor ${column} depends on the others, expected independent ones`,
      );
    for (let j = 0; j < n; j++) {
      if (j === column) continue;
      const other = lines[j] as Float64Array;
      const factor = other[column] / line[column];
      for (let k = column; k <= n; k++) other[k] = other[k] - factor * line[k];
    }
  }
  return Float64Array.from(lines, (line, j) => line[n] / line[j]);
}
