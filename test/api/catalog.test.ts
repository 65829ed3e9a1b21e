import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type Catalog, type Edition, openCatalog } from '../../api/published/catalog.ts';
import { DataUnavailable } from '../../api/published/data-root.ts';
import { openEngine } from '../../api/published/duckdb.ts';
import { type Found, type Live, openLive, type Storm } from '../../api/published/live.ts';
import { openTerrain } from '../../api/published/terrain.ts';
import { selectList } from '../../api/queries/sql.ts';
import { pixelQuality } from '../../api/rules/detection-quality.ts';
import { ingestFeedFiles } from '../../pipeline/feeds/ingest-files.ts';
import { WEB_FEEDS } from '../../pipeline/feeds/web-feeds.ts';
import { commit } from '../../pipeline/publish/commit.ts';
import { openRoot } from '../../pipeline/publish/open-root.ts';
import { publishUndated } from '../../pipeline/publish/undated.ts';
import { COLLECTIONS, type CollectionName, type FeedState, WHOLE_COLLECTION } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import { destination, distanceKm } from '../../schemas/geo/distance.ts';
import { layout } from '../../schemas/layout.ts';
import { forecast, outlook } from '../../schemas/tables/forecast.ts';
import { type Detection, detections, type TrackPoint, tracks } from '../../schemas/tables/radar.ts';
import { forecastRows, outlookRows, publishForecast, publishOutlook } from '../support/data/model-rows.ts';
import { copyFolder } from '../support/data/prepared.ts';
import { KTLX, publishBlockage, raysOfKtlx } from '../support/data/terrain.ts';
import { ingest, midnight, NOW_MS, onRoot, preparedMonth, publishedRoot, scratch } from '../support/data/world.ts';
import { until } from '../support/until.ts';

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
  t.is(await edition.manifest(FIRST), null);
  t.is(edition.dataAsOf([FIRST]), null);
});

