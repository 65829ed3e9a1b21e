import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import {
  decodeField,
  END_BYTES,
  type Field,
  findMessage,
  INDICATOR_BYTES,
  isEndSection,
  PACKING_TEMPLATES,
  parseGrib2,
  sectionError,
  statedLength,
  valueReader,
} from '../../../pipeline/grib2/index.ts';
import { floatPacking, gribFile, simplePacking } from '../../support/data/grib2-files.ts';

const PACKAGE = new URL('../../../pipeline/grib2/', import.meta.url);
const README = readFileSync(new URL('README.md', PACKAGE), 'utf8');

const folder = mkdtempSync(join(tmpdir(), 'hail-grib2-'));
test.after.always(() => rmSync(folder, { recursive: true }));

const MESH = gribFile(simplePacking([20, 130, 20, 330, 20, 20], 16), { columns: 3, rows: 2 });
const [mesh] = parseGrib2(MESH, 'mesh.grib2') as [Field];

test('the example of the README runs and prints the nearest point with its value', (t) => {
  const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(README) ?? [];
  writeFileSync(join(folder, 'mesh.grib2'), MESH);
  writeFileSync(join(folder, 'example.mts'), example.replace("'./index.ts'", `'${new URL('index.ts', PACKAGE)}'`));
  const printed = execFileSync(process.execPath, [join(folder, 'example.mts')], { cwd: folder, encoding: 'utf8' });
  t.is(printed, '{ j: 0, i: 1 } 10\n');
});

test('the README lists the packings that are read, and no other', (t) => {
  t.deepEqual(
    [...README.matchAll(/\| (?:5, 7 data)? ?\| 5\.(\d+) /g)].map(([, template]) => template),
    Object.keys(PACKING_TEMPLATES),
  );
});

test('a field of more points than the caller allows is refused, whatever it holds', (t) => {
  t.is(decodeField(mesh, { max_points: 6 }).packed.length, 6);
  t.throws(() => decodeField(mesh, { max_points: 5 }), {
    instanceOf: BadInput,
    message: 'read mesh.grib2: message 1 section 7: field of 6 points, expected at most 5',
  });
});

for (const [title, law, value] of [
  ['tenths are exact', { reference: 0, decimal_scale: 1 }, 0.3],
  ['a negative decimal scale multiplies', { reference: 1, decimal_scale: -2 }, 400],
  [
    'a binary scale multiplies what is packed, not the reference',
    { reference: 1, binary_scale: 2, decimal_scale: 0 },
    13,
  ],
] as const)
  test(`values follow the packing law: ${title}`, (t) => {
    const [field] = parseGrib2(gribFile(simplePacking([3], 8, law), { columns: 1, rows: 1 }), 'x') as [Field];
    t.is(valueReader(decodeField(field))(0), value);
  });

test('a point without a value is NaN', (t) => {
  const [field] = parseGrib2(gribFile(floatPacking([5]), { columns: 2, rows: 1 }, {}, [0, 1]), 'x') as [Field];
  const valueAt = valueReader(decodeField(field));
  t.deepEqual([valueAt(0), valueAt(1)], [Number.NaN, 5]);
});

test('a message is framed by its indicator, the length in it, and 7777', (t) => {
  const bytes = Buffer.concat([Buffer.from('GRI'), MESH, Buffer.from('tail')]);
  const at = findMessage(bytes);
  t.is(at, 3);
  const length = statedLength(bytes.subarray(at, at + INDICATOR_BYTES));
  t.is(length, MESH.length);
  t.true(isEndSection(bytes.subarray(at + length - END_BYTES, at + length)));
  t.false(isEndSection(bytes.subarray(at + length - END_BYTES - 1, at + length - 1)));
  t.false(isEndSection(Buffer.from('777')));
  t.is(findMessage(bytes, at + 1), -1);
});

test('the error of a section names file, message and section, and keeps its cause', (t) => {
  const cause = new Error('deeper');
  const error = sectionError({ ...mesh.data, number: 4 }, 'is odd, expected even', cause);
  t.true(error instanceof BadInput);
  t.is(error.message, 'read mesh.grib2: message 1 section 4: is odd, expected even');
  t.is(error.cause, cause);
});
