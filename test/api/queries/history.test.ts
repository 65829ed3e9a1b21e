import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openCatalog } from '../../../api/published/catalog.ts';
import { openEngine } from '../../../api/published/duckdb.ts';
import { type DayHail, dayHail, type HistoryQuestion } from '../../../api/queries/history.ts';
import { type HistoryMemory, openHistoryMemory } from '../../../api/queries/history-memory.ts';
import { selectList } from '../../../api/queries/sql.ts';
import { swathOf } from '../../../api/queries/swaths.ts';
import { eventDays } from '../../../api/routes/events.ts';
import { regionOf } from '../../../api/rules/region.ts';
import { compactMonth } from '../../../pipeline/publish/compact.ts';
import { drawsOf } from '../../../pipeline/simulate/random.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { geohash } from '../../../schemas/geo/geohash.ts';
import { colLon, rowLat } from '../../../schemas/geo/lattice.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { type DayMax, type Detection, detections } from '../../../schemas/tables/radar.ts';
import { draw } from '../../support/data/draw.ts';
import { copyFolder } from '../../support/data/prepared.ts';
import { publishDays, standingHail } from '../../support/data/published-days.ts';
import { dayMaxRow } from '../../support/data/rows.ts';
import {
  MONTH_LATER_MS,
  midnight,
  onRoot,
  preparedMonth,
  publish,
  SCRATCH,
  scansBetween,
  scratch,
} from '../../support/data/world.ts';

/** The evening while it runs, and the same once it is over and joined into its month. */
const RUNNING = mkdtempSync(join(SCRATCH, 'hail-history-'));
const CLOSED = mkdtempSync(join(SCRATCH, 'hail-history-'));
const WHOLE = { first: '2026-05-01', last: '2026-05-02', min_size_mm: 10, limit: 200 };

test.before(async () => {
  const scans = await midnight();
  await publish(RUNNING, scans);
  copyFolder(await preparedMonth(scans), CLOSED);
});
test.after.always(() => {
  for (const root of [RUNNING, CLOSED]) rmSync(root, { recursive: true, force: true });
});

type Ask = (question: HistoryQuestion) => Promise<DayHail[]>;