test('an edition tells what is published: dates, source, newest scan, files', async (t) => {
  const scans = await midnight();
  const edition = (await open(t, await publishedRoot(t, scans))).edition();
  t.deepEqual(edition.dates, [FIRST, LAST]);
  t.like(edition, { newest_provenance: 'simulated', newest_scan_ms: scans.at(-1)?.time_ms });
  t.is((await edition.manifest(LAST))?.partition, LAST);
  t.is(await edition.manifest('2026-05-03'), null);
  const paths = edition.paths('detections', [FIRST, LAST, '2026-05-03']);
  t.true(paths.length >= 2);
  for (const path of paths) await t.notThrowsAsync(fs.access(path));
  const lastOfFirst = scans.filter(({ scan_id }) => scan_id.startsWith('20260501')).at(-1);
  t.is(edition.dataAsOf([FIRST]), lastOfFirst?.time_ms ?? null, 'a past date has its own freshness');
  t.is(edition.dataAsOf(['2026-04-01']), scans.at(-1)?.time_ms ?? null, 'a date without data that of the newest scan');
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

test('looking again without a change keeps the very same edition; a new scan is followed by itself', async (t) => {
  const scans = await midnight();
  const root = await publishedRoot(t, scans.slice(0, -1));
  const catalog = await open(t, root);
  const edition = catalog.edition();
  await catalog.refresh();
  t.is(catalog.edition(), edition);
  await ingest(root, scans.slice(-1));
  await until(() => catalog.edition() !== edition);
  t.is(catalog.edition().newest_scan_ms, scans.at(-1)?.time_ms ?? null);
});

test('files whose box or largest size cannot matter are left out', async (t) => {
  const edition = (await open(t, await publishedRoot(t, await midnight()))).edition();
  const all = edition.paths('detections', [FIRST, LAST]);
  const manifests = await Promise.all([FIRST, LAST].map(edition.manifest));
  const files = manifests.flatMap((manifest) => manifest?.files ?? []);
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
  t.is(catalog.failure(), error ?? null);
}

for (const [what, spoil, reason] of [
  [
    'without the list that its switch names',
    (root: string) => fs.rm(join(root, layout.manifestFolder(LAST)), { recursive: true }),
    /manifests\/2026-05-02\/\d+\.json is missing, and the switch names it/,
  ],
  [
    'with scans and without its switch',
    (root: string) => fs.rm(join(root, layout.current)),
    /current\.json is missing, and 2026-05-0[12] holds \d+ scans/,
  ],
  [
    'whose switch is half written',
    (root: string) => fs.truncate(join(root, layout.current), 80),
    /current\.json is not JSON/,
  ],
  [
    'with a list of another version',
    (root: string) => fs.writeFile(join(root, layout.current), '{"manifest_version":2}'),
    /current\.json is not a list of this version/,
  ],
] as const)
  test(`a root ${what} has no edition, and has one again once it is mended`, async (t) => {
    const root = await publishedRoot(t, await midnight());
    cpSync(root, `${root}-whole`, { recursive: true });
    await spoil(root);
    await failsWith(t, root, reason);
    cpSync(`${root}-whole`, root, { recursive: true, force: true });
    t.deepEqual((await open(t, root)).edition().dates, [FIRST, LAST]);
  });

test('a first commit that has not reached the switch is no loss, a second one is', async (t) => {
  const root = await publishedRoot(t, (await midnight()).slice(0, 1));
  const head = join(root, layout.head(FIRST));
  const manifest = JSON.parse(await fs.readFile(head, 'utf8'));
  await fs.rm(join(root, layout.current));
  await fs.writeFile(head, JSON.stringify({ ...manifest, commit: 1 }));
  t.deepEqual((await open(t, root)).edition().dates, []);
  await fs.writeFile(head, JSON.stringify({ ...manifest, commit: 2 }));
  await failsWith(t, root, /current\.json is missing, and 2026-05-01 holds 1 scans/);
});

test('a root that lost a date of a month has no edition', async (t) => {
  const root = await closedRoot(t);
  await fs.rm(join(root, layout.manifestFolder(FIRST)), { recursive: true });
  await failsWith(t, root, /2026-05-01\/head\.json is missing, and month 2026-05 names it/);
});

test('a root that lost a folder has no edition, names it, and has one again once it is back', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const catalog = await open(t, root);
  for (const lost of ['tables', 'tiles', 'tables/detections', 'tiles/scan', 'tiles/daily', 'live']) {
    await fs.rename(join(root, lost), join(root, 'away'));
    await catalog.refresh();
    t.is(catalog.failure()?.message, `data root: ${lost} is missing, and lists name files there`);
    t.deepEqual(catalog.failure()?.missing, [lost]);
    await fs.rename(join(root, 'away'), join(root, lost));
    await catalog.refresh();
    t.is(catalog.failure(), null);
    t.deepEqual(catalog.edition().dates, [FIRST, LAST]);
  }
});

test('a root with another start of the storm day is refused', async (t) => {
  const catalog = await open(t, await publishedRoot(t, await midnight()), 12);
  const failure = catalog.failure()?.message ?? '';
  t.regex(failure, /storm days that start at 0 UTC, expected 12 \(HAIL_STORM_DAY_START_HOUR\)/);
});

test('a date without scans counts as observed up to its last second', async (t) => {
  const root = await scratch(t);
  await onRoot(root, { now_ms: NOW_MS }, async ({ root: opened }) => {
    const date = { partition: '2026-04-30', provenance: 'simulated', storm_day_start_hour: 0, closed: true } as const;
    await commit(opened, [date], NOW_MS);
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
  const publishedPaths = (await open(t, root, 12)).edition().paths('blockage', [layout.staticPartition]).length;
  t.is(publishedPaths, 1, 'at any start of the day');
});

for (const [what, lose] of [
  ['moved away', (root: string) => fs.rename(root, `${root}-away`)],
  ['replaced by an empty folder', (root: string) => fs.rename(root, `${root}-away`).then(() => fs.mkdir(root))],
] as const)
  test(`a root that is ${what} has no edition, and has one again once it is back: each is told once`, async (t) => {
    const root = await publishedRoot(t, await midnight());
    const told: (string | null)[] = [];
    const catalog = await openCatalog(root, 0, (reason) => told.push(reason));
    t.teardown(catalog.close);
    await lose(root);
    await catalog.refresh();
    await catalog.refresh();
    t.is(catalog.failure()?.message, 'data root: current.json is gone');
    await fs.rm(root, { recursive: true, force: true });
    await fs.rename(`${root}-away`, root);
    await catalog.refresh();
    t.deepEqual(catalog.edition().dates, [FIRST, LAST]);
    t.deepEqual(told, ['data root: current.json is gone', null]);
  });

test('a closed date that is being opened again is read as it was until the switch names it', async (t) => {
  const root = await closedRoot(t);
  const catalog = await open(t, root);
  const before = catalog.edition().paths('detections', [FIRST]);
  t.true(before.length > 0);
  const manifest = await catalog.edition().manifest(FIRST);
  const commit = (manifest?.commit ?? 0) + 1;
  const reopened = { ...manifest, commit, closed: false, files: [], scans: [] };
  await fs.writeFile(join(root, layout.manifest(FIRST, commit)), JSON.stringify(reopened));
  const head = JSON.parse(await fs.readFile(join(root, layout.head(FIRST)), 'utf8'));
  await fs.writeFile(join(root, layout.head(FIRST)), JSON.stringify({ ...head, commit, closed: false, files: [] }));
  for (const each of [catalog, await open(t, root)]) {
    await each.refresh();
    t.is(each.failure(), null);
    t.deepEqual(each.edition().paths('detections', [FIRST]), before);
    t.is((await each.edition().manifest(FIRST))?.commit, commit - 1);
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
    react: async (edition) => {
      t.is(catalog.edition(), edition);
      told.push(edition);
    },
    failed: unexpected,
  });
  await new Promise(setImmediate);
  t.deepEqual(told, [present]);
  const next = await publishNext();
  await until(() => told.at(-1) === next);
  t.is(new Set(told).size, told.length);
});

test('an observer that fails is heard and offered the newest edition again, and data stay available', async (t) => {
  const { catalog, publishNext } = await growingRoot(t, 1);
  const failures: unknown[] = [];
  const done: Edition[] = [];
  catalog.afterEdition({
    react: async (edition) => {
      if (failures.length === 0) throw new Error('no room for alerts');
      done.push(edition);
    },
    failed: (error) => failures.push(error),
  });
  await until(() => done.at(-1) === catalog.edition());
  t.deepEqual(failures.map(String), ['Error: no room for alerts']);
  t.is(catalog.failure(), null);
  const next = await publishNext();
  await until(() => done.at(-1) === next);
});

test('a slow observer delays no edition and no other observer, and then finds every scan in between in the newest', async (t) => {
  const { catalog, publishNext } = await growingRoot(t, 3);
  const present = catalog.edition();
  const slow = Promise.withResolvers<void>();
  const [offered, others]: [Edition[], Edition[]] = [[], []];
  catalog.afterEdition({
    react: async (edition) => {
      offered.push(edition);
      await slow.promise;
    },
    failed: unexpected,
  });
  catalog.afterEdition({ react: async (edition) => void others.push(edition), failed: unexpected });
  const editions = [present, await publishNext(), await publishNext(), await publishNext()];
  t.is(new Set(editions.map(({ newest_scan_ms }) => newest_scan_ms)).size, 4, 'each scan was handed out');
  await until(() => others.at(-1) === editions.at(-1));
  slow.resolve();
  await until(() => offered.length === 2);
  t.deepEqual(offered, [present, catalog.edition()]);
  const scansOf = async ({ dates, manifest }: Edition) =>
    (await Promise.all(dates.map(manifest))).flatMap((found) => found?.scans ?? []);
  t.is((await scansOf(catalog.edition())).length - (await scansOf(present)).length, 3);
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
  await until(() => begun > 0);
  await publishNext();
  const closing = catalog.close().then(() => ended);
  reacting.resolve();
  t.is(await closing, 1);
  await new Promise(setImmediate);
  t.is(begun, 1);
});

const EVERYWHERE = { lat: 35, lon: -97 };

async function openLiveOn(t: ExecutionContext, root: string): Promise<{ live: Live; catalog: Catalog }> {
  const catalog = await openCatalog(root, 0);
  t.teardown(() => catalog.close());
  return { live: await openLive(catalog), catalog };
}

/** Published rows of a table from the scans since an instant; the snapshot must equal them. */
async function published<Row>(
  t: ExecutionContext,
  root: string,
  catalog: Catalog,
  table: Table,
  since_ms: number,
): Promise<Row[]> {
  const engine = openEngine(root);
  t.teardown(() => engine.close());
  const edition = catalog.edition();
  return engine.rows<Row>(
    `SELECT ${selectList(table)} FROM read_parquet($1::VARCHAR[]) WHERE epoch_ms(scan_time) >= $2 ORDER BY ${table.order}`,
    [edition.paths(table.name, edition.dates), since_ms],
  );
}

test('an empty root has a snapshot of nothing', async (t) => {
  const snapshot = (await openLiveOn(t, await scratch(t))).live.snapshot();
  t.is(snapshot.newest_scan_ms, null);
  t.deepEqual(snapshot.placesWithin(EVERYWHERE, 1000, 0), []);
  t.deepEqual(snapshot.stormsWithin(EVERYWHERE, 1000, 0), []);
  t.is(snapshot.oldestSince(0), null);
});

test('every place with a detection in the half hour is there, as the published rows say', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const { live, catalog } = await openLiveOn(t, root);
  const snapshot = live.snapshot();
  const newest_ms = snapshot.newest_scan_ms as number;
  const rows = await published<Detection>(t, root, catalog, detections, newest_ms - 30 * 60_000);
  t.is(snapshot.detections.length, rows.length);
  t.deepEqual(snapshot.detections.at(7), rows[7]);

  const byPlace = Map.groupBy(rows, (row) => row.geohash5);
  const places = snapshot.placesWithin(EVERYWHERE, 1000, 0);
  t.is(places.length, byPlace.size);
  t.true(places.length > 20);
  for (const { item, distance_km } of places) {
    const own = byPlace.get(item.geohash5) as Detection[];
    const scans = [...new Set(own.map((row) => row.scan_time))].sort((a, b) => a - b);
    const ofNewest = own.filter((row) => row.scan_time === scans.at(-1));
    const largest = ofNewest.reduce((best, row) => (row.estimated_size_mm > best.estimated_size_mm ? row : best));
    const scan_times = item.scans.map(({ scan_time }) => scan_time);
    t.deepEqual(scan_times, scans);
    t.like(item, { lat: largest.lat, lon: largest.lon, last_detected: scans.at(-1) });
    t.is(distance_km, distanceKm(EVERYWHERE, largest));
    for (const scan of item.scans) {
      const seen = own.filter((row) => row.scan_time === scan.scan_time);
      const largest_mm = snapshot.detections.at(scan.largest).estimated_size_mm;
      t.is(largest_mm, Math.max(...seen.map((row) => row.estimated_size_mm)));
      t.is(scan.max_ml_mm, Math.max(...seen.map((row) => row.ml_predicted_size_mm)));
      t.is(scan.max_confidence, Math.max(...seen.map((row) => row.confidence)));
    }
  }
});

test('places come nearest first, the radius included', async (t) => {
  const { live } = await openLiveOn(t, await publishedRoot(t, await midnight()));
  const snapshot = live.snapshot();
  const all = snapshot.placesWithin(EVERYWHERE, 1000, 0);
  const distances = all.map(({ distance_km }) => distance_km);
  t.deepEqual(
    distances,
    distances.toSorted((a, b) => a - b),
  );
  const middle = distances[Math.floor(distances.length / 2)];
  const inside = distances.filter((km) => km <= middle).length;
  t.is(snapshot.placesWithin(EVERYWHERE, middle, 0).length, inside);
  const nearer = snapshot.placesWithin(EVERYWHERE, middle - 1e-9, 0).length;
  t.is(nearer, distances.filter((km) => km <= middle - 1e-9).length);
});

test('places whose last hail is older than the look-back are left out', async (t) => {
  const { live } = await openLiveOn(t, await publishedRoot(t, await midnight()));
  const snapshot = live.snapshot();
  const newest_ms = snapshot.newest_scan_ms as number;
  const all = snapshot.placesWithin(EVERYWHERE, 1000, 0);
  const fresh = snapshot.placesWithin(EVERYWHERE, 1000, newest_ms);
  t.deepEqual(
    fresh.map(({ item }) => item.geohash5),
    all.filter(({ item }) => item.last_detected >= newest_ms).map(({ item }) => item.geohash5),
  );
  t.true(fresh.length < all.length && fresh.length > 0);
  t.deepEqual(snapshot.placesWithin(EVERYWHERE, 1000, newest_ms + 1), []);
});

test('storms are the tracks that go on and were seen twice, with the newest row that saw them', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const { live, catalog } = await openLiveOn(t, root);
  const snapshot = live.snapshot();
  const rows = await published<TrackPoint>(t, root, catalog, tracks, (snapshot.newest_scan_ms as number) - 30 * 60_000);
  const expected = [...Map.groupBy(rows, (row) => row.track_id).values()].flatMap((own) => {
    const newest = own.at(-1) as TrackPoint;
    const seen = own.filter((row) => row.state === 'tracked').at(-1);
    if (seen === undefined || seen.scan_count < 2 || newest.state === 'merged' || newest.state === 'ended') return [];
    return [{ seen, newest }];
  });
  const storms = snapshot.stormsWithin(EVERYWHERE, 1000, 0);
  t.true(storms.length > 0);
  t.deepEqual(
    storms.map(({ item }) => item).sort((a, b) => (a.seen.track_id < b.seen.track_id ? -1 : 1)),
    expected.sort((a, b) => (a.seen.track_id < b.seen.track_id ? -1 : 1)),
  );
  const [{ item }] = storms as [(typeof storms)[0]];
  t.deepEqual(snapshot.storm(item.seen.track_id), item);
  t.is(snapshot.storm('no-such-track'), undefined);
});

test('cells and their detections are found by scan and index', async (t) => {
  const { live } = await openLiveOn(t, await publishedRoot(t, await midnight()));
  const snapshot = live.snapshot();
  const storm = snapshot
    .stormsWithin(EVERYWHERE, 1000, 0)
    .find(({ item: { seen } }) => snapshot.cell(seen.scan_time, seen.cell_index)?.shared === false) as Found<Storm>;
  const { scan_time, cell_index, track_id, estimated_size_mm } = storm.item.seen;
  t.like(snapshot.cell(scan_time, cell_index), { scan_time, cell_index, track_id, estimated_size_mm });
  const pixels = snapshot.detectionsOfCell(scan_time, cell_index).map((index) => snapshot.detections.at(index));
  t.is(Math.max(...pixels.map((pixel) => pixel.estimated_size_mm)), estimated_size_mm);
  const own = snapshot.detectionsOfTrack(track_id);
  t.true(own.length >= pixels.length && own.every((index) => snapshot.detections.at(index).track_id === track_id));
  t.is(snapshot.cell(scan_time, 99_999), null);
});

test('a new scan swaps the snapshot whole; one that is held stays as it was', async (t) => {
  const scans = await midnight();
  const root = await publishedRoot(t, scans.slice(0, -1));
  const { live, catalog } = await openLiveOn(t, root);
  const held = live.snapshot();
  const before = held.placesWithin(EVERYWHERE, 1000, 0);
  await ingest(root, scans.slice(-1));
  await catalog.refresh();
  const next = live.snapshot();
  t.not(next.version, held.version);
  t.is(next.newest_scan_ms, scans.at(-1)?.time_ms ?? null);
  t.deepEqual(held.placesWithin(EVERYWHERE, 1000, 0), before);
  t.is(next.oldestSince(scans.at(-1)?.time_ms ?? 0), scans.at(-1)?.time_ms ?? null);
});

test('a root that lost a file of its snapshot answers nothing instead of too little', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const current = JSON.parse(await fs.readFile(join(root, 'current.json'), 'utf8'));
  await fs.rm(join(root, current.live.detections));
  const { live, catalog } = await openLiveOn(t, root);
  t.throws(() => live.snapshot(), { instanceOf: DataUnavailable, message: /detections\.arrow is named by the switch/ });
  t.regex(catalog.failure()?.message ?? '', /detections\.arrow/);
});

