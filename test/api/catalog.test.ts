import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type Catalog, DataUnavailable, type Edition, openCatalog } from '../../api/catalog.ts';
import { processMemory, type RootMemory, type RootState } from '../../api/root-memory.ts';
import { layout } from '../../schemas/layout.ts';
import { copyFolder } from '../support/data/prepared.ts';
import { publishBlockage, raysOfKtlx } from '../support/data/terrain.ts';
import { ingest, midnight, NOW_MS, onRoot, preparedMonth, publishedRoot, scratch } from '../support/data/world.ts';

const [FIRST, LAST] = ['2026-05-01', '2026-05-02'];

async function open(t: ExecutionContext, root: string, startHour = 0): Promise<Catalog> {
  const catalog = await openCatalog(root, startHour);
  t.teardown(() => catalog.close());
  return catalog;
}

/** A root whose dates are over, closed and joined into their month. */
async function closedRoot(t: ExecutionContext): Promise<string> {
  const root = await scratch(t, 'closed');
  copyFolder(await preparedMonth(await midnight()), root);
  return root;
}

test('a missing data root is an edition without dates', async (t) => {
  const edition = (await open(t, await scratch(t, 'nothing'))).edition();
  t.like(edition, { newest_provenance: null, newest_scan_ms: null, live: null });
  t.deepEqual(edition.dates, []);
  t.deepEqual(edition.paths('detections', [FIRST]), []);
  t.deepEqual(edition.dayMaxPaths(FIRST, LAST), []);
  t.is(edition.manifest(FIRST), null);
  t.is(edition.dataAsOf([FIRST]), null);
});

test('an edition tells what is published: dates, source, newest scan, files', async (t) => {
  const scans = await midnight();
  const edition = (await open(t, await publishedRoot(t, scans))).edition();
  t.deepEqual(edition.dates, [FIRST, LAST]);
  t.like(edition, { newest_provenance: 'simulated', newest_scan_ms: scans.at(-1)?.time_ms });
  t.is(edition.manifest(LAST)?.partition, LAST);
  t.is(edition.manifest('2026-05-03'), null);
  const paths = edition.paths('detections', [FIRST, LAST, '2026-05-03']);
  t.true(paths.length >= 2);
  for (const path of paths) await t.notThrowsAsync(fs.access(path));
});

test('the freshness of a past date is its own, of a date without data that of the newest scan', async (t) => {
  const scans = await midnight();
  const edition = (await open(t, await publishedRoot(t, scans))).edition();
  const lastOfFirst = scans.filter(({ scan_id }) => scan_id.startsWith('20260501')).at(-1);
  t.is(edition.dataAsOf([FIRST]), lastOfFirst?.time_ms ?? null);
  t.is(edition.dataAsOf(['2026-04-01']), scans.at(-1)?.time_ms ?? null);
});

test('a new scan makes a new edition; one that is held stays as it was', async (t) => {
  const scans = await midnight();
  const root = await publishedRoot(t, scans.slice(0, -1));
  const catalog = await open(t, root);
  const held = catalog.edition();
  const before = { paths: held.paths('detections', [LAST]), version: held.version(['detections'], [LAST]) };
  await ingest(root, scans.slice(-1));
  await catalog.refresh();
  const next = catalog.edition();
  t.is(next.newest_scan_ms, scans.at(-1)?.time_ms ?? null);
  t.deepEqual(held.paths('detections', [LAST]), before.paths);
  t.is(held.version(['detections'], [LAST]), before.version);
  t.not(next.version(['detections'], [LAST]), before.version, 'the date of the scan changed');
  t.is(next.version(['detections'], [FIRST]), held.version(['detections'], [FIRST]), 'the date before did not');
});

test('looking again without a change keeps the very same edition', async (t) => {
  const catalog = await open(t, await publishedRoot(t, await midnight()));
  const edition = catalog.edition();
  await catalog.refresh();
  t.is(catalog.edition(), edition);
});

