import { readFileSync } from 'node:fs';
import test from 'ava';
import { convexHull, geodesicAreaKm2, pixelHull, ringCentroid } from '../../../schemas/geo/hull.ts';
import { colLon, pixelAreaKm2, rowLat } from '../../../schemas/geo/lattice.ts';
import type { Ring } from '../../../schemas/geo/rings.ts';
import { drawPixels, type Pixels, pixelsOf, REAL_DAY, realField } from '../../support/data/pixels.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

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
