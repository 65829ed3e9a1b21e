import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { filesBelow } from '../../../pipeline/files.ts';
import { isDerivationDue } from '../../../pipeline/publish/commit-dates.ts';
import { readHead, readNewest } from '../../../pipeline/publish/manifests.ts';
import { READERS_GRACE_MIN } from '../../../pipeline/publish/sweep.ts';
import type { ReadPool } from '../../../pipeline/scans/read-pool.ts';
import { readAndPaint } from '../../../pipeline/scans/read-pool.ts';
import type { SourceFile } from '../../../pipeline/sources/names.ts';
import type { Manifest } from '../../../schemas/manifest.ts';
import { MS_PER_HOUR, scanId, scanTime } from '../../../schemas/time.ts';
import { scansBetween } from '../../support/data/small-world.ts';
import { ingest, NOW_MS, onRoot, type RawScan, scratch } from '../../support/data/world.ts';
import { faultsOf } from '../../support/kill/killed.ts';

const DATE = '2026-05-02';
const KEEP = { reflectivity_keep_hours: 48 };
const isComposite = ({ product }: SourceFile) => product === 'MergedReflectivityQCComposite';

const listOf = async (root: string) => (await readNewest(root, DATE)) as Manifest;
const archivesOf = ({ files }: Manifest) => files.filter(({ kind }) => kind === 'reflectivity-tiles');
const scansOf = (list: Manifest) => archivesOf(list).map(({ first_scan }) => first_scan);
const inFolder = async (root: string) =>
  (await filesBelow(join(root, 'tiles'))).filter((name) => /^reflectivity/.test(name));

/** A pool that notes the scans whose reflectivity it paints. */
function notingPool(): { readonly painted: string[]; readonly readPool: ReadPool } {
  const painted: string[] = [];
  const read: ReadPool['read'] = (request) => {
    if (request.paints_reflectivity === true) painted.push(scanId(request.scan_time));
    return readAndPaint(request);
  };
  return { painted, readPool: { read, close: async () => {} } };
}

/** Four scans, and the composite of the second, which comes late. */
async function lateComposite(t: ExecutionContext) {
  const scans = await scansBetween('00:00', '00:09');
  const late = (scans[1] as RawScan).files.find(isComposite) as SourceFile;
  const files = scans.flatMap((scan) => scan.files).filter((file) => file !== late);
  return { root: await scratch(t), files, late, ids: scans.map(({ scan_id }) => scan_id) };
}

test('each scan with the product has an archive of its reflectivity, one without has none', async (t) => {
  const scans = await scansBetween('00:00', '00:09');
  const root = await scratch(t);
  const [first, ...rest] = scans as [RawScan, ...RawScan[]];
  await ingest(
    root,
    [...first.files.filter((file) => !isComposite(file)), ...rest.flatMap(({ files }) => files)],
    KEEP,
  );
  const list = await listOf(root);
  t.deepEqual(
    scansOf(list),
    rest.map(({ scan_id }) => scan_id),
  );
  t.deepEqual(
    list.scans.map(({ reflectivity }) => reflectivity !== undefined),
    scans.map((scan) => scan !== first),
  );
  for (const { path } of archivesOf(list))
    t.regex(path, /^tiles\/reflectivity\/date=2026-05-02\/\d{8}T\d{6}Z-[0-9a-f]{8}\.pmtiles$/);
  t.is((await readHead(root, DATE))?.reflectivity_archives, rest.length);
  t.deepEqual(await faultsOf(root), []);
});

test('a composite that comes late is painted, and those of the scans made again with it are not', async (t) => {
  const { root, files, late, ids } = await lateComposite(t);
  await ingest(root, files, KEEP);
  const before = await listOf(root);
  const older = (before.scans.find(({ scan_id }) => scan_id === ids[1]) as Manifest['scans'][number]).reflectivity;
  const { painted, readPool } = notingPool();
  const run = await ingest(root, [late], { ...KEEP, readPool });
  t.is(run.redone, ids.length);
  t.deepEqual(painted, [ids[1]]);
  const after = await listOf(root);
  t.deepEqual(scansOf(after).sort(), ids);
  t.not((after.scans.find(({ scan_id }) => scan_id === ids[1]) as Manifest['scans'][number]).reflectivity, older);
  const others = (list: Manifest) => archivesOf(list).filter(({ first_scan }) => first_scan !== ids[1]);
  t.deepEqual(others(after), others(before));
  t.deepEqual(await faultsOf(root), []);
});

