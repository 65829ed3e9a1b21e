import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openEngine } from '../../../pipeline/duckdb.ts';
import { filesBelow, namesIn } from '../../../pipeline/files.ts';
import { adoptDate } from '../../../pipeline/publish/adopt.ts';
import { clearOldSimulated } from '../../../pipeline/publish/commit-dates.ts';
import { eventDay } from '../../../pipeline/publish/day-products.ts';
import { KEPT_MS, KEPT_SNAPSHOTS, retireSnapshots } from '../../../pipeline/publish/live.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { verifyRoot } from '../../../pipeline/publish/verify.ts';
import { writeScans } from '../../../pipeline/simulate/evening.ts';
import { listFolder } from '../../../pipeline/sources/folder.ts';
import type { SourceFile } from '../../../pipeline/sources/names.ts';
import { pixelAreaKm2 } from '../../../schemas/geo/lattice.ts';
import { headOf } from '../../../schemas/head.ts';
import { layout } from '../../../schemas/layout.ts';
import type { Manifest } from '../../../schemas/manifest.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { EventDay } from '../../../schemas/tables/derived.ts';
import { MS_PER_DAY, MS_PER_MIN, scanId } from '../../../schemas/time.ts';
import { logicalContent, sameContent } from '../../support/data/content.ts';
import { headsOf } from '../../support/data/iceberg-reading.ts';
import { drawPixels } from '../../support/data/pixels.ts';
import { DAY, DAY_MS } from '../../support/data/rows.ts';
import { aroundMidnight } from '../../support/data/small-world.ts';
import { asObserved, MONTH_LATER_MS, onRoot, preparedMonth, type RawScan, scratch } from '../../support/data/world.ts';
import { faultsOf } from '../../support/kill/killed.ts';

const TABLES = ['cells', 'detections', 'tracks'];
const SECONDS_10 = 10_000;

/** A folder of live files, and a clock that stands until it is moved. */
async function liveFolder(t: ExecutionContext) {
  const root = await scratch(t, 'live "root"');
  mkdirSync(join(root, layout.live), { recursive: true });
  const clock = { ms: 0 };
  /** Writes the files of one snapshot; their paths. */
  const write = (n: number, hash = '00000000') => {
    const paths = TABLES.map((table) => `${layout.live}/${scanId(n * SECONDS_10)}-${hash}.${table}.arrow`);
    for (const path of paths) writeFileSync(join(root, path), '');
    return paths;
  };
  const live = { scans: [], snapshots: [] };
  const retire = (paths: readonly string[]) => retireSnapshots({ path: root, live }, paths, clock.ms);
  const count = () => readdirSync(join(root, layout.live)).length;
  return { root, clock, write, retire, count };
}

test('the newest snapshots stay, and older ones are deleted, however quickly scans come', async (t) => {
  const { root, clock, write, retire, count } = await liveFolder(t);
  for (let n = 0; n < 3 * KEPT_SNAPSHOTS; n++) {
    clock.ms += SECONDS_10;
    await retire(write(n));
  }
  t.is(count(), KEPT_SNAPSHOTS * TABLES.length);
  t.true(write(3 * KEPT_SNAPSHOTS - 1).every((path) => existsSync(join(root, path))));
});

test('a snapshot that was replaced a moment ago stays, however many came after it', async (t) => {
  const { clock, write, retire, count } = await liveFolder(t);
  for (let n = 0; n < 2 * KEPT_SNAPSHOTS; n++) await retire(write(n));
  t.is(count(), 2 * KEPT_SNAPSHOTS * TABLES.length);
  clock.ms += KEPT_MS;
  await retire(write(2 * KEPT_SNAPSHOTS));
  t.is(count(), KEPT_SNAPSHOTS * TABLES.length);
});

test('a snapshot that is published again stays', async (t) => {
  const { root, clock, write, retire } = await liveFolder(t);
  const first = write(0);
  await retire(first);
  for (let n = 1; n < KEPT_SNAPSHOTS; n++) await retire(write(n));
  await retire(first);
  clock.ms += KEPT_MS;
  await retire(write(KEPT_SNAPSHOTS));
  t.true(first.every((path) => existsSync(join(root, path))));
});

test('a file that is gone already stops nothing', async (t) => {
  const { clock, write, retire } = await liveFolder(t);
  for (let n = 0; n < KEPT_SNAPSHOTS; n++) await retire(write(n).map((path) => `${path} gone`));
  clock.ms += KEPT_MS;
  await t.notThrowsAsync(retire(write(KEPT_SNAPSHOTS)));
});

