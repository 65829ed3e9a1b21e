import { existsSync, statSync } from 'node:fs';
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { PipelineError } from '../../pipeline/error.ts';
import { filesBelow } from '../../pipeline/files.ts';
import { expireReflectivity, isDerivationDue } from '../../pipeline/publish/commit-dates.ts';
import { compactMonth } from '../../pipeline/publish/compact.ts';
import { readCurrent, readHead, readNewest } from '../../pipeline/publish/manifests.ts';
import type { Root } from '../../pipeline/publish/root.ts';
import { READERS_GRACE_MIN, sweep, sweepRaw, sweepRoot } from '../../pipeline/publish/sweep.ts';
import { type ReadPool, readAndPaint } from '../../pipeline/scans/read.ts';
import type { SourceFile } from '../../pipeline/sources/names.ts';
import { headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import type { Current, Manifest, PublishedFile } from '../../schemas/manifest.ts';
import { MS_PER_DAY, MS_PER_HOUR, scanId, scanTime } from '../../schemas/time.ts';
import { logicalContent, sameContent } from '../support/data/content.ts';
import { copyFolder, prepared } from '../support/data/prepared.ts';
import { pluck } from '../support/data/rows.ts';
import { aroundMidnight, midnight, scansBetween } from '../support/data/small-world.ts';
import { publishBlockage, raysOfKtlx } from '../support/data/terrain.ts';
import {
  ingest,
  MONTH_LATER_MS,
  NOW_MS,
  onRoot,
  publicationOf,
  publish,
  publishedRoot,
  type RawScan,
  scratch,
  worldOver,
} from '../support/data/world.ts';
import { faultsOf } from '../support/kill/killed.ts';

const FOLDERS = [tmpdir(), '/dev/shm'].filter((path) => existsSync(path));

/** True where there are folders on two file systems. */
const hasTwoDevices = new Set(FOLDERS.map((path) => statSync(path).dev)).size > 1;

/** A folder on another file system than a path. */
function onOtherDevice(path: string): string {
  const found = FOLDERS.find((folder) => statSync(folder).dev !== statSync(path).dev);
  if (found === undefined) throw new RangeError(`${path} is on the one file system that there is`);
  return found;
}

const DATE = '2026-05-02';

/** A root whose every file is three hours old, and a clock that says so. */
async function agedRoot(t: Parameters<typeof scratch>[0]) {
  const root = await scratch(t);
  const scans = await scansBetween('00:00', '00:09');
  const name = `rebuilt-${await publicationOf(scans)}`;
  copyFolder(await prepared(name, (folder) => publishAndRebuild(folder, scans)), root);
  const now_ms = Date.parse('2026-05-03T00:00:00Z');
  await age(root, now_ms - 3 * MS_PER_HOUR);
  return { root, scans, now_ms };
}

/** Publishes scans one by one, and their date once more. */
async function publishAndRebuild(root: string, scans: readonly RawScan[]): Promise<void> {
  await onRoot(root, { each_scan: true }, async ({ session }) => {
    for (const scan of scans) await session.ingest(scan.files);
    await session.finishDates();
    await session.rebuild(DATE);
    await session.finishDates();
  });
}

async function age(root: string, time_ms: number): Promise<void> {
  for (const name of await filesBelow(root)) await fs.utimes(join(root, name), time_ms / 1000, time_ms / 1000);
}

test('deletes what no manifest in use names, once it is older than the grace', async (t) => {
  const { root, now_ms } = await agedRoot(t);
  const content = await logicalContent(root);
  const early = await sweep(root, now_ms - 3 * MS_PER_HOUR + READERS_GRACE_MIN * 60_000 - 1);
  t.is(early.files, 0);
  const swept = await sweep(root, now_ms);
  t.true(swept.files > 10);
  t.true(swept.bytes > 0);
  const head = await readNewest(root, DATE);
  const current = await readCurrent(root);
  const data = (await filesBelow(root)).filter((name) => /^(tables|tiles|state|live)\//.test(name));
  const wanted = [
    ...(head?.files ?? []).map((file) => file.path),
    ...Object.values(current?.live ?? {}).filter((name) => name.includes('/')),
  ];
  t.deepEqual(data, wanted.sort());
  t.deepEqual((await filesBelow(join(root, 'manifests', DATE))).sort(), [
    `${String(head?.commit).padStart(6, '0')}.json`,
    'head.json',
  ]);
  sameContent(t, await logicalContent(root), content);
  t.deepEqual(await faultsOf(root), []);
  t.is((await sweep(root, now_ms)).files, 0);
});

test('keeps what was replaced only just now: a request may still read it', async (t) => {
  const { root, scans, now_ms } = await agedRoot(t);
  const before = await readNewest(root, DATE);
  await onRoot(root, {}, ({ session }) => session.rebuild(DATE));
  t.true(scans.length > 0);
  await age(join(root, 'tables'), now_ms - 3 * MS_PER_HOUR);
  await sweep(root, Date.now());
  for (const file of before?.files ?? []) await t.notThrowsAsync(fs.stat(join(root, file.path)), file.path);
});

test('keeps what the head names when a killed commit left a newer manifest behind', async (t) => {
  const { root, now_ms } = await agedRoot(t);
  const head = await readNewest(root, DATE);
  const litter = join(root, 'manifests', DATE, `${String((head?.commit ?? 0) + 1).padStart(6, '0')}.json`);
  await fs.writeFile(litter, '{"manifest_version":1,"part');
  await age(root, now_ms - 3 * MS_PER_HOUR);
  const content = await logicalContent(root);
  await sweep(root, now_ms);
  t.deepEqual(await faultsOf(root), []);
  sameContent(t, await logicalContent(root), content);
  await t.throwsAsync(fs.stat(litter));
});

test('leaves raw files, what was put aside and the records of others alone', async (t) => {
  const { root, scans, now_ms } = await agedRoot(t);
  await fs.mkdir(join(root, 'records'));
  await fs.writeFile(join(root, 'records', 'hail.sqlite'), 'x');
  await age(root, now_ms - 3 * MS_PER_HOUR);
  const raw = await filesBelow(join(root, 'archive'));
  await sweep(root, now_ms);
  t.is(raw.length, scans.flatMap((scan) => scan.files).length);
  t.deepEqual(await filesBelow(join(root, 'archive')), raw);
  t.deepEqual(await filesBelow(join(root, 'records')), ['hail.sqlite']);
});

test('staging of a dead run is removed by the next one', async (t) => {
  const root = await scratch(t);
  await fs.mkdir(join(root, 'staging', 'dead', 'deeper'), { recursive: true });
  await fs.writeFile(join(root, 'staging', 'dead', 'cells.parquet'), 'half');
  await ingest(root, []);
  t.deepEqual(await fs.readdir(join(root, 'staging')), []);
});

/** Sweeps every six hours for so many days from now. */
async function sweepFor(root: Root, days: number, raw_keep_days: number | null): Promise<number> {
  let files = 0;
  const from_ms = Date.now();
  for (let quarter = 0; quarter <= 4 * days; quarter++)
    files += (await sweepRoot(root, from_ms + (quarter * MS_PER_DAY) / 4, raw_keep_days)).files;
  return files;
}

const rawOf = async (root: string) =>
  (await filesBelow(join(root, 'archive'))).map((name) => name.replace(/^simulated\//, ''));

test('raw files stay while a storm date around them is open, however old they are', async (t) => {
  const root = await scratch(t);
  await publish(root, await aroundMidnight());
  const before = await rawOf(root);
  t.true(before.length > 0);
  await onRoot(root, {}, async ({ root: open }) => {
    await sweepFor(open, 10, 2);
  });
  t.deepEqual(await rawOf(root), before);
});

test('raw files of closed dates go so many days after they came, and stay for ever without a setting', async (t) => {
  const root = await scratch(t);
  await publish(root, await aroundMidnight(), { now_ms: MONTH_LATER_MS });
  const content = await logicalContent(root);
  const before = await rawOf(root);
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: open }) => {
    await sweepFor(open, 10, null);
    t.deepEqual(await rawOf(root), before);
    await fs.rm(join(root, layout.deletions));
    await sweepFor(open, 10.5, 10);
    t.deepEqual(await rawOf(root), before, 'marked');
    await fs.rm(join(root, layout.deletions));
    t.true((await sweepFor(open, 12.5, 10)) >= before.length);
  });
  t.deepEqual(await rawOf(root), []);
  sameContent(t, await logicalContent(root), content);
  t.deepEqual(await faultsOf(root), []);
});

test('the companions that the first scans of a date take from before midnight stay as long as that date', async (t) => {
  const root = await scratch(t);
  await publish(root, await midnight(), { now_ms: MONTH_LATER_MS });
  const late = join(root, 'archive', 'simulated', 'date=2026-05-02', '.came-late');
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: open }) => {
    await fs.writeFile(late, '');
    // Only the younger date has a file that came after the limit.
    const { ctimeMs } = await fs.stat(late);
    const before = await rawOf(root);
    const swept = await sweepRaw(open, 10, ctimeMs - 0.5 + 10 * MS_PER_DAY);
    t.is(swept.files, before.length - (await rawOf(root)).length);
  });
  const names = (await rawOf(root)).filter((name) => name.startsWith('date=2026-05-01/'));
  t.true(names.length > 0);
  for (const name of names) t.regex(name, /_20260501-235[789]\d\d|PROBSEVERE_20260501_23[45]\d\d\d/);
  t.false(names.some((name) => name.includes('MRMS_MESH_')));
});

