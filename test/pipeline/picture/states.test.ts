import test from 'ava';
import { loadStates } from '../../../pipeline/picture/states.ts';

test('there are fifty states, the District and five territories, each with outlines', (t) => {
  const { states } = loadStates();
  t.is(states.length, 56);
  for (const name of ['Illinois', 'Texas', 'District of Columbia']) t.true(states.some((state) => state.name === name));
  for (const { polygons } of states)
    t.true(polygons.length > 0 && polygons.every((polygon) => polygon.every((ring) => ring.length >= 4)));
});

test('Colorado spans its statutory degrees, longitude first', (t) => {
  const shell = loadStates().states.find(({ name }) => name === 'Colorado')?.polygons[0]?.[0] ?? [];
  const lons = shell.map((position) => position[0]);
  const lats = shell.map((position) => position[1]);
  for (const [found, expected] of [
    [Math.min(...lons), -109.05],
    [Math.max(...lons), -102.05],
    [Math.min(...lats), 37],
    [Math.max(...lats), 41],
  ] as const)
    t.true(Math.abs(found - expected) < 0.03, `${found}`);
});

test('a border between two states is a border, a coast is not', (t) => {
  const { borders, coasts } = loadStates();
  const near = (lines: readonly number[][][], lon: number, lat: number) =>
    lines.some((line) => line.some((position) => Math.hypot(position[0] - lon, position[1] - lat) < 0.15));
  t.true(near(borders, -109.05, 37) && !near(coasts, -109.05, 37), 'Four Corners');
  t.true(near(coasts, -80.19, 25.77) && !near(borders, -80.19, 25.77), 'Miami');
});
