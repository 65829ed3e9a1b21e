import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { gribFile, pngPacking } from '../../support/data/grib2-files.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const folder = mkdtempSync(join(tmpdir(), 'hail-inspect-'));
test.after.always(() => rmSync(folder, { recursive: true }));

const START = new URL('../../../pipeline/start.js', import.meta.url).pathname;
const inspect = (...given: string[]) => promisify(execFile)(process.execPath, [START, 'inspect', ...given]);
const fieldsOf = async (...given: string[]) => JSON.parse((await inspect(...given, '--json')).stdout).fields;

//  x . 1 1    no coverage, nothing there, tens of mm
//  . 2 . 3
const MESH = join(folder, 'MRMS_MESH_00.50_20240501-201234.grib2');
writeFileSync(
  MESH,
  gribFile(
    pngPacking([0, 20, 130, 130, 20, 230, 20, 330], { columns: 4, rows: 2, bits: 16 }),
    { columns: 4, rows: 2 },
    { production_status: 192 },
  ),
);

test('a field in figures: product, time, packing, box, extremes without sentinels, values at points', async (t) => {
  const [field] = await fieldsOf(MESH, '--at', '54.986,-129.986', '--at', '40,-100');
  t.like(field, { product: 'MESH', unit: 'mm', time: '2024-05-01T20:12:34Z', simulated: true, rows: 2, columns: 4 });
  t.regex(field.packing, /^5\.41, 16 bits, /);
  t.deepEqual(field.bbox, [-129.995, 54.985, -129.965, 54.995]);
  t.deepEqual(field.min, { lat: 54.995, lon: -129.975, value: 10 });
  t.deepEqual(field.max, { lat: 54.985, lon: -129.965, value: 30 });
  t.deepEqual(field.at, [20, null]);
  const { stdout } = await inspect(MESH);
  t.regex(stdout, /^MESH \(mm\), 2024-05-01T20:12:34Z, simulated\n {2}grid {5}2 x 4, /);
});

test('a file that is not there, a file that is no grid and a position that is none are refused', async (t) => {
  const text = join(folder, 'notes.txt');
  writeFileSync(text, 'no grid');
  for (const [given, message] of [
    [[join(folder, 'absent')], /no such file/],
    [[text], /no GRIB message in 7 bytes/],
    [[MESH, '--at', '91,0'], /--at is '91,0', expected LAT,LON/],
  ] as const)
    t.regex((await t.throwsAsync<Error & { stderr: string }>(inspect(...given))).stderr, message);
});

// The figures are those of ecCodes 2.28.
sharedTest('a model file: every field, one of them at three cities', async (t) => {
  const path = sharedData('forecast', 'cfgrib_nam.t00z.awp21100.tm00.grib2');
  const fields = await fieldsOf(path, '--at', '35.47,-97.52', '--at', '39.74,-104.99', '--at', '41.88,-87.63');
  t.is(fields.length, 181);
  t.deepEqual([fields[134].product, fields[134].at], ['0/7/6', [1611, 64, 53]]);
});

sharedTest('a grid off the lattice can be inspected', async (t) => {
  const [field] = await fieldsOf(sharedData('mrms', 'MRMS_EchoTop_18_00.50_20161015-133230.grib2'));
  t.deepEqual([field.product, field.rows, field.columns, field.max.value], ['EchoTop_18', 1500, 3000, 19]);
});
