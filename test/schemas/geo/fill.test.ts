import test from 'ava';
import fc from 'fast-check';
import { fillPolygons, type PixelRuns } from '../../../schemas/geo/fill.ts';
import { colLon, LATTICE, rowLat } from '../../../schemas/geo/lattice.ts';
import { type MultiPolygon, traceMultiPolygon } from '../../../schemas/geo/rings.ts';
import { drawPixels } from '../../support/data/pixels.ts';

const WHOLE = { row0: 0, col0: 0, rows: LATTICE.rows, cols: LATTICE.cols };
/** Forty by forty pixels from 40 N, 100 W. */
const WINDOW = { row0: 1500, col0: 3000, rows: 40, cols: 40 };

function pixelsOf({ row, start, end }: PixelRuns): string[] {
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
    pixelsOf(filled),
    drawn.rows.map((row, i) => `${row} ${drawn.cols[i]}`),
  );
});

test('a window cuts what lies outside it', (t) => {
  const outline = traceMultiPolygon(drawPixels(PICTURE));
  t.deepEqual(pixelsOf(fillPolygons(outline, { row0: 1501, col0: 3002, rows: 1, cols: 3 })), [
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
        const filled = new Set(pixelsOf(fillPolygons([[ring]], WINDOW)));
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
  const pixels = [left, right].flatMap((ring) => pixelsOf(fillPolygons([[ring]], WHOLE)));
  t.is(new Set(pixels).size, pixels.length);
  t.is(pixels.length, 39 * 10, '39 rows between the edges, 10 columns each');
});
