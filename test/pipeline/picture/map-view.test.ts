import test from 'ava';
import { fitView } from '../../../pipeline/picture/map-view.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';

const AREA = { x: 24, y: 96, width: 1152, height: 720 };

for (const bbox of [
  [-130, 20, -60, 55],
  [-98, 35, -97, 36],
] as const)
  test(`all of ${bbox} lies in the area, and touches it`, (t) => {
    const view = fitView(bbox, AREA);
    const [west, south, east, north] = bbox;
    const corners = [
      view.project(west, south),
      view.project(east, south),
      view.project(west, north),
      view.project(east, north),
    ];
    for (const [x, y] of corners) t.true(x >= 23.9 && x <= 1176.1 && y >= 95.9 && y <= 816.1);
    const [width, height] = [0, 1].map(
      (axis) => Math.max(...corners.map((corner) => corner[axis])) - Math.min(...corners.map((corner) => corner[axis])),
    );
    t.true((width as number) > 1100 || (height as number) > 600);
  });

test('a pixel of the picture leads back to its position', (t) => {
  const view = fitView([-100, 30, -80, 45], AREA);
  const { lat, lon } = view.locate(...view.project(-93.21, 38.76));
  t.true(Math.abs(lat - 38.76) < 1e-9 && Math.abs(lon + 93.21) < 1e-9);
});

test('distances on a small map are true to half a percent', (t) => {
  const view = fitView([-98, 35, -97, 36], AREA);
  const [ax, ay] = view.project(-97.9, 35.1);
  const [bx, by] = view.project(-97.1, 35.9);
  const km = distanceKm({ lat: 35.1, lon: -97.9 }, { lat: 35.9, lon: -97.1 });
  t.true(Math.abs((Math.hypot(bx - ax, by - ay) * view.km_per_px) / km - 1) < 0.005);
});

test('equal areas on the globe are equal on the map', (t) => {
  const view = fitView([-125, 25, -67, 49], AREA);
  const area = (lon: number, lat: number) => {
    const ring = [
      [lon, lat],
      [lon + 0.1, lat],
      [lon + 0.1, lat + 0.1],
      [lon, lat + 0.1],
    ].map(([a, b]) => view.project(a as number, b as number));
    return (
      Math.abs(
        ring.reduce(
          (sum, [x, y], i) =>
            sum + x * (ring[(i + 1) % 4] as readonly number[])[1]! - (ring[(i + 1) % 4] as readonly number[])[0]! * y,
          0,
        ),
      ) / 2
    );
  };
  const globe = (lat: number) => Math.sin(((lat + 0.1) * Math.PI) / 180) - Math.sin((lat * Math.PI) / 180);
  t.true(Math.abs(area(-120, 47) / area(-80, 27) / (globe(47) / globe(27)) - 1) < 1e-3);
});

test('north is up in the middle of the map', (t) => {
  const view = fitView([-100, 30, -80, 45], AREA);
  const [ax, ay] = view.project(-90, 36);
  const [bx, by] = view.project(-90, 37);
  t.true(Math.abs(ax - bx) < 1e-9 && by < ay);
});
