import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { decodePng } from '../../../pipeline/grib2/png.ts';
import type { Section } from '../../../pipeline/grib2/section.ts';
import { encodePng, seededRandom } from '../../support/data/grib2-files.ts';

function inSection(png: Uint8Array): Section {
  return { subject: 'mesh.grib2', message: 1, number: 7, bytes: Uint8Array.from([0, 0, 0, 0, 7, ...png]) };
}

/** Mostly quiet, as radar grids are: long stretches of one value, a few storms. */
function quietImage(count: number, bits: number, seed: number): number[] {
  const random = seededRandom(seed);
  let value = 0;
  return Array.from({ length: count }, () => {
    if (random() < 0.08) value = Math.floor(random() * 2 ** bits);
    return value;
  });
}

const FILTERS = ['none', 'sub', 'up', 'average', 'paeth'];

for (const bits of [1, 2, 4, 8, 16, 24, 32])
  for (const [filter, name] of FILTERS.entries())
    test(`${bits}-bit samples come back from rows with filter ${name}`, (t) => {
      const [columns, rows] = [37, 23];
      const values = quietImage(columns * rows, bits, 100 * bits + filter);
      const png = encodePng(values, { columns, rows, bits, filters: [filter] });
      t.deepEqual([...decodePng(inSection(png), columns * rows)], values);
    });

test('rows of all filters may follow one another, cut into several chunks', (t) => {
  const [columns, rows] = [64, 40];
  const values = quietImage(columns * rows, 16, 7);
  const png = encodePng(values, { columns, rows, bits: 16, filters: [4, 2, 0, 3, 1], chunks: 5 });
  t.deepEqual([...decodePng(inSection(png), columns * rows)], values);
});

test('noise without any quiet stretch comes back too', (t) => {
  const random = seededRandom(3);
  const values = Array.from({ length: 50 * 31 }, () => Math.floor(random() * 256));
  const png = encodePng(values, { columns: 50, rows: 31, bits: 8, filters: [3, 4, 1, 2] });
  t.deepEqual([...decodePng(inSection(png), values.length)], values);
});

test('8-bit samples stay bytes, 16-bit ones stay short', (t) => {
  t.true(decodePng(inSection(encodePng([1, 2], { columns: 2, rows: 1, bits: 8 })), 2) instanceof Uint8Array);
  t.true(decodePng(inSection(encodePng([1, 2], { columns: 2, rows: 1, bits: 16 })), 2) instanceof Uint16Array);
});

const good = encodePng([1, 2, 3, 4, 5, 6], { columns: 3, rows: 2, bits: 8 });

function damaged(change: (png: Buffer) => void): Section {
  const png = Buffer.from(good);
  change(png);
  return inSection(png);
}

for (const [title, section, reason] of [
  [
    'another size than the grid',
    inSection(encodePng([1, 2, 3, 4], { columns: 2, rows: 2, bits: 8 })),
    /2 x 2 pixels, expected 6/,
  ],
  [
    'a row filter that does not exist',
    inSection(encodePng([1, 2, 3, 4, 5, 6], { columns: 3, rows: 2, bits: 8, filters: [0, 5] })),
    /row 1 has filter 5, expected 0 to 4/,
  ],
  ['a flipped bit in the data', damaged((png) => png.writeUInt8(png.readUInt8(45) ^ 1, 45)), /wrong checksum/],
  ['no signature', damaged((png) => png.writeUInt8(0, 0)), /no signature/],
  ['a chunk longer than the section', damaged((png) => png.writeUInt32BE(0x7fffffff, 33)), /chunk of 2147483647 bytes/],
  ['an end inside a chunk', inSection(good.subarray(0, good.length - 15)), /ends at byte|expected at most/],
] as const)
  test(`a png with ${title} is refused by name`, (t) => {
    const error = t.throws(() => decodePng(section, 6), { instanceOf: BadInput });
    t.regex(error.message, /^read mesh\.grib2: message 1 section 7: png /);
    t.regex(error.message, reason);
  });

test('rows that unfold to more than the grid needs are refused without taking the memory', (t) => {
  const bomb = encodePng(Array(4000 * 1000).fill(0), { columns: 4000, rows: 1000, bits: 1 });
  // The header claims six pixels; the data behind it unfold to half a megabyte.
  const header = encodePng([1, 2, 3, 4, 5, 6], { columns: 3, rows: 2, bits: 8 }).subarray(0, 33);
  const error = t.throws(() => decodePng(inSection(Buffer.concat([header, bomb.subarray(33)])), 6), {
    instanceOf: BadInput,
  });
  t.regex(error.message, /rows unfold too far, expected 8 bytes/);
});
