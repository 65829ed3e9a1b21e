import test from 'ava';
import fc from 'fast-check';
import { drawTiers, type MaximumPixels } from '../../../api/rules/swath-tiers.ts';
import { drawTiers as publishedTiers } from '../../../pipeline/swath/tiers.ts';
import type { MultiPolygon, Ring } from '../../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { SIZE_BANDS } from '../../../schemas/size.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { REAL_DAY, realField } from '../../support/data/pixels.ts';
import { DAY, dayMaxRow } from '../../support/data/rows.ts';
import { sharedTest } from '../../support/data/shared-data.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

function pixelsOf(
  field: ReturnType<typeof drawTenths>,
): MaximumPixels & { row: number[]; col: number[]; mm: number[] } {
  const pixels = { row: [] as number[], col: [] as number[], mm: [] as number[] };
  for (let r = 0; r < field.window.rows; r++)
    for (let i = field.rowStart[r]; i < field.rowStart[r + 1]; i++) {
      pixels.row.push(field.window.row0 + r);
      pixels.col.push(field.col[i]);
      pixels.mm.push(field.tenths[i] / 10);
    }
  return pixels;
}

test('tiers start at the first bound from the smallest size on, inclusive, and hold all larger hail', (t) => {
  const pixels = pixelsOf(drawTenths([[190, 189, 250, 379, 380, 0, 1010]]));
  const bounds = (min_size_mm: number) =>
    drawTiers({ pixels, min_size_mm, simplify_m: 0 }).map(({ threshold_mm }) => threshold_mm);
  t.deepEqual(bounds(10), [19, 25, 38, 63, 69, 101]);
  t.deepEqual(bounds(19), [19, 25, 38, 63, 69, 101]);
  t.deepEqual(bounds(19.1), [25, 38, 63, 69, 101]);
  t.deepEqual(bounds(150), []);
});

test('a pixel named twice counts once, as the larger', (t) => {
  const once = drawTiers({ pixels: { row: [1500], col: [3000], mm: [30] }, min_size_mm: 19, simplify_m: 0 });
  t.deepEqual(
    drawTiers({ pixels: { row: [1500, 1500], col: [3000, 3000], mm: [20, 30] }, min_size_mm: 19, simplify_m: 0 }),
    once,
  );
});

test('order does not matter', (t) => {
  const pixels = pixelsOf(
    drawTenths([
      [200, 0, 300],
      [200, 300, 300],
      [0, 0, 200],
    ]),
  );
  const turned = { row: pixels.row.toReversed(), col: pixels.col.toReversed(), mm: pixels.mm.toReversed() };
  t.deepEqual(
    drawTiers({ pixels: turned, min_size_mm: 19, simplify_m: 500 }),
    drawTiers({ pixels, min_size_mm: 19, simplify_m: 500 }),
  );
});

sharedTest(
  'the real day has the areas measured independently, whatever the simplification, and valid geometries',
  (t) => {
    const pixels = pixelsOf(realField(REAL_DAY));
    for (const simplify_m of [0, 500, 5000]) {
      const tiers = drawTiers({ pixels, min_size_mm: 19, simplify_m });
      t.deepEqual(
        tiers.map(({ threshold_mm, area_km2 }) => [threshold_mm, area_km2.toFixed(4)]),
        [
          [19, '2554.3145'],
          [25, '820.3107'],
          [38, '84.9898'],
          [63, '2.8536'],
          [69, '1.7587'],
        ],
      );
      for (const { geometry } of tiers) t.is(isValidMultiPolygon(geometry), null);
    }
  },
);

sharedTest('unsimplified tiers of the real day are those the pipeline publishes', (t) => {
  const pixels = pixelsOf(realField(REAL_DAY));
  const rows = pixels.mm.map((max_mm, i) => dayMaxRow({ row: pixels.row[i], col: pixels.col[i], max_mm }));
  const published = publishedTiers(rows, DAY, new Map(SIZE_BANDS.map(({ threshold_mm }) => [threshold_mm, 0])));
  t.deepEqual(
    drawTiers({ pixels, min_size_mm: 19, simplify_m: 0 }).map(({ threshold_mm, category, geometry }) => ({
      threshold_mm,
      category,
      geometry,
    })),
    published.map(({ threshold_mm, category, geometry }) => ({
      threshold_mm,
      category,
      geometry: multiPolygonFromWkt(geometry),
    })) as never,
  );
});

/** Metres of a degree of latitude, not less than anywhere. */
const METRES_PER_DEGREE = 111_700;
/** How closely points are sampled, metres. */
const SAMPLED_M = 300;

