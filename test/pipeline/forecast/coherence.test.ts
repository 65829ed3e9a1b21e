import test from 'ava';
import fc from 'fast-check';
import { hourlyDisaggregation } from '../../../pipeline/forecast/diurnal-climatology.ts';
import { coherentHours, contradiction, type DayHours } from '../../../pipeline/forecast/outlook.ts';

const DAY = 24;
const HOUR = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 0.02, noNaN: true }));
const WHOLE = fc.array(HOUR, { minLength: DAY, maxLength: DAY });
const PARTIAL = fc.array(fc.option(HOUR, { nil: null }), { minLength: DAY, maxLength: DAY });
/** A day as it is published: a percent with one decimal. */
const PERCENT = fc.integer({ min: 0, max: 1000 }).map((tenths) => tenths / 10);

const rounded = (hours: DayHours) => hours.map((p) => (p === null ? null : Math.round(1000 * p) / 1000));
const hoursOf = (first: readonly (number | null)[], rest: number | null = 0.01) =>
  Array.from({ length: DAY }, (_, k) => first[k] ?? rest);
const holds = <Values>(property: fc.IProperty<Values>) => fc.assert(property, { numRuns: 1000 });

test('no hour is likelier than its day, and no whole day likelier than its hours together, after the shift', (t) => {
  t.notThrows(() =>
    holds(
      fc.property(PERCENT, fc.oneof(WHOLE, PARTIAL), (pct, hours) => {
        const shifted = coherentHours(pct / 100, hours);
        const told = shifted.filter((p) => p !== null);
        const none = told.reduce((product, p) => product * (1 - p), 1);
        return told.every((p) => p <= pct / 100 + 1e-9) && (told.length < DAY || 100 * (1 - none) >= pct - 1e-6);
      }),
    ),
  );
});

test('hours that agree with their day stay as the model has them, with three decimals', (t) => {
  t.notThrows(() =>
    holds(
      fc.property(PERCENT, PARTIAL, (pct, hours) => {
        const own = rounded(hours);
        if (contradiction(pct / 100, own) !== null) return true;
        return coherentHours(pct / 100, hours).every((p, k) => p === own[k]);
      }),
    ),
  );
});

test('the shift keeps the order of the hours, and what is not known stays unknown', (t) => {
  t.notThrows(() =>
    holds(
      fc.property(PERCENT, PARTIAL, (pct, hours) => {
        const shifted = coherentHours(pct / 100, hours);
        return hours.every((p, k) => {
          const s = shifted[k] ?? null;
          if (p === null || s === null) return p === null && s === null;
          return hours.every((other, j) => other === null || other > p || (shifted[j] ?? 0) <= s);
        });
      }),
    ),
  );
});

test('two hours that differ in the last bit of a floating-point number keep their order', (t) => {
  const hours = hoursOf([0.01999999999999996, 0.019999999999999962], 0);
  const shifted = coherentHours(0.991, hours);
  t.true((shifted[0] ?? 1) <= (shifted[1] ?? 0), `${shifted[0]} and ${shifted[1]}`);
});

test('hours are shifted no further than it takes: the likeliest hour comes to the day itself', (t) => {
  const shifted = coherentHours(0.171, hoursOf([0.05, 0.312, 0.2]));
  t.is(shifted[1], 0.171);
  // Log-odds of 31.2 % fall by .788 to those of 17.1 %; 20 % with them.
  t.is(shifted[2], 0.102);
});

test('hours that are together less likely than their day are lifted until they reach it', (t) => {
  const shifted = coherentHours(0.3, hoursOf([0.05]));
  const together = 1 - shifted.reduce((none: number, p) => none * (1 - (p ?? 0)), 1);
  t.true(together >= 0.3 && together < 0.32, `${together}`);
  t.true((shifted[0] ?? 0) > 0.05 && (shifted[1] ?? 0) > 0.01);
});

test('hours of which the model has nothing are lifted, too, when experts expect a day with hail', (t) => {
  const shifted = coherentHours(0.01, hoursOf([], 0));
  t.is(contradiction(0.01, shifted), null);
  t.is(new Set(shifted).size, 1);
});

test('a day of which not all hours are known bounds its hours from above alone: the hail may come in the others', (t) => {
  const some = hoursOf([0.05, 0.02], null);
  t.deepEqual(coherentHours(0.6, some), some);
  t.is(coherentHours(0.01, some)[0], 0.01);
  t.deepEqual(coherentHours(0.6, hoursOf([], null)), hoursOf([], null));
});

test('a day without any chance has no hour with one, and a certain day leaves its hours alone or lifts them', (t) => {
  t.true(coherentHours(0, hoursOf([0.9])).every((p) => p === 0));
  t.is(contradiction(1, coherentHours(1, hoursOf([0.9]))), null);
});

test('a contradiction is an hour above its day, or a day above its hours together', (t) => {
  t.is(contradiction(0.171, hoursOf([0.05, 0.312])), 'hour_above_day');
  t.is(contradiction(0.9, hoursOf([])), 'day_above_hours');
  t.is(contradiction(0.1, hoursOf([0.1])), null);
});

test('a day that is dealt out over its hours gives none more than the forecast says, nor more than the day', (t) => {
  t.notThrows(() =>
    holds(
      fc.property(
        PERCENT,
        fc.double({ min: -125, max: -66, noNaN: true }),
        fc.oneof(WHOLE, PARTIAL),
        (pct, lon, hours) => {
          const shifted = coherentHours(pct / 100, hours);
          const strip = hourlyDisaggregation(pct, lon, shifted).map((p) => Math.round(1e4 * p) / 1e4);
          return strip.every((p, k) => p <= pct + 1e-9 && p <= 100 * (shifted[k] ?? 1) + 1e-9);
        },
      ),
    ),
  );
});

test('the likeliest hour of a whole day is the same in the forecast and in the day that is dealt out', (t) => {
  const shifted = coherentHours(0.2, hoursOf([0.01, 0.02, 0.05, 0.3, 0.25]));
  const strip = hourlyDisaggregation(20, -97.5, shifted);
  t.is(strip.indexOf(Math.max(...strip)), 3);
});
