/** A number as answers show it, rounded half up to so many decimals; never -0. */
export function rounded(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale + 0;
}
