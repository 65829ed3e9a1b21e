import test from 'ava';
import { z } from 'zod';
import {
  bboxQuery,
  booleanQuery,
  clampedQuery,
  cursorQuery,
  dateQuery,
  enumQuery,
  integerQuery,
  latitudeQuery,
  longitudeQuery,
  monthQuery,
  numberQuery,
  optionalWordQuery,
  type Parameter,
  repeatedQuery,
  shown,
  stateQuery,
  textQuery,
  unknownCursor,
} from '../../api/http/decode.ts';
import { decimal } from '../../schemas/units.ts';

/** The value of a parameter named `it`, or what is wrong with it. */
function decoded<Out>(parameter: Parameter<Out> | z.ZodType<Out>, text?: string | string[]): unknown {
  const result = z.object({ it: parameter }).safeParse(text === undefined ? {} : { it: text });
  if (result.success) return result.data.it;
  return `it ${result.error.issues[0]?.message}`;
}

for (const [text, value] of [
  ['0', 0],
  ['-97.5', -97.5],
  ['1e-7', 1e-7],
  ['1E+2', 100],
  ['007', 7],
  ['-0', -0],
] as const)
  test(`'${text}' is the number ${value}`, (t) => t.is(decimal(text), value));

for (const text of [
  '',
  ' ',
  ' 5',
  '5 ',
  '+5',
  '0x10',
  '5,0',
  '.5',
  '5.',
  '1e',
  '--1',
  'Infinity',
  'NaN',
  '1e999',
  '٥',
  '1_000',
])
  test(`'${text}' is no number`, (t) => t.is(decimal(text), null));

test('a latitude reaches from -90 to 90, both included', (t) => {
  t.is(decoded(latitudeQuery(), '90'), 90);
  t.is(decoded(latitudeQuery(), '-90'), -90);
  t.is(decoded(latitudeQuery(), '90.0001'), "it is '90.0001', expected a number from -90 to 90");
});

test('a longitude reaches from -180 to 180, both included', (t) => {
  t.is(decoded(longitudeQuery(), '180'), 180);
  t.is(decoded(longitudeQuery(), '-180.1'), "it is '-180.1', expected a number from -180 to 180");
});

test('an empty latitude is refused instead of read as 0', (t) => {
  t.is(decoded(latitudeQuery(), ''), "it is '', expected a number from -90 to 90");
});

test('a required parameter that is absent says what it should be', (t) => {
  t.is(decoded(latitudeQuery()), 'it is required, expected a number from -90 to 90');
  t.is(decoded(dateQuery({ required: true })), 'it is required, expected a date YYYY-MM-DD');
});

test('a parameter that comes twice is refused', (t) => {
  t.is(decoded(latitudeQuery(), ['1', '2']), 'it is given more than once, expected a number from -90 to 90');
});

test('a number stays within its limits, refused and not moved', (t) => {
  const radius = numberQuery({ min: 0, exclusiveMin: true, max: 150, default: 50 });
  t.is(decoded(radius), 50);
  t.is(decoded(radius, '150'), 150);
  t.is(decoded(radius, '0.001'), 0.001);
  for (const text of ['0', '-0', '151', '150.0001'])
    t.is(decoded(radius, text), `it is '${text}', expected a number above 0, up to 150`);
});

test('an optional number without a default is null when absent', (t) => {
  t.is(decoded(numberQuery({ min: 1, max: 2 })), null);
});

test('minus zero is zero', (t) => {
  t.true(Object.is(decoded(latitudeQuery(), '-0'), 0));
});

test('a whole number may be written with a fraction of nothing', (t) => {
  const days = integerQuery({ min: 1, max: 365, default: 30 });
  t.is(decoded(days, '24.0'), 24);
  t.is(decoded(days, '3e1'), 30);
  t.is(decoded(days, '24.5'), "it is '24.5', expected a whole number from 1 to 365");
  t.is(decoded(days, '366'), "it is '366', expected a whole number from 1 to 365");
});

test('a clamped number is moved to its nearest limit', (t) => {
  const simplify = clampedQuery({ min: 0, max: 5000, default: 500 });
  t.deepEqual(
    ['-5', '99999', '10'].map((text) => decoded(simplify, text)),
    [0, 5000, 10],
  );
  t.is(decoded(simplify), 500);
  t.is(decoded(simplify, 'x'), "it is 'x', expected a number, taken as 0 to 5000");
});

