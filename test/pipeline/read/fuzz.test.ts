import { readFileSync } from 'node:fs';
import { crc32, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { decodeField, nearestPoint, parseGrib2, positionOf, valueReader } from '../../../pipeline/grib2/index.ts';
import { gunzip } from '../../../pipeline/raw-file.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { readProbSevere } from '../../../pipeline/read/probsevere.ts';
import {
  complexPacking,
  floatPacking,
  gribFile,
  MISSING,
  pngPacking,
  seededRandom,
  simplePacking,
} from '../../support/data/grib2-files.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

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

async function fuzz(
  t: ExecutionContext,
  bytes: Uint8Array,
  mutants: number,
  read: (bytes: Uint8Array) => unknown,
): Promise<void> {
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
const GRID = { columns: 12, rows: 10 };

const FILES: Readonly<Record<string, Uint8Array>> = {
  'simple packing': gribFile(simplePacking(VALUES, 9), GRID),
  'a bitmap': gribFile(
    simplePacking(VALUES.slice(60), 9),
    GRID,
    {},
    VALUES.map((_, i) => (i % 2 === 0 ? 1 : 0)),
  ),
  'complex packing': gribFile(complexPacking(VALUES, { order: 0, group_length: 11 }), GRID),
  'first differences with missing values': gribFile(
    complexPacking(GAPS, { order: 1, group_length: 7, missing_management: 1 }),
    GRID,
  ),
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

const STORMS = Buffer.from(
  JSON.stringify({
    source: 'NOAA',
    product: 'ProbSevere',
    validTime: '20211011_000053 UTC',
    features: [1, 2].map((id) => ({
      geometry: {
        type: 'Polygon',
        coordinates: [
          [
            [-96, 38],
            [-95, 38],
            [-95, 39],
            [-96, 38],
          ],
        ],
      },
      models: { probhail: { PROB: '12', LINE02: '- MESH: 0.25 in.' } },
      properties: { ID: `${id}`, MESH: '0.25', MOTION_EAST: '1.5', MOTION_SOUTH: '2', SIZE: '7' },
    })),
  }),
);

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
