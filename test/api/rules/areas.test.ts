import { readFileSync } from 'node:fs';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import test from 'ava';
import fc from 'fast-check';
import geodesic from 'geographiclib-geodesic';
import { stateQuery } from '../../../api/http/decode.ts';
import { type AreaShape, pointShape, polygonShape, submittedRing } from '../../../api/rules/area-geometry.ts';
import { holds, isWithin } from '../../../api/rules/areas.ts';
import { stateBox, usStates } from '../../../api/rules/geo/us-states.ts';
import { regionOf } from '../../../api/rules/region.ts';
import { ringTree } from '../../../api/rules/ring-tree.ts';
import { type WatchPlace, watchBox, watchPolygons } from '../../../api/rules/watch-area.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { geodesicAreaKm2 } from '../../../schemas/geo/hull.ts';
import { latRow, lonCol } from '../../../schemas/geo/lattice.ts';
import { type Bbox, boxRing, type Position } from '../../../schemas/geo/position.ts';
import type { MultiPolygon, Ring } from '../../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { SUBMITTED_POSITIONS_MAX } from '../../../schemas/resources/area.ts';
import { regionBox } from '../../../schemas/resources/region-box.ts';
import { askShapely } from '../../support/data/shapely.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { combRing, corridorRing, simpleRing, starRing } from '../../support/data/simple-rings.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

const SQUARE = 'POLYGON ((-98 35, -97 35, -97 36, -98 36, -98 35))';
const HOLED =
  'MULTIPOLYGON (((-98 35, -97 35, -97 36, -98 36, -98 35), (-97.8 35.2, -97.8 35.4, -97.6 35.4, -97.6 35.2, -97.8 35.2)), ((-90 40, -89 40, -89 41, -90 40)))';

for (const [place, lat, lon, inside] of [
  ['the middle', 35.6, -97.5, true],
  ['an edge', 35, -97.5, true],
  ['a corner', 36, -97, true],
  ['just outside', 36.0001, -97.5, false],
  ['a hole', 35.3, -97.7, false],
  ['the second polygon', 40.2, -89.3, true],
  ['the box of the second polygon, outside of its slope', 40.9, -89.9, false],
] as const)
  test(`${place} is ${inside ? 'held' : 'not held'}`, (t) => t.is(holds({ geometry: HOLED }, { lat, lon }), inside));

/** The distance to edges by looking at very many positions of them. */
function obviousKm(polygons: MultiPolygon, point: { lat: number; lon: number }): number {
  let least = Number.POSITIVE_INFINITY;
  for (const ring of polygons.flat())
    for (let i = 1; i < ring.length; i++)
      for (let step = 0; step <= 400; step++) {
        const [from, to] = [ring[i - 1]!, ring[i]!];
        const at = (axis: 0 | 1) => from[axis]! + (step / 400) * (to[axis]! - from[axis]!);
        least = Math.min(least, distanceKm(point, { lon: at(0), lat: at(1) }));
      }
  return least;
}

test('what is within a distance is what many positions of the edges say', (t) => {
  const polygons = multiPolygonFromWkt(SQUARE);
  fc.assert(
    fc.property(
      fc.record({
        lat: fc.double({ min: 33.5, max: 37.5, noNaN: true }),
        lon: fc.double({ min: -100, max: -95, noNaN: true }),
      }),
      (point) => {
        if (holds({ geometry: SQUARE }, point)) return t.true(isWithin(polygons, point, 0.001));
        const km = obviousKm(polygons, point);
        // Positions of an edge lie 0.28 km apart: near its end the true distance may be a little less.
        t.true(isWithin(polygons, point, km + 1e-6));
        t.false(isWithin(polygons, point, km * 0.999 - 0.14));
      },
    ),
    { numRuns: 30 },
  );
});

