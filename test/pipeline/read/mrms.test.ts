import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { BadInput, Unreadable } from '../../../pipeline/error.ts';
import {
  decodeField,
  MAX_POINTS,
  nearestPoint,
  parseGrib2,
  positionOf,
  valueReader,
} from '../../../pipeline/grib2/index.ts';
import { type Grid, sampleGrid, tenthsAt } from '../../../pipeline/grid.ts';
import { gunzip } from '../../../pipeline/raw-file.ts';
import { checkGridValues, hailField, readGrid, sampleAtPixels } from '../../../pipeline/read/mrms.ts';
import { type FileObject, readProbSevere } from '../../../pipeline/read/probsevere.ts';
import { MRMS_PRODUCTS, PRODUCTS, type Product } from '../../../pipeline/read/products.ts';
import { readScan, type ScanFiles } from '../../../pipeline/read/scan.ts';
import { uncoveredBlocks } from '../../../pipeline/read/uncovered.ts';
import { contentHash, faultOf } from '../../../pipeline/sources/integrity.ts';
import { draw } from '../../support/data/draw.ts';
import {
  complexPacking,
  constantPacking,
  floatPacking,
  type GridOptions,
  gribFile,
  type latLonSection,
  MISSING,
  type ProductOptions,
  pngPacking,
  seededRandom,
  simplePacking,
} from '../../support/data/grib2-files.ts';
import { positionsOf } from '../../support/data/rings.ts';
import { pluck } from '../../support/data/rows.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

/** Packed MESH of a picture: each digit is tens of mm, '.' is covered and dry, 'x' is no coverage. */
function packMesh(picture: string): { values: number[]; columns: number; rows: number } {
  const lines = picture
    .split('\n')
    .map((line) => [...(line.trimStart().split('  ')[0] as string).replaceAll(' ', '')])
    .filter((line) => line.length > 0);
  const values = lines.flat().map((mark) => (mark === 'x' ? 0 : mark === '.' ? 20 : 30 + 100 * Number(mark)));
  return { values, columns: lines[0]?.length ?? 0, rows: lines.length };
}

const PICTURE = `
  . . 1 2 . x     each digit is tens of mm,
  . 3 5 . . x     '.' is covered and dry,
  . . . . 4 x     'x' is no coverage`;

/** MESH file of the picture with its north-west pixel at row 100, column 200 of the lattice. */
function meshFile(
  options: { scanning_mode?: number; la1?: number; lo1?: number; product?: ProductOptions } = {},
): Buffer {
  const { values, columns, rows } = packMesh(PICTURE);
  const { la1 = 53_995_000, lo1 = 232_005_000, scanning_mode = 0, product } = options;
  const packing = pngPacking(values, { columns, rows, bits: 16, filters: [1, 2, 4] });
  return gribFile(packing, { columns, rows, la1, lo1, scanning_mode }, product);
}

test('a MESH file becomes a grid on its window of the lattice', (t) => {
  const { packed, ...grid } = readGrid(meshFile(), 'mesh.grib2');
  t.deepEqual(grid, {
    product: 'MESH',
    unit: 'mm',
    scan_time: Date.parse('2024-05-01T20:12:34Z'),
    simulated: false,
    window: { row0: 100, col0: 200, rows: 3, cols: 6 },
    reference: -30,
    binary_scale: 0,
    decimal_scale: 1,
    no_coverage: -3,
    missing: -1,
    missing_as: 0,
  });
  t.deepEqual([...packed], packMesh(PICTURE).values);
});

test('a gzipped file reads like the plain one', (t) =>
  t.deepEqual(readGrid(gzipSync(meshFile()), 'mesh.grib2.gz'), readGrid(meshFile(), 'mesh.grib2')));

test('production status 192 in section 1 says that a simulator wrote it', (t) => {
  t.true(readGrid(meshFile({ product: { production_status: 192 } }), 'x').simulated);
  t.false(readGrid(meshFile({ product: { production_status: 1 } }), 'x').simulated);
});

test('no coverage, nothing there and a size are three different answers', (t) => {
  const grid = readGrid(meshFile(), 'x');
  t.is(sampleGrid(grid, 101, 202), 50);
  t.is(sampleGrid(grid, 100, 200), 0);
  t.is(sampleGrid(grid, 100, 205), Number.NaN);
  t.is(sampleGrid(grid, 99, 200), Number.NaN);
});

for (const [mode, title, la1, lo1] of [
  [0x40, 'south first', 53_975_000, 232_005_000],
  [0x80, 'east first', 53_995_000, 232_055_000],
  [0xc0, 'south and east first', 53_975_000, 232_055_000],
] as const)
  test(`a file written ${title} becomes north-first and west-first`, (t) => {
    const { values, columns, rows } = packMesh(PICTURE);
    const lines = Array.from({ length: rows }, (_, row) => values.slice(row * columns, (row + 1) * columns));
    if (mode & 0x40) lines.reverse();
    if (mode & 0x80) for (const line of lines) line.reverse();
    const file = gribFile(simplePacking(lines.flat(), 16), { columns, rows, la1, lo1, scanning_mode: mode });
    t.deepEqual(readGrid(file, 'x'), readGrid(meshFile(), 'x'));
  });

const tiny = (grid: Parameters<typeof latLonSection>[0], product?: ProductOptions) =>
  gribFile(simplePacking(Array(grid.columns * grid.rows).fill(20), 8), grid, product);

/** A file of two pixels: covered and dry, and a value in mm. */
const valued = (mm: number) =>
  gribFile(simplePacking([-10 + 9990, 10 * mm + 9990], 16, { reference: -9990 }), { columns: 2, rows: 1 });

const PAIR = { columns: 2, rows: 1 };
const FOUR = { columns: 2, rows: 2 };
const BEYOND = /expected a window of the CONUS lattice of 3500 x 7000$/;
const NO_VALUE = /value -\S+ at row 0, column 1 .* expected -3, -1 or 0 to 250 mm/;
const HOLDS_VALUES = { ...simplePacking([20, 20], 8), representation: constantPacking(2, {}).representation };

for (const [title, file, reason] of [
  ['a model parameter', tiny(FOUR, { discipline: 0, category: 7, number: 6 }), /product 0\/7\/6 is unknown/],
  ['an MRMS product we do not know', tiny(FOUR, { category: 3, number: 200 }), /product 209\/3\/200 is unknown/],
  ['another step', tiny({ ...FOUR, step: 5000 }), /section 3: step 0.005 x 0.005 degrees, expected 0.01 x 0.01/],
  ['centres off the lattice', tiny({ ...FOUR, la1: 50_000_000 }), /first point 50 -129.995 is off the lattice/],
  ['rows beyond the lattice', tiny({ columns: 1, rows: 2, la1: 20_005_000 }), BEYOND],
  ['columns beyond the lattice', tiny({ ...PAIR, lo1: 299_995_000 }), BEYOND],
  ['a first point north of the lattice', tiny({ columns: 1, rows: 1, la1: 72_005_000 }), BEYOND],
  ['two fields', Buffer.concat([tiny({ columns: 1, rows: 1 }), tiny({ columns: 1, rows: 1 })]), /2 fields, expected 1/],
  ['a value that is no sentinel and out of range', valued(-999), NO_VALUE],
  ['a value between the sentinels', valued(-0.3), NO_VALUE],
  ['columns one after the other', tiny({ ...FOUR, scanning_mode: 0x20 }), /section 3: scanning mode 32, expected/],
  ['0 bits and a data section that holds values', gribFile(HOLDS_VALUES, PAIR), /7: 2 bytes of values of a constant/],
  ['floats', gribFile(floatPacking([1, 2]), PAIR), /section 7: floats, expected packed integers/],
  ['points left out by a bitmap', gribFile(simplePacking([1], 8), PAIR, {}, [0, 1]), /7: points without a value/],
] as const)
  test(`a grid with ${title} is refused by name`, (t) => {
    const error = t.throws(() => readGrid(file, 'bad.grib2'), { instanceOf: BadInput });
    t.true(error.message.startsWith('read bad.grib2: '));
    t.regex(error.message, reason);
  });

