import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { readProbSevere } from '../../../pipeline/read/probsevere.ts';
import { conusScenario } from '../../../pipeline/simulate/scenario.ts';
import { dailyCycle, dayTypeAt, freezingLevelKm } from '../../../pipeline/simulate/weather.ts';
import { destination } from '../../../schemas/geo/distance.ts';
import { LATTICES } from '../../../schemas/geo/lattice.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { SMALL } from '../../support/data/small-evening.ts';
import { type AcceptanceRow, formatRows, isAccepted, medianRows, seasonRows } from './acceptance-table.ts';
import { type FieldStatistics, fieldStatistics } from './field-statistics.ts';
import { patchesOf } from './patches.ts';
import { measureSeasons } from './season-statistics.ts';
import { motionErrors, stormStatistics, survivalCases } from './storm-statistics.ts';

const read = (folder: string, name: string) => hailField(readGrid(readFileSync(sharedData(folder, name)), name));

sharedTest('the real day of 28 February 2024 has the figures that marginal days are held to', (t) => {
  const { window, rowStart, col, tenths } = read('mrms', 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2');
  const maximum = new Map<number, number>();
  for (let row = 0; row < window.rows; row++)
    for (let i = rowStart[row] ?? 0; i < (rowStart[row + 1] ?? 0); i++)
      maximum.set(row * window.cols + (col[i] as number), tenths[i] as number);
  const day = fieldStatistics([{ window, tenths: maximum }]);
  t.deepEqual(day.quantiles_mm, [2.6, 8.9, 19.8, 32.9]);
  t.is(day.pixels, 231_856);
  const rounded: readonly (readonly [keyof FieldStatistics, number, number])[] = [
    ['weibull_shape', 0.98, 2],
    ['weibull_scale_mm', 3.8, 1],
    ['area_e_folding_mm', 4.9, 1],
    ['area_ratio_25_19', 0.32, 2],
    ['area_ratio_38_19', 0.03, 2],
    ['area_ratio_50_19', 0.002, 3],
    ['axes_apart_deg', 15.4, 1],
    ['off_axis', 0.022, 3],
    ['swath_length_most_km', 66.3, 1],
    ['swath_length_median_km', 8.3, 1],
    ['swath_length_p90_km', 18.9, 1],
    ['swath_width_median_km', 3.4, 1],
    ['swath_width_p90_km', 8.2, 1],
  ];
  for (const [name, expected, digits] of rounded)
    t.is(Number((day[name] as number).toFixed(digits)), expected, `${name} ${day[name]}`);
});

sharedTest('of real storms below 25 mm none of the last evening kept 19 mm for 15 minutes, of larger ones all', (t) => {
  const names = readdirSync(sharedData('probsevere')).filter((name) => name.includes('_20211011_'));
  const sizes = names.sort().flatMap((name) => {
    const { valid_time, objects } = readProbSevere(readFileSync(sharedData('probsevere', name)), name);
    return objects.flatMap(({ probsevere_id, mesh_mm }) =>
      mesh_mm === null ? [] : [{ track_id: probsevere_id, scan_time: valid_time, size_mm: mesh_mm }],
    );
  });
  const cases = survivalCases(sizes, 15, 19);
  const survived = (low: number, high: number) =>
    cases.filter(({ size_mm }) => size_mm >= low && size_mm < high).map((one) => one.survived);
  t.deepEqual(survived(19, 25), new Array(6).fill(false));
  t.deepEqual(survived(25, Number.POSITIVE_INFINITY), new Array(18).fill(true));
});

test('a figure outside its range is marked, one on the bound is not, and no figure at all is', (t) => {
  const row = (simulated: number): AcceptanceRow => ({
    what: 'length, km',
    simulated,
    target: 7.9,
    low: 5,
    high: 60,
    real: 'R2 7.9',
  });
  t.deepEqual(
    [4.9, 5, 60, 60.1, Number.NaN].map((value) => isAccepted(row(value))),
    [false, true, true, false, false],
  );
  t.is(
    formatRows([row(5), row(61)]),
    [
      '            simulated  target     accepted    real',
      'length, km       5.00    7.90  5.00 - 60.0  R2 7.9',
      'length, km       61.0    7.90  5.00 - 60.0  R2 7.9  OUTSIDE',
    ].join('\n'),
  );
});

test('several days are judged by the median of each figure', (t) => {
  const day = (...simulated: number[]): AcceptanceRow[] =>
    simulated.map((value) => ({ what: 'figure', simulated: value, target: null, low: 0, high: 9, real: '' }));
  t.deepEqual(medianRows([day(1, 9), day(3, 7), day(2, 8)]), day(2, 8));
  for (const days of [
    [day(Number.NaN), day(1), day(2)],
    [day(1), day(2), day(Number.NaN)],
  ])
    t.deepEqual(medianRows(days), day(Number.NaN), 'a day that has no figure is not passed over');
});

const WINDOW = { lattice: LATTICES.conus, row0: 2000, col0: 3000, rows: 5, cols: 10 };

const members = (drawing: readonly string[]) =>
  drawing.flatMap((line, row) => [...line].flatMap((mark, col) => (mark === '#' ? [row * WINDOW.cols + col] : [])));

test('pixels that touch at a corner are one patch, and a row does not go on in the next', (t) => {
  const patches = patchesOf(
    members([
      '##.......#', //
      '..#.......',
      '..........',
      '#....#####',
      '.....#####',
    ]),
    WINDOW,
  );
  t.deepEqual(
    patches.map(({ pixels }) => pixels),
    [3, 1, 1, 10],
  );
});

test('a bar has its length and width in kilometres', (t) => {
  const [bar] = patchesOf(members(['##########', '##########']), WINDOW);
  // 10 pixels of 0.912 km at 35 N, 2 of 1.112 km; sqrt(12 x eigenvalue) of n points is sqrt(n^2 - 1) steps.
  t.true(Math.abs((bar?.length_km ?? 0) - Math.sqrt(99) * 0.912) < 0.02);
  t.true(Math.abs((bar?.width_km ?? 0) - Math.sqrt(3) * 1.112) < 0.02);
  t.true(Math.abs((bar?.area_km2 ?? 0) - 20 * 1.014) < 0.2);
});

const climate = conusScenario(1, 'climate', WSR88D);

test('hail has its hour of the day, and each region its season', (t) => {
  const rows = seasonRows(measureSeasons(climate, 2024, 3));
  t.deepEqual(
    rows.filter((row) => !isAccepted(row)).map((row) => `${row.what}: ${row.simulated}`),
    [],
  );
});

test('a convective day has one type, from 12 to 12 UTC', (t) => {
  for (let day = 0; day < 40; day += 1) {
    const noon = Date.parse('2025-04-01T12:00:00Z') + day * 24 * MS_PER_HOUR;
    t.is(dayTypeAt(climate, noon), dayTypeAt(climate, noon + 24 * MS_PER_HOUR - 1));
  }
});

test('January is mostly quiet, May is not', (t) => {
  const quiet = (month: number) =>
    Array.from({ length: 28 * 5 }, (_, n) =>
      dayTypeAt(climate, Date.UTC(2020 + (n % 5), month, 1 + Math.floor(n / 5), 20)),
    ).filter((type) => type === 'quiet').length / 140;
  t.true(quiet(0) > 0.65 && quiet(4) < 0.15, `${quiet(0)} ${quiet(4)}`);
});

test('the daily cycle averages one', (t) => {
  const hours = Array.from({ length: 240 }, (_, n) => dailyCycle(n * MS_PER_HOUR * 0.1));
  t.true(Math.abs(hours.reduce((sum, one) => sum + one, 0) / 240 - 1) < 1e-4);
});

// The table of data/reference/freezing-level.json plus 0.2 km in the warm months and 0.4 in the cold ones.
for (const [lat, month, expected] of [
  [30, 4, 4.6],
  [35, 4, 4.3],
  [40, 4, 3.7],
  [35, 6, 4.9],
  [45, 6, 4.2],
  [35, 0, 3.0],
  [40, 9, 3.5],
] as const)
  test(`0 C lies near ${expected} km at ${lat} N in month ${month + 1}`, (t) => {
    const found = freezingLevelKm(climate, Date.UTC(2025, month, 15), lat);
    t.true(Math.abs(found - expected) <= 0.5, `${found}`);
  });

test('a steady scenario breathes May air at any date', (t) => {
  t.is(freezingLevelKm(SMALL, Date.UTC(2025, 0, 15), 36), freezingLevelKm(SMALL, Date.UTC(2025, 6, 15), 36));
});

const START = Date.parse('2025-05-01T20:00:00Z');
const at = (minutes: number) => START + minutes * 60_000;
const HOME = { lat: 36, lon: -98 };

/** A storm every 2 minutes for half an hour, that goes 36 km/h east while its tracker says something else. */
const going = (speed_kmh: number, direction_deg: number) =>
  Array.from({ length: 16 }, (_, scan) => ({
    track_id: 'one',
    scan_time: at(2 * scan),
    ...destination(HOME, 90, 1.2 * scan),
    scan_count: scan + 1,
    motion: { speed_kmh, direction_deg },
    is_reshaped: false,
    size_mm: 30,
  }));

test('the error of a motion is its difference from the displacement over the lead, of storms that are mature', (t) => {
  const errors = motionErrors(going(46, 60), 14, 6);
  // The sixth scan is the first that counts, the ninth the last that has a scan 14 minutes later.
  t.is(errors.length, 4);
  for (const { speed_kmh, direction_deg } of errors) {
    t.true(Math.abs(speed_kmh - 10) < 0.05, `${speed_kmh}`);
    t.true(Math.abs(direction_deg + 30) < 0.2, `${direction_deg}`);
  }
});

test('errors of direction go the short way round north', (t) => {
  const north = going(36, 350).map((storm, scan) => ({ ...storm, ...destination(HOME, 10, 1.2 * scan) }));
  for (const { direction_deg } of motionErrors(north, 14, 6)) t.true(Math.abs(direction_deg + 20) < 0.2);
});

test('a storm without a motion, or one that hardly moves, has no error', (t) => {
  t.deepEqual(
    motionErrors(
      going(36, 90).map((storm) => ({ ...storm, motion: null })),
      14,
      6,
    ),
    [],
  );
  t.deepEqual(motionErrors(going(2, 90), 14, 6), []);
});

test('a storm that changes its shape on the way has no error: a jump of its centroid is no motion', (t) => {
  const reshaped = going(46, 60).map((storm, scan) => ({ ...storm, is_reshaped: scan === 9 }));
  // Of the sixth to the ninth scan none is left, the tenth would be the next.
  t.deepEqual(motionErrors(reshaped, 14, 6), []);
  const before = going(46, 60).map((storm, scan) => ({ ...storm, is_reshaped: scan === 5 }));
  t.is(motionErrors(before, 14, 6).length, 4);
});

test('hail survives where the storm has it again after the lead, not where it is smaller or gone', (t) => {
  const series = (track_id: string, sizes: readonly (number | null)[]) =>
    sizes.flatMap((size_mm, scan) => (size_mm === null ? [] : [{ track_id, scan_time: at(5 * scan), size_mm }]));
  const sizes = [
    ...series('stays', [20, 25, 22, 19, 18]),
    ...series('weakens', [20, 15, 10, 18.9, 30]),
    ...series('vanishes', [40, 41, null, null, null]),
  ];
  // Scans reach 20 minutes: 15 minutes after the third there is none.
  t.deepEqual(survivalCases(sizes, 15, 19), [
    { size_mm: 20, survived: true },
    { size_mm: 25, survived: false },
    { size_mm: 20, survived: false },
    { size_mm: 40, survived: false },
    { size_mm: 41, survived: false },
  ]);
});

test('evenings are counted together, a track never goes on in the next', (t) => {
  const [early, late] = [going(46, 60).slice(0, 8), going(46, 60).slice(9)];
  t.is(stormStatistics([going(46, 60), going(46, 120)]).motion_cases, 8);
  t.true(Math.abs(stormStatistics([going(46, 60), going(46, 120)]).motion_direction_deg - 30) < 0.2);
  t.is(stormStatistics([early, late]).motion_cases, 0);
});
