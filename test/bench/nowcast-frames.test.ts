import test from 'ava';
import { UsageError } from '../../pipeline/error.ts';
import { NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import { drawTenths } from '../support/data/draw.ts';
import { hasHailMask, patternField } from '../support/data/hail-mask.ts';
import { isSeen } from './nowcast-cases.ts';
import {
  agesMin,
  cadenceMin,
  eveningCases,
  eveningsOf,
  type RainFrame,
  standInsOf,
  thinned,
} from './nowcast-frames.ts';

const START = Date.UTC(2015, 4, 15, 15, 45);
const MIN_MS = 60_000;

/** A core of 12 x 12 pixels of 60 mm/h in a window, so many columns from its west. */
function core(east: number, row0 = 1500) {
  return drawTenths(
    Array.from({ length: 60 }, (_, row) =>
      Array.from({ length: 200 }, (_, col) => (Math.abs(row - 30) < 6 && Math.abs(col - 20 - east) < 6 ? 600 : 0)),
    ),
    { row0 },
  );
}

/** Frames so many minutes apart, with a core that goes east by a column a minute. */
function framesEvery(every_min: number, count: number, from_min = 0): RainFrame[] {
  return Array.from({ length: count }, (_, n) => ({
    scan_time: START + (from_min + n * every_min) * MIN_MS,
    rates: core(n * every_min),
  }));
}

for (const [cadence_min, ages] of [
  [2, [0, 2, 4]],
  [5, [0, 5]],
  [10, [0, 5]],
] as const)
  test(`frames of ${cadence_min} minutes are asked about at ages at which they show what comes`, (t) => {
    const frames = framesEvery(cadence_min, 30);
    t.is(cadenceMin(frames), cadence_min);
    t.deepEqual(agesMin(cadence_min), [...ages]);
    const times_ms = frames.map(({ scan_time }) => scan_time);
    for (const { minutes } of NOWCAST_LEADS)
      t.true(
        ages.some((age_min) => isSeen(times_ms, START, START + (age_min + minutes) * MIN_MS)),
        `${minutes}`,
      );
  });

test('the end of a lead is seen when a frame lies in its last two minutes, give or take half a minute', (t) => {
  const seen = (times_min: readonly number[], end_min: number) => isSeen(times_min, 0, end_min * MIN_MS);
  const at = (...minutes: number[]) => minutes.map((min) => min * MIN_MS);
  t.true(seen(at(0, 10, 20), 20));
  t.true(seen(at(0, 10, 20.4), 20));
  t.false(seen(at(0, 10, 20.6), 20));
  t.true(seen(at(0, 10, 13), 15));
  t.false(seen(at(0, 10, 12.9), 15));
});

test('what falls in a gap of more than ten minutes is not known', (t) => {
  t.true(
    isSeen(
      [0, 10.2, 20].map((min) => min * MIN_MS),
      0,
      20 * MIN_MS,
    ),
  );
  t.false(
    isSeen(
      [0, 11, 20].map((min) => min * MIN_MS),
      0,
      20 * MIN_MS,
    ),
  );
});

test('cases of 10-minute frames know 15 and 45 minutes from half-way, 30 minutes from a frame', (t) => {
  const [evening] = eveningsOf(framesEvery(10, 9));
  const cases = eveningCases(evening as NonNullable<typeof evening>, 'cores');
  const known = (key: 't15' | 't30' | 't45') => cases.filter(({ struck }) => struck[key] !== null).length;
  t.true(known('t15') > 0 && known('t30') > 0 && known('t45') > 0);
  t.true(cases.every(({ struck }) => (struck.t15 === null) !== (struck.t30 === null) || struck.t30 === null));
  t.true(cases.some(({ struck }) => struck.t15) && cases.some(({ struck }) => struck.t15 === false));
});

test('an evening ends at a gap of more than 30 minutes', (t) => {
  const one = eveningsOf([...framesEvery(5, 3), ...framesEvery(5, 3, 40)]);
  t.deepEqual(
    one.map(({ name, sequences }) => [name, sequences.map(({ length }) => length)]),
    [['2015-05-15', [6]]],
  );
  const two = eveningsOf([...framesEvery(5, 3), ...framesEvery(5, 3, 41)]);
  t.deepEqual(
    two.map(({ name }) => name),
    ['2015-05-15 15:45', '2015-05-15 16:26'],
  );
});

test('folders that continue each other are one evening, and other windows at that time belong to it as a sequence of their own', (t) => {
  const west = framesEvery(2, 4);
  const later = framesEvery(2, 4, 8);
  const elsewhere = framesEvery(2, 4).map(({ scan_time }) => ({ scan_time, rates: core(0, 500) }));
  t.deepEqual(
    eveningsOf([...later, ...elsewhere, ...west]).map(({ sequences }) => sequences.map(({ length }) => length)),
    [[4, 8]],
  );
});

test('a frame that comes twice is an error that names its time', (t) => {
  t.throws(() => eveningsOf([...framesEvery(5, 2), ...framesEvery(5, 1)]), {
    instanceOf: UsageError,
    message: '--real: two frames of 2015-05-15T15:45:00Z on one grid, expected one of each time',
  });
});

test('thinned frames are at least so far apart, jitter aside', (t) => {
  const minutes = (frames: readonly RainFrame[]) => frames.map(({ scan_time }) => (scan_time - START) / MIN_MS);
  t.deepEqual(minutes(thinned(framesEvery(2, 12), 10)), [0, 10, 20]);
  t.deepEqual(minutes(thinned(framesEvery(2, 3), 0)), [0, 2, 4]);
  const late = framesEvery(2, 11).map((frame, n) => ({
    ...frame,
    scan_time: frame.scan_time + (n === 0 ? 20_000 : 0),
  }));
  t.deepEqual(minutes(thinned(late, 10)).map(Math.round), [0, 10, 20]);
});

/** A row of rates in tenths. */
function row(tenths: readonly number[]) {
  return drawTenths([tenths]);
}

test('the hail cap is a mask where it stands out among its neighbours', (t) => {
  t.true(hasHailMask([row([538, 538, 538, 538, 538, 536, 541])]));
  t.false(hasHailMask([row([534, 535, 536, 537, 538, 539, 540, 541, 542, 543])]), 'as common as its neighbours');
  t.false(hasHailMask([row([538, 538, 538, 600, 300])]), 'a class of a field of few classes');
  t.false(hasHailMask([row([536, 600, 300])]));
});

test('an evening without a mask of hail is read as cores and rain only', (t) => {
  const [evening] = eveningsOf(framesEvery(5, 3));
  t.deepEqual(standInsOf(evening as NonNullable<typeof evening>), ['cores', 'rain']);
});

test('the pattern of rain leaves out light rain', (t) => {
  t.deepEqual([...patternField(row([49, 50, 600])).tenths], [50, 600]);
});