test('the distance to an edge is the geodesic: a metre more or less at 200 km decides', (t) => {
  const polygons = multiPolygonFromWkt(SQUARE);
  const south = { lat: 33.2, lon: -97.5 };
  const km = distanceKm(south, { lat: 35, lon: -97.5 });
  t.true(isWithin(polygons, south, km + 0.001));
  t.false(isWithin(polygons, south, km - 0.001));
});

const GEOMETRY_SQUARE: Ring = [
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
  if (typeof shape === 'string') throw new Error(shape);
  return shape;
}

function cornersOf(ring: Ring | null): string[] {
  return [...new Set(ring?.map(String))].sort();
}

const TOO_MANY = starRing([-97, 37], Array(SUBMITTED_POSITIONS_MAX).fill(1));

for (const [what, geometry, text] of [
  ['a text', 'POLYGON((0 0))', ' is no object, expected a GeoJSON Polygon'],
  ['a list', [GEOMETRY_SQUARE], ' is no object, expected a GeoJSON Polygon'],
  [
    'a MultiPolygon',
    { type: 'MultiPolygon', coordinates: [[GEOMETRY_SQUARE]] },
    "/type is 'MultiPolygon', expected Polygon",
  ],
  ['a Feature', { type: 'Feature', geometry: polygon(GEOMETRY_SQUARE) }, "/type is 'Feature', expected Polygon"],
  ['an object without a type', { coordinates: [GEOMETRY_SQUARE] }, '/type is missing, expected Polygon'],
  ['coordinates that are no list', { type: 'Polygon' }, '/coordinates is no list, expected a list with one ring'],
  ['no ring', polygon(), '/coordinates has no ring, expected the outer ring'],
  [
    'a hole',
    polygon(GEOMETRY_SQUARE, GEOMETRY_SQUARE),
    '/coordinates has 2 rings, expected the outer ring only, without holes',
  ],
  [
    'three positions',
    polygon(GEOMETRY_SQUARE.slice(0, 3)),
    '/coordinates/0 has 3 positions, expected 4 or more, the last like the first',
  ],
  ['one position too many', polygon(TOO_MANY), '/coordinates/0 has 20001 positions, expected at most 20000'],
  [
    'a text for a number',
    polygon(['-97 35', ...GEOMETRY_SQUARE]),
    '/coordinates/0/0 is no position, expected [longitude, latitude]',
  ],
  [
    'four numbers',
    polygon([...GEOMETRY_SQUARE, [-97, 35, 0, 0]]),
    '/coordinates/0/5 is no position, expected [longitude, latitude]',
  ],
  [
    'a number that is none',
    polygon([...GEOMETRY_SQUARE, [Number.NaN, 35]]),
    '/coordinates/0/5 is no position, expected [longitude, latitude]',
  ],
  [
    'a vertex in the eastern hemisphere',
    polygon([...GEOMETRY_SQUARE, [97, 35]]),
    '/coordinates/0/5 lon is 97, expected -125 to -66, longitudes west of Greenwich are negative',
  ],
  [
    'latitude before longitude',
    polygon(GEOMETRY_SQUARE.map(([lon, lat]) => [lat, lon])),
    '/coordinates/0/0 lat is -97, expected 24 to 50, lat and lon look swapped',
  ],
  [
    'a vertex in Canada',
    polygon([...GEOMETRY_SQUARE, [-97, 50.000001]]),
    '/coordinates/0/5 lat is 50.000001, expected 24 to 50',
  ],
] as const)
  test(`refuses ${what}`, (t) => {
    t.throws(() => submittedRing(geometry), { message: `/geometry${text.replace(' ', ': ')}` });
  });

