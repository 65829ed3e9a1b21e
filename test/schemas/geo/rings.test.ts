import { readFileSync } from 'node:fs';
import test from 'ava';
import fc from 'fast-check';
import { authalicQ } from '../../../schemas/geo/area.ts';
import { fillPolygons, type PixelRuns } from '../../../schemas/geo/fill.ts';
import { convexHull, geodesicAreaKm2, pixelHull, ringCentroid } from '../../../schemas/geo/hull.ts';
import { colLon, LATTICE, pixelAreaKm2, rowLat } from '../../../schemas/geo/lattice.ts';
import { type MultiPolygon, type Ring, traceMultiPolygon } from '../../../schemas/geo/rings.ts';
import { findConflicts } from '../../../schemas/geo/validity.ts';
import { multiPolygonFromWkt, multiPolygonToWkt, polygonToWkt } from '../../../schemas/geo/wkt.ts';
import { drawPixels, type Pixels, pixelsOf, REAL_DAY, realField } from '../../support/data/pixels.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

/** Area inside a ring in pixels, negative when it runs clockwise. */
function pixelsInside(ring: Ring): number {
  let sum = 0;
  for (let i = 1; i < ring.length; i++) {
    const [ax, ay] = ring[i - 1] as [number, number];
    const [bx, by] = ring[i] as [number, number];
    sum += Math.round(ax * 100) * Math.round(by * 100) - Math.round(bx * 100) * Math.round(ay * 100);
  }
  return sum / 2;
}

/** Rings of each polygon, as the pixels inside them. */
function shape(polygons: MultiPolygon): number[][] {
  return polygons.map((polygon) => polygon.map(pixelsInside));
}

/** Area on the ellipsoid inside edges that run along meridians and parallels, by Green's theorem on the authalic sphere. */
function ellipsoidAreaKm2(polygons: MultiPolygon): number {
  let sum = 0;
  for (const ring of polygons.flat())
    for (let i = 1; i < ring.length; i++) {
      const [ax, ay] = ring[i - 1] as [number, number];
      const [bx] = ring[i] as [number, number];
      sum -= (bx - ax) * authalicQ(ay);
    }
  return (sum * (6378.137 ** 2 / 2) * Math.PI) / 180;
}

/** 4-connected groups of pixels, by flood fill: the slow and obvious way. */
function countGroups({ rows, cols }: Pixels): number {
  const left = new Set(rows.map((row, i) => `${row} ${cols[i]}`));
  let groups = 0;
  for (const start of left) {
    groups++;
    const stack = [start];
    while (stack.length > 0) {
      const place = stack.pop() as string;
      if (!left.delete(place)) continue;
      const [row, col] = place.split(' ').map(Number) as [number, number];
      stack.push(`${row - 1} ${col}`, `${row + 1} ${col}`, `${row} ${col - 1}`, `${row} ${col + 1}`);
    }
  }
  return groups;
}

test('a single pixel is its own box, counter-clockwise from its north-west corner', (t) => {
  t.deepEqual(traceMultiPolygon(drawPixels('1')), [
    [
      [
        [-100, 40],
        [-100, 39.99],
        [-99.99, 39.99],
        [-99.99, 40],
        [-100, 40],
      ],
    ],
  ]);
});

test('no pixels give no polygons', (t) => t.deepEqual(traceMultiPolygon({ rows: [], cols: [] }), []));

test('straight runs of edges become one edge', (t) => {
  const [[ring]] = traceMultiPolygon(
    drawPixels(`
    1 1 1 1 1
    1 1 1 1 1`),
  ) as [[Ring]];
  t.is(ring.length, 5);
});

