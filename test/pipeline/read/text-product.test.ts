import test from 'ava';
import fc from 'fast-check';
import { BadInput } from '../../../pipeline/error.ts';
import {
  eightDigitPosition,
  issueLine,
  latLonDigits,
  nearestDayTime,
  productLines,
  validity,
  wmoHeading,
} from '../../../pipeline/read/text-product.ts';
import { timestamp } from '../../../schemas/time.ts';

const at = (text: string) => Date.parse(text);

for (const [line, utc] of [
  ['0736 AM CDT TUE JUN 01 2021', '2021-06-01T12:36:00Z'],
  ['350 PM CDT Sun May 1 2022', '2022-05-01T20:50:00Z'],
  ['1149 PM CST Mon Nov 18 2024', '2024-11-19T05:49:00Z'],
  ['1200 AM EST Wed Jan 1 2025', '2025-01-01T05:00:00Z'],
  ['1200 PM HST Wed Jan 1 2025', '2025-01-01T22:00:00Z'],
  ['605 AM ChST Thu Jan 2 2025', '2025-01-01T20:05:00Z'],
  ['1113 AM CDT Fri Jun 6 2014 /1013 AM MDT Fri Jun 6 2014/', '2014-06-06T16:13:00Z'],
  ['1021 AM SUN WED FEB 10 2013', null],
  ['0736 AM CDT TUE JUN 31 2021', null],
  ['1336 AM CDT TUE JUN 01 2021', null],
  ['ISSUED YESTERDAY', null],
] as const)
  test(`the issue line '${line}' is ${utc ?? 'not known'}`, (t) => {
    const found = issueLine(['', line]);
    t.is(found === null ? null : timestamp(found.issued_ms), utc);
  });

for (const [ddhhmm, near, utc] of [
  ['100335', '2021-07-10T03:30:00Z', '2021-07-10T03:35:00Z'],
  ['010500', '2024-12-31T23:00:00Z', '2025-01-01T05:00:00Z'],
  ['312335', '2025-01-01T00:10:00Z', '2024-12-31T23:35:00Z'],
  ['290000', '2024-02-29T06:00:00Z', '2024-02-29T00:00:00Z'],
  ['290000', '2025-03-01T06:00:00Z', '2025-03-29T00:00:00Z'],
  ['320000', '2025-03-01T06:00:00Z', null],
  ['012400', '2025-03-01T06:00:00Z', null],
  ['011260', '2025-03-01T06:00:00Z', null],
  ['1', '2025-03-01T06:00:00Z', null],
] as const)
  test(`day and time ${ddhhmm} near ${near} are ${utc ?? 'none'}`, (t) => {
    const found = nearestDayTime(ddhhmm, at(near));
    t.is(found === null ? null : timestamp(found), utc);
  });

test('day and time of any instant come back when the clock is within two weeks of it', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: at('2000-01-01T00:00:00Z') / 60_000, max: at('2100-01-01T00:00:00Z') / 60_000 }),
      fc.integer({ min: -13 * 1440, max: 13 * 1440 }),
      (minute, off) => {
        const ddhhmm = timestamp(minute * 60_000)
          .slice(8, 16)
          .replaceAll(/[T:]/g, '');
        t.is(nearestDayTime(ddhhmm, (minute + off) * 60_000), minute * 60_000);
      },
    ),
  );
});

test('a validity has an end after its start, at most six days later', (t) => {
  const near = at('2017-04-06T08:55:00Z');
  t.deepEqual(validity('091200', '141200', near), {
    begins_ms: at('2017-04-09T12:00:00Z'),
    ends_ms: at('2017-04-14T12:00:00Z'),
  });
  t.is(validity('091200', '091200', near), null);
  t.is(validity('091200', '161200', near), null);
  t.is(validity('091200', '991200', near), null);
});

for (const [digits, position] of [
  ['29360245', [-102.45, 29.36]],
  ['41429841', [-98.41, 41.42]],
  ['31165000', [-50, 31.16]],
  ['31164999', [-149.99, 31.16]],
  ['99999999', null],
  ['2936024', null],
  ['2936024x', null],
] as const)
  test(`the digits ${digits} are ${position ?? 'no position'}`, (t) => {
    t.deepEqual(eightDigitPosition(digits), position as [number, number] | null);
  });

test('digits after LAT...LON go on for as long as lines hold digits only', (t) => {
  const lines = ['x', 'LAT...LON 42970252 43889841', '      42009841', '', '12345678'];
  t.deepEqual(latLonDigits(lines), ['42970252', '43889841', '42009841']);
  t.is(latLonDigits(['no such line']), null);
});

test('control characters, doubled carriage returns and blanks at ends go', (t) => {
  t.deepEqual(productLines(Buffer.from('\u0001\r\r\n139 \r\r\nWUUS01 KWNS 061251\r\r\n\u0003'), 'x'), [
    '',
    '139',
    'WUUS01 KWNS 061251',
    '',
  ]);
});

test('a heading gives type, office and time, with or without its suffix', (t) => {
  const expected = { wmo: 'WUUS54', office: 'KOUN', ddhhmm: '070521', is_simulated: false };
  t.deepEqual(wmoHeading(['048', 'WUUS54 KOUN 070521 RRA']), expected);
  t.deepEqual(wmoHeading(['WUUS54 KOUN 070521']), expected);
  t.true(wmoHeading(['WUUS54 KSIM 070521'])?.is_simulated);
  t.is(wmoHeading(['nothing']), null);
});

test('a product of megabytes and an error page are refused', (t) => {
  t.throws(() => productLines(Buffer.alloc(1_100_000, 'x'), 'x'), { instanceOf: BadInput });
  t.throws(() => productLines(Buffer.from('\n <!DOCTYPE html>'), 'x'), { instanceOf: BadInput });
});
