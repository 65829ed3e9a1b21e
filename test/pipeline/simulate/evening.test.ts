import { createHash } from 'node:crypto';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { simulateCommand } from '../../../pipeline/commands/simulate.ts';
import { readConfig } from '../../../pipeline/config.ts';
import { Conflict } from '../../../pipeline/error.ts';
import { filesBelow } from '../../../pipeline/files.ts';
import { readGrid } from '../../../pipeline/read/mrms.ts';
import { bucketPath, type EveningOptions, scanTimes, writeScans } from '../../../pipeline/simulate/evening.ts';
import { MISSING, SIMULATED_PRODUCTS, simulateScan } from '../../../pipeline/simulate/fields.ts';
import { writeGrib2 } from '../../../pipeline/simulate/grib2-writer.ts';
import { coverageOf } from '../../../pipeline/simulate/storm-core.ts';
import { climateScenario, type Scenario } from '../../../pipeline/simulate/weather.ts';
import { MS_PER_HOUR, MS_PER_MIN } from '../../../schemas/time.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { EVENING_MS, SMALL as LARGER, SITES } from '../../support/data/small-evening.ts';
import { scratch } from '../../support/data/world.ts';

/** A quarter of the window: the files count here, not the storms. */
const SMALL: Scenario = { ...LARGER, window: { ...LARGER.window, rows: 150, cols: 200 } };

const write = (scenario: Scenario, options: EveningOptions) => Array.fromAsync(writeScans(scenario, options));

const minutes = (from: number, to: number) => ({
  from_ms: EVENING_MS + from * MS_PER_MIN,
  to_ms: EVENING_MS + to * MS_PER_MIN,
});

/** SHA-256 of every file below a folder, by path. */
async function contentOf(folder: string): Promise<Record<string, string>> {
  const hashed = (await filesBelow(folder)).sort().map(async (name) => {
    const hash = createHash('sha256').update(await readFile(join(folder, name)));
    return [name, hash.digest('hex')] as const;
  });
  return Object.fromEntries(await Promise.all(hashed));
}

test('files lie in the layout of the public bucket, one per product and scan', async (t) => {
  const out = await scratch(t);
  const span = minutes(0, 5);
  const progress = await write(SMALL, { ...span, out });
  const times = scanTimes(SMALL.seed, span.from_ms, span.to_ms);
  t.deepEqual(
    progress,
    times.map((_, i) => ({ number: i + 1, of: times.length })),
  );
  t.is(
    bucketPath('MESH', Date.parse('2024-02-28T02:52:39Z')),
    'CONUS/MESH_00.50/20240228/MRMS_MESH_00.50_20240228-025239.grib2.gz',
  );
  t.deepEqual(
    Object.keys(await contentOf(out)).filter((path) => path.startsWith('CONUS')),
    times.flatMap((time_ms) => SIMULATED_PRODUCTS.map((product) => bucketPath(product, time_ms))).sort(),
  );
});

test('two spans that adjoin are the whole, byte for byte, and a lost file is written again, the same', async (t) => {
  const [once, twice] = [await scratch(t, 'once'), await scratch(t, 'twice')];
  await write(SMALL, { ...minutes(0, 12), out: once });
  await write(SMALL, { ...minutes(0, 5), out: twice });
  await write({ ...SMALL }, { ...minutes(5, 12), out: twice });
  const whole = await contentOf(once);
  t.deepEqual(await contentOf(twice), whole);
  const [first = Number.NaN] = scanTimes(SMALL.seed, EVENING_MS, EVENING_MS + 5 * MS_PER_MIN);
  const [lost, kept] = [join(twice, bucketPath('VIL', first)), join(twice, bucketPath('MESH', first))];
  const before = await stat(kept);
  await rm(lost);
  await write(SMALL, { ...minutes(0, 12), out: twice });
  t.deepEqual(await contentOf(twice), whole);
  t.is((await stat(kept)).mtimeMs, before.mtimeMs);
});

test('a folder belongs to one evening: another seed is refused, and nothing is written', async (t) => {
  const out = await scratch(t);
  await write(SMALL, { ...minutes(0, 3), out });
  const before = await contentOf(out);
  const error = await t.throwsAsync(write({ ...SMALL, seed: 12 }, { ...minutes(0, 9), out }), { instanceOf: Conflict });
  t.regex(error?.message ?? '', /"seed":11.*expected.*"seed":12.*choose another folder/);
  t.deepEqual(await contentOf(out), before);
});

const START = Date.parse('2026-05-01T20:00:00Z');

test('the scans of two adjoining spans are the scans of the whole', (t) => {
  for (const cut of [START + 1, START + MS_PER_HOUR + 17_000, START + 2 * MS_PER_HOUR])
    t.deepEqual(
      [...scanTimes(5, START, cut), ...scanTimes(5, cut, START + 3 * MS_PER_HOUR)],
      scanTimes(5, START, START + 3 * MS_PER_HOUR),
    );
});

test('scans come about every 120 s at whole seconds, not aligned with the clock, and one in a hundred is missing', (t) => {
  const times = scanTimes(5, START, START + 240 * MS_PER_HOUR);
  const gaps = times.slice(1).map((time, i) => (time - (times[i] as number)) / 1000);
  t.true(times.every((time) => time % 1000 === 0));
  t.true(gaps.every((gap) => [120, 240, 360].some((turn) => Math.abs(gap - turn) <= 10)));
  t.true(new Set(times.map((time) => time % 60_000)).size > 5);
  const missed = 1 - times.length / (240 * 30);
  t.true(missed > 0.005 && missed < 0.016, `missed ${missed}`);
});

