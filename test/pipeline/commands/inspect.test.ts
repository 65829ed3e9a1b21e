import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { inspectCommand } from '../../../pipeline/commands/inspect.ts';
import { type InspectOptions, inspectFile, type Report } from '../../../pipeline/commands/inspect-file.ts';
import { inspectText } from '../../../pipeline/commands/inspect-text.ts';
import { BadInput, NotFound, UsageError } from '../../../pipeline/error.ts';
import type { FieldHead } from '../../../pipeline/read/layers.ts';
import { floatPacking, gribFile, pngPacking, simplePacking } from '../../support/data/grib2-files.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const folder = mkdtempSync(join(tmpdir(), 'hail-inspect-'));
test.after.always(() => rmSync(folder, { recursive: true }));

function written(name: string, bytes: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

const NOTHING: InspectOptions = { at: [], thresholds: null, bbox: null, field: null };

/** The report on one grid field; fails the test when the file turns out to be something else. */
async function detailOf(path: string, look: Partial<InspectOptions> = {}) {
  const report = await inspectFile(path, { ...NOTHING, ...look });
  if (report.format === 'ProbSevere' || report.detail === null) throw new TypeError('no single field');
  return report.detail;
}

//  x . 1 1    no coverage, nothing there, tens of mm: two storms that touch at a corner
//  . 2 . .
//  . . . 3
const MESH = written(
  'MRMS_MESH_00.50_20240501-201234.grib2',
  gribFile(
    pngPacking([0, 20, 130, 130, 20, 230, 20, 20, 20, 20, 20, 330], { columns: 4, rows: 3, bits: 16 }),
    { columns: 4, rows: 3 },
    { production_status: 192 },
  ),
);

test('a field in figures: sentinels apart, extremes with their place, components with 8 and 4 neighbours', async (t) => {
  const detail = await detailOf(MESH, { thresholds: [10, 20, 99] });
  t.like(detail, { name: 'MESH', unit: 'mm', parameter: '209/3/28', time: '2024-05-01T20:12:34Z', simulated: true });
  t.like(detail.summary, {
    points: 12,
    missing: 0,
    no_coverage: { value: -3, points: 1 },
    nothing: { value: -1, points: 7 },
    values: 4,
    zeros: 0,
    mean: 17.5,
    min: { row: 0, col: 2, lat: 54.995, lon: -129.975, value: 10, points: 2 },
    max: { row: 2, col: 3, lat: 54.975, lon: -129.965, value: 30, points: 1 },
  });
  t.deepEqual(
    detail.thresholds.map(({ threshold, pixels, components_8, components_4 }) => [
      threshold,
      pixels,
      components_8,
      components_4,
    ]),
    [
      [10, 4, 2, 3],
      [20, 2, 2, 2],
      [99, 0, 0, 0],
    ],
  );
});

test('a box takes the points whose centres lie in it, edges included', async (t) => {
  const detail = await detailOf(MESH, { thresholds: [10], bbox: [-129.99, 54.975, -129.965, 54.99] });
  t.is(detail.summary.points, 6);
  t.is(detail.thresholds[0]?.pixels, 2);
});

// 3/2 has 0 for both kinds of nothing, 12/0 has -9999: nothing is known there.
for (const [category, number, packed, head, figures] of [
  [3, 44, [-3, -1, 9], { name: 'EchoTop_18', unit: 'km' }, { no_coverage: -3, nothing: -1 }],
  [2, 7, [-99903, -99900, 9], { name: 'LightningJumpGrid', unit: 'non-dim' }, { no_coverage: -99903, nothing: -99900 }],
  [3, 2, [0, 0, 9], { name: 'RotationTrack30min', unit: '0.001/s' }, { no_coverage: null, nothing: 0 }],
  [
    2,
    0,
    [-3, -1, 9],
    { name: 'NLDN_CG_001min_AvgDensity', unit: 'flashes/km^2/min' },
    { no_coverage: -3, nothing: -1 },
  ],
  [
    12,
    0,
    [-9999, 0, 9],
    { name: 'FLASH_CREST_MAXUNITSTREAMFLOW', unit: 'm^3/s/km^2' },
    { no_coverage: -9999, nothing: null },
  ],
  [11, 2, [-99, -999, 9], { name: 'MergedReflectivityQComposite', unit: 'dBZ' }, { no_coverage: -999, nothing: -99 }],
] as const)
  test(`sentinels of ${head.name} are no values, as the table of products has them`, async (t) => {
    const least = Math.min(...packed);
    const offsets = packed.map((value) => value - least);
    const bytes = gribFile(
      simplePacking(offsets, 24, { reference: least, decimal_scale: 0 }),
      { columns: 3, rows: 1 },
      { category, number },
    );
    const detail = await detailOf(written(`${head.name}.grib2`, bytes));
    t.like(detail, head);
    const { no_coverage, nothing, values, max } = detail.summary;
    t.deepEqual({ no_coverage: no_coverage?.value ?? null, nothing: nothing?.value ?? null }, figures);
    t.deepEqual(
      [values, max?.value],
      [packed.filter((value) => value !== no_coverage?.value && value !== nothing?.value).length, 9],
    );
  });

test('grid and packing are numbers in the JSON report', async (t) => {
  const { grid, packing } = JSON.parse(JSON.stringify(await detailOf(MESH))) as FieldHead;
  t.deepEqual(grid, {
    template: 0,
    columns: 4,
    rows: 3,
    projection: 'latitude-longitude',
    step_lon_deg: 0.01,
    step_lat_deg: 0.01,
  });
  t.deepEqual(packing, {
    template: 41,
    name: 'PNG',
    bits: 16,
    reference: -30,
    binary_scale: 0,
    decimal_scale: 1,
  });
});

test('samples tell a value from no coverage, nothing there and outside', async (t) => {
  const { samples } = await detailOf(MESH, {
    at: [
      { lat: 54.986, lon: -129.984 },
      { lat: 54.995, lon: -129.995 },
      { lat: 54.975, lon: -129.985 },
      { lat: 40, lon: -90 },
    ],
  });
  t.deepEqual(
    samples.map(({ value, meaning, nearest }) => [value, meaning, nearest && [nearest.row, nearest.col]]),
    [
      [20, 'value', [1, 1]],
      [-3, 'no coverage', [0, 0]],
      [-1, 'covered, nothing there', [2, 1]],
      [null, 'outside the grid', null],
    ],
  );
});

test('points without a value are missing, not zero', async (t) => {
  const path = written(
    'gaps.grib2',
    gribFile(floatPacking([5, 0]), { columns: 3, rows: 1 }, { discipline: 0 }, [1, 0, 1]),
  );
  const { summary } = await detailOf(path);
  t.like(summary, { points: 3, missing: 1, values: 2, zeros: 1, no_coverage: null, nothing: null });
});

const TWO = written(
  'two.grib2',
  Buffer.concat(
    [1, 2].map((value) =>
      gribFile(simplePacking([value], 8, { reference: 0, decimal_scale: 0 }), { columns: 1, rows: 1 }),
    ),
  ),
);

test('several fields are listed; --field picks one', async (t) => {
  const report = (await inspectFile(TWO, NOTHING)) as Extract<Report, { format: 'GRIB2' | 'GeoTIFF' }>;
  t.deepEqual(
    report.fields.map(({ field }) => field),
    [1, 2],
  );
  t.is(report.detail, null);
  t.is((await detailOf(TWO, { field: 2 })).summary.max?.value, 2);
});

test('a field that the file does not have, or questions without a field, are mistakes of the caller', async (t) => {
  await t.throwsAsync(inspectFile(TWO, { ...NOTHING, field: 3 }), {
    instanceOf: UsageError,
    message: '--field is 3, expected 1 to 2',
  });
  await t.throwsAsync(inspectFile(TWO, { ...NOTHING, thresholds: [1] }), {
    instanceOf: UsageError,
    message: '--field is missing, expected 1 to 2: the file has 2 fields',
  });
});

test('a file that is not there, or is something else, is explained', async (t) => {
  await t.throwsAsync(inspectFile(join(folder, 'absent'), NOTHING), {
    instanceOf: NotFound,
    message: /absent: no such file/,
  });
  await t.throwsAsync(inspectFile(folder, NOTHING), { instanceOf: BadInput, message: /not a regular file/ });
  await t.throwsAsync(inspectFile(written('a.txt', Buffer.from('hail')), NOTHING), {
    instanceOf: BadInput,
    message: /a\.txt: no GRIB message in 4 bytes/,
  });
  await t.throwsAsync(inspectFile(written('a.tif', Buffer.from('II*\0abcd')), NOTHING), { instanceOf: BadInput });
});

test('the text for people is aligned and carries what the figures say', async (t) => {
  const text = inspectText(
    await inspectFile(MESH, { ...NOTHING, thresholds: [10, 20], at: [{ lat: 54.975, lon: -129.965 }] }),
  );
  t.is(
    text.slice(text.indexOf('\n') + 1),
    `GRIB2, ${readFileSync(MESH).length} bytes, 1 field

product  MESH (209/3/28), mm, 500 m above sea level
time     2024-05-01T20:12:34Z, simulated
grid     3.0 latitude-longitude, 4 x 3, step 0.01 x 0.01 deg
         from row 0, column 0 (54.995 N 129.995 W) to row 2, column 3 (54.975 N 129.965 W)
packing  5.41 PNG, 16 bits, value = (-30 + x) / 10

points              12  100.0 %
no coverage (-3)     1    8.3 %
nothing there (-1)   7   58.3 %
values               4   33.3 %
  of these zero      0    0.0 %

minimum  10 mm    row 0, column 2 (54.995 N 129.975 W), the first of 2 points
maximum  30 mm    row 2, column 3 (54.975 N 129.965 W)
mean     17.5 mm

>= mm  points  area km2  components (8)  (4)
   10       4       2.9               2    3
   20       2       1.4               2    2

at 54.975 N 129.965 W  30 mm  row 2, column 3 (54.975 N 129.965 W)
`
      .replaceAll('\n    10 ', '\n   10 ')
      .replaceAll('\n    20 ', '\n   20 '),
  );
});

for (const [option, text, form] of [
  ['--at', '41.5', 'expected LAT,LON in degrees'],
  ['--at', '41.5,-87,3', 'expected LAT,LON in degrees'],
  ['--at', '91,0', 'expected LAT,LON in degrees'],
  ['--at', 'north,west', 'expected LAT,LON in degrees'],
  ['--thresholds', '10,,19', 'expected up to 50 numbers'],
  ['--thresholds', '0x10', 'expected up to 50 numbers'],
  ['--thresholds', '', 'expected up to 50 numbers'],
  ['--bbox', '-91,36,-87', 'expected W,S,E,N in degrees'],
  ['--bbox', '-87,36,-91,42', 'with west < east and south < north'],
  ['--bbox', '-91,42,-87,36', 'with west < east and south < north'],
  ['--bbox', '-191,36,-87,42', 'within -180 to 180 and -90 to 90'],
  ['--field', '0', 'expected a whole number from 1'],
  ['--field', '1.5', 'expected a whole number from 1'],
] as const)
  test(`${option} '${text}' is refused before any work, with the accepted form`, async (t) => {
    const error = await t.throwsAsync(inspectCommand().parseAsync(['/absent', option, text], { from: 'user' }), {
      instanceOf: UsageError,
    });
    t.true(error.message.startsWith(`${option} is '${text}', `));
    t.true(error.message.includes(form), error.message);
  });

// Real files.

sharedTest('a model file of 181 fields: one of them at three cities', async (t) => {
  const path = sharedData('forecast', 'cfgrib_nam.t00z.awp21100.tm00.grib2');
  const at = [
    { lat: 35.47, lon: -97.52 },
    { lat: 39.74, lon: -104.99 },
    { lat: 41.88, lon: -87.63 },
  ];
  const cape = await detailOf(path, { field: 135, at });
  t.like(cape, { name: 'cape', unit: 'J/kg', level: 'surface' });
  t.deepEqual(
    cape.samples.map(({ value }) => value),
    [1611, 64, 53],
  );
});

sharedTest('a Caribbean grid that ingest refuses can still be inspected', async (t) => {
  const detail = await detailOf(sharedData('mrms', 'MRMS_EchoTop_18_00.50_20161015-133230.grib2'));
  t.like(detail.summary, { nothing: { value: -1, points: 4_497_844 }, values: 2156 });
  t.like(detail.summary.max, { row: 723, col: 1983, value: 19, points: 143 });
});

sharedTest('a ProbSevere file: objects, sizes and the storm nearest to a position', async (t) => {
  const report = await inspectFile(sharedData('probsevere', 'MRMS_PROBSEVERE_20211011_000053.json'), {
    ...NOTHING,
    thresholds: [25.4],
    at: [{ lat: 35.1, lon: -98.2 }],
  });
  if (report.format !== 'ProbSevere') throw new TypeError(report.format);
  t.like(report.objects, {
    objects: 62,
    max_mesh_id: '89519',
    max_prob_hail: 0.97,
    mesh_at_least_one_inch: 4,
    prob_hail_at_least_half: 4,
  });
  t.deepEqual(report.objects.thresholds, [{ threshold: 25.4, objects: 4 }]);
  t.is(report.objects.nearest[0]?.object.probsevere_id, '89519');
});
