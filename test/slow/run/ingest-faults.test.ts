import { renameSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import test from 'ava';
import { RootLost } from '../../../pipeline/error.ts';
import { filesBelow } from '../../../pipeline/files.ts';
import { type Fields, silent } from '../../../pipeline/log.ts';
import { commit } from '../../../pipeline/publish/commit.ts';
import { samePartition } from '../../../pipeline/publish/edit.ts';
import { readRejections } from '../../../pipeline/sources/archive.ts';
import { listFolder } from '../../../pipeline/sources/folder.ts';
import type { SourceFile } from '../../../pipeline/sources/names.ts';
import { type Content, contentOf, contentOfFiles, logicalContent, sameContent } from '../../support/data/content.ts';
import { clockOf, constantPacking, gribFile, simplePacking } from '../../support/data/grib2-files.ts';
import { published, without } from '../../support/data/published-scans.ts';
import { pluck } from '../../support/data/rows.ts';
import { aroundMidnight, scansBetween } from '../../support/data/small-world.ts';
import {
  altered,
  asObserved,
  deliver,
  filesOf,
  ingest,
  NOW_MS,
  onRoot,
  type RawScan,
  scratch,
} from '../../support/data/world.ts';
import { faultsOf } from '../../support/kill/killed.ts';

/** Events of work that publishes no scan. */
const UPKEEP = /^(Date|Month|Root):/;

/** A log that writes down commits and refusals in their order. */
function diary() {
  const lines: string[] = [];
  const word = (event: string, fields: Fields) =>
    event === 'Scan:Commit:Done' ? `${fields.redone === 0 ? 'new' : 'again'} ${fields.newest}` : event;
  const note = (event: string, fields: Fields) => {
    if (!UPKEEP.test(event)) lines.push(word(event, fields));
  };
  return { lines, log: { ...silent, info: note, warn: note } };
}

test('a bad file costs nothing else: the other scans are published as if it were not there', async (t) => {
  const scans = await aroundMidnight();
  const bad = scans[3] as RawScan;
  const mesh = bad.files[0];
  if (mesh === undefined) return t.fail();
  const content = await contentOf(without(scans, 3));
  const root = await scratch(t);
  const cut = await altered(await scratch(t, 'cut'), mesh, (await fs.readFile(mesh.location)).subarray(0, 500));
  const companions = bad.files.slice(1);
  const run = await ingest(root, [...filesOf(without(scans, 3)), cut, ...companions]);
  t.deepEqual(pluck(run.rejected, 'file'), [cut.name]);
  t.is(run.scans, scans.length - 1);
  sameContent(t, await logicalContent(root), content);
  // The rest of the bad scan is kept, and used once its MESH file comes as it should be.
  const whole = await published(t, scans);
  await ingest(root, [mesh]);
  sameContent(t, await logicalContent(root), whole.content);
});

test('a bad companion leaves its values unknown, and comes into its own when it comes again whole', async (t) => {
  const scans = await aroundMidnight();
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

test('new scans beside late data in one arrival are published first', async (t) => {
  const scans = await aroundMidnight();
  const root = await scratch(t);
  const { lines, log } = diary();
  await onRoot(root, { each_scan: true, log }, async ({ session }) => {
    for (const scan of without(scans, 1).slice(0, 2)) await session.ingest(scan.files);
    lines.length = 0;
    await session.ingest(filesOf(scans));
    await session.finishDates();
  });
  const fresh = scans.slice(3).map(({ scan_id }) => `new ${scan_id}`);
  t.deepEqual(lines, [...fresh, `again ${scans.at(-1)?.scan_id}`]);
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('a redo that is told to stop publishes nothing by half, and the next run makes it whole', async (t) => {
  const scans = await aroundMidnight();
  const { root } = await published(t, without(scans, 1));
  const before = await logicalContent(root);
  const stop = new AbortController();
  const log = { ...silent, progress: () => stop.abort() };
  await onRoot(root, { each_scan: true, signal: stop.signal, log }, ({ session }) =>
    session.ingest(filesOf(scans.slice(1, 2))),
  );
  t.true(stop.signal.aborted);
  sameContent(t, await logicalContent(root), before);
  await ingest(root, scans.slice(1, 2));
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('good scans are published before bad files are rejected', async (t) => {
  const scans = await aroundMidnight();
  const root = await scratch(t);
  const { lines, log } = diary();
  const folder = await scratch(t, 'bad');
  const bad = await Promise.all(
    scans.slice(0, 3).map(({ files: [mesh] }) => altered(folder, mesh as SourceFile, gzipSync(Buffer.from('no grid')))),
  );
  await onRoot(root, { each_scan: true, log }, async ({ session }) => {
    const run = await session.ingest([...bad, ...filesOf(scans.slice(3, 5))]);
    t.deepEqual([run.scans, run.rejected.length], [2, 3]);
  });
  t.deepEqual(lines, [
    `new ${scans[3]?.scan_id}`,
    `new ${scans[4]?.scan_id}`,
    ...Array.from({ length: 3 }, () => 'File:Read:Rejected'),
  ]);
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

for (const [title, make, reason] of [
  ['hail on the whole lattice', everywhere, /value 30 in a corner of the lattice, expected -3, no coverage/],
  ['a thousand and one storm cells', crowded, /1001 storm cells, expected at most 1000/],
] as const)
  test(`a scan with ${title} costs nothing else: it is put aside with its reason, and the rest is published`, async (t) => {
    const scans = await aroundMidnight();
    const bad = scans[3] as RawScan;
    const mesh = bad.files[0] as SourceFile;
    const poisoned = await altered(await scratch(t, 'poisoned'), mesh, gzipSync(make(bad.time_ms)));
    const root = await scratch(t);
    const run = await ingest(root, [...filesOf(without(scans, 3)), poisoned, ...bad.files.slice(1)]);
    t.deepEqual([run.scans, run.rejected.length], [scans.length - 1, 1]);
    t.regex(run.rejected[0]?.reason ?? '', reason);
    t.is((await readRejections(root, 'simulated', [mesh]))[0]?.file, mesh.name);
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
  const dry = constantPacking(rows * columns, { reference: -10 });
  const product = { time: clockOf(time_ms), production_status: raw[35] };
  return gzipSync(gribFile(dry, { rows, columns, la1, lo1 }, product));
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
    t.deepEqual(pluck(await readRejections(root, 'observed', [mesh]), 'file'), [mesh.name]);
  });

test('files ahead of the clock are left for later, and published by the run whose clock has come to them', async (t) => {
  const scans = await aroundMidnight();
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
  t.deepEqual([run.rejected, await readRejections(root, 'observed', filesOf(scans))], [[], []]);
  const later = await ingest(root, await given(), { move_raw: true });
  t.deepEqual([later.scans, later.redone, later.postponed], [ahead.length, 0, []]);
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('a file that has gone or cannot be read costs itself only, and is made good by a later run', async (t) => {
  const scans = await aroundMidnight();
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
  const postponed = run.postponed.map(({ file }) => file).sort();
  const expected = [...elsewhere.keys()].map((file) => (file as SourceFile).name).sort();
  t.deepEqual(postponed, expected);
  t.deepEqual(await faultsOf(root), []);
  const later = await ingest(root, scans);
  t.deepEqual([later.scans, later.postponed], [2, []]);
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('a late scan whose neighbours cannot be made again waits, and costs the new scans nothing', async (t) => {
  const scans = await aroundMidnight();
  const { root } = await published(t, [scans[0] as RawScan, ...scans.slice(2, 4)]);
  const lost = scans[3]?.files[0]?.name ?? '';
  const archived = (await filesBelow(root)).find((path) => path.endsWith(lost)) ?? '';
  const away = await scratch(t, 'away');
  await fs.rename(join(root, archived), away);
  const run = await ingest(root, [...filesOf(scans.slice(1, 2)), ...filesOf(scans.slice(4))]);
  t.deepEqual([run.scans, run.redone], [scans.length - 4, 0]);
  t.regex(run.postponed[0]?.reason ?? '', /cannot be made again: .*raw files are gone/);
  t.deepEqual(await faultsOf(root), []);
  await fs.rename(away, join(root, archived));
  await ingest(root, scans.slice(1, 2));
  sameContent(t, await logicalContent(root), await contentOf(scans));
});

test('a pipeline whose lock was deleted stops before a second one and it write to the same lists', async (t) => {
  const scans = await aroundMidnight();
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
    const previous = await opened.manifest('2026-05-01');
    if (previous === null) return t.fail();
    let looks = 0;
    const check = () => {
      looks += 1;
      if (looks === 2) renameSync(root, `${root}-away`);
      opened.check();
    };
    const moving = { ...opened, check };
    await t.throwsAsync(commit(moving, [samePartition(previous)], NOW_MS), { instanceOf: RootLost });
    await t.throwsAsync(fs.stat(root), { code: 'ENOENT' });
  });
  t.deepEqual(await faultsOf(`${root}-away`), []);
});

for (const [title, keep] of [
  ['all', 0],
  ['some', 3],
] as const)
  test(`a date of which ${title} raw files are gone cannot be rebuilt, and stays as it is`, async (t) => {
    const scans = await scansBetween('23:50', '00:00');
    const { root, content } = await published(t, scans);
    const folder = join(root, 'archive', 'simulated', 'date=2026-05-01');
    const kept = new Set(scans.slice(0, keep).map(({ files }) => files[0]?.name));
    for (const name of await fs.readdir(folder))
      if (name.includes('_MESH_') && !kept.has(name)) await fs.rm(join(folder, name));
    await onRoot(root, {}, async ({ session }) => {
      const error = await t.throwsAsync(session.rebuild('2026-05-01'));
      t.regex(error?.message ?? '', /2026-05-01: raw files of \d+ published scans are gone/);
    });
    sameContent(t, await logicalContent(root), content);
  });
