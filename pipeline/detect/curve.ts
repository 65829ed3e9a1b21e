/** A rising curve through knots: constant before the first and after the last, straight between two. */
export interface Curve {
  readonly score: readonly number[];
  readonly probability: readonly number[];
}

/** Probability on a curve. */
export function onCurve({ score, probability }: Curve, at: number): number {
  const upper = score.findIndex((knot) => knot >= at);
  if (upper === 0) return probability[0];
  if (upper < 0) return probability.at(-1) as number;
  const low = score[upper - 1];
  const share = (at - low) / (score[upper] - low);
  const from = probability[upper - 1];
  return from + (probability[upper] - from) * share;
}