test('a clock of the sweep that cannot be read is made anew: no file goes for a day, and no run fails', async (t) => {
  const root = await scratch(t);
  await publish(root, await aroundMidnight(), { now_ms: MONTH_LATER_MS });
  const before = await rawOf(root);
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: open }) => {
    await sweepFor(open, 10, 10);
    for (const text of ['', '{"trusted_ms":', '{}']) {
      await fs.writeFile(join(root, layout.deletions), text);
      await sweepRoot(open, Date.now() + 30 * MS_PER_DAY, 10);
    }
  });
  t.deepEqual(await rawOf(root), before);
});

test('a clock that is years ahead, in this process or from its start on, deletes no raw file', async (t) => {
  const root = await scratch(t);
  await publish(root, await aroundMidnight(), { now_ms: MONTH_LATER_MS });
  const before = await rawOf(root);
  const wrong_ms = Date.now() + 2 * 365 * MS_PER_DAY;
  // At the first look of all, and in a process that was started by the right clock.
  for (const first_ms of [wrong_ms, Date.now()])
    await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: open }) => {
      await sweepRoot(open, first_ms, 2);
      for (let quarter = 0; quarter < 40; quarter++) await sweepRoot(open, wrong_ms + (quarter * MS_PER_DAY) / 4, 2);
      t.deepEqual(await rawOf(root), before);
      await fs.rm(join(root, layout.deletions));
    });
});

