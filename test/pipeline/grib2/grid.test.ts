import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { readGridDefinition } from '../../../pipeline/grib2/grid.ts';
import { type GridDefinition, nearestPoint, placeOf, positionOf, stepsAt } from '../../../pipeline/grib2/index.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { latLonSection, octets, signMagnitude } from '../../support/data/grib2-files.ts';

function grid(bytes: readonly number[]): GridDefinition {
  return readGridDefinition({ subject: 'x', message: 1, number: 3, bytes: Uint8Array.from(bytes) });
}

interface Cone {
  readonly la1: number;
  readonly lo1: number;
  readonly lov: number;
  readonly latin1: number;
  readonly latin2: number;
  readonly shape?: number;
  readonly mode?: number;
}

/** Section 3, template 3.30: 40 x 30 points, 3 km apart. */
function lambertSection({ la1, lo1, lov, latin1, latin2, shape = 6, mode = 0x40 }: Cone): number[] {
  const micro = (degrees: number) => signMagnitude(Math.round(degrees * 1e6), 4);
  const body = [
    ...[0, ...octets(1200, 4), 0, 0, 0, 30, shape, 0, ...octets(0, 4), 0, ...octets(0, 4), 0, ...octets(0, 4)],
    ...[...octets(40, 4), ...octets(30, 4), ...micro(la1), ...micro(lo1), 8, ...micro(latin1), ...micro(lov)],
    ...[...octets(3_000_000, 4), ...octets(3_000_000, 4), 0, mode, ...micro(latin1), ...micro(latin2)],
    ...[...micro(-90), ...micro(0)],
  ];
  return [...octets(body.length + 5, 4), 3, ...body];
}

for (const [title, cone] of [
  ['a tangent cone on a sphere', { la1: 21.138, lo1: 237.28, lov: 262.5, latin1: 38.5, latin2: 38.5 }],
  ['two parallels on the ellipsoid', { la1: 33, lo1: 250, lov: 262.5, latin1: 33, latin2: 45, shape: 5 }],
  ['the southern hemisphere', { la1: -35, lo1: 290, lov: 295, latin1: -30, latin2: -60 }],
  ['rows from the north, columns from the east', { la1: 45, lo1: 270, lov: 265, latin1: 25, latin2: 25, mode: 0x80 }],
] as const)
  test(`Lambert positions lead back to their points: ${title}`, (t) => {
    const lambert = grid(lambertSection(cone));
    const first = positionOf(lambert, 0, 0);
    t.true(Math.abs(first.lat - cone.la1) < 1e-9);
    t.true(Math.abs(((first.lon - cone.lo1 + 540) % 360) - 180) < 1e-9);
    for (const [j, i] of [
      [0, 0],
      [29, 39],
      [12, 7],
      [0, 39],
    ] as const)
      t.deepEqual(nearestPoint(lambert, positionOf(lambert, j, i)), { j, i });
  });

test('on the parallel that touches the earth, 3 km of the grid are 3 km on the ground', (t) => {
  const lambert = grid(lambertSection({ la1: 38.5, lo1: 262.5, lov: 262.5, latin1: 38.5, latin2: 38.5 }));
  const [a, b] = [positionOf(lambert, 0, 0), positionOf(lambert, 1, 0)];
  const metres = ((b.lat - a.lat) * Math.PI * 6_371_229) / 180;
  t.true(Math.abs(metres - 3000) < 0.01, `${metres}`);
});

test('the nearest point takes in half a step around the grid and no more', (t) => {
  const corner = grid(latLonSection({ columns: 3, rows: 2 }));
  t.deepEqual(nearestPoint(corner, { lat: 54.9999, lon: -129.9999 }), { j: 0, i: 0 });
  t.deepEqual(nearestPoint(corner, { lat: 54.981, lon: -129.971 }), { j: 1, i: 2 });
  t.is(nearestPoint(corner, { lat: 55.001, lon: -129.995 }), null);
  t.is(nearestPoint(corner, { lat: 54.995, lon: -130.001 }), null);
  t.is(nearestPoint(corner, { lat: 54.995, lon: -129.969 }), null);
});