for (const [what, ring, reason] of [
  [
    'a ring that is not closed',
    [...GEOMETRY_SQUARE.slice(0, 4), [-97, 35.00001]],
    'is not closed: begins at -97 35 and ends at -97 35.00001',
  ],
  [
    'a bow-tie',
    [GEOMETRY_SQUARE[0], GEOMETRY_SQUARE[1], GEOMETRY_SQUARE[3], GEOMETRY_SQUARE[2], GEOMETRY_SQUARE[0]],
    'crosses or touches itself near -97 36',
  ],
  [
    'a ring there and back',
    [GEOMETRY_SQUARE[0], GEOMETRY_SQUARE[1], GEOMETRY_SQUARE[0], GEOMETRY_SQUARE[1], GEOMETRY_SQUARE[0]],
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
    [GEOMETRY_SQUARE[0], GEOMETRY_SQUARE[0], GEOMETRY_SQUARE[0], GEOMETRY_SQUARE[0]],
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
  ['a ring with a spike', [...GEOMETRY_SQUARE.slice(0, 4), [-97, 37], [-97, 35]], 'goes back on itself at -97 37'],
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
  test(`refuses ${what}`, (t) => t.is(polygonShape(ring) as string, reason));

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
  const { ring, bbox, point } = shapeOf(GEOMETRY_SQUARE.toReversed().flatMap((position) => [position, position]));
  t.deepEqual(cornersOf(ring), cornersOf(GEOMETRY_SQUARE));
  t.is(ring?.length, 5);
  t.is(isValidMultiPolygon([[ring ?? []]]), null);
  t.deepEqual(bbox, [-97, 35, -96, 36]);
  t.is(point, null);
});

test('a ring is stored with six decimals, and its area is that of the ring as it was sent', (t) => {
  const sent = GEOMETRY_SQUARE.map(([lon, lat]) => [(lon as number) + 0.000000449, (lat as number) - 0.000000449]);
  const shape = shapeOf(sent);
  t.deepEqual(cornersOf(shape.ring), cornersOf(GEOMETRY_SQUARE));
  t.is(shape.area_sq_mi * SQ_M_PER_SQ_MI, geodesicAreaKm2(sent) * 1e6);
  t.not(shape.area_sq_mi, shapeOf(GEOMETRY_SQUARE).area_sq_mi);
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
  t.throws(() => pointShape({ lat: -97, lon: 35 }), {
    message: '/point: lat is -97, expected 24 to 50, lat and lon look swapped',
  });
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

const micro = (degrees: number) => Math.round(degrees * 1e6) / 1e6;

/** A ring with six decimals. */
function sixDecimals(ring: Ring): Ring {
  return ring.map((position) => position.map(micro));
}

function isInside(ring: Ring, { lat, lon }: Position): boolean {
  return booleanPointInPolygon([lon, lat], { type: 'Polygon', coordinates: [ring] });
}

/** Positions in and around the box of a ring. */
function positionsAround(ring: Ring, shares: readonly (readonly [number, number])[]): Position[] {
  const [lons, lats] = [0, 1].map((axis) => ring.map((position) => position[axis] as number)) as [number[], number[]];
  const along = (values: readonly number[], share: number) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return micro(least + (1.2 * share - 0.1) * (most - least));
  };
  return shares.map(([x, y]) => ({ lat: along(lats, y), lon: along(lons, x) }));
}

test('any simple ring holds the positions that turf finds inside it', (t) => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(simpleRing, fc.array(fc.tuple(share, share), { minLength: 20, maxLength: 60 }), (given, shares) => {
      const ring = sixDecimals(given);
      const tree = ringTree(ring);
      for (const at of positionsAround(ring, shares)) t.is(tree.holds(at), isInside(ring, at), JSON.stringify(at));
    }),
    { numRuns: 100 },
  );
});

