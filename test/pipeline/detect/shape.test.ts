import test from 'ava';
import { latticeRows, measureShape } from '../../../pipeline/detect/shape.ts';
import type { HailField } from '../../../pipeline/grid.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';

const measure = (field: HailField) => {
  const pixels = Uint32Array.from(field.tenths.keys());
  return measureShape(field, pixels, latticeRows(field, pixels));
};

test('rows of pixels are found across empty rows', (t) => {
  const field = draw(`
    . .
    1 1
    . .
    . 1`);
  t.deepEqual([...latticeRows(field, Uint32Array.of(0, 1, 2))], [1501, 1501, 1503]);
  t.deepEqual([...latticeRows(field, Uint32Array.of(2))], [1503]);
  t.deepEqual([...latticeRows(field, Uint32Array.of())], []);
});

test('the centroid weighs pixels with their size, the position only those of the core', (t) => {
  const shape = measure(draw('1 . . 5 5'));
  // Row 1500 lies at 39.995 N, column 3500 at 94.995 W.
  t.deepEqual(shape.centroid, { lat: 39.995, lon: -94.995 + 0.031818 });
  t.deepEqual(shape.core, { lat: 39.995, lon: -94.96 });
});

test('a pixel of exactly 70 % of the maximum belongs to the core, one below does not', (t) => {
  t.is(measure(drawTenths([[100, 70]])).core.lon, -94.990882);
  t.is(measure(drawTenths([[100, 69]])).core.lon, -94.995);
});

test('the largest pixel is the first of equals', (t) => {
  const shape = measure(draw('1 3 2 3'));
  t.is(shape.peakIndex, 1);
  t.is(shape.max_tenths, 300);
});

test('the 90th percentile lies between ranks', (t) => {
  t.is(measure(drawTenths([[10, 20, 30, 40, 50, 60]])).p90_tenths, 55);
  t.is(measure(drawTenths([[70]])).p90_tenths, 70);
});

test('a round patch has the axes of a circle of its area', (t) => {
  const values = Array.from({ length: 41 }, (_, r) =>
    Array.from({ length: 41 }, (_, c) => (((r - 20) * 1.1113) ** 2 + ((c - 20) * 0.853) ** 2 <= 15 ** 2 ? 100 : 0)),
  );
  const { major_axis_km, minor_axis_km, area_km2 } = measure(drawTenths(values));
  t.true(Math.abs(major_axis_km - 30) < 0.6);
  t.true(Math.abs(minor_axis_km - 30) < 0.6);
  t.true(Math.abs(area_km2 / (Math.PI * 15 ** 2) - 1) < 0.02);
});

const line = (mark: (k: number, at: number) => boolean) =>
  drawTenths(Array.from({ length: 21 }, (_, r) => Array.from({ length: 21 }, (_, c) => (mark(r, c) ? 100 : 0))));

for (const [words, mark, direction_deg] of [
  ['north to south', (_: number, c: number) => c === 10, 0],
  ['west to east', (r: number) => r === 10, 90],
  // A pixel is 1.11 km high and 0.85 km wide at 40 N, so the diagonal runs 37.5 degrees from north.
  ['north-east', (r: number, c: number) => r + c === 20, 37.5],
  ['north-west', (r: number, c: number) => r === c, 142.5],
] as const)
  test(`a line from ${words} is oriented ${direction_deg} degrees`, (t) => {
    const { orientation_deg, major_axis_km, minor_axis_km } = measure(line(mark));
    const turned = Math.abs(orientation_deg - direction_deg);
    t.true(Math.min(turned, 180 - turned) < 0.3, `${orientation_deg}`);
    t.true(orientation_deg >= 0 && orientation_deg < 180);
    t.true(major_axis_km > 10 * minor_axis_km);
  });

test('one pixel has the axes of its own rectangle', (t) => {
  const { major_axis_km, minor_axis_km } = measure(draw('2'));
  t.true(Math.abs(major_axis_km - (4 * 1.1113) / Math.sqrt(12)) < 1e-9);
  t.true(minor_axis_km > 0.98 && minor_axis_km < 0.99);
});
