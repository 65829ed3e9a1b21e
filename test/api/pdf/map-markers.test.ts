import test from 'ava';
import { type Box, MARKER_RADIUS, placeMarkers, type Spot } from '../../../api/pdf/map-markers.ts';

const flat = ({ lat, lon }: { lat: number; lon: number }) => ({ x: lon, y: -lat });
const WIDE = { left: -100, top: -100, right: 100, bottom: 100 };
const MIDDLE = { left: 0, top: 0, right: 0, bottom: 0 };

function isWithin({ x, y }: Spot, { left, top, right, bottom }: Box, margin: number): boolean {
  return x - left >= margin && right - x >= margin && y - top >= margin && bottom - y >= margin;
}

test('numbers of reports at one place stand beside each other, none over the middle of the map', (t) => {
  const middle = { x: 0, y: 0 };
  const markers = placeMarkers(
    Array.from({ length: 9 }, () => ({ lat: 1, lon: 1 })),
    flat,
    { frame: WIDE, keep_clear: [MIDDLE] },
  );
  const spots = [middle, ...markers.map(({ label }) => label)];
  for (const [k, a] of spots.entries())
    for (const b of spots.slice(k + 1)) t.true(Math.hypot(a.x - b.x, a.y - b.y) >= (k === 0 ? 1 : 2) * MARKER_RADIUS);
  t.deepEqual(
    markers.map(({ key }) => key),
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
});

test('a number with room stands on the place itself', (t) => {
  const [marker] = placeMarkers([{ lat: 30, lon: 40 }], flat, { frame: WIDE, keep_clear: [MIDDLE] });
  t.deepEqual(marker?.label, marker?.at);
});

test('beside the edge of a map and its labels every number stands whole, over none of them', (t) => {
  const label = { left: 80, top: -20, right: 100, bottom: 20 };
  for (const place of [
    { lat: 93, lon: 0 },
    { lat: -93, lon: -93 },
    { lat: 0, lon: 78 },
  ]) {
    const markers = placeMarkers([place, place, place], flat, { frame: WIDE, keep_clear: [label] });
    for (const { label: spot } of markers) {
      t.true(isWithin(spot, WIDE, MARKER_RADIUS), JSON.stringify(spot));
      t.false(isWithin(spot, label, -MARKER_RADIUS), JSON.stringify(spot));
    }
    t.is(new Set(markers.map(({ label: spot }) => `${spot.x} ${spot.y}`)).size, 3);
  }
});
