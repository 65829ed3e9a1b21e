/** Median of a non-empty list; of an even number the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  return sorted.length % 2 ? upper : (sorted[middle - 1] + upper) / 2;
}