for (const [title, raw_keep_days] of [
  ['swept by their age is put aside with the reason', 1],
  ['lost waits for them, and says so', undefined],
] as const)
  test(`a scan that comes after the raw files around it were ${title}; new ones are published`, async (t) => {
    const scans = await midnight();
    const root = await scratch(t);
    const [late, newest] = [scans[3] as RawScan, scans.at(-1) as RawScan];
    const others = scans.filter((scan) => scan !== late && scan !== newest);
    await publish(root, others);
    const before = await logicalContent(root);
    await fs.rm(join(root, 'archive', 'simulated', 'date=2026-05-01'), { recursive: true });
    const settings = { now_ms: MONTH_LATER_MS, ...(raw_keep_days === undefined ? {} : { raw_keep_days }) };
    const run = await ingest(root, [late, newest], settings);
    t.deepEqual([run.scans, run.redone], [1, 0]);
    const [told, other] = raw_keep_days === undefined ? [run.postponed, run.rejected] : [run.rejected, run.postponed];
    t.true(told.length > 0);
    t.deepEqual(other, []);
    for (const { reason } of told) t.regex(reason, /raw files are gone/);
    const after = await logicalContent(root);
    t.deepEqual(after['2026-05-01 detections'], before['2026-05-01 detections']);
    t.deepEqual(await faultsOf(root), []);
    t.deepEqual((await ingest(root, [late], settings)).rejected, [], 'said once');
  });

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
  const composite = first.files.find(isComposite);
  const files = scans.flatMap((scan) => scan.files).filter((file) => file !== composite);
  await ingest(root, files, KEEP);
  const list = await listOf(root);
  t.deepEqual(scansOf(list), pluck(rest, 'scan_id'));
  const has = list.scans.map(({ reflectivity }) => reflectivity !== undefined);
  const expected = scans.map((scan) => scan !== first);
  t.deepEqual(has, expected);
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
  const root = await publishedRoot(t, scans, KEEP);
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
    const joined = await compactMonth(open, '2026-05', now_ms);
    const month = await months();
    t.is(await expireReflectivity(open, keep_hours, now_ms), 2);
    t.is(await expireReflectivity(open, keep_hours, now_ms), 0);
    t.deepEqual(scansOf(await listOf(root)), pluck(scans.slice(2), 'scan_id'));
    t.true(joined);
    t.false(await compactMonth(open, '2026-05', now_ms), 'no row of the month has changed');
    t.is(await months(), month);
    t.false([...open.heads.values()].some(isDerivationDue));
    const listed_ms = Date.now();
    await sweepRoot(open, listed_ms, null);
    t.is((await inFolder(root)).length, scans.length, 'a reader may hold the list before');
    await sweepRoot(open, listed_ms + (READERS_GRACE_MIN + 1) * 60_000, null);
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
  await onRoot(root, { reflectivity_keep_hours: 0 }, ({ session }) => session.sweep());
  t.deepEqual(scansOf(await listOf(root)), []);
  t.deepEqual(await faultsOf(root), []);
});

