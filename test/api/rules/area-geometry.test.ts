import test from 'ava';
import fc from 'fast-check';
import geodesic from 'geographiclib-geodesic';
import {
  type AreaShape,
  type GeometryFault,
  isFault,
  pointShape,
  polygonShape,
  submittedRing,
} from '../../../api/rules/area-geometry.ts';
import { geodesicAreaKm2 } from '../../../schemas/geo/hull.ts';
import type { Ring } from '../../../schemas/geo/rings.ts';
import { SUBMITTED_POSITIONS_MAX } from '../../../schemas/resources/area.ts';
import { askShapely } from '../../support/data/shapely.ts';
import { simpleRing, starRing } from '../../support/data/simple-rings.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

const SQUARE: Ring = [
  [-97, 35],
  [-96, 35],
  [-96, 36],
  [-97, 36],
  [-97, 35],
];
const SQ_M_PER_SQ_MI = 1609.344 ** 2;

function polygon(...coordinates: unknown[]) {
  return { type: 'Polygon', coordinates };
}

function shapeOf(ring: Ring): AreaShape {
  const shape = polygonShape(ring);
  if (isFault(shape)) throw new Error(`${shape.pointer} ${shape.reason}`);
  return shape;
}

function cornersOf(ring: Ring | null): string[] {
  return [...new Set(ring?.map(String))].sort();
}

function textOf({ pointer, reason }: GeometryFault): string {
  return `${pointer} ${reason}`;
}

const TOO_MANY = starRing([-97, 37], Array(SUBMITTED_POSITIONS_MAX).fill(1));

for (const [what, geometry, text] of [
  ['a text', 'POLYGON((0 0))', ' is no object, expected a GeoJSON Polygon'],
  ['a list', [SQUARE], ' is no object, expected a GeoJSON Polygon'],
  ['a MultiPolygon', { type: 'MultiPolygon', coordinates: [[SQUARE]] }, "/type is 'MultiPolygon', expected Polygon"],
  ['a Feature', { type: 'Feature', geometry: polygon(SQUARE) }, "/type is 'Feature', expected Polygon"],
  ['an object without a type', { coordinates: [SQUARE] }, '/type is missing, expected Polygon'],
  ['coordinates that are no list', { type: 'Polygon' }, '/coordinates is no list, expected a list with one ring'],
  ['no ring', polygon(), '/coordinates has no ring, expected the outer ring'],
  ['a hole', polygon(SQUARE, SQUARE), '/coordinates has 2 rings, expected the outer ring only, without holes'],
  [
    'three positions',
    polygon(SQUARE.slice(0, 3)),
    '/coordinates/0 has 3 positions, expected 4 or more, the last like the first',
  ],
  ['one position too many', polygon(TOO_MANY), '/coordinates/0 has 20001 positions, expected at most 20000'],
  [
    'a text for a number',
    polygon(['-97 35', ...SQUARE]),
    '/coordinates/0/0 is no position, expected [longitude, latitude]',
  ],
  [
    'four numbers',
    polygon([...SQUARE, [-97, 35, 0, 0]]),
    '/coordinates/0/5 is no position, expected [longitude, latitude]',
  ],
  [
    'a number that is none',
    polygon([...SQUARE, [Number.NaN, 35]]),
    '/coordinates/0/5 is no position, expected [longitude, latitude]',
  ],
  [
    'a vertex in the eastern hemisphere',
    polygon([...SQUARE, [97, 35]]),
    '/coordinates/0/5 lon is 97, expected -125 to -66, longitudes west of Greenwich are negative',
  ],
  [
    'latitude before longitude',
    polygon(SQUARE.map(([lon, lat]) => [lat, lon])),
    '/coordinates/0/0 lat is -97, expected 24 to 50, lat and lon look swapped',
  ],
  [
    'a vertex in Canada',
    polygon([...SQUARE, [-97, 50.000001]]),
    '/coordinates/0/5 lat is 50.000001, expected 24 to 50',
  ],
] as const)
  test(`refuses ${what}`, (t) => {
    const found = submittedRing(geometry);
    if (!isFault(found)) return t.fail('it was taken for a ring');
    t.is(textOf(found), text);
  });

