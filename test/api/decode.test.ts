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

/** Parameters: values of texts (absent: undefined), texts that are refused, and what is expected. */
const PARAMETERS: readonly (readonly [
  what: string,
  parameter: Parameter<unknown>,
  values: readonly (readonly [text: string | undefined, value: unknown])[],
  refused: readonly string[],
  expected: string,
])[] = [
  [
    'latitude',
    latitudeQuery(),
    [
      ['90', 90],
      ['-90', -90],
      ['-0', 0],
    ],
    ['90.0001', ''],
    'a number from -90 to 90',
  ],
  ['longitude', longitudeQuery(), [['180', 180]], ['-180.1'], 'a number from -180 to 180'],
  [
    'number above 0',
    numberQuery({ min: 0, exclusiveMin: true, max: 150, default: 50 }),
    [
      [undefined, 50],
      ['150', 150],
      ['0.001', 0.001],
    ],
    ['0', '-0', '151', '150.0001'],
    'a number above 0, up to 150',
  ],
  ['number without a default', numberQuery({ min: 1, max: 2 }), [[undefined, null]], ['3'], 'a number from 1 to 2'],
  [
    'whole number',
    integerQuery({ min: 1, max: 365, default: 30 }),
    [
      ['24.0', 24],
      ['3e1', 30],
    ],
    ['24.5', '366'],
    'a whole number from 1 to 365',
  ],
  [
    'clamped number',
    clampedQuery({ min: 0, max: 5000, default: 500 }),
    [
      ['-5', 0],
      ['99999', 5000],
      ['10', 10],
      [undefined, 500],
    ],
    ['x'],
    'a number, taken as 0 to 5000',
  ],
  [
    'date',
    dateQuery(),
    [
      ['2024-02-29', '2024-02-29'],
      [undefined, null],
    ],
    ['2026-02-29', '2026-2-3', '20260203', '2026-13-01', '2026-01-01T00:00:00Z', ''],
    'a date YYYY-MM-DD',
  ],
  ['month', monthQuery(), [['2026-12', '2026-12']], ['2026-13', '2026-00', '2026-1', '2026-01-01'], 'a month YYYY-MM'],
  [
    'boolean',
    booleanQuery(),
    [
      ['true', true],
      [undefined, false],
    ],
    ['1', 'yes', 'TRUE', ''],
    'true or false',
  ],
  [
    'word',
    enumQuery(['standard', 'advanced'], 'standard'),
    [
      [undefined, 'standard'],
      ['advanced', 'advanced'],
    ],
    ['Advanced'],
    'one of standard, advanced',
  ],
  [
    'word that may be left out',
    optionalWordQuery(['polygon', 'point']),
    [
      ['point', 'point'],
      [undefined, null],
    ],
    ['', 'Point', 'circle'],
    'one of polygon, point',
  ],
  [
    'text',
    textQuery({ max: 3 }),
    [
      ['🌩🌩🌩', '🌩🌩🌩'],
      [undefined, null],
    ],
    ['', 'four', 'a\0'],
    'a text of 1 to 3 characters',
  ],
  [
    'box',
    bboxQuery(),
    [
      ['-103,31,-94,37', [-103, 31, -94, 37]],
      [undefined, null],
    ],
    ['-103,31,-94', '-103,31,-94,37,1', '-94,31,-103,37', '-103,37,-94,37', '-103, 31,-94,37', '-181,31,-94,37', ''],
    'minLon,minLat,maxLon,maxLat with each minimum below its maximum',
  ],
  [
    'state',
    stateQuery(),
    [
      ['OK', 'OK'],
      ['DC', 'DC'],
      ['PR', 'PR'],
    ],
    ['ok', 'XX', 'Oklahoma', ''],
    'a two-letter USPS state code',
  ],
  [
    'cursor',
    cursorQuery(),
    [['hail.history.30d', 'hail.history.30d']],
    ["x' or 1=1"],
    'the next_cursor of an earlier page',
  ],
];

for (const [what, parameter, values, refused, expected] of PARAMETERS)
  test(`a ${what} is ${expected}`, (t) => {
    for (const [text, value] of values) t.deepEqual(decoded(parameter, text), value, text);
    for (const text of refused) t.is(decoded(parameter, text), `it is '${shown(text)}', expected ${expected}`);
    t.is(decoded(parameter, ['1', '2']), `it is given more than once, expected ${expected}`);
  });

test('a required parameter that is absent says what it should be', (t) => {
  t.is(decoded(latitudeQuery()), 'it is required, expected a number from -90 to 90');
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