for (const [what, ring] of [
  ['a corridor of 4,561 positions', corridorRing([-99, 34.5])],
  ['a comb of 1,203 positions', combRing([-100, 34])],
  ['a triangle', starRing([-97, 35], [1, 1, 1])],
] as const)
  test(`${what} holds its vertices, the middles of its edges, and of a grid what turf finds inside`, (t) => {
    const exact = sixDecimals(ring);
    const tree = ringTree(exact);
    for (const [i, [lon = 0, lat = 0]] of exact.slice(1).entries()) {
      t.true(tree.holds({ lat, lon }));
      t.true(tree.passesThrough({ lat: lat + 0.0049, lon: lon - 0.0049 }, 0.005));
      const [x = 0, y = 0] = exact[i] as number[];
      if (x === lon || y === lat) t.true(tree.holds({ lat: (y + lat) / 2, lon: (x + lon) / 2 }));
    }
    const shares = Array.from({ length: 900 }, (_, k) => [(k % 30) / 29, Math.floor(k / 30) / 29] as const);
    const positions = positionsAround(exact, shares);
    t.deepEqual(
      positions.map(tree.holds),
      positions.map((at) => isInside(exact, at)),
    );
  });

test('a ring passes through a square that an edge enters, with a vertex in it or without, and not through one beside it', (t) => {
  const tree = ringTree(boxRing([-97, 35, -96, 36]));
  t.true(tree.passesThrough({ lat: 35.001, lon: -97.004 }, 0.005));
  t.true(tree.passesThrough({ lat: 35.5, lon: -97.004999 }, 0.005));
  t.false(tree.passesThrough({ lat: 35.5, lon: -97.005 }, 0.005), 'the ring runs along its rim');
  t.false(tree.passesThrough({ lat: 34.995, lon: -97.005 }, 0.005), 'a corner touches a corner');
  t.false(tree.passesThrough({ lat: 35.5, lon: -96.5 }, 0.4), 'the ring is around it');
  const slope = ringTree([
    [-97, 35],
    [-96, 36],
    [-96, 36.5],
    [-97, 35],
  ]);
  t.true(slope.passesThrough({ lat: 35.495, lon: -96.496 }, 0.005));
  t.false(slope.passesThrough({ lat: 35.495, lon: -96.485 }, 0.005), 'in the box of the edge, beside it');
});

const box = (...bbox: [number, number, number, number]) => regionOf({ bbox, state: null });

test('without a box or a state the region is CONUS', (t) => {
  const { bbox, window, runs } = regionOf({ bbox: null, state: null });
  t.deepEqual(bbox, [-125, 24, -66, 50]);
  t.deepEqual(window, { row0: 500, col0: 500, rows: 2600, cols: 5900 });
  t.is(runs, null);
});

test('a pixel belongs to a box when its centre lies in it, edges included', (t) => {
  t.deepEqual(box(-100, 39.98, -99.98, 40).window, {
    row0: 1500,
    col0: 3000,
    rows: 2,
    cols: 2,
  });
  t.deepEqual(box(-99.995, 39.995, -99.985, 40).window, {
    row0: 1500,
    col0: 3000,
    rows: 1,
    cols: 2,
  });
  t.is(box(-99.994, 39.981, -99.986, 40).window, null, 'no centre between');
});

test('edges that no binary fraction holds exactly still hit the centres they name', (t) => {
  for (let k = 0; k < 2000; k++) {
    const lat = (24_005 + 10 * k) / 1000;
    const lon = (-124_995 + 10 * k) / 1000;
    const { window } = box(lon, lat, lon + 1e-9, lat + 1e-9);
    t.deepEqual(window, {
      row0: latRow(lat),
      col0: lonCol(lon),
      rows: 1,
      cols: 1,
    });
  }
});

test('a box is clipped to CONUS and echoed as used', (t) => {
  const { bbox, window } = box(-180, -90, 180, 90);
  t.deepEqual(bbox, [-125, 24, -66, 50]);
  t.deepEqual(window, regionOf({ bbox: null, state: null }).window);
});

test('a box too small for five decimals is written so that it can be asked for again', (t) => {
  t.deepEqual(regionBox([-97.0000041, 35.000001, -97.0000039, 35.000002]), {
    minLat: 35.000001,
    maxLat: 35.000002,
    minLon: -97.0000041,
    maxLon: -97.0000039,
  });
  t.deepEqual(regionBox([-97.1234567, 35.000001, -97, 36]), { minLat: 35, maxLat: 36, minLon: -97.12346, maxLon: -97 });
});