for (const [what, ring, reason] of [
  [
    'a ring that is not closed',
    [...SQUARE.slice(0, 4), [-97, 35.00001]],
    'is not closed: begins at -97 35 and ends at -97 35.00001',
  ],
  ['a bow-tie', [SQUARE[0], SQUARE[1], SQUARE[3], SQUARE[2], SQUARE[0]], 'crosses or touches itself near -97 36'],
  [
    'a ring there and back',
    [SQUARE[0], SQUARE[1], SQUARE[0], SQUARE[1], SQUARE[0]],
    'has no area, all its positions lie on a line',
  ],
  [
    'positions on a line',
    [
      [-97, 35],
      [-96, 35],
      [-95, 35],
      [-97, 35],
    ],
    'has no area, all its positions lie on a line',
  ],
  [
    'one position four times',
    [SQUARE[0], SQUARE[0], SQUARE[0], SQUARE[0]],
    'has 1 different positions, expected 3 or more',
  ],
  [
    'positions nearer than 0.1 m',
    [
      [-97, 35],
      [-97.0000001, 35],
      [-97, 35.0000001],
      [-97, 35],
    ],
    'has 1 different positions, expected 3 or more',
  ],
  ['a ring with a spike', [...SQUARE.slice(0, 4), [-97, 37], [-97, 35]], 'goes back on itself at -97 37'],
  [
    'a ring that meets itself in a vertex',
    [
      [-97, 35],
      [-96, 36],
      [-95, 35],
      [-95, 37],
      [-96, 36],
      [-97, 37],
      [-97, 35],
    ],
    'passes -96 36 twice',
  ],
] as readonly (readonly [string, Ring, string])[])
  test(`refuses ${what}`, (t) => {
    const found = polygonShape(ring);
    if (!isFault(found)) return t.fail('it was taken for an area');
    t.is(textOf(found), `/coordinates/0 ${reason}`);
  });

test('the edges of CONUS belong to it, and elevations are left out', (t) => {
  const corners = [
    [-125, 24, 100],
    [-66, 24, 100],
    [-66, 50],
    [-125, 50],
    [-125, 24, 100],
  ];
  t.deepEqual(
    submittedRing(polygon(corners)),
    corners.map(([lon, lat]) => [lon as number, lat as number]),
  );
});

test('a clockwise ring with repeated positions is stored counter-clockwise without them', (t) => {
  const { ring, bbox, point } = shapeOf(SQUARE.toReversed().flatMap((position) => [position, position]));
  t.deepEqual(cornersOf(ring), cornersOf(SQUARE));
  t.is(ring?.length, 5);
  t.is(isValidMultiPolygon([[ring ?? []]]), null);
  t.deepEqual(bbox, [-97, 35, -96, 36]);
  t.is(point, null);
});

test('a ring is stored with six decimals, and its area is that of the ring as it was sent', (t) => {
  const sent = SQUARE.map(([lon, lat]) => [(lon as number) + 0.000000449, (lat as number) - 0.000000449]);
  const shape = shapeOf(sent);
  t.deepEqual(cornersOf(shape.ring), cornersOf(SQUARE));
  t.is(shape.area_sq_mi * SQ_M_PER_SQ_MI, geodesicAreaKm2(sent) * 1e6);
  t.not(shape.area_sq_mi, shapeOf(SQUARE).area_sq_mi);
});

test('a ring of 499 positions is answered whole, one of 500 with one vertex less and kept whole for matching', (t) => {
  const ring = (positions: number) => starRing([-97, 37], Array(positions - 1).fill(1));
  t.is(shapeOf(ring(499)).ring?.length, 499);
  t.is(shapeOf(ring(499)).submitted, null);
  t.is(shapeOf(ring(500)).ring?.length, 499);
  t.is(shapeOf(ring(500)).submitted?.length, 500);
});

