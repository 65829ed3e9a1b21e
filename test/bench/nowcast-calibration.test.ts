import test from 'ava';
import { onCurve } from '../../api/rules/nowcast.ts';
import { fitCalibration } from './nowcast-calibration.ts';

/** Cases with these raw probabilities, of which the first so many of each came true. */
function cases(...blocks: readonly { raw: number; cases: number; struck: number }[]) {
  const each = blocks.flatMap(({ raw, cases, struck }) =>
    Array.from({ length: cases }, (_, index) => ({ raw, struck: index < struck })),
  );
  return fitCalibration(
    each.map(({ raw }) => raw),
    each.map(({ struck }) => struck),
  );
}

test('a calibration gives each raw probability how often it came true', (t) => {
  const curve = cases(
    { raw: 0, cases: 1000, struck: 2 },
    { raw: 0.3, cases: 400, struck: 80 },
    { raw: 0.6, cases: 400, struck: 320 },
  );
  t.deepEqual(curve, { raw: [0, 0.3, 0.6], probability: [0.002, 0.2, 0.8] });
});

test('equal raw probabilities share a knot, in whatever order they came true', (t) => {
  t.deepEqual(cases({ raw: 0, cases: 3000, struck: 0 }, { raw: 0, cases: 3000, struck: 30 }), {
    raw: [0],
    probability: [0.005],
  });
});

test('a raw probability that came true less often than a lower one is pooled with it', (t) => {
  const curve = cases({ raw: 0.2, cases: 400, struck: 120 }, { raw: 0.4, cases: 400, struck: 80 });
  t.deepEqual(curve, { raw: [0.3], probability: [0.25] });
});

test('fewer than 200 cases never make a knot of their own', (t) => {
  const curve = cases({ raw: 0.1, cases: 400, struck: 40 }, { raw: 0.9, cases: 199, struck: 199 });
  t.is(curve.raw.length, 1);
  t.is(curve.probability[0], Math.round((10_000 * 239) / 599) / 10_000);
});

test('what never came true is said with .0005, which an answer of three decimals does not show as 0', (t) => {
  const curve = cases({ raw: 0, cases: 20_000, struck: 0 }, { raw: 0.5, cases: 5000, struck: 2500 });
  t.is(onCurve(curve, 0), 0.0005);
  t.is(Math.round(1000 * onCurve(curve, 0)) / 1000, 0.001);
});