test('a date that is closed keeps its archives, until they are off its manifest and nobody can still read them', async (t) => {
  const scans = await scansBetween('00:00', '00:09');
  const root = await scratch(t);
  await ingest(root, scans, KEEP);
  const closed_ms = Date.parse('2026-05-03T01:00:00Z');
  await ingest(root, [], { ...KEEP, now_ms: closed_ms });
  const closed = await listOf(root);
  t.true(closed.closed);
  t.is(archivesOf(closed).length, scans.length);

  const timeOf = (scan: RawScan | undefined) => scanTime((scan as RawScan).scan_id);
  const keep_hours = (timeOf(scans.at(-1)) - timeOf(scans[1])) / MS_PER_HOUR;
  // Counted from the newest scan: a clock that is years ahead takes none of the others off the manifest.
  const now_ms = closed_ms + 2 * 365 * 24 * MS_PER_HOUR;
  await onRoot(root, { now_ms }, async ({ root: open }) => {
    const months = async () => (await readNewest(root, 'month-2026-05'))?.commit;
    const joined = await open.compactMonth('2026-05', now_ms);
    const month = await months();
    t.is(await open.expireReflectivity(keep_hours, now_ms), 2);
    t.is(await open.expireReflectivity(keep_hours, now_ms), 0);
    t.deepEqual(
      scansOf(await listOf(root)),
      scans.slice(2).map(({ scan_id }) => scan_id),
    );
    t.true(joined);
    t.false(await open.compactMonth('2026-05', now_ms), 'no row of the month has changed');
    t.is(await months(), month);
    t.false([...open.heads.values()].some(isDerivationDue));
    const listed_ms = Date.now();
    await open.sweep(listed_ms, null);
    t.is((await inFolder(root)).length, scans.length, 'a reader may hold the list before');
    await open.sweep(listed_ms + (READERS_GRACE_MIN + 1) * 60_000, null);
    t.is((await inFolder(root)).length, scans.length - 2);
  });
  t.deepEqual(await faultsOf(root), []);
});

test('nothing is painted when none is kept, nor of scans that are too old; what was painted goes at the next look', async (t) => {
  const scans = await scansBetween('00:00', '00:09');
  const root = await scratch(t);
  await ingest(root, scans.slice(0, 2), { reflectivity_keep_hours: 0 });
  t.deepEqual(await inFolder(root), []);
  t.false('reflectivity_archives' in ((await readHead(root, DATE)) ?? {}));
  await ingest(root, scans, { ...KEEP, now_ms: NOW_MS + 48 * MS_PER_HOUR });
  t.deepEqual(await inFolder(root), []);
  await onRoot(root, KEEP, ({ session }) => session.rebuild(DATE));
  t.is(scansOf(await listOf(root)).length, scans.length);
  await onRoot(root, { reflectivity_keep_hours: 0 }, ({ session }) => session.expireReflectivity());
  t.deepEqual(scansOf(await listOf(root)), []);
  t.deepEqual(await faultsOf(root), []);
});

test('an archive of reflectivity that is of no scan of its manifest is a fault', async (t) => {
  const root = await scratch(t);
  await ingest(root, await scansBetween('00:00', '00:09'), KEEP);
  const list = await listOf(root);
  const [archive] = archivesOf(list) as [Manifest['files'][number]];
  const other = { ...archive, first_scan: '20260502T003000Z' };
  const path = join(root, `manifests/${DATE}/${String(list.commit).padStart(6, '0')}.json`);
  await fs.writeFile(
    path,
    JSON.stringify({ ...list, files: list.files.map((file) => (file === archive ? other : file)) }),
  );
  t.deepEqual(await faultsOf(root), [`${archive.path}: is of scan 20260502T003000Z, expected one of the list`]);
});
