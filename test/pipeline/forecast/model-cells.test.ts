import test from 'ava';
import { cellHour } from '../../../pipeline/forecast/model-cells.ts';
import type { ModelGrid } from '../../../pipeline/grid.ts';
import type { Position } from '../../../schemas/geo/position.ts';

/** A grid whose points are whole kilometres east and north of the origin; a degree is a kilometre. */
function kilometreGrid(rows: number, cols: number, step_km: number): ModelGrid {
  return {
    rows,
    cols,
    locate: ({ lat, lon }) => ({ row: lat / step_km, col: lon / step_km }),
    stepsAt: () => ({ row_km: step_km, col_km: step_km }),
  };
}

/** Hail of an hour at places, from the hail on the grid of a model. */
function largestAround(grid: ModelGrid, places: readonly Position[], hail_mm: Float32Array): number[] {
  const hour = { run_time: 0, valid_time: 0, simulated: false, grid, fields: { hail_mm } };
  return [...(cellHour(hour, places).largest.hail_mm ?? [])];
}

test('the largest value around a place is that of the points within 40 km', (t) => {
  const grid = kilometreGrid(30, 30, 5);
  const places = [
    { lat: 60, lon: 60 },
    { lat: 61.7, lon: 58.2 },
    { lat: 2, lon: 3 },
    { lat: 145, lon: 0 },
  ];
  const values = Float32Array.from({ length: 900 }, (_, k) => (k * 7919) % 1009);
  const expected = places.map((place) => {
    let most = Number.NaN;
    for (const [k, value] of values.entries()) {
      const distance_km = Math.hypot(5 * Math.floor(k / 30) - place.lat, 5 * (k % 30) - place.lon);
      if (distance_km <= 40 && !(most >= value)) most = value;
    }
    return most;
  });
  t.deepEqual(largestAround(grid, places, values), expected);
});

test('on a grid coarser than the radius the nearest point counts', (t) => {
  const values = Float32Array.from([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  t.deepEqual(largestAround(kilometreGrid(3, 3, 100), [{ lat: 145, lon: 60 }], values), [4]);
});

test('places outside the grid have no value', (t) => {
  const places = [
    { lat: -5, lon: 50 },
    { lat: 50, lon: 500 },
  ];
  const grid = kilometreGrid(20, 20, 5);
  t.deepEqual(largestAround(grid, places, new Float32Array(400)), [Number.NaN, Number.NaN]);
});

test('points without a value are passed over, and a place with none of them has none', (t) => {
  const grid = kilometreGrid(20, 20, 5);
  const values = new Float32Array(400).fill(Number.NaN);
  values[10 * 20 + 10] = -7;
  const places = [
    { lat: 50, lon: 50 },
    { lat: 5, lon: 5 },
  ];
  t.deepEqual(largestAround(grid, places, values), [-7, Number.NaN]);
});
