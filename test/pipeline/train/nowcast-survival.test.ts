import test from 'ava';
import { fitSurvival, readSizes, survivalCases } from '../../../pipeline/train/nowcast-survival.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const MIN = 60_000;

test('an object with hail makes a case with every later file of its day, and is gone where it has no more 19 mm', (t) => {
  const day = [
    {
      time_ms: 0,
      sizes_mm: new Map([
        ['a', 25],
        ['b', 18.9],
      ]),
    },
    {
      time_ms: 5 * MIN,
      sizes_mm: new Map([
        ['a', 19],
        ['b', 40],
      ]),
    },
    { time_ms: 10 * MIN, sizes_mm: new Map([['b', 10]]) },
  ];
  t.deepEqual(survivalCases([day]), [
    { object: '0 a', size_mm: 25, minutes: 5, lives: true },
    { object: '0 a', size_mm: 25, minutes: 10, lives: false },
    { object: '0 a', size_mm: 19, minutes: 5, lives: false },
    { object: '0 b', size_mm: 40, minutes: 5, lives: false },
  ]);
});

test('objects of two days are never one, though their numbers are', (t) => {
  const files = [0, 1].map((n) => ({ time_ms: n * MIN, sizes_mm: new Map([['7', 30]]) }));
  t.deepEqual(
    survivalCases([files, files]).map(({ object }) => object),
    ['0 7', '1 7'],
  );
});

sharedTest(
  'real storm objects give 516 cases of 22, and a survival that hangs on size far more than on the lead',
  (t) => {
    const { dates, days } = readSizes(sharedData('probsevere'));
    t.deepEqual(dates, ['2021-10-11', '2022-07-20']);
    const { size, lead, material } = fitSurvival(survivalCases(days), 'R5');
    t.deepEqual(material, { source: 'R5', objects: 22, cases: 516, longest_min: 22 });
    t.true(Math.abs(size - 6.11) < 0.05 && Math.abs(lead + 0.136) < 0.002);
  },
);
