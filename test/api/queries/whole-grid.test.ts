import test, { type ExecutionContext } from 'ava';
import { openCatalog } from '../../../api/catalog.ts';
import { openEngine } from '../../../api/duckdb.ts';
import { eventDays } from '../../../api/queries/events.ts';
import { swathOf } from '../../../api/queries/swaths.ts';
import { regionOf } from '../../../api/rules/region.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { publish, scansBetween, scratch } from '../../support/data/world.ts';

const DATES = ['2026-05-01', '2026-05-02'];
const CONUS = regionOf({ bbox: null, state: null });

/** A root of running dates: every scan in a file of its own. */
async function runningRoot(t: ExecutionContext) {
  const root = await scratch(t);
  await publish(root, await scansBetween('23:54', '00:08'), { each_scan: true });
  const [catalog, engine] = [await openCatalog(root, 0), await openEngine(root)];
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
  t.deepEqual(
    days.map(({ affected_area_km2, centroid: _, ...day }) => ({
      ...day,
      area: Math.round(affected_area_km2 * 1000) / 1000,
    })),
    published as never,
  );
  t.is(published.length, 2);
});

test('a swath is worked out once for all who ask it, and again for another question', async (t) => {
  const { edition, engine } = await runningRoot(t);
  const ask = (simplify_m: number) =>
    swathOf(engine, edition, { date: '2026-05-01', region: CONUS, min_size_mm: 19, simplify_m });
  const [one, same, other] = await Promise.all([ask(500), ask(500), ask(501)]);
  t.is(one, same);
  t.not(one, other);
  t.is(await ask(500), one);
});

test('a swath that failed is worked out again', async (t) => {
  const { edition, engine } = await runningRoot(t);
  let failures = 1;
  const flaky = {
    ...engine,
    rows: <Row>(...given: Parameters<typeof engine.rows>) =>
      failures-- > 0 ? Promise.reject(new Error('the disk is away')) : engine.rows<Row>(...given),
  };
  const ask = () => swathOf(flaky, edition, { date: '2026-05-01', region: CONUS, min_size_mm: 19, simplify_m: 500 });
  await t.throwsAsync(ask, { message: 'the disk is away' });
  t.true((await ask()).tiers.length > 0);
});
