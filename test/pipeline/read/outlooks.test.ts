import { readFileSync } from 'node:fs';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import test from 'ava';
import fc from 'fast-check';
import { BadInput } from '../../../pipeline/error.ts';
import { assembleLines } from '../../../pipeline/read/outlook-lines.ts';
import { outlookLayerOf, readOutlookGeoJson } from '../../../pipeline/read/spc-outlook-geojson.ts';
import { faultOfTimes, parseSections, readOutlookPoints } from '../../../pipeline/read/spc-outlook-points.ts';
import { productLines } from '../../../pipeline/read/text-product.ts';
import type { MultiPolygon, Ring } from '../../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { OUTLOOK_DOMAIN } from '../../../schemas/reference/outlook-domain.ts';
import type { FileOutlook } from '../../../schemas/tables/feeds.ts';
import { feedFigures, minuteOf } from '../../support/data/feed-figures.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

const NOW = Date.parse('2026-11-22T00:00:00Z');
const NAMES = [
  'PTSD48.txt',
  'PTSD48_day6.txt',
  'PTSDY1.txt',
  'PTSDY1_bigenh.txt',
  'PTSDY1_hole.txt',
  'PTSDY1_new.txt',
  'PTSDY1_nogeom.txt',
  'PTSDY2.txt',
  'PTSDY3.txt',
  'PTSDY3_CIG1.txt',
];
/** Its issue line says `SUN` where the time zone belongs. */
const WITHOUT_ZONE = 'PTSDY1_new.txt';

const bytesOf = (name: string) => readFileSync(sharedData('outlooks', 'points', name));

for (const name of NAMES)
  sharedTest(`${name} has the sections, labels, lines and positions read by others`, (t) => {
    const figures = feedFigures().outlooks.points[name]!;
    t.deepEqual(
      parseSections(productLines(bytesOf(name), name)).map(({ day, name: section, groups }) => ({
        day,
        section,
        groups: groups.map(({ label, lines, broken }) => ({
          label: broken.length === 0 ? label : broken,
          lines: lines.length,
          points: lines.map((line) => line.length),
          closed: lines.map((line) => String(line[0]) === String(line.at(-1))),
          first_lonlat: lines[0]![0],
        })),
      })),
      figures.sections.map((section) => ({ ...section })) as never,
    );
  });

for (const name of NAMES)
  sharedTest(`every area of ${name} is valid`, (t) => {
    for (const { day, name: section, groups } of parseSections(productLines(bytesOf(name), name))) {
      const areas = groups.map(({ label, lines }) => ({ label, ...assembleLines(lines) }));
      for (const { label, polygons, refused } of areas)
        t.deepEqual([refused, isValidMultiPolygon(polygons)], [[], null], `${day} ${section} ${label}`);
    }
  });

for (const name of NAMES.filter((other) => other !== WITHOUT_ZONE))
  sharedTest(`${name} gives one row a label, one for each empty layer, and the validity of its text`, (t) => {
    const figures = feedFigures().outlooks.points[name]!;
    const { rows, set_aside } = readOutlookPoints(bytesOf(name), name, NOW);
    t.deepEqual(set_aside, []);
    t.true(rows.every(({ is_complete, data_source }) => is_complete && data_source === 'observed'));
    const labels = figures.sections.flatMap(({ section, day, groups }) => [
      ...new Set(groups.map(({ label }) => `${day} ${section.toLowerCase().replace(' ', '_')} ${label}`)),
    ]);
    t.is(rows.filter(({ label }) => label !== null).length, labels.length);
    const dayTime = (time_ms: number) => minuteOf(time_ms).slice(8, 16).replaceAll(/[T:]/g, '');
    t.is(dayTime(Math.min(...rows.map(({ valid_time }) => valid_time))), figures.valid_ddhhmm[0]);
    t.is(dayTime(Math.max(...rows.map(({ expire_time }) => expire_time))), figures.valid_ddhhmm[1]);
  });

sharedTest('an issue line whose time zone is none refuses the outlook', (t) => {
  t.throws(() => readOutlookPoints(bytesOf(WITHOUT_ZONE), WITHOUT_ZONE, NOW), {
    instanceOf: BadInput,
    message: /time zone/,
  });
});

