import { inflateSync } from 'node:zlib';
import test from 'ava';
import { type SparseImage, writePng } from '../../../pipeline/simulate/png-writer.ts';
import { between, drawsOf } from '../../../pipeline/simulate/random.ts';

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
