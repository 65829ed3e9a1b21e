import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { openEngine } from '../../../pipeline/duckdb.ts';
import { filesBelow } from '../../../pipeline/files.ts';
import { takeLock } from '../../../pipeline/publish/lock.ts';
import { readCurrent, readNewest, tablePaths } from '../../../pipeline/publish/manifests.ts';
import { readRows } from '../../../pipeline/publish/tables.ts';
import type { SourceFile } from '../../../pipeline/sources/names.ts';
import type { Manifest } from '../../../schemas/manifest.ts';
import { type Frame, frames } from '../../../schemas/tables/radar.ts';
import { startBucket } from '../../support/data/bucket-server.ts';
import { contentOf, contentOfFiles, logicalContent, sameContent } from '../../support/data/content.ts';
import { bucketKey } from '../../support/data/source-files.ts';
import {
  asObserved,
  deliver,
  filesOf,
  NOW_MS,
  publishedRoot,
  type RawScan,
  SCRATCH,
  scansBetween,
  scratch,
} from '../../support/data/world.ts';
import { command } from '../../support/kill/killed.ts';

const evening = () => scansBetween('00:00', '00:13');
const DERIVE = ['derive', 'climatology'];

function ingestArgs(from: string): string[] {
  return ['ingest', '--source', 'dir', '--from', from, '--no-progress', '--json'];
}

async function delivered(t: ExecutionContext, scans: readonly RawScan[]): Promise<string> {
  return deliver(await scratch(t, 'from'), filesOf(scans));
}

test('publishes a folder, prints one JSON object and leaves the folder as it was', async (t) => {
  const scans = await evening();
  const from = await delivered(t, scans);
  const before = await filesBelow(from);
  const root = await scratch(t);
  const run = await command(root, ingestArgs(from));
  t.is(run.code, 0, run.stderr);
  const summary = JSON.parse(run.stdout);
  t.deepEqual([summary.source, summary.dates, summary.run.scans], ['simulated', ['2026-05-02'], scans.length]);
  t.deepEqual(await filesBelow(from), before);
  sameContent(t, await logicalContent(root), await contentOf(scans));
  const again = await command(root, ingestArgs(from));
  t.deepEqual([JSON.parse(again.stdout).run.scans, JSON.parse(again.stdout).run.skipped], [0, scans.length]);
});

test('a run whose only file is rejected names it and exits 1, the second time too', async (t) => {
  const from = await scratch(t, 'bad');
  await fs.mkdir(from, { recursive: true });
  await fs.writeFile(join(from, 'MRMS_MESH_00.50_20260502-000000.grib2'), 'no grid');
  const root = await scratch(t);
  for (const told of [/^Nothing to do: no new scan\.\n1 file rejected, with/, /\n1 file rejected by an earlier run/]) {
    const run = await command(root, ['ingest', '--from', from, '--no-progress']);
    t.is(run.code, 1, run.stderr);
    t.regex(run.stdout, told);
  }
});

test('without a source it simulates the last hours, goes on with the same evening later, and says when that is up to date', async (t) => {
  const root = await scratch(t);
  const simulate = (now_ms: number) => command(root, ['ingest', '--hours', '0.1', '--no-progress'], { now_ms });
  t.regex((await simulate(NOW_MS)).stdout, /^Published \d simulated scans of/);
  t.regex((await simulate(NOW_MS)).stdout, /^Nothing to do: no new scan\./);
  t.regex((await simulate(NOW_MS + 4 * 60_000)).stdout, /^Published \d simulated scans? of/);
  const left = (await filesBelow(join(root, 'inbox', 'simulated'))).filter((name) => name.endsWith('.gz'));
  t.deepEqual(left, []);
});