/** True when a place `lat lon` lies in the area of a label. */
function holds(rows: readonly FileOutlook[], hazard: string, label: string, place: string): boolean {
  const [lat, lon] = place.split(' ').map(Number);
  const row = rows.find((one) => one.hazard === hazard && one.label === label);
  const coordinates = multiPolygonFromWkt(row!.geometry!);
  return booleanPointInPolygon([lon!, lat!], { type: 'MultiPolygon', coordinates });
}

/** Cities that the maps of these outlooks show on this or that side of a line. */
const CITIES: readonly (readonly [name: string, hazard: string, label: string, inside: string, outside: string])[] = [
  ['PTSDY1_hole.txt', 'categorical', 'TSTM', 'Houston 29.76 -95.37', 'Wichita Falls inside the hole 34.30 -98.00'],
  ['PTSDY1_hole.txt', 'categorical', 'TSTM', 'Denver 39.74 -104.99', 'Minneapolis 44.98 -93.27'],
  ['PTSDY1_hole.txt', 'categorical', 'TSTM', 'Green Bay 44.20 -90.00', 'Chicago 41.88 -87.63'],
  ['PTSDY1_hole.txt', 'categorical', 'TSTM', 'Miami 25.76 -80.19', 'Jacksonville 30.60 -81.66'],
  ['PTSDY1_hole.txt', 'categorical', 'TSTM', 'Bangor 45.50 -69.00', 'Los Angeles 34.05 -118.24'],
  ['PTSDY1_hole.txt', 'categorical', 'TSTM', 'Wilmington 34.23 -77.94', 'Atlanta 33.75 -84.39'],
  ['PTSDY1_hole.txt', 'hail', '0.05', 'Midland 32.00 -102.08', 'Dallas 32.78 -96.80'],
  ['PTSDY1_bigenh.txt', 'categorical', 'ENH', 'Omaha 41.00 -96.50', 'Denver 39.74 -104.99'],
  ['PTSDY1_bigenh.txt', 'categorical', 'TSTM', 'Atlanta 33.75 -84.39', 'Seattle 47.61 -122.33'],
  ['PTSDY1_nogeom.txt', 'categorical', 'ENH', 'Chicago 41.88 -87.63', 'Atlanta 33.75 -84.39'],
  ['PTSDY1_nogeom.txt', 'categorical', 'SLGT', 'Buffalo 42.89 -78.88', 'Washington 37.50 -78.00'],
  ['PTSDY2.txt', 'categorical', 'SLGT', 'Abilene 32.45 -99.73', 'Houston 29.76 -95.37'],
  ['PTSDY2.txt', 'categorical', 'TSTM', 'Chicago 41.88 -87.63', 'Nashville 36.16 -86.78'],
  ['PTSDY3_CIG1.txt', 'categorical', 'MRGL', 'Wichita 37.69 -97.34', 'Houston 29.76 -95.37'],
  ['PTSDY3_CIG1.txt', 'any_severe', 'CIG1', 'Oklahoma City 35.47 -98.50', 'Houston 29.76 -95.37'],
];
for (const [name, hazard, label, inside, outside] of CITIES)
  sharedTest(`the ${hazard} ${label} of ${name} holds ${inside}, not ${outside}`, (t) => {
    const { rows } = readOutlookPoints(bytesOf(name), name, NOW);
    const place = (words: string) => words.split(' ').slice(-2).join(' ');
    t.true(holds(rows, hazard, label, place(inside)));
    t.false(holds(rows, hazard, label, place(outside)));
  });

/** An outlook with one hail and one categorical section. */
function outlook(hail: string, categorical = ''): Buffer {
  return Buffer.from(`063
WUUS01 KWNS 011237
PTSDY1

DAY 1 CONVECTIVE OUTLOOK AREAL OUTLINE
NWS STORM PREDICTION CENTER NORMAN OK
0736 AM CDT TUE JUN 01 2021

VALID TIME 011300Z - 021200Z

PROBABILISTIC OUTLOOK POINTS DAY 1

... HAIL ...

${hail}
&&

CATEGORICAL OUTLOOK POINTS DAY 1

... CATEGORICAL ...

${categorical}
&&
THERE IS A MRGL RISK OF SVR TSTMS TO THE RIGHT OF A LINE FROM 40 S
MRGL RISK.
`);
}