const SCAN_MS = EVENING_MS + 39_000;
const scan = simulateScan(LARGER, SCAN_MS);
const covered = coverageOf(LARGER);

for (const product of SIMULATED_PRODUCTS)
  test(`the reader gives back every pixel of ${product}, its time, its window and the mark of simulated data`, (t) => {
    const grid = readGrid(writeGrib2(scan, product, covered), product);
    t.deepEqual([grid.product, grid.scan_time, grid.simulated, grid.window], [product, SCAN_MS, true, LARGER.window]);
    const steps = 10 ** grid.decimal_scale;
    const nothing = Math.round((grid.missing as number) * steps);
    const no_coverage = Math.round((grid.no_coverage as number) * steps);
    const expected = Int32Array.from(covered, (one) => (one === 1 ? nothing : no_coverage));
    for (const [i, pixel] of scan.index.entries()) {
      const value = scan.values[product][i] as number;
      if (value !== MISSING) expected[pixel] = value;
    }
    t.deepEqual(
      Int32Array.from(grid.packed, (x) => x + grid.reference),
      expected,
    );
  });

/** Sections of the only message of a file by number, without their length and number. */
function sectionsOf(file: Uint8Array): Map<number, Buffer> {
  const bytes = Buffer.from(file);
  const sections = new Map<number, Buffer>();
  for (let at = 16; bytes.toString('latin1', at, at + 4) !== '7777'; at += bytes.readUInt32BE(at))
    sections.set(bytes[at + 4] as number, bytes.subarray(at + 5, at + bytes.readUInt32BE(at)));
  return sections;
}

for (const [largest_tenths, bits] of [
  [225, 8],
  [226, 16],
] as const)
  test(`MESH up to ${largest_tenths / 10} mm is written in ${bits} bits`, (t) => {
    const index = scan.index.subarray(0, 1);
    const file = writeGrib2({ ...scan, index, values: { MESH: Int16Array.of(largest_tenths) } }, 'MESH', covered);
    t.is(sectionsOf(file).get(5)?.[14], bits);
    const grid = readGrid(file, 'one pixel');
    t.is((grid.packed[index[0] as number] as number) + grid.reference, largest_tenths);
  });

test('echo tops of a window that is covered everywhere start at "nothing", as the real Caribbean file does', (t) => {
  const everywhere = new Uint8Array(covered.length).fill(1);
  const reference = (one: Uint8Array) =>
    sectionsOf(writeGrib2(scan, 'EchoTop_18', one))
      .get(5)
      ?.readFloatBE(6);
  t.deepEqual([reference(everywhere), reference(covered)], [-1000, -3000]);
});

sharedTest(
  'on the full grid sections 1, 3, 4 and 5 are those of the real MESH file, but for the time and the mark',
  async (t) => {
    const real = sectionsOf(await readFile(sharedData('mrms', 'MRMS_MESH_00.50_20240228-025239.grib2')));
    const country = { ...climateScenario(11, SITES), day_type: 'outbreak' } as const;
    const whole = simulateScan(country, Date.parse('2024-02-28T02:52:39Z'));
    const ours = sectionsOf(writeGrib2(whole, 'MESH', coverageOf(country)));
    const differing = [1, 3, 4, 5].flatMap((number) => {
      const [a, b] = [ours.get(number) as Buffer, real.get(number) as Buffer];
      return a.length === b.length
        ? [...a.keys()].filter((i) => a[i] !== b[i]).map((i) => `section ${number} octet ${i + 6}`)
        : [`length of section ${number}`];
    });
    // The real last point is off by one and two microdegrees.
    t.deepEqual(differing, ['section 1 octet 20', 'section 3 octet 59', 'section 3 octet 63']);
  },
);

async function simulate(t: ExecutionContext, ...words: readonly string[]): Promise<string> {
  const out = await scratch(t);
  const config = () => readConfig({ HAIL_NOW: '2026-05-02T01:00:00Z', HAIL_LOG_LEVEL: 'silent' });
  const command = simulateCommand(config)
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  await command.parseAsync(['--out', out, ...words], { from: 'user' });
  return out;
}

for (const [words, message] of [
  [['--seed', '-1'], /--seed.*Found '-1', expected a whole number/],
  [['--hours', '0'], /--hours.*Found '0', expected a number from 0\.01/],
  [['--hours', '3h'], /--hours.*Found '3h'/],
  [['--day-type', 'sunny'], /Allowed choices are supercell, climate/],
  [['--region', 'conus'], /unknown option '--region'/],
] as const)
  test(`refused before any work: simulate ${words.join(' ')}`, async (t) => {
    await t.throwsAsync(simulate(t, ...words), { message });
  });

test('the command writes scans and feeds of the last minutes', async (t) => {
  const out = await simulate(t, '--hours', '0.1', '--seed', '7');
  const folders = new Set((await filesBelow(out)).map((name) => name.split('/')[0]));
  t.deepEqual([...folders].sort(), ['.scenario.json', 'CONUS', 'alerts', 'outlooks', 'reports']);
  const [mesh = ''] = (await filesBelow(out)).filter((name) => name.includes('/MESH_00.50/'));
  t.true(readGrid(gunzipSync(await readFile(join(out, mesh))), mesh).simulated);
});
