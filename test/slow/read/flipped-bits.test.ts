import { readFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { type Field, parseGrib2 } from '../../../pipeline/grib2/index.ts';
import { type Grid, gridValue } from '../../../pipeline/grid.ts';
import { gunzip } from '../../../pipeline/raw-file.ts';
import { readGrid } from '../../../pipeline/read/mrms.ts';
import { readProbSevere } from '../../../pipeline/read/probsevere.ts';
import { SIMULATED_PRODUCTS, simulateScan } from '../../../pipeline/simulate/fields.ts';
import { writeGrib2 } from '../../../pipeline/simulate/grib2-writer.ts';
import { coverageOf } from '../../../pipeline/simulate/storm-core.ts';
import { parseName } from '../../../pipeline/sources/names.ts';
import { rowLat, type Window } from '../../../schemas/geo/lattice.ts';
import { complexPacking, gribFile } from '../../support/data/grib2-files.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { EVENING_MS, SMALL } from '../../support/data/small-evening.ts';

type GridClaim = NonNullable<Parameters<typeof readGrid>[2]>;

// One bit after the other of every header is flipped. Each copy must be refused, or give the same product, time and values.

const NAME = 'flipped';

interface Outcome {
  readonly equal: number;
  readonly refused: number;
  /** Flips that gave something else: byte, bit and what came of it. */
  readonly other: readonly string[];
}

/** Flips each bit of some bytes in turn; `read` throws BadInput, or says whether the copy reads as the original does. */
function flipEach(bytes: Uint8Array, places: readonly number[], read: (copy: Uint8Array) => boolean): Outcome {
  const copy = Uint8Array.from(bytes);
  const other: string[] = [];
  let equal = 0;
  let refused = 0;
  for (const at of places)
    for (let bit = 0; bit < 8; bit++) {
      copy[at] = bytes[at] ^ (1 << bit);
      try {
        if (read(copy)) equal++;
        else other.push(`byte ${at} bit ${bit}`);
      } catch (error) {
        if (error instanceof BadInput) refused++;
        else other.push(`byte ${at} bit ${bit}: ${error}`);
      }
      copy[at] = bytes[at];
    }
  return { equal, refused, other };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, k) => from + k);
}

/** Bytes of the message up to the packed numbers, those of a PNG around its image data, and the end of the message. */
function headerBytes(message: Uint8Array): number[] {
  const buffer = Buffer.from(message);
  let at = 16;
  while (message[at + 4] !== 7) at += buffer.readUInt32BE(at);
  const template = parseGrib2(message, NAME)[0]?.packing.template;
  const descriptors = template === 3 ? 6 : 0;
  const png = template === 41 && buffer.readUInt32BE(at) > 5;
  const frame = png ? [...range(at + 5, at + 5 + 41), ...range(message.length - 4 - 16, message.length - 4)] : [];
  return [...range(0, at + 5 + descriptors), ...frame, ...range(message.length - 4, message.length)];
}

/** Everything that a grid depends on, without the octets that carry no meaning for it: two that agree decode alike. */
function meaning({ grid, data: _, bitmap, ...field }: Field): string {
  const { section: __, ...shape } = grid;
  const { centre: ___, generating_process: ____, surface: _____, second_surface: ______, ...rest } = field;
  return JSON.stringify({ ...rest, shape, bitmap: bitmap === null });
}

/** Reads copies of a message under the name of the original; those whose headers mean the same are not decoded again. */
function reader(message: Uint8Array, claim: GridClaim): (copy: Uint8Array) => boolean {
  const expected = readGrid(message, NAME, claim);
  const [original] = parseGrib2(message, NAME) as [Field];
  const text = meaning(original);
  return (copy) => {
    const [field] = parseGrib2(copy, NAME);
    const isSame =
      field !== undefined && meaning(field) === text && Buffer.compare(field.data.bytes, original.data.bytes) === 0;
    return isSame || equalGrids(readGrid(copy, NAME, claim), expected);
  };
}

function equalGrids(a: Grid, b: Grid): boolean {
  if (a.product !== b.product || a.scan_time !== b.scan_time || a.simulated !== b.simulated) return false;
  if (JSON.stringify(a.window) !== JSON.stringify(b.window)) return false;
  const isSameLaw = [0, 1, 2].every((x) => gridValue(a, x) === gridValue(b, x));
  if (isSameLaw && Buffer.compare(octetsOf(a), octetsOf(b)) === 0) return true;
  return a.packed.every((x, i) => gridValue(a, x) === gridValue(b, b.packed[i]));
}

function octetsOf({ packed }: Grid): Uint8Array {
  return new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength);
}

function checkMessage(t: ExecutionContext, message: Uint8Array, claim: GridClaim): void {
  const places = headerBytes(message);
  const { equal, refused, other } = flipEach(message, places, reader(message, claim));
  t.log(`${8 * places.length} flips: ${refused} refused, ${equal} equal, ${other.length} other`);
  t.deepEqual(other, []);
  t.true(refused > 900);
}

const plain = (bytes: Uint8Array): Uint8Array => (bytes[0] === 0x1f ? gunzipSync(bytes) : Uint8Array.from(bytes));

for (const name of [
  'MRMS_MESH_00.50_20240228-025239.grib2',
  'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2',
  'MRMS_VIL_00.50_20240509-082840.grib2.gz',
  'MRMS_MergedReflectivityQCComposite_00.50_20220704-110040.grib2',
  'MRMS_MergedRhoHV_19.00_20260219-042039.grib2.gz',
])
  sharedTest(`${name}: each flipped bit of its headers is refused or changes nothing`, (t) =>
    checkMessage(t, plain(readFileSync(sharedData('mrms', name))), parseName(name) as GridClaim),
  );