test('the edition follows the switch by itself', async (t) => {
  const scans = await midnight();
  const root = await publishedRoot(t, scans.slice(0, -1));
  const catalog = await open(t, root);
  const seen = new Promise<number | null>((resolve) => {
    let calls = 0;
    const prepare = async ({ newest_scan_ms }: { readonly newest_scan_ms: number | null }) => {
      calls += 1;
      if (calls > 1) resolve(newest_scan_ms);
    };
    void catalog.beforeEdition(prepare);
  });
  const alive = setInterval(() => {}, 1000); // polls do not keep a process alive
  await ingest(root, scans.slice(-1));
  t.is(await seen, scans.at(-1)?.time_ms ?? null);
  clearInterval(alive);
});

test('files whose box or largest size cannot matter are left out', async (t) => {
  const edition = (await open(t, await publishedRoot(t, await midnight()))).edition();
  const all = edition.paths('detections', [FIRST, LAST]);
  const files = [FIRST, LAST].flatMap((date) => edition.manifest(date)?.files ?? []);
  const [west, south, east, north] = files.find((file) => file.table === 'detections')?.bbox ?? [0, 0, 0, 0];
  t.deepEqual(edition.paths('detections', [FIRST, LAST], { bbox: [-80, 25, -79, 26] }), []);
  t.deepEqual(edition.paths('detections', [FIRST, LAST], { min_size_mm: 151 }), []);
  t.true(edition.paths('detections', [FIRST], { bbox: [west, south, west, south] }).length > 0, 'a corner is inside');
  t.true(edition.paths('detections', [FIRST], { bbox: [east, north, east + 1, north + 1] }).length > 0);
  t.deepEqual(edition.paths('detections', [FIRST, LAST], { bbox: [-180, -90, 180, 90], min_size_mm: 10 }), all);
});

test('closed dates are read from their month, a running date from its own files', async (t) => {
  const open_ = (await open(t, await publishedRoot(t, await midnight()))).edition();
  t.true(open_.dayMaxPaths(FIRST, LAST).every((path) => path.includes('/date=')));
  const closed = (await open(t, await closedRoot(t))).edition();
  const paths = closed.dayMaxPaths(FIRST, LAST);
  t.is(paths.length, 2);
  t.true(paths.every((path) => path.includes('/month=2026-05/')));
  const north = { bbox: [-97.5, 35.2, -97, 35.3] } as const;
  t.is(closed.dayMaxPaths(FIRST, LAST, north).length, 1, 'a month is cut where latitude is 35');
  t.deepEqual(closed.dayMaxPaths('2026-06-01', '2026-06-30'), []);
});

test('a month is not read any more once a date in it was made anew', async (t) => {
  const root = await closedRoot(t);
  const head = join(root, layout.head(FIRST));
  const manifest = JSON.parse(await fs.readFile(head, 'utf8'));
  manifest.table_commits['day-max'] = manifest.commit + 1;
  await fs.writeFile(head, JSON.stringify({ ...manifest, commit: manifest.commit + 1 }));
  const paths = (await open(t, root)).edition().dayMaxPaths(FIRST, LAST);
  t.is(paths.length, 2);
  t.true(paths.every((path) => path.includes('/date=')));
});

async function failsWith(t: ExecutionContext, root: string, reason: RegExp): Promise<void> {
  const catalog = await open(t, root);
  const error = t.throws(() => catalog.edition(), { instanceOf: DataUnavailable });
  t.regex(error?.message ?? '', reason);
  t.is(catalog.failure(), error?.message ?? null);
}

test('a root without the list that its switch names has no edition', async (t) => {
  const root = await publishedRoot(t, await midnight());
  await fs.rm(join(root, layout.manifestFolder(LAST)), { recursive: true });
  await failsWith(t, root, /manifests\/2026-05-02\/\d+\.json is missing, and the switch names it/);
});

test('a root with scans and without its switch has no edition', async (t) => {
  const root = await publishedRoot(t, await midnight());
  await fs.rm(join(root, layout.current));
  await failsWith(t, root, /current\.json is missing, and 2026-05-0[12] holds \d+ scans/);
});

test('a root that lost a date of a month has no edition', async (t) => {
  const root = await closedRoot(t);
  await fs.rm(join(root, layout.manifestFolder(FIRST)), { recursive: true });
  await failsWith(t, root, /2026-05-01\/head\.json is missing, and month 2026-05 names it/);
});