test('first points may be off by two microdegrees, as real headers are', (t) => {
  const grid = readGrid(tiny({ columns: 2, rows: 2, la1: 54_995_002, lo1: 230_004_998 }), 'x');
  t.deepEqual(grid.window, { row0: 0, col0: 0, rows: 2, cols: 2 });
  t.throws(() => readGrid(tiny({ columns: 2, rows: 2, la1: 54_995_003 }), 'x'), { message: /off the lattice/ });
});

test('the last row and column of the lattice belong to it', (t) => {
  const { window } = readGrid(tiny({ columns: 1, rows: 1, la1: 20_005_000, lo1: 299_995_000 }), 'x');
  t.deepEqual(window, { row0: 3499, col0: 6999, rows: 1, cols: 1 });
});

test('a hail field holds the pixels above 0 and counts covered and uncovered apart', (t) =>
  t.deepEqual(hailField(readGrid(meshFile(), 'x')), draw(PICTURE, { row0: 100, col0: 200 })));

function gridOf(packed: Grid['packed'], cols: number, change: Partial<Grid> = {}): Grid {
  const window = { row0: 0, col0: 0, rows: packed.length / cols, cols };
  return { ...readGrid(meshFile(), 'x'), packed, window, ...change };
}

/** No coverage, nothing there, zero and sizes, in stretches long and short. */
const MARKS = [0, 0, 0, 0, 20, 20, 20, 20, 20, 31, 0, 20, 200, 30];

for (const [title, kind] of [
  ['8-bit', Uint8Array],
  ['16-bit', Uint16Array],
  ['32-bit', Uint32Array],
] as const)
  test(`a hail field of ${title} values is what a look at every pixel finds, whatever the row length`, (t) => {
    for (const cols of [1, 3, 4, 7, 8, 13]) {
      const packed = new kind(21 * cols).map((_, i) => MARKS[(i * i) % MARKS.length]);
      const field = hailField(gridOf(packed, cols));
      t.is(field.uncovered_px, packed.filter((x) => x === 0).length);
      t.is(field.covered_px, packed.filter((x) => x !== 0).length);
      t.is(field.rowStart.at(-1), field.col.length);
      const found = Array.from({ length: packed.length }, (_, i) => tenthsAt(field, Math.floor(i / cols), i % cols));
      const expected = Array.from(packed, (x) => Math.max(0, x - 30));
      t.deepEqual(found, expected);
    }
  });

test('a rain rate can stand in for hail: its zeros are covered', (t) => {
  const grid = gridOf(Uint16Array.from([0, 30, 30, 530]), 2, { product: 'PrecipRate', missing: null });
  const { col, tenths, covered_px, uncovered_px } = hailField(grid);
  t.deepEqual([[...col], [...tenths], covered_px, uncovered_px], [[1], [500], 3, 1]);
});

test('a field that is not in tenths cannot become a hail field', (t) => {
  const grid = gridOf(new Uint16Array(4), 2, { product: 'EchoTop_18', decimal_scale: 3, reference: -1000 });
  t.throws(() => hailField(grid), { instanceOf: BadInput, message: /EchoTop_18: packed as .* expected whole tenths/ });
});

test('a size beyond 16 bits of tenths is refused, not wrapped', (t) => {
  const grid = gridOf(Uint32Array.from([20, 70_000]), 2);
  t.throws(() => hailField(grid), { instanceOf: BadInput, message: /value of 69970 tenths, expected at most 65535/ });
});

test('companion values: nothing is 0 for VIL and unknown for an echo top, no coverage is unknown for both', (t) => {
  const mesh = hailField(gridOf(Uint16Array.from([130, 130, 130, 20]), 4));
  const companion = (missing_as: number) =>
    sampleAtPixels(gridOf(Uint16Array.from([0, 20, 155, 155]), 4, { missing_as }), mesh);
  t.deepEqual([...companion(0)], [Number.NaN, 0, 12.5]);
  t.deepEqual([...companion(Number.NaN)], [Number.NaN, Number.NaN, 12.5]);
});

test('a companion on a smaller window is unknown outside it', (t) => {
  const mesh = hailField(gridOf(Uint16Array.from([130, 130, 130]), 3));
  const companion = gridOf(Uint16Array.from([155]), 1, { window: { row0: 0, col0: 1, rows: 1, cols: 1 } });
  t.deepEqual([...sampleAtPixels(companion, mesh)], [Number.NaN, 12.5, Number.NaN]);
});

sharedTest('the real scans become hail fields with the counts and sums of ecCodes', (t) => {
  for (const [name, pixels, sum, uncovered, detections] of [
    ['MRMS_MESH_00.50_20240228-025239.grib2', 1943, 76_873, 8_205_495, 153],
    ['MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2', 231_856, 9_309_830, 8_182_420, 18_651],
  ] as const) {
    const field = hailField(readGrid(readFileSync(sharedData('mrms', name)), name));
    t.deepEqual([field.tenths.length, field.tenths.reduce((all, x) => all + x, 0)], [pixels, sum]);
    t.deepEqual([field.uncovered_px, field.covered_px], [uncovered, 24_500_000 - uncovered]);
    t.is(field.tenths.filter((x) => x >= 100).length, detections);
  }
});

sharedTest('a real grid of the Caribbean is refused by its lattice', (t) => {
  const name = 'MRMS_EchoTop_18_00.50_20161015-133230.grib2';
  const error = t.throws(() => readGrid(readFileSync(sharedData('mrms', name)), name), { instanceOf: BadInput });
  t.regex(error.message, /first point 24\.995 -89\.995 with 1500 x 3000 points, expected a window of the CONUS/);
  t.regex(error.message, BEYOND);
});

const folder = mkdtempSync(join(tmpdir(), 'hail-read-scan-'));
test.after.always(() => rmSync(folder, { recursive: true }));

const TIME = [2024, 5, 1, 20, 12, 34] as const;
const SCAN_TIME = Date.parse('2024-05-01T20:12:34Z');

/** Path of a file of 2 x 2 pixels with these packed values. */
function written(name: string, values: readonly number[], product: ProductOptions = {}): string {
  const path = join(folder, name);
  writeFileSync(path, gribFile(simplePacking(values, 16), { columns: 2, rows: 2 }, { time: TIME, ...product }));
  return path;
}

/** Path of a file with as many pixels of the same MESH as the grid has, and one more column without hail. */
function uniform(name: string, { rows, columns }: GridOptions, tenths: number): string {
  const path = join(folder, name);
  const row = [...Array<number>(columns).fill(30 + tenths), 20];
  const values = Array.from({ length: rows }, () => row).flat();
  writeFileSync(path, gribFile(simplePacking(values, 16), { rows, columns: columns + 1 }, { time: TIME }));
  return path;
}