for (const [what, picture, expected] of [
  [
    'a donut has a clockwise hole',
    `
    1 1 1 1
    1 . . 1
    1 . . 1
    1 1 1 1`,
    [[16, -4]],
  ],
  [
    'a hole of one pixel is kept',
    `
    1 1 1
    1 . 1
    1 1 1`,
    [[9, -1]],
  ],
  [
    'pixels that touch at a corner are two polygons',
    `
    1 .
    . 1`,
    [[1], [1]],
  ],
  [
    'the other diagonal separates too',
    `
    . 1
    1 .`,
    [[1], [1]],
  ],
  [
    'a hole that reaches the outside through a diagonal gap is a hole that touches the shell',
    `
    1 1 1
    1 . 1
    1 1 .`,
    [[8, -1]],
  ],
  [
    'two holes that touch at a corner are two holes',
    `
    1 1 1 1
    1 . 1 1
    1 1 . 1
    1 1 1 1`,
    [[16, -1, -1]],
  ],
  [
    'an island in a hole is a polygon of its own',
    `
    1 1 1 1 1
    1 . . . 1
    1 . 1 . 1
    1 . . . 1
    1 1 1 1 1`,
    [[25, -9], [1]],
  ],
  [
    'an island that fills a hole but for its corners touches the shell four times',
    `
    1 1 1 1 1
    1 1 . 1 1
    1 . 1 . 1
    1 1 . 1 1
    1 1 1 1 1`,
    [[25, -5], [1]],
  ],
  [
    'a chessboard is as many polygons as it has pixels',
    `
    1 . 1
    . 1 .
    1 . 1`,
    [[1], [1], [1], [1], [1]],
  ],
] as const)
  test(what, (t) => {
    const polygons = traceMultiPolygon(drawPixels(picture));
    t.is(isValidMultiPolygon(polygons), null);
    t.deepEqual(
      shape(polygons),
      expected.map((rings) => [...rings]),
    );
  });

test('the corners of the lattice are traced to the edge of the grid', (t) => {
  const rings = traceMultiPolygon({ rows: [0, 3499], cols: [0, 6999] }).flat();
  t.deepEqual(rings[0]?.[0], [-130, 55]);
  t.deepEqual(rings[1]?.[2], [-60, 20]);
});

test('coordinates are exact hundredths of a degree', (t) => {
  const polygons = traceMultiPolygon(pixelsFromSeed(7, 40));
  for (const value of polygons.flat(3)) t.is(value, Number(value.toFixed(2)));
});

test('the order of the pixels does not matter and a pixel named twice counts once', (t) => {
  const pixels = pixelsFromSeed(3, 25);
  const twice = {
    rows: [...pixels.rows, ...pixels.rows].reverse(),
    cols: [...pixels.cols, ...pixels.cols].reverse(),
  };
  t.deepEqual(traceMultiPolygon(twice), traceMultiPolygon(pixels));
});

/** Pixels of a square, about two thirds of them, the same for the same seed. */
function pixelsFromSeed(seed: number, side: number): Pixels {
  const pixels: Pixels = { rows: [], cols: [] };
  let state = seed;
  for (let i = 0; i < side * side; i++) {
    state = (state * 48271) % 2147483647;
    if (state % 3 === 0) continue;
    pixels.rows.push(1500 + Math.floor(i / side));
    pixels.cols.push(3000 + (i % side));
  }
  return pixels;
}

test('any pixels give a valid MultiPolygon of their area, one polygon per 4-connected group, a turn at every vertex', (t) => {
  const masks = fc
    .record({
      side: fc.integer({ min: 1, max: 14 }),
      cells: fc.array(fc.boolean(), { minLength: 196, maxLength: 196 }),
    })
    .map(({ side, cells }): Pixels => {
      const chosen = cells.slice(0, side * side).flatMap((on, i) => (on ? [i] : []));
      return {
        rows: chosen.map((i) => 1500 + Math.floor(i / side)),
        cols: chosen.map((i) => 3000 + (i % side)),
      };
    });
  t.notThrows(() =>
    fc.assert(
      fc.property(masks, (pixels) => {
        const polygons = traceMultiPolygon(pixels);
        const area = shape(polygons)
          .flat()
          .reduce((sum, ring) => sum + ring, 0);
        const turns = polygons.flat().every((ring) =>
          ring.slice(0, -1).every((position, i) => {
            const before = ring.at(i === 0 ? -2 : i - 1) as number[];
            return turnsAt(before, position, ring[i + 1] as number[]);
          }),
        );
        return (
          isValidMultiPolygon(polygons) === null &&
          area === pixels.rows.length &&
          polygons.length === countGroups(pixels) &&
          turns
        );
      }),
      { numRuns: 300 },
    ),
  );
});

