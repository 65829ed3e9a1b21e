import fs from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import test from 'ava';
import { openEngine } from '../../../pipeline/duckdb.ts';
import { compactDay } from '../../../pipeline/publish/compact.ts';
import { readNewest, tablePaths } from '../../../pipeline/publish/manifests.ts';
import { allRows } from '../../../pipeline/publish/merge.ts';
import { readRows } from '../../../pipeline/publish/tables.ts';
import { listFolder } from '../../../pipeline/sources/folder.ts';
import { type Detection, detections } from '../../../schemas/tables/radar.ts';
import { contentOf, contentOfFiles, logicalContent, sameContent } from '../../support/data/content.ts';
import { publishDays } from '../../support/data/published-days.ts';
import { published, without } from '../../support/data/published-scans.ts';
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

test('the evening has storms, tracks and tiers on both sides of midnight', async (t) => {
  const content = await contentOf(await aroundMidnight());
  for (const date of ['2026-05-01', '2026-05-02'])
    for (const table of ['detections', 'cells', 'tracks', 'day-max', 'swaths', 'event-days'])
      t.true((content[`${date} ${table}`]?.length ?? 0) > 0, `${date} ${table}`);
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

test('scans that arrive one by one in reversed order give the content of the right order', async (t) => {
  const scans = await aroundMidnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans.toReversed()) await session.ingest(scan.files);
    await session.finishDates();
  });
  sameContent(t, await logicalContent(root), content);
});

test('scans published one by one give the content of scans published by the hour', async (t) => {
  const scans = await aroundMidnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans) await session.ingest(scan.files);
    await session.finishDates();
  });
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

test('new scans after a redo that ended with its date remember the scans before them', async (t) => {
  const scans = await aroundMidnight();
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans.slice(0, 4)) await session.ingest(scan.files);
  });
  const anew = await packedAnew(t, scans[1]);
  const run = await ingest(root, [anew, ...filesOf(scans.slice(4))]);
  t.deepEqual([run.scans, run.redone], [scans.length - 4, 2]);
  sameContent(t, await logicalContent(root), await contentOfFiles([...filesOf(scans), anew]));
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

test('files that come twice in one folder are duplicates and change nothing', async (t) => {
  const scans = await aroundMidnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  const from = await scratch(t, 'from');
  await deliver(join(from, 'one'), filesOf(scans));
  await deliver(join(from, 'two'), filesOf(scans));
  const run = await ingest(root, (await listFolder(from)).files);
  t.is(run.duplicates, filesOf(scans).length);
  sameContent(t, await logicalContent(root), content);
});

test('two files of one time that say different things are named: the one that goes first by content is used, wherever they lie', async (t) => {
  const [scan, other] = await scansBetween('00:00', '00:04');
  const [mesh, later] = [scan?.files[0], other?.files[0]];
  if (mesh === undefined || later === undefined) return t.fail();
  // Bytes behind the end of a GRIB message are no fault: the same scan in two contents of one size.
  const grid = gunzipSync(await fs.readFile(mesh.location));
  const [one, two] = [await scratch(t, 'one'), await scratch(t, 'two')];
  const pack = (tail: string) => gzipSync(Buffer.concat([grid, Buffer.from(tail)]), { level: 0 });
  const contents: string[] = [];
  for (const [first, second] of [
    [one, two],
    [two, one],
  ]) {
    const files = [await altered(first as string, mesh, pack('a')), await altered(second as string, mesh, pack('b'))];
    const root = await scratch(t);
    const run = await ingest(root, [...files, ...(scan?.files.slice(1) ?? [])]);
    t.deepEqual([run.scans, run.duplicates], [1, 0]);
    t.deepEqual(
      run.rejected.map(({ file }) => file),
      [mesh.name],
    );
    t.regex(
      run.rejected[0]?.reason ?? '',
      /^holds other content than '.*' of the same product and time, which is used/,
    );
    const [kept] = (await listFolder(join(root, 'archive', 'simulated'))).files.filter(
      ({ name }) => name === mesh.name,
    );
    contents.push(
      gunzipSync(await fs.readFile(kept?.location ?? ''))
        .subarray(-1)
        .toString(),
    );
    t.deepEqual((await ingest(root, files)).rejected, []);
  }
  t.is(contents[0], contents[1]);
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

test('a redo ends with its date when the tracks come out the same, and the date after stays', async (t) => {
  const scans = await aroundMidnight();
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans) await session.ingest(scan.files);
  });
  const before = (await readNewest(root, '2026-05-02'))?.scans;
  const run = await ingest(root, [await packedAnew(t, scans[1])]);
  t.deepEqual([run.scans, run.redone, run.dates], [0, 2, ['2026-05-01']]);
  t.deepEqual((await readNewest(root, '2026-05-02'))?.scans, before);
});

