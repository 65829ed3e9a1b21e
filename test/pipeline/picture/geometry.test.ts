import test from 'ava';
import fc from 'fast-check';
import { clipRing, type Pixel, visibleParts } from '../../../pipeline/picture/clip.ts';
import { placeLabels } from '../../../pipeline/picture/labels.ts';
import { fitView, type Rectangle } from '../../../pipeline/picture/map-view.ts';

const AREA: Rectangle = { x: 0, y: 0, width: 40, height: 30 };
const pixel = fc.tuple(fc.integer({ min: -20, max: 60 }), fc.integer({ min: -20, max: 50 }));

/** Twice the signed area of a ring. */
function doubleArea(ring: readonly Pixel[]): number {
  return ring.reduce((sum, [x, y], i) => {
    const [nx, ny] = ring[(i + 1) % ring.length] as Pixel;
    return sum + x * ny - nx * y;
  }, 0);
}

test('the map is the Albers map of the worked example of Snyder 1987, page 291', (t) => {
  // A sixth of the height of the box off its edges: standard parallels of 29.5 and 45.5 N, central meridian 96 W.
  const view = fitView([-125, 25.5, -67, 49.5], { x: 0, y: 0, width: 1200, height: 700 });
  const [x, y] = view.project(-75, 35);
  const [x0, y0] = view.project(-96, 23);
  const EARTH_RADIUS_KM = 6371.0088;
  const east = ((x - x0) * view.km_per_px) / EARTH_RADIUS_KM;
  const north = ((y0 - y) * view.km_per_px) / EARTH_RADIUS_KM;
  t.true(Math.abs(east - 0.295272) < 1e-6, `${east}`);
  t.true(Math.abs(north - 0.2416774) < 1e-6, `${north}`);
});

test('every pixel of the map leads back to itself, wherever the map lies', (t) => {
  fc.assert(
    fc.property(
      fc.record({
        west: fc.double({ min: -128, max: -70, noNaN: true }),
        south: fc.double({ min: 21, max: 48, noNaN: true }),
        width: fc.double({ min: 0.5, max: 9, noNaN: true }),
        height: fc.double({ min: 0.5, max: 6, noNaN: true }),
      }),
      fc.double({ min: 0, max: 1200, noNaN: true }),
      fc.double({ min: 0, max: 700, noNaN: true }),
      ({ west, south, width, height }, x, y) => {
        const view = fitView([west, south, west + width, south + height], { x: 0, y: 0, width: 1200, height: 700 });
        const { lat, lon } = view.locate(x, y);
        const [bx, by] = view.project(lon, lat);
        t.true(Math.hypot(bx - x, by - y) < 1e-5);
      },
    ),
    { numRuns: 200 },
  );
});

test('what is clipped of a triangle has the area that counting a fine lattice finds', (t) => {
  fc.assert(
    fc.property(fc.tuple(pixel, pixel, pixel), (corners) => {
      const whole = doubleArea(corners);
      fc.pre(whole !== 0);
      const clipped = clipRing(corners, AREA);
      t.true(clipped.every(([x, y]) => x >= 0 && x <= AREA.width && y >= 0 && y <= AREA.height));
      const inside = (x: number, y: number) =>
        corners.every(([ax, ay], i) => {
          const [bx, by] = corners[(i + 1) % 3] as Pixel;
          return ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) * Math.sign(whole) >= 0;
        });
      const step = 0.25;
      let counted = 0;
      for (let x = step / 2; x < AREA.width; x += step)
        for (let y = step / 2; y < AREA.height; y += step) if (inside(x, y)) counted += step * step;
      // Along every side of the triangle the lattice is wrong by less than half of a step.
      t.true(Math.abs(Math.abs(doubleArea(clipped)) / 2 - counted) < 100 * step * 0.5, `${clipped}`);
    }),
    { numRuns: 60 },
  );
});

test('every position of a line that shows lies in one of its visible parts', (t) => {
  let checked = 0;
  fc.assert(
    fc.property(fc.array(pixel, { minLength: 2, maxLength: 8 }), (line) => {
      const parts = visibleParts(line, AREA);
      const kept = new Set(parts.flatMap((part) => part.slice(1).map((to, i) => `${part[i]} ${to}`)));
      for (let i = 1; i < line.length; i++) {
        const [from, to] = [line[i - 1] as Pixel, line[i] as Pixel];
        for (let share = 0; share <= 1; share += 0.05) {
          const [x, y] = [from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])];
          if (x < 0 || x > AREA.width || y < 0 || y > AREA.height) continue;
          t.true(kept.has(`${from} ${to}`));
          checked++;
        }
      }
    }),
    { numRuns: 100 },
  );
  t.true(checked > 100, `${checked} positions in the map`);
});

test('labels never overlap one another or an obstacle, stay in the map, and the first always stands where it would alone', (t) => {
  const wish = fc.record({
    x: fc.integer({ min: 0, max: 300 }),
    y: fc.integer({ min: 0, max: 200 }),
    width: fc.integer({ min: 10, max: 80 }),
    height: fc.constant(12),
    gap: fc.integer({ min: 0, max: 10 }),
    text: fc.constantFrom('a', 'b'),
  });
  const area = { x: 0, y: 0, width: 300, height: 200 };
  const obstacle = { x: 200, y: 150, width: 90, height: 40 };
  const apart = (a: Rectangle, b: Rectangle) =>
    a.x >= b.x + b.width || b.x >= a.x + a.width || a.y >= b.y + b.height || b.y >= a.y + a.height;
  fc.assert(
    fc.property(fc.array(wish, { minLength: 1, maxLength: 25 }), (wishes) => {
      const placed = placeLabels(wishes, area, [obstacle]);
      for (const [i, label] of placed.entries()) {
        t.true(label.x >= 0 && label.y >= 0 && label.x + label.width <= 300 && label.y + label.height <= 200);
        for (const other of [...placed.slice(i + 1), obstacle]) t.true(apart(label, other));
      }
      const [alone] = placeLabels(wishes.slice(0, 1), area, [obstacle]);
      if (alone !== undefined) t.deepEqual(placed[0], alone);
    }),
    { numRuns: 200 },
  );
});
