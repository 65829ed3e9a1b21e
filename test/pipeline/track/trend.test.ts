import test from 'ava';
import { growthRate, nextTrend, recentSizes, type SizeAt, STEADY, trendWord } from '../../../pipeline/track/trend.ts';
import type { Trend } from '../../../schemas/tables/tracks.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';

const START = Date.parse('2026-05-01T20:00:00Z');

/** Sizes two minutes apart. */
function every2Minutes(sizes: readonly number[]): SizeAt[] {
  return sizes.map((size_mm, i) => ({ scan_time: START + 2 * i * MS_PER_MIN, size_mm }));
}

/** The words published along a series of sizes, by the rules of a track. */
function words(sizes: readonly number[]): Trend[] {
  let state = STEADY;
  const all = every2Minutes(sizes);
  return all.map(({ scan_time, size_mm }, i) => {
    const growth = growthRate(recentSizes(all.slice(0, i + 1), scan_time));
    state = nextTrend(state, trendWord(growth, size_mm));
    return state.word;
  });
}

/** Uniform numbers in -1..1 from a fixed generator. */
function noise(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

for (const slope of [-2, -0.3, 0, 0.25, 1.5])
  test(`a ramp of ${slope} mm/min has that growth rate`, (t) => {
    const growth = growthRate(every2Minutes([0, 1, 2, 3, 4, 5].map((i) => 30 + slope * 2 * i)));
    t.true(Math.abs((growth as number) - slope) < 1e-12);
  });

test('one wild scan does not turn the growth rate', (t) => {
  t.is(growthRate(every2Minutes([20, 21, 22, 80, 24, 25])), 0.5);
});

test('there is no growth rate before four scans', (t) => {
  t.is(growthRate(every2Minutes([10, 20, 30])), null);
  t.is(growthRate(every2Minutes([10, 20, 30, 40])), 5);
});

test('growth looks back ten minutes, the tenth included', (t) => {
  const sizes = every2Minutes([1, 2, 3, 4, 5, 6, 7]);
  t.deepEqual(
    recentSizes(sizes, START + 12 * MS_PER_MIN).map((size) => size.size_mm),
    [2, 3, 4, 5, 6, 7],
  );
});

for (const [growth, size_mm, word] of [
  [-1, 40, 'rapidly_weakening'],
  [-0.999, 40, 'weakening'],
  [-0.25, 40, 'weakening'],
  [-0.249, 40, 'steady'],
  [0.249, 40, 'steady'],
  [0.25, 40, 'intensifying'],
  [0.999, 40, 'intensifying'],
  [1, 19, 'rapidly_intensifying'],
  [1, 18.9, 'intensifying'],
  [null, 40, 'steady'],
] as const)
  test(`growth ${growth} mm/min at ${size_mm} mm calls for ${word}`, (t) => t.is(trendWord(growth, size_mm), word));

test('the word changes only when two scans in a row call for the same new one', (t) => {
  const once = nextTrend(STEADY, 'weakening');
  t.is(once.word, 'steady');
  t.is(nextTrend(once, 'weakening').word, 'weakening');
  t.is(nextTrend(once, 'intensifying').word, 'steady');
  t.is(nextTrend(nextTrend(once, 'steady'), 'weakening').word, 'steady');
});

for (const [amplitude, share] of [
  [1.5, 0.97],
  [2, 0.93],
] as const)
  test(`30 mm with +-${amplitude} mm of noise stays steady in ${share * 100} % of scans`, (t) => {
    const next = noise(7);
    const run = words(Array.from({ length: 5000 }, () => 30 + amplitude * next()));
    t.true(run.filter((word) => word === 'steady').length >= share * run.length);
  });

test('a step of 15 mm makes at most one rise and one return', (t) => {
  const run = words([...Array<number>(15).fill(20), ...Array<number>(15).fill(35)]);
  const changes = run.filter((word, i) => i > 0 && word !== run[i - 1]);
  t.true(changes.length <= 2);
  t.is(run.at(-1), 'steady');
});
