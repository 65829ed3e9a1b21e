import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Conflict, PipelineError } from '../../../pipeline/error.ts';
import { bucketPath, type EveningOptions, type WrittenScan, writeEvening } from '../../../pipeline/simulate/evening.ts';
import { scanTimes } from '../../../pipeline/simulate/scan-times.ts';
import type { Scenario } from '../../../pipeline/simulate/scenario.ts';
import { EVENING_MS, SMALL as LARGER, MS_PER_MINUTE } from '../../support/data/small-evening.ts';

/** A quarter of the window: what is asked here is about files, not about storms. */
const SMALL: Scenario = { ...LARGER, window: { ...LARGER.window, rows: 150, cols: 200 } };

async function folderFor(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'hail-evening-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}

async function write(scenario: Scenario, options: EveningOptions): Promise<WrittenScan[]> {
  return Array.fromAsync(writeEvening(scenario, options));
}

/** SHA-256 of every file below a folder, by path. */
async function contentOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const hashed = files.sort().map(async (file) => {
    const hash = createHash('sha256')
      .update(await readFile(file))
      .digest('hex');
    return [relative(folder, file), hash] as const;
  });
  return Object.fromEntries(await Promise.all(hashed));
}

const minutes = (from: number, to: number) => ({
  from_ms: EVENING_MS + from * MS_PER_MINUTE,
  to_ms: EVENING_MS + to * MS_PER_MINUTE,
});

test('files lie in the layout of the public bucket, one per product and scan', async (t) => {
  const out = await folderFor(t);
  const scans = await write(SMALL, { ...minutes(0, 5), out });
  t.is(
    bucketPath('MESH', Date.parse('2024-02-28T02:52:39Z')),
    'CONUS/MESH_00.50/20240228/MRMS_MESH_00.50_20240228-025239.grib2.gz',
  );
  const written = Object.keys(await contentOf(out));
  t.is(written.filter((path) => path.endsWith('.grib2.gz')).length, 6 * scans.length);
  for (const { scan_time } of scans) t.true(written.includes(bucketPath('EchoTop_50', scan_time)));
  t.false(written.some((path) => path.endsWith('.tmp')));
});

test('two stretches that adjoin are the whole, byte for byte', async (t) => {
  const once = await folderFor(t);
  const twice = await folderFor(t);
  await write(SMALL, { ...minutes(0, 12), out: once });
  await write(SMALL, { ...minutes(0, 5), out: twice });
  await write({ ...SMALL }, { ...minutes(5, 12), out: twice });
  t.deepEqual(await contentOf(twice), await contentOf(once));
});

test('a second run keeps what is there and says so', async (t) => {
  const out = await folderFor(t);
  const first = await write(SMALL, { ...minutes(0, 5), out });
  const path = join(out, bucketPath('MESH', (first[0] as WrittenScan).scan_time));
  const before = await stat(path);
  const second = await write(SMALL, { ...minutes(0, 7), out });
  t.deepEqual(
    first.map(({ kept }) => kept),
    first.map(() => 0),
  );
  t.deepEqual(
    second.map(({ kept }) => kept),
    second.map((_, i) => (i < first.length ? 6 : 0)),
  );
  t.is((await stat(path)).mtimeMs, before.mtimeMs);
});

test('a file that was lost is written again, the same', async (t) => {
  const out = await folderFor(t);
  const [scan] = await write(SMALL, { ...minutes(0, 5), out });
  const before = await contentOf(out);
  await rm(join(out, bucketPath('VIL', (scan as WrittenScan).scan_time)));
  await write(SMALL, { ...minutes(0, 5), out });
  t.deepEqual(await contentOf(out), before);
});

test('a folder belongs to one evening: another number is refused, and nothing is written', async (t) => {
  const out = await folderFor(t);
  await write(SMALL, { ...minutes(0, 3), out });
  const before = await contentOf(out);
  const error = await t.throwsAsync(write({ ...SMALL, seed: 12 }, { ...minutes(0, 9), out }), { instanceOf: Conflict });
  t.regex(error?.message ?? '', /"seed": 11.*expected.*"seed": 12.*choose another folder/);
  t.deepEqual(await contentOf(out), before);
});

test('only the products asked for are written, and truth and reports when wanted', async (t) => {
  const out = await folderFor(t);
  await write(SMALL, { ...minutes(0, 5), out, products: ['MESH'], truth: true, feeds: false });
  const written = Object.keys(await contentOf(out));
  t.true(written.includes('truth.csv'));
  t.true(written.every((path) => /^(CONUS\/MESH_00\.50\/|truth\.csv|evening\.json)/.test(path)));
});

test('progress counts the scans that the times say', async (t) => {
  const out = await folderFor(t);
  const span = minutes(0, 9);
  const scans = await write(SMALL, { ...span, out, products: ['MESH'] });
  t.deepEqual(
    scans.map(({ scan_time }) => scan_time),
    scanTimes(SMALL.seed, span.from_ms, span.to_ms),
  );
  t.deepEqual(
    scans.map(({ number }) => number),
    scans.map((_, i) => i + 1),
  );
  t.true(scans.every(({ of, bytes }) => of === scans.length && bytes > 500));
});

test('a place that cannot be written is named', async (t) => {
  const out = await folderFor(t);
  await writeFile(join(out, 'CONUS'), 'a file in the way');
  const error = await t.throwsAsync(write(SMALL, { ...minutes(0, 5), out }), { instanceOf: PipelineError });
  t.regex(error?.message ?? '', /^simulate .*MRMS_MESH_00\.50.*: could not be/);
});