/** True when the way turns at `b`. */
function turnsAt(a: readonly number[], b: readonly number[], c: readonly number[]): boolean {
  return (a[0] === b[0]) !== (b[0] === c[0]);
}

for (const [mm, groups] of [
  [5, 2896],
  [10, 1002],
  [19, 198],
  [25, 54],
  [38, 16],
] as const)
  sharedTest(`${mm} mm of the real day is valid, ${groups} polygons, and has the area of its pixels to 1e-9`, (t) => {
    const pixels = pixelsOf(realField(REAL_DAY), mm);
    const polygons = traceMultiPolygon(pixels);
    t.is(isValidMultiPolygon(polygons), null);
    t.is(polygons.length, groups);
    const expected = pixels.rows.reduce((sum, row) => sum + pixelAreaKm2(row), 0);
    t.true(Math.abs(ellipsoidAreaKm2(polygons) / expected - 1) < 1e-9);
  });

/** A closed ring from corners in hundredths of a degree. */
function ring(...corners: (readonly [number, number])[]): Ring {
  return [...corners, corners[0] as [number, number]].map(([x, y]) => [x / 100, y / 100]);
}

function box(west: number, south: number, east: number, north: number): Ring {
  return ring([west, south], [east, south], [east, north], [west, north]);
}

const shell = box(0, 0, 10, 10);
const hole = (west: number, south: number, east: number, north: number) => box(west, south, east, north).toReversed();

for (const [what, polygons] of [
  ['nothing at all', []],
  ['a shell with a hole', [[shell, hole(2, 2, 4, 4)]]],
  [
    'a hole that touches its shell at a vertex of both',
    [[ring([0, 0], [10, 0], [10, 10], [5, 10], [0, 10]), ring([5, 10], [6, 8], [4, 8])]],
  ],
  ['two holes that touch at a corner', [[shell, hole(2, 2, 4, 4), hole(4, 4, 6, 6)]]],
  ['two polygons that touch at two corners', [[shell], [ring([10, 0], [14, 5], [10, 10], [12, 5])]]],
  ['a polygon inside the hole of another', [[shell, hole(2, 2, 8, 8)], [box(4, 4, 6, 6)]]],
] as const)
  test(`${what} is valid`, (t) =>
    t.is(isValidMultiPolygon(polygons.map((rings) => rings.map((r) => r as Ring))), null));

for (const [what, polygons, reason] of [
  ['a ring of three positions', [[ring([0, 0], [1, 0])]], 'ring 0 has 3 positions, expected 4 or more'],
  ['an open ring', [[shell.slice(0, -1)]], 'ring 0 is not closed'],
  [
    'a ring that passes a position twice',
    [[ring([0, 0], [4, 0], [4, 4], [2, 2], [0, 4], [2, 2])]],
    'ring 0 passes a position twice',
  ],
  ['a figure of eight', [[ring([0, 0], [4, 4], [4, 0], [0, 4])]], 'rings 0 and 0 cross or overlap'],
  ['a spike', [[ring([0, 0], [4, 0], [4, 4], [4, 9], [4, 5], [0, 4])]], 'rings 0 and 0 cross or overlap'],
  ['a clockwise shell', [[shell.toReversed()]], 'ring 0 winds the wrong way, expected counter-clockwise'],
  ['a counter-clockwise hole', [[shell, box(2, 2, 4, 4)]], 'ring 1 winds the wrong way, expected clockwise'],
  ['a hole across its shell', [[shell, hole(8, 2, 12, 4)]], 'rings 0 and 1 cross or overlap'],
  ['a hole along its shell', [[shell, hole(0, 2, 4, 4)]], 'rings 0 and 1 cross or overlap'],
  ['a hole outside its shell', [[shell, hole(20, 2, 24, 4)]], 'hole 1 is outside its shell 0'],
  ['a hole in a hole', [[shell, hole(2, 2, 8, 8), hole(4, 4, 6, 6)]], 'holes 1 and 2 are nested'],
  ['overlapping polygons', [[shell], [box(5, 5, 15, 15)]], 'rings 0 and 1 cross or overlap'],
  ['a polygon inside another', [[shell], [box(4, 4, 6, 6)]], 'shell 1 lies inside the polygon of shell 0'],
  [
    'polygons that cross at a common vertex',
    [[ring([0, 0], [10, 0], [10, 10], [5, 5])], [ring([2, 8], [4, 0.5], [5, 5])]],
    'rings 0 and 1 cross',
  ],
  [
    'a polygon cut in two by a hole',
    [[ring([0, 0], [5, 0], [10, 0], [10, 10], [5, 10], [0, 10]), ring([5, 0], [4, 5], [5, 10], [6, 5])]],
    'polygon 0 is cut in two',
  ],
] as const)
  test(`${what} is not valid`, (t) => {
    const found = isValidMultiPolygon(polygons.map((rings) => rings.map((r) => r as Ring)));
    t.true(found?.startsWith(reason), `found '${found}', expected '${reason}'`);
  });

