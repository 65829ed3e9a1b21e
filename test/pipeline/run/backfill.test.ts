import fs from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { readConfig } from '../../../pipeline/config.ts';
import { filesBelow } from '../../../pipeline/files.ts';
import { type Log, silent } from '../../../pipeline/log.ts';
import { backfillRoot } from '../../../pipeline/run/backfill.ts';
import { estimateBackfill, planBackfill } from '../../../pipeline/run/backfill-plan.ts';
import type { BackfillSource } from '../../../pipeline/run/storm-date-files.ts';
import { bucketKey } from '../../../pipeline/sources/names.ts';
import { startBucket } from '../../support/data/bucket-server.ts';
import { logicalContent, sameContent } from '../../support/data/content.ts';
import { aroundMidnight } from '../../support/data/small-world.ts';
import {
  altered,
  asObserved,
  deliver,
  filesOf,
  preparedMonth,
  publishedRoot,
  scratch,
} from '../../support/data/world.ts';

const RANGE = { from: '2026-05-01', to: '2026-05-02' } as const;

/** Settings of a data root at a time when both dates of the evening are over. */
const configOf = (root: string, more: Readonly<Record<string, string>> = {}) =>
  readConfig({ HAIL_DATA: root, HAIL_NOW: '2026-06-02T12:00:00Z', HAIL_REFLECTIVITY_KEEP_HOURS: '0', ...more });

async function folderSource(t: ExecutionContext): Promise<BackfillSource> {
  return { kind: 'dir', folder: await deliver(await scratch(t, 'from'), filesOf(await aroundMidnight())) };
}

const run = (
  config: ReturnType<typeof configOf>,
  source: BackfillSource,
  more: { log?: Log; signal?: AbortSignal } = {},
) => backfillRoot(config, { source, ...RANGE, threads: 1, log: silent, ...more });

test('a backfill of two dates gives the content of one ingest, tracks over midnight included', async (t) => {
  const root = await scratch(t);
  const report = await run(configOf(root), await folderSource(t));
  t.deepEqual(
    report.dates.map(({ storm_date, status, scans }) => [storm_date, status, scans]),
    [
      ['2026-05-01', 'done', 3],
      ['2026-05-02', 'done', 3],
    ],
  );
  sameContent(t, await logicalContent(root), await logicalContent(await preparedMonth(await aroundMidnight())));
});

test('a backfill that ended after a date goes on with the next one, and a third run makes nothing', async (t) => {
  const root = await scratch(t);
  const source = await folderSource(t);
  const stop = new AbortController();
  const log = { ...silent, info: (event: string) => event === 'Backfill:Date:Done' && stop.abort() };
  const first = await run(configOf(root), source, { log, signal: stop.signal });
  t.deepEqual(
    first.dates.map(({ status }) => status),
    ['done'],
  );
  const statuses = async () => (await run(configOf(root), source)).dates.map(({ status }) => status);
  t.deepEqual(await statuses(), ['published', 'done']);
  t.deepEqual(await statuses(), ['published', 'published']);
  sameContent(t, await logicalContent(root), await logicalContent(await preparedMonth(await aroundMidnight())));
});

test('a date that holds data of the other kind fails alone, with the reason', async (t) => {
  const scans = await aroundMidnight();
  const root = await publishedRoot(t, (await asObserved(t, scans)).slice(0, 3));
  const { dates } = await run(configOf(root), await folderSource(t));
  t.deepEqual(
    dates.map(({ status }) => status),
    ['failed', 'done'],
  );
  t.regex(dates[0]?.reason ?? '', /2026-05-01: holds observed data and .* is simulated/);
});

test('a backfill of fewer scans leaves those that are published', async (t) => {
  const scans = await aroundMidnight();
  const root = await publishedRoot(t, scans);
  const folder = await deliver(await scratch(t, 'fewer'), filesOf(scans.slice(1, 2)));
  await run(configOf(root), { kind: 'dir', folder });
  sameContent(t, await logicalContent(root), await logicalContent(await preparedMonth(scans)));
});