test('a global grid closes at 0 degrees: 359.9 E is nearest to its first column', (t) => {
  const globe = grid(latLonSection({ columns: 36, rows: 2, la1: 10_000_000, lo1: 0, step: 10_000_000 }));
  t.deepEqual(nearestPoint(globe, { lat: 10, lon: -0.1 }), { j: 0, i: 0 });
  t.deepEqual(nearestPoint(globe, { lat: 0, lon: -10 }), { j: 1, i: 35 });
});

test('positions of another template are refused by its name, its size is still known', (t) => {
  const mercator = grid([
    ...octets(72, 4),
    3,
    0,
    ...octets(6, 4),
    0,
    0,
    0,
    10,
    ...octets(0, 16),
    ...octets(3, 4),
    ...octets(2, 4),
    ...octets(0, 34),
  ]);
  t.deepEqual([mercator.columns, mercator.rows], [3, 2]);
  const error = t.throws(() => positionOf(mercator, 0, 0), { instanceOf: BadInput });
  t.is(
    error.message,
    'read x: message 1 section 3: positions of grid template 3.10 are not supported, expected 3.0 or 3.30',
  );
});

for (const [title, cone, reason] of [
  [
    'parallels on both sides of the equator',
    { la1: 0, lo1: 0, lov: 0, latin1: 30, latin2: -30 },
    /both sides of the equator/,
  ],
  ['a parallel at the pole', { la1: 0, lo1: 0, lov: 0, latin1: 90, latin2: 90 }, /first parallel 90, expected between/],
  [
    'an unknown earth',
    { la1: 0, lo1: 0, lov: 0, latin1: 30, latin2: 30, shape: 77 },
    /shape of the earth 77, expected 0 to 8/,
  ],
] as const)
  test(`a Lambert grid with ${title} is refused`, (t) => {
    t.throws(() => grid(lambertSection(cone)), { instanceOf: BadInput, message: reason });
  });

for (const [title, cone] of [
  ['a tangent cone on a sphere', { la1: 25, lo1: 262, lov: 262.5, latin1: 38.5, latin2: 38.5 }],
  ['two parallels on the ellipsoid', { la1: 45, lo1: 250, lov: 262.5, latin1: 33, latin2: 45, shape: 5 }],
  ['the southern hemisphere', { la1: -35, lo1: 290, lov: 295, latin1: -30, latin2: -60 }],
] as const)
  test(`the steps of a Lambert grid are the distances between its points: ${title}`, (t) => {
    const lambert = grid(lambertSection(cone));
    const at = positionOf(lambert, 10, 10);
    const { column_km, row_km } = stepsAt(lambert, at);
    for (const [neighbour, km] of [
      [positionOf(lambert, 10, 11), column_km],
      [positionOf(lambert, 11, 10), row_km],
    ] as const)
      t.true(Math.abs(distanceKm(at, neighbour) / km - 1) < 0.004, `${distanceKm(at, neighbour)} ${km}`);
  });

test('the steps of a latitude-longitude grid narrow towards the pole', (t) => {
  const corner = grid(latLonSection({ columns: 3, rows: 2 }));
  const { column_km, row_km } = stepsAt(corner, { lat: 60, lon: -100 });
  t.true(Math.abs(row_km - 1.112) < 1e-3 && Math.abs(column_km - 0.556) < 1e-3, `${row_km} ${column_km}`);
});

test('a place between points has fractions, and beyond the grid its numbers run on', (t) => {
  const corner = grid(latLonSection({ columns: 3, rows: 2 }));
  const { i, j } = placeOf(corner, { lat: 54.99, lon: -129.992 });
  t.true(Math.abs(i - 0.3) < 1e-9 && Math.abs(j - 0.5) < 1e-9, `${i} ${j}`);
  t.true(placeOf(corner, { lat: 54.9, lon: -129.99 }).j > 9);
});