function probsevere(name: string, storms: Record<string, { mesh: string; west: number }>, source = 'NOAA') {
  const features = Object.entries(storms).map(([ID, { mesh, west }]) => ({
    geometry: { type: 'Polygon', coordinates: [positionsOf(`${west} 38, ${west} 39, ${west + 1} 39, ${west} 38`)] },
    models: { probhail: { PROB: '40' } },
    properties: { ID, MESH: mesh },
  }));
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify({ source, product: 'ProbSevere', validTime: '20240501_201200 UTC', features }));
  return named(path);
}

const mesh = written('mesh', [0, 20, 130, 230]);
const vil = written('vil', [0, 20, 155, 80], { number: 41 });
const echoTop = written('top', [0, 20, 20, 120], { number: 46 });

/** A file under a name that gives the time of the scan. */
function named(location: string, time_ms = SCAN_TIME) {
  return { location, time_ms };
}

function files(change: Partial<ScanFiles> = {}): ScanFiles {
  const nothing = { companions: {}, probsevere: null, previous_probsevere: null };
  return { scan_time: SCAN_TIME, mesh, ...nothing, ...change };
}

test('a scan of MESH alone has no companions and no ProbSevere objects', async (t) => {
  const scan = await readScan(files());
  t.deepEqual([...scan.mesh.tenths], [100, 200]);
  t.deepEqual([scan.scan_time, scan.simulated, scan.products, scan.probsevere], [SCAN_TIME, false, ['MESH'], null]);
  t.true(Object.values(scan.companions).every((values) => values === null));
});

test('companions are sampled at the pixels of the hail field', async (t) => {
  const scan = await readScan(files({ companions: { vil_kg_m2: named(vil), echo_top_50_km: named(echoTop) } }));
  t.deepEqual([...(scan.companions.vil_kg_m2 ?? [])], [12.5, 5]);
  t.deepEqual([...(scan.companions.echo_top_50_km ?? [])], [Number.NaN, 9]);
  t.deepEqual(scan.products, ['MESH', 'VIL', 'EchoTop_50']);
});

test('an object that repeats polygon and MESH of the file before is stale', async (t) => {
  const before = probsevere('before', {
    1: { mesh: '1', west: -96 },
    2: { mesh: '1', west: -94 },
    3: { mesh: '1', west: -92 },
  });
  const now = probsevere('now', {
    1: { mesh: '1', west: -96 },
    2: { mesh: '1.01', west: -94 },
    3: { mesh: '1', west: -91.99 },
    4: { mesh: '1', west: -96 },
  });
  const { probsevere: objects } = await readScan(files({ probsevere: now, previous_probsevere: before }));
  t.deepEqual(pluck(objects ?? [], 'flag_stale'), [true, false, false, false]);
});

test('objects carry the scan they are used for and its storm date', async (t) => {
  const path = probsevere('date', { 1: { mesh: '1', west: -96 } });
  const [object] = (await readScan(files({ probsevere: path }))).probsevere ?? [];
  const valid_time = Date.parse('2024-05-01T20:12:00Z');
  t.like(object, { scan_time: SCAN_TIME, storm_date: '2024-05-01', valid_time });
  const [convective] = (await readScan(files({ probsevere: path, storm_day_start_hour: 21 }))).probsevere ?? [];
  t.is(convective?.storm_date, '2024-04-30');
});

const BESIDE_OBSERVED = 'simulated data, expected observed data as in the MESH file';
const LATE = { probsevere: { ...probsevere('late.json', {}), time_ms: SCAN_TIME - 155_000 } };
const MADE_VIL = named(written('simulated', [0, 0, 0, 0], { number: 41, production_status: 192 }));
const MADE_STORMS = probsevere('simulated.json', {}, 'simulated');
const NOT_YET = 'time 2024-05-01T20:12:34Z, expected 2024-05-01T20:12:35Z';

for (const [title, change, subject, reason] of [
  ['a MESH file that holds VIL', { mesh: vil }, vil, 'product VIL, expected MESH'],
  ['a companion of another product', { companions: { posh_pct: named(vil) } }, vil, 'product VIL, expected POSH'],
  ['a MESH file of another time', { scan_time: SCAN_TIME + 1000 }, mesh, NOT_YET],
  [
    'a companion of another time than its name says',
    { companions: { vil_kg_m2: named(vil, SCAN_TIME - 60_000) } },
    vil,
    'time 2024-05-01T20:12:34Z, expected 2024-05-01T20:11:34Z',
  ],
  [
    'ProbSevere more than two minutes off its name',
    LATE,
    LATE.probsevere.location,
    'validTime 2024-05-01T20:12:00Z, expected 2024-05-01T20:09:59Z within 120 s',
  ],
  ['a simulated companion', { companions: { vil_kg_m2: MADE_VIL } }, MADE_VIL.location, BESIDE_OBSERVED],
  ['simulated ProbSevere', { probsevere: MADE_STORMS }, MADE_STORMS.location, BESIDE_OBSERVED],
] as const)
  test(`${title}: refused, and the error names that file`, async (t) => {
    const error = await t.throwsAsync(readScan(files(change)), { instanceOf: BadInput });
    t.deepEqual([error.subject, error.reason], [subject, reason]);
  });

test('a file that is not there is an error of the file system, not of its content', async (t) => {
  const expected = { instanceOf: Unreadable, message: /no such file|is gone|is not there/ };
  const error = await t.throwsAsync(readScan(files({ mesh: join(folder, 'absent') })), expected);
  t.false(error instanceof BadInput);
});

for (const [title, grid, tenths, reason] of [
  ['0.1 mm on more than 2 % of it', { rows: 500, columns: 1000 }, 1, /more than 490000 pixels above 0/],
  ['5 mm on more than 0.6 % of it', { rows: 301, columns: 500 }, 50, /150500 pixels of 5 mm and more/],
  ['10 mm on more than 0.2 % of it', { rows: 201, columns: 250 }, 100, /50250 pixels of 10 mm and more/],
] as const)
  test(`${title} is refused by name: no scan has so much hail`, async (t) => {
    const path = uniform(`${tenths}-tenths`, grid, tenths);
    const error = await t.throwsAsync(readScan(files({ mesh: path })), { instanceOf: BadInput });
    t.deepEqual([error.subject, error.stage], [path, 'read']);
    t.regex(error.reason, reason);
  });

for (const [grid, tenths] of [
  [{ rows: 490, columns: 1000 }, 49],
  [{ rows: 300, columns: 500 }, 99],
  [{ rows: 200, columns: 250 }, 800],
] as const)
  test(`${grid.rows * grid.columns} pixels of ${tenths / 10} mm are taken: the bound itself belongs to the scan`, async (t) => {
    const scan = await readScan(files({ mesh: uniform(`${tenths}-at-most`, grid, tenths) }));
    t.is(scan.mesh.tenths.length, grid.rows * grid.columns);
  });

sharedTest('a real file whose reference lost its sign is refused: nothing would be hail everywhere', async (t) => {
  const bytes = readFileSync(sharedData('mrms', 'MRMS_MESH_00.50_20240228-025239.grib2'));
  // Section 5 begins with its length, 21 bytes, and its number; the reference stands at octet 12, its sign in the first bit.
  const at = bytes.indexOf(Buffer.from([0, 0, 0, 21, 5])) + 11;
  bytes[at] = bytes[at] ^ 0x80;
  const path = join(folder, 'flipped');
  writeFileSync(path, bytes);
  const scan_time = Date.parse('2024-02-28T02:52:39Z');
  const error = await t.throwsAsync(readScan(files({ mesh: path, scan_time })), { instanceOf: BadInput });
  t.regex(error.reason, /value 3 in a corner of the lattice, expected -3, no coverage/);
});

const NO_COVERAGE = 0;
const DRY = 20;