for (const [args, problem] of [
  [['ingest', '--source', 'dir'], /--source dir needs --from/],
  [['ingest', '--date', '2026-02-30'], /2026-02-30.*date that exists/s],
  [['ingest', '--from', '/x', '--date', '2026-05-01'], /--date goes with --source noaa/],
  [['ingest', '--source', 'noaa', '--date', '2026-05-01', '--products', 'MESH,RAIN'], /names RAIN/],
  [['ingest', '--source', 'noaa', '--date', '2026-05-01', '--products', 'VIL'], /leaves out MESH/],
  [['ingest', '--hours', '-1'], /from 0.1 to 48/],
  [['rebuild'], /--date/],
  [['stream', '--every', '0'], /from 0.1 to 3600/],
  [['stream', '--source', 'simulate'], /HAIL_NOW fixes the clock/],
  [['stream', '--source', 'simulate', '--every', '5'], /--every is 5, expected whole seconds from 10 to 120/],
  [['stream', '--source', 'simulate', '--from', 'x'], /--from does not go with --source simulate/],
  [['stream', '--source', 'simulate', '--no-feeds'], /--feeds does not go with --source simulate/],
  [['stream', '--source', 'noaa', '--seed', '3'], /--seed goes with --source simulate/],
] as const)
  test(`${args.join(' ')} is refused before any work, with exit code 2`, async (t) => {
    const root = await scratch(t);
    const run = await command(root, args);
    t.is(run.code, 2);
    t.regex(run.stderr, problem);
    await t.throwsAsync(fs.stat(root), { code: 'ENOENT' });
  });

test('a folder that is not there is not found, in one line, by every command that reads one', async (t) => {
  for (const args of [
    ingestArgs('/nowhere/at/all'),
    ['feeds', '--from', '/nowhere/at/all'],
    ['stream', '--from', '/nowhere/at/all'],
  ]) {
    const run = await command(await scratch(t), args);
    t.is(run.code, 3, args.join(' '));
    const last = run.stderr.trimEnd().split('\n').at(-1) ?? '';
    t.regex(last, /^hail-pipeline: sources \/nowhere\/at\/all: is not there, expected a folder$/);
  }
});

test('feeds of which every file is refused are a failure, those with one that is used are none', async (t) => {
  const [root, from] = [await scratch(t), await scratch(t, 'from')];
  await fs.mkdir(from);
  await fs.writeFile(join(from, 'alerts.json'), '<html>504 Gateway Timeout</html>');
  const useless = await command(root, ['feeds', '--from', from]);
  t.is(useless.code, 1);
  t.regex(useless.stdout, /alerts\.json +file +an html or xml page/);
  await fs.writeFile(join(from, '260501_rpts_hail.csv'), 'Time,Size,Location,County,State,Lat,Lon,Comments\n');
  t.is((await command(root, ['feeds', '--from', from])).code, 0);
});

test('a data root on two file systems is refused in one sentence', async (t) => {
  const scans = await evening();
  const [root, from] = [await scratch(t), await scratch(t, 'from')];
  await deliver(from, filesOf(scans.slice(0, 1)));
  const elsewhere = await fs.mkdtemp(join(SCRATCH === tmpdir() ? '/dev/shm' : tmpdir(), 'hail-staging-'));
  t.teardown(() => fs.rm(elsewhere, { recursive: true }));
  await fs.mkdir(root);
  await fs.symlink(elsewhere, join(root, 'staging'));
  const run = await command(root, ingestArgs(from));
  t.is(run.code, 1);
  t.is(
    run.stderr.trimEnd().split('\n').at(-1),
    `hail-pipeline: publish ${root}: lies on several file systems (EXDEV), expected all of it on one`,
  );
});

test('what is not published is not found, with exit code 3', async (t) => {
  const root = await scratch(t);
  for (const args of [
    ['verify', '--date', '2026-05-01'],
    ['rebuild', '--date', '2026-05-01'],
  ])
    t.is((await command(root, args)).code, 3, args.join(' '));
});

test('a second pipeline on a data root refuses with exit code 4 and says who holds it; commands that only read work beside it', async (t) => {
  const scans = await evening();
  const root = await publishedRoot(t, scans);
  const lock = takeLock(root, 'hail-pipeline stream', NOW_MS);
  try {
    for (const args of [
      ingestArgs(await delivered(t, scans)),
      ['compact'],
      ['rebuild', '--date', '2026-05-02'],
      DERIVE,
    ]) {
      const run = await command(root, args);
      t.is(run.code, 4);
      t.regex(
        run.stderr,
        new RegExp(`held by process ${process.pid} on .* \\(hail-pipeline stream\\) since 2026-05-02T00:55:00Z`),
      );
    }
    t.is((await command(root, ['verify', '--json'])).code, 0);
    t.is((await command(root, ['inspect', scans[0]?.files[0]?.location ?? '', '--json'])).code, 0);
  } finally {
    lock.release();
  }
  t.is((await command(root, ['compact'])).code, 0);
});

