import { renameSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import test from 'ava';
import { openEngine } from '../../pipeline/duckdb.ts';
import { BadInput, Conflict, RootLost } from '../../pipeline/error.ts';
import { commitEdits } from '../../pipeline/publish/commit.ts';
import { tablePaths } from '../../pipeline/publish/compact.ts';
import { readNewest } from '../../pipeline/publish/manifests.ts';
import { allRows } from '../../pipeline/publish/merge.ts';
import { filesBelow } from '../../pipeline/publish/store.ts';
import { readRows } from '../../pipeline/publish/tables.ts';
import type { ScanFiles } from '../../pipeline/read/scan.ts';
import { openReading } from '../../pipeline/read-ahead.ts';
import { type Fields, silent } from '../../pipeline/report.ts';
import { readRejections, rejectRaw } from '../../pipeline/sources/archive.ts';
import { listFolder } from '../../pipeline/sources/folder.ts';
import type { SourceFile } from '../../pipeline/sources/names.ts';
import { openPile } from '../../pipeline/sources/pile.ts';
import { planScans } from '../../pipeline/sources/plan.ts';
import { dayMax } from '../../schemas/tables/day-max.ts';
import { type Detection, detections } from '../../schemas/tables/detections.ts';
import { type Content, contentOf, contentOfFiles, logicalContent, sameContent } from '../content.ts';
import { faultsOf } from '../crash/killed.ts';
import { publishDays } from '../published-days.ts';
import { dayMaxRow } from '../rows.ts';
import { publishBlockage, raysOfKtlx } from '../terrain.ts';
import {
  altered,
  asObserved,
  deliver,
  filesOf,
  ingest,
  MONTH_LATER_MS,
  midnight,
  NOW_MS,
  onRoot,
  type RawScan,
  scansBetween,
  scratch,
} from '../world.ts';
import { constantPacking, gribFile, simplePacking } from './read/grib2-files.ts';

/** The scans without some of them, by number. */
function without(scans: readonly RawScan[], ...numbers: number[]): RawScan[] {
  return scans.filter((_, index) => !numbers.includes(index));
}

async function published(t: Parameters<typeof scratch>[0], scans: readonly RawScan[], now_ms = NOW_MS) {
  const root = await scratch(t);
  await ingest(root, scans, { now_ms });
  return { root, content: await logicalContent(root) };
}

test('the same input twice is nothing to do and the same content', async (t) => {
  const scans = await scansBetween('23:50', '00:10');
  const { root, content } = await published(t, scans);
  const again = await ingest(root, scans);
  t.deepEqual([again.scans, again.redone, again.skipped, again.dates], [0, 0, scans.length, []]);
  sameContent(t, await logicalContent(root), content);
});

test('the evening has storms, tracks and tiers on both sides of midnight', async (t) => {
  const content = await contentOf(await midnight());
  for (const date of ['2026-05-01', '2026-05-02'])
    for (const table of ['detections', 'cells', 'tracks', 'day-max', 'swaths', 'event-days'])
      t.true((content[`${date} ${table}`]?.length ?? 0) > 0, `${date} ${table}`);
});

test('a folder in two halves gives the content of the folder at once', async (t) => {
  const scans = await midnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  await ingest(root, scans.slice(0, 7));
  const second = await ingest(root, scans);
  t.deepEqual([second.scans, second.redone], [scans.length - 7, 0]);
  sameContent(t, await logicalContent(root), content);
});

test('scans that arrive one by one in reversed order give the content of the right order', async (t) => {
  const scans = await midnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans.toReversed()) await session.ingest(scan.files);
    await session.settle();
  });
  sameContent(t, await logicalContent(root), content);
});

test('scans published one by one give the content of scans published by the hour', async (t) => {
  const scans = await midnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans) await session.ingest(scan.files);
    await session.settle();
  });
  sameContent(t, await logicalContent(root), content);
});

for (const [title, number] of [
  ['first', 0],
  ['second', 1],
  ['last before midnight', 5],
  ['in the middle', 8],
] as const)
  test(`a late scan (${title}) gives the content of the right order`, async (t) => {
    const scans = await midnight();
    const content = await contentOf(scans);
    const { root } = await published(t, without(scans, number));
    const late = scans[number] as RawScan;
    const run = await ingest(root, [late]);
    t.is(run.scans, 1);
    sameContent(t, await logicalContent(root), content);
  });

test('a late scan together with new ones gives the content of the right order', async (t) => {
  const scans = await midnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of without(scans, 3).slice(0, 8)) await session.ingest(scan.files);
  });
  const run = await ingest(root, scans);
  t.is(run.scans, scans.length - 8);
  sameContent(t, await logicalContent(root), content);
});

