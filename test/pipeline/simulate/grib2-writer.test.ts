import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import test from 'ava';
import { readGrid } from '../../../pipeline/read/mrms.ts';
import { coverageOf } from '../../../pipeline/simulate/coverage.ts';
import { MISSING, SIMULATED_PRODUCTS, simulateScan } from '../../../pipeline/simulate/fields.ts';
import { writeGrib2 } from '../../../pipeline/simulate/grib2-writer.ts';
import { type SparseImage, writePng } from '../../../pipeline/simulate/png-writer.ts';
import { between, drawsOf } from '../../../pipeline/simulate/random.ts';
import { CONUS } from '../../../pipeline/simulate/scenario.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { EVENING_MS, SITES, SMALL } from '../../support/data/small-evening.ts';

const SCAN_MS = EVENING_MS + 39_000;
const scan = simulateScan(SMALL, SCAN_MS);
const covered = coverageOf(SMALL);

/** Sections of the only message of a file by number, without their length and number. */
function sectionsOf(file: Uint8Array): Map<number, Buffer> {
  const bytes = Buffer.from(file);
  const sections = new Map<number, Buffer>();
  for (let at = 16; bytes.toString('latin1', at, at + 4) !== '7777'; at += bytes.readUInt32BE(at))
    sections.set(bytes[at + 4], bytes.subarray(at + 5, at + bytes.readUInt32BE(at)));
  return sections;
}

test('the message has the frame of a GRIB2 file: its own length, discipline 209, edition 2, no bitmap, 7777', (t) => {
  const bytes = Buffer.from(writeGrib2(scan, 'MESH', covered));
  t.is(bytes.toString('latin1', 0, 4), 'GRIB');
  t.deepEqual([bytes[6], bytes[7]], [209, 2]);
  t.is(Number(bytes.readBigUInt64BE(8)), bytes.length);
  const sections = sectionsOf(bytes);
  t.deepEqual([...sections.keys()], [1, 3, 4, 5, 6, 7]);
  t.deepEqual([...(sections.get(6) ?? [])], [255]);
});

test('section 1 carries the seconds and the mark of simulated data', (t) => {
  const content = sectionsOf(writeGrib2(scan, 'VIL', covered)).get(1) as Buffer;
  // Octet 20 of the section is the production status: 192, local use.
  t.deepEqual([...content], [0, 161, 0, 0, 255, 1, 3, 0x07, 0xea, 5, 1, 22, 0, 39, 192, 7]);
});

test('the window stands in section 3 with its own first point, in microdegrees from 0 to 360', (t) => {
  const content = sectionsOf(writeGrib2(scan, 'MESH', covered)).get(3) as Buffer;
  t.is(content.readUInt32BE(25), 400);
  t.is(content.readUInt32BE(29), 300);
  t.is(content.readUInt32BE(41), 36_495_000);
  t.is(content.readUInt32BE(45), 260_005_000);
  t.is(content.readUInt32BE(50), 33_505_000);
  t.is(content.readUInt32BE(54), 263_995_000);
});

const law = (content: Buffer) => [
  content.readFloatBE(6),
  content.readInt16BE(10),
  content.readInt16BE(12),
  content[14],
  content.readUInt16BE(4),
];

for (const [product, expected] of [
  ['MESH', [-30, 0, 1, 16, 41]],
  ['POSH', [-30, 0, 1, 16, 41]],
  ['VIL', [-30, 0, 1, 16, 41]],
  ['EchoTop_18', [-3000, 0, 3, 16, 41]],
  ['EchoTop_50', [-3000, 0, 3, 16, 41]],
  ['MergedReflectivityQCComposite', [-9990, 0, 1, 16, 41]],
] as const)
  test(`packing law of ${product}: reference, scales, bits, template`, (t) => {
    t.deepEqual(law(sectionsOf(writeGrib2(scan, product, covered)).get(5) as Buffer), [...expected]);
  });

test('echo tops of a window that is covered everywhere start at "nothing", as the real Caribbean file does', (t) => {
  const everywhere = new Uint8Array(covered.length).fill(1);
  t.deepEqual(law(sectionsOf(writeGrib2(scan, 'EchoTop_18', everywhere)).get(5) as Buffer), [-1000, 0, 3, 16, 41]);
});