const SQUARE = '35009800 36009800 36009700 35009700 35009800';

test('groups of one label are one area, and labels become percent', (t) => {
  const { rows } = readOutlookPoints(outlook(`0.15   ${SQUARE}\n0.15   35009500 36009500 36009400 35009500`), 'x', NOW);
  t.deepEqual(
    rows.map(({ hazard, label, probability_pct, geometry }) => [hazard, label, probability_pct, geometry]),
    [
      [
        'hail',
        '0.15',
        15,
        'MULTIPOLYGON (((-98 35, -97 35, -97 36, -98 36, -98 35)), ((-95 35, -94 36, -95 36, -95 35)))',
      ],
      ['categorical', null, null, null],
    ],
  );
});

test('the date of a forecast is that of the 12 UTC at which its day starts, also after midnight', (t) => {
  const late = outlook('')
    .toString()
    .replace('0736 AM CDT TUE JUN 01', '0736 PM CDT TUE JUN 01')
    .replace('011300Z', '020100Z');
  t.deepEqual(
    readOutlookPoints(Buffer.from(late), 'x', NOW).rows.map(({ forecast_date }) => forecast_date),
    ['2021-06-01', '2021-06-01'],
  );
});

for (const [title, group, reason] of [
  ['of an unknown label', `0.5x   ${SQUARE}`, 'label is not known'],
  ['with a broken position', `0.05   ${SQUARE} 3500`, "position '3500', expected eight digits"],
  ['without positions', '0.05', 'no positions'],
  ['that crosses itself', '0.05   35009800 36009700 36009800 34509700 35009800', 'rings 0 and 0 cross or overlap'],
  ['whose line ends in the middle of the country', '0.05   40009800 41009500 45009000', 'line ends at -98 40'],
] as const)
  test(`a group ${title} is set aside, and the rest of its layer is not complete`, (t) => {
    const { rows, set_aside } = readOutlookPoints(outlook(`${group}\n0.15   ${SQUARE}`, `TSTM   ${SQUARE}`), 'x', NOW);
    t.true(set_aside[0]?.reason.startsWith(reason), set_aside[0]?.reason);
    t.deepEqual(
      rows.map(({ label, is_complete }) => [label, is_complete]),
      [
        ['0.15', false],
        ['TSTM', true],
      ],
    );
  });

for (const [title, stray] of [
  ['an unreadable position', '35009500 3500 36009500 36009400 35009400 35009500'],
  ['a position that makes it cross itself', '35009500 36009400 36009500 35009400 35009500'],
] as const)
  test(`${title} costs the polygon that it stands in, not the others of its label`, (t) => {
    const { rows, set_aside } = readOutlookPoints(outlook(`0.15   ${stray} 99999999 ${SQUARE}`), 'x', NOW);
    t.deepEqual(
      set_aside.map(({ item }) => item),
      ["day 1 hail '0.15'"],
    );
    t.deepEqual(
      rows.map(({ label, is_complete, geometry }) => [label, is_complete, geometry]),
      [
        ['0.15', false, 'MULTIPOLYGON (((-98 35, -97 35, -97 36, -98 36, -98 35)))'],
        [null, true, null],
      ],
    );
  });

/** Times of an outlook of a day, from hours before (or after, below zero) the 12 UTC at which the day starts. */
function faultAt(day: number, issued_h: number, begins_h = 0, ends_h = 24): string | null {
  const start_ms = Date.parse('2026-05-10T12:00:00Z');
  const HOUR_MS = 3_600_000;
  return faultOfTimes(day, start_ms - issued_h * HOUR_MS, start_ms + begins_h * HOUR_MS, start_ms + ends_h * HOUR_MS);
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
  t.regex(faultAt(1, 240) ?? '', /^issued .* which is not day 1 then$/);
  t.regex(faultAt(2, 240) ?? '', /not day 2 then/);
  t.regex(faultAt(8, 195) ?? '', /not day 8 then/);
  t.regex(faultAt(3, 6) ?? '', /not day 3 then/);
  t.regex(faultAt(1, 6, -24) ?? '', /expected at most a day/);
  t.regex(faultAt(2, 24, 0, 48) ?? '', /expected just a day/);
  t.regex(faultAt(4, 75, 0, 26) ?? '', /expected an end at 12 UTC/);
});

