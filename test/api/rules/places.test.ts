import { readFileSync } from 'node:fs';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import test from 'ava';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import geodesic from 'geographiclib-geodesic';
import { stateQuery } from '../../../api/http/decode.ts';
import { CELL_LIMIT, CELLS_MAX, checkUpload, csvRows } from '../../../api/portfolio/rows.ts';
import { findImpacts, impactsPage, portfolioGaps } from '../../../api/queries/impacts.ts';
import { type AreaShape, pointShape, polygonShape, submittedRing } from '../../../api/rules/area-geometry.ts';
import { holds, isWithin } from '../../../api/rules/areas.ts';
import { qualityAt } from '../../../api/rules/detection-quality.ts';
import { fromMicroRing, type MicroRing, toMicroRing, turnOf } from '../../../api/rules/geo/micro-ring.ts';
import { selfContact } from '../../../api/rules/geo/self-contact.ts';
import { simplifyMultiPolygon } from '../../../api/rules/geo/simplify.ts';
import { thinRing } from '../../../api/rules/geo/thin-ring.ts';
import { stateBox, statePixels, usStates } from '../../../api/rules/geo/us-states.ts';
import { pixelKey } from '../../../api/rules/pixel-distance.ts';
import { radarCoverageOf } from '../../../api/rules/radar-coverage.ts';
import { regionOf } from '../../../api/rules/region.ts';
import { ringTree } from '../../../api/rules/ring-tree.ts';
import { watchBox, watchPolygons } from '../../../api/rules/watch-area.ts';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';
import { geodesicAreaKm2 } from '../../../schemas/geo/hull.ts';
import { colLon, LATTICE, latRow, lonCol, pixelAreaKm2, rowLat } from '../../../schemas/geo/lattice.ts';
import { type Bbox, boxRing, type Position } from '../../../schemas/geo/position.ts';
import { type MultiPolygon, type Ring, traceMultiPolygon } from '../../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { SUBMITTED_POSITIONS_MAX } from '../../../schemas/resources/area.ts';
import { type PortfolioUpload, REJECTIONS } from '../../../schemas/resources/portfolio-upload.ts';
import { regionBox } from '../../../schemas/resources/region-box.ts';
import { draw } from '../../support/data/draw.ts';
import { drawPixels, pixelsOf, REAL_DAY, realField } from '../../support/data/pixels.ts';
import {
  bandRing,
  combRing,
  corridorRing,
  isValidMultiPolygon,
  positionsOf,
  simpleRing,
  starRing,
} from '../../support/data/rings.ts';
import { pluck } from '../../support/data/rows.ts';
import { askShapely } from '../../support/data/shapely.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

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
  const property = fc.property(
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
  );
  fc.assert(property, { numRuns: 30 });
});

test('the distance to an edge is the geodesic: a metre more or less at 200 km decides', (t) => {
  const polygons = multiPolygonFromWkt(SQUARE);
  const south = { lat: 33.2, lon: -97.5 };
  const km = distanceKm(south, { lat: 35, lon: -97.5 });
  t.true(isWithin(polygons, south, km + 0.001));
  t.false(isWithin(polygons, south, km - 0.001));
});

const GEOMETRY_SQUARE: Ring = positionsOf('-97 35, -96 35, -96 36, -97 36, -97 35');
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

const MULTI = { type: 'MultiPolygon', coordinates: [[GEOMETRY_SQUARE]] };
const SWAPPED = GEOMETRY_SQUARE.map(([lon, lat]) => [lat, lon]);
const NO_POSITION = 'is no position, expected [longitude, latitude]';
const and = (position: readonly unknown[]) => polygon([...GEOMETRY_SQUARE, position]);

for (const [what, geometry, text] of [
  ['a text', 'POLYGON((0 0))', ' is no object, expected a GeoJSON Polygon'],
  ['a list', [GEOMETRY_SQUARE], ' is no object, expected a GeoJSON Polygon'],
  ['a MultiPolygon', MULTI, "/type is 'MultiPolygon', expected Polygon"],
  ['a Feature', { type: 'Feature', geometry: polygon(GEOMETRY_SQUARE) }, "/type is 'Feature', expected Polygon"],
  ['an object without a type', { coordinates: [GEOMETRY_SQUARE] }, '/type is missing, expected Polygon'],
  ['coordinates that are no list', { type: 'Polygon' }, '/coordinates is no list, expected a list with one ring'],
  ['no ring', polygon(), '/coordinates has no ring, expected the outer ring'],
  [
    'a hole',
    polygon(GEOMETRY_SQUARE, SWAPPED),
    '/coordinates has 2 rings, expected the outer ring only, without holes',
  ],
  [
    'three positions',
    polygon(GEOMETRY_SQUARE.slice(0, 3)),
    '/coordinates/0 has 3 positions, expected 4 or more, the last like the first',
  ],
  ['one position too many', polygon(TOO_MANY), '/coordinates/0 has 20001 positions, expected at most 20000'],
  ['a text for a number', polygon(['-97 35', ...GEOMETRY_SQUARE]), `/coordinates/0/0 ${NO_POSITION}`],
  ['four numbers', and([-97, 35, 0, 0]), `/coordinates/0/5 ${NO_POSITION}`],
  ['a number that is none', and([Number.NaN, 35]), `/coordinates/0/5 ${NO_POSITION}`],
  [
    'a vertex in the eastern hemisphere',
    and([97, 35]),
    '/coordinates/0/5 lon is 97, expected -125 to -66, longitudes west of Greenwich are negative',
  ],
  [
    'latitude before longitude',
    polygon(SWAPPED),
    '/coordinates/0/0 lat is -97, expected 24 to 50, lat and lon look swapped',
  ],
  ['a vertex in Canada', and([-97, 50.000001]), '/coordinates/0/5 lat is 50.000001, expected 24 to 50'],
] as const)
  test(`refuses ${what}`, (t) => {
    t.throws(() => submittedRing(geometry), { message: `/geometry${text.replace(' ', ': ')}` });
  });

