import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import test from 'ava';
import fc from 'fast-check';
import { assembleLines } from '../../../pipeline/read/outlook-lines.ts';
import type { MultiPolygon, Ring } from '../../../schemas/geo/rings.ts';
import { OUTLOOK_DOMAIN } from '../../../schemas/reference/outlook-domain.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

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
const SQUARE: Ring = [
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

function holds(polygons: MultiPolygon, place: readonly number[]): boolean {
  return booleanPointInPolygon([...place], { type: 'MultiPolygon', coordinates: polygons });
}

test('the area lies to the right of a line that runs from border to border', (t) => {
  const [east, west] = [area(NORTHWARD), area(SOUTHWARD)];
  t.deepEqual([holds(east, ATLANTA), holds(east, DENVER)], [true, false]);
  t.deepEqual([holds(west, ATLANTA), holds(west, DENVER)], [false, true]);
  for (const polygons of [east, west]) t.is(isValidMultiPolygon(polygons), null);
});

test('two lines of one area leave the strip between them', (t) => {
  const strip = area(SOUTHWARD, WESTERN);
  t.is(isValidMultiPolygon(strip), null);
  t.deepEqual(
    [DENVER, KANSAS, ATLANTA, [-115, 40]].map((place) => holds(strip, place)),
    [true, true, false, false],
  );
});

test('the order of the lines does not matter', (t) => {
  const sorted = (polygons: MultiPolygon) => polygons.map(([ring]) => ring!.slice(1).map(String).sort().join(' '));
  t.deepEqual(sorted(area(WESTERN, SOUTHWARD)), sorted(area(SOUTHWARD, WESTERN)));
});

test('a ring drawn clockwise is an area, and leaves wound counter-clockwise', (t) => {
  t.deepEqual(area(SQUARE), [[SQUARE.toReversed()]]);
});

test('a ring drawn counter-clockwise is a hole of the area around it', (t) => {
  const west = area(SOUTHWARD, SQUARE.toReversed());
  t.is(west.length, 1);
  t.is(west[0]!.length, 2);
  t.deepEqual([holds(west, KANSAS), holds(west, DENVER)], [false, true]);
  t.is(isValidMultiPolygon(west), null);
});

test('a ring drawn counter-clockwise without an area around it is an area drawn the other way round', (t) => {
  t.true(holds(area(SQUARE.toReversed()), KANSAS));
});

test('a ring left open by a few kilometres in the middle of the country is closed', (t) => {
  const open = [...SQUARE.slice(0, -1), [-99.97, 37]];
  t.true(holds(area(open), KANSAS));
  t.false(holds(area(open), OMAHA));
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
    [DENVER, [-110, 48.7], [-120, 48.5], [-105.2, 48.6]].map((place) => holds(polygons, place)),
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
  t.true(holds(polygons, ATLANTA));
  t.false(holds(polygons, DENVER));
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
const HOLE: Ring = [
  [-99.5, 37.5],
  [-98.5, 37.5],
  [-98.5, 38.5],
  [-99.5, 38.5],
  [-99.5, 37.5],
];

test('a ring that cannot be used costs itself, and the other areas of its group stay', (t) => {
  const { polygons, refused } = assembleLines([SQUARE, CROSSED]);
  t.true(holds(polygons, KANSAS));
  t.regex(refused.join('; '), /^rings 0 and 0 cross or overlap near -\d+ \d+$/);
  t.deepEqual(assembleLines([SQUARE], [CROSSED.slice(0, 3)]).polygons, polygons);
});

test('a line from border to border that cannot be used costs those that bound an area with it, not the closed ones', (t) => {
  for (const { polygons, refused } of [
    assembleLines([NORTHWARD, UNFINISHED, SQUARE]),
    assembleLines([NORTHWARD, SQUARE], [UNFINISHED]),
  ]) {
    t.deepEqual(
      [KANSAS, ATLANTA, DENVER].map((place) => holds(polygons, place)),
      [true, false, false],
    );
    t.regex(refused.join('; '), /other lines from border to border/);
  }
});

test('a hole that cannot be used costs the area around it: nothing is claimed where there may be none', (t) => {
  const broken = HOLE.toSpliced(2, 1);
  t.deepEqual(assembleLines([SQUARE], [broken]), {
    polygons: [],
    refused: ['an area in which a hole cannot be used'],
  });
  t.true(holds(area(SQUARE, HOLE), [-99.8, 38]));
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
        if (!between && booleanPointInPolygon([...place], country)) t.not(holds(right, place), holds(left, place));
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