test('a late scan beyond a gap of 30 minutes touches nothing of the other stretch', async (t) => {
  const early = await scansBetween('23:28', '23:34');
  const later = await scansBetween('00:10', '00:14');
  const { root } = await published(t, [...without(early, 1), ...later]);
  const before = await readNewest(root, '2026-05-02');
  const run = await ingest(root, early.slice(1, 2));
  t.is(run.scans, 1);
  t.deepEqual(run.dates, ['2026-05-01']);
  const after = await readNewest(root, '2026-05-02');
  t.is(after?.commit, before?.commit);
  const content = await contentOf([...early, ...later]);
  sameContent(t, await logicalContent(root), content);
});

test('a scan that bridges a gap joins the two stretches', async (t) => {
  const early = await scansBetween('23:28', '23:34');
  const bridge = await scansBetween('23:50', '23:54');
  const later = await scansBetween('00:10', '00:14');
  const { root } = await published(t, [...early, ...later]);
  await ingest(root, bridge);
  // What is filled in between two scans lies before the first scan of a file, and is no fault.
  t.deepEqual(await faultsOf(root), []);
  const content = await contentOf([...early, ...bridge, ...later]);
  sameContent(t, await logicalContent(root), content);
});

test('segments of a finished hour are joined; those of the hour of the newest scan are left alone', async (t) => {
  const scans = await aroundMidnight();
  const settings = { each_scan: true, storm_day_start_hour: 12 };
  const root = await scratch(t);
  await onRoot(root, settings, async ({ session }) => {
    for (const scan of scans) await session.ingest(scan.files);
    await session.finishDates();
  });
  const segments = (await readNewest(root, '2026-05-01'))?.scans.map(({ segment }) => segment) ?? [];
  const [before, after] = [segments.slice(0, 3), segments.slice(3)];
  t.deepEqual([new Set(before).size, new Set(after).size], [1, scans.length - 3]);
  sameContent(t, await logicalContent(root), await contentOfFiles(filesOf(scans), { storm_day_start_hour: 12 }));
});

test('a scan that comes late for a closed date opens it, and settling closes it again with the content of the right order', async (t) => {
  const scans = await aroundMidnight();
  const content = await contentOf(scans);
  const { root } = await published(t, without(scans, 4), MONTH_LATER_MS);
  await ingest(root, scans.slice(4, 5), { now_ms: MONTH_LATER_MS });
  t.true((await readNewest(root, '2026-05-01'))?.closed);
  t.true((await readNewest(root, '2026-05-02'))?.closed);
  sameContent(t, await logicalContent(root), content);
});

