import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateSync, gzipSync } from 'node:zlib';
import test from 'ava';
import {
  bitmapSection,
  constantPacking,
  gribFile,
  latLonSection,
  message,
  octets,
  pngChunk,
  productSection,
  section,
  signMagnitude,
} from '../../support/data/grib2-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'hail-memory-'));
test.after.always(() => rmSync(folder, { recursive: true }));

const CHILD = fileURLToPath(new URL('../../support/data/memory-child.ts', import.meta.url));
const FULL = { columns: 7000, rows: 3500 };
const POINTS = FULL.columns * FULL.rows;

type Kind = 'grid' | 'file' | 'probsevere' | 'scan' | 'arrival';

interface Peak {
  readonly outcome: string;
  readonly peak_mb: number;
}

/** Reads the bytes in a process of their own, so that its peak is the peak of this one file. */
function measure(kind: Kind, name: string, bytes: Uint8Array): Peak {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  const child = spawnSync(process.execPath, [CHILD, kind, path], { encoding: 'utf8', timeout: 60_000 });
  if (child.status !== 0) throw new Error(`${name}: ${child.stderr}`);
  return JSON.parse(child.stdout) as Peak;
}

/** Section 5 of `count` values: reference -30 and decimal scale 1, as MESH has them. */
function representation(template: number, bits: number, count: number, rest: readonly number[] = []): number[] {
  const law = [0xc1, 0xf0, 0, 0, ...signMagnitude(0, 2), ...signMagnitude(1, 2), bits, 0];
  return section(5, [...octets(count, 4), 0, template, ...law, ...rest]);
}

/** Complex packing of one group of width 0: a few bytes that stand for the whole grid. */
function oneGroup(count: number, missing_management: number): number[] {
  const groups = [
    1,
    missing_management,
    ...octets(0, 8),
    ...octets(1, 4),
    0,
    0,
    ...octets(0, 4),
    1,
    ...octets(count, 4),
    0,
  ];
  return representation(3, 8, count, [...groups, 2, 1]);
}

/** PNG of nothing but zeros, of any size and depth, in one piece or behind a million empty chunks. */
function zeros({ columns, rows }: typeof FULL, depth: number, colour: number, channels: number, empty = 0): Buffer {
  const raw = Buffer.alloc(rows * (1 + Math.ceil((columns * depth * channels) / 8)));
  const nothing = pngChunk('IDAT', new Uint8Array(0));
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    pngChunk('IHDR', Uint8Array.from([...octets(columns, 4), ...octets(rows, 4), depth, colour, 0, 0, 0])),
    ...Array<Buffer>(empty).fill(nothing),
    pngChunk('IDAT', deflateSync(raw)),
    pngChunk('IEND', new Uint8Array(0)),
  ]);
}

/** A message of one field; section 7 is appended as bytes because spreading millions of them would not end well. */
function field(section5: readonly number[], data: Uint8Array, bitmap: readonly number[] = bitmapSection(null)): Buffer {
  const head = message([latLonSection(FULL), productSection(), section5]);
  const file = Buffer.concat([
    head.subarray(0, -4),
    Buffer.from(bitmap),
    Buffer.from([...octets(data.length + 5, 4), 7]),
    data,
    Buffer.from('7777'),
  ]);
  file.writeUInt32BE(file.length, 12);
  return file;
}

/** The yardstick: a whole CONUS grid of 16 bits, as the MESH maximum of a day has it. */
const plain = measure('grid', 'conus.grib2', field(representation(41, 16, POINTS), zeros(FULL, 16, 0, 1)));

const everyOther = [0, ...Array<number>(POINTS / 8).fill(0xaa)];
const bitmapped = () => section(6, everyOther);