test('verify exits with 5 when it finds something, and prints it', async (t) => {
  const root = await publishedRoot(t, await evening());
  const fine = await command(root, ['verify', '--no-progress']);
  t.is(fine.code, 0);
  t.regex(fine.stdout, /^All is as the manifests say: /);
  const live = (await readCurrent(root))?.live.cells as string;
  await fs.rm(join(root, live));
  const run = await command(root, ['verify', '--json']);
  t.is(run.code, 5);
  const paths = JSON.parse(run.stdout).faults.map((fault: { path: string }) => fault.path);
  t.deepEqual(paths, [live]);
});

test('bad files are put aside with their reason, reported, and cost nothing else', async (t) => {
  const scans = await evening();
  const good = scans.slice(0, 4);
  const from = await delivered(t, good);
  const names = scans.slice(4, 6).flatMap((scan) => scan.files);
  const nameOf = (scan: number, product: string) =>
    scans[scan]?.files.find((file) => file.product === product)?.name as string;
  const bytesOf = (scan: number, product: string) =>
    fs.readFile(scans[scan]?.files.find((file) => file.product === product)?.location as string);
  const mesh = await bytesOf(5, 'MESH');
  t.true(names.length > 0);
  const bad: Record<string, Buffer> = {
    // A product under another's name.
    [nameOf(4, 'MESH')]: await bytesOf(4, 'VIL'),
    // Cut off.
    [nameOf(5, 'MESH')]: mesh.subarray(0, mesh.length >> 1),
    // Nothing at all.
    'MRMS_MESH_00.50_20260502-001430.grib2.gz': Buffer.alloc(0),
    // Not a GRIB file.
    'MRMS_MESH_00.50_20260502-001630.grib2.gz': gzipSync(Buffer.from('<html>503</html>')),
    // Not gzip.
    'MRMS_MESH_00.50_20260502-001830.grib2.gz': Buffer.from('503 Service Unavailable'),
    // Unpacks to a gigabyte of nothing.
    'MRMS_MESH_00.50_20260502-002030.grib2.gz': gzipSync(Buffer.alloc(2 ** 29)),
    // Of another time than its name says.
    'MRMS_MESH_00.50_20260502-002230.grib2.gz': await bytesOf(0, 'MESH'),
  };
  for (const [name, content] of Object.entries(bad)) await fs.writeFile(join(from, name), content);
  const ahead = 'MRMS_MESH_00.50_20260502-030000.grib2.gz';
  await fs.writeFile(join(from, ahead), await bytesOf(0, 'MESH'));
  const before = await filesBelow(from);
  const root = await scratch(t);
  const run = await command(root, ingestArgs(from));
  t.is(run.code, 0, run.stderr);
  const rejected: { file: string; reason: string }[] = JSON.parse(run.stdout).run.rejected;
  t.deepEqual(rejected.map(({ file }) => file).sort(), Object.keys(bad).sort());
  const aside = (await filesBelow(join(root, 'inbox', 'rejected'))).map((name) => name.split('/').at(-1));
  t.is(aside.length, 2 * Object.keys(bad).length);
  for (const name of Object.keys(bad)) {
    t.true(aside.includes(name), name);
    t.true(aside.includes(`${name}.reason.json`), name);
  }
  t.is(run.stderr.split('\n').filter((line) => line.includes('File:Read:Rejected')).length, Object.keys(bad).length);
  t.deepEqual(await filesBelow(from), before);
  sameContent(t, await logicalContent(root), await contentOf(good));
  const again = await command(root, ingestArgs(from));
  t.deepEqual(JSON.parse(again.stdout).run.rejected, []);
  t.notRegex(again.stderr, /Rejected/);
  // Ahead of the clock is no fault of a file: it is named by every run until the clock has come to it.
  for (const { stdout } of [run, again]) {
    const postponed = JSON.parse(stdout).run.postponed.map(({ file }: { file: string }) => file);
    t.deepEqual(postponed, [ahead]);
  }
  const told = await command(root, ['ingest', '--source', 'dir', '--from', from, '--no-progress']);
  t.regex(told.stdout, /^Nothing to do: 4 scans published already\./);
  t.regex(told.stdout, /1 file left for a later run: MRMS_MESH_00\.50_20260502-030000.* ahead of the clock/);
});