for (const [title, validity] of [
  ['ten days ahead', '111300Z - 121200Z'],
  ['48 hours long', '011300Z - 031200Z'],
] as const)
  test(`an outlook of day 1 that is valid ${title} is refused`, (t) => {
    const text = outlook(`0.15   ${SQUARE}`).toString().replace('011300Z - 021200Z', validity);
    t.throws(() => readOutlookPoints(Buffer.from(text), 'x', NOW), {
      instanceOf: BadInput,
      message: /valid from 2021-06/,
    });
  });

test('a section is known by its word, however many dots stand around it', (t) => {
  const text = outlook(`0.15   ${SQUARE}`).toString().replace('... HAIL ...', '..HAIL....');
  t.deepEqual(readOutlookPoints(Buffer.from(text), 'x', NOW), readOutlookPoints(outlook(`0.15   ${SQUARE}`), 'x', NOW));
});

test('a section that is not known is set aside', (t) => {
  const text = outlook('').toString().replace('... HAIL ...', '... LOCUSTS ...');
  const { rows, set_aside } = readOutlookPoints(Buffer.from(text), 'x', NOW);
  t.deepEqual([rows.length, set_aside[0]?.reason], [1, 'section is not known']);
});

test('an outlook of the simulator is simulated', (t) => {
  const { rows } = readOutlookPoints(Buffer.from(outlook('').toString().replace('KWNS', 'KSIM')), 'x', NOW);
  t.true(rows.every(({ data_source }) => data_source === 'simulated'));
});

for (const [title, from, to] of [
  ['without issue', 'TUE JUN 01 2021', ''],
  ['without validity', 'VALID TIME', 'VALID'],
  ['that ends before it begins', '021200Z', '011200Z'],
  ['without sections', 'OUTLOOK POINTS DAY 1', 'OUTLOOK POINTS'],
  ['from the future', '2021', '2031'],
] as const)
  test(`an outlook ${title} is refused`, (t) => {
    t.throws(() => readOutlookPoints(Buffer.from(outlook('').toString().replaceAll(from, to)), 'x', NOW), {
      instanceOf: BadInput,
    });
  });

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

for (const [title, properties, geometry, reason] of [
  [
    'that crosses itself',
    {},
    {
      type: 'Polygon',
      coordinates: [
        [
          [-98, 35],
          [-97, 36],
          [-97, 35],
          [-98, 37],
          [-98, 35],
        ],
      ],
    },
    'rings 0 and 0 cross',
  ],
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

test('whatever stands among the features, the sound area beside it is kept', (t) => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue({ maxDepth: 4 }), { maxLength: 4 }), (junk) => {
      t.is(read(...junk, feature()).rows.length, 1);
    }),
    { numRuns: 200 },
  );
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

/** Line from the Gulf to Canada and its reverse: the west or the east of the country. */
const NORTHWARD: Ring = [
  [-95, 27],
  [-97, 35],
  [-96, 42],
  [-97, 50],
];
const SOUTHWARD = NORTHWARD.toReversed();
const WESTERN: Ring = NORTHWARD.map(([lon, lat]) => [lon! - 10, lat! + (lat === 27 ? 3 : 0)]);
/** Clockwise square in Kansas. */
const LINES_SQUARE: Ring = [
  [-100, 37],
  [-100, 39],
  [-98, 39],
  [-98, 37],
  [-100, 37],
];
const KANSAS = [-99, 38];
const DENVER = [-104.99, 39.74];
const OMAHA = [-98, 41.2];
const ATLANTA = [-84.39, 33.75];

function area(...lines: Ring[]): MultiPolygon {
  const { polygons, refused } = assembleLines(lines);
  if (refused[0] !== undefined) throw new Error(refused[0]);
  return polygons;
}