test('the centre of gravity is what the four letters stand for, wherever the ring begins', (t) => {
  const pennant: Ring = [
    [-100, 35],
    [-90, 35.5],
    [-100, 36],
    [-100, 35],
  ];
  t.is(shapeOf(pennant).centroid_geohash4, '9y73');
  t.is(shapeOf([...pennant.slice(1), [-90, 35.5]]).centroid_geohash4, '9y73');
});

test('a point is a square mile, a box without extent and its own centre', (t) => {
  t.deepEqual(pointShape({ lat: 35.1234567, lon: -97.7654321 }), {
    ring: null,
    submitted: null,
    point: { lat: 35.1234567, lon: -97.7654321 },
    bbox: [-97.76543, 35.12346, -97.76543, 35.12346],
    centroid_geohash4: '9y4r',
    area_sq_mi: 1,
  });
  t.deepEqual(pointShape({ lat: -97, lon: 35 }), {
    pointer: '',
    reason: 'lat is -97, expected 24 to 50, lat and lon look swapped',
  });
});

test('the area is the one that the PostGIS manual prints for a plot in Massachusetts', (t) => {
  // Manual of ST_Transform (corners) and of ST_Area (86.2776044452694 square metres on the spheroid).
  const plot: Ring = [
    [-71.1776848522251, 42.3902896512902],
    [-71.1776843766326, 42.3903829478009],
    [-71.1775844305465, 42.3903826677917],
    [-71.1775825927231, 42.3902893647987],
    [-71.1776848522251, 42.3902896512902],
  ];
  t.true(Math.abs((shapeOf(plot).area_sq_mi * SQ_M_PER_SQ_MI) / 86.2776044452694 - 1) < 1e-8);
});

test('geodesic area is the one that GeographicLib documents for its sketch of Antarctica', (t) => {
  // Documentation of GeographicLib's PolygonArea: 13662703680020.1 square metres.
  const coast = [
    [-63.1, -58],
    [-72.9, -74],
    [-71.9, -102],
    [-74.9, -102],
    [-74.3, -131],
    [-77.5, -163],
    [-77.4, 163],
    [-71.7, 172],
    [-65.9, 140],
    [-65.7, 113],
    [-66.6, 88],
    [-66.9, 59],
    [-69.8, 25],
    [-70, -4],
    [-71, -14],
    [-77.3, -33],
    [-77.9, -46],
    [-74.7, -61],
    [-63.1, -58],
  ].map(([lat, lon]) => [lon as number, lat as number]);
  t.true(Math.abs((geodesicAreaKm2(coast) * 1e6) / 13_662_703_680_020.1 - 1) < 1e-12);
});

test('any simple ring has the area that geographiclib finds, and is stored as a valid ring of at most 499 positions', (t) => {
  const stored: Ring[] = [];
  fc.assert(
    fc.property(simpleRing, (ring) => {
      const shape = shapeOf(ring);
      const peer = geodesic.Geodesic.WGS84.Polygon(false);
      for (const [lon, lat] of ring.slice(1)) peer.AddPoint(lat as number, lon as number);
      const area = Math.abs(peer.Compute(false, true).area as number);
      t.true(Math.abs((shape.area_sq_mi * SQ_M_PER_SQ_MI) / area - 1) < 1e-9);
      const found = shape.ring ?? [];
      t.true(found.length <= 499);
      t.true(found.flat().every((degrees) => degrees === Number(degrees.toFixed(6))));
      stored.push(found);
      return true;
    }),
    { numRuns: 200 },
  );
  const questions = stored.map((ring) => ({
    wkt: `POLYGON((${ring.map((position) => position.join(' ')).join(', ')}))`,
    places: [],
  }));
  const answers = askShapely(questions);
  if (answers === null) t.log('shapely is not installed');
  else t.true(answers.every(({ is_valid, has_positive_area }) => is_valid && has_positive_area));
  t.true(stored.every((ring) => isValidMultiPolygon([[ring]]) === null));
});