/** A MESH grid of whole blocks of 10 x 10 pixels: 'x' is no coverage, '.' is covered and dry. */
function blocks(picture: string, no_coverage: number | null = -3): Grid {
  const lines = picture.trim().split('\n');
  const rows = lines.flatMap((line) => {
    const row = [...line.trim()].flatMap((mark) => Array(10).fill(mark === 'x' ? NO_COVERAGE : DRY));
    return Array(10).fill(row);
  });
  const window = { row0: 1500, col0: 3000, rows: rows.length, cols: rows[0].length };
  return { ...readGrid(meshFile(), 'x'), window, packed: Uint8Array.from(rows.flat()), no_coverage };
}

test('blocks without coverage are runs along their rows, from the north-western corner of the grid', (t) => {
  const picture = `
      xx..x
      .....
      ..xxx`;
  const { runs, ...place } = uncoveredBlocks(blocks(picture));
  t.deepEqual(place, { north: 40, west: -100, step_deg: 0.1, rows: 3, cols: 5 });
  t.is(runs.map((run) => run.join(' ')).join(', '), '0 0 2, 0 4 5, 2 2 5');
});

test('a grid that radars see throughout, or whose product has no such value, has no runs', (t) => {
  t.deepEqual(uncoveredBlocks(blocks('...')).runs, []);
  t.deepEqual(uncoveredBlocks(blocks('xxx', null)).runs, []);
});

test('a grid that is not a whole number of blocks keeps its last, cut block', (t) => {
  const whole = blocks('.x');
  const cut = {
    ...whole,
    window: { ...whole.window, rows: 3, cols: 13 },
    packed: Uint8Array.from({ length: 39 }, (_, at) => (at % 13 < 10 ? DRY : NO_COVERAGE)),
  };
  t.deepEqual(uncoveredBlocks(cut).runs, [[0, 1, 2]]);
});

sharedTest('on a real scan the blocks cover what its pixels without coverage cover, to a hundredth', (t) => {
  const file = sharedData('mrms/MRMS_MESH_00.50_20240228-025239.grib2');
  const { runs, rows, cols } = uncoveredBlocks(readGrid(readFileSync(file), file));
  const share = runs.reduce((sum, [, start, end]) => sum + end - start, 0) / (rows * cols);
  t.true(Math.abs(share - 8_205_495 / 24_500_000) < 0.01, `${share}`);
});

const PACKED = gzipSync('hail');
const HEAD = [0x1f, 0x8b, 8, 2 | 4 | 8 | 16, 0, 0, 0, 0, 0, 3, 2, 0, 7, 0];
const LONG_HEAD = [Buffer.from(HEAD), Buffer.from('mesh.grib2\0a comment\0'), Buffer.from([1, 2]), PACKED.subarray(10)];

for (const [what, bytes] of [
  ['content', PACKED],
  ['content in two files joined into one', Buffer.concat([gzipSync('ha'), gzipSync('il')])],
  ['content with text behind its end', Buffer.concat([PACKED, Buffer.from('stray bytes')])],
  ['content with zeros behind its end', Buffer.concat([PACKED, Buffer.from('\0\0\0')])],
  ['content with half a magic number behind its end', Buffer.concat([PACKED, Buffer.from('\x1f')])],
  ['content whose header has an extra field, name, comment and check', Buffer.concat(LONG_HEAD)],
] as const)
  test(`gzipped ${what} comes out whole`, (t) => t.is(Buffer.from(gunzip(bytes, 'x')).toString(), 'hail'));

test('bytes that are not gzip pass through untouched', (t) => {
  const plain = Buffer.from('GRIB');
  t.is(gunzip(plain, 'x'), plain);
  t.is(gunzip(new Uint8Array(0), 'x').length, 0);
});

sharedTest('a real file with bytes behind its gzip end gives the field of the file without them', async (t) => {
  const path = sharedData('field/trailing-bytes_MRMS_MESH_00.50_20240228-025239.grib2.gz');
  const plain = sharedData('mrms/MRMS_MESH_00.50_20240228-025239.grib2');
  t.is(await faultOf(path, path), null);
  t.is(await contentHash(path, path), await contentHash(plain, plain));
  const { packed, ...grid } = readGrid(readFileSync(path), plain);
  const { packed: expected, ...expectedGrid } = readGrid(readFileSync(plain), plain);
  t.deepEqual(grid, expectedGrid);
  const bytesOf = ({ buffer, byteOffset, byteLength }: typeof packed) => Buffer.from(buffer, byteOffset, byteLength);
  t.is(Buffer.compare(bytesOf(packed), bytesOf(expected)), 0);
});

test('a file that unfolds beyond the limit is refused, also when it lies about its length; one of exactly the limit is read', (t) => {
  const bomb = gzipSync(Buffer.alloc(5000));
  const lying = gzipSync(Buffer.alloc(1_000_000));
  lying.writeUInt32LE(10, lying.length - 4);
  for (const [bytes, limit] of [
    [bomb, 4999],
    [Buffer.concat([bomb, bomb]), 9999],
    [lying, 5000],
  ] as const) {
    const message = `read bomb.gz: gzip unfolds without end, expected a whole stream of at most ${limit} bytes`;
    t.throws(() => gunzip(bytes, 'bomb.gz', limit), { instanceOf: BadInput, message });
  }
  t.is(gunzip(bomb, 'x', 5000).length, 5000);
});

for (const [title, bytes] of [
  ['cut short', gzipSync('hail hail hail').subarray(0, 20)],
  ['only a magic number', Buffer.from([0x1f, 0x8b])],
  ['with a wrong checksum', Buffer.from(gzipSync('hail')).fill(0, 20, 24)],
  ['with a damaged second file', Buffer.concat([PACKED, PACKED.subarray(0, 12)])],
] as const)
  test(`a gzip stream ${title} is refused by name`, (t) =>
    t.throws(() => gunzip(bytes, 'mesh.grib2.gz'), {
      instanceOf: BadInput,
      message: /mesh.grib2.gz: gzip is (damaged|cut short)/,
    }));

const SHEAR = { category: 3, number: 0 };
/** Thousandths of 1/s, 2 x 2 points to each of 2 x 3 pixels; 0 is no measurement. */
const POINTS = [
  [1, 2, 0, 0, -4, -1],
  [3, 8, 0, 0, -2, -9],
  [0, 0, 0, -5, 6, 0],
  [0, 7, 0, 0, 0, 0],
];
const PIXELS = [
  [8, null, -1],
  [7, -5, 6],
];
/** North-western point of row 100, column 200 of the lattice. */
const CORNER = { columns: 6, rows: 4, la1: 53_997_500, lo1: 232_002_500, step: 5000 };
const NUMBERS = POINTS.flat().map((value) => 10 * value + 200);
const LAW = { reference: -200 };
const FINE_LATTICE_PICTURE = { columns: 6, rows: 4, bits: 16, filters: [1, 2] };
const FINE = pngPacking(NUMBERS, FINE_LATTICE_PICTURE, LAW);
const values = (rows: number, cols: number, bytes: Uint8Array) => {
  const grid = readGrid(bytes, 'shear.grib2');
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: cols }, (_, col) => {
      const value = sampleGrid(grid, 100 + row, 200 + col);
      return Number.isNaN(value) ? null : value;
    }),
  );
};

test('azimuthal shear on a lattice twice as fine gives each pixel the largest of its four points', (t) => {
  const file = gribFile(FINE, CORNER, SHEAR);
  t.deepEqual(readGrid(file, 'x').window, { row0: 100, col0: 200, rows: 2, cols: 3 });
  t.deepEqual(values(2, 3, file), PIXELS);
});