test('new scans after a redo that ended early remember the scans before them', async (t) => {
  const scans = await midnight();
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans.slice(0, 8)) await session.ingest(scan.files);
  });
  const anew = await packedAnew(t, scans[3]);
  const run = await ingest(root, [anew, ...filesOf(scans.slice(8))]);
  t.deepEqual([run.scans, run.redone], [scans.length - 8, 1]);
  sameContent(t, await logicalContent(root), await contentOfFiles([...filesOf(scans), anew]));
});

test('a late companion makes its scan again and gives the content of the right order', async (t) => {
  const scans = await midnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  const late = scans[4] as RawScan;
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
  const scans = await scansBetween('23:50', '00:06');
  const content = await contentOf(scans);
  const root = await scratch(t);
  const from = await scratch(t, 'from');
  await deliver(join(from, 'one'), filesOf(scans));
  await deliver(join(from, 'two'), filesOf(scans));
  const run = await ingest(root, (await listFolder(from)).files);
  t.is(run.duplicates, filesOf(scans).length);
  sameContent(t, await logicalContent(root), content);
});

test('a missing scan leaves tracks coasting under their name', async (t) => {
  const scans = await scansBetween('23:30', '00:00');
  const whole = await published(t, scans);
  const gap = await published(t, without(scans, 6, 7));
  const tracks = ({ content }: typeof gap) =>
    (content['2026-05-01 tracks'] ?? []).map((line) => JSON.parse(line) as { track_id: string; scan_time: number });
  const namesAt = (rows: ReturnType<typeof tracks>, scan: RawScan | undefined) =>
    new Set(rows.filter((row) => row.scan_time === scan?.time_ms).map((row) => row.track_id));
  const before = namesAt(tracks(gap), scans[5]);
  const after = namesAt(tracks(gap), scans[8]);
  const wholeAfter = namesAt(tracks(whole), scans[8]);
  const lived = [...before].filter((name) => wholeAfter.has(name));
  t.true(lived.length > 0);
  t.true(lived.filter((name) => after.has(name)).length >= 0.5 * lived.length);
});

test('a redo ends as soon as the memory is what it was, and later segments stay as they are', async (t) => {
  const scans = await midnight();
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans) await session.ingest(scan.files);
  });
  const before = (await readNewest(root, '2026-05-02'))?.scans;
  const run = await ingest(root, [await packedAnew(t, scans[3])]);
  t.deepEqual([run.scans, run.redone], [0, 1]);
  t.deepEqual((await readNewest(root, '2026-05-02'))?.scans, before);
});

test('a late scan beyond a gap of 30 minutes touches nothing of the other stretch', async (t) => {
  const early = await scansBetween('23:20', '23:34');
  const later = await scansBetween('00:10', '00:24');
  const { root } = await published(t, [...without(early, 2), ...later]);
  const before = await readNewest(root, '2026-05-02');
  const run = await ingest(root, early.slice(2, 3));
  t.is(run.scans, 1);
  t.deepEqual(run.dates, ['2026-05-01']);
  const after = await readNewest(root, '2026-05-02');
  t.is(after?.commit, before?.commit);
  const content = await contentOf([...early, ...later]);
  sameContent(t, await logicalContent(root), content);
});

test('a scan that bridges a gap joins the two stretches', async (t) => {
  const early = await scansBetween('23:20', '23:34');
  const bridge = await scansBetween('23:50', '23:54');
  const later = await scansBetween('00:10', '00:24');
  const { root } = await published(t, [...early, ...later]);
  await ingest(root, bridge);
  // What is filled in between two scans lies before the first scan of a file, and is no fault.
  t.deepEqual(await faultsOf(root), []);
  const content = await contentOf([...early, ...bridge, ...later]);
  sameContent(t, await logicalContent(root), content);
});

test('hours that are rolled up, dates that are closed and months that are joined keep their content', async (t) => {
  const scans = await midnight();
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session, root: { heads } }) => {
    for (const scan of scans) await session.ingest(scan.files);
    const pieces = () => new Set([...heads.values()].flatMap((head) => head.scans.map((scan) => scan.segment))).size;
    t.is(pieces(), scans.length);
    await session.settle();
    // The hour of a date's newest scan is left alone.
    t.is(pieces(), scans.length);
  });
  const open = await logicalContent(root);
  await ingest(root, [], { now_ms: MONTH_LATER_MS });
  const heads = [await readNewest(root, '2026-05-01'), await readNewest(root, '2026-05-02')];
  for (const head of heads) {
    t.true(head?.closed);
    t.is(new Set(head?.scans.map((scan) => scan.segment)).size, 1);
    t.is(head?.files.filter((file) => file.table === 'detections').length, 1);
  }
  sameContent(t, await logicalContent(root), open);
});