test('a backfill from the bucket fetches every file once, and a later run lists only', async (t) => {
  const scans = await asObserved(t, await aroundMidnight());
  const meshes = scans.flatMap(({ files }) => files.filter(({ product }) => product === 'MESH'));
  const objects = await Promise.all(
    meshes.map(async ({ time_ms, location }) => [bucketKey('MESH', time_ms), await fs.readFile(location)] as const),
  );
  const bucket = await startBucket({ objects: Object.fromEntries(objects) });
  t.teardown(bucket.close);
  const config = configOf(await scratch(t), { HAIL_MRMS_URL: bucket.url });
  const source = { kind: 'noaa', products: ['MESH'] } as const;
  const fetched = () => bucket.requests.filter((request) => !request.startsWith('GET list')).length;
  const first = await run(config, source);
  t.deepEqual([first.scans, fetched()], [6, 6]);
  const second = await run(config, source);
  t.deepEqual([second.scans, fetched()], [0, 6]);
});

test('a date whose files the bucket does not deliver fails, and the next run fetches them', async (t) => {
  const [scan] = await asObserved(t, await aroundMidnight());
  const mesh = scan?.files.find(({ product }) => product === 'MESH');
  if (mesh === undefined) throw new Error('the evening has no scan');
  const key = bucketKey('MESH', mesh.time_ms);
  const bucket = await startBucket({ objects: { [key]: await fs.readFile(mesh.location) } });
  t.teardown(bucket.close);
  bucket.fail(key, { kind: 'status', status: 403 });
  const config = configOf(await scratch(t), { HAIL_MRMS_URL: bucket.url });
  const source = { kind: 'noaa', products: ['MESH'] } as const;
  const [failed] = (await run(config, source)).dates;
  t.is(failed?.status, 'failed');
  t.regex(failed?.reason ?? '', /none of 1 files could be fetched/);
  t.is((await run(config, source)).scans, 1);
});

test('the files of a folder by date are read on the dates of the range only', async (t) => {
  const folder = await scratch(t, 'by-date');
  for (const file of filesOf(await aroundMidnight()))
    if (file.product === 'MESH')
      await altered(`${folder}/MESH/${dayOf(file.time_ms)}`, file, await fs.readFile(file.location));
  // A link to itself is reported wherever it is seen.
  const circular = `${folder}/MESH/20250101/MRMS_MESH_00.50_20260501-235800.grib2.gz`;
  await fs.mkdir(`${folder}/MESH/20250101`);
  await fs.symlink(circular, circular);
  const { scans, dates } = await run(configOf(await scratch(t)), { kind: 'dir', folder });
  t.is(scans, 6);
  t.deepEqual(
    dates.map(({ missing }) => missing),
    [0, 0],
  );
});

const dayOf = (time_ms: number) => new Date(time_ms).toISOString().slice(0, 10).replaceAll('-', '');

test('the plan of a folder counts its scans and files, and writes nothing', async (t) => {
  const root = await scratch(t);
  await fs.mkdir(root, { recursive: true });
  const source = await folderSource(t);
  const plan = await planBackfill(configOf(root), { source, ...RANGE, workers: 2 });
  t.deepEqual([plan.dates, plan.scans, plan.source_requests], [2, 6, 0]);
  t.deepEqual(await filesBelow(root), []);
});

test('the plan of a year multiplies what its samples hold, and more workers share the hours', (t) => {
  const source = { kind: 'noaa', products: ['MESH', 'POSH'] } as const;
  const samples = [
    { storm_date: '2024-01-01', scans: 710, files: 1420, bytes: 1e9 },
    { storm_date: '2024-12-30', scans: 712, files: 1424, bytes: 3e9 },
  ];
  const cost = { scan_s: 1, date_s: 9, scan_published_bytes: 1e5, scan_objects: 1, date_objects: 9 };
  const one = estimateBackfill(source, 365, samples, 1, cost);
  t.is(one.scans, 365 * 711);
  t.is(one.raw_bytes, 365 * 2e9);
  // Two products, each listed for the date and the one before it, beside a request for every file.
  t.is(one.source_requests, 365 * (1422 + 4));
  t.is(one.published_objects, 365 * 720);
  t.is(one.worker_hours, (365 * 720) / 3600);
  t.is(one.dollars.put_requests, (365 * 720 * 0.005) / 1000);
  t.is(estimateBackfill(source, 365, samples, 4, cost).hours, one.hours / 4);
});