function linesHold(polygons: MultiPolygon, place: readonly number[]): boolean {
  return booleanPointInPolygon([...place], { type: 'MultiPolygon', coordinates: polygons });
}

test('the area lies to the right of a line that runs from border to border', (t) => {
  const [east, west] = [area(NORTHWARD), area(SOUTHWARD)];
  t.deepEqual([linesHold(east, ATLANTA), linesHold(east, DENVER)], [true, false]);
  t.deepEqual([linesHold(west, ATLANTA), linesHold(west, DENVER)], [false, true]);
  for (const polygons of [east, west]) t.is(isValidMultiPolygon(polygons), null);
});

test('two lines of one area leave the strip between them', (t) => {
  const strip = area(SOUTHWARD, WESTERN);
  t.is(isValidMultiPolygon(strip), null);
  t.deepEqual(
    [DENVER, KANSAS, ATLANTA, [-115, 40]].map((place) => linesHold(strip, place)),
    [true, true, false, false],
  );
});

test('the order of the lines does not matter', (t) => {
  const sorted = (polygons: MultiPolygon) => polygons.map(([ring]) => ring!.slice(1).map(String).sort().join(' '));
  t.deepEqual(sorted(area(WESTERN, SOUTHWARD)), sorted(area(SOUTHWARD, WESTERN)));
});

test('a ring drawn clockwise is an area, and leaves wound counter-clockwise', (t) => {
  t.deepEqual(area(LINES_SQUARE), [[LINES_SQUARE.toReversed()]]);
});

test('a ring drawn counter-clockwise is a hole of the area around it', (t) => {
  const west = area(SOUTHWARD, LINES_SQUARE.toReversed());
  t.is(west.length, 1);
  t.is(west[0]!.length, 2);
  t.deepEqual([linesHold(west, KANSAS), linesHold(west, DENVER)], [false, true]);
  t.is(isValidMultiPolygon(west), null);
});

test('a ring drawn counter-clockwise without an area around it is an area drawn the other way round', (t) => {
  t.true(linesHold(area(LINES_SQUARE.toReversed()), KANSAS));
});

test('a ring left open by a few kilometres in the middle of the country is closed', (t) => {
  const open = [...LINES_SQUARE.slice(0, -1), [-99.97, 37]];
  t.true(linesHold(area(open), KANSAS));
  t.false(linesHold(area(open), OMAHA));
});

test('a line that ends in the middle of the country is refused', (t) => {
  t.regex(
    assembleLines([
      [
        [-95, 27],
        [-97, 35],
        [-96, 42],
      ],
    ]).refused.join(),
    /^line ends at -96 42, \d+ km inside the outlook domain$/,
  );
});

test('a line that leaves the country and comes back is cut at the border', (t) => {
  const excursion: Ring = [
    [-125, 46],
    [-115, 47],
    [-112, 51],
    [-108, 51],
    [-105, 47],
    [-104, 50.5],
  ];
  const polygons = area(excursion);
  t.is(isValidMultiPolygon(polygons), null);
  t.deepEqual(
    [DENVER, [-110, 48.7], [-120, 48.5], [-105.2, 48.6]].map((place) => linesHold(polygons, place)),
    [true, true, false, false],
  );
});

test('a line outside of the country bounds no area', (t) => {
  t.deepEqual(
    assembleLines([
      [
        [-60, 30],
        [-60, 40],
      ],
    ]),
    { polygons: [], refused: [] },
  );
});

test('areas of one group that lie in each other are closed one by one', (t) => {
  const polygons = area(
    NORTHWARD,
    NORTHWARD.map(([lon, lat]) => [lon! + 5, lat! + (lat === 27 ? 1 : 0)]),
  );
  t.is(polygons.length, 2);
  t.true(linesHold(polygons, ATLANTA));
  t.false(linesHold(polygons, DENVER));
});

for (const [title, line, reason] of [
  ['one position', [[-98, 35]], 'a line of 1 position, expected 2 or more'],
  [
    'the same position twice',
    [
      [-98, 35],
      [-98, 35],
    ],
    'a line of 1 position, expected 2 or more',
  ],
  [
    'two corners',
    [
      [-98, 35],
      [-97, 35],
      [-98, 35],
    ],
    'a ring of 2 positions, expected 3 or more',
  ],
] as const)
  test(`a line of ${title} is refused`, (t) => {
    t.deepEqual(assembleLines([line.map((position) => [...position])]), { polygons: [], refused: [reason] });
  });

