/** Values on a lattice of rows and columns whose steps are `row_km` everywhere and `col_km[row]` along a row. */
export interface CellLattice {
  readonly rows: number;
  readonly cols: number;
  readonly row_km: number;
  readonly col_km: readonly number[];
}

/** Standard deviations at which a Gaussian is cut off. */
const REACH = 3;

/**
 * Gaussian mean of `values` around each cell with a standard deviation of `sigma_km`, along rows, then along columns.
 * `weights` are the weights of the cells, 0 for one without a value; the result is 0 where all weights are 0, and else
 * within the range of the values with a weight.
 */
export function gaussianMean(
  values: Float64Array,
  weights: ArrayLike<number>,
  lattice: CellLattice,
  sigma_km: number,
): Float64Array {
  const { rows, cols } = lattice;
  const kernels = lattice.col_km.map((col_km) => kernel(sigma_km / col_km));
  const down = kernel(sigma_km / lattice.row_km);
  const spreadOut = (valueAt: (k: number) => number) => {
    const along = new Float64Array(values.length);
    const result = new Float64Array(values.length);
    for (const k of values.keys()) {
      const [value, row] = [valueAt(k), Math.floor(k / cols)];
      // Most cells are 0.
      if (value !== 0) spread(along, row * cols, 1, cols, k % cols, value, kernels[row]);
    }
    for (const [k, value] of along.entries())
      if (value !== 0) spread(result, k % cols, cols, rows, Math.floor(k / cols), value, down);
    return result;
  };
  const sums = spreadOut((k) => (weights[k] > 0 ? values[k] * weights[k] : 0));
  const masses = spreadOut((k) => weights[k]);
  return sums.map((sum, k) => (masses[k] > 0 ? sum / masses[k] : 0));
}

/** Weights of the centre and of its neighbours at 1, 2, ... steps on one side; both sides together sum to 1. */
function kernel(sigma_steps: number): Float64Array {
  const reach = Math.ceil(REACH * sigma_steps);
  const weights = Float64Array.from({ length: reach + 1 }, (_, step) => Math.exp(-0.5 * (step / sigma_steps) ** 2));
  const sum = weights.reduce((total, weight) => total + 2 * weight, -1);
  return weights.map((weight) => weight / sum);
}

/** Adds a value, weighted, to the cells around it on a line of `length` cells from `origin` in steps of `stride`. */
function spread(
  result: Float64Array,
  origin: number,
  stride: number,
  length: number,
  at: number,
  value: number,
  weights: Float64Array,
): void {
  const reach = weights.length - 1;
  for (let k = Math.max(0, at - reach); k <= Math.min(length - 1, at + reach); k++)
    result[origin + k * stride] += value * weights[Math.abs(k - at)];
}
