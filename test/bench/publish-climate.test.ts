import test, { type ExecutionContext } from 'ava';
import { predictedSize } from '../../pipeline/detect/predict.ts';
import { tablePaths } from '../../pipeline/publish/manifests.ts';
import { openRoot, type Root } from '../../pipeline/publish/root.ts';
import { readRows } from '../../pipeline/publish/tables.ts';
import { geohash } from '../../schemas/geo/geohash.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import { type DayMax, type Detection, dayMax, detections } from '../../schemas/tables/radar.ts';
import { addDays } from '../../schemas/time.ts';
import { scratch } from '../support/data/world.ts';
import { faultsOf } from '../support/kill/killed.ts';
import { type Climate, publishClimate } from './publish-climate.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
/** A date of early spring with some hail, so that little is to be made. */
const DATE = '2025-03-10';

async function published(t: ExecutionContext, climate: Partial<Climate>): Promise<{ root: Root; days: string[] }> {
  const root = await openRoot(await scratch(t), 'test', 0, NOW_MS);
  t.teardown(() => root.close());
  const days: string[] = [];
  const years = { seed: 7, density: 1, first_date: DATE, dates: 1, storm_day_start_hour: 0, ...climate };
  for await (const day of publishClimate(root, years, NOW_MS)) days.push(`${day.storm_date} ${day.detections}`);
  return { root, days };
}

const manifest = async (root: Root) => (await root.manifest(DATE)) as Manifest;
const hashes = async (root: Root) => (await manifest(root)).files.map((file) => `${file.table} ${file.sha256}`);

test('rows of a climate are what the stages make of its fields, and verify finds nothing wrong in them', async (t) => {
  const { root, days } = await published(t, {});
  const list = await manifest(root);
  const read = <Row>(table: typeof detections | typeof dayMax) =>
    readRows<Row>(root.engine, table, tablePaths(root.path, list, table.name));
  const rows = await read<Detection>(detections);
  t.deepEqual(days, [`${DATE} ${rows.length}`]);
  t.true(rows.length > 100);
  for (const row of rows) {
    t.is(row.geohash5, geohash(row.lat, row.lon, 5));
    t.is(row.ml_predicted_size_mm, predictedSize(row.estimated_size_mm));
  }
  // A place counts its scans of the last half hour: the first one is alone, a lasting storm has many.
  t.true(rows.some((row) => row.scan_count === 1) && rows.some((row) => row.scan_count > 5));
  const places = new Map(rows.map((row) => [row.geohash5, new Set<number>()]));
  for (const row of rows) places.get(row.geohash5)?.add(row.scan_time);
  for (const day of await read<DayMax>(dayMax))
    if (day.detection_scans > 0) t.is(day.place_scans, places.get(day.geohash5)?.size ?? 0);
  // The switch names a scan: a root that never had one has none.
  t.deepEqual(await faultsOf(root.path), ['current.json: is missing']);
});

test('a date of a climate is the same whichever date the climate begins with', async (t) => {
  const [alone, second] = await Promise.all([
    published(t, {}),
    published(t, { first_date: addDays(DATE, -1), dates: 2 }),
  ]);
  t.deepEqual(await hashes(second.root), await hashes(alone.root));
});

test('a climate leaves dates that hold data alone', async (t) => {
  const { root } = await published(t, {});
  const again: string[] = [];
  const years = { seed: 8, density: 1, first_date: DATE, dates: 1, storm_day_start_hour: 0 };
  for await (const day of publishClimate(root, years, NOW_MS)) again.push(day.storm_date);
  t.deepEqual(again, []);
});