test('a UTC date is fetched from the bucket and published like the same files in a folder; a rerun fetches nothing', async (t) => {
  const scans = await asObserved(t, await evening());
  const bucket = await startBucket({ pageSize: 50 });
  t.teardown(bucket.close);
  for (const file of filesOf(scans)) bucket.put(file.key, await fs.readFile(file.location));
  const root = await scratch(t);
  const args = ['ingest', '--source', 'noaa', '--date', '2026-05-02', '--json', '--no-progress'];
  const environment = { HAIL_MRMS_URL: bucket.url };
  const run = await command(root, args, { environment });
  t.is(run.code, 0, run.stderr);
  t.is(JSON.parse(run.stdout).run.scans, scans.length);
  sameContent(t, await logicalContent(root), await contentOfFiles(filesOf(scans)));
  t.deepEqual(await filesBelow(join(root, 'inbox', 'noaa')), []);
  const fetched = bucket.requests.length;
  const again = await command(root, args, { environment });
  t.is(JSON.parse(again.stdout).run.skipped, scans.length);
  const others = bucket.requests.slice(fetched).filter((request) => !request.startsWith('GET list'));
  t.deepEqual(others, []);
});

test('ingest of a date takes the companions of its first scan from before midnight', async (t) => {
  const scans = await asObserved(t, await evening());
  const first = scans[0] as RawScan;
  // The MESH file of 00:00 is late, as in the bucket: its companions carry a time of the day before.
  const before = first.time_ms - 140_000;
  const bucket = await startBucket({ pageSize: 50 });
  t.teardown(bucket.close);
  const mesh = first.files[0] as SourceFile;
  bucket.put(bucketKey('MESH', mesh.time_ms), await fs.readFile(mesh.location));
  const vil = first.files.find((file) => file.product === 'VIL') as SourceFile;
  bucket.put(bucketKey('VIL', before), await withTime(vil, before));
  const root = await scratch(t);
  const args = ['ingest', '--source', 'noaa', '--date', '2026-05-02', '--json', '--no-progress'];
  const run = await command(root, args, { environment: { HAIL_MRMS_URL: bucket.url } });
  t.is(run.code, 0, run.stderr);
  const { dates } = JSON.parse(run.stdout);
  t.deepEqual(dates, ['2026-05-02']);
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const head = await readNewest(root, '2026-05-02');
  const [frame] = await readRows<Frame>(engine, frames, tablePaths(root, head as Manifest, 'frames'));
  t.is(frame?.products, 'MESH,VIL');
  t.deepEqual(await filesBelow(join(root, 'inbox', 'noaa')), []);
});

test('ingest with a file that cannot be fetched publishes the rest, names it, and ends with 1; again, it is complete', async (t) => {
  const scans = await asObserved(t, (await evening()).slice(0, 3));
  const bucket = await startBucket({ pageSize: 50 });
  t.teardown(bucket.close);
  const files = filesOf(scans);
  for (const file of files) bucket.put(file.key, await fs.readFile(file.location));
  const lost = files.at(-1) as SourceFile;
  bucket.fail(lost.key, ...Array(3).fill({ kind: 'status', status: 404 }));
  const root = await scratch(t);
  const args = ['ingest', '--source', 'noaa', '--date', '2026-05-02', '--no-progress'];
  const environment = { HAIL_MRMS_URL: bucket.url };
  const run = await command(root, [...args, '--json'], { environment });
  t.is(run.code, 1);
  const { missing_files, run: summary } = JSON.parse(run.stdout);
  t.deepEqual([summary.scans, missing_files.length, missing_files[0].file], [3, 1, lost.key]);
  const told = await command(root, args, { environment });
  t.is(told.code, 1);
  t.regex(told.stdout, /^1 file could not be fetched; the same command fetches what is missing: \S+: .*404/m);
  await command(root, args, { environment });
  const whole = await command(root, [...args, '--json'], { environment });
  t.deepEqual([whole.code, JSON.parse(whole.stdout).missing_files], [0, []]);
  sameContent(t, await logicalContent(root), await contentOfFiles(files));
});

/** A GRIB2 file of another time: year to second stand at octets 13 to 19 of section 1, which begins at byte 16. */
async function withTime(file: SourceFile, time_ms: number): Promise<Buffer> {
  const bytes = gunzipSync(await fs.readFile(file.location));
  const at = new Date(time_ms);
  bytes.writeUInt16BE(at.getUTCFullYear(), 28);
  bytes.set([at.getUTCMonth() + 1, at.getUTCDate(), at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()], 30);
  return gzipSync(bytes);
}
