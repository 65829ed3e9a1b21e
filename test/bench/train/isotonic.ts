import type { Curve } from '../../../pipeline/detect/predict.ts';

/** Range of the calibrated probabilities: never certainty. */
const PROBABILITY_MIN = 0.005;
const PROBABILITY_MAX = 0.995;

interface Block {
  readonly sum: number;
  readonly weight: number;
  readonly items: number;
}

/**
 * Closest non-decreasing sequence in the weighted least-squares sense.
 * Source: pool adjacent violators (Ayer et al. 1955).
 */
function poolAdjacent(values: readonly number[], weights: readonly number[]): number[] {
  const blocks: Block[] = [];
  values.forEach((value, n) => {
    const weight = weights[n];
    let block: Block = { sum: value * weight, weight, items: 1 };
    for (let last = blocks.at(-1); last && last.sum / last.weight > block.sum / block.weight; last = blocks.at(-1)) {
      blocks.pop();
      block = { sum: last.sum + block.sum, weight: last.weight + block.weight, items: last.items + block.items };
    }
    blocks.push(block);
  });
  return blocks.flatMap(({ sum, weight, items }) => new Array<number>(items).fill(sum / weight));
}

/**
 * Calibration curve from scores to the mean targets 0..1, with at most `knots` knots.
 * Cases are sorted by score and grouped by equal weight before they are pooled.
 */
export function fitCurve(
  scores: readonly number[],
  targets: readonly number[],
  weights: readonly number[],
  knots: number,
): Curve {
  const order = scores.map((_, n) => n).sort((a, b) => scores[a] - scores[b] || a - b);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const groups = Array.from({ length: knots }, () => ({ score: 0, target: 0, weight: 0 }));
  let before = 0;
  for (const n of order) {
    const weight = weights[n];
    const group = groups[Math.min(knots - 1, Math.floor((knots * (before + weight / 2)) / total))];
    before += weight;
    if (!group) continue;
    group.score += weight * scores[n];
    group.target += weight * targets[n];
    group.weight += weight;
  }
  const filled = groups.filter(({ weight }) => weight > 0);
  const pooled = poolAdjacent(
    filled.map(({ target, weight }) => target / weight),
    filled.map(({ weight }) => weight),
  );
  return blockCentres(
    filled.map(({ score, weight }) => ({ score: score / weight, weight })),
    pooled,
  );
}

/** One knot per run of equal probability, at its mean score. */
function blockCentres(groups: readonly { score: number; weight: number }[], pooled: readonly number[]): Curve {
  const score: number[] = [];
  const probability: number[] = [];
  for (let from = 0; from < pooled.length; ) {
    let to = from;
    let sum = 0;
    let weight = 0;
    for (; to < pooled.length && pooled[to] === pooled[from]; to++) {
      const group = groups[to] as { score: number; weight: number };
      sum += group.score * group.weight;
      weight += group.weight;
    }
    score.push(sum / weight);
    probability.push(Math.min(PROBABILITY_MAX, Math.max(PROBABILITY_MIN, pooled[from])));
    from = to;
  }
  return { score, probability };
}