test('an archive of reflectivity that is of no scan of its manifest is a fault', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:09'), KEEP);
  const list = await listOf(root);
  const [archive] = archivesOf(list) as [Manifest['files'][number]];
  const other = { ...archive, first_scan: '20260502T003000Z' };
  const path = join(root, `manifests/${DATE}/${String(list.commit).padStart(6, '0')}.json`);
  const files = list.files.map((file) => (file === archive ? other : file));
  await fs.writeFile(path, JSON.stringify({ ...list, files }));
  t.deepEqual(await faultsOf(root), [`${archive.path}: is of scan 20260502T003000Z, expected one of the list`]);
});
const HEAD = `manifests/${DATE}/head.json`;

interface Published {
  readonly root: string;
  readonly manifest: Manifest;
  readonly current: Current;
}

async function published(t: ExecutionContext, scans?: readonly RawScan[]): Promise<Published> {
  const root = await publishedRoot(t, scans ?? (await scansBetween('00:00', '00:09')));
  return { root, manifest: (await readNewest(root, DATE)) as Manifest, current: (await readCurrent(root)) as Current };
}

function fileOf({ manifest }: Published, kind: string): PublishedFile {
  return manifest.files.find((file) => file.table === kind || file.kind === kind) as PublishedFile;
}

/** Changes the newest manifest of the date, and its head with it. */
async function rewriteManifest({ root, manifest }: Published, change: (manifest: Manifest) => Partial<Manifest>) {
  const changed = { ...manifest, ...change(manifest) };
  await fs.writeFile(join(root, layout.manifest(DATE, manifest.commit)), JSON.stringify(changed));
  await fs.writeFile(join(root, HEAD), JSON.stringify(headOf(changed)));
}

test('finds nothing wrong with what was just published, open or closed', async (t) => {
  const { root } = await published(t);
  t.deepEqual(await faultsOf(root), []);
  await ingest(root, [], { now_ms: MONTH_LATER_MS });
  t.deepEqual(await faultsOf(root), []);
});

/** Changes what the manifest says of the file of a table or kind. */
function rewriteFile(world: Published, kind: string, changes: Partial<PublishedFile>): Promise<void> {
  const wrong = fileOf(world, kind);
  return rewriteManifest(world, ({ files }) => ({
    files: files.map((file) => (file === wrong ? { ...file, ...changes } : file)),
  }));
}