test('segments of a finished hour are joined; those of the hour of the newest scan are left alone', async (t) => {
  const scans = await midnight();
  const settings = { each_scan: true, storm_day_start_hour: 12 };
  const root = await scratch(t);
  await onRoot(root, settings, async ({ session }) => {
    for (const scan of scans) await session.ingest(scan.files);
    await session.settle();
  });
  const segments = (await readNewest(root, '2026-05-01'))?.scans.map(({ segment }) => segment) ?? [];
  const [before, after] = [segments.slice(0, 6), segments.slice(6)];
  t.deepEqual([new Set(before).size, new Set(after).size], [1, scans.length - 6]);
  sameContent(t, await logicalContent(root), await contentOfFiles(filesOf(scans), { storm_day_start_hour: 12 }));
});

test('a scan that comes late for a closed date opens it, and settling closes it again with the content of the right order', async (t) => {
  const scans = await midnight();
  const content = await contentOf(scans);
  const { root } = await published(t, without(scans, 8), MONTH_LATER_MS);
  await ingest(root, scans.slice(8, 9), { now_ms: MONTH_LATER_MS });
  t.true((await readNewest(root, '2026-05-01'))?.closed);
  t.true((await readNewest(root, '2026-05-02'))?.closed);
  sameContent(t, await logicalContent(root), content);
});

test('settling what was committed but not drawn happens in the next run, although it has nothing to ingest', async (t) => {
  const scans = await scansBetween('23:50', '00:06');
  const content = await contentOf(scans);
  const root = await scratch(t);
  await onRoot(root, {}, ({ session }) => session.ingest(filesOf(scans)));
  await ingest(root, scans);
  sameContent(t, await logicalContent(root), content);
});

test('a month whose join was missed after its dates closed is joined by the next run', async (t) => {
  const scans = await scansBetween('23:50', '00:06');
  const { root } = await published(t, scans);
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: opened }) => {
    for (const date of opened.heads.keys()) await opened.closeDay(date, MONTH_LATER_MS);
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
    return { files: paths.length, rows: await engine.rows(`${allRows(dayMax, paths)} ORDER BY ALL`) };
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
  const scans = await midnight();
  const { root, content } = await published(t, scans);
  const run = await onRoot(root, {}, async ({ session }) => {
    const rebuilt = await session.rebuild('2026-05-01');
    await session.settle();
    return rebuilt;
  });
  t.is(run.redone, scans.filter(({ scan_id }) => scan_id < '20260502').length);
  sameContent(t, await logicalContent(root), content);
});