for (const [lost, named] of [
  ['tables', ['tables']],
  ['tiles', ['tiles']],
  ['tables/detections', ['tables/detections']],
  ['tiles/scan', ['tiles/scan']],
  ['tiles/daily', ['tiles/daily']],
  ['live', ['live']],
] as const)
  test(`a root without ${lost} has no edition, names it, and has one again once it is back`, async (t) => {
    const root = await publishedRoot(t, await midnight());
    const catalog = await open(t, root);
    t.deepEqual(catalog.missing(), []);
    await fs.rename(join(root, lost), join(root, 'away'));
    await catalog.refresh();
    t.is(catalog.failure(), `data root: ${lost} is missing, and lists name files there`);
    t.deepEqual(catalog.missing(), named);
    await fs.rename(join(root, 'away'), join(root, lost));
    await catalog.refresh();
    t.is(catalog.failure(), null);
    t.deepEqual(catalog.edition().dates, [FIRST, LAST]);
  });

test('a switch that is half written has no edition, and the next look mends it', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const path = join(root, layout.current);
  const whole = await fs.readFile(path, 'utf8');
  await fs.writeFile(path, whole.slice(0, 80));
  const catalog = await open(t, root);
  t.regex(catalog.failure() ?? '', /current\.json is not JSON/);
  await fs.writeFile(path, whole);
  await catalog.refresh();
  t.is(catalog.failure(), null);
  t.deepEqual(catalog.edition().dates, [FIRST, LAST]);
});

test('a list of a newer version is refused by name', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const path = join(root, layout.current);
  const current = JSON.parse(await fs.readFile(path, 'utf8'));
  await fs.writeFile(path, JSON.stringify({ ...current, manifest_version: 2 }));
  await failsWith(t, root, /current\.json has version 2, expected 1/);
});

test('a root with another start of the storm day is refused', async (t) => {
  const catalog = await open(t, await publishedRoot(t, await midnight()), 12);
  t.regex(catalog.failure() ?? '', /storm days that start at 0 UTC, expected 12 \(HAIL_STORM_DAY_START_HOUR\)/);
});

test('a date without scans counts as observed up to its last second', async (t) => {
  const root = await scratch(t);
  await onRoot(root, { now_ms: NOW_MS }, async ({ root: opened }) => {
    await opened.publishFiles('2026-04-30', 'simulated', [], [], true, NOW_MS);
  });
  const edition = (await open(t, root)).edition();
  t.deepEqual(edition.dates, ['2026-04-30']);
  t.is(edition.newest_scan_ms, null, 'nothing fell, nothing was observed');
});

test('a table without dates is in the edition, also before the first scan, and is no date', async (t) => {
  const root = await scratch(t);
  const catalog = await open(t, root);
  const version = () => catalog.edition().version(['blockage'], [layout.staticPartition]);
  const none = version();
  t.deepEqual(catalog.edition().paths('blockage', [layout.staticPartition]), []);
  await publishBlockage(root, raysOfKtlx([], 0, 0));
  await catalog.refresh();
  const [path] = catalog.edition().paths('blockage', [layout.staticPartition]);
  await t.notThrowsAsync(fs.access(path ?? ''));
  t.deepEqual(catalog.edition().dates, []);
  const first = version();
  await publishBlockage(root, raysOfKtlx([{ tilt_deg: 0.5, distance_km: 9, blocked: 1 }], 0, 0));
  await catalog.refresh();
  t.is(new Set([none, first, version()]).size, 3);
});

test('a table without dates does not mind when the storm day starts', async (t) => {
  const root = await scratch(t);
  await publishBlockage(root, raysOfKtlx([], 0, 0));
  t.is((await open(t, root, 12)).edition().paths('blockage', [layout.staticPartition]).length, 1);
});

