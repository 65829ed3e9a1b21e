import test from 'ava';
import { qualityAt } from '../../../api/rules/detection-quality.ts';
import { findImpacts, type HailPixels, impactOf, impactsPage, pixelKey } from '../../../api/rules/portfolio-impacts.ts';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';
import { colLon, rowLat } from '../../../schemas/geo/lattice.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { draw } from '../../support/data/draw.ts';

/** One detection in every pixel of a picture near 40 N, 95 W. */
function hail(picture: string): HailPixels {
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

test('a location inside a pixel with a detection is 0 m from it', (t) => {
  t.deepEqual(impactOf(middle(1, 1), hail('. . .\n. 2 .\n. . .')), {
    location: middle(1, 1),
    nearest_m: 0,
    max_mm: 20,
    detections: 1,
  });
});

test('size and detections are of all pixels within the mile, and of none beyond', (t) => {
  const around = hail(`
    9 . . . . . .   the corners lie 1.9 km away or more,
    . . . 3 . . .   a pixel is 1.11 km high and 0.85 km wide
    . . 1 2 1 . .
    . . . 1 . . .
    9 . . . . . 9`);
  t.like(impactOf(middle(2, 3), around), { max_mm: 30, detections: 5 });
});

test('a pixel reached only at its corner counts', (t) => {
  const corner = { lat: rowLat(1500) - 0.005, lon: colLon(3500) + 0.005 };
  const inside = destination(corner, 135, 1.6093);
  const outside = destination(corner, 135, 1.6094);
  t.like(impactOf(inside, hail('2')), { detections: 1 });
  t.is(Math.round(impactOf(inside, hail('2'))?.nearest_m ?? 0), 1609);
  t.is(impactOf(outside, hail('2')), null);
});

test('exactly a mile is within it, a millimetre more is not', (t) => {
  const edge = { lat: rowLat(1500) - 0.005, lon: colLon(3500) };
  const at = (metres: number) => destination(edge, 180, metres / 1000);
  t.true(Math.abs(1000 * distanceKm(edge, at(1609.344)) - 1609.344) < 1e-6);
  t.not(impactOf(at(1609.3439), hail('2')), null);
  t.is(impactOf(at(1609.345), hail('2')), null);
});

test('pixels on the other side of the lattice are never near', (t) => {
  const pixels = new Map([[pixelKey(1500, 0), { max_mm: 30, detections: 2 }]]);
  t.is(impactOf({ lat: rowLat(1499), lon: colLon(6999) }, pixels), null);
});

test('locations without hail are left out, the others keep their order', async (t) => {
  const pixels = hail('2 . . . . . . . . 3');
  const locations = [9, 5, 0, 4].map((col, index) => ({ id: index, ...middle(0, col) }));
  t.deepEqual(
    (await findImpacts(locations, pixels)).map(({ location }) => location.id),
    [0, 2],
  );
  t.deepEqual(await findImpacts(locations, new Map()), []);
});

test('thousands of locations leave the event loop free every few milliseconds', async (t) => {
  const pixels = hail(Array(40).fill('2'.repeat(60)).join('\n'));
  const locations = Array.from({ length: 10_000 }, (_, k) => middle(k % 40, k % 60));
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
  const mountains = { radars: new Set<string>(), blocked: () => 0.4 };
  const [free] = (await impactsPage(impactsOf(1), '2026-05-01', null, 50, null)).impacts;
  const [behind] = (await impactsPage(impactsOf(1), '2026-05-01', null, 50, mountains)).impacts;
  t.true((behind?.ml_confidence ?? 1) < (free?.ml_confidence ?? 0));
  t.deepEqual({ ...behind, ml_confidence: 0 }, { ...free, ml_confidence: 0 });
});