sharedTest(
  'a rain rate, full and on a window in simple packing: each flipped bit is refused or changes nothing',
  (t) => {
    for (const [folder, name] of [
      ['mrms-sequence', 'PrecipRate_00.00_20190610-000000.grib2'],
      ['mch-sequence', 'PrecipRate_00.00_20150515-154500.grib2.gz'],
    ] as const)
      checkMessage(t, plain(readFileSync(sharedData(folder, name))), parseName(name) as GridClaim);
  },
);

const SCAN_MS = EVENING_MS + 39_000;

for (const product of SIMULATED_PRODUCTS)
  test(`simulated ${product}: each flipped bit of its headers is refused or changes nothing`, (t) => {
    const message = writeGrib2(simulateScan(SMALL, SCAN_MS), product, coverageOf(SMALL));
    checkMessage(t, message, { product, time_ms: SCAN_MS });
  });

/** A window with storms, with echoes and without, and with the edge of the coverage. */
const CUT: Window = { row0: 1280, col0: 4150, rows: 120, cols: 200 };

/** Values of a real grid in a window that holds hail, with a strip without coverage along its west. */
function cutValues(name: string): { values: number[]; claim: GridClaim } {
  const claim = parseName(name) as GridClaim;
  const grid = readGrid(readFileSync(sharedData('mrms', name)), name, claim);
  const values = Array.from({ length: CUT.rows * CUT.cols }, (_, i) => {
    const col = i % CUT.cols;
    const at = (CUT.row0 + Math.floor(i / CUT.cols)) * grid.window.cols + CUT.col0 + col;
    return col < 5 ? (grid.no_coverage ?? 0) : gridValue(grid, grid.packed[at]);
  });
  return { values, claim };
}

const MESH = 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2';
const COMPOSITE = 'MRMS_MergedReflectivityQCComposite_00.50_20220704-110040.grib2';

for (const [source, category, number, order] of [
  [MESH, 3, 28, 1],
  [MESH, 3, 28, 2],
  [COMPOSITE, 10, 0, 1],
  [COMPOSITE, 10, 0, 2],
] as const)
  sharedTest(
    `${category}/${number} in packing 5.3 of order ${order}: each flipped bit is refused or changes nothing`,
    (t) => {
      const { values, claim } = cutValues(source);
      const reference = Math.min(...values) * 10;
      const packed = values.map((value) => Math.round(value * 10) - reference);
      const [la1, lo1] = [Math.round(rowLat(CUT.row0) * 1e6), 230_005_000 + 10_000 * CUT.col0];
      const time = new Date(claim.time_ms)
        .toISOString()
        .split(/[-T:.]/)
        .slice(0, 6)
        .map(Number);
      const message = gribFile(
        complexPacking(packed, { order, group_length: 40, law: { reference } }),
        { rows: CUT.rows, columns: CUT.cols, la1, lo1 },
        { category, number, time: time as [number, number, number, number, number, number] },
      );
      checkMessage(t, message, { ...claim, product: number === 28 ? 'MESH' : claim.product });
    },
  );

sharedTest('each flipped bit of the frame of a gzip file is refused or changes nothing', (t) => {
  const name = 'MRMS_MESH_00.50_20240228-025239.grib2';
  const claim = parseName(name) as GridClaim;
  const message = plain(readFileSync(sharedData('mrms', name)));
  const read = reader(message, claim);
  const file = gzipSync(message);
  const places = [...range(0, 10), ...range(file.length - 8, file.length)];
  const { equal, refused, other } = flipEach(file, places, (copy) => read(gunzip(copy, NAME)));
  t.log(`${refused} refused, ${equal} equal`);
  t.deepEqual(other, []);
});

/** The first objects of a real file, in its own layout. */
function firstObjects(name: string, count: number): Buffer {
  const text = readFileSync(sharedData('probsevere', name), 'utf8');
  const { features, ...head } = JSON.parse(text) as { features: object[] };
  return Buffer.from(JSON.stringify({ ...head, features: features.slice(0, count) }));
}

/** A digit that became another digit: what a text says once cannot be checked against anything. */
const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39;

sharedTest(
  'ProbSevere: a flipped bit is refused, changes nothing, or makes another digit of one that is said once',
  (t) => {
    const name = 'MRMS_PROBSEVERE_20211011_000053.json';
    const bytes = firstObjects(name, 3);
    const { time_ms } = parseName(name) as GridClaim;
    const expected = JSON.stringify(readProbSevere(bytes, NAME, time_ms));
    const text = bytes.toString('latin1');
    const digits: string[] = [];
    let at = -1;
    let copyByte = 0;
    const { equal, refused, other } = flipEach(bytes, range(0, bytes.length), (copy) => {
      at = copy.findIndex((byte, i) => byte !== bytes[i]);
      copyByte = copy[at] as number;
      const isSame = JSON.stringify(readProbSevere(copy, NAME, time_ms)) === expected;
      if (isSame || !isDigit(bytes[at] as number) || !isDigit(copyByte)) return isSame;
      digits.push(wordBefore(text, at));
      return true;
    });
    t.log(
      `${8 * bytes.length} flips: ${refused} refused, ${equal - digits.length} equal, ${digits.length} another digit`,
    );
    t.deepEqual(other, []);
    t.deepEqual([...new Set(digits)].sort(), [
      'EBSHEAR',
      'FLASH_RATE',
      'ID',
      'MOTION_EAST',
      'MOTION_SOUTH',
      'MUCAPE',
      'SIZE',
      'VIL_DENSITY',
      'WETBULB_0C_HGT',
      'coordinates',
      'validTime',
    ]);
  },
);

/** The key in whose value a byte stands. */
function wordBefore(text: string, at: number): string {
  return text.slice(0, at).match(/"([\w-]+)":[^:]*$/)?.[1] ?? '';
}