/** Ways to lose data, each with what is said of it. Closed dates: no switch names them. */
const LOSSES: readonly (readonly [what: string, lose: (root: string) => Promise<void>, reason: RegExp])[] = [
  ['moved away', (root) => fs.rename(root, `${root}-away`), /holds nothing, and held 3 partitions before/],
  [
    'replaced by an empty folder',
    async (root) => {
      await fs.rename(root, `${root}-away`);
      await fs.mkdir(root);
    },
    /holds nothing/,
  ],
  [
    'without its lists and its switch',
    async (root) => {
      await fs.rm(join(root, layout.manifests), { recursive: true });
      await fs.rm(join(root, layout.current));
    },
    /holds nothing/,
  ],
  [
    'without the lists of a date and its month',
    async (root) => {
      for (const name of [FIRST, 'month-2026-05']) await fs.rm(join(root, layout.head(name)));
    },
    /has lost 2026-05-01, which was there before \(commit \d+\)/,
  ],
  [
    'with an older list of a date',
    async (root) => {
      const head = JSON.parse(await fs.readFile(join(root, layout.head(FIRST)), 'utf8'));
      await fs.writeFile(join(root, layout.head(FIRST)), JSON.stringify({ ...head, commit: head.commit - 1 }));
    },
    /went back to commit \d+ of 2026-05-01, and was at \d+ before/,
  ],
  ['without its name', (root) => fs.rm(join(root, layout.root)), /is a root without a name, expected root_\w+/],
  [
    'with another name',
    async (root) => {
      const path = join(root, layout.root);
      await fs.writeFile(path, (await fs.readFile(path, 'utf8')).replace(/root_[0-9A-Z]+/, 'root_OTHER'));
    },
    /is root_OTHER, expected root_\w+/,
  ],
];

for (const [what, lose, reason] of LOSSES) {
  test(`a root that is ${what} has no edition, and has one again once it is back`, async (t) => {
    const root = await closedRoot(t);
    const copy = await scratch(t, 'copy');
    await fs.cp(root, copy, { recursive: true });
    const catalog = await open(t, root);
    const { dates } = catalog.edition();
    await lose(root);
    await catalog.refresh();
    t.regex(catalog.failure() ?? '', reason);
    t.throws(() => catalog.edition(), { instanceOf: DataUnavailable });
    await fs.rm(root, { recursive: true, force: true });
    await fs.rename(copy, root);
    await catalog.refresh();
    t.is(catalog.failure(), null);
    t.deepEqual(catalog.edition().dates, dates);
    await fs.rm(`${root}-away`, { recursive: true, force: true });
  });

  test(`a root that is ${what} is missed by a catalog that was told what it held`, async (t) => {
    const root = await closedRoot(t);
    const memory = processMemory();
    await (await openCatalog(root, 0, memory)).close();
    await lose(root);
    const catalog = await openCatalog(root, 0, memory);
    t.teardown(() => catalog.close());
    t.regex(catalog.failure() ?? '', reason);
    await memory.remember({ root_id: null, commits: {} });
    await catalog.refresh();
    t.is(catalog.failure(), null, 'it was told to forget');
    await fs.rm(`${root}-away`, { recursive: true, force: true });
  });
}

test('what cannot be noted now is noted at a later look', async (t) => {
  let refusals = 2;
  const states: RootState[] = [];
  const memory: RootMemory = {
    recall: async () => null,
    remember: async (state) => {
      if (refusals === 0) states.push(state);
      else refusals -= 1;
      return refusals === 0 && states.length > 0;
    },
  };
  const catalog = await openCatalog(await publishedRoot(t, await midnight()), 0, memory);
  t.teardown(() => catalog.close());
  while (states.length === 0) await catalog.refresh();
  t.deepEqual(Object.keys(states[0]?.commits ?? {}), [FIRST, LAST]);
  await catalog.refresh();
  t.is(states.length, 1);
});

test('a closed date that is being opened again is read as it was until the switch names it', async (t) => {
  const root = await closedRoot(t);
  const catalog = await open(t, root);
  const before = catalog.edition().paths('detections', [FIRST]);
  t.true(before.length > 0);
  const manifest = catalog.edition().manifest(FIRST);
  const commit = (manifest?.commit ?? 0) + 1;
  const reopened = { ...manifest, commit, closed: false, files: [], scans: [] };
  await fs.writeFile(join(root, layout.manifest(FIRST, commit)), JSON.stringify(reopened));
  const head = JSON.parse(await fs.readFile(join(root, layout.head(FIRST)), 'utf8'));
  await fs.writeFile(join(root, layout.head(FIRST)), JSON.stringify({ ...head, commit, closed: false, files: [] }));
  for (const each of [catalog, await open(t, root)]) {
    await each.refresh();
    t.is(each.failure(), null);
    t.deepEqual(each.edition().paths('detections', [FIRST]), before);
    t.is(each.edition().manifest(FIRST)?.commit, commit - 1);
  }
});