test('settling what was committed but not drawn happens in the next run, although it has nothing to ingest', async (t) => {
  const scans = await aroundMidnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  await onRoot(root, {}, ({ session }) => session.ingest(filesOf(scans)));
  await ingest(root, scans);
  sameContent(t, await logicalContent(root), content);
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

test('with storm days that start at 12 UTC the evening is one storm date, and works the same', async (t) => {
  const scans = await scansBetween('23:56', '00:04');
  const settings = { storm_day_start_hour: 12 };
  const [whole, reversed] = [await scratch(t), await scratch(t)];
  await ingest(whole, scans, settings);
  for (const scan of scans.toReversed()) await ingest(reversed, [scan], settings);
  const content = await logicalContent(whole);
  t.deepEqual(
    Object.keys(content).filter((part) => part.endsWith(' scans')),
    ['2026-05-01 scans'],
  );
  sameContent(t, await logicalContent(reversed), content);
  await t.throwsAsync(ingest(whole, scans), { message: /start at 12 UTC, expected 0/ });
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

test('a stream goes on after scans of the other kind of a published date, takes the simulated twin of one, and names each', async (t) => {
  const scans = await scansBetween('00:00', '00:10');
  const { root } = await published(t, scans.slice(0, 1));
  const strays = await asObserved(t, scans.slice(1, 3));
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    const first = await session.ingest(filesOf(strays));
    t.deepEqual([first.scans, first.rejected.length], [0, 2]);
    const second = await session.ingest(filesOf([...strays, ...scans.slice(1)]));
    t.is(second.scans, scans.length - 1);
    // Their companions contradict the simulated twins of the same names; the scans themselves were refused before.
    t.true(
      second.rejected.every(
        ({ file, reason }) => !file.includes('_MESH_') && /^(observed data|holds other)/.test(reason),
      ),
    );
    await session.finishDates();
  });
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('files that were refused for the kind of their date are judged anew once the date holds the other kind', async (t) => {
  const scans = await scansBetween('00:00', '00:10');
  const observed = await asObserved(t, scans);
  const { root } = await published(t, scans.slice(0, 2));
  const run = await ingest(root, filesOf(observed), { each_scan: true });
  t.is(run.scans, 0);
  // With them go companions that come as corrections of published ones.
  t.deepEqual(
    run.rejected
      .map(({ file }) => file)
      .filter((name) => name.includes('_MESH_'))
      .sort(),
    observed.map(({ files: [mesh] }) => mesh?.name),
  );
  t.true(run.rejected.every(({ reason }) => /^observed data, expected simulated data/.test(reason)));
  await onRoot(root, {}, async ({ session }) => {
    await session.replace(filesOf(observed));
    await session.ingest(filesOf(observed));
    await session.finishDates();
  });
  sameContent(t, await logicalContent(root), await contentOfFiles(filesOf(observed)));
});

test('a date that was given over to the other kind takes that kind alone from then on', async (t) => {
  const scans = await scansBetween('00:00', '00:10');
  const observed = await asObserved(t, scans);
  const { root } = await published(t, scans.slice(0, 2));
  await onRoot(root, {}, async ({ session }) => {
    await session.ingest(scans.slice(2, 3).flatMap(({ files }) => files));
    await session.replace(filesOf(observed));
    const mixed = [...filesOf(observed.slice(0, 1)), ...filesOf(scans.slice(1, 2))];
    const { rejected } = await session.ingest(mixed);
    t.deepEqual(
      rejected.map(({ file }) => file),
      [scans[1]?.files[0]?.name],
    );
    await session.ingest(filesOf(observed));
    await session.finishDates();
  });
  sameContent(t, await logicalContent(root), await contentOfFiles(filesOf(observed)));
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

/** The MESH file of a scan packed anew: a larger file takes the place of a smaller one, and what it says is the same. */
async function packedAnew(t: Parameters<typeof scratch>[0], scan: RawScan | undefined) {
  const mesh = scan?.files[0] as RawScan['files'][number];
  const packed = gzipSync(gunzipSync(await fs.readFile(mesh.location)), { level: 0 });
  // The name of a file in the header of gzip (flag 8): a longer file with the same content, however well it packs.
  const anew = Buffer.concat([packed.subarray(0, 3), Buffer.of(8), packed.subarray(4, 10), Buffer.from('anew\0')]);
  return altered(await scratch(t, 'anew'), mesh, Buffer.concat([anew, packed.subarray(10)]));
}

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