const NOW = Date.parse('2026-05-01T23:00:00Z');
const LIST =
  'Time,Size,Location,County,State,Lat,Lon,Comments\n2010,175,2 N NORMAN,CLEVELAND,OK,35.20,-97.40,HAIL. (OUN)\n';

async function publishReports(path: string, text = LIST, name = '260501_rpts_hail.csv'): Promise<void> {
  const root = await openRoot(path, 'test', 0, NOW);
  try {
    const file = { name, bytes: Buffer.from(text), received_ms: NOW };
    await ingestFeedFiles(root, WEB_FEEDS, [file], { now_ms: NOW, provenance: 'observed' });
  } finally {
    await root.close();
  }
}

function folder(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'hail-collections-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function catalogOf(t: ExecutionContext, path: string) {
  const catalog = await openCatalog(path, 0);
  t.teardown(() => catalog.close());
  return catalog;
}

function feed(fields: Partial<FeedState>): FeedState {
  return {
    name: 'spc-reports',
    collection: 'reports',
    every_s: 120,
    last_attempt_at: '2026-05-01T22:58:00Z',
    last_success_at: '2026-05-01T22:58:00Z',
    failure: null,
    source: 'observed',
    ...fields,
  };
}

function writeStates(path: string, ...feeds: FeedState[]): void {
  writeFileSync(join(path, layout.feeds), JSON.stringify({ manifest_version: 1, feeds }));
}