test('with storm days that start at 12 UTC the evening is one storm date, and works the same', async (t) => {
  const scans = await scansBetween('23:52', '00:08');
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

test('a bad file costs nothing else: the other scans are published as if it were not there', async (t) => {
  const scans = await scansBetween('23:50', '00:10');
  const bad = scans[3] as RawScan;
  const mesh = bad.files[0];
  if (mesh === undefined) return t.fail();
  const content = await contentOf(without(scans, 3));
  const root = await scratch(t);
  const cut = await altered(await scratch(t, 'cut'), mesh, (await fs.readFile(mesh.location)).subarray(0, 500));
  const companions = bad.files.slice(1);
  const run = await ingest(root, [...filesOf(without(scans, 3)), cut, ...companions]);
  t.deepEqual(
    run.rejected.map(({ file }) => file),
    [cut.name],
  );
  t.is(run.scans, scans.length - 1);
  sameContent(t, await logicalContent(root), content);
  // The rest of the bad scan is kept, and used once its MESH file comes as it should be.
  const whole = await published(t, scans);
  await ingest(root, [mesh]);
  sameContent(t, await logicalContent(root), whole.content);
});

test('a bad companion leaves its values unknown, and comes into its own when it comes again whole', async (t) => {
  const scans = await scansBetween('23:50', '00:06');
  const companion = scans[2]?.files.find((file) => file.product === 'POSH');
  if (companion === undefined) return t.fail();
  const others = filesOf(scans).filter((file) => file !== companion);
  const root = await scratch(t);
  const without = await scratch(t);
  await ingest(without, others);
  const noise = await altered(await scratch(t, 'noise'), companion, gzipSync(Buffer.from('not a GRIB file at all')));
  const run = await ingest(root, [...others, noise]);
  t.is(run.rejected.length, 1);
  sameContent(t, await logicalContent(root), await logicalContent(without));
  const content = await contentOf(scans);
  await ingest(root, [companion]);
  sameContent(t, await logicalContent(root), content);
});

/** A report that writes down commits and refusals in their order. */
function diary() {
  const lines: string[] = [];
  const word = (event: string, fields: Fields) =>
    event === 'Scan:Commit:Done' ? `${fields.redone === 0 ? 'new' : 'again'} ${fields.newest}` : event;
  const note = (event: string, fields: Fields) => lines.push(word(event, fields));
  return { lines, report: { ...silent, info: note, warn: note } };
}

test('scans that arrive while late data is worked in are published first, and the content is that of the right order', async (t) => {
  const scans = await scansBetween('23:44', '00:12');
  const root = await scratch(t);
  const { lines, report } = diary();
  const [late, later] = [1, 4];
  const first = without(scans, late, later).slice(0, 8);
  const rest = without(scans, late, later).slice(8);
  await onRoot(root, { each_scan: true, report }, async ({ session }) => {
    for (const scan of first) await session.ingest(scan.files);
    lines.length = 0;
    // One by one between the scans of the redo; the second late scan comes while the first is worked in.
    const arrivals = [
      [],
      filesOf([rest[0] as RawScan]),
      filesOf([scans[later] as RawScan]),
      ...rest.slice(1).map((scan) => scan.files),
    ];
    const run = await session.ingest(filesOf([scans[late] as RawScan]), () => arrivals.shift() ?? []);
    t.deepEqual(arrivals, []);
    t.is(run.scans, rest.length + 2);
    await session.settle();
  });
  const newest = scans.at(-1)?.scan_id;
  t.deepEqual(lines, [...rest.map(({ scan_id }) => `new ${scan_id}`), `again ${newest}`, `again ${newest}`]);
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('new scans beside late data in one arrival are published first', async (t) => {
  const scans = await scansBetween('23:50', '00:08');
  const root = await scratch(t);
  const { lines, report } = diary();
  await onRoot(root, { each_scan: true, report }, async ({ session }) => {
    for (const scan of without(scans, 1).slice(0, 4)) await session.ingest(scan.files);
    lines.length = 0;
    await session.ingest(filesOf(scans));
    await session.settle();
  });
  const fresh = scans.slice(5).map(({ scan_id }) => `new ${scan_id}`);
  t.deepEqual(lines, [...fresh, `again ${scans.at(-1)?.scan_id}`]);
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('a redo that is told to stop publishes nothing by half, and the next run makes it whole', async (t) => {
  const scans = await scansBetween('23:50', '00:06');
  const { root } = await published(t, without(scans, 1));
  const before = await logicalContent(root);
  const stop = new AbortController();
  await onRoot(root, { each_scan: true, signal: stop.signal }, ({ session }) =>
    session.ingest(filesOf(scans.slice(1, 2)), () => {
      stop.abort();
      return [];
    }),
  );
  sameContent(t, await logicalContent(root), before);
  await ingest(root, scans.slice(1, 2));
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('good scans are published before bad files are put aside, and so are those that arrive meanwhile', async (t) => {
  const scans = await scansBetween('23:50', '00:06');
  const root = await scratch(t);
  const { lines, report } = diary();
  const folder = await scratch(t, 'bad');
  const bad = await Promise.all(
    scans.slice(0, 3).map(({ files: [mesh] }) => altered(folder, mesh as SourceFile, gzipSync(Buffer.from('no grid')))),
  );
  await onRoot(root, { each_scan: true, report }, async ({ session }) => {
    const arrivals = [scans[4]?.files ?? []];
    const run = await session.ingest([...bad, ...filesOf(scans.slice(3, 4))], () => arrivals.shift() ?? []);
    t.deepEqual([run.scans, run.rejected.length], [2, 3]);
  });
  t.deepEqual(lines, [
    `new ${scans[3]?.scan_id}`,
    'File:Read:Rejected',
    `new ${scans[4]?.scan_id}`,
    'File:Read:Rejected',
    'File:Read:Rejected',
  ]);
});

test('the work that bad files cause grows with their number, not with its square', async (t) => {
  const [scan] = await scansBetween('23:50', '23:53');
  const mesh = scan?.files[0];
  if (mesh === undefined) return t.fail();
  /** How often any of `count` files is looked at while all of them are read and found bad. */
  const looksAt = async (count: number) => {
    let looks = 0;
    const files = Array.from({ length: count }, (_, index) => {
      const time_ms = mesh.time_ms + index * 120_000;
      const file = { ...mesh, location: `/nowhere/${index}`, key: String(index) };
      return Object.defineProperty(file, 'time_ms', {
        get: () => {
          looks += 1;
          return time_ms;
        },
      });
    });
    const pile = openPile();
    pile.add(files);
    const read = async ({ mesh: location }: ScanFiles) => {
      throw new BadInput('read', location, 'is bad');
    };
    const reading = openReading({ read, close: async () => {} }, pile, 0, () => {});
    const { scans } = planScans(files);
    looks = 0;
    for (const one of scans) t.is(await reading.read(one, [], async () => 'read'), null);
    return looks;
  };
  t.true((await looksAt(400)) < 5 * (await looksAt(100)));
});

test('a file that was put aside is reported once and not looked at again', async (t) => {
  const scans = await scansBetween('23:50', '23:56');
  const mesh = scans[1]?.files[0];
  if (mesh === undefined) return t.fail();
  const root = await scratch(t);
  const empty = await altered(await scratch(t, 'empty'), mesh, Buffer.alloc(0));
  const first = await ingest(root, [...filesOf(scans.slice(0, 1)), empty]);
  const second = await ingest(root, [...filesOf(scans.slice(0, 1)), empty]);
  t.deepEqual([first.rejected.length, second.rejected.length], [1, 0]);
  t.is((await readRejections(root, 'simulated')).length + (await readRejections(root, 'observed')).length, 1);
});

/** MESH of a scan in which the same storm of nine pixels stands 77 x 13 times. */
function crowded(time_ms: number): Buffer {
  const [columns, rows] = [4 * 77, 4 * 13];
  const values = Array.from({ length: rows * columns }, (_, at) =>
    at % 4 < 3 && Math.floor(at / columns) % 4 < 3 ? 230 : 20,
  );
  return gribFile(simplePacking(values, 8), { columns, rows }, { time: clockOf(time_ms), production_status: 192 });
}

/** 30 mm on every pixel of the lattice, in 179 bytes. */
function everywhere(time_ms: number): Buffer {
  const [columns, rows] = [7000, 3500];
  const packed = constantPacking(columns * rows, { reference: 300 });
  return gribFile(packed, { columns, rows }, { time: clockOf(time_ms), production_status: 192 });
}

function clockOf(time_ms: number): [number, number, number, number, number, number] {
  const at = new Date(time_ms);
  const date = [at.getUTCFullYear(), at.getUTCMonth() + 1, at.getUTCDate()] as const;
  return [...date, at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()];
}

for (const [title, make, reason] of [
  ['hail on the whole lattice', everywhere, /more than 490000 pixels above 0/],
  ['a thousand and one storm cells', crowded, /1001 storm cells, expected at most 1000/],
] as const)
  test(`a scan with ${title} costs nothing else: it is put aside with its reason, and the rest is published`, async (t) => {
    const scans = await scansBetween('23:50', '00:04');
    const bad = scans[3] as RawScan;
    const mesh = bad.files[0] as SourceFile;
    const poisoned = await altered(await scratch(t, 'poisoned'), mesh, gzipSync(make(bad.time_ms)));
    const root = await scratch(t);
    const run = await ingest(root, [...filesOf(without(scans, 3)), poisoned, ...bad.files.slice(1)]);
    t.deepEqual([run.scans, run.rejected.length], [scans.length - 1, 1]);
    t.regex(run.rejected[0]?.reason ?? '', reason);
    t.is((await readRejections(root, 'simulated'))[0]?.file, mesh.name);
    sameContent(t, await logicalContent(root), await contentOf(without(scans, 3)));
    t.deepEqual(await faultsOf(root), []);
  });

/** A raw file with a byte of its gzip head changed or with other content, that was written at a time. */
async function rewritten(t: Parameters<typeof scratch>[0], file: SourceFile, content: Uint8Array, time_ms: number) {
  const made = await altered(await scratch(t, 'rewritten'), file, content);
  await fs.utimes(made.location, time_ms / 1000, time_ms / 1000);
  return made;
}

function withoutFingerprints(content: Content): Content {
  return Object.fromEntries(Object.entries(content).filter(([part]) => !part.endsWith(' scans')));
}

const SOON_MS = Date.now() + 3_600_000;

/** MESH of a scan without any hail, of just as many bytes as it has. */
async function withoutHail(file: SourceFile): Promise<Buffer> {
  const raw = gunzipSync(await fs.readFile(file.location));
  const time_ms = file.time_ms;
  const [rows, columns] = [150, 200];
  const [la1, lo1] = [54_995_000 - 1900 * 10_000, 230_005_000 + 3200 * 10_000];
  const dry = gzipSync(
    gribFile(
      constantPacking(rows * columns, { reference: -10 }),
      { rows, columns, la1, lo1 },
      { time: clockOf(time_ms), production_status: raw[35] as number },
    ),
  );
  return dry;
}

for (const [title, padded] of [
  ['smaller', false],
  ['of the same size', true],
] as const)
  test(`a corrected file that is ${title} replaces its predecessor, once; an older one does not take its place`, async (t) => {
    const scans = await scansBetween('23:50', '00:00');
    const { root, content } = await published(t, scans);
    const mesh = (scans[2] as RawScan).files[0] as SourceFile;
    const dry = await withoutHail(mesh);
    // Bytes behind a gzip stream that are zeros are padding.
    const bytes = padded ? Buffer.concat([dry, Buffer.alloc(mesh.bytes - dry.length)]) : dry;
    const newer = await rewritten(t, mesh, bytes, SOON_MS);
    const run = await ingest(root, [newer]);
    t.deepEqual([run.scans, run.rejected], [0, []]);
    t.true(run.redone > 0);
    const after = await logicalContent(root);
    t.notDeepEqual(after, content);
    // A root that never saw the predecessor has nothing to tell the correction by: its fingerprints are others.
    const anew = await contentOfFiles([...filesOf(scans).filter((file) => file !== mesh), newer]);
    if (padded) sameContent(t, withoutFingerprints(after), withoutFingerprints(anew));
    else sameContent(t, after, anew);
    for (const again of [[newer], filesOf(scans), [await rewritten(t, mesh, bytes, SOON_MS + 60_000)]])
      t.is((await ingest(root, again)).redone, 0);
    sameContent(t, await logicalContent(root), after);
    t.deepEqual(await faultsOf(root), []);
  });

test('a companion that left the inbox after it was kept is no correction, and stops nothing', async (t) => {
  const scans = await scansBetween('23:50', '00:00');
  const { root, content } = await published(t, scans);
  const vil = (scans[2] as RawScan).files.find((file) => file.product === 'VIL') as SourceFile;
  const run = await ingest(root, [{ ...vil, location: join(root, 'inbox', 'noaa', vil.name) }]);
  t.deepEqual([run.scans, run.redone, run.rejected], [0, 0, []]);
  sameContent(t, await logicalContent(root), content);
});

test('a corrected file that cannot be read leaves its predecessor in force', async (t) => {
  const scans = await scansBetween('23:50', '00:00');
  const { root, content } = await published(t, scans);
  const mesh = (scans[2] as RawScan).files[0] as SourceFile;
  const cut = await rewritten(t, mesh, (await fs.readFile(mesh.location)).subarray(0, 500), SOON_MS);
  const run = await ingest(root, [cut]);
  t.is(run.rejected.length, 1);
  sameContent(t, await logicalContent(root), content);
});

for (const neighbour of ['archive-old', 'inbox/simulated-old'])
  test(`a bad file of a folder beside our own, such as ${neighbour}, stays where it is`, async (t) => {
    const scans = await scansBetween('23:50', '23:56');
    const mesh = scans[1]?.files[0];
    if (mesh === undefined) return t.fail();
    const root = await scratch(t);
    const cut = await altered(join(root, neighbour), mesh, (await fs.readFile(mesh.location)).subarray(0, 500));
    const run = await ingest(root, await asObserved(t, scans.slice(2)));
    t.deepEqual(run.rejected, []);
    await ingest(root, [cut]);
    t.is((await fs.stat(cut.location)).size, 500);
    t.deepEqual(
      (await readRejections(root, 'observed')).map(({ file }) => file),
      [mesh.name],
    );
  });

test('files ahead of the clock are left for later, and published by the run whose clock has come to them', async (t) => {
  const scans = await scansBetween('23:50', '00:10');
  const root = await scratch(t);
  const inbox = join(root, 'inbox', 'noaa');
  await deliver(inbox, filesOf(scans));
  const noon = (scans[4]?.time_ms ?? 0) + 1;
  const given = async () => (await listFolder(inbox)).files;
  const run = await ingest(root, await given(), { now_ms: noon - 10 * 60_000, move_raw: true });
  const ahead = scans.filter((scan) => scan.time_ms > noon);
  t.is(run.scans, scans.length - ahead.length);
  t.is(run.postponed.length, filesOf(ahead).length, 'companions are judged by the same clock');
  for (const { reason } of run.postponed) t.regex(reason, /ahead of the clock/);
  t.deepEqual([run.rejected, await readRejections(root, 'observed')], [[], []]);
  const later = await ingest(root, await given(), { move_raw: true });
  t.deepEqual([later.scans, later.redone, later.postponed], [ahead.length, 0, []]);
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('a file that earlier versions put aside because of the clock is judged anew', async (t) => {
  const [scan] = await scansBetween('23:50', '23:53');
  const mesh = scan?.files[0];
  if (mesh === undefined) return t.fail();
  const root = await scratch(t);
  const reason = 'time 2026-05-01T23:50:00Z is ahead of the clock, expected at most 2026-05-01T23:40:00Z';
  await rejectRaw({
    ...{ file: mesh, dataRoot: root, source: 'observed', stage: 'plan', reason },
    ...{ found_at_ms: NOW_MS, move: false },
  });
  t.is((await ingest(root, [mesh])).scans, 1);
});

test('a file that has gone or cannot be read costs itself only, and is made good by a later run', async (t) => {
  const scans = await scansBetween('23:50', '00:06');
  const root = await scratch(t);
  const [gone, refused, companion] = [scans[1], scans[2], scans[3]?.files.find(({ product }) => product === 'VIL')];
  const place = await scratch(t, 'place');
  await fs.writeFile(place, 'a file where a folder is expected');
  const elsewhere = new Map<unknown, string>([
    [gone?.files[0], join(root, 'nowhere')],
    [refused?.files[0], `${place}/${'x'.repeat(300)}`],
    [companion, join(place, 'below-a-file')],
  ]);
  const given = filesOf(scans).map((file) => ({ ...file, location: elsewhere.get(file) ?? file.location }));
  const run = await ingest(root, given);
  t.is(run.scans, scans.length - 2);
  t.deepEqual([run.postponed.length, run.rejected.length], [3, 0]);
  t.deepEqual(
    run.postponed.map(({ file }) => file).sort(),
    [...elsewhere.keys()].map((file) => (file as SourceFile).name).sort(),
  );
  t.deepEqual(await faultsOf(root), []);
  const later = await ingest(root, scans);
  t.deepEqual([later.scans, later.postponed], [2, []]);
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('a late scan whose neighbours cannot be made again waits, and costs the new scans nothing', async (t) => {
  const scans = await scansBetween('23:50', '00:10');
  const { root } = await published(t, [...scans.slice(0, 2), ...scans.slice(3, 6)]);
  const lost = scans[4]?.files[0]?.name ?? '';
  const archived = (await filesBelow(root)).find((path) => path.endsWith(lost)) ?? '';
  const away = await scratch(t, 'away');
  await fs.rename(join(root, archived), away);
  const run = await ingest(root, [...filesOf(scans.slice(2, 3)), ...filesOf(scans.slice(6))]);
  t.deepEqual([run.scans, run.redone], [scans.length - 6, 0]);
  t.regex(run.postponed[0]?.reason ?? '', /cannot be made again: .*raw files are gone/);
  t.deepEqual(await faultsOf(root), []);
  await fs.rename(away, join(root, archived));
  await ingest(root, scans.slice(2, 3));
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('after the data root was moved away nothing is written in its place', async (t) => {
  const scans = await scansBetween('23:50', '00:06');
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    await session.ingest(filesOf(scans.slice(0, 2)));
    await session.settle();
    await fs.rename(root, `${root}-away`);
    await t.throwsAsync(session.ingest(filesOf(scans.slice(2))), { instanceOf: RootLost, message: /is gone/ });
    await t.throwsAsync(fs.stat(root), { code: 'ENOENT' });
  });
  t.deepEqual(await faultsOf(`${root}-away`), []);
  sameContent(t, await logicalContent(`${root}-away`), await contentOf(scans.slice(0, 2)));
});

test('a pipeline whose lock was deleted stops before a second one and it write to the same lists', async (t) => {
  const scans = await scansBetween('23:50', '00:06');
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    await session.ingest(filesOf(scans.slice(0, 1)));
    await fs.rm(join(root, 'pipeline.lock'));
    await ingest(root, scans.slice(1, 2));
    await t.throwsAsync(session.ingest(filesOf(scans.slice(2))), { instanceOf: RootLost, message: /was replaced/ });
  });
  sameContent(t, await logicalContent(root), await contentOf(scans.slice(0, 2)));
});

test('a root that is moved away in the middle of a commit gets no list that names missing files', async (t) => {
  const scans = await scansBetween('23:50', '00:00');
  const root = await scratch(t);
  await onRoot(root, { each_scan: true }, async ({ root: opened, session }) => {
    await session.ingest(filesOf(scans.slice(0, 1)));
    const head = opened.heads.get('2026-05-01');
    if (head === undefined) return t.fail();
    let looks = 0;
    const check = () => {
      looks += 1;
      if (looks === 2) renameSync(root, `${root}-away`);
      opened.check();
    };
    const edit = {
      ...head,
      feeds: {},
      drop_segments: [],
      add_scans: [],
      add_files: [],
      relist_files: [],
      changed_tables: [],
    };
    await t.throwsAsync(commitEdits(root, [{ previous: head, edit }], NOW_MS, check), { instanceOf: RootLost });
    await t.throwsAsync(fs.stat(root), { code: 'ENOENT' });
  });
  t.deepEqual(await faultsOf(`${root}-away`), []);
});

test('observed and simulated scans never share a storm date, until one takes the place of the other', async (t) => {
  const scans = await scansBetween('23:50', '00:10');
  const observed = await asObserved(t, scans);
  const content = await contentOfFiles(filesOf(observed));
  t.regex(content['2026-05-01 scans']?.[0] ?? '', /^observed/);
  const { root } = await published(t, scans);
  const before = await logicalContent(root);
  const error = await t.throwsAsync(ingest(root, observed), { instanceOf: Conflict });
  t.regex(error?.message ?? '', /--replace/);
  sameContent(t, await logicalContent(root), before);
  await onRoot(root, {}, async ({ session }) => {
    const files = filesOf(observed);
    t.deepEqual(await session.replace(files), ['2026-05-01', '2026-05-02']);
    await session.ingest(files);
    await session.settle();
  });
  sameContent(t, await logicalContent(root), content);
});

test('scans of both kinds that arrive in one uncommitted hour are refused, and nothing of the hour is published', async (t) => {
  const scans = await scansBetween('00:00', '00:10');
  const [second] = await asObserved(t, scans.slice(1, 2));
  const root = await scratch(t);
  const mixed = [...scans.slice(0, 1), second as RawScan, ...scans.slice(2)];
  const error = await t.throwsAsync(ingest(root, mixed), { instanceOf: Conflict });
  t.regex(
    error?.message ?? '',
    new RegExp(`${second?.scan_id} is observed and another of the date is simulated, expected one kind`),
  );
  t.is(await readNewest(root, '2026-05-02'), null);
  await ingest(root, scans);
  t.deepEqual(await faultsOf(root), []);
  await onRoot(root, {}, ({ session }) => session.rebuild('2026-05-02'));
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('a date that was given over to the other kind takes that kind alone from then on', async (t) => {
  const scans = await scansBetween('00:00', '00:10');
  const observed = await asObserved(t, scans);
  const { root } = await published(t, scans.slice(0, 2));
  await onRoot(root, {}, async ({ session }) => {
    await session.ingest(scans.slice(2, 3).flatMap(({ files }) => files));
    await session.replace(filesOf(observed));
    const mixed = [...filesOf(observed.slice(0, 1)), ...filesOf(scans.slice(1, 2))];
    await t.throwsAsync(session.ingest(mixed), { instanceOf: Conflict });
    await session.ingest(filesOf(observed));
    await session.settle();
  });
  sameContent(t, await logicalContent(root), await contentOfFiles(filesOf(observed)));
});

test('files of an inbox leave it once they are kept; nothing of a scan is lost', async (t) => {
  const scans = await scansBetween('23:50', '00:06');
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
  const anew = gzipSync(gunzipSync(await fs.readFile(mesh.location)), { level: 0 });
  return altered(await scratch(t, 'anew'), mesh, anew);
}

/** All around the radar in the middle of the tiny world 0.4 of the lowest beam is blocked. */
const RING = raysOfKtlx([{ tilt_deg: 0.5, distance_km: 1, blocked: 0.4 }], 0, 359);

test('behind mountains confidence is lower, and nothing else differs', async (t) => {
  const scans = await scansBetween('00:00', '00:06');
  const root = await scratch(t);
  await publishBlockage(root, RING);
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

test('with a terrain model too the content does not depend on how the input is cut', async (t) => {
  const scans = await midnight();
  const [whole, cut] = [await scratch(t, 'whole'), await scratch(t, 'cut')];
  for (const root of [whole, cut]) await publishBlockage(root, RING);
  await ingest(whole, scans);
  await ingest(cut, without(scans, 3, 4));
  await ingest(cut, scans.slice(4));
  await ingest(cut, scans.slice(0, 4));
  sameContent(t, await logicalContent(cut), await logicalContent(whole));
});

test('a terrain model that comes later leaves published scans alone until they are made again', async (t) => {
  const scans = await scansBetween('00:00', '00:06');
  const { root, content } = await published(t, scans);
  await publishBlockage(root, RING);
  await ingest(root, scans);
  sameContent(t, await logicalContent(root), content);
  await onRoot(root, {}, async ({ session }) => {
    await session.rebuild('2026-05-02');
    await session.settle();
  });
  const first = await scratch(t, 'first');
  await publishBlockage(first, RING);
  await ingest(first, scans);
  sameContent(t, await logicalContent(root), await logicalContent(first));
  t.notDeepEqual(await logicalContent(root), content);
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