const FACTS: Parameters<typeof eventDay>[1] = {
  storm_date: DAY,
  cell_count: 2,
  max_size_mm: 22,
  n_detections: 9,
  first_detected: DAY_MS,
  last_detected: DAY_MS + 100,
};

test('one pixel is its own box', (t) => {
  const event = eventDay({ rows: [1500], cols: [3000] }, FACTS);
  t.is(event.hull, 'POLYGON ((-100 39.99, -99.99 39.99, -99.99 40, -100 40, -100 39.99))');
  t.true(Math.abs(event.affected_area_km2 / pixelAreaKm2(1500) - 1) < 1e-6);
});

test('an event day is what its detections add up to, with the hull of their pixels and its centre inside', (t) => {
  const event = eventDay(
    drawPixels(`
    1 . . 1
    . . . .
    . . 1 .`),
    FACTS,
  );
  t.deepEqual(EventDay.parse(event), event);
  t.like(event, FACTS);
  t.true(
    event.centroid_lat > 39.97 && event.centroid_lat < 40 && event.centroid_lon > -100 && event.centroid_lon < -99.96,
  );
});

test('the order of the pixels changes nothing, nor does one that is named twice', (t) => {
  const { rows, cols } = drawPixels(`
    1 . 1 1
    1 1 . 1`);
  const day = eventDay({ rows, cols }, FACTS);
  const turned = { rows: [...rows].reverse(), cols: [...cols].reverse() };
  t.deepEqual(eventDay(turned, FACTS), day);
  t.deepEqual(eventDay({ rows: [...rows, ...turned.rows], cols: [...cols, ...turned.cols] }, FACTS), day);
});

const KEEP_DATES = 7;
const WINDOW = { row0: 1900, col0: 3200, rows: 150, cols: 200 };

/** Raw files of the simulated scans of the five minutes after an instant. */
async function scansAfter(t: ExecutionContext, from_ms: number): Promise<readonly SourceFile[]> {
  const out = await scratch(t, 'scan');
  const scenario = { seed: 41, window: WINDOW, day_type: 'outbreak', steady: true, sites: WSR88D } as const;
  for await (const _ of writeScans(scenario, { from_ms, to_ms: from_ms + 5 * MS_PER_MIN, out }));
  return (await listFolder(out)).files;
}

/** A root that ingests, forgets old scans by the newest one, closes dates that are over, and sweeps. */
async function pass(root: string, files: readonly SourceFile[], now_ms: number): Promise<void> {
  await onRoot(root, { now_ms }, async ({ root: open, session }) => {
    await session.ingest(files);
    await session.finishDates();
    await clearOldSimulated(open, KEEP_DATES, now_ms);
    await session.finishDates();
    const old_s = (Date.now() - MS_PER_DAY) / 1000;
    for (const name of await filesBelow(root)) await fs.utimes(join(root, name), old_s, old_s);
    await session.sweep();
  });
}

/** The root is whole, and only these dates have scans. */
async function holdsOnly(t: ExecutionContext, root: string, dates: readonly string[]): Promise<void> {
  const engine = await openEngine();
  t.teardown(engine.close);
  t.deepEqual((await verifyRoot(engine, root, null, () => {})).faults, []);
  const heads = (await headsOf(root)).filter(({ partition }) => /^\d{4}-\d\d-\d\d$/.test(partition));
  t.deepEqual(
    heads.filter(({ scans }) => scans.count > 0).map(({ partition }) => partition),
    dates,
  );
  const named = (await filesBelow(join(root, 'tables'))).flatMap((path) => /date=([^/]+)/.exec(path)?.[1] ?? []);
  t.deepEqual([...new Set(named)], dates);
}

test('simulated dates that are too old go from the disk, and their month with the last of them', async (t) => {
  const root = await scratch(t);
  const evening = (await aroundMidnight()).flatMap(({ files }) => files);
  const may_10 = Date.parse('2026-05-10T00:00:00Z');
  await pass(root, [...evening, ...(await scansAfter(t, may_10 - MS_PER_DAY))], may_10);
  await holdsOnly(t, root, ['2026-05-02', '2026-05-09']);
  await pass(root, await scansAfter(t, may_10), may_10 + MS_PER_DAY);
  await holdsOnly(t, root, ['2026-05-09', '2026-05-10']);
  const june_20 = Date.parse('2026-06-20T00:00:00Z');
  await pass(root, await scansAfter(t, june_20), june_20 + MS_PER_DAY);
  await holdsOnly(t, root, ['2026-06-20']);
  t.deepEqual(
    (await filesBelow(join(root, 'tables'))).filter((path) => path.includes('2026-05')),
    [],
  );
});