async function flipByte(path: string): Promise<void> {
  const content = await fs.readFile(path);
  content[content.length >> 1] = content[content.length >> 1] ^ 1;
  await fs.writeFile(path, content);
}

const NOT_READABLE = `${HEAD}: is not a readable manifest of this version`;

const faultAt = (path: string, what = '') => new RegExp(`^${path}: ${what}`);

/** Each damages a root; verify finds all these faults then, or one among them. */
const DAMAGES: readonly (readonly [
  what: string,
  damage: (world: Published) => Promise<unknown>,
  expected: (world: Published) => readonly string[] | RegExp,
])[] = [
  [
    'a head that does not fit its manifest',
    ({ root, manifest }) => {
      const head = headOf(manifest);
      return fs.writeFile(join(root, HEAD), JSON.stringify({ ...head, scans: { ...head.scans, count: 7 } }));
    },
    ({ manifest }) => [`${HEAD}: is not the head of ${layout.manifest(DATE, manifest.commit)}`],
  ],
  [
    'a head whose manifest is missing',
    ({ root, manifest }) => fs.rm(join(root, layout.manifest(DATE, manifest.commit))),
    ({ manifest }) => new RegExp(`^${layout.manifest(DATE, manifest.commit)}: is missing$`),
  ],
  [
    'a missing file',
    (world) => fs.rm(join(world.root, fileOf(world, 'detections').path)),
    (world) =>
      faultAt(fileOf(world, 'detections').path, `is missing, expected ${fileOf(world, 'detections').bytes} bytes$`),
  ],
  ...['cells', 'scan-tiles', 'daily-tiles', 'state'].map(
    (kind) =>
      [
        `a flipped byte in a file of ${kind}`,
        (world: Published) => flipByte(join(world.root, fileOf(world, kind).path)),
        (world: Published) => faultAt(fileOf(world, kind).path, `has sha256 .*expected ${fileOf(world, kind).sha256}$`),
      ] as const,
  ),
  [
    'a wrong number of rows in the manifest',
    (world) => rewriteFile(world, 'tracks', { rows: fileOf(world, 'tracks').rows + 1 }),
    (world) => {
      const { path, rows } = fileOf(world, 'tracks');
      return [`${path}: has ${rows} rows, expected ${rows + 1}`];
    },
  ],
  [
    'a file whose times lie outside the range in the manifest',
    (world) => rewriteFile(world, 'detections', { first_scan: world.manifest.scans[2]?.scan_id ?? null }),
    () => /has times outside its range/,
  ],
  [
    'a table file of another schema version',
    (world) => rewriteFile(world, 'cells', { schema_version: 99 }),
    (world) => [
      `${fileOf(world, 'cells').path}: has schema version ${fileOf(world, 'cells').schema_version}, expected 99`,
    ],
  ],
  [
    'a manifest of another version, and still looks at the rest',
    ({ root, manifest }) =>
      fs.writeFile(join(root, HEAD), JSON.stringify({ ...headOf(manifest), manifest_version: 99 })),
    () => [NOT_READABLE],
  ],
  ['a manifest that is cut off', ({ root }) => fs.truncate(join(root, HEAD), 100), () => [NOT_READABLE]],
  [
    'frames that are not the scans of the manifest',
    (world) => rewriteManifest(world, ({ scans }) => ({ scans: scans.slice(1) })),
    ({ manifest: { scans } }) => [
      `${HEAD}: frames name ${scans.length} scans, expected the ${scans.length - 1} scans of the list`,
    ],
  ],
  [
    'scans of the other provenance than their manifest is of',
    (world) => rewriteManifest(world, () => ({ source: 'observed' })),
    ({ manifest: { scans } }) =>
      faultAt(HEAD, `${scans.length} frames are not of observed data, which the list is of$`),
  ],
  [
    'table files that say they are of the other provenance',
    (world) => rewriteManifest(world, () => ({ source: 'observed' })),
    (world) => faultAt(fileOf(world, 'cells').path, 'says that its data are simulated, expected observed$'),
  ],
  [
    'a current pointer that names a manifest that does not exist',
    ({ root, current }) =>
      fs.writeFile(join(root, 'current.json'), JSON.stringify({ ...current, open_dates: { [DATE]: 77 } })),
    () => [`manifests/${DATE}/000077.json: is missing`],
  ],
  [
    'a live snapshot that is gone',
    ({ root, current }) => fs.rm(join(root, current.live.cells)),
    ({ current }) => faultAt(current.live.cells),
  ],
  [
    'a live snapshot that is cut off',
    ({ root, current }) => fs.truncate(join(root, current.live.tracks), 20),
    ({ current }) => faultAt(current.live.tracks),
  ],
  [
    'a current pointer that is gone',
    ({ root }) => fs.rm(join(root, 'current.json')),
    () => ['current.json: is missing'],
  ],
];