test('a box outside CONUS has no pixels and is echoed as asked', (t) => {
  const { bbox, window } = box(0, 40, 10, 50);
  t.deepEqual(bbox, [0, 40, 10, 50]);
  t.is(window, null);
});

test('a state is its own box and the pixels of its outline', (t) => {
  const { bbox, state, window, runs } = regionOf({ bbox: null, state: 'IL' });
  t.deepEqual(bbox, stateBox('IL'));
  t.is(state, 'IL');
  if (window === null || runs === null) throw new Error('Illinois has no pixels');
  t.true(runs.row.every((row) => row >= window.row0 && row < window.row0 + window.rows));
  t.true(runs.start.every((col) => col >= window.col0));
  t.true(runs.end.every((col) => col <= window.col0 + window.cols));
});

for (const state of ['AK', 'HI', 'PR', 'GU', 'UM'])
  test(`${state} has no pixels`, (t) => t.is(regionOf({ bbox: null, state }).window, null));

test('the decoder admits exactly the codes that are a region', (t) => {
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const codes = letters.flatMap((a) => letters.map((b) => a + b));
  const admitted = codes.filter((code) => stateQuery().safeParse(code).success);
  t.deepEqual(admitted, [...usStates().keys()].sort());
});

sharedTest('the boxes of three states hold the rows and columns measured independently', (t) => {
  const { mesh_regions } = JSON.parse(readFileSync(sharedData('expected.json'), 'utf8'));
  for (const name of ['IL', 'OH', 'MI']) {
    const { bbox, rows, cols } = mesh_regions.regions[name] as { bbox: Bbox; rows: number[]; cols: number[] };
    const { window } = regionOf({ bbox, state: null });
    if (window === null) throw new Error(`${name} has no window`);
    t.deepEqual([window.row0, window.row0 + window.rows - 1], rows, name);
    t.deepEqual([window.col0, window.col0 + window.cols - 1], cols, name);
  }
});

function place(fields: Partial<WatchPlace>): WatchPlace {
  return { areas: null, geometry: null, west: null, south: null, east: null, north: null, ...fields };
}

test('the box of a watch with an outline is that of its outline', (t) => {
  const outlined = place({
    geometry: 'POLYGON ((-98 35, -97 35, -97 36, -98 35))',
    ...{ west: -98, south: 35, east: -97, north: 36 },
    areas: 'TX',
  });
  t.deepEqual(watchBox(outlined), [-98, 35, -97, 36]);
  t.is(watchPolygons(outlined)[0]?.[0]?.length, 4);
});

for (const [areas, states] of [
  ['NE SD', ['NE', 'SD']],
  ['MN WI LM', ['MN', 'WI']],
  ['Eastern New Mexico, Oklahoma Panhandle', ['NM', 'OK']],
  ['PORTIONS OF WEST VIRGINIA', ['WV']],
  ['central Arkansas', ['AR']],
] as const)
  test(`without an outline the box of '${areas}' is that of ${states.join(' and ')}`, (t) => {
    const boxes = states.map(stateBox);
    t.deepEqual(watchBox(place({ areas })), [
      Math.min(...boxes.map((box) => box[0])),
      Math.min(...boxes.map((box) => box[1])),
      Math.max(...boxes.map((box) => box[2])),
      Math.max(...boxes.map((box) => box[3])),
    ]);
  });

for (const areas of [null, 'SRN PLAINS', 'LIKELY IN THE AREA OR NEARBY'])
  test(`without an outline and a state (${areas}) the box is CONUS, so that nobody misses the watch`, (t) =>
    t.deepEqual(watchBox(place({ areas })), [-125, 24, -66, 50]));

test('a watch without an outline holds in its box', (t) => {
  const [[ring] = []] = watchPolygons(place({ areas: 'KS' }));
  const [west, south] = stateBox('KS');
  t.deepEqual(ring?.[0], [west, south]);
  t.is(ring?.length, 5);
});