/** Asks a root, and hands over its detections for a slow answer. */
async function onPublished<Result>(
  root: string,
  work: (ask: Ask, rows: Detection[], files: HistoryMemory) => Promise<Result>,
): Promise<Result> {
  const catalog = await openCatalog(root, 0);
  const engine = openEngine(root);
  const files = openHistoryMemory(engine, (path) => {
    throw new Error(`${path} cannot be read`);
  });
  try {
    const edition = catalog.edition();
    const paths = edition.paths('detections', edition.dates);
    const sql = `SELECT ${selectList(detections)} FROM read_parquet($1::VARCHAR[]) ORDER BY scan_time, "row", col`;
    const rows = paths.length === 0 ? [] : await engine.rows<Detection>(sql, [paths]);
    return await work((question) => dayHail({ engine, files }, edition, question), rows, files);
  } finally {
    await files.close();
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

/** Asks as soon as a service has started, and again with all that was asked for in memory. */
async function bothWays<Result>(
  root: string,
  work: (ask: Ask, rows: Detection[]) => Promise<Result>,
): Promise<Result[]> {
  return onPublished(root, async (ask, rows, files) => {
    const started = await work(ask, rows);
    await files.settled();
    return [started, await work(ask, rows)];
  });
}

for (const [state, root] of [
  ['running dates', RUNNING],
  ['a month of closed dates', CLOSED],
] as const)
  test(`${state} answer what all detections, one by one, would, from files and from memory`, async (t) => {
    const asked = questions();
    const slow = await onPublished(root, async (_, rows) =>
      asked.map((question) => slowly(rows, question).map(rounded)),
    );
    await bothWays(root, async (ask) => {
      let days = 0;
      for (const [index, question] of asked.entries()) {
        const fast = await ask(question);
        t.is(fast.length, slow[index].length);
        for (const [place, day] of fast.entries()) t.like(rounded({ ...day }), slow[index][place] as object);
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

/** Two months of hail at random over four regions: one joined, one in day files. */
async function randomMonths(root: string): Promise<DayMax[]> {
  const random = drawsOf(11);
  const between = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));
  const days = ['2026-04-03', '2026-04-17', '2026-04-30', '2026-05-01', '2026-05-02'].map((storm_date) => {
    const since_ms = Date.parse(`${storm_date}T18:00:00Z`);
    const places = new Set(Array.from({ length: 700 }, () => `${between(1950, 2049)} ${between(3450, 3549)}`));
    const day_max = [...places].map((place) => {
      const [row, col] = place.split(' ').map(Number) as [number, number];
      const [lat, lon] = [rowLat(row), colLon(col)];
      const max_mm = between(50, 600) / 10;
      return dayMaxRow({
        storm_date,
        row,
        col,
        lat,
        lon,
        geohash5: geohash(lat, lon, 5),
        max_mm,
        max_time: since_ms + 1000 * between(0, 20_000),
        interpolated: random() < 0.1,
        confidence: max_mm < 10 ? null : random(),
        posh_pct: random() < 0.3 ? null : between(0, 100),
        echo_top_18_km: random() * 20,
        place_first_detected: since_ms,
        place_last_detected: since_ms + 1000 * between(0, 20_000),
        place_scans: between(1, 300),
        place_duration_min: random() * 100,
      });
    });
    return { storm_date, rows: { day_max, detections: [], cells: [] } };
  });
  await publishDays(root, days, 'simulated', MONTH_LATER_MS);
  await onRoot(root, { now_ms: MONTH_LATER_MS }, ({ root: opened }) => compactMonth(opened, '2026-04', MONTH_LATER_MS));
  return days.flatMap(({ rows }) => rows.day_max);
}

test('questions at random are answered alike from rows, from files and from memory', async (t) => {
  const root = mkdtempSync(join(SCRATCH, 'hail-history-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const rows = (await randomMonths(root)).filter(({ max_mm, interpolated }) => max_mm >= 10 && !interpolated);
  const random = drawsOf(12);
  const asked = Array.from({ length: 60 }, () => ({
    lat: rowLat(1940) - random() * 1.2,
    lon: colLon(3440) + random() * 1.2,
    radius_km: [1, 5, 25, 100][Math.floor(random() * 4)] as number,
    first: random() < 0.5 ? '2026-04-03' : '2026-04-17',
    last: random() < 0.5 ? '2026-05-02' : '2026-05-01',
    min_size_mm: random() < 0.5 ? 10 : 58,
    limit: random() < 0.5 ? 200 : 2,
  }));
  const expected = asked.map((question) => fromRows(rows, question));
  t.true(expected.flat().length > 80, `${expected.flat().length} days are compared`);
  const answers = await bothWays(root, (ask) => Promise.all(asked.map(ask)));
  for (const answer of answers) t.deepEqual(answer, expected);
});

/** The slow and obvious answer from the rows of closed dates. */
function fromRows(rows: readonly DayMax[], question: HistoryQuestion): DayHail[] {
  const near = rows
    .filter((row) => row.storm_date >= question.first && row.storm_date <= question.last)
    .filter((row) => row.max_mm >= question.min_size_mm)
    .map((row) => ({ row, distance_km: distanceKm(question, row) }))
    .filter(({ distance_km }) => distance_km <= question.radius_km)
    .sort((a, b) => b.row.max_mm - a.row.max_mm || a.distance_km - b.distance_km);
  return [...Map.groupBy(near, ({ row }) => row.storm_date).values()]
    .map(([largest]) => {
      const { row, distance_km } = largest as (typeof near)[0];
      const { row: r, col, interpolated, first_detected, last_detected, detection_scans, severe_scans, ...day } = row;
      return { ...day, distance_km } as DayHail;
    })
    .sort((a, b) => (a.storm_date < b.storm_date ? 1 : -1))
    .slice(0, question.limit);
}

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

const DATES = ['2026-05-01', '2026-05-02'];
const CONUS = regionOf({ bbox: null, state: null });

/** A root of running dates: every scan in a file of its own. */
async function runningRoot(t: ExecutionContext) {
  const root = await scratch(t);
  await publish(root, await scansBetween('23:54', '00:08'), { each_scan: true });
  const [catalog, engine] = [await openCatalog(root, 0), openEngine(root)];
  t.teardown(async () => {
    await catalog.close();
    await engine.close();
  });
  return { edition: catalog.edition(), engine };
}

test('swaths of a running date, made of a file per scan, are those the pipeline derives from the whole', async (t) => {
  const { edition, engine } = await runningRoot(t);
  for (const date of DATES) {
    t.true(edition.paths('day-max', [date]).length > 1);
    const published = await engine.rows<{ threshold_mm: number; area_km2: number; n: number; wkt: string }>(
      `SELECT threshold_mm, area_km2, n_detections::DOUBLE AS n, ST_AsText(geometry) AS wkt
       FROM read_parquet($1::VARCHAR[], hive_partitioning = false) ORDER BY threshold_mm`,
      [edition.paths('swaths', [date])],
    );
    const swath = await swathOf(engine, edition, { date, region: CONUS, min_size_mm: 19, simplify_m: 0 });
    t.true(published.length > 1);
    t.deepEqual(
      swath.tiers.map(({ threshold_mm, area_km2, geometry }) => ({
        threshold_mm,
        area_km2,
        n: swath.at_bound.get(threshold_mm),
        geometry,
      })),
      published.map(({ wkt, ...tier }) => ({ ...tier, geometry: multiPolygonFromWkt(wkt) })),
    );
  }
});

test('events of running dates are those the pipeline derives from the whole', async (t) => {
  const { edition, engine } = await runningRoot(t);
  const published = await engine.rows<Record<string, unknown>>(
    `SELECT storm_date::VARCHAR AS event_date, max_size_mm, n_detections::DOUBLE AS n_detections, cell_count,
       round(affected_area_km2, 3) AS area, epoch_ms(first_detected)::DOUBLE AS first_detected, epoch_ms(last_detected)::DOUBLE AS last_detected
     FROM read_parquet($1::VARCHAR[], hive_partitioning = false) ORDER BY storm_date`,
    [edition.paths('event-days', DATES)],
  );
  const days = await eventDays(engine, edition, CONUS, '2026-05-01', '2026-05-02');
  const rounded = days.map(({ affected_area_km2, centroid: _, ...day }) => ({
    ...day,
    area: Math.round(affected_area_km2 * 1000) / 1000,
  }));
  t.deepEqual(rounded, published as never);
  t.is(published.length, 2);
});