test('a collection that was never fed is null, one that holds nothing is not', async (t) => {
  const path = folder(t);
  await publishReports(path, LIST.split('\n')[0]);
  const edition = (await catalogOf(t, path)).edition();
  t.is(edition.collection('warnings'), null);
  t.deepEqual(edition.collection('reports')?.paths(), []);
});

test('files of a collection come oldest month first, from the month asked for', async (t) => {
  const path = folder(t);
  await publishReports(path);
  await publishReports(path, LIST, '260315_rpts_hail.csv');
  const collection = (await catalogOf(t, path)).edition().collection('reports');
  t.is(collection?.paths().length, 2);
  t.regex(collection?.paths('2026-04')[0] ?? '', /collection=reports\/2026-05-/);
  t.regex(collection?.paths()[0] ?? '', /2026-03-/);
});

test('the one file of a collection that is replaced as a whole is there without months', async (t) => {
  const path = folder(t);
  await publishForecast(path, forecastRows({ geohash4: '9y68' }, '2026-05-01T18:00:00Z', 2), NOW);
  const collection = (await catalogOf(t, path)).edition().collection('forecast');
  t.is(collection?.paths().length, 1);
  t.regex(collection?.paths()[0] ?? '', /collection=forecast\/newest-/);
});

const headFile = (path: string, name: CollectionName) => join(path, layout.head(layout.collectionPartition(name)));