for (const [largest_tenths, bits] of [
  [225, 8],
  [226, 16],
] as const)
  test(`MESH up to ${largest_tenths / 10} mm is written in ${bits} bits`, (t) => {
    const pixel = scan.index.subarray(0, 1);
    const nothing = () => Int16Array.of(MISSING);
    const values = {
      MESH: Int16Array.of(largest_tenths),
      POSH: nothing(),
      VIL: nothing(),
      EchoTop_18: nothing(),
      EchoTop_50: nothing(),
      MergedReflectivityQCComposite: nothing(),
    };
    const file = writeGrib2({ ...scan, index: pixel, values }, 'MESH', covered);
    t.is(law(sectionsOf(file).get(5) as Buffer)[3], bits);
    const grid = readGrid(file, 'one pixel');
    t.is(grid.packed[pixel[0]] + grid.reference, largest_tenths);
  });

for (const product of SIMULATED_PRODUCTS)
  test(`the reader gives back every pixel of ${product}`, (t) => {
    const grid = readGrid(writeGrib2(scan, product, covered), product);
    t.is(grid.product, product);
    t.is(grid.scan_time, SCAN_MS);
    t.true(grid.simulated);
    t.deepEqual(grid.window, SMALL.window);
    const steps = 10 ** grid.decimal_scale;
    const nothing = Math.round((grid.missing as number) * steps);
    const no_coverage = Math.round((grid.no_coverage as number) * steps);
    const expected = Int32Array.from(covered, (one) => (one === 1 ? nothing : no_coverage));
    for (const [i, pixel] of scan.index.entries())
      if (scan.values[product][i] !== MISSING) expected[pixel] = scan.values[product][i];
    t.deepEqual(
      Int32Array.from(grid.packed, (x) => x + grid.reference),
      expected,
    );
  });

sharedTest(
  'on the full grid sections 1, 3, 4 and 5 are those of the real MESH file, but for the time and the mark',
  async (t) => {
    const real = sectionsOf(await readFile(sharedData('mrms', 'MRMS_MESH_00.50_20240228-025239.grib2')));
    const everywhere = { ...SMALL, window: CONUS, sites: SITES };
    const file = writeGrib2(
      simulateScan(everywhere, Date.parse('2024-02-28T02:52:39Z')),
      'MESH',
      coverageOf(everywhere),
    );
    const ours = sectionsOf(file);
    const differing = [1, 3, 4, 5].flatMap((number) => {
      const a = ours.get(number) as Buffer;
      const b = real.get(number) as Buffer;
      return a.length === b.length
        ? [...a.keys()].filter((i) => a[i] !== b[i]).map((i) => `section ${number} octet ${i + 6}`)
        : [`length of section ${number}`];
    });
    // The real last point is off by one and two microdegrees.
    t.deepEqual(differing, ['section 1 octet 20', 'section 3 octet 59', 'section 3 octet 63']);
  },
);

const hasEcCodes = spawnSync('grib_get', ['-V']).status === 0;
(hasEcCodes ? test : test.skip)(
  `ecCodes reads the message${hasEcCodes ? '' : ' (needs grib_get of ecCodes, which is absent)'}`,
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'hail-grib-'));
    const file = join(folder, 'mesh.grib2');
    await writeFile(file, writeGrib2(scan, 'MESH', covered));
    const keys = 'discipline,parameterCategory,parameterNumber,dataDate,second,Ni,Nj,max,min';
    const found = spawnSync('grib_get', ['-p', keys, file], { encoding: 'utf8' });
    await rm(folder, { recursive: true });
    const largest = Math.max(...scan.values.MESH) / 10;
    t.deepEqual(found.stdout.trim().split(/\s+/), [
      '209',
      '3',
      '28',
      '20260501',
      '39',
      '400',
      '300',
      `${largest}`,
      '-3',
    ]);
  },
);