test('a date has to exist in the calendar', (t) => {
  t.is(decoded(dateQuery(), '2024-02-29'), '2024-02-29');
  t.is(decoded(dateQuery()), null);
  for (const text of ['2026-02-29', '2026-2-3', '20260203', '2026-13-01', '2026-01-01T00:00:00Z', ''])
    t.is(decoded(dateQuery(), text), `it is '${text}', expected a date YYYY-MM-DD`);
});

test('a month is YYYY-MM', (t) => {
  t.is(decoded(monthQuery(), '2026-12'), '2026-12');
  for (const text of ['2026-13', '2026-00', '2026-1', '2026-01-01'])
    t.is(decoded(monthQuery(), text), `it is '${text}', expected a month YYYY-MM`);
});

test('a boolean is true or false and nothing else', (t) => {
  t.is(decoded(booleanQuery(), 'true'), true);
  t.is(decoded(booleanQuery(true), 'false'), false);
  t.is(decoded(booleanQuery()), false);
  for (const text of ['1', 'yes', 'TRUE', ''])
    t.is(decoded(booleanQuery(), text), `it is '${text}', expected true or false`);
});

test('a word is one of its list, exactly as written', (t) => {
  const detail = enumQuery(['standard', 'advanced'], 'standard');
  t.is(decoded(detail), 'standard');
  t.is(decoded(detail, 'advanced'), 'advanced');
  t.is(decoded(detail, 'Advanced'), "it is 'Advanced', expected one of standard, advanced");
});

test('a box has four numbers and each minimum below its maximum', (t) => {
  t.deepEqual(decoded(bboxQuery(), '-103,31,-94,37'), [-103, 31, -94, 37]);
  t.is(decoded(bboxQuery()), null);
  for (const text of [
    '-103,31,-94',
    '-103,31,-94,37,1',
    '-94,31,-103,37',
    '-103,37,-94,37',
    '-103, 31,-94,37',
    '-181,31,-94,37',
    '',
  ])
    t.is(
      decoded(bboxQuery(), text),
      `it is '${text}', expected minLon,minLat,maxLon,maxLat with each minimum below its maximum`,
    );
});

test('a state is a USPS code, territories included', (t) => {
  for (const code of ['OK', 'DC', 'AK', 'PR']) t.is(decoded(stateQuery(), code), code);
  for (const text of ['ok', 'XX', 'Oklahoma', ''])
    t.is(decoded(stateQuery(), text), `it is '${text}', expected a two-letter USPS state code`);
});

test('a cursor is an id or an operation name', (t) => {
  t.is(decoded(cursorQuery(), 'hail.history.30d'), 'hail.history.30d');
  t.is(decoded(cursorQuery(), "x' or 1=1"), "it is 'x? or 1=1', expected the next_cursor of an earlier page");
});

test('a repeated parameter is a list, up to its limit', (t) => {
  const ids = repeatedQuery({ maxItems: 2 });
  t.deepEqual(decoded(ids), []);
  t.deepEqual(decoded(ids, 'a'), ['a']);
  t.deepEqual(decoded(ids, ['a', 'b']), ['a', 'b']);
  t.is(decoded(ids, ['a', 'b', 'c']), 'it is given 3 times, expected at most 2');
});

test('text in a message is shortened, and its quotes and control characters are replaced', (t) => {
  t.is(shown("a'b\r\nc\0"), String.raw`a?b\u{d}\u{a}c\u{0}`);
  t.is(shown('\u2028\u2029\u202e\u200f\ud800é雹'), String.raw`\u{2028}\u{2029}\u{202e}\u{200f}\u{d800}é雹`);
  t.is(shown('x'.repeat(100)), `${'x'.repeat(60)}…`);
});

test('a word that may be left out is one of the words exactly, or null', (t) => {
  const kind = optionalWordQuery(['polygon', 'point']);
  t.is(decoded(kind, 'point'), 'point');
  t.is(decoded(kind), null);
  for (const text of ['', 'Point', 'circle'])
    t.is(decoded(kind, text), `it is '${text}', expected one of polygon, point`);
});

test('a text has from 1 to so many characters, whatever they take in UTF-16, or is null', (t) => {
  const group = textQuery({ max: 3 });
  t.is(decoded(group, '🌩🌩🌩'), '🌩🌩🌩');
  t.is(decoded(group), null);
  for (const text of ['', 'four', 'a\0'])
    t.is(decoded(group, text), `it is '${shown(text)}', expected a text of 1 to 3 characters`);
});

test('the refusal of a cursor shows it without what could do harm', (t) => {
  t.is(unknownCursor("a'\n").message, "cursor is 'a?\\u{a}', expected the next_cursor of an earlier page");
});
