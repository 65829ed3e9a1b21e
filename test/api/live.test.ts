import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type Catalog, DataUnavailable, openCatalog } from '../../api/catalog.ts';
import { openEngine } from '../../api/duckdb.ts';
import { type Found, type Live, openLive, type Storm } from '../../api/live.ts';
import { selectList } from '../../api/queries/select.ts';
import type { Table } from '../../schemas/columns.ts';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { type Detection, detections } from '../../schemas/tables/detections.ts';
import { type TrackPoint, tracks } from '../../schemas/tables/tracks.ts';
import { ingest, midnight, publishedRoot, scratch } from '../support/data/world.ts';

const EVERYWHERE = { lat: 35, lon: -97 };

async function open(t: ExecutionContext, root: string): Promise<{ live: Live; catalog: Catalog }> {
  const catalog = await openCatalog(root, 0);
  t.teardown(() => catalog.close());
  return { live: await openLive(root, catalog), catalog };
}

/** Rows of a table as it is published, of the scans since an instant: what the snapshot must agree with. */
async function published<Row>(
  t: ExecutionContext,
  root: string,
  catalog: Catalog,
  table: Table,
  since_ms: number,
): Promise<Row[]> {
  const engine = await openEngine(root);
  t.teardown(() => engine.close());
  const edition = catalog.edition();
  return engine.rows<Row>(
    `SELECT ${selectList(table)} FROM read_parquet($1::VARCHAR[]) WHERE epoch_ms(scan_time) >= $2 ORDER BY ${table.order}`,
    [edition.paths(table.name, edition.dates), since_ms],
  );
}

test('an empty root has a snapshot of nothing', async (t) => {
  const snapshot = (await open(t, await scratch(t))).live.snapshot();
  t.is(snapshot.newest_scan_ms, null);
  t.deepEqual(snapshot.placesWithin(EVERYWHERE, 1000, 0), []);
  t.deepEqual(snapshot.stormsWithin(EVERYWHERE, 1000, 0), []);
  t.is(snapshot.oldestSince(0), null);
});

test('every place with a detection in the half hour is there, as the published rows say', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const { live, catalog } = await open(t, root);
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
    t.deepEqual(
      item.scans.map(({ scan_time }) => scan_time),
      scans,
    );
    t.like(item, { lat: largest.lat, lon: largest.lon, last_detected: scans.at(-1) });
    t.is(distance_km, distanceKm(EVERYWHERE, largest));
    for (const scan of item.scans) {
      const seen = own.filter((row) => row.scan_time === scan.scan_time);
      t.is(
        snapshot.detections.at(scan.largest).estimated_size_mm,
        Math.max(...seen.map((row) => row.estimated_size_mm)),
      );
      t.is(scan.max_ml_mm, Math.max(...seen.map((row) => row.ml_predicted_size_mm)));
      t.is(scan.max_confidence, Math.max(...seen.map((row) => row.confidence)));
    }
  }
});

test('places come nearest first, the radius included', async (t) => {
  const { live } = await open(t, await publishedRoot(t, await midnight()));
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
  t.is(
    snapshot.placesWithin(EVERYWHERE, middle - 1e-9, 0).length,
    distances.filter((km) => km <= middle - 1e-9).length,
  );
});

test('places whose last hail is older than the look-back are left out', async (t) => {
  const { live } = await open(t, await publishedRoot(t, await midnight()));
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
  const { live, catalog } = await open(t, root);
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
  const { live } = await open(t, await publishedRoot(t, await midnight()));
  const snapshot = live.snapshot();
  const [storm] = snapshot.stormsWithin(EVERYWHERE, 1000, 0) as [Found<Storm>];
  const { scan_time, cell_index, track_id, estimated_size_mm } = storm.item.seen;
  const cell = snapshot.cells.at(snapshot.cellIndex(scan_time, cell_index as number) as number);
  t.like(cell, { scan_time, cell_index, track_id, estimated_size_mm });
  const pixels = snapshot
    .detectionsOfCell(scan_time, cell_index as number)
    .map((index) => snapshot.detections.at(index));
  t.is(Math.max(...pixels.map((pixel) => pixel.estimated_size_mm)), estimated_size_mm);
  const own = snapshot.detectionsOfTrack(track_id);
  t.true(own.length >= pixels.length && own.every((index) => snapshot.detections.at(index).track_id === track_id));
  t.is(snapshot.cellIndex(scan_time, 99_999), undefined);
});

test('a new scan swaps the snapshot whole; one that is held stays as it was', async (t) => {
  const scans = await midnight();
  const root = await publishedRoot(t, scans.slice(0, -1));
  const { live, catalog } = await open(t, root);
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
  const { live, catalog } = await open(t, root);
  t.throws(() => live.snapshot(), { instanceOf: DataUnavailable, message: /detections\.arrow is named by the switch/ });
  t.regex(catalog.failure() ?? '', /detections\.arrow/);
});