test('a file that begins in the south gives the same', (t) => {
  const upward = POINTS.toReversed().flatMap((row) => row.map((value) => 10 * value + 200));
  const grid = { ...CORNER, la1: CORNER.la1 - 3 * 5000, scanning_mode: 64 };
  t.deepEqual(values(2, 3, gribFile(pngPacking(upward, FINE_LATTICE_PICTURE, LAW), grid, SHEAR)), PIXELS);
});

test('azimuthal shear on the usual lattice is read as it is', (t) => {
  const packing = pngPacking([210, 200, 190, 280], { ...FOUR, bits: 16, filters: [0] }, LAW);
  t.deepEqual(values(2, 2, gribFile(packing, { ...FOUR, la1: 53_995_000, lo1: 232_005_000 }, SHEAR)), [
    [1, null],
    [-1, 8],
  ]);
});

const FIVE = { columns: 5, rows: 2 };
const FIVE_WIDE = pngPacking(NUMBERS.slice(0, 10), { ...FINE_LATTICE_PICTURE, ...FIVE }, LAW);
const TOO_LARGE = { columns: 14_000, rows: 8750, la1: 54_997_500, lo1: 230_002_500 };
const NO_ROOM = /packing template|expected a window of the CONUS lattice/;

for (const [what, packing, grid, product, message] of [
  ['parts of pixels in its columns', FIVE_WIDE, FIVE, SHEAR, /parts of pixels, expected 2 x 2 points/],
  ['a first point in the middle of a pixel', FINE, { la1: CORNER.la1 - 5000 }, SHEAR, /holds parts of pixels/],
  ['a first point off the lattice', FINE, { la1: CORNER.la1 - 1000 }, SHEAR, /off the lattice/],
  ['another packing', simplePacking(NUMBERS, 16, LAW), {}, SHEAR, /template 5\.0 of a grid this fine, expected 5\.41/],
  ['another product', FINE, {}, {}, /step 0\.005 x 0\.005 degrees, expected 0\.01 x 0\.01/],
  ['more points than the lattice has room for', constantPacking(5 * MAX_POINTS, LAW), TOO_LARGE, SHEAR, NO_ROOM],
] as const)
  test(`a fine grid with ${what} is refused`, (t) => {
    const file = gribFile(packing, { ...CORNER, ...grid }, product);
    t.throws(() => readGrid(file, 'shear.grib2'), { instanceOf: BadInput, message });
  });

const SIDE = 120;

function productOf(name: string): Product {
  return PRODUCTS.find((product) => product.name === name) as Product;
}

/** A window of values that lie so many tenths apart. */
function windowOf(product: Product, values: readonly number[], step_tenths = 1): Grid {
  const reference = Math.round(Math.min(...values) * 10);
  const packed = Uint16Array.from(values, (value) => Math.round((value * 10 - reference) / step_tenths));
  return {
    ...product,
    product: product.name,
    scan_time: 0,
    simulated: false,
    window: { row0: 1500, col0: 3000, rows: packed.length / SIDE, cols: SIDE },
    packed,
    reference,
    binary_scale: Math.log2(step_tenths),
    decimal_scale: 1,
  };
}

/** Values between two bounds, as weather that fills the window has them; in its middle they are highest. */
function weather(low: number, high: number, rows = SIDE): number[] {
  return Array.from({ length: rows * SIDE }, (_, i) => {
    const [y, x] = [Math.floor(i / SIDE) / rows - 0.5, (i % SIDE) / SIDE - 0.5];
    return Math.round(10 * (low + (high - low) * Math.exp(-12 * (x * x + y * y)))) / 10;
  });
}

/** So many lines of the window with one value. */
const lines = (count: number, value: number) => Array<number>(count * SIDE).fill(value);

for (const [title, name, values] of [
  ['rain', 'PrecipRate', weather(0.1, 40)],
  ['drizzle', 'PrecipRate', weather(0.1, 0.8)],
  ['echoes', 'MergedReflectivityQCComposite', weather(5, 50)],
  ['water', 'VIL', weather(0.1, 0.3)],
  ['echoes up to an edge of coverage', 'MergedReflectivityQCComposite', [...lines(1, -999), ...weather(5, 50)]],
] as const)
  test(`a window of ${name} that is full of ${title} is taken`, (t) => {
    const product = productOf(name);
    t.notThrows(() => checkGridValues(windowOf(product, values), product, 'x'));
  });

for (const [title, name, values, step_tenths] of [
  ['all raised by 6: -3 to 3, -1 to 5', 'VIL', [...lines(1, 3), ...lines(20, 5), ...weather(6, 30)], 1],
  ['doubled from -3 on: -1 to 1', 'VIL', [...lines(1, -3), ...lines(20, 1), ...weather(3.2, 60)], 2],
  ['a hundredth: -99 to -1', 'Reflectivity_-20C', [...lines(20, -1), ...weather(0.1, 0.6)], 1],
  ['all raised by 6: 0 to 6', 'PrecipRate', [...lines(SIDE, 6), ...weather(6.1, 40, 60)], 1],
] as const)
  test(`a window of ${name} whose quiet pixels have another value is refused: ${title}`, (t) => {
    const product = productOf(name);
    t.throws(() => checkGridValues(windowOf(product, values, step_tenths), product, 'x'), {
      instanceOf: BadInput,
      message: /x: the value [\d.-]+ has the pixels of a background and [\d.-]+ has none, expected the reverse/,
    });
  });

for (const [name, file] of [
  ['VIL', 'MRMS_VIL_00.50_20240509-082840.grib2.gz'],
  ['MergedReflectivityQCComposite', 'MRMS_MergedReflectivityQCComposite_00.50_20220704-110040.grib2'],
] as const)
  sharedTest(
    `every window of one by one degree of a real ${name}, those that weather fills among them, is taken`,
    (t) => {
      const grid = readGrid(readFileSync(sharedData('mrms', file)), file);
      const product = productOf(name);
      const { rows, cols } = grid.window;
      let taken = 0;
      for (let row0 = 0; row0 + 100 <= rows; row0 += 100)
        for (let col0 = 0; col0 + 100 <= cols; col0 += 100) {
          const packed = grid.packed.slice(0, 10_000);
          for (let r = 0; r < 100; r++)
            packed.set(grid.packed.subarray((row0 + r) * cols + col0, (row0 + r) * cols + col0 + 100), 100 * r);
          const cut = { ...grid, packed, window: { row0, col0, rows: 100, cols: 100 } };
          checkGridValues(cut, product, `row ${row0}, column ${col0}`);
          taken += 1;
        }
      t.is(taken, Math.floor(rows / 100) * Math.floor(cols / 100));
    },
  );

test('every MRMS product has its number alone, a name and a unit', (t) => {
  const numbers = MRMS_PRODUCTS.map(({ category, number }) => `${category}/${number}`);
  t.deepEqual([...new Set(numbers)], numbers);
  t.true(MRMS_PRODUCTS.every(({ name, unit }) => /^\S+$/.test(name) && unit !== ''));
});

sharedTest('MRMS products are those of the table by NOAA, the first row of each number', (t) => {
  const [, ...lines] = readFileSync(sharedData('sites', 'UserTable_MRMS_v12.2.csv'), 'utf8').trim().split(/\r?\n/);
  t.is(lines.length, 151);
  const rows = new Map<string, readonly string[]>();
  for (const line of lines) {
    const [discipline, category, number, name, , unit, missing, , no_coverage] = line.split(',') as string[];
    const key = `${category}/${number}`;
    if (discipline === '209' && !rows.has(key)) rows.set(key, [key, name, unit, missing, no_coverage] as string[]);
  }
  const found = MRMS_PRODUCTS.map(({ category, number, name, unit, missing, no_coverage }) => {
    return [`${category}/${number}`, name, unit, String(missing), String(no_coverage)];
  });
  t.deepEqual(found, [...rows.values()] as string[][]);
});

