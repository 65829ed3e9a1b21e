import test from 'ava';
import fc from 'fast-check';
import {
  conditionalSizeMm,
  hailGivenStorm,
  publishedSize,
  riskCategory,
  riskScore,
  stormProbability,
} from '../../../pipeline/forecast/hail-law.ts';

const known = (min: number, max: number) => fc.double({ min, max, noNaN: true });

for (const [helicity, ship, hail_mm, cape, expected] of [
  [0, 0, 0, 0, 0.154],
  [0, 0, 0, 1000, 0.25],
  [75, 1, 0, 2000, 0.502],
  [75, 1, 30, 2000, 0.692],
  [150, 2, 50, 3000, 0.853],
  [300, 4, 50, 4000, 0.929],
] as const)
  test(`helicity ${helicity}, SHIP ${ship}, stones of ${hail_mm} mm and CAPE ${cape} make hail from a storm ${expected} likely`, (t) => {
    const p = hailGivenStorm({ updraft_helicity_m2_s2: helicity, ship, hail_mm, cape_j_kg: cape });
    t.is(Math.round(p * 1000) / 1000, expected);
  });

for (const [hail_mm, ship, expected] of [
  [25, 0, 25],
  [25, 1, 29],
  [50, 2, 46.1],
  [75, 4, 67.1],
  [100, 4, 77.5],
] as const)
  test(`stones of ${hail_mm} mm in the model and SHIP ${ship} make a median of ${expected} mm`, (t) => {
    t.is(Math.round((conditionalSizeMm({ hail_mm, ship }) ?? 0) * 10) / 10, expected);
  });

test('a size comes from what there is: one of the two alone, null without both', (t) => {
  t.is(conditionalSizeMm({ hail_mm: 40, ship: null }), 40);
  t.is(conditionalSizeMm({ hail_mm: null, ship: 1 }), 33.75);
  t.is(conditionalSizeMm({ hail_mm: null, ship: null }), null);
});

test('sizes stay between 10 and 110 mm', (t) => {
  t.is(conditionalSizeMm({ hail_mm: 0, ship: 0 }), 10);
  t.is(conditionalSizeMm({ hail_mm: 300, ship: 40 }), 110);
});

test('without echoes and without helicity nothing is known of storms: null, not zero', (t) => {
  t.is(stormProbability({ reflectivity_dbz: null, updraft_helicity_m2_s2: null }), null);
});

test('air without CAPE and without echo has a chance of at most .01', (t) => {
  const storm = stormProbability({ reflectivity_dbz: -20, updraft_helicity_m2_s2: 0 }) ?? 1;
  const hail = hailGivenStorm({ updraft_helicity_m2_s2: 0, ship: 0, hail_mm: 0, cape_j_kg: 0 });
  t.true(storm * hail <= 0.01, `${storm * hail}`);
});

test('more echo, rotation, stones or SHIP never lowers a chance or a size, and chances lie between 0 and 1', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.record({
          reflectivity_dbz: known(-30, 80),
          updraft_helicity_m2_s2: known(-500, 1000),
          hail_mm: known(0, 200),
          cape_j_kg: known(0, 6000),
          ship: known(0, 10),
        }),
        fc.constantFrom('reflectivity_dbz', 'updraft_helicity_m2_s2', 'hail_mm', 'cape_j_kg', 'ship'),
        known(0, 100),
        (low, name, more) => {
          const high = { ...low, [name]: low[name] + more };
          const chances = [low, high].map((each) => (stormProbability(each) ?? 0) * hailGivenStorm(each)) as [
            number,
            number,
          ];
          const sizes = [low, high].map((each) => conditionalSizeMm(each) ?? 0) as [number, number];
          return chances[0] >= 0 && chances[1] <= 1 && chances[1] >= chances[0] && sizes[1] >= sizes[0];
        },
      ),
    ),
  );
});

for (const [p, size_mm, score] of [
  [0.05, 25, 15],
  [0.15, 25, 38],
  [0.15, 50, 48],
  [0.3, 25, 62],
  [0.3, 50, 72],
  [0.45, 50, 86],
  [0.6, 75, 96],
] as const)
  test(`a chance of ${p} of ${size_mm} mm scores ${score}`, (t) => t.is(riskScore(p, size_mm), score));

test('a score without a size is that of 25 mm, and no chance scores 0', (t) => {
  t.is(riskScore(0.3, null), 62);
  t.is(riskScore(0, null), 0);
});

for (const [p, word] of [
  [0, 'minimal'],
  [0.0199, 'minimal'],
  [0.02, 'low'],
  [0.05, 'moderate'],
  [0.15, 'elevated'],
  [0.3, 'high'],
  [0.45, 'severe'],
] as const)
  test(`a chance of ${p} in ordinary air is ${word}`, (t) => {
    t.is(riskCategory(p, null), word);
    t.is(riskCategory(p, 1.49), word);
  });

test('SHIP of 1.5 lifts the category by one from a chance of .10 on, never above severe', (t) => {
  t.is(riskCategory(0.0999, 1.5), 'moderate');
  t.is(riskCategory(0.1, 1.5), 'elevated');
  t.is(riskCategory(0.3, 2), 'severe');
  t.is(riskCategory(0.9, 9), 'severe');
});

test('a size is published from a chance of .02 on', (t) => {
  t.is(publishedSize(0.0199, 40), null);
  t.is(publishedSize(0.02, 40), 40);
  t.is(publishedSize(0.5, null), null);
});
