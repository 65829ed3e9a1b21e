import fs from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { planText } from '../../../pipeline/commands/ingest-text.ts';
import type { Config } from '../../../pipeline/config.ts';
import { filesBelow } from '../../../pipeline/files.ts';
import { takeLock } from '../../../pipeline/publish/lock.ts';
import { planIngest } from '../../../pipeline/run/plan-ingest.ts';
import { bucketKey } from '../../../pipeline/sources/names.ts';
import { SCAN_PRODUCTS } from '../../../pipeline/sources/plan.ts';
import { startBucket } from '../../support/data/bucket-server.ts';
import { published, without } from '../../support/data/published-scans.ts';
import { scansBetween } from '../../support/data/small-world.ts';
import { put, tinyGrid } from '../../support/data/source-files.ts';
import { altered, deliver, filesOf, ingest, NOW_MS, type RawScan, scratch } from '../../support/data/world.ts';
import { command } from '../../support/kill/killed.ts';

const evening = () => scansBetween('00:00', '00:10');

const settings = (data_root: string, mrms_url = 'https://mrms.example', now_ms = NOW_MS): Config => ({
  data_root,
  mrms_url,
  web: { spc_url: '', lsr_url: '', nws_url: '', user_agent: 'test' },
  model: { name: 'hrrr', url: '' },
  storm_day_start_hour: 0,
  raw_keep_days: null,
  reflectivity_keep_hours: 0,
  clock_is_fixed: true,
  metrics: { host: '127.0.0.1', port: null, folder: null },
  log_level: 'silent',
  now: () => now_ms,
});

async function delivered(t: ExecutionContext, scans: readonly RawScan[]): Promise<string> {
  return deliver(await scratch(t, 'from'), filesOf(scans));
}

/** Files of a data root with their times. */
async function stateOf(root: string): Promise<string[]> {
  const names = await filesBelow(root);
  return Promise.all(names.map(async (name) => `${name} ${(await fs.stat(join(root, name))).mtimeMs}`));
}

test('on an empty root every scan is new, with the names of its files, and nothing is written', async (t) => {
  const scans = await evening();
  const folder = await delivered(t, scans);
  const root = await scratch(t);
  const plan = await planIngest(settings(root), { kind: 'dir', folder });
  t.deepEqual(
    plan.scans.map(({ scan_id, status, stretch, storm_date, mesh }) => [scan_id, status, stretch, storm_date, mesh]),
    scans.map(({ scan_id, files: [mesh] }) => [scan_id, 'new', 1, '2026-05-02', mesh?.name]),
  );
  t.is(plan.scans[0]?.companions.vil_kg_m2, scans[0]?.files.find(({ product }) => product === 'VIL')?.name ?? '');
  t.deepEqual([plan.source, plan.files, plan.to_fetch], ['dir', [], 0]);
  await t.throwsAsync(fs.stat(root), { code: 'ENOENT' });
});

test('a late scan is planned as the run then makes it, while the root is locked and stays as it is', async (t) => {
  const scans = await evening();
  const { root } = await published(t, without(scans, 1));
  const folder = await delivered(t, scans);
  const lock = takeLock(root, 'another pipeline', NOW_MS);
  const before = await stateOf(root);
  const plan = await planIngest(settings(root), { kind: 'dir', folder });
  t.deepEqual(await stateOf(root), before);
  lock.release();
  const statuses = plan.scans.map(({ status }) => status);
  const run = await ingest(root, scans);
  t.deepEqual(
    ['new', 'redo', 'published'].map((word) => statuses.filter((status) => status === word).length),
    [run.scans, run.redone, run.skipped],
  );
  t.is(plan.scans.find(({ status }) => status === 'new')?.scan_id, scans[1]?.scan_id);
  const again = await planIngest(settings(root), { kind: 'dir', folder });
  t.deepEqual([...new Set(again.scans.map(({ status }) => status))], ['published']);
});

test('files that no scan is made from are named with their status', async (t) => {
  const scans = (await evening()).slice(0, 2);
  const [mesh, vil] = [scans[0]?.files[0], scans[1]?.files.find(({ product }) => product === 'VIL')];
  if (mesh === undefined || vil === undefined) return t.fail();
  const folder = await delivered(t, scans);
  await deliver(join(folder, 'twice'), [vil]);
  await altered(join(folder, 'other'), mesh, gzipSync(Buffer.from('another content')));
  await put(folder, 'MRMS_MESH_Max_60min_00.50_20260502-000000.grib2.gz', tinyGrid('unused'));
  await put(folder, 'MRMS_MESH_00.50_20260502-013000.grib2.gz', tinyGrid('ahead of the clock'));
  await put(folder, 'notes.txt', 'unknown');
  const plan = await planIngest(settings(await scratch(t)), { kind: 'dir', folder });
  t.deepEqual(
    plan.files.map(({ file, status }) => [status, file]),
    [
      ['deferred', 'MRMS_MESH_00.50_20260502-013000.grib2.gz'],
      ['contradicting', `other/${mesh.name}`],
      ['duplicate', `twice/${vil.name}`],
      ['unused', 'MRMS_MESH_Max_60min_00.50_20260502-000000.grib2.gz'],
    ],
  );
  t.regex(plan.files[0]?.reason ?? '', /is ahead of the clock/);
  t.deepEqual(plan.unknown_files, ['notes.txt']);
});

