import test from 'ava';
import { type AcceptanceRow, formatRows, isAccepted, medianRows } from './acceptance-table.ts';

test('a figure outside its range is marked, one on the bound is not, and no figure at all is', (t) => {
  const row = (simulated: number): AcceptanceRow => ({
    what: 'length, km',
    simulated,
    target: 7.9,
    low: 5,
    high: 60,
    real: 'R2 7.9',
  });
  t.deepEqual(
    [4.9, 5, 60, 60.1, Number.NaN].map((value) => isAccepted(row(value))),
    [false, true, true, false, false],
  );
  t.is(
    formatRows([row(5), row(61)]),
    [
      '            simulated  target     accepted    real',
      'length, km       5.00    7.90  5.00 - 60.0  R2 7.9',
      'length, km       61.0    7.90  5.00 - 60.0  R2 7.9  OUTSIDE',
    ].join('\n'),
  );
});

test('several days are judged by the median of each figure', (t) => {
  const day = (...simulated: number[]): AcceptanceRow[] =>
    simulated.map((value) => ({ what: 'figure', simulated: value, target: null, low: 0, high: 9, real: '' }));
  t.deepEqual(medianRows([day(1, 9), day(3, 7), day(2, 8)]), day(2, 8));
  for (const days of [
    [day(Number.NaN), day(1), day(2)],
    [day(1), day(2), day(Number.NaN)],
  ])
    t.deepEqual(medianRows(days), day(Number.NaN), 'a day that has no figure is not passed over');
});