test('what no measurement is in the products we read is that of the table, but for rain, which has no other value than 0', (t) => {
  for (const { name, category, number, no_coverage, missing } of PRODUCTS) {
    const row = MRMS_PRODUCTS.find((one) => one.category === category && one.number === number);
    t.is<number | undefined, number | undefined>(no_coverage, row?.no_coverage, name);
    t.is(missing, category === 6 ? null : (row?.missing ?? null), name);
  }
});
/** A storm one degree wide with what the feed writes about it; every number is text. */
const SQUARE = positionsOf('-96 38, -96 39, -95 39, -95 38, -96 38');
const PROPERTIES: Readonly<Record<string, unknown>> = {
  ID: '89234',
  MESH: '0.25',
  VIL_DENSITY: '1.67',
  MUCAPE: '485',
  EBSHEAR: '48.6',
  WETBULB_0C_HGT: '11.8',
  FLASH_RATE: '10',
  SIZE: '515',
  MOTION_EAST: '15.042',
  MOTION_SOUTH: '-14.019',
};

interface Made {
  readonly top?: Record<string, unknown>;
  readonly properties?: Record<string, unknown>;
  readonly models?: Record<string, unknown>;
  readonly ring?: unknown;
}

function made({ top, properties, models, ring = SQUARE }: Made = {}): Buffer {
  const feature = {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [ring] },
    models: models ?? {
      probhail: { PROB: '12', LINE02: '- MESH: 0.25 in.' },
      probwind: { PROB: '3' },
      probtor: { PROB: '0' },
    },
    properties: { ...PROPERTIES, ...properties },
  };
  return Buffer.from(
    JSON.stringify({
      source: 'NOAA/NCEP Central Operations',
      product: 'ProbSevere',
      validTime: '20211011_000053 UTC',
      type: 'FeatureCollection',
      features: [feature],
      ...top,
    }),
  );
}

/** A file with the same object so many times. */
function repeated(count: number, object: Made = {}): Buffer {
  const { features } = JSON.parse(made(object).toString()) as { features: object[] };
  return made({ top: { features: Array(count).fill(features[0]) } });
}

/** A file of two objects, in one of which a bit of a key has flipped. */
const UNEVEN = repeated(2, { models: { probhail: { PROB: '12' } } })
  .toString()
  .replace('"MESH"', '"MDSH"');

function only(file: Made): FileObject {
  return readProbSevere(made(file), 'x').objects[0] as FileObject;
}

test('text becomes numbers in our units: inches to mm, thousands of feet to km, percent to shares', (t) => {
  const { geometry: _, speed_kmh, direction_deg, ...object } = only({});
  t.deepEqual(object, {
    valid_time: Date.parse('2021-10-11T00:00:53Z'),
    probsevere_id: '89234',
    lat: 38.5,
    lon: -95.5,
    prob_hail: 0.12,
    prob_wind: 0.03,
    prob_tornado: 0,
    mesh_mm: 6.35,
    vil_density_g_m3: 1.67,
    mucape_j_kg: 485,
    effective_shear_kt: 48.6,
    melting_level_km: 3.59664,
    flash_rate_per_min: 10,
    size_px: 515,
    flag_distrusted: false,
    model: 'probsevere-2',
  });
});

for (const [east, south, speed_kmh, direction_deg] of [
  ['15.042', '-14.019', 74.0, 47.0],
  ['9.452', '-10.614', 51.2, 41.7],
  ['10', '0', 36, 90],
  ['0', '10', 36, 180],
  ['-10', '0', 36, 270],
  ['0', '-10', 36, 0],
] as const)
  test(`motion of ${east} m/s east and ${south} m/s south is ${speed_kmh} km/h towards ${direction_deg} degrees`, (t) => {
    const object = only({ properties: { MOTION_EAST: east, MOTION_SOUTH: south } });
    t.true(Math.abs((object.speed_kmh as number) - speed_kmh) < 0.05);
    t.true(Math.abs((object.direction_deg as number) - direction_deg) < 0.05);
  });

for (const [title, properties] of [
  ['faster than 40 m/s', { MOTION_EAST: '40.1', MOTION_SOUTH: '0' }],
  ['that is absent', { MOTION_EAST: undefined }],
  ['that is not available', { MOTION_SOUTH: 'N/A' }],
] as const)
  test(`motion ${title} is unknown, never 0`, (t) => {
    const { speed_kmh, direction_deg } = only({ properties });
    t.deepEqual([speed_kmh, direction_deg], [null, null]);
  });

test('a storm that stands still has a speed and no direction', (t) => {
  const { speed_kmh, direction_deg } = only({ properties: { MOTION_EAST: '0.000', MOTION_SOUTH: '0.000' } });
  t.deepEqual([speed_kmh, direction_deg], [0, null]);
});

test('fields that are absent, not available or -999 are null', (t) => {
  const object = only({
    models: { probhail: { PROB: '12' } },
    properties: { MESH: undefined, MUCAPE: '-999', SIZE: '12.5', FLASH_RATE: 'N/A', VIL_DENSITY: '' },
  });
  t.deepEqual(
    [object.mesh_mm, object.mucape_j_kg, object.size_px, object.flash_rate_per_min, object.vil_density_g_m3],
    [null, null, null, null, null],
  );
});

test('a version 3 file may carry its probabilities among the properties', (t) => {
  const file = made({
    top: { product: 'ProbSevere 3.0' },
    models: {},
    properties: { ProbHail: '55', ProbWind: '4', ProbTor: '1' },
  });
  const { model, objects } = readProbSevere(file, 'x');
  t.is(model, 'probsevere-3');
  t.deepEqual([objects[0]?.prob_hail, objects[0]?.prob_wind, objects[0]?.prob_tornado], [0.55, 0.04, 0.01]);
});

test('the probability of the model goes before that of the properties', (t) =>
  t.is(only({ properties: { ProbHail: '99', PS: '98' } }).prob_hail, 0.12));

test('"(flagged)" at the end of the MESH line means that the model distrusts it', (t) =>
  t.true(only({ models: { probhail: { PROB: '0', LINE02: '- MESH: 0.25 in. (flagged)' } } }).flag_distrusted));

test('clockwise rings are turned round, open ones closed, counter-clockwise ones stay', (t) => {
  for (const ring of [SQUARE, SQUARE.toReversed(), SQUARE.slice(0, 4)])
    t.is(only({ ring }).geometry, 'POLYGON ((-96 38, -95 38, -95 39, -96 39, -96 38))');
});

