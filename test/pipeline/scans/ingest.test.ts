import fs from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { openEngine } from '../../../pipeline/duckdb.ts';
import { compactDay } from '../../../pipeline/publish/compact.ts';
import { readNewest, tablePaths } from '../../../pipeline/publish/manifests.ts';
import { allRows } from '../../../pipeline/publish/merge.ts';
import { readRows } from '../../../pipeline/publish/tables.ts';
import { listFolder } from '../../../pipeline/sources/folder.ts';
import { type Detection, detections } from '../../../schemas/tables/radar.ts';
import { contentOf, logicalContent, sameContent } from '../../support/data/content.ts';
import { publishDays } from '../../support/data/published-days.ts';
import { packedAnew, published, without } from '../../support/data/published-scans.ts';
import { dayMaxRow } from '../../support/data/rows.ts';
import { aroundMidnight, midnight, scansBetween } from '../../support/data/small-world.ts';
import { publishBlockage, RING_OF_KTLX } from '../../support/data/terrain.ts';
import {
  altered,
  asObserved,
  deliver,
  filesOf,
  ingest,
  MONTH_LATER_MS,
  onRoot,
  type RawScan,
  scratch,
} from '../../support/data/world.ts';
import { faultsOf } from '../../support/kill/killed.ts';

test('the same input twice is nothing to do and the same content', async (t) => {
  const scans = await aroundMidnight();
  const { root, content } = await published(t, scans);
  const again = await ingest(root, scans);
  t.deepEqual([again.scans, again.redone, again.skipped, again.dates], [0, 0, scans.length, []]);
  sameContent(t, await logicalContent(root), content);
});

test('a folder in two halves gives the content of the folder at once', async (t) => {
  const scans = await aroundMidnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  await ingest(root, scans.slice(0, 4));
  const second = await ingest(root, scans);
  t.deepEqual([second.scans, second.redone], [scans.length - 4, 0]);
  sameContent(t, await logicalContent(root), content);
});

for (const [title, number] of [
  ['first', 0],
  ['last before midnight', 2],
] as const)
  test(`a late scan (${title}) gives the content of the right order`, async (t) => {
    const scans = await aroundMidnight();
    const content = await contentOf(scans);
    const { root } = await published(t, without(scans, number));
    const late = scans[number] as RawScan;
    const run = await ingest(root, [late]);
    t.is(run.scans, 1);
    sameContent(t, await logicalContent(root), content);
  });

test('a late companion makes its scan again and gives the content of the right order', async (t) => {
  const scans = await aroundMidnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  const late = scans[3] as RawScan;
  const companion = late.files.find((file) => file.product === 'VIL');
  await ingest(
    root,
    filesOf(scans).filter((file) => file !== companion),
  );
  const run = await ingest(
    root,
    filesOf([late]).filter((file) => file === companion),
  );
  t.is(run.scans, 0);
  t.true(run.redone > 0);
  sameContent(t, await logicalContent(root), content);
});

test('a companion that comes before any scan of its date waits for the scan it belongs to', async (t) => {
  const scans = await scansBetween('23:50', '23:55');
  const [mesh, ...companions] = filesOf(scans.slice(0, 1));
  const root = await scratch(t);
  const first = await ingest(root, companions);
  t.deepEqual([first.scans, first.unused], [0, companions.length]);
  t.is((await ingest(root, mesh === undefined ? [] : [mesh])).scans, 1);
  sameContent(t, await logicalContent(root), await contentOf(scans.slice(0, 1)));
});

test('one content packed in two ways is a duplicate, and a twin takes the place of a file that cannot be read', async (t) => {
  const [scan] = await scansBetween('00:00', '00:02');
  const mesh = scan?.files[0];
  if (scan === undefined || mesh === undefined) return t.fail();
  const anew = await packedAnew(t, scan);
  const twice = await ingest(await scratch(t), [...scan.files, anew]);
  t.deepEqual([twice.scans, twice.duplicates, twice.rejected], [1, 1, []]);
  const larger = gzipSync(Buffer.alloc(4_000_000, 'no grid'), { level: 0 });
  const broken = await altered(await scratch(t, 'broken'), mesh, larger);
  const rescued = await ingest(await scratch(t), [...scan.files, broken]);
  t.is(rescued.scans, 1);
  t.deepEqual(rescued.rejected.length, 1);
  t.notRegex(rescued.rejected[0]?.reason ?? '', /other content/);
});

test('a month whose join was missed after its dates closed is joined by the next run', async (t) => {
  const scans = await aroundMidnight();
  const { root } = await published(t, scans);
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: opened }) => {
    for (const date of opened.heads.keys()) await compactDay(opened, date, MONTH_LATER_MS);
  });
  await ingest(root, [], { now_ms: MONTH_LATER_MS });
  t.deepEqual(Object.keys((await readNewest(root, 'month-2026-05'))?.dates ?? {}), ['2026-05-01', '2026-05-02']);
  t.deepEqual(await faultsOf(root), []);
});