test('a conflict names the rings involved, counted through all polygons', (t) => {
  const conflicts = findConflicts([[box(20, 20, 30, 30)], [shell, hole(2, 2, 4, 4)], [box(3, 3, 5, 5)]]);
  t.deepEqual([...new Set(conflicts.flatMap((conflict) => conflict.rings))].sort(), [2, 3]);
});

const SCATTERED = drawPixels(`
  . . 1 . . . . 1
  1 . . . 1 . . .
  . . . . . . . .
  . 1 . 1 . . . 1
  . . . . . 1 . .`);

/** Least distance to the left of all edges; not negative inside a counter-clockwise ring. */
function depth(ring: Ring, lon: number, lat: number): number {
  return Math.min(
    ...ring.slice(1).map(([bx, by], i) => {
      const [ax, ay] = ring[i] as [number, number];
      return ((bx as number) - ax) * (lat - ay) - ((by as number) - ay) * (lon - ax);
    }),
  );
}

test('the hull of a square with points inside and on its sides is the square, counter-clockwise', (t) => {
  const points = [
    [0, 0],
    [2, 2],
    [1, 1],
    [2, 0],
    [1, 0],
    [0, 2],
    [0, 1],
    [2, 0],
  ];
  t.deepEqual(convexHull(points), [
    [0, 0],
    [2, 0],
    [2, 2],
    [0, 2],
    [0, 0],
  ]);
});

test('the hull of one pixel is its own box, of two neighbours the box of both', (t) => {
  t.deepEqual(pixelHull(drawPixels('1')), [
    [-100, 39.99],
    [-99.99, 39.99],
    [-99.99, 40],
    [-100, 40],
    [-100, 39.99],
  ]);
  t.deepEqual(pixelHull(drawPixels('1 1')), [
    [-100, 39.99],
    [-99.98, 39.99],
    [-99.98, 40],
    [-100, 40],
    [-100, 39.99],
  ]);
});

test('no pixels have no hull', (t) => t.deepEqual(pixelHull({ rows: [], cols: [] }), []));

test('the hull holds every corner and at least the area of the pixels', (t) => {
  const hull = pixelHull(SCATTERED);
  SCATTERED.rows.forEach((row, i) => {
    for (const [dx, dy] of [
      [-1, -1],
      [-1, 1],
      [1, -1],
      [1, 1],
    ] as const)
      t.true(depth(hull, colLon(SCATTERED.cols[i]) + 0.005 * dx, rowLat(row) + 0.005 * dy) > -1e-12);
  });
  t.true(geodesicAreaKm2(hull) > SCATTERED.rows.reduce((sum, row) => sum + pixelAreaKm2(row), 0));
});

test('the order of the pixels does not change the hull', (t) => {
  const shuffled = { rows: SCATTERED.rows.toReversed(), cols: SCATTERED.cols.toReversed() };
  t.deepEqual(pixelHull(shuffled), pixelHull(SCATTERED));
});

test('the centroid of a small box is its middle', (t) => {
  const { lat, lon } = ringCentroid(pixelHull(drawPixels('1')));
  t.true(Math.abs(lat - 39.995) < 1e-6 && Math.abs(lon + 99.995) < 1e-9);
});

test('the centroid of a tall box lies south of its middle, where the globe is wider', (t) => {
  // Mean latitude of 30..50 N weighted by its cosine: (phi sin phi + cos phi) / sin phi between the bounds = 39.511.
  const { lat } = ringCentroid([
    [-100, 30],
    [-90, 30],
    [-90, 50],
    [-100, 50],
    [-100, 30],
  ]);
  t.true(Math.abs(lat - 39.511) < 0.005, `${lat}`);
});