test('observed dates, and dates that only a wrong clock calls old, stay', async (t) => {
  const root = await scratch(t);
  const scans = await aroundMidnight();
  const years_ahead_ms = Date.parse('2036-05-01T00:00:00Z');
  await onRoot(root, {}, async ({ root: open, session }) => {
    await session.ingest(scans.flatMap(({ files }) => files));
    await clearOldSimulated(open, KEEP_DATES, years_ahead_ms);
    t.true([...open.heads.values()].every(({ scans }) => scans.count > 0));
  });
  const observed = await scratch(t, 'observed');
  await onRoot(observed, {}, async ({ root: open, session }) => {
    await session.ingest((await asObserved(t, scans)).flatMap(({ files }) => files));
    await clearOldSimulated(open, -1, years_ahead_ms);
    t.true([...open.heads.values()].every(({ scans }) => scans.count > 0));
  });
});

const DATE = '2026-05-01';

/** Puts a date that was made of some scans into the inbox of a root. Returns its folder. */
async function handOver(root: string, name: string, scans: readonly RawScan[]): Promise<string> {
  const folder = join(root, layout.finishedDate(name));
  cpSync(await preparedMonth(scans), folder, { recursive: true });
  return folder;
}

/** Adopts dates until the inbox is empty. Returns what became of each. */
function adoptAll(root: string, storm_day_start_hour = 0): Promise<(readonly [name: string, status: string])[]> {
  return onRoot(root, { now_ms: MONTH_LATER_MS, storm_day_start_hour }, async ({ root: opened }) => {
    const statuses: (readonly [string, string])[] = [];
    for (;;) {
      const adoption = await adoptDate(opened, MONTH_LATER_MS);
      if (adoption === null) return statuses;
      statuses.push([adoption.name, adoption.status]);
    }
  });
}

/** Changes the manifest of a date. */
async function editManifest(folder: string, edit: (manifest: Manifest) => Manifest): Promise<void> {
  const manifest = await readNewest(folder, DATE);
  if (manifest === null) throw new Error(`${folder} holds no ${DATE}`);
  const edited = edit(manifest);
  await fs.writeFile(join(folder, layout.manifest(DATE, edited.commit)), JSON.stringify(edited));
  await fs.writeFile(join(folder, layout.head(DATE)), JSON.stringify(headOf(edited)));
}

async function fileOf(folder: string, isWanted: (file: Manifest['files'][number]) => boolean): Promise<string> {
  const path = (await readNewest(folder, DATE))?.files.find(isWanted)?.path;
  if (path === undefined) throw new Error(`${folder} holds no such file`);
  return join(folder, path);
}

async function flipByte(path: string): Promise<void> {
  const bytes = await fs.readFile(path);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await fs.writeFile(path, bytes);
}

test('a finished date is published whole, and the same date a second time is not committed again', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  await handOver(root, `${DATE}-00000001`, scans);
  await handOver(root, `${DATE}-00000002`, scans);
  t.deepEqual(await adoptAll(root), [
    [`${DATE}-00000001`, 'adopted'],
    [`${DATE}-00000002`, 'published'],
  ]);
  t.is((await readNewest(root, DATE))?.commit, 1);
  sameContent(t, await logicalContent(root), await logicalContent(await preparedMonth(scans)));
  t.deepEqual(await faultsOf(root), []);
  t.deepEqual(await namesIn(join(root, layout.finishedDates)), []);
});

test.serial('a file system without hard links takes a finished date as copies', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  await handOver(root, `${DATE}-00000001`, scans);
  const { link } = fs;
  t.teardown(() => Object.assign(fs, { link }));
  Object.assign(fs, { link: () => Promise.reject(new Error('EPERM: operation not permitted')) });
  t.deepEqual(await adoptAll(root), [[`${DATE}-00000001`, 'adopted']]);
  t.deepEqual(await faultsOf(root), []);
});

type Damage = (folder: string, t: ExecutionContext) => Promise<unknown>;

