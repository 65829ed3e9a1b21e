import { readFileSync } from 'node:fs';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import test from 'ava';
import fc from 'fast-check';
import { BadInput } from '../../../pipeline/error.ts';
import { outlookLayerOf, readOutlookGeoJson } from '../../../pipeline/read/outlooks.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { feedFigures } from '../../support/data/feed-figures.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const GEOJSON_NOW = Date.parse('2025-06-05T20:00:00Z');
const CATEGORICAL = { day: 1, hazard: 'categorical', part: 'all' } as const;
const PROPERTIES: Readonly<Record<string, unknown>> = {
  DN: 5,
  VALID: '202506052000',
  EXPIRE: '202506061200',
  ISSUE: '202506051954',
  LABEL: 'ENH',
  LABEL2: 'Enhanced Risk',
  stroke: '#FF6600',
  fill: '#FFA366',
};
const GEOJSON_SQUARE = [
  [-98, 35],
  [-97, 35],
  [-97, 36],
  [-98, 36],
  [-98, 35],
];
const HOLE = [
  [-97.8, 35.2],
  [-97.2, 35.2],
  [-97.2, 35.8],
  [-97.8, 35.2],
];
const EMPTY = { type: 'GeometryCollection', geometries: [] };

function feature(
  properties: Record<string, unknown> = {},
  geometry: unknown = { type: 'Polygon', coordinates: [GEOJSON_SQUARE] },
) {
  return { type: 'Feature', geometry, properties: { ...PROPERTIES, ...properties } };
}

function read(...features: unknown[]) {
  const bytes = Buffer.from(JSON.stringify({ type: 'FeatureCollection', features }));
  return readOutlookGeoJson(bytes, 'x', CATEGORICAL, GEOJSON_NOW);
}

sharedTest('the enhanced risk of 5 June 2025 holds the cities and has the box read by others', (t) => {
  const name = 'spc_day1_cat_20250605_2000z_ENH_only.geojson';
  const figures = feedFigures().outlooks.geojson[name]!;
  const { rows, set_aside } = readOutlookGeoJson(
    readFileSync(sharedData('outlooks', name)),
    name,
    CATEGORICAL,
    GEOJSON_NOW,
  );
  t.deepEqual(set_aside, []);
  t.is(rows.length, figures.features);
  const [row] = rows;
  t.deepEqual(
    [row?.label, row?.probability_pct, row?.issue_time, row?.valid_time, row?.expire_time, row?.forecast_date],
    [
      'ENH',
      null,
      Date.parse('2025-06-05T19:54:00Z'),
      Date.parse('2025-06-05T20:00:00Z'),
      Date.parse('2025-06-06T12:00:00Z'),
      '2025-06-05',
    ],
  );
  const coordinates = multiPolygonFromWkt(row!.geometry!);
  t.is(coordinates[0]![0]!.length, figures.points);
  const found = Object.keys(figures.contains).map((city) => {
    const position = city.split(' ').at(-1)!.split(',').map(Number);
    return [city, booleanPointInPolygon(position, { type: 'MultiPolygon', coordinates })];
  });
  t.deepEqual(Object.fromEntries(found), { ...figures.contains });
  const [lons, lats] = [0, 1].map((axis) => coordinates.flat(2).map((position) => position[axis]!)) as [
    number[],
    number[],
  ];
  t.deepEqual([Math.min(...lons), Math.min(...lats), Math.max(...lons), Math.max(...lats)], [...figures.bbox]);
});

test('shell and hole are wound as RFC 7946 has it, whichever way they were drawn', (t) => {
  const expected =
    'MULTIPOLYGON (((-98 35, -97 35, -97 36, -98 36, -98 35), (-97.8 35.2, -97.2 35.8, -97.2 35.2, -97.8 35.2)))';
  for (const rings of [
    [GEOJSON_SQUARE, HOLE],
    [GEOJSON_SQUARE.toReversed(), HOLE.toReversed()],
  ])
    t.is(read(feature({}, { type: 'MultiPolygon', coordinates: [rings] })).rows[0]?.geometry, expected);
});

test('probabilities become percent, the significant area has none', (t) => {
  const { rows } = read(feature({ LABEL: '0.15' }), feature({ LABEL: 'SIGN' }), feature({ LABEL: 'CIG1' }));
  t.deepEqual(
    rows.map(({ label, probability_pct }) => [label, probability_pct]),
    [
      ['0.15', 15],
      ['SIGN', null],
      ['CIG1', null],
    ],
  );
});