test('a ring that touches itself is kept', (t) => {
  const bow = positionsOf('-96 38, -96 40, -95 39, -94 40, -94 38, -95 39, -96 38');
  t.regex(only({ ring: bow }).geometry, /^POLYGON \(\(-96 38, -95 39, -94 38/);
});

test('only a source of "simulated" says that a simulator wrote the file', (t) => {
  t.false(readProbSevere(made(), 'x').simulated);
  t.true(readProbSevere(made({ top: { source: 'simulated' } }), 'x').simulated);
});

test('a file without storms has no objects', (t) =>
  t.deepEqual(readProbSevere(made({ top: { features: [] } }), 'x').objects, []));

for (const [title, file, reason] of [
  ['that is no JSON', Buffer.from('{"a":'), /not json, expected a json file of the feed/],
  ['that is JSON of something else', Buffer.from('[1,2]'), /file value: invalid input: expected object/],
  ['of another product', made({ top: { product: 'Lightning' } }), /product 'Lightning', expected ProbSevere/],
  [
    'with a time that does not exist',
    made({ top: { validTime: '20211032_000053 UTC' } }),
    /validTime '20211032_000053 UTC', expected YYYYMMDD_HHMMSS UTC/,
  ],
  ['with an object without id', made({ properties: { ID: undefined } }), /feature 1 has no ID/],
  ['with an object without hail probability', made({ models: {} }), /feature 1 has no hail probability/],
  [
    'with a probability above 100',
    made({ models: { probhail: { PROB: '101' } } }),
    /feature 1 has Probhail 101, expected 0 to 100/,
  ],
  ['with a ring of two points', made({ ring: [SQUARE[0], SQUARE[2]] }), /feature 1 geometry\.coordinates\.0: /],
  [
    'with a position off the lattice',
    made({ ring: SQUARE.with(1, [-96, 56]) }),
    /feature 1 geometry\.coordinates\.0\.1\.1: /,
  ],
  [
    'with a position of three numbers',
    made({ ring: [[-96, 3, 38], ...SQUARE.slice(1)] }),
    /feature 1 geometry\.coordinates\.0\.0: /,
  ],
  [
    'with a polygon of a whole region',
    made({ ring: SQUARE.map(([lon = 0, lat]) => [lon === -96 ? -106 : lon, lat]) }),
    /feature 1 has a polygon of 11.00 degrees, expected at most 5/,
  ],
  [
    'with a value that is no number',
    made({ properties: { MUCAPE: '4b5' } }),
    /feature 1 has MUCAPE '4b5', expected a n/,
  ],
  ['with a padded value', made({ properties: { SIZE: '5 ' } }), /feature 1 has SIZE '5', expected a number/],
  [
    'with a probability that is no number',
    made({ models: { probhail: { PROB: '12' }, probwind: { PROB: 'r' } } }),
    /feature 1 has probwind 'r', expected a number/,
  ],
  [
    'with a value out of range',
    made({ properties: { FLASH_RATE: '90010' } }),
    /has FLASH_RATE 90010, expected at most/,
  ],
  [
    'with a MESH that its display text does not repeat',
    made({ properties: { MESH: '4.25' } }),
    /feature 1 has MESH '4.25' and the text '- MESH: 0.25 in.', expected the same/,
  ],
  [
    'with a probability that its display text does not repeat',
    made({ models: { probhail: { PROB: '52', LINE01: 'ProbHail: 12%' } } }),
    /feature 1 has probhail '52' and the text 'ProbHail: 12%', expected the same/,
  ],
  ['of more objects than any weather has', repeated(3001), /^read ps.json: 3001 objects, expected at most 3000$/],
  ['with a damaged key in one of its objects', Buffer.from(UNEVEN), /MESH in 1 of 2 objects, expected all or none/],
  [
    'with a position that is text',
    made({ ring: [['-96', 38], ...SQUARE.slice(1)] }),
    /feature 1 geometry\.coordinates\.0\.0\.0: /,
  ],
] as const)
  test(`a file ${title} is refused by name`, (t) => {
    const error = t.throws(() => readProbSevere(file, 'ps.json'), { instanceOf: BadInput });
    t.true(error.message.startsWith('read ps.json: '));
    t.regex(error.message, reason);
  });

// Real files.

interface DayFigures {
  readonly per_file: readonly {
    readonly file: string;
    readonly valid_time: string;
    readonly objects: number;
    readonly distinct_ids: number;
    readonly max_mesh_in: number;
    readonly max_mesh_id: string;
    readonly mesh_ge_1_in: number;
    readonly max_prob_hail: number;
    readonly prob_hail_ge_50: number;
    readonly polygon_points_total: number;
  }[];
  readonly example_track: {
    readonly id: string;
    readonly points: readonly {
      readonly valid_time: string;
      readonly mesh_in: number;
      readonly prob_hail: number;
      readonly motion_east_ms: number;
      readonly motion_south_ms: number;
      readonly centroid: readonly [number, number];
    }[];
  };
}

function figures(): Record<string, DayFigures> {
  return JSON.parse(readFileSync(sharedData('expected.json'), 'utf8')).probsevere;
}

function realFile(name: string) {
  return readProbSevere(readFileSync(sharedData('probsevere', name)), name);
}

sharedTest('all 18 real files: objects, times, sizes, probabilities and rings are those of the figures', (t) => {
  let files = 0;
  for (const day of Object.values(figures()))
    for (const expected of day.per_file) {
      files++;
      const { objects, valid_time, model } = realFile(expected.file);
      t.is(model, 'probsevere-2');
      t.is(valid_time, Date.parse(expected.valid_time));
      t.is(objects.length, expected.objects);
      t.is(new Set(objects.map((object) => object.probsevere_id)).size, expected.distinct_ids);
      const largest = objects.reduce((best, next) => ((next.mesh_mm ?? 0) > (best.mesh_mm ?? 0) ? next : best));
      t.is(largest.mesh_mm, Math.round(25_400 * expected.max_mesh_in) / 1000);
      t.is(largest.probsevere_id, expected.max_mesh_id);
      t.is(objects.filter((object) => (object.mesh_mm ?? 0) >= 25.4).length, expected.mesh_ge_1_in);
      t.is(Math.max(...objects.map((object) => object.prob_hail)), expected.max_prob_hail / 100);
      t.is(objects.filter((object) => object.prob_hail >= 0.5).length, expected.prob_hail_ge_50);
      const points = objects.reduce((sum, object) => sum + object.geometry.split(',').length, 0);
      t.is(points, expected.polygon_points_total);
    }
  t.is(files, 18);
});

sharedTest('the example tracks: size, probability, motion and centroid of one storm through an evening', (t) => {
  for (const { per_file, example_track } of Object.values(figures()))
    for (const point of example_track.points) {
      const name = per_file.find((file) => file.valid_time === point.valid_time)?.file as string;
      const object = realFile(name).objects.find(({ probsevere_id }) => probsevere_id === example_track.id);
      t.like(object, { mesh_mm: Math.round(25_400 * point.mesh_in) / 1000, prob_hail: point.prob_hail / 100 });
      const speed = 3.6 * Math.hypot(point.motion_east_ms, point.motion_south_ms);
      t.true(Math.abs((object?.speed_kmh as number) - speed) < 1e-9);
      const [lon, lat] = point.centroid;
      t.true(Math.abs((object?.lon as number) - lon) < 1e-4 && Math.abs((object?.lat as number) - lat) < 1e-4);
    }
});

sharedTest('a real file of August 2026, without VIL_DENSITY and with motion in whole numbers, is read', (t) => {
  const name = 'MRMS_PROBSEVERE_20260830_230841.json';
  const bytes = readFileSync(sharedData('field', name));
  const { model, objects } = readProbSevere(bytes, name, Date.parse('2026-08-30T23:08:41Z'));
  t.is(model, 'probsevere-3');
  t.deepEqual(pluck(objects, 'probsevere_id'), ['467171', '467952']);
  t.like(objects[0], { prob_hail: 0.08, mesh_mm: 20.574, vil_density_g_m3: null });
  t.like(objects[1], { prob_hail: 0, mesh_mm: 0, vil_density_g_m3: null });
  t.is(objects[0]?.speed_kmh, 3.6 * Math.hypot(3, 1));
});
const NAME = 'fuzzed.grib2';

/** Everything a reader may do with GRIB2 bytes; the outcome is a value or a BadInput that names the file. */
function readAll(bytes: Uint8Array): void {
  for (const field of parseGrib2(gunzip(bytes, NAME), NAME)) {
    const decoded = decodeField(field);
    valueReader(decoded)(decoded.packed.length - 1);
    if (field.grid.projection === null) continue;
    nearestPoint(field.grid, positionOf(field.grid, 0, 0));
  }
}

function readHail(bytes: Uint8Array): void {
  hailField(readGrid(bytes, NAME), NAME);
}

/** Runs a reader on bytes; anything but a value or a BadInput of this file fails the test with what was done to it. */
async function outcome(t: ExecutionContext, what: string, read: () => unknown): Promise<'value' | 'refused'> {
  try {
    await read();
    return 'value';
  } catch (error) {
    if (error instanceof BadInput && error.subject === NAME && error.reason.length > 0) return 'refused';
    t.fail(`${what}: ${error instanceof Error ? error.stack : error}`);
    return 'refused';
  }
}

/** A copy with one to five bytes changed: to anything, or to the extremes that sizes and counts lie with. */
function mutant(bytes: Uint8Array, random: () => number): { copy: Uint8Array; what: string } {
  const copy = Uint8Array.from(bytes);
  const changes = Array.from({ length: 1 + Math.floor(5 * random()) }, () => {
    const at = Math.floor(random() * copy.length);
    const pick = random();
    copy[at] = pick < 0.3 ? 0xff : pick < 0.5 ? 0 : Math.floor(256 * random());
    return `byte ${at} = ${copy[at]}`;
  });
  return { copy, what: changes.join(', ') };
}

async function fuzz(t: ExecutionContext, bytes: Uint8Array, mutants: number, read: (bytes: Uint8Array) => unknown) {
  const random = seededRandom(bytes.length);
  const outcomes = { value: 0, refused: 0 };
  t.is(await outcome(t, 'untouched', () => read(bytes)), 'value');
  for (let k = 0; k < mutants; k++) {
    const { copy, what } = mutant(bytes, random);
    outcomes[await outcome(t, what, () => read(copy))]++;
  }
  t.true(outcomes.refused > 0, 'no mutant was noticed');
}

const random = seededRandom(1);
const VALUES = Array.from({ length: 120 }, (_, i) => (i % 10 < 6 ? 20 : Math.floor(30 + 190 * random())));
const GAPS = VALUES.map((value, i) => (i % 9 === 0 ? MISSING : value));
const WITH_GAPS = complexPacking(GAPS, { order: 1, group_length: 7, missing_management: 1 });
const EVERY_OTHER = VALUES.map((_, i) => (i % 2 === 0 ? 1 : 0));
const GRID = { columns: 12, rows: 10 };

const FILES: Readonly<Record<string, Uint8Array>> = {
  'simple packing': gribFile(simplePacking(VALUES, 9), GRID),
  'a bitmap': gribFile(simplePacking(VALUES.slice(60), 9), GRID, {}, EVERY_OTHER),
  'complex packing': gribFile(complexPacking(VALUES, { order: 0, group_length: 11 }), GRID),
  'first differences with missing values': gribFile(WITH_GAPS, GRID),
  'second differences': gribFile(complexPacking(VALUES, { order: 2, group_length: 9 }), GRID),
  floats: gribFile(floatPacking(VALUES), GRID),
  'an 8-bit png': gribFile(pngPacking(VALUES, { ...GRID, bits: 8, filters: [1, 2, 3, 4, 0] }), GRID),
  'a 16-bit png': gribFile(pngPacking(VALUES, { ...GRID, bits: 16, filters: [4, 2], chunks: 3 }), GRID),
  'a 24-bit png': gribFile(pngPacking(VALUES, { ...GRID, bits: 24, filters: [3, 1] }), GRID),
  'two messages': Buffer.concat([gribFile(simplePacking(VALUES, 8), GRID), gribFile(floatPacking(VALUES), GRID)]),
  'a gzipped png': gzipSync(gribFile(pngPacking(VALUES, { ...GRID, bits: 16 }), GRID)),
};

for (const [title, bytes] of Object.entries(FILES)) {
  test(`${title}: flipped bytes give values or a named refusal`, (t) => fuzz(t, bytes, 600, readAll));

  test(`${title}: a file cut anywhere gives values of whole messages or a named refusal`, async (t) => {
    for (let length = 0; length < bytes.length; length++)
      await outcome(t, `cut at ${length}`, () => readAll(bytes.subarray(0, length)));
    t.is(await outcome(t, 'cut by one byte', () => readAll(bytes.subarray(0, -1))), 'refused');
  });
}

test('the MRMS reader: flipped bytes give a hail field or a named refusal', (t) =>
  fuzz(t, FILES['a 16-bit png'] as Uint8Array, 600, readHail));

test('every length and count of every section may lie, to either side', async (t) => {
  let refused = 0;
  for (const bytes of Object.values(FILES))
    for (let at = 8; at + 4 < Math.min(bytes.length, 260); at++)
      for (const lie of [0, 1, 0x7fffffff, 0xffffffff]) {
        const copy = Buffer.from(bytes);
        copy.writeUInt32BE(lie, at);
        if ((await outcome(t, `32 bits at ${at} = ${lie}`, () => readAll(copy))) === 'refused') refused += 1;
      }
  t.true(refused > 0);
});

/** Gives every chunk of the png its right checksum again, so that damage reaches what lies behind it. */
function mendChecksums(file: Buffer): Buffer {
  for (let at = file.indexOf('\x89PNG', 0, 'latin1') + 8; at >= 8 && at + 12 <= file.length; ) {
    const end = at + 8 + file.readUInt32BE(at);
    if (end + 4 > file.length) break;
    file.writeUInt32BE(crc32(file.subarray(at + 4, end)), end);
    at = end + 4;
  }
  return file;
}

for (const title of ['an 8-bit png', 'a 16-bit png', 'a 24-bit png'])
  test(`${title} with mended checksums: damage inside the image gives values or a named refusal`, (t) =>
    fuzz(t, FILES[title] as Uint8Array, 600, (bytes) => readAll(mendChecksums(Buffer.from(bytes)))));

const STORMS = repeated(2);

test('ProbSevere: flipped bytes give objects or a named refusal', (t) =>
  fuzz(t, STORMS, 3000, (bytes) => readProbSevere(bytes, NAME)));

test('ProbSevere: a file cut anywhere is refused by name', async (t) => {
  for (let length = 0; length < STORMS.length; length++)
    t.is(await outcome(t, `cut at ${length}`, () => readProbSevere(STORMS.subarray(0, length), NAME)), 'refused');
});

test('ProbSevere: ten thousand nested brackets are refused like any other nonsense', async (t) => {
  for (const text of ['['.repeat(10_000), `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`])
    t.is(await outcome(t, 'nested', () => readProbSevere(Buffer.from(text), NAME)), 'refused');
});

for (const name of [
  'gdal_lambert_conformal_conic.grb2',
  'gdal_one_value_and_nodata_points.grb2',
  'gdal_spatial_differencing_order_1.grb2',
  'gdal_subgrids.grib2',
  'gdal_two_bands_with_bitmap.grib2',
])
  sharedTest(`${name}: flipped bytes give values or a named refusal`, (t) =>
    fuzz(t, readFileSync(sharedData('forecast', name)), 600, readAll),
  );