test('the centroid of a sliver lies inside it', (t) => {
  const sliver = convexHull([
    [-100, 30],
    [-80, 42],
    [-80, 42.01],
  ]);
  const { lat, lon } = ringCentroid(sliver);
  t.true(depth(sliver, lon, lat) > 0);
});

interface Region {
  bbox: [number, number, number, number] | null;
  convex_hull_ge_19: {
    pixels: number;
    hull_vertices: number;
    hull_lonlat: [number, number][];
    area_km2_geodesic_edges_of_lonlat_hull_of_pixel_corners: number;
    area_km2_geodesic_edges_of_lonlat_hull_of_centres: number;
  } | null;
}

for (const name of ['whole_grid', 'IL', 'MI'])
  sharedTest(
    `the hull of the real day in ${name} has the vertices and the geodesic area of shapely and pyproj`,
    (t) => {
      const file = JSON.parse(readFileSync(sharedData('expected.json'), 'utf8'));
      const { bbox, convex_hull_ge_19: expected } = file.mesh_regions.regions[name] as Required<Region>;
      if (!expected) return t.fail('no hull among the expected figures');
      const all = pixelsOf(realField(REAL_DAY), 19);
      const pixels = within(all, bbox ?? [-130, 20, -60, 55]);
      t.is(pixels.rows.length, expected.pixels);
      const centres = convexHull(pixels.rows.map((row, i) => [colLon(pixels.cols[i]), rowLat(row)]));
      t.deepEqual([...new Set(centres.map(String))].sort(), [...new Set(expected.hull_lonlat.map(String))].sort());
      const relative = (area: number, figure: number) => Math.abs(area / figure - 1);
      t.true(
        relative(geodesicAreaKm2(pixelHull(pixels)), expected.area_km2_geodesic_edges_of_lonlat_hull_of_pixel_corners) <
          1e-8,
      );
      t.true(relative(geodesicAreaKm2(centres), expected.area_km2_geodesic_edges_of_lonlat_hull_of_centres) < 1e-8);
    },
  );

function within({ rows, cols }: Pixels, [west, south, east, north]: readonly [number, number, number, number]): Pixels {
  const chosen = rows.flatMap((row, i) => {
    const [lat, lon] = [rowLat(row), colLon(cols[i])];
    return lat >= south && lat <= north && lon >= west && lon <= east ? [i] : [];
  });
  return { rows: chosen.map((i) => rows[i]), cols: chosen.map((i) => cols[i]) };
}

const WHOLE = { row0: 0, col0: 0, rows: LATTICE.rows, cols: LATTICE.cols };
/** Forty by forty pixels from 40 N, 100 W. */
const WINDOW = { row0: 1500, col0: 3000, rows: 40, cols: 40 };

function fillPixelsOf({ row, start, end }: PixelRuns): string[] {
  return [...row].flatMap((r, k) => Array.from({ length: end[k] - start[k] }, (_, i) => `${r} ${start[k] + i}`));
}

/** Even-odd rule for one point, as slow and obvious as it can be. */
function holds(polygons: MultiPolygon, lon: number, lat: number): boolean {
  let inside = false;
  for (const ring of polygons.flat())
    for (let i = 1; i < ring.length; i++) {
      const [ax, ay] = ring[i - 1] as [number, number];
      const [bx, by] = ring[i] as [number, number];
      if (ay >= lat !== by >= lat && lon < ax + ((lat - ay) / (by - ay)) * (bx - ax)) inside = !inside;
    }
  return inside;
}

const PICTURE = `
  1 1 1 . . 1
  1 . 1 . 1 .
  1 1 1 . . 1`;

test('filling the outline of pixels gives the pixels again, with their hole and their diagonal touch', (t) => {
  const drawn = drawPixels(PICTURE);
  const filled = fillPolygons(traceMultiPolygon(drawn), WHOLE);
  t.deepEqual(
    fillPixelsOf(filled),
    drawn.rows.map((row, i) => `${row} ${drawn.cols[i]}`),
  );
});