/** A root with all scans but the last few, and a way to publish the next. */
async function growingRoot(t: ExecutionContext, missing: number) {
  const scans = await midnight();
  const left = scans.slice(-missing);
  const root = await publishedRoot(t, scans.slice(0, -missing));
  const catalog = await open(t, root);
  const publishNext = async () => {
    await ingest(root, left.splice(0, 1));
    await catalog.refresh();
    return catalog.edition();
  };
  return { catalog, publishNext };
}

const unexpected = (error: unknown) => {
  throw error;
};

test('an observer is told of the present edition and of each new one once it is handed out', async (t) => {
  const { catalog, publishNext } = await growingRoot(t, 1);
  const present = catalog.edition();
  const told: Edition[] = [];
  catalog.afterEdition({
    react: async (edition, last) => {
      t.is(catalog.edition(), edition);
      t.is(last, told.at(-1) ?? null);
      told.push(edition);
    },
    failed: unexpected,
  });
  await new Promise(setImmediate);
  t.deepEqual(told, [present]);
  const next = await publishNext();
  while (told.at(-1) !== next) await new Promise(setImmediate);
  t.is(new Set(told).size, told.length);
});

test('an observer that fails is heard, data stay available, and the next scan comes with what it had got through', async (t) => {
  const { catalog, publishNext } = await growingRoot(t, 2);
  const failures: unknown[] = [];
  const calls: (readonly [newest: Edition, last: Edition | null])[] = [];
  const first = catalog.edition();
  let second: Edition | null = null;
  catalog.afterEdition({
    react: async (edition, last) => {
      calls.push([edition, last]);
      if (last !== null && second === null) throw new Error('no room for alerts');
    },
    failed: (error) => failures.push(error),
  });
  await new Promise(setImmediate);
  const published = await publishNext();
  while (calls.at(-1)?.[0] !== published || failures.length < calls.length - 1) await new Promise(setImmediate);
  second = published;
  t.is(catalog.failure(), null);
  t.is(catalog.edition(), second);
  const before = calls.length;
  await publishNext();
  while (calls.length === before) await new Promise(setImmediate);
  t.is(calls[before]?.[1], first, 'not the one it failed at');
  t.true(failures.length > 0 && failures.every((error) => String(error) === 'Error: no room for alerts'));
});

test('a slow observer delays no edition, and then finds every scan in between in the newest', async (t) => {
  const { catalog, publishNext } = await growingRoot(t, 3);
  const present = catalog.edition();
  const slow = Promise.withResolvers<void>();
  const caughtUp = Promise.withResolvers<readonly [Edition, Edition | null]>();
  catalog.afterEdition({
    react: async (edition, last) => {
      if (edition === present) await slow.promise;
      else caughtUp.resolve([edition, last]);
    },
    failed: unexpected,
  });
  const editions = [present, await publishNext(), await publishNext(), await publishNext()];
  t.is(new Set(editions.map(({ newest_scan_ms }) => newest_scan_ms)).size, 4, 'each scan was handed out');
  slow.resolve();
  const [edition, last] = await caughtUp.promise;
  t.is(edition, catalog.edition());
  t.is(last, present);
  const scansOf = ({ dates, manifest }: Edition) => dates.flatMap((date) => manifest(date)?.scans ?? []);
  t.is(scansOf(edition).length - scansOf(present).length, 3);
});

test('a catalog that is closed waits for the observer that reacts, and offers nothing more', async (t) => {
  const { catalog, publishNext } = await growingRoot(t, 1);
  const reacting = Promise.withResolvers<void>();
  let [begun, ended] = [0, 0];
  catalog.afterEdition({
    react: async () => {
      begun += 1;
      await reacting.promise;
      ended += 1;
    },
    failed: unexpected,
  });
  while (begun === 0) await new Promise(setImmediate);
  await publishNext();
  const closing = catalog.close().then(() => ended);
  reacting.resolve();
  t.is(await closing, 1);
  await new Promise(setImmediate);
  t.is(begun, 1);
});