/** Publishes hours and days of one making; the function returned writes its head of one of them to this root, or another one. */
async function publishMaking(path: string, hail_probability: number) {
  const hours = forecastRows({ geohash4: '9y68', hail_probability }, '2026-05-01T18:00:00Z', 2);
  const days = outlookRows({ geohash4: '9y68', hail_probability_pct: 100 * hail_probability }, '2026-05-01');
  const segment = { segment: WHOLE_COLLECTION, provenance: 'observed' } as const;
  const parts: Parameters<typeof publishUndated>[1] = [
    { name: 'forecast', brings_data: true, segments: [{ ...segment, table: forecast, rows: hours }] },
    {
      ...{ name: 'outlook', brings_data: true },
      segments: [{ ...segment, table: outlook, rows: days, made_from: { [forecast.name]: 0 } }],
    },
  ];
  await onRoot(path, {}, ({ root }) => publishUndated(root, parts, NOW));
  const texts = { forecast: '', outlook: '' };
  for (const name of ['forecast', 'outlook'] as const) texts[name] = readFileSync(headFile(path, name), 'utf8');
  return (name: 'forecast' | 'outlook', to = path) => writeFileSync(headFile(to, name), texts[name]);
}

/** Commits of the hours and the days that an edition reads; null for none. */
function pairOf(edition: Edition): (string | null)[] {
  return (['forecast', 'outlook'] as const).map((name) => edition.collection(name)?.version ?? null);
}