test('the running month is joined as soon as seven closed dates wait for it', async (t) => {
  const root = await scratch(t);
  const now_ms = Date.parse('2026-05-20T12:00:00Z');
  const dayOf = (storm_date: string) => ({
    storm_date,
    rows: { day_max: [dayMaxRow({ storm_date })], detections: [], cells: [] },
  });
  const joined = async () => Object.keys((await readNewest(root, 'month-2026-05'))?.dates ?? {}).length;
  const dates = Array.from({ length: 7 }, (_, index) => `2026-05-0${index + 1}`);
  await publishDays(root, dates.slice(0, 6).map(dayOf), 'observed', now_ms);
  await ingest(root, [], { now_ms });
  t.is(await joined(), 0);
  await publishDays(root, dates.slice(6).map(dayOf), 'observed', now_ms);
  await ingest(root, [], { now_ms });
  t.is(await joined(), 7);
});

test('the month holds the rows of its closed dates, no more and no less, cut by region', async (t) => {
  const { root } = await published(t, await midnight(), MONTH_LATER_MS);
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const rowsOf = async (partitions: readonly string[]) => {
    const manifests = await Promise.all(partitions.map((partition) => readNewest(root, partition)));
    const paths = manifests.flatMap((manifest) => (manifest === null ? [] : tablePaths(root, manifest, 'day-max')));
    return { files: paths.length, rows: await engine.rows(`${allRows(paths)} ORDER BY ALL`) };
  };
  const days = await rowsOf(['2026-05-01', '2026-05-02']);
  const month = await rowsOf(['month-2026-05']);
  t.deepEqual([days.files, month.files], [2, 2], 'the window lies on both sides of row 2000');
  t.true(days.rows.length > 100);
  t.deepEqual(month.rows, days.rows);
  const places = days.rows as { place_scans: number | null; first_detected: number | null }[];
  t.true(places.every((row) => row.first_detected === null || (row.place_scans ?? 0) > 0));
});

test('rebuilding a date makes its scans again from the raw files that were kept, with the same content', async (t) => {
  const scans = await aroundMidnight();
  const { root, content } = await published(t, scans);
  const run = await onRoot(root, {}, async ({ session }) => {
    const rebuilt = await session.rebuild('2026-05-01');
    await session.finishDates();
    return rebuilt;
  });
  t.is(run.redone, scans.filter(({ scan_id }) => scan_id < '20260502').length);
  sameContent(t, await logicalContent(root), content);
});

for (const [each_scan, at] of [
  [false, 0],
  [false, 1],
  [true, 1],
] as const)
  test(`a scan of the other kind costs itself only, before anything of its date is published (scan ${at}, ${each_scan ? 'scan by scan' : 'by the hour'})`, async (t) => {
    const scans = await scansBetween('00:00', '00:10');
    const stray = (await asObserved(t, scans.slice(at, at + 1)))[0] as RawScan;
    const root = await scratch(t);
    const run = await ingest(root, scans.with(at, stray), { each_scan });
    t.is(run.scans, scans.length - 1);
    t.deepEqual(
      run.rejected.map(({ file }) => file),
      [stray.files[0]?.name],
    );
    t.regex(
      run.rejected[0]?.reason ?? '',
      /^observed data, expected simulated data as storm date 2026-05-02 holds \(.*--replace/,
    );
    t.deepEqual(await faultsOf(root), []);
    // Its companions are kept as what they are, and it is refused once.
    t.is((await listFolder(join(root, 'archive', 'observed'))).files.length, stray.files.length - 1);
    t.deepEqual((await ingest(root, [stray, ...scans.slice(2)], { each_scan })).rejected, []);
    await ingest(root, scans.slice(at, at + 1), { each_scan });
    sameContent(t, await logicalContent(root), await contentOf(scans));
  });

test('files of an inbox leave it once they are kept; nothing of a scan is lost', async (t) => {
  const scans = await aroundMidnight();
  const root = await scratch(t);
  const inbox = join(root, 'inbox', 'noaa');
  await deliver(inbox, filesOf(scans));
  const mesh = scans[2]?.files[0];
  if (mesh === undefined) return t.fail();
  await fs.truncate(join(inbox, mesh.name), 300);
  await ingest(root, (await listFolder(inbox)).files, { move_raw: true });
  t.deepEqual((await listFolder(inbox)).files, []);
  const kept = (await listFolder(join(root, 'archive', 'simulated'))).files;
  t.is(kept.length, filesOf(scans).length - 1);
});

test('behind mountains confidence is lower, and nothing else differs', async (t) => {
  const scans = await scansBetween('00:00', '00:06');
  const root = await scratch(t);
  await publishBlockage(root, RING_OF_KTLX);
  await ingest(root, scans);
  const behind = await detectionRows(root);
  const plain = await published(t, scans);
  const free = await detectionRows(plain.root);
  const without_ = (rows: typeof free) => rows.map(({ confidence: _, ...rest }) => rest);
  t.deepEqual(without_(behind), without_(free));
  t.true(behind.every(({ confidence }, row) => confidence <= (free[row]?.confidence ?? 0)));
  t.true(behind.some(({ confidence }, row) => confidence < (free[row]?.confidence ?? 0)));
  t.deepEqual(await faultsOf(root), []);
});

async function detectionRows(root: string): Promise<Detection[]> {
  const engine = await openEngine();
  try {
    const head = await readNewest(root, '2026-05-02');
    return await readRows<Detection>(engine, detections, head === null ? [] : tablePaths(root, head, detections.name));
  } finally {
    engine.close();
  }
}