test('a window cuts what lies outside it', (t) => {
  const outline = traceMultiPolygon(drawPixels(PICTURE));
  t.deepEqual(fillPixelsOf(fillPolygons(outline, { row0: 1501, col0: 3002, rows: 1, cols: 3 })), [
    '1501 3002',
    '1501 3004',
  ]);
});

const place = fc.record({
  lon: fc.double({ min: -100, max: -99.6, noNaN: true }),
  lat: fc.double({ min: 39.6, max: 40, noNaN: true }),
});

test('a pixel is filled when a polygon holds its centre, whatever the polygon', (t) =>
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.array(place, { minLength: 3, maxLength: 9 }), (places) => {
        const ring = [...places, places[0] as (typeof places)[0]].map(({ lon, lat }) => [lon, lat]);
        const filled = new Set(fillPixelsOf(fillPolygons([[ring]], WINDOW)));
        for (let row = WINDOW.row0; row < WINDOW.row0 + WINDOW.rows; row++)
          for (let col = WINDOW.col0; col < WINDOW.col0 + WINDOW.cols; col++)
            if (filled.has(`${row} ${col}`) !== holds([[ring]], colLon(col), rowLat(row))) return false;
        return true;
      }),
      { numRuns: 40, seed: 4 },
    ),
  ));

test('areas that share a border through pixel centres share no pixel and leave none out', (t) => {
  const [west, east] = [-99.995, -99.895];
  const middle = [
    [-99.945, 39.605],
    [-99.935, 39.805],
    [-99.945, 39.995],
  ];
  const left = [[west, 39.605], ...middle, [west, 39.995], [west, 39.605]];
  const right = [[east, 39.605], [east, 39.995], ...middle.toReversed(), [east, 39.605]];
  const pixels = [left, right].flatMap((ring) => fillPixelsOf(fillPolygons([[ring]], WHOLE)));
  t.is(new Set(pixels).size, pixels.length);
  t.is(pixels.length, 39 * 10, '39 rows between the edges, 10 columns each');
});

const DONUT_AND_PIXEL = traceMultiPolygon(
  drawPixels(`
  1 1 1 . .
  1 . 1 . 1
  1 1 1 . .`),
);

test('a multipolygon reads back as it was written', (t) => {
  t.deepEqual(multiPolygonFromWkt(multiPolygonToWkt(DONUT_AND_PIXEL)), DONUT_AND_PIXEL);
});

test('a polygon reads back as a multipolygon of one', (t) => {
  const [donut] = DONUT_AND_PIXEL;
  t.deepEqual(multiPolygonFromWkt(polygonToWkt(donut ?? [])), [donut]);
});

test('the text is plain WKT, longitude first', (t) => {
  const [pixel] = traceMultiPolygon(drawPixels('1'));
  t.is(polygonToWkt(pixel ?? []), 'POLYGON ((-100 40, -100 39.99, -99.99 39.99, -99.99 40, -100 40))');
});

test('no polygons are an empty multipolygon, both ways', (t) => {
  t.is(multiPolygonToWkt([]), 'MULTIPOLYGON EMPTY');
  t.deepEqual(multiPolygonFromWkt('multipolygon empty'), []);
  t.deepEqual(multiPolygonFromWkt('POLYGON EMPTY'), []);
});

test('other spacing, case and exponents are read', (t) => {
  t.deepEqual(multiPolygonFromWkt(' Polygon((0 0,1e1 0 , 0 -2.5,0 0)) '), [
    [
      [
        [0, 0],
        [10, 0],
        [0, -2.5],
        [0, 0],
      ],
    ],
  ]);
});

for (const wkt of [
  '',
  'POINT (1 2)',
  'POLYGON (1 2)',
  'POLYGON ((1 2, 3))',
  'POLYGON ((a b, c d))',
  'POLYGON ((1 2, 3 4)',
  'MULTIPOLYGON ((1 2, 3 4))',
  'POLYGON Z ((1 2 3, 4 5 6))',
])
  test(`'${wkt}' is refused with what was found`, (t) => {
    t.throws(() => multiPolygonFromWkt(wkt), {
      instanceOf: SyntaxError,
      message: /^geometry is '.*', expected the WKT of a polygon or multipolygon$/,
    });
  });