/** Points of a MultiPolygon: along every ring, and a grid over each polygon. */
function* samples(polygons: MultiPolygon): Generator<[number, number]> {
  for (const rings of polygons) {
    for (const ring of rings)
      for (const [i, to] of ring.slice(1).entries()) {
        const from = ring[i] as number[];
        const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
        const steps = Math.ceil((Math.hypot(dx, dy) * METRES_PER_DEGREE) / SAMPLED_M);
        for (let k = 0; k < steps; k++) yield [from[0] + (dx * k) / steps, from[1] + (dy * k) / steps];
      }
    const [west, south, east, north] = boxOf(rings);
    for (let x = west; x < east; x += 0.005)
      for (let y = south; y < north; y += 0.005) if (isInside(rings, x, y)) yield [x, y];
  }
}

function boxOf(rings: readonly Ring[]): [number, number, number, number] {
  const on = (axis: number) => rings.flat().map((position) => position[axis]);
  return [Math.min(...on(0)), Math.min(...on(1)), Math.max(...on(0)), Math.max(...on(1))];
}

function isInside(rings: readonly Ring[], x: number, y: number): boolean {
  let within = false;
  for (const ring of rings)
    for (const [i, to] of ring.slice(1).entries()) {
      const [ax, ay, bx, by] = [...(ring[i] as number[]), ...to] as [number, number, number, number];
      if (ay > y !== by > y && x < ax + ((y - ay) * (bx - ax)) / (by - ay)) within = !within;
    }
  return within;
}

function distance_m(rings: readonly Ring[], x: number, y: number): number {
  const perLon = METRES_PER_DEGREE * Math.cos((y * Math.PI) / 180);
  let least = Number.POSITIVE_INFINITY;
  for (const ring of rings)
    for (const [i, to] of ring.slice(1).entries()) {
      const from = ring[i] as number[];
      const [ax, ay] = [(from[0] - x) * perLon, (from[1] - y) * METRES_PER_DEGREE];
      const [dx, dy] = [(to[0] - from[0]) * perLon, (to[1] - from[1]) * METRES_PER_DEGREE];
      const share = Math.max(0, Math.min(1, -(ax * dx + ay * dy) / (dx * dx + dy * dy)));
      least = Math.min(least, Math.hypot(ax + share * dx, ay + share * dy));
    }
  return least;
}

/** How far a tier reaches out of the one below, metres. */
function reach_m(tier: MultiPolygon, below: MultiPolygon): number {
  const boxes = below.map((rings) => ({ rings, box: boxOf(rings) }));
  let reach = 0;
  for (const [x, y] of samples(tier)) {
    const near = boxes.filter(
      ({ box: [west, south, east, north] }) => x > west - 0.2 && x < east + 0.2 && y > south - 0.2 && y < north + 0.2,
    );
    if (near.some(({ rings }) => isInside(rings, x, y))) continue;
    reach = Math.max(
      reach,
      near.reduce((least, { rings }) => Math.min(least, distance_m(rings, x, y)), Infinity),
    );
  }
  return reach;
}

/** What the note of an answer promises; null when it holds. */
function brokenPromise(pixels: MaximumPixels, simplify_m: number): string | null {
  const exact = drawTiers({ pixels, min_size_mm: 19, simplify_m: 0 });
  const tiers = drawTiers({ pixels, min_size_mm: 19, simplify_m });
  for (const [index, { threshold_mm, geometry }] of tiers.entries()) {
    const invalid = isValidMultiPolygon(geometry);
    if (invalid !== null) return `${threshold_mm} mm is not valid: ${invalid}`;
    const footprints = exact[index]?.geometry.length;
    if (geometry.length !== footprints) return `${threshold_mm} mm has ${geometry.length} of ${footprints} footprints`;
    const below = tiers[index - 1];
    const reach = below === undefined ? 0 : reach_m(geometry, below.geometry);
    if (reach > simplify_m + 1) return `${threshold_mm} mm reaches ${reach} m out of the tier below`;
  }
  return null;
}

test('footprints of any shape are all drawn in every tier, valid, and within the tier below up to simplify_m', (t) => {
  const side = 10;
  const sizes = fc.array(fc.constantFrom(0, 0, 190, 190, 250, 380, 630, 690, 1010), {
    minLength: side * side,
    maxLength: side * side,
  });
  fc.assert(
    fc.property(sizes, fc.integer({ min: 0, max: 5000 }), (tenths, simplify_m) => {
      const rows = Array.from({ length: side }, (_, r) => tenths.slice(r * side, (r + 1) * side));
      t.is(brokenPromise(pixelsOf(drawTenths(rows)), simplify_m), null);
    }),
    { numRuns: 60 },
  );
});

sharedTest('footprints of the real day are all drawn in every tier, within the tier below up to simplify_m', (t) => {
  const pixels = pixelsOf(realField(REAL_DAY));
  for (const simplify_m of [0, 500, 1300, 2000, 3500, 5000]) t.is(brokenPromise(pixels, simplify_m), null);
});
