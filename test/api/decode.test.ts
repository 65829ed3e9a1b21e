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

interface Case {
  readonly parameter: Parameter<unknown>;
  /** What an absent parameter is; left out: it is refused. */
  readonly absent?: unknown;
  readonly taken: Readonly<Record<string, unknown>>;
  readonly refused: readonly string[];
}

/** By what a refusal expects. */
const CASES: Readonly<Record<string, Case>> = {
  'a number from -90 to 90': {
    parameter: latitudeQuery(),
    taken: { '90': 90, '-90': -90, '-0': 0 },
    refused: ['90.0001', ''],
  },
  'a number from -180 to 180': { parameter: longitudeQuery(), taken: { '180': 180 }, refused: ['-180.1'] },
  'a number above 0, up to 150': {
    parameter: numberQuery({ min: 0, exclusiveMin: true, max: 150, default: 50 }),
    absent: 50,
    taken: { '150': 150, '0.001': 0.001 },
    refused: ['0', '-0', '151', '150.0001'],
  },
  'a number from 1 to 2': { parameter: numberQuery({ min: 1, max: 2 }), absent: null, taken: {}, refused: ['3'] },
  'a whole number from 1 to 365': {
    parameter: integerQuery({ min: 1, max: 365, default: 30 }),
    absent: 30,
    taken: { '24.0': 24, '3e1': 30 },
    refused: ['24.5', '366'],
  },
  'a number, taken as 0 to 5000': {
    parameter: clampedQuery({ min: 0, max: 5000, default: 500 }),
    absent: 500,
    taken: { '-5': 0, '99999': 5000, '10': 10 },
    refused: ['x'],
  },
  'a date YYYY-MM-DD': {
    parameter: dateQuery(),
    absent: null,
    taken: { '2024-02-29': '2024-02-29' },
    refused: ['2026-02-29', '2026-2-3', '20260203', '2026-13-01', '2026-01-01T00:00:00Z', ''],
  },
  'a month YYYY-MM': {
    parameter: monthQuery({}),
    absent: null,
    taken: { '2026-12': '2026-12' },
    refused: ['2026-13', '2026-00', '2026-1', '2026-01-01'],
  },
  'true or false': {
    parameter: booleanQuery(),
    absent: false,
    taken: { true: true, false: false },
    refused: ['1', 'yes', 'TRUE', ''],
  },
  'one of standard, advanced': {
    parameter: enumQuery(['standard', 'advanced'], 'standard'),
    absent: 'standard',
    taken: { advanced: 'advanced' },
    refused: ['Advanced'],
  },
  'one of polygon, point': {
    parameter: optionalWordQuery(['polygon', 'point']),
    absent: null,
    taken: { point: 'point' },
    refused: ['', 'Point', 'circle'],
  },
  'a text of 1 to 3 characters': {
    parameter: textQuery({ max: 3 }),
    absent: null,
    taken: { '🌩🌩🌩': '🌩🌩🌩' },
    refused: ['', 'four', 'a\0'],
  },
  'minLon,minLat,maxLon,maxLat with each minimum below its maximum': {
    parameter: bboxQuery(),
    absent: null,
    taken: { '-103,31,-94,37': [-103, 31, -94, 37] },
    refused: [
      '-103,31,-94',
      '-103,31,-94,37,1',
      '-94,31,-103,37',
      '-103,37,-94,37',
      '-103, 31,-94,37',
      '-181,31,-94,37',
    ],
  },
  'a two-letter USPS state code': {
    parameter: stateQuery(),
    absent: null,
    taken: { OK: 'OK', DC: 'DC', PR: 'PR' },
    refused: ['ok', 'XX', 'Oklahoma', ''],
  },
  'the next_cursor of an earlier page': {
    parameter: cursorQuery(),
    absent: null,
    taken: { 'hail.history.30d': 'hail.history.30d' },
    refused: ["x' or 1=1"],
  },
};

for (const [expected, { parameter, absent, taken, refused }] of Object.entries(CASES))
  test(`a parameter that is ${expected}`, (t) => {
    t.deepEqual(decoded(parameter), absent ?? (absent === null ? null : `it is required, expected ${expected}`));
    for (const [text, value] of Object.entries(taken)) t.deepEqual(decoded(parameter, text), value, text);
    for (const text of refused) t.is(decoded(parameter, text), `it is '${shown(text)}', expected ${expected}`);
    t.is(decoded(parameter, ['1', '2']), `it is given more than once, expected ${expected}`);
  });

test('a date may be required', (t) => {
  t.is(decoded(dateQuery({ required: true })), 'it is required, expected a date YYYY-MM-DD');
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

test('the refusal of a cursor shows it without what could do harm', (t) => {
  t.is(unknownCursor("a'\n").message, "cursor is 'a?\\u{a}', expected the next_cursor of an earlier page");
});
