import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { UsageError } from '../../pipeline/error.ts';
import { nowcast } from './nowcast.ts';
import { rainFrames } from './nowcast-frames.ts';

test('a folder without two PrecipRate files is an error that counts them', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hail-frames-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'MRMS_MESH_00.50_20240228-025239.grib2'), '');
  t.throws(() => rainFrames(folder), {
    instanceOf: UsageError,
    message: `--real ${folder} holds 0 PrecipRate files, expected at least 2`,
  });
});

for (const [args, message] of [
  [['--evenings', '0'], "--evenings is '0', expected a whole number from 1 to 999"],
  [['--seed', '-1'], "--seed is '-1', expected a whole number from 0 to 999999"],
] as const)
  test(`nowcast ${args.join(' ')} is a usage error`, async (t) => {
    await t.throwsAsync(nowcast([...args]), { instanceOf: UsageError, message });
  });