for (const [what, ring, reason] of [
  [
    'a ring that is not closed',
    '-97 35, -96 35, -96 36, -97 36, -97 35.00001',
    'is not closed: begins at -97 35 and ends at -97 35.00001',
  ],
  ['a bow-tie', '-97 35, -96 35, -97 36, -96 36, -97 35', 'crosses or touches itself near -97 36'],
  ['a ring there and back', '-97 35, -96 35, -97 35, -96 35, -97 35', 'has no area, all its positions lie on a line'],
  ['positions on a line', '-97 35, -96 35, -95 35, -97 35', 'has no area, all its positions lie on a line'],
  ['one position four times', '-97 35, -97 35, -97 35, -97 35', 'has 1 different positions, expected 3 or more'],
  [
    'positions nearer than 0.1 m',
    '-97 35, -97.0000001 35, -97 35.0000001, -97 35',
    'has 1 different positions, expected 3 or more',
  ],
  ['a ring with a spike', '-97 35, -96 35, -96 36, -97 36, -97 37, -97 35', 'goes back on itself at -97 37'],
  [
    'a ring that meets itself in a vertex',
    '-97 35, -96 36, -95 35, -95 37, -96 36, -97 37, -97 35',
    'passes -96 36 twice',
  ],
] as const)
  test(`refuses ${what}`, (t) => t.is(polygonShape(positionsOf(ring)) as string, reason));

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
  const pennant = positionsOf('-100 35, -90 35.5, -100 36, -100 35');
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
  const property = fc.property(simpleRing, (ring) => {
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
  });
  fc.assert(property, { numRuns: 200 });
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
  const property = fc.property(
    simpleRing,
    fc.array(fc.tuple(share, share), { minLength: 20, maxLength: 60 }),
    (given, shares) => {
      const ring = sixDecimals(given);
      const tree = ringTree(ring);
      for (const at of positionsAround(ring, shares)) t.is(tree.holds(at), isInside(ring, at), JSON.stringify(at));
    },
  );
  fc.assert(property, { numRuns: 100 });
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
  const slope = ringTree(positionsOf('-97 35, -96 36, -96 36.5, -97 35'));
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
  t.deepEqual(box(-100, 39.98, -99.98, 40).window, { row0: 1500, col0: 3000, rows: 2, cols: 2 });
  t.deepEqual(box(-99.995, 39.995, -99.985, 40).window, { row0: 1500, col0: 3000, rows: 1, cols: 2 });
  t.is(box(-99.994, 39.981, -99.986, 40).window, null, 'no centre between');
});

