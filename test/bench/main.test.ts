import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test from 'ava';

const MAIN = resolve(import.meta.dirname, 'main.ts');
const folder = mkdtempSync(join(tmpdir(), 'hail-bench-'));
test.after.always(() => rmSync(folder, { recursive: true }));
for (const name of ['PrecipRate_1.grib2', 'PrecipRate_2.grib2']) writeFileSync(join(folder, name), 'no grid');

for (const [what, args, code, message] of [
  [
    'a wrong number',
    ['nowcast', '--evenings', '0'],
    2,
    "bench: --evenings is '0', expected a whole number from 1 to 999",
  ],
  ['files that are no grids', ['nowcast', '--real', folder], 1, 'bench: read PrecipRate_1.grib2: no GRIB message'],
] as const)
  test(`a bench that is given ${what} says so in one line and fails`, (t) => {
    const { status, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });
    t.is(status, code);
    t.true(stderr.startsWith(message), stderr);
    t.is(stderr.trimEnd().split('\n').length, 1, stderr);
  });