const REFUSED: readonly (readonly [what: string, reason: RegExp, damage: Damage, hour?: number])[] = [
  [
    'with a flipped byte in a table',
    /'tables\/detections\/.*' has sha256 [0-9a-f]{64}, expected [0-9a-f]{64}/,
    async (folder) => flipByte(await fileOf(folder, ({ table }) => table === 'detections')),
  ],
  [
    'with a short archive of tiles',
    /'tiles\/scan\/.*' has 100 bytes, expected \d+/,
    async (folder) => fs.truncate(await fileOf(folder, ({ kind }) => kind === 'scan-tiles'), 100),
  ],
  [
    'without its checkpoint',
    /'state\/.*' is missing/,
    async (folder) => fs.rm(await fileOf(folder, ({ kind }) => kind === 'state')),
  ],
  [
    'without its raw files',
    /scan 20260501T235504Z has other raw files than its manifest states/,
    (folder) => fs.rm(join(folder, layout.raw), { recursive: true }),
  ],
  [
    'with a path outside its folder',
    /'tables\/date=2026-05-01\/..\/..\/root.json' is no path of a published file of the date/,
    (folder) =>
      editManifest(folder, (manifest) => ({
        ...manifest,
        files: manifest.files.map((file) => ({ ...file, path: `tables/date=${DATE}/../../root.json` })),
      })),
  ],
  [
    'that is a file',
    /is a file, expected the folder of a finished date/,
    async (folder) => {
      await fs.rm(folder, { recursive: true });
      await fs.writeFile(folder, 'a note');
    },
  ],
  [
    'that is not closed',
    /has no manifest of a closed date with scans/,
    (folder) => editManifest(folder, (manifest) => ({ ...manifest, closed: false })),
  ],
  [
    'without a manifest',
    /has no manifest of a closed date/,
    (folder) => fs.rm(join(folder, layout.manifests), { recursive: true }),
  ],
  [
    'of another data format',
    /has data format 99/,
    (folder) => fs.writeFile(join(folder, layout.root), JSON.stringify({ manifest_version: 1, format: 99 })),
  ],
  [
    'of another start of the storm day',
    /storm day starts at 12 UTC, expected 0 \(HAIL_STORM_DAY_START_HOUR\)/,
    (folder) => editManifest(folder, (manifest) => ({ ...manifest, storm_day_start_hour: 12 })),
  ],
];

for (const [what, reason, damage] of REFUSED)
  test(`a finished date ${what} is refused whole, with the reason`, async (t) => {
    const scans = (await aroundMidnight()).slice(0, 3);
    const root = await scratch(t);
    const name = `${DATE}-00000001`;
    await damage(await handOver(root, name, scans), t);
    await handOver(root, `${DATE}-00000002`, scans);
    t.deepEqual(await adoptAll(root), [
      [name, 'rejected'],
      [`${DATE}-00000002`, 'adopted'],
    ]);
    t.regex(await fs.readFile(join(root, layout.rejectedDateReason(name)), 'utf8'), reason);
    t.deepEqual(await namesIn(join(root, 'inbox/rejected/dates')), [name, `${name}.reason.json`]);
    t.deepEqual(await faultsOf(root), []);
  });

test('a finished date that lacks a published scan is refused, and the published scans stay', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  cpSync(await preparedMonth(scans), root, { recursive: true });
  const before = await logicalContent(root);
  const name = `${DATE}-00000001`;
  await handOver(root, name, scans.slice(1));
  t.deepEqual(await adoptAll(root), [[name, 'rejected']]);
  t.regex(
    await fs.readFile(join(root, layout.rejectedDateReason(name)), 'utf8'),
    /lacks 1 of 3 published scans \(20260501T235504Z first\), expected all/,
  );
  sameContent(t, await logicalContent(root), before);
});

test('a finished date of the other kind is refused, and the published scans stay', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  cpSync(await preparedMonth(scans), root, { recursive: true });
  const name = `${DATE}-00000001`;
  await handOver(root, name, await asObserved(t, scans));
  t.deepEqual(await adoptAll(root), [[name, 'rejected']]);
  t.regex(
    await fs.readFile(join(root, layout.rejectedDateReason(name)), 'utf8'),
    /holds observed data, expected simulated data as the data root holds/,
  );
  t.is((await readNewest(root, DATE))?.source, 'simulated');
});

test('a finished date takes the place of published scans that it holds, too', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  cpSync(await preparedMonth(scans.slice(0, 2)), root, { recursive: true });
  await handOver(root, `${DATE}-00000001`, scans);
  t.deepEqual(await adoptAll(root), [[`${DATE}-00000001`, 'adopted']]);
  t.is((await readNewest(root, DATE))?.scans.length, 3);
  t.deepEqual(await faultsOf(root), []);
});