const PAIRS = [
  ['observed 1', 'observed 1'],
  ['observed 2', 'observed 2'],
];

for (const first of ['forecast', 'outlook'] as const)
  test(`while only the head of the ${first} has moved, hours and days of one making are read, also after a start`, async (t) => {
    const path = folder(t);
    await publishMaking(path, 0.1);
    const catalog = await catalogOf(t, path);
    t.deepEqual(pairOf(catalog.edition()), PAIRS[0]);
    // Made in a copy: the catalog may look at any moment, and a head never goes back.
    const later = folder(t);
    cpSync(path, later, { recursive: true });
    const moveHead = await publishMaking(later, 0.2);
    const heads = COLLECTIONS.map((name) => headFile(later, name));
    cpSync(later, path, { recursive: true, filter: (from) => !heads.includes(from) });
    moveHead(first, path);
    await catalog.refresh();
    const read = first === 'forecast' ? PAIRS[0] : PAIRS[1];
    t.deepEqual(pairOf(catalog.edition()), read);
    t.deepEqual(pairOf((await catalogOf(t, path)).edition()), read);
    moveHead(first === 'forecast' ? 'outlook' : 'forecast', path);
    await catalog.refresh();
    t.deepEqual(pairOf(catalog.edition()), PAIRS[1]);
  });