test('edges that no binary fraction holds exactly still hit the centres they name', (t) => {
  for (let k = 0; k < 2000; k++) {
    const lat = (24_005 + 10 * k) / 1000;
    const lon = (-124_995 + 10 * k) / 1000;
    const { window } = box(lon, lat, lon + 1e-9, lat + 1e-9);
    t.deepEqual(window, { row0: latRow(lat), col0: lonCol(lon), rows: 1, cols: 1 });
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

function place(fields: Partial<Parameters<typeof watchPolygons>[0]>): Parameters<typeof watchPolygons>[0] {
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
/** Cells of every row; the fault stands in for the cells of a bad one. */
function read(text: string): (readonly string[] | string)[] {
  return [...csvRows(text)].map(({ cells, fault }) => fault ?? cells);
}

test('reads cells verbatim, spaces and formulas included', (t) => {
  t.deepEqual(read('name,lat\n  Depot ,=1+1\n@x,-97'), [
    ['name', 'lat'],
    ['  Depot ', '=1+1'],
    ['@x', '-97'],
  ]);
});

test('takes LF, CRLF and CR, mixed, with or without one at the end; empty lines are no rows', (t) => {
  const ends = ['a,b\r\nc,d\n', 'a,b\nc,d', 'a,b\r\nc,d\r\n', 'a,b\rc,d\r', 'a,b\r\rc,d', '\n\na,b\n\r\n\nc,d\n\n'];
  for (const text of ends)
    t.deepEqual(read(text), [
      ['a', 'b'],
      ['c', 'd'],
    ]);
  for (const text of ['', '\uFEFF']) t.deepEqual(read(text), []);
});

test('a byte order mark at the start is no part of the first cell', (t) => {
  t.deepEqual(read('\uFEFFname,lat\n\uFEFFx,1'), [
    ['name', 'lat'],
    ['\uFEFFx', '1'],
  ]);
});

for (const [what, line, fault] of [
  ['a quote inside an unquoted cell', 'Joe "Red" Barn,41', 'a quote stands inside an unquoted cell'],
  ['text behind a closing quote', '"Barn" north,41', 'text stands behind a closing quote'],
] as const)
  test(`${what} spoils its row and none behind it`, (t) => {
    t.deepEqual(read(`name,lat\r\n${line}\r\ngood,42`), [['name', 'lat'], fault, ['good', '42']]);
  });

test('a quote that is never closed spoils the rest', (t) => {
  t.deepEqual(read('name,lat\n"open,41\nnext,42'), [['name', 'lat'], 'a quote is never closed']);
});

test('the cells before a fault are kept, to name the row', (t) => {
  t.deepEqual([...csvRows('loc_1,Depot,"x"y,3')][0]?.cells, ['loc_1', 'Depot']);
});

test('a cell may be as long as the limit and no longer', (t) => {
  const fits = 'x'.repeat(CELL_LIMIT);
  t.deepEqual(read(`${fits},1\n"${fits}",1\n${fits}x,2\n"${fits}x",3\nok,4`), [
    [fits, '1'],
    [fits, '1'],
    'a cell is over 65536 characters',
    'a cell is over 65536 characters',
    ['ok', '4'],
  ]);
});

test('a row may have as many cells as the limit and no more', (t) => {
  const commas = ','.repeat(CELLS_MAX - 1);
  t.deepEqual(read(`${commas}\n${commas},\nok`), [Array(CELLS_MAX).fill(''), 'the row has over 1000 cells', ['ok']]);
});

// In more than linear time these would take hours; how long they do take is the bench's to say.
for (const [what, unit] of [
  ['quotes in an unquoted cell', (n: number) => `a${'"'.repeat(n)}`],
  ['doubled quotes', (n: number) => `"${'""'.repeat(n / 2)}"`],
  ['quotes and letters', (n: number) => '"a'.repeat(n / 2)],
  ['lines of one quote', (n: number) => '"\n'.repeat(n / 2)],
  ['lines of an odd quote', (n: number) => 'a"\n'.repeat(n / 3)],
  ['commas', (n: number) => ','.repeat(n)],
  ['carriage returns', (n: number) => '\r'.repeat(n)],
  ['empty lines', (n: number) => '\n'.repeat(n)],
] as const)
  test(`5 MB of ${what} are read to their end`, (t) => {
    t.true([...csvRows(unit(5_000_000))].every((row) => Array.isArray(row.cells) || row.fault !== null));
  });

const cell = fc.string({ unit: fc.constantFrom('a', 'ß', '😀', ' ', ',', '"', '\n', '\r\n', '|', '='), maxLength: 8 });
const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 6 });

test('what was quoted is read back, as csv-parse reads it too', (t) => {
  const property = fc.property(table, fc.constantFrom('\n', '\r\n'), (rows, end) => {
    const text = rows.map((row) => row.map((one) => `"${one.replaceAll('"', '""')}"`).join(',')).join(end);
    t.deepEqual(read(text), rows);
    t.deepEqual(read(text), parse(text, { relax_column_count: true, record_delimiter: ['\r\n', '\n'] }));
  });
  fc.assert(property);
});

test('any text gives rows that end, whatever is wrong with it', (t) => {
  const text = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r'), maxLength: 60 });
  const property = fc.property(text, (given) => {
    const lines = given.split(/\r\n|\r|\n/).filter((line) => line !== '').length;
    t.true([...csvRows(given)].length <= Math.max(lines, 1));
  });
  fc.assert(property);
});

const GOOD = { name: 'Depot', lat: 41.5, lon: -97.25 };

/** The only row of a JSON upload, checked. */
async function checked(row: unknown) {
  const data = [row] as Extract<PortfolioUpload, { format: 'json' }>['data'];
  return (await checkUpload({ format: 'json', data }))[0] ?? { reason: '' };
}

const checkedCsv = (data: string) => checkUpload({ format: 'csv', data });

for (const [title, more, found] of [
  ['a row needs a name and coordinates, no more', {}, {}],
  ['null in a JSON row means absent', { id: null, address: null, tags: null }, {}],
  [
    'an empty address and an empty list of tags are given, not absent',
    { address: '', tags: [] },
    { address: '', tags: [] },
  ],
  [
    'fields that the service sets, and those that begin with _, are ignored',
    { _owner: 'x', created_at: 'x', updated_at: 'y' },
    {},
  ],
] as const)
  test(title, async (t) => {
    const plain = { row_index: 0, id: null, ...GOOD, address: null, tags: null };
    t.deepEqual(await checked({ ...GOOD, ...more }), { ...plain, ...found });
  });

for (const [row, reason] of [
  [17, 'malformed_row: the row is 17, expected an object'],
  [null, 'malformed_row: the row is null, expected an object'],
  [[1], 'malformed_row: the row is a list, expected an object'],
  [{ ...GOOD, adress: 'x' }, 'malformed_row: adress is not a field of a row, did you mean address?'],
  [{ ...GOOD, id: 5 }, 'malformed_row: id is 5, expected a text'],
  [{ ...GOOD, name: true }, 'malformed_row: name is true, expected a text'],
  [{ ...GOOD, address: {} }, 'malformed_row: address is an object, expected a text'],
  [{ lat: 41, lon: -97 }, 'missing_name: name is missing or blank'],
  [{ ...GOOD, name: ' \t ' }, 'missing_name: name is missing or blank'],
  [{ ...GOOD, name: 'x'.repeat(201) }, 'name_too_long: name is over 200 characters'],
  [{ name: 'a', lon: -97 }, 'invalid_coordinates: lat is missing'],
  [{ name: 'a', lat: 41, lng: -97 }, 'invalid_coordinates: lon is missing, use lon instead of lng'],
  [{ ...GOOD, lat: '41.5' }, "invalid_coordinates: lat is '41.5', expected a number from -90 to 90"],
  [{ ...GOOD, lat: 90.1 }, 'invalid_coordinates: lat is 90.1, expected a number from -90 to 90'],
  [{ ...GOOD, lon: -180.5 }, 'invalid_coordinates: lon is -180.5, expected a number from -180 to 180'],
  [{ ...GOOD, lon: [] }, 'invalid_coordinates: lon is a list, expected a number from -180 to 180'],
  [
    { name: 'a', lat: -97.25, lon: 41.5 },
    'invalid_coordinates: lat is -97.25, expected a number from -90 to 90, lat and lon look swapped',
  ],
  [{ name: 'a', lat: -80, lon: 41.5 }, 'outside_conus: lat is -80, expected 24 to 50, lat and lon look swapped'],
  [{ ...GOOD, lat: 50.001 }, 'outside_conus: lat is 50.001, expected 24 to 50'],
  [{ ...GOOD, lon: -65.999 }, 'outside_conus: lon is -65.999, expected -125 to -66'],
  [
    { ...GOOD, lon: 97.25 },
    'outside_conus: lon is 97.25, expected -125 to -66, longitudes west of Greenwich are negative',
  ],
  [{ ...GOOD, address: 'x'.repeat(501) }, 'address_too_long: address is over 500 characters'],
  [{ ...GOOD, tags: 'roof' }, "invalid_tags: tags are 'roof', expected a list of texts"],
  [{ ...GOOD, tags: ['a', 3] }, 'invalid_tags: tag 1 is 3, expected a text'],
  [{ ...GOOD, tags: ['a', ''] }, 'invalid_tags: tag 1 is empty'],
  [{ ...GOOD, tags: ['x'.repeat(65)] }, 'invalid_tags: tag 0 is over 64 characters'],
  [{ ...GOOD, tags: Array(21).fill('x') }, 'invalid_tags: there are 21 tags, expected at most 20'],
] as const)
  test(`rejects ${JSON.stringify(row).slice(0, 60)}: ${reason}`, async (t) => {
    t.like(await checked(row), { row_index: 0, reason });
    t.true(REJECTIONS.some((word) => reason.startsWith(`${word}: `)));
  });

test('the edges of CONUS belong to it', async (t) => {
  for (const lat of [24, 50])
    for (const lon of [-125, -66]) t.false('reason' in (await checked({ name: 'a', lat, lon })));
});

test('limits count characters, not UTF-16 units', async (t) => {
  t.false('reason' in (await checked({ ...GOOD, name: '🏠'.repeat(200) })));
  t.true('reason' in (await checked({ ...GOOD, name: '🏠'.repeat(201) })));
  t.false('reason' in (await checked({ ...GOOD, address: 'x'.repeat(500), tags: Array(20).fill('é'.repeat(64)) })));
});

test('a rejected row carries the text found as its name, or null', async (t) => {
  t.like(await checked({ name: 'Barn' }), { name: 'Barn' });
  t.like(await checked({ name: 9 }), { name: null });
  t.like(await checked([]), { name: null });
});

test('columns of a CSV are found in any case and order, others are ignored', async (t) => {
  t.deepEqual(await checkedCsv('Owner,LON,Lat, NAME \nme,-97.25,41.5,Depot'), [await checked(GOOD)]);
});

test('a column that a CSV lacks is absent, an empty cell is empty', async (t) => {
  t.like((await checkedCsv('name,lat,lon\nDepot,41.5,-97.25'))[0], { id: null, address: null, tags: null });
  t.like((await checkedCsv('id,name,lat,lon,address,tags\n,Depot,41.5,-97.25,,'))[0], {
    id: null,
    address: '',
    tags: [],
  });
});

test('tags of a CSV cell are separated by vertical bars', async (t) => {
  t.like((await checkedCsv('name,lat,lon,tags\nDepot,41.5,-97.25,roof|flat, metal'))[0], {
    reason: 'malformed_row: the row has 5 cells, expected 4',
  });
  t.like((await checkedCsv('name,lat,lon,tags\nDepot,41.5,-97.25,"roof|flat, metal"'))[0], {
    tags: ['roof', 'flat, metal'],
  });
});

for (const [row, reason] of [
  ['Depot,41.5', 'malformed_row: the row has 2 cells, expected 3'],
  ['Depot,41.5,-97,9', 'malformed_row: the row has 4 cells, expected 3'],
  ['De"pot,41.5,-97', 'malformed_row: a quote stands inside an unquoted cell'],
  ['Depot,,-97', 'invalid_coordinates: lat is missing'],
  ['Depot,0x29,-97', "invalid_coordinates: lat is '0x29', expected a number from -90 to 90"],
  ['Depot,"41,5",-97', "invalid_coordinates: lat is '41,5', expected a number from -90 to 90"],
  ['Depot,NaN,-97', "invalid_coordinates: lat is 'NaN', expected a number from -90 to 90"],
  [',41.5,-97', 'missing_name: name is missing or blank'],
] as const)
  test(`rejects the CSV row ${row}: ${reason}`, async (t) => {
    t.like((await checkedCsv(`name,lat,lon\n${row}`))[0], { row_index: 0, reason });
  });

/** One detection in every pixel of a picture near 40 N, 95 W. */
function hail(picture: string): Parameters<typeof findImpacts>[1] {
  const { window, rowStart, col, tenths } = draw(picture);
  const pixels = new Map<number, { max_mm: number; detections: number }>();
  for (let row = 0; row < window.rows; row++)
    for (let k = rowStart[row]; k < rowStart[row + 1]; k++)
      pixels.set(pixelKey(window.row0 + row, col[k]), { max_mm: tenths[k] / 10, detections: 1 });
  return pixels;
}

/** Middle of the pixel in a row and column of the picture. */
function middle(row: number, col: number): Position {
  return { lat: rowLat(1500 + row), lon: colLon(3500 + col) };
}

/** The impact of a location at a position; null without one. */
async function impactOf(position: Position, pixels: Parameters<typeof findImpacts>[1]) {
  return (await findImpacts([{ id: 'loc_1', name: 'Depot', ...position }], pixels)).at(0) ?? null;
}

test('a location inside a pixel with a detection is 0 m from it', async (t) => {
  t.deepEqual(await impactOf(middle(1, 1), hail('. . .\n. 2 .\n. . .')), {
    location: { id: 'loc_1', name: 'Depot', ...middle(1, 1) },
    nearest_m: 0,
    max_mm: 20,
    detections: 1,
  });
});

test('size and detections are of all pixels within the mile, and of none beyond', async (t) => {
  const around = hail(`
    9 . . . . . .   the corners lie 1.9 km away or more,
    . . . 3 . . .   a pixel is 1.11 km high and 0.85 km wide
    . . 1 2 1 . .
    . . . 1 . . .
    9 . . . . . 9`);
  t.like(await impactOf(middle(2, 3), around), { max_mm: 30, detections: 5 });
});

test('a pixel reached only at its corner counts', async (t) => {
  const corner = { lat: rowLat(1500) - 0.005, lon: colLon(3500) + 0.005 };
  const inside = destination(corner, 135, 1.6093);
  const outside = destination(corner, 135, 1.6094);
  t.like(await impactOf(inside, hail('2')), { detections: 1 });
  t.is(Math.round((await impactOf(inside, hail('2')))?.nearest_m ?? 0), 1609);
  t.is(await impactOf(outside, hail('2')), null);
});

test('exactly a mile is within it, a millimetre more is not', async (t) => {
  const edge = { lat: rowLat(1500) - 0.005, lon: colLon(3500) };
  const at = (metres: number) => destination(edge, 180, metres / 1000);
  t.true(Math.abs(1000 * distanceKm(edge, at(1609.344)) - 1609.344) < 1e-6);
  t.not(await impactOf(at(1609.3439), hail('2')), null);
  t.is(await impactOf(at(1609.345), hail('2')), null);
});

test('pixels on the other side of the lattice are never near', async (t) => {
  const pixels = new Map([[pixelKey(1500, 0), { max_mm: 30, detections: 2 }]]);
  t.is(await impactOf({ lat: rowLat(1499), lon: colLon(6999) }, pixels), null);
});

test('locations without hail are left out, the others keep their order', async (t) => {
  const pixels = hail('2 . . . . . . . . 3');
  const locations = [9, 5, 0, 4].map((col, index) => ({ id: `loc_${index}`, name: 'Depot', ...middle(0, col) }));
  t.deepEqual(pluck(pluck(await findImpacts(locations, pixels), 'location'), 'id'), ['loc_0', 'loc_2']);
  t.deepEqual(await findImpacts(locations, new Map()), []);
});

test('thousands of locations leave the event loop free every few milliseconds', async (t) => {
  const pixels = hail(Array(40).fill('2'.repeat(60)).join('\n'));
  const locations = Array.from({ length: 10_000 }, (_, k) => ({ id: `${k}`, name: '', ...middle(k % 40, k % 60) }));
  let turns = 0;
  const count = () => {
    turns++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  t.is((await findImpacts(locations, pixels)).length, 10_000);
  clearImmediate(timer);
  t.true(turns >= 19);
});

const HIT = { nearest_m: 412.6, max_mm: 50.04, detections: 10 };
const impactsOf = (count: number) =>
  Array.from({ length: count }, (_, k) => ({
    location: { id: `loc_${k}`, name: `asset ${k}`, lat: 35.3, lon: -97.3 },
    ...HIT,
  }));

test('a page shows whole metres, tenths of a millimetre and the confidence of methodology 1.0.0', async (t) => {
  const { hdqi } = qualityAt({ lat: 35.3, lon: -97.3 }, 5, null).block;
  const sum = -1.2 + 1.6 * Math.log(50.04 / 19) + 0.25 * Math.log(11) + 0.8 * (hdqi - 0.5);
  t.deepEqual(await impactsPage(impactsOf(1), '2026-05-01', null, 50, null), {
    impacts: [
      {
        asset_id: 'loc_0',
        name: 'asset 0',
        nearest_detection_m: 413,
        max_size_mm: 50,
        ml_confidence: Math.round(1000 / (1 + Math.exp(-sum))) / 1000,
        n_detections: 10,
      },
    ],
    next_cursor: null,
  });
});

test('a page begins behind its cursor, whether or not that had an impact, and is never empty but for the first', async (t) => {
  const page = async (cursor: string | null, limit: number) => {
    const { impacts, next_cursor } = await impactsPage(impactsOf(3), '2026-05-01', cursor, limit, null);
    return [...impacts.map(({ name }) => name), next_cursor];
  };
  t.deepEqual(await page(null, 2), ['asset 0', 'asset 1', 'loc_1']);
  t.deepEqual(await page('loc_1', 2), ['asset 2', null]);
  t.deepEqual(await page('loc_00', 3), ['asset 1', 'asset 2', null]);
  t.deepEqual(await page(null, 3), ['asset 0', 'asset 1', 'asset 2', null]);
  t.deepEqual(await page('loc_2', 3), [null]);
});

test('terrain that blocks every beam lowers the confidence of an impact, and nothing else', async (t) => {
  const mountains = { radars: new Set<string>(), blocked: () => 0.4, groundM: () => null };
  const [free] = (await impactsPage(impactsOf(1), '2026-05-01', null, 50, null)).impacts;
  const [behind] = (await impactsPage(impactsOf(1), '2026-05-01', null, 50, mountains)).impacts;
  t.true((behind?.ml_confidence ?? 1) < (free?.ml_confidence ?? 0));
  t.deepEqual({ ...behind, ml_confidence: 0 }, { ...free, ml_confidence: 0 });
});

const DATE = '2026-05-01';
const DAY_MS = Date.parse(`${DATE}T00:00:00Z`);

test('a location that the only scan of a running date did not see is unseen, though no minute of the date is over', async (t) => {
  const only = { from_ms: DAY_MS, to_ms: DAY_MS };
  const scanThatSees = (seen: number) =>
    new Map([[DATE, radarCoverageOf({ times: [DAY_MS], seen: [seen] }, only, null, true)]]);
  const [seen, blind] = [scanThatSees(1), scanThatSees(0)];
  const locations = [
    { id: 'covered', lat: 35, lon: -97 },
    { id: 'beyond', lat: 48, lon: -97 },
  ];
  const gaps = await portfolioGaps(locations, DATE, [], ({ lat }) => (lat < 40 ? seen : blind));
  t.like(gaps, { until: `${DATE}T00:00:00Z`, assets_seen_in_part: 1, assets_unseen: 1 });
  t.deepEqual(gaps.seen_in_part, [{ share: 0, gap_count: 0, gaps: [], asset_count: 1, asset_ids: ['beyond'] }]);
});
function boxOf({ x, y }: MicroRing): number[] {
  return [Math.min(...x), Math.min(...y), Math.max(...x), Math.max(...y)];
}

test('a ring is thinned to four vertices and stays simple, its vertices old ones in their order, its box the same', (t) => {
  const property = fc.property(simpleRing, fc.integer({ min: 4, max: 20 }), (closed, most) => {
    const ring = toMicroRing(closed);
    const thin = thinRing(ring, most);
    t.true(thin.x.length <= Math.max(most, 4));
    t.is(selfContact(thin), null);
    t.deepEqual(boxOf(thin), boxOf(ring));
    const place = ({ x, y }: MicroRing) => Array.from(x, (lon, i) => `${lon} ${y[i]}`);
    const old = place(ring);
    const at = place(thin).map((vertex) => old.indexOf(vertex));
    t.false(at.includes(-1));
    t.true(at.filter((index, i) => index < (at.at(i - 1) as number)).length <= 1, 'they go round once');
    return true;
  });
  fc.assert(property, { numRuns: 300 });
});

test('a circle of twenty thousand vertices keeps its area within a ten-thousandth with 498 of them', (t) => {
  const circle = toMicroRing(starRing([-97, 37], Array(19_999).fill(5)));
  const thin = thinRing(circle, 498);
  t.is(thin.x.length, 498);
  t.true(Math.abs(geodesicAreaKm2(fromMicroRing(thin)) / geodesicAreaKm2(fromMicroRing(circle)) - 1) < 1e-4);
});

test('two lines that run a hair apart across everything never meet when they are thinned', (t) => {
  const line = Array.from({ length: 5_000 }, (_, i) => [-124 + i * 0.01, 30 + i * 0.003 + (i % 2) * 1e-5] as const);
  const thin = thinRing(toMicroRing(bandRing(line, 2e-5)), 498);
  t.is(thin.x.length, 498);
  t.is(selfContact(thin), null);
});

const STAIRS = drawPixels(`
  1 1 1 1 . . . . . . . . . .
  . 1 1 1 1 1 . . . . . . . .
  . . 1 1 1 1 1 1 1 . . . . .
  . . . 1 1 . 1 1 1 1 . . . .
  . . . . 1 1 1 1 1 1 1 1 . .
  . . . . . . 1 1 1 1 1 1 1 1`);

/** Points along a ring, its vertices and nine between each two. */
function pointsAlong(ring: Ring): number[][] {
  return ring.slice(1).flatMap((b, i) => {
    const a = ring[i] as number[];
    return Array.from({ length: 10 }, (_, k) => [0, 1].map((axis) => a[axis] + ((b[axis] - a[axis]) * k) / 10));
  });
}

/** Largest distance of a point of one ring from the nearest of the points along the other, metres. */
function farthest_m(from: Ring, to: Ring): number {
  const targets = pointsAlong(to);
  return Math.max(
    ...pointsAlong(from).map(([lon, lat]) => {
      const near = targets
        .toSorted((a, b) => rough(a, lon as number, lat as number) - rough(b, lon as number, lat as number))
        .slice(0, 4);
      return (
        1000 *
        Math.min(...near.map((b) => distanceKm({ lat: lat as number, lon: lon as number }, { lat: b[1], lon: b[0] })))
      );
    }),
  );
}

function rough(point: readonly number[], lon: number, lat: number): number {
  return Math.hypot((point[0] - lon) * Math.cos((lat * Math.PI) / 180), point[1] - lat);
}

for (const tolerance_m of [300, 800, 1500])
  test(`no point moves farther than the tolerance of ${tolerance_m} m`, (t) => {
    const [[before]] = traceMultiPolygon(STAIRS) as [[Ring]];
    const [[after]] = simplifyMultiPolygon([[before]], tolerance_m) as [[Ring]];
    t.true(farthest_m(before, after) <= tolerance_m + 60, 'sampled every tenth of an edge: 60 m');
    t.true(farthest_m(after, before) <= tolerance_m + 60);
  });

function areaKm2(polygon: MultiPolygon[number]): number {
  return polygon.reduce((sum, ring, i) => sum + (i === 0 ? 1 : -1) * geodesicAreaKm2(ring), 0);
}

sharedTest('shapes above 25 km2 of the real day keep their area within 2 % at 500 m, and stay within 500 m', (t) => {
  const exact = traceMultiPolygon(pixelsOf(realField(REAL_DAY), 19));
  const simple = simplifyMultiPolygon(exact, 500);
  t.is(simple.length, exact.length);
  const large = exact.flatMap((polygon, i) => (areaKm2(polygon) > 25 ? [i] : []));
  t.true(large.length >= 10);
  for (const i of large) {
    const [before, after] = [exact[i], simple[i]] as [MultiPolygon[number], MultiPolygon[number]];
    t.true(Math.abs(areaKm2(after) / areaKm2(before) - 1) < 0.02);
    t.true(farthest_m(before[0] as Ring, after[0] as Ring) <= 500 + 60);
  }
});

/** Whether any two edges have a point in common that consecutive ones would not have: every pair looked at. */
function touchesByPairs(ring: MicroRing): boolean {
  const { x, y } = ring;
  const count = x.length;
  const isOn = (v: number, a: number, b: number) =>
    turnOf(ring, a, b, v) === 0 && (x[v] - x[a]) * (x[v] - x[b]) <= 0 && (y[v] - y[a]) * (y[v] - y[b]) <= 0;
  const crosses = (a: number, b: number, c: number, d: number) =>
    Math.sign(turnOf(ring, a, b, c)) * Math.sign(turnOf(ring, a, b, d)) < 0 &&
    Math.sign(turnOf(ring, c, d, a)) * Math.sign(turnOf(ring, c, d, b)) < 0;
  return Array.from({ length: count }, (_, a) => {
    const b = (a + 1) % count;
    return Array.from(x, (_, v) => {
      const isOwn = v === a || v === b;
      return (!isOwn && isOn(v, a, b)) || crosses(a, b, v, (v + 1) % count);
    }).some(Boolean);
  }).some(Boolean);
}

test('small rings on a coarse grid are simple exactly when no pair of edges touches', (t) => {
  const vertex = fc.tuple(fc.nat(5), fc.nat(5));
  let simple = 0;
  const property = fc.property(fc.array(vertex, { minLength: 3, maxLength: 9 }), (vertices) => {
    const [first] = vertices;
    const ring = toMicroRing([...vertices, first as [number, number]].map(([x, y]) => [x / 1e6, y / 1e6]));
    fc.pre(ring.x.length >= 3);
    const found = selfContact(ring);
    if (found === null) simple += 1;
    return (found !== null) === touchesByPairs(ring);
  });
  fc.assert(property, { numRuns: 5000 });
  t.true(simple > 100, `${simple} of them were simple`);
});

test('one crossing among twenty thousand vertices is found', (t) => {
  const line = Array.from({ length: 10_000 }, (_, i) => [-120 + i * 0.005, i % 2 === 0 ? 30 : 45] as const);
  const ring = toMicroRing(bandRing(line, 0.001));
  t.is(selfContact(ring), null);
  const { x, y } = ring;
  [y[4_000], y[15_999]] = [y[15_999], y[4_000]];
  t.regex(selfContact({ x, y }) ?? '', /crosses or touches itself near -?\d/);
});
const OUTSIDE_THE_LATTICE = ['AK', 'HI', 'AS', 'GU', 'MP', 'PR', 'UM', 'VI'];

function stateAreaKm2(usps: string): number {
  const { row, start, end } = statePixels(usps);
  return row.reduce((sum, r, k) => sum + (end[k] - start[k]) * pixelAreaKm2(r), 0);
}

function stateAt(lat: number, lon: number): string | null {
  const [r, c] = [latRow(lat), lonCol(lon)];
  for (const usps of usStates().keys()) {
    const { row, start, end } = statePixels(usps);
    if (row.some((at, k) => at === r && c >= start[k] && c < end[k])) return usps;
  }
  return null;
}

test('there are fifty states, the District of Columbia and six territories, each with its FIPS code', (t) => {
  t.is(usStates().size, 57);
  t.is(new Set([...usStates().values()].map(({ fips }) => fips)).size, 57);
  t.like(usStates().get('DC'), { fips: '11', name: 'District of Columbia' });
});

// Total area, land and inland water, km2: U.S. Census Bureau, State Area Measurements (2010). No coast, so nothing else counts.
for (const [usps, census_km2] of [
  ['CO', 269_601],
  ['WY', 253_335],
  ['KS', 213_100],
  ['UT', 219_882],
  ['ND', 183_108],
  ['IA', 145_746],
  ['NE', 200_330],
  ['TN', 109_153],
] as const)
  test(`the pixels of ${usps} have the area the Census measured, to 0.2 %`, (t) => {
    t.true(Math.abs(stateAreaKm2(usps) / census_km2 - 1) < 0.002, `${stateAreaKm2(usps)}`);
  });

test('no pixel belongs to two states, and those within the states leave no gap', (t) => {
  const owner = new Uint8Array(LATTICE.rows * LATTICE.cols);
  let doubles = 0;
  for (const usps of usStates().keys()) {
    const { row, start, end } = statePixels(usps);
    row.forEach((r, k) => {
      for (let c = start[k]; c < end[k]; c++) {
        const i = r * LATTICE.cols + c;
        doubles += owner[i];
        owner[i] = 1;
      }
    });
  }
  t.is(doubles, 0);
  // From western Nebraska to Illinois west of the lake there is no water that is not of a state.
  const gaps = [];
  for (let r = latRow(42.5); r < latRow(36); r++)
    for (let c = lonCol(-103); c < lonCol(-88); c++) if (owner[r * LATTICE.cols + c] === 0) gaps.push([r, c]);
  t.deepEqual(gaps, []);
});

for (const [place, lat, lon, usps] of [
  ['Oklahoma City', 35.4676, -97.5164, 'OK'],
  ['Kansas City, Missouri', 39.0997, -94.5786, 'MO'],
  ['Kansas City, Kansas', 39.1141, -94.6775, 'KS'],
  ['El Paso', 31.7619, -106.485, 'TX'],
  ['the White House', 38.8977, -77.0365, 'DC'],
  ['the Upper Peninsula', 46.5, -87.5, 'MI'],
  ['Houlton', 46.1, -67.9, 'ME'],
  ['Toronto', 43.65, -79.38, null],
  ['the middle of Lake Michigan', 43.5, -87.0, null],
] as const)
  test(`${place} lies in ${usps ?? 'no state'}`, (t) => t.is(stateAt(lat, lon), usps));

test('states and territories outside CONUS have no pixels, and still a box', (t) => {
  for (const usps of OUTSIDE_THE_LATTICE) {
    t.is(statePixels(usps).row.length, 0, usps);
    const [west, south, east, north] = stateBox(usps);
    t.true(west < east && south < north, usps);
  }
});

test('the box of a state is that of its outline', (t) => {
  const [west, south, east, north] = stateBox('CO');
  const edges = [west, south, east, north].map((edge) => Math.round(edge * 100) / 100);
  t.deepEqual(edges, [-109.06, 36.99, -102.04, 41]);
});
