import test from 'ava';
import { openCatalog } from '../../../api/catalog.ts';
import { type Engine, openEngine } from '../../../api/duckdb.ts';
import { readHailPixels } from '../../../api/queries/impacts.ts';
import { findImpacts } from '../../../api/rules/portfolio-impacts.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { ingest, MONTH_LATER_MS, midnight, publishedRoot } from '../../support/data/world.ts';

interface Pixel {
  readonly lat: number;
  readonly lon: number;
  readonly mm: number;
}

const MILE_M = 1609.344;
const DATE = '2026-05-01';

async function detectionsOf(engine: Engine, paths: readonly string[]): Promise<Pixel[]> {
  const sql = 'SELECT lat, lon, estimated_size_mm AS mm FROM read_parquet($1::VARCHAR[]) ORDER BY ALL';
  return await engine.rows<Pixel>(sql, [paths]);
}

/** What the interface asks for, detection by detection. */
function slowImpact(lat: number, lon: number, detections: readonly Pixel[]) {
  const within = detections
    .map((pixel) => ({
      mm: pixel.mm,
      metres:
        1000 *
        distanceKm(
          { lat, lon },
          {
            lat: Math.min(Math.max(lat, pixel.lat - 0.005), pixel.lat + 0.005),
            lon: Math.min(Math.max(lon, pixel.lon - 0.005), pixel.lon + 0.005),
          },
        ),
    }))
    .filter(({ metres }) => metres <= MILE_M);
  if (within.length === 0) return null;
  return {
    nearest_m: Math.round(Math.min(...within.map(({ metres }) => metres))),
    max_mm: Math.max(...within.map(({ mm }) => mm)),
    detections: within.length,
  };
}

for (const [state, closed] of [
  ['running', false],
  ['over and joined into its month', true],
] as const)
  test(`impacts of a date that is ${state} are those of its detections, counted one by one`, async (t) => {
    const root = await publishedRoot(t, await midnight());
    if (closed) await ingest(root, [], { now_ms: MONTH_LATER_MS });
    const catalog = await openCatalog(root, 0);
    const engine = await openEngine(root);
    t.teardown(async () => {
      await catalog.close();
      await engine.close();
    });
    const edition = catalog.edition();
    const detections = await detectionsOf(engine, edition.paths('detections', [DATE]));
    t.true(detections.length > 100);
    const locations = Array.from({ length: 60 }, (_, k) => {
      const { lat, lon } = detections[(k * 7919) % detections.length] as Pixel;
      return { lat: lat + ((k % 7) - 3) * 0.0081, lon: lon + ((k % 5) - 2) * 0.0123 };
    });
    const pixels = await readHailPixels(engine, edition.paths('day-max', [DATE]), DATE, locations);
    const found = await findImpacts(locations, pixels);
    const expected = locations
      .map((location) => ({ location, slow: slowImpact(location.lat, location.lon, detections) }))
      .filter(({ slow }) => slow !== null);
    t.deepEqual(
      found.map(({ nearest_m, ...rest }) => ({ ...rest, nearest_m: Math.round(nearest_m) })),
      expected.map(({ location, slow }) => ({ location, ...slow }) as never),
    );
    t.true(found.length > 20 && found.length < 60);
  });

test('a date without files, and a portfolio without locations, have no hail', async (t) => {
  const root = await publishedRoot(t, await midnight());
  const engine = await openEngine(root);
  t.teardown(() => engine.close());
  t.is((await readHailPixels(engine, [], DATE, [{ lat: 36, lon: -97 }])).size, 0);
  t.is((await readHailPixels(engine, ['gone.parquet'], DATE, [])).size, 0);
});
