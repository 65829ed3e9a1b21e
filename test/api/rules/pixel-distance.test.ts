import test from 'ava';
import { pixelDistanceM, pixelsAround, shortDistanceM } from '../../../api/rules/pixel-distance.ts';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';
import { colLon, latRow, lonCol, rowLat } from '../../../schemas/geo/lattice.ts';
import type { Position } from '../../../schemas/geo/position.ts';

const POINTS: readonly Position[] = [24, 31.37, 38.9999, 45.12, 50].map((lat) => ({ lat, lon: -97.123 }));

/** Distance to the rectangle by measuring to 4,000 points on its edge. */
function slowDistanceM(from: Position, row: number, col: number): number {
  const steps = 1000;
  const distances: number[] = [];
  for (let step = 0; step <= steps; step++) {
    const lat = rowLat(row) - 0.005 + (0.01 * step) / steps;
    const lon = colLon(col) - 0.005 + (0.01 * step) / steps;
    for (const edge of [-0.005, 0.005])
      distances.push(
        distanceKm(from, { lat, lon: colLon(col) + edge }),
        distanceKm(from, { lat: rowLat(row) + edge, lon }),
      );
  }
  return 1000 * Math.min(...distances);
}

test('the distance is 0 inside the pixel and on its edge', (t) => {
  t.is(pixelDistanceM({ lat: 38.995, lon: -97.005 }, 1600, 3299), 0);
  t.true(pixelDistanceM({ lat: 39, lon: -97 }, 1600, 3299) < 1e-6);
});

test('the distance is that of a fine walk along the edge, in every direction', (t) => {
  for (const point of POINTS.slice(0, 3))
    for (const [dRow, dCol] of [
      [0, 1],
      [0, -2],
      [1, 0],
      [-2, 1],
      [1, 2],
      [2, -1],
    ] as const) {
      const row = latRow(point.lat) + dRow;
      const col = lonCol(point.lon) + dCol;
      const slow_m = slowDistanceM(point, row, col);
      t.true(Math.abs(pixelDistanceM(point, row, col) - slow_m) < 0.1);
      t.true(pixelDistanceM(point, row, col) <= slow_m + 0.0001);
    }
});

test('the short distance agrees with the geodesic to a tenth of a millimetre within 2 km', (t) => {
  for (const point of POINTS)
    for (let bearing_deg = 0; bearing_deg < 360; bearing_deg += 15)
      for (const km of [0.01, 1, 1.609344, 2])
        t.true(Math.abs(shortDistanceM(point, destination(point, bearing_deg, km)) - 1000 * km) < 0.0001);
});

test('every pixel within the distance is looked at', (t) => {
  for (const point of POINTS) {
    const { row0, row1, col0, col1 } = pixelsAround(point, 1609.344);
    for (let row = latRow(point.lat) - 4; row <= latRow(point.lat) + 4; row++)
      for (let col = lonCol(point.lon) - 5; col <= lonCol(point.lon) + 5; col++) {
        const inReach = row >= row0 && row <= row1 && col >= col0 && col <= col1;
        if (pixelDistanceM(point, row, col) <= 1609.344) t.true(inReach, `${point.lat}: ${row}, ${col}`);
      }
    t.true((row1 - row0 + 1) * (col1 - col0 + 1) <= 5 * 7);
  }
});
