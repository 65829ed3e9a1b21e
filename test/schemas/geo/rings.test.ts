import test from 'ava';
import fc from 'fast-check';
import { authalicQ } from '../../../schemas/geo/area.ts';
import { pixelAreaKm2 } from '../../../schemas/geo/lattice.ts';
import { type MultiPolygon, type Ring, traceMultiPolygon } from '../../../schemas/geo/rings.ts';
import { drawPixels, type Pixels, pixelsOf, REAL_DAY, realField } from '../../support/data/pixels.ts';
import { sharedTest } from '../../support/data/shared-data.ts';
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
      return { rows: chosen.map((i) => 1500 + Math.floor(i / side)), cols: chosen.map((i) => 3000 + (i % side)) };
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