for (const [title, geometry] of [
  ['an empty collection', EMPTY],
  ['an empty multipolygon', { type: 'MultiPolygon', coordinates: [] }],
  ['null', null],
] as const)
  test(`a layer that shows nothing (${title}) gives one row without area`, (t) => {
    const { rows, set_aside } = read(feature({ DN: 0, LABEL: '', LABEL2: '' }, geometry));
    t.deepEqual(set_aside, []);
    t.deepEqual(
      rows.map(({ label, geometry: area, is_complete, issue_time }) => [label, area, is_complete, issue_time]),
      [[null, null, true, Date.parse('2025-06-05T19:54:00Z')]],
    );
  });

test('the row without area goes when the layer has areas', (t) => {
  const { rows } = read(feature({ LABEL: '' }, EMPTY), feature());
  t.deepEqual(
    rows.map(({ label }) => label),
    ['ENH'],
  );
});

const CROSSED = ['-98 35', '-97 36', '-97 35', '-98 37', '-98 35'].map((position) => position.split(' ').map(Number));

for (const [title, properties, geometry, reason] of [
  ['that crosses itself', {}, { type: 'Polygon', coordinates: [CROSSED] }, 'rings 0 and 0 cross'],
  ['that is not closed', {}, { type: 'Polygon', coordinates: [GEOJSON_SQUARE.slice(0, -1)] }, 'ring 0 is not closed'],
  ['of text', {}, { type: 'Polygon', coordinates: [[['-98', 35]]] }, 'position \'["-98",35]\', expected'],
  ['that is a line', {}, { type: 'LineString', coordinates: GEOJSON_SQUARE }, "geometry is 'LineString', expected"],
  ['of an unknown label', { LABEL: 'AWFUL' }, undefined, "label is 'AWFUL', expected"],
  ['without label', { LABEL: undefined }, undefined, 'properties.LABEL: invalid input'],
  ['without time', { VALID: undefined }, undefined, 'properties.VALID: invalid input'],
  ['of the 31st of June', { ISSUE: '202506311954' }, undefined, 'times are 202506311954'],
  [
    'that ends before it begins',
    { EXPIRE: '202506051200' },
    undefined,
    'valid from 2025-06-05T20:00:00Z to 2025-06-05T12:00:00Z, expected at most a day',
  ],
  ['issued in the future', { ISSUE: '202506052054' }, undefined, 'issued 202506052054, which lies in the future'],
] as const)
  test(`an area ${title} is set aside, and the rest is not complete`, (t) => {
    const { rows, set_aside } = read(feature(properties, geometry), feature({ LABEL: 'SLGT' }));
    t.deepEqual([set_aside.length, set_aside[0]?.item], [1, 'feature 1']);
    t.true(set_aside[0]?.reason.startsWith(reason), set_aside[0]?.reason);
    t.deepEqual(
      rows.map(({ label, is_complete }) => [label, is_complete]),
      [['SLGT', false]],
    );
  });

test('a polygon with a stray position costs itself, not the other polygons of its label', (t) => {
  const stray = [GEOJSON_SQUARE.toSpliced(1, 1, [-97, 350])];
  const { rows, set_aside } = read(feature({}, { type: 'MultiPolygon', coordinates: [stray, [GEOJSON_SQUARE]] }));
  t.deepEqual(
    set_aside.map(({ item }) => item),
    ['feature 1 polygon'],
  );
  t.regex(set_aside[0]?.reason ?? '', /^position '\[-97,350\]', expected longitude and latitude/);
  t.deepEqual(
    rows.map(({ label, is_complete, geometry }) => [label, is_complete, multiPolygonFromWkt(geometry ?? '').length]),
    [['ENH', false, 1]],
  );
});

for (const [title, times] of [
  ['ten days ahead', { VALID: '202506151200', EXPIRE: '202506161200' }],
  ['for 48 hours', { VALID: '202506051200', EXPIRE: '202506071200' }],
] as const)
  test(`a layer of day 1 that is valid ${title} is refused by name`, (t) => {
    t.throws(() => read(feature(times), feature({ ...times, LABEL: 'SLGT' })), {
      instanceOf: BadInput,
      message: /valid from 2025-06/,
    });
  });

test('a feature of the simulator is simulated, the next one is not', (t) => {
  const { rows } = read(feature({ SOURCE: 'simulated' }), feature());
  t.deepEqual(
    rows.map(({ data_source }) => data_source),
    ['simulated', 'observed'],
  );
});