test('a first forecast is read with its outlook, and alone where no outlook is to come', async (t) => {
  const path = folder(t);
  await publishOutlook(path, outlookRows({ geohash4: '9y68' }, '2026-05-01'), NOW);
  const head = JSON.parse(readFileSync(headFile(path, 'outlook'), 'utf8'));
  const made = { ...head, made_from: { [outlook.name]: { [forecast.name]: 0 } } };
  writeFileSync(headFile(path, 'outlook'), JSON.stringify(made));
  await publishForecast(path, forecastRows({ geohash4: '9y68' }, '2026-05-01T18:00:00Z', 2), NOW);
  writeFileSync(join(path, layout.pending), '[]');
  const catalog = await catalogOf(t, path);
  t.deepEqual(pairOf(catalog.edition()), [null, 'observed 1']);
  rmSync(join(path, layout.pending));
  t.deepEqual(pairOf((await catalogOf(t, path)).edition()), PAIRS[0]);
});

test('an outlook that stays behind holds the hours back only as long as theirs are kept', async (t) => {
  const path = folder(t);
  const restoreEarlier = await publishMaking(path, 0.1);
  await publishMaking(path, 0.2);
  restoreEarlier('outlook');
  const catalog = await catalogOf(t, path);
  t.deepEqual(pairOf(catalog.edition()), PAIRS[0]);
  rmSync(join(path, layout.manifest(layout.collectionPartition('forecast'), 1)));
  await catalog.refresh();
  t.deepEqual(pairOf(catalog.edition()), ['observed 2', 'observed 1']);
});

test('a collection is complete until the oldest last success of its feeds', async (t) => {
  const path = folder(t);
  await publishReports(path);
  writeStates(path, feed({}), feed({ name: 'lsr', last_success_at: '2026-05-01T21:00:00Z' }));
  const catalog = await catalogOf(t, path);
  t.is(catalog.edition().collection('reports')?.as_of_ms, Date.parse('2026-05-01T21:00:00Z'));
  writeStates(path, feed({}));
  await catalog.refresh();
  t.is(catalog.edition().collection('reports')?.as_of_ms, Date.parse('2026-05-01T22:58:00Z'));
});

test('a feed that never succeeded makes its collection as old as it was followed, whatever others brought since', async (t) => {
  const path = folder(t);
  await publishReports(path);
  const silent = { name: 'lsr', followed_since: '2026-05-01T20:30:00Z', last_success_at: null } as const;
  writeStates(path, feed({}), feed(silent));
  const catalog = await catalogOf(t, path);
  const asOf = async (...states: FeedState[]) => {
    writeStates(path, ...states);
    await catalog.refresh();
    return catalog.edition().collection('reports')?.as_of_ms;
  };
  t.is(catalog.edition().collection('reports')?.as_of_ms, Date.parse('2026-05-01T20:30:00Z'));
  t.is(await asOf(feed(silent)), Date.parse('2026-05-01T20:30:00Z'), 'no feed succeeded');
  const later = { ...silent, followed_since: '2026-05-01T23:30:00Z' };
  t.is(await asOf(feed(later)), NOW, 'filled before the feed was followed');
  t.is(await asOf(feed({ last_success_at: '2026-05-01T23:40:00Z' }), feed(later)), NOW);
  const { followed_since: _, ...earlier } = silent;
  t.is(await asOf(feed({ last_success_at: '2026-05-01T23:40:00Z' }), feed(earlier)), NOW, 'a list of earlier versions');
});