test('grids of regions beside CONUS are unknown names', async (t) => {
  const folder = await scratch(t, 'from');
  const grid = 'MESH_00.50/20260501/MRMS_MESH_00.50_20260501-013000.grib2';
  const names = [`ALASKA/${grid}`, `CONUS/${grid}`];
  for (const name of names) await put(folder, name, tinyGrid('any'));
  const plan = await planIngest(settings(await scratch(t)), { kind: 'dir', folder });
  t.is(plan.scans.length, 1);
  t.deepEqual(plan.unknown_files, [names[0]]);
});

test('a file that a run rejected is planned as rejected', async (t) => {
  const scans = (await evening()).slice(0, 2);
  const mesh = scans[1]?.files[0];
  if (mesh === undefined) return t.fail();
  const folder = await delivered(t, scans.slice(0, 1));
  const bad = await altered(folder, mesh, gzipSync(Buffer.from('no grid')));
  const root = await scratch(t);
  await ingest(root, [...filesOf(scans.slice(0, 1)), bad]);
  const plan = await planIngest(settings(root), { kind: 'dir', folder });
  t.deepEqual(plan.files, [{ file: bad.name, status: 'rejected', reason: 'was rejected before' }]);
});

test('a UTC date of the bucket is planned from its listing: no file is fetched', async (t) => {
  const [first, second] = (await evening()).slice(0, 2);
  if (first === undefined || second === undefined) return t.fail();
  const { root } = await published(t, [first]);
  const objects = [first, second].flatMap(({ files }) =>
    files.map(async ({ product, time_ms, location }) => [bucketKey(product, time_ms), await fs.readFile(location)]),
  );
  const bucket = await startBucket({ objects: Object.fromEntries(await Promise.all(objects)), pageSize: 100 });
  t.teardown(bucket.close);
  const source = { kind: 'noaa', date: '2026-05-02', products: SCAN_PRODUCTS } as const;
  const before = await stateOf(root);
  const plan = await planIngest(settings(root, bucket.url), source);
  t.is(plan.scans.find(({ scan_id }) => scan_id === second.scan_id)?.status, 'new');
  t.true(plan.to_fetch >= second.files.length);
  t.true(bucket.requests.every((request) => request.startsWith('GET list ')));
  t.deepEqual(await stateOf(root), before);
});

test('the plan is a table for people of 80 columns', async (t) => {
  const scans = (await evening()).slice(0, 2);
  const plan = await planIngest(settings(await scratch(t)), { kind: 'dir', folder: await delivered(t, scans) });
  const [summary, rest, limit, , head, first] = planText(plan).split('\n');
  t.is(
    `${summary} ${rest}`,
    'Would publish 2 new scans and make 0 published scans again; 0 scans published already. Nothing was written.',
  );
  t.is(limit, 'Files were not decoded: the run may still reject some.');
  t.regex(head ?? '', /^stretch {2}storm date {2}scan +status +companions +ProbSevere$/);
  t.regex(first ?? '', new RegExp(`^ +1 {2}2026-05-02 {2}${scans[0]?.scan_id} {2}new +[0-9] of 8 +(yes|no)$`));
});

test('a reason of the plan stands below what it explains and breaks at 80 columns', async (t) => {
  const scans = (await evening()).slice(0, 1);
  const plan = await planIngest(settings(await scratch(t)), { kind: 'dir', folder: await delivered(t, scans) });
  const reason = `follows 20260502T000039Z, ${'for a long reason '.repeat(8)}`.trim();
  const text = planText({
    ...plan,
    scans: plan.scans.map((scan) => ({ ...scan, status: 'redo' as const, reason })),
    files: [{ file: 'a/MRMS_VIL.grib2.gz', status: 'contradicting', reason }],
    unknown_files: ['hello.txt'],
    unreadable_files: [{ key: 'b/closed', reason }],
  });
  t.true(text.split('\n').every((line) => line.length <= 80));
  t.is(text.replace(/\s+/g, ' ').split(reason).length, 4);
});

test('ingest --plan prints the plan of a folder as one JSON object and writes nothing', async (t) => {
  const scans = (await evening()).slice(0, 2);
  const root = await scratch(t);
  const run = await command(root, ['ingest', '--plan', '--json', '--from', await delivered(t, scans)]);
  t.is(run.code, 0, run.stderr);
  const plan = JSON.parse(run.stdout);
  t.deepEqual(
    plan.scans.map(({ scan_id, status }: { scan_id: string; status: string }) => [scan_id, status]),
    scans.map(({ scan_id }) => [scan_id, 'new']),
  );
  await t.throwsAsync(fs.stat(root), { code: 'ENOENT' });
});

for (const [args, problem] of [
  [['ingest', '--plan'], /--plan needs --from FOLDER or --date YYYY-MM-DD/],
  [['ingest', '--plan', '--replace', '--from', '/x'], /--plan does not go with --replace/],
] as const)
  test(`${args.join(' ')} is refused with exit code 2`, async (t) => {
    const run = await command(await scratch(t), args);
    t.is(run.code, 2);
    t.regex(run.stderr, problem);
  });
