import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { openCatalog } from '../../../api/catalog.ts';
import { openEngine } from '../../../api/duckdb.ts';
import { openFileMemory } from '../../../api/queries/file-memory.ts';
import { type DayHail, dayHail, type HistoryQuestion } from '../../../api/queries/history.ts';
import { selectList } from '../../../api/queries/select.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { colLon, rowLat } from '../../../schemas/geo/lattice.ts';
import { type Detection, detections } from '../../../schemas/tables/detections.ts';
import { draw } from '../../support/data/draw.ts';
import { publishDays, standingHail } from '../../support/data/published-days.ts';
import { MONTH_LATER_MS, midnight, onRoot, publish, SCRATCH } from '../../support/data/world.ts';

/** The evening while it runs, and the same once it is over and joined into its month. */
const RUNNING = mkdtempSync(join(SCRATCH, 'hail-history-'));
const CLOSED = mkdtempSync(join(SCRATCH, 'hail-history-'));
const WHOLE = { first: '2026-05-01', last: '2026-05-02', min_size_mm: 10, limit: 200, products: true };

test.before(async () => {
  const scans = await midnight();
  await publish(RUNNING, scans);
  await publish(CLOSED, scans);
  await onRoot(CLOSED, { now_ms: MONTH_LATER_MS }, async ({ root }) => {
    for (const date of ['2026-05-01', '2026-05-02']) await root.closeDay(date, MONTH_LATER_MS);
    await root.joinMonth('2026-05', MONTH_LATER_MS);
  });
});
test.after.always(() => {
  for (const root of [RUNNING, CLOSED]) rmSync(root, { recursive: true, force: true });
});

/** Asks a root, and hands over its detections for a slow answer. */
async function onPublished<Result>(
  root: string,
  work: (ask: (question: HistoryQuestion) => Promise<DayHail[]>, rows: Detection[]) => Promise<Result>,
): Promise<Result> {
  const catalog = await openCatalog(root, 0);
  const engine = await openEngine(root);
  const files = openFileMemory(engine);
  try {
    const edition = catalog.edition();
    const rows = await engine.rows<Detection>(
      `SELECT ${selectList(detections)} FROM read_parquet($1::VARCHAR[]) ORDER BY scan_time, "row", col`,
      [edition.paths('detections', edition.dates)],
    );
    return await work((question) => dayHail({ engine, files }, edition, question), rows);
  } finally {
    await engine.close();
    await catalog.close();
  }
}

/** The slow and obvious answer: all detections, exact distances, one date after the other. */
function slowly(rows: readonly Detection[], question: HistoryQuestion) {
  const near = rows
    .map((row) => ({ row, distance_km: distanceKm(question, row) }))
    .filter(
      ({ row, distance_km }) => distance_km <= question.radius_km && row.estimated_size_mm >= question.min_size_mm,
    );
  return [...Map.groupBy(near, ({ row }) => row.storm_date)]
    .sort(([a], [b]) => (a < b ? 1 : -1))
    .map(([storm_date, day]) => {
      const max_mm = Math.max(...day.map(({ row }) => row.estimated_size_mm));
      const [best] = day
        .filter(({ row }) => row.estimated_size_mm === max_mm)
        .sort((a, b) => a.distance_km - b.distance_km) as [(typeof day)[0]];
      const ofDate = rows.filter((row) => row.storm_date === storm_date);
      const place = [
        ...new Set(ofDate.filter((row) => row.geohash5 === best.row.geohash5).map((row) => row.scan_time)),
      ];
      const gaps = place.slice(1).map((time, index) => Math.min(4, (time - place[index]) / 60_000));
      return {
        storm_date,
        lat: best.row.lat,
        lon: best.row.lon,
        geohash5: best.row.geohash5,
        distance_km: best.distance_km,
        max_mm,
        place_first_detected: place[0],
        place_last_detected: place.at(-1),
        place_scans: place.length,
        place_duration_min: 2 + gaps.reduce((sum, gap) => sum + gap, 0),
      };
    });
}

/** Points over the tiny world, the radii of the interface, and a floor of sizes. */
function questions(): HistoryQuestion[] {
  return [3, 25, 60, 100].flatMap((radius_km) =>
    [10, 25].flatMap((min_size_mm) =>
      Array.from({ length: 6 }, (_, index) => ({
        ...WHOLE,
        lat: rowLat(1900 + 25 * index) + 0.0037,
        lon: colLon(3200 + 40 * ((index * 7) % 5)) - 0.0021,
        radius_km,
        min_size_mm,
      })),
    ),
  );
}

