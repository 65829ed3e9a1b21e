import { readFileSync } from 'node:fs';
import test from 'ava';
import { stateQuery } from '../../../api/decode.ts';
import { stateBox, usStates } from '../../../api/rules/geo/us-states.ts';
import { regionOf } from '../../../api/rules/region.ts';
import { LATTICE, latRow, lonCol } from '../../../schemas/geo/lattice.ts';
import type { Bbox } from '../../../schemas/geo/position.ts';
import { regionBox } from '../../../schemas/resources/region-box.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

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

test('no window leaves the lattice', (t) => {
  for (const { window } of [regionOf({ bbox: null, state: 'ME' }), box(-125, 24, -66, 50)]) {
    if (window === null) throw new Error('no window');
    t.true(window.row0 >= 0 && window.row0 + window.rows <= LATTICE.rows);
    t.true(window.col0 >= 0 && window.col0 + window.cols <= LATTICE.cols);
  }
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