for (const [title, text] of [
  ['an error page', '<html><body>504</body></html>'],
  ['cut json', '{"type": "FeatureCollection", "features": [{'],
  ['json of something else', '[]'],
  ['a collection without features', '{"type": "FeatureCollection", "features": []}'],
  [
    'a layer whose only area is broken',
    JSON.stringify({ type: 'FeatureCollection', features: [feature({ VALID: 'x' })] }),
  ],
] as const)
  test(`${title} is refused as a whole, never read as no areas`, (t) => {
    t.throws(() => readOutlookGeoJson(Buffer.from(text), 'x', CATEGORICAL, GEOJSON_NOW), { instanceOf: BadInput });
  });

for (const [name, layer] of [
  ['day1otlk_cat.lyr.geojson', { day: 1, hazard: 'categorical', part: 'all' }],
  ['day1otlk_hail.nolyr.geojson', { day: 1, hazard: 'hail', part: 'probabilities' }],
  ['day2otlk_sighail.lyr.geojson', { day: 2, hazard: 'hail', part: 'significant' }],
  ['day1otlk_20260305_1300_cighail.lyr.geojson', { day: 1, hazard: 'hail', part: 'significant' }],
  ['products/outlook/day1otlk_torn.lyr.geojson', { day: 1, hazard: 'tornado', part: 'probabilities' }],
  ['day3otlk_prob.lyr.geojson', { day: 3, hazard: 'any_severe', part: 'probabilities' }],
  ['day8prob.lyr.geojson', { day: 8, hazard: 'any_severe', part: 'probabilities' }],
  ['day4otlk_cat.lyr.geojson', null],
  ['day9prob.lyr.geojson', null],
  ['day1fw_windrh.lyr.geojson', null],
] as const)
  test(`the name ${name} ${layer ? `is day ${layer.day} ${layer.hazard}` : 'is no layer'}`, (t) => {
    t.deepEqual(outlookLayerOf(name), layer);
  });

test('whatever the geometry is, it becomes an area or a reason', (t) => {
  const number = fc.oneof(fc.integer({ min: -200, max: 200 }), fc.constant(null));
  const coordinates = fc.array(
    fc.array(fc.array(fc.array(number, { maxLength: 3 }), { maxLength: 6 }), { maxLength: 3 }),
    { maxLength: 3 },
  );
  fc.assert(
    fc.property(coordinates, (value) => {
      const { rows } = read(feature({}, { type: 'MultiPolygon', coordinates: value }), feature());
      t.true(rows.length >= 1);
    }),
    { numRuns: 300 },
  );
});

const HOUR_MS = 3_600_000;
const START_MS = Date.parse('2025-06-05T12:00:00Z');

/** Fault of an outlook of a day with its times in hours before and after 12 UTC of its date; null without one. */
function faultAt(day: number, issued_h: number, begins_h = 0, ends_h = 24): string | null {
  const compact = (hours: number) =>
    new Date(START_MS + hours * HOUR_MS).toISOString().slice(0, 16).replaceAll(/[-:T]/g, '');
  const times = { ISSUE: compact(-issued_h), VALID: compact(begins_h), EXPIRE: compact(ends_h) };
  const bytes = Buffer.from(JSON.stringify({ type: 'FeatureCollection', features: [feature(times)] }));
  try {
    readOutlookGeoJson(bytes, 'x', { ...CATEGORICAL, day }, START_MS + 100 * HOUR_MS);
    return null;
  } catch (error) {
    return String(error);
  }
}

test('the issues of every day that the Storm Prediction Center makes are taken, with their updates', (t) => {
  for (const [issued_h, begins_h] of [
    [6.3, 0],
    [-0.8, 1],
    [-4.4, 4.5],
    [-7.9, 8],
    [-12.8, 13],
    [-20, 13],
  ] as const)
    t.is(faultAt(1, issued_h, begins_h), null, `${issued_h} h`);
  for (const [day, issued_h] of [
    [2, 30],
    [2, 18.5],
    [3, 52.5],
    [3, 40.5],
    [4, 75],
    [5, 99],
    [6, 123],
    [7, 147],
    [8, 171],
  ] as const)
    t.is(faultAt(day, issued_h), null, `day ${day}, ${issued_h} h`);
});

test('dates that no outlook of a day has are named', (t) => {
  t.regex(faultAt(1, 240) ?? '', /issued .* which is not day 1 then$/);
  t.regex(faultAt(2, 240) ?? '', /not day 2 then/);
  t.regex(faultAt(8, 195) ?? '', /not day 8 then/);
  t.regex(faultAt(3, 6) ?? '', /not day 3 then/);
  t.regex(faultAt(1, 6, -24) ?? '', /expected at most a day/);
  t.regex(faultAt(2, 24, 0, 48) ?? '', /expected just a day/);
  t.regex(faultAt(4, 75, 0, 26) ?? '', /expected an end at 12 UTC/);
});
