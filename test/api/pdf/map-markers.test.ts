import test from 'ava';
import { MARKER_RADIUS, placeMarkers } from '../../../api/pdf/map-markers.ts';

const flat = ({ lat, lon }: { lat: number; lon: number }) => ({ x: lon, y: -lat });

test('numbers of reports at one place stand beside each other, none over the middle of the map', (t) => {
  const middle = { x: 0, y: 0 };
  const markers = placeMarkers(
    Array.from({ length: 9 }, () => ({ lat: 1, lon: 1 })),
    flat,
    [middle],
  );
  const spots = [middle, ...markers.map(({ label }) => label)];
  for (const [k, a] of spots.entries())
    for (const b of spots.slice(k + 1)) t.true(Math.hypot(a.x - b.x, a.y - b.y) >= 2 * MARKER_RADIUS);
  t.deepEqual(
    markers.map(({ key }) => key),
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
});

test('a number with room stands on the place itself', (t) => {
  const [marker] = placeMarkers([{ lat: 30, lon: 40 }], flat, [{ x: 0, y: 0 }]);
  t.deepEqual(marker?.label, marker?.at);
});
