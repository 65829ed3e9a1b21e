import test from 'ava';
import { traceMultiPolygon } from '../../../schemas/geo/rings.ts';
import { multiPolygonFromWkt, multiPolygonToWkt, polygonToWkt } from '../../../schemas/geo/wkt.ts';
import { drawPixels } from '../../support/data/pixels.ts';

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