const CROSSED: Ring = [
  [-90, 33],
  [-89, 34],
  [-90, 34],
  [-89, 32],
  [-90, 33],
];
const UNFINISHED: Ring = [
  [-95, 27],
  [-97, 35],
  [-96, 42],
];
/** Counter-clockwise square in the one of Kansas. */
const LINES_HOLE: Ring = [
  [-99.5, 37.5],
  [-98.5, 37.5],
  [-98.5, 38.5],
  [-99.5, 38.5],
  [-99.5, 37.5],
];

test('a ring that cannot be used costs itself, and the other areas of its group stay', (t) => {
  const { polygons, refused } = assembleLines([LINES_SQUARE, CROSSED]);
  t.true(linesHold(polygons, KANSAS));
  t.regex(refused.join('; '), /^rings 0 and 0 cross or overlap near -\d+ \d+$/);
  t.deepEqual(assembleLines([LINES_SQUARE], [CROSSED.slice(0, 3)]).polygons, polygons);
});

test('a line from border to border that cannot be used costs those that bound an area with it, not the closed ones', (t) => {
  for (const { polygons, refused } of [
    assembleLines([NORTHWARD, UNFINISHED, LINES_SQUARE]),
    assembleLines([NORTHWARD, LINES_SQUARE], [UNFINISHED]),
  ]) {
    t.deepEqual(
      [KANSAS, ATLANTA, DENVER].map((place) => linesHold(polygons, place)),
      [true, false, false],
    );
    t.regex(refused.join('; '), /other lines from border to border/);
  }
});

test('a hole that cannot be used costs the area around it: nothing is claimed where there may be none', (t) => {
  const broken = LINES_HOLE.toSpliced(2, 1);
  t.deepEqual(assembleLines([LINES_SQUARE], [broken]), {
    polygons: [],
    refused: ['an area in which a hole cannot be used'],
  });
  t.true(linesHold(area(LINES_SQUARE, LINES_HOLE), [-99.8, 38]));
});

test('the parts of a line and its reverse share no place, and together hold the country', (t) => {
  const inside = fc
    .tuple(fc.double({ min: -120, max: -75, noNaN: true }), fc.double({ min: 32, max: 46, noNaN: true }))
    .map(([lon, lat]) => [lon, lat] as const);
  const country = { type: 'Polygon' as const, coordinates: [OUTLOOK_DOMAIN] };
  fc.assert(
    fc.property(
      fc.integer({ min: -112, max: -84 }),
      fc.integer({ min: -112, max: -84 }),
      fc.integer({ min: -112, max: -84 }),
      inside,
      (south, middle, north, place) => {
        const line: Ring = [
          [south, 20],
          [middle, 38],
          [north, 55],
        ];
        const [right, left] = [area(line), area(line.toReversed())];
        t.is(isValidMultiPolygon(right), null);
        t.is(isValidMultiPolygon(left), null);
        const between = [south, middle, north].some((lon) => Math.abs(lon - place[0]) < 1e-9);
        if (!between && booleanPointInPolygon([...place], country))
          t.not(linesHold(right, place), linesHold(left, place));
      },
    ),
    { numRuns: 150 },
  );
});

test('whatever the lines are, they give valid polygons or a reason', (t) => {
  const position = fc
    .tuple(fc.integer({ min: -13500, max: -6000 }), fc.integer({ min: 2000, max: 5500 }))
    .map(([x, y]) => [x / 100, y / 100]);
  fc.assert(
    fc.property(fc.array(fc.array(position, { minLength: 1, maxLength: 8 }), { maxLength: 3 }), (lines) => {
      const { polygons, refused } = assembleLines(lines);
      t.true(refused.every((reason) => reason.length > 0));
      for (const polygon of polygons) t.is(isValidMultiPolygon([polygon]), null);
    }),
    { numRuns: 300 },
  );
});