const HOSTILE: readonly (readonly [title: string, kind: Kind, name: string, make: () => Uint8Array])[] = [
  ['a gzip bomb that tells its size', 'grid', 'bomb.gz', () => gzipSync(Buffer.alloc(1_500_000_000))],
  ['a gzip bomb that hides its size', 'grid', 'liar.gz', () => hidden(gzipSync(Buffer.alloc(1_500_000_000)))],
  ['a gzip bomb of exactly the limit', 'grid', 'limit.gz', () => gzipSync(Buffer.alloc(64 * 1024 * 1024))],
  [
    'a million empty png chunks',
    'grid',
    'chunks.gz',
    () => gzipSync(field(representation(41, 8, POINTS), zeros(FULL, 8, 0, 1, 4_000_000))),
  ],
  [
    'a whole grid of 32-bit png',
    'grid',
    'rgba.grib2',
    () => field(representation(41, 32, POINTS), zeros(FULL, 8, 6, 4)),
  ],
  [
    'a png that unfolds to more than its header says',
    'grid',
    'png-bomb.grib2',
    () => field(representation(41, 8, POINTS), lying()),
  ],
  [
    'one group of no width for the whole grid',
    'grid',
    'group.grib2',
    () => field(oneGroup(POINTS, 0), Uint8Array.from([1, 1, 0, 7])),
  ],
  [
    'the same with missing values',
    'grid',
    'group-missing.grib2',
    () => field(oneGroup(POINTS, 1), Uint8Array.from([1, 1, 0, 255])),
  ],
  [
    'the same behind a bitmap',
    'grid',
    'group-bitmap.grib2',
    () => field(oneGroup(POINTS / 2, 0), Uint8Array.from([1, 1, 0, 7]), bitmapped()),
  ],
  ['a constant field', 'grid', 'constant.grib2', () => field(representation(0, 0, POINTS), new Uint8Array(0))],
  [
    'a field of four billion points',
    'file',
    'huge.grib2',
    () => field(representation(0, 0, 0xffffffff), new Uint8Array(0)),
  ],
  ['ten million empty fields', 'file', 'fields.gz', manyFields],
  [
    '16 MB of empty JSON objects',
    'probsevere',
    'objects.json',
    () => Buffer.from(`{"features":[${'{},'.repeat(5_300_000)}{}]}`),
  ],
  ['63 MB of brackets that arrive as JSON', 'arrival', 'brackets.json', () => Buffer.alloc(63_000_000, '[')],
  ['63 MB of lists that arrive as JSON', 'arrival', 'lists.json', () => Buffer.from(`[${'[],'.repeat(21_000_000)}[]]`)],
  [
    '30 mm on the whole lattice in 179 bytes',
    'scan',
    'everywhere.grib2',
    () => gribFile(constantPacking(POINTS, { reference: 300 }), FULL),
  ],
  ['16 MB of nested JSON', 'probsevere', 'nested.json', () => Buffer.from('['.repeat(16_000_000))],
];

function hidden(bomb: Buffer): Buffer {
  bomb.writeUInt32LE(1000, bomb.length - 4);
  return bomb;
}

/** Header of a full grid of one byte per pixel, data of ten times as much. */
function lying(): Buffer {
  const header = zeros(FULL, 8, 0, 1).subarray(0, 33);
  return Buffer.concat([header, zeros({ columns: 70_000, rows: 3500 }, 8, 0, 1).subarray(33)]);
}

/** As many fields as fit into the largest file that is unfolded. */
function manyFields(): Buffer {
  const grid = { columns: 1, rows: 1 };
  const one = [...productSection(), ...representation(0, 0, 1), ...bitmapSection(null), ...octets(5, 4), 7];
  const head = message([latLonSection(grid)]).subarray(0, -4);
  const body = Buffer.alloc(60_000_000 - (60_000_000 % one.length));
  for (let at = 0; at < body.length; at += one.length) body.set(one, at);
  const file = Buffer.concat([head, body, Buffer.from('7777')]);
  file.writeUInt32BE(file.length, 12);
  return gzipSync(file);
}

for (const [title, kind, name, make] of HOSTILE)
  test.serial(`${title}: at most twice the memory of one full CONUS decode`, (t) => {
    const { outcome, peak_mb } = measure(kind, name, make());
    t.log(`${peak_mb} MB, a plain decode ${plain.peak_mb} MB: ${outcome}`);
    t.true(peak_mb <= 2 * plain.peak_mb, `${peak_mb} MB, expected at most ${2 * plain.peak_mb} MB`);
  });
