/** Coefficients of the rational approximations: centre, centre's denominator, tails, tails' denominator. */
const CENTRE = [
  -39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716, 2.506628277459239,
];
const CENTRE_BELOW = [
  -54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572, 1,
];
const TAIL = [
  -0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968,
  2.938163982698783,
];
const TAIL_BELOW = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1];
/** Below this probability, and above its complement, the tails are used. */
const TAIL_FROM = 0.02425;

/**
 * Quantile of the standard normal distribution for a probability between 0 and 1, both excluded; error below 1.2e-9.
 * Source: Acklam 2003, rational approximation.
 */
export function normalQuantile(probability: number): number {
  if (probability < TAIL_FROM) {
    const q = Math.sqrt(-2 * Math.log(probability));
    return polynomial(TAIL, q) / polynomial(TAIL_BELOW, q);
  }
  if (probability > 1 - TAIL_FROM) return -normalQuantile(1 - probability);
  const q = probability - 0.5;
  return (q * polynomial(CENTRE, q * q)) / polynomial(CENTRE_BELOW, q * q);
}

/** Coefficients with the highest power first. */
function polynomial(coefficients: readonly number[], at: number): number {
  return coefficients.reduce((sum, coefficient) => sum * at + coefficient, 0);
}

/** Element of the van der Corput sequence of a base, 0..1: the digits of the index behind the point, in reverse. Index 0 gives 0. */
export function radicalInverse(index: number, base: number): number {
  let inverse = 0;
  let fraction = 1 / base;
  for (let rest = index; rest > 0; rest = Math.floor(rest / base)) {
    inverse += (rest % base) * fraction;
    fraction /= base;
  }
  return inverse;
}
