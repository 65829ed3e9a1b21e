import test from 'ava';
import { damageEstimate } from '../../../api/rules/damage.ts';
import { forecastConfidence } from '../../../api/rules/forecast-confidence.ts';
import { trendOfYears } from '../../../api/rules/years-trend.ts';

for (const [before, recent, trend] of [
  [10, 10, 'stable'],
  [10, 12, 'stable'],
  [10, 13, 'increasing'],
  [10, 8, 'stable'],
  [10, 7, 'decreasing'],
  [0, 1, 'increasing'],
  [0, 0, 'stable'],
] as const)
  test(`${recent} hail days in two years after ${before} in the two before are ${trend}`, (t) => {
    t.is(trendOfYears({ days: before, dates: 730 }, { days: recent, dates: 730 }), trend);
  });

test('hail days are held against the dates that there are data of', (t) => {
  t.is(trendOfYears({ days: 20, dates: 1460 }, { days: 10, dates: 730 }), 'stable');
});

test('less than a year of dates on either side is no trend', (t) => {
  t.is(trendOfYears({ days: 1, dates: 364 }, { days: 40, dates: 730 }), 'stable');
  t.is(trendOfYears({ days: 40, dates: 730 }, { days: 1, dates: 364 }), 'stable');
});

for (const [mm, word] of [
  [18.9, 'none'],
  [19, 'minor'],
  [25, 'moderate'],
  [38, 'significant'],
  [62.9, 'significant'],
  [63, 'severe'],
] as const)
  test(`the damage of ${mm} mm is ${word} in the earlier variant`, (t) => t.is(damageEstimate(mm), word));

test('the confidence of a forecast falls evenly from .9 in the first hour to .4 in the 48th', (t) => {
  t.deepEqual([1, 24.5, 48].map(forecastConfidence), [0.9, 0.65, 0.4]);
});