const rounded = (values: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      typeof value === 'number' ? Math.round(value * 1e6) / 1e6 : value,
    ]),
  );

for (const [state, root] of [
  ['running dates', RUNNING],
  ['a month of closed dates', CLOSED],
] as const)
  test(`${state} answer what all detections, one by one, would`, async (t) => {
    await onPublished(root, async (ask, rows) => {
      let days = 0;
      for (const question of questions()) {
        const slow = slowly(rows, question).map(rounded);
        const fast = await ask(question);
        t.is(fast.length, slow.length);
        for (const [index, day] of fast.entries()) t.like(rounded({ ...day }), slow[index] as object);
        days += fast.length;
      }
      t.true(days > 40, `${days} days were compared`);
    });
  });

test('confidence and products are those of the largest detection', async (t) => {
  await onPublished(CLOSED, async (ask, rows) => {
    const largest = rows.reduce((best, row) => (row.estimated_size_mm > best.estimated_size_mm ? row : best));
    const { lat, lon, storm_date } = largest;
    const days = await ask({ ...WHOLE, lat, lon, radius_km: 1 });
    const day = days.find((one) => one.storm_date === storm_date);
    t.like(day, { max_mm: largest.estimated_size_mm, distance_km: 0, max_time: largest.scan_time });
    t.like(day, { confidence: largest.confidence, posh_pct: largest.posh_pct, vil_kg_m2: largest.vil_kg_m2 });
    const [without] = await ask({ ...WHOLE, lat, lon, radius_km: 1, products: false });
    t.like(without, { posh_pct: null, vil_kg_m2: null });
  });
});

test('a radius that ends exactly at a detection includes it, one a hair shorter does not', async (t) => {
  await onPublished(CLOSED, async (ask, rows) => {
    const [pixel] = rows as [Detection];
    const from = { lat: pixel.lat + 0.31, lon: pixel.lon - 0.42 };
    const nearest_km = Math.min(...rows.map((row) => distanceKm(from, row)));
    const dates = async (radius_km: number) => (await ask({ ...WHOLE, ...from, radius_km })).length;
    t.is(await dates(nearest_km), 1);
    t.is(await dates(nearest_km - 1e-7), 0);
  });
});

test('only dates asked for are answered, the newest ones when there is a limit', async (t) => {
  await onPublished(CLOSED, async (ask) => {
    const question = { ...WHOLE, lat: rowLat(1975), lon: colLon(3300), radius_km: 100 };
    const dates = async (fields: Partial<HistoryQuestion>) =>
      (await ask({ ...question, ...fields })).map(({ storm_date }) => storm_date);
    t.deepEqual(await dates({}), ['2026-05-02', '2026-05-01']);
    t.deepEqual(await dates({ limit: 1 }), ['2026-05-02']);
    t.deepEqual(await dates({ last: '2026-05-01' }), ['2026-05-01']);
    t.deepEqual(await dates({ first: '2026-05-03', last: '2026-06-01' }), []);
    t.deepEqual(await dates({ min_size_mm: 149 }), []);
  });
});

test('outside the lattice there is no hail, at the poles neither', async (t) => {
  await onPublished(CLOSED, async (ask) => {
    for (const [lat, lon] of [
      [90, 0],
      [-90, 0],
      [35, 179.9],
      [0, 0],
    ] as const)
      t.deepEqual(await ask({ ...WHOLE, lat, lon, radius_km: 100 }), []);
  });
});

test('of equal sizes the nearest is taken', async (t) => {
  const root = mkdtempSync(join(SCRATCH, 'hail-history-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const mesh = draw(`
    . . . . . . .      each digit is tens of mm
    . 3 . . . 3 .
    . . . . . . .`);
  const rows = standingHail('2026-05-01', mesh, [Date.parse('2026-05-01T20:00:00Z')]);
  await publishDays(root, [{ storm_date: '2026-05-01', rows }], 'simulated', MONTH_LATER_MS);
  const [west, east] = rows.day_max as [(typeof rows.day_max)[0], (typeof rows.day_max)[0]];
  await onPublished(root, async (ask) => {
    for (const near of [west, east]) {
      const [day] = await ask({ ...WHOLE, lat: near.lat + 0.001, lon: near.lon, radius_km: 25 });
      t.like(day, { lon: near.lon, max_mm: 30 });
    }
  });
});
