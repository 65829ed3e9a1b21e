import test from 'ava';
import {
  addDays,
  daysBetween,
  isCalendarDate,
  monthOf,
  scanId,
  scanTime,
  stormDate,
  stormDateStart,
  timestamp,
} from '../../schemas/time.ts';

const at = (text: string) => Date.parse(text);

for (const [instant, startHour, date] of [
  ['2026-05-01T00:00:00Z', 0, '2026-05-01'],
  ['2026-05-01T23:59:59Z', 0, '2026-05-01'],
  ['2026-05-01T11:59:59Z', 12, '2026-04-30'],
  ['2026-05-01T12:00:00Z', 12, '2026-05-01'],
  ['2024-03-01T05:00:00Z', 6, '2024-02-29'],
  ['2026-01-01T00:00:00Z', 1, '2025-12-31'],
] as const)
  test(`${instant} belongs to the storm date ${date} when days start at ${startHour} UTC`, (t) => {
    t.is(stormDate(at(instant), startHour), date);
  });

test('a storm date starts at its hour, and its first instant belongs to it', (t) => {
  for (const hour of [0, 6, 12, 23]) {
    const start = stormDateStart('2026-05-01', hour);
    t.is(stormDate(start, hour), '2026-05-01');
    t.is(stormDate(start - 1, hour), '2026-04-30');
  }
});

test('a scan id is its time to the second, there and back', (t) => {
  t.is(scanId(at('2026-05-01T20:12:34.567Z')), '20260501T201234Z');
  t.is(scanTime('20260501T201234Z'), at('2026-05-01T20:12:34Z'));
});

for (const id of ['20260230T000000Z', '20260501T240000Z', '20260501T201234', '2026-05-01T20:12:34Z', ''])
  test(`'${id}' is no scan id`, (t) => {
    t.throws(() => scanTime(id), { instanceOf: RangeError });
  });

test('timestamps have whole seconds and end in Z', (t) => {
  t.is(timestamp(at('2026-05-01T20:12:34.999Z')), '2026-05-01T20:12:34Z');
});

test('days are added across months, years and leap days', (t) => {
  t.is(addDays('2026-04-30', 1), '2026-05-01');
  t.is(addDays('2024-02-28', 1), '2024-02-29');
  t.is(addDays('2026-01-01', -1), '2025-12-31');
  t.is(monthOf('2025-12-31'), '2025-12');
});

for (const [text, exists] of [
  ['2024-02-29', true],
  ['2026-02-29', false],
  ['2026-13-01', false],
  ['2026-5-1', false],
  ['tomorrow', false],
] as const)
  test(`${text} ${exists ? 'is a' : 'is no'} date of the calendar`, (t) => t.is(isCalendarDate(text), exists));

test('days between two dates count both, over months, leap days and to the last date there is', (t) => {
  for (const [first, last, days] of [
    ['2026-05-01', '2026-05-01', 1],
    ['2024-02-28', '2024-03-01', 3],
    ['2026-01-31', '2026-04-30', 90],
    ['9999-12-30', '9999-12-31', 2],
    ['2026-05-02', '2026-05-01', 0],
  ] as const)
    t.is(daysBetween(first, last), days);
});