for (const [what, damage, expectedIn] of DAMAGES)
  test(`finds ${what}`, async (t) => {
    const world = await published(t);
    await damage(world);
    const [expected, faults] = [expectedIn(world), await faultsOf(world.root)];
    if (expected instanceof RegExp) t.regex(faults.join('\n'), new RegExp(expected, 'm'));
    else t.deepEqual(faults, [...expected]);
  });

test('finds a head that is gone, and nothing is published in its place', async (t) => {
  const world = await published(t);
  await fs.rm(join(world.root, HEAD));
  t.deepEqual(await faultsOf(world.root), [
    `${HEAD}: is missing, and manifests are there: restore the file from a backup`,
  ]);
  await t.throwsAsync(ingest(world.root, []), { message: /head.json: is missing, and manifests are there/ });
});

test('finds scans whose uncovered blocks are not listed', async (t) => {
  // Over the Gulf, where radars do not reach.
  const gulf = worldOver({ row0: 2750, col0: 3600, rows: 60, cols: 60 });
  const world = await published(t, await gulf.scansBetween('00:00', '00:09'));
  t.deepEqual(await faultsOf(world.root), []);
  await rewriteManifest(world, ({ files }) => ({ files: files.filter(({ table }) => table !== 'uncovered') }));
  const count = world.manifest.scans.length;
  t.deepEqual(await faultsOf(world.root), [
    `${HEAD}: ${count} scans are not uncovered in as many blocks as their frames say`,
  ]);
});

test('finds shares of blocked beams that fall along a ray', async (t) => {
  const root = await scratch(t);
  const falling = [
    { tilt_deg: 0.5, distance_km: 20, blocked: 0.5 },
    { tilt_deg: 0.5, distance_km: 30, blocked: 0.4 },
  ];
  await publishBlockage(root, raysOfKtlx(falling, 10, 12));
  t.deepEqual(await faultsOf(root), [
    'manifests/undated/head.json: 3 shares that terrain blocks do not rise along their ray',
  ]);
});

test('finds nothing wrong with a first commit killed over the draft of a manifest', async (t) => {
  const { root } = await published(t);
  const folder = join(root, layout.manifestFolder('2026-05-03'));
  await fs.mkdir(folder);
  await fs.writeFile(join(folder, '000001.json'), '{}');
  await fs.writeFile(join(folder, 'head.json.part'), '{');
  t.deepEqual(await faultsOf(root), []);
});

const FOREIGN =
  'lies on another file system than its data root, expected one file system: files are moved into it in one step';

(hasTwoDevices ? test : test.skip)(
  'a link to tables on another file system is one sentence, of verify and of whoever wants to write (needs /tmp and /dev/shm on two devices)',
  async (t) => {
    const { root } = await published(t);
    const elsewhere = await fs.mkdtemp(join(onOtherDevice(root), 'hail-tables-'));
    t.teardown(() => fs.rm(elsewhere, { recursive: true }));
    await fs.cp(join(root, 'tables'), elsewhere, { recursive: true });
    await fs.rm(join(root, 'tables'), { recursive: true });
    await fs.symlink(elsewhere, join(root, 'tables'));
    t.deepEqual(await faultsOf(root), [`tables: ${FOREIGN}`]);
    await t.throwsAsync(ingest(root, [], { now_ms: MONTH_LATER_MS }), {
      instanceOf: PipelineError,
      message: `publish ${join(root, 'tables')}: ${FOREIGN}`,
    });
  },
);
