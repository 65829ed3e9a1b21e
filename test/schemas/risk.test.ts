import test from 'ava';
import { riskTier } from '../../schemas/risk.ts';

for (const [score, tier] of [
  [0, 'very_low'],
  [9, 'very_low'],
  [10, 'low'],
  [29, 'low'],
  [30, 'moderate'],
  [54, 'moderate'],
  [55, 'high'],
  [79, 'high'],
  [80, 'very_high'],
  [100, 'very_high'],
] as const)
  test(`a score of ${score} is a ${tier} risk`, (t) => t.is(riskTier(score), tier));

test('what is no score has no tier', (t) => {
  for (const score of [-1, Number.NaN]) t.throws(() => riskTier(score), { message: /expected 0 to 100/ });
});