test('without states of feeds a collection is complete until it was committed', async (t) => {
  const path = folder(t);
  await publishReports(path);
  t.is((await catalogOf(t, path)).edition().collection('reports')?.as_of_ms, NOW);
});

test('states of feeds that cannot be read are a failure that names the file', async (t) => {
  const path = folder(t);
  await publishReports(path);
  writeStates(path, feed({}));
  const text = readFileSync(join(path, layout.feeds), 'utf8');
  writeFileSync(join(path, layout.feeds), text.slice(0, 20));
  t.regex((await catalogOf(t, path)).failure()?.message ?? '', /feeds\.json is not JSON/);
});

async function openTerrainOn(t: ExecutionContext, root: string) {
  await fs.mkdir(root, { recursive: true });
  const catalog = await openCatalog(root, 0);
  const engine = openEngine(root);
  t.teardown(async () => {
    await catalog.close();
    await engine.close();
  });
  return { catalog, terrain: await openTerrain(engine, catalog) };
}

const HALF = raysOfKtlx([{ tilt_deg: 0.5, distance_km: 20, blocked: 0.5 }], 90, 90);

test('without a table there is no terrain model', async (t) => {
  const { terrain } = await openTerrainOn(t, await scratch(t));
  t.is(terrain.model(), null);
});

test('the model answers what the table says, and names its file', async (t) => {
  const root = await scratch(t);
  await publishBlockage(root, HALF, { terrain_file: 'conus.tif', terrain_step_arcsec: 3 });
  const { terrain } = await openTerrainOn(t, root);
  const model = terrain.model();
  t.like(model, { file: 'conus.tif', step_arcsec: 3 });
  const shares = [19, 20].map((km) => model?.blocked('KTLX', 90, km, 0.5));
  t.deepEqual(shares, [0, 0.5]);
  t.deepEqual([...(model?.radars ?? [])], ['KTLX']);
});

test('the model stays the same object until the table changes', async (t) => {
  const root = await scratch(t);
  await publishBlockage(root, HALF);
  const { catalog, terrain } = await openTerrainOn(t, root);
  const first = terrain.model();
  await publishBlockage(root, HALF);
  await catalog.refresh();
  t.is(terrain.model(), first);
  await publishBlockage(root, raysOfKtlx([{ tilt_deg: 0.5, distance_km: 20, blocked: 0.7 }], 90, 90));
  await catalog.refresh();
  t.is(terrain.model()?.blocked('KTLX', 90, 20, 0.5), 0.7);
  t.not(terrain.model()?.version, first?.version);
});

test('what is remembered of a place is that of the terrain asked with', async (t) => {
  const root = await scratch(t);
  await publishBlockage(root, raysOfKtlx([{ tilt_deg: 0.5, distance_km: 20, blocked: 0.3 }], 90, 90));
  const { terrain } = await openTerrainOn(t, root);
  const place = destination(KTLX, 90, 40);
  const shares = [null, terrain.model(), null].map((model) => pixelQuality(place, 5, model).components.beam_blockage);
  t.deepEqual(shares, [1, 0.7, 1]);
  t.is(pixelQuality(place, 5, terrain.model()), pixelQuality(place, 5, terrain.model()));
});

test('a table that is listed and gone is no answer rather than a wrong one', async (t) => {
  const root = await scratch(t);
  const { file } = await publishBlockage(root, HALF);
  await fs.rm(join(root, file.path));
  const { catalog } = await openTerrainOn(t, root);
  t.regex(catalog.failure()?.message ?? '', /blockage-[0-9a-f]+\.parquet is listed and cannot be read/);
  t.throws(() => catalog.edition());
});