/** Chunks of a PNG file by type, checksums left to the next test. */
function chunksOf(png: Uint8Array): { type: string; content: Buffer; crc: number; crcOf: Buffer }[] {
  const bytes = Buffer.from(png);
  const chunks = [];
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    chunks.push({
      type: bytes.toString('latin1', at + 4, at + 8),
      content: bytes.subarray(at + 8, at + 8 + length),
      crc: bytes.readUInt32BE(at + 8 + length),
      crcOf: bytes.subarray(at + 4, at + 8 + length),
    });
    at += 12 + length;
  }
  return chunks;
}

/** Slow and obvious reading of a grey PNG with filters Sub and Up; inflate itself checks the Adler-32. */
function readPng(png: Uint8Array, { rows, cols, bits }: SparseImage): number[] {
  const idat = chunksOf(png).filter(({ type }) => type === 'IDAT');
  const raw = inflateSync(Buffer.concat(idat.map(({ content }) => content)));
  const bytes = bits / 8;
  const lines: number[][] = [];
  for (let r = 0; r < rows; r += 1) {
    const at = r * (1 + cols * bytes);
    const line = [...raw.subarray(at + 1, at + 1 + cols * bytes)];
    const filter = raw[at];
    for (let i = 0; i < line.length; i += 1) {
      const left = i < bytes ? 0 : line[i - bytes];
      const above = r === 0 ? 0 : lines[r - 1]?.[i];
      line[i] = (line[i] + (filter === 1 ? left : filter === 2 ? above : Number.NaN)) % 256;
    }
    lines.push(line);
  }
  const all = lines.flat();
  return Array.from({ length: rows * cols }, (_, i) => (bytes === 1 ? all[i] : all[2 * i] * 256 + all[2 * i + 1]));
}

function randomImage(seed: number, rows: number, cols: number, bits: 8 | 16, density: number): SparseImage {
  const draw = drawsOf(seed);
  const mask = Uint8Array.from({ length: rows * cols }, (_, i) => (i % cols < cols / 3 ? 0 : 1));
  const index = Uint32Array.from([...mask.keys()].filter(() => draw() < density));
  const value = Uint16Array.from(index, () => between(draw, 0, 2 ** bits));
  return { rows, cols, bits, mask, inside: bits === 8 ? 20 : 9000, outside: 0, index, value };
}

function drawn({ mask, inside, outside, index, value }: SparseImage): number[] {
  const pixels = [...mask].map((one) => (one === 1 ? inside : outside));
  for (const [i, at] of index.entries()) pixels[at] = value[i];
  return pixels;
}

for (const bits of [8, 16] as const)
  for (const [rows, cols, density] of [
    [1, 1, 0],
    [31, 7, 0.5],
    [32, 9, 0],
    [33, 50, 0.02],
    [130, 41, 0.3],
  ] as const)
    test(`what is written can be read: ${rows} x ${cols}, ${bits} bits, density ${density}`, (t) => {
      const image = randomImage(rows, rows, cols, bits, density);
      t.deepEqual(readPng(writePng(image), image), drawn(image));
      t.deepEqual(writePng(image), writePng(image), 'kept bands change nothing');
    });

test('bands that are kept belong to their mask, values and bits', (t) => {
  const image = randomImage(5, 64, 30, 16, 0);
  writePng(image);
  for (const other of [
    { ...image, inside: 7 },
    { ...image, outside: 3 },
    { ...image, bits: 8 as const, inside: 9 },
    { ...image, mask: image.mask.map((one) => 1 - one) },
  ])
    t.deepEqual(readPng(writePng(other), other), drawn(other));
});

test('the file is a PNG of several IDAT chunks with right checksums', async (t) => {
  const { crc32 } = await import('node:zlib');
  const image = randomImage(6, 200, 200, 16, 0.9);
  const chunks = chunksOf(writePng(image));
  t.deepEqual([...new Set(chunks.map(({ type }) => type))], ['IHDR', 'IDAT', 'IEND']);
  t.true(chunks.filter(({ type }) => type === 'IDAT').length > 3);
  t.true(chunks.every(({ crc, crcOf }) => crc === crc32(crcOf)));
  t.deepEqual([...(chunks[0]?.content ?? [])], [0, 0, 0, 200, 0, 0, 0, 200, 16, 0, 0, 0, 0]);
});
