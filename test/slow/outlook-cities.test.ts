import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { listOutlooks } from '../../api/routes/outlooks-spc.ts';
import { listWarnings } from '../../api/routes/warnings.ts';
import { readOutlookGeoJson } from '../../pipeline/read/outlooks.ts';
import type { SpcOutlookAnswer } from '../../schemas/resources/convective-outlook.ts';
import type { Warnings } from '../../schemas/resources/warning.ts';
import type { SpcOutlook } from '../../schemas/tables/feeds.ts';
import { publishFeeds } from '../support/data/feeds.ts';
import { askShapely } from '../support/data/shapely.ts';
import { hasSharedData, sharedData } from '../support/data/shared-data.ts';
import { scratch } from '../support/data/world.ts';
import { startService } from '../support/service/service.ts';

const CITIES: readonly (readonly [name: string, lon: number, lat: number])[] = [
  ['Atlanta', -84.39, 33.75],
  ['Billings', -108.5, 45.78],
  ['Boston', -71.06, 42.36],
  ['Charlotte', -80.84, 35.23],
  ['Cheyenne', -104.82, 41.14],
  ['Chicago', -87.63, 41.88],
  ['Dallas', -96.8, 32.78],
  ['Denver', -104.99, 39.74],
  ['Des Moines', -93.62, 41.59],
  ['El Paso', -106.49, 31.76],
  ['Goodland', -101.71, 39.35],
  ['Houston', -95.37, 29.76],
  ['Kansas City', -94.58, 39.1],
  ['Los Angeles', -118.24, 34.05],
  ['Miami', -80.19, 25.76],
  ['Minneapolis', -93.27, 44.98],
  ['Nashville', -86.78, 36.16],
  ['North Platte', -100.77, 41.12],
  ['Oklahoma City', -97.52, 35.47],
  ['Omaha', -95.93, 41.26],
  ['Raleigh', -78.64, 35.78],
  ['Rapid City', -103.23, 44.08],
  ['Salt Lake City', -111.89, 40.76],
  ['St. Louis', -90.2, 38.63],
  ['Wichita', -97.34, 37.69],
];
const hasShapely = askShapely([]) !== null;
const needs = hasSharedData ? 'python3-shapely' : '../shared/data';

/** Registers a test on real files that shapely judges too; where one is absent it shows as skipped, with the reason in its title. */
function oracleTest(title: string, body: (t: ExecutionContext) => Promise<void>): void {
  if (hasSharedData && hasShapely) test(title, body);
  else test.skip(`${title} (needs ${needs}, which is absent)`, body);
}

const RANKS = ['TSTM', 'MRGL', 'SLGT', 'ENH', 'MDT', 'HIGH'] as const;

/** Which areas of a product hold each city, as shapely has it. */
function areasOverCities(rows: readonly SpcOutlook[]): SpcOutlook[][] {
  const shapes = rows.flatMap((row) => (row.geometry === null ? [] : [{ row, wkt: row.geometry }]));
  const places = CITIES.map(([, lon, lat]) => [lon, lat] as const);
  const answers = askShapely(shapes.map(({ wkt }) => ({ wkt, places }))) ?? [];
  return CITIES.map((_, city) =>
    shapes.flatMap(({ row }, shape) => (answers[shape]?.places[city] === 'inside' ? [row] : [])),
  );
}

oracleTest(`the outlook of 5 June 2025 at ${CITIES.length} cities is what shapely finds in its areas`, async (t) => {
  const bytes = readFileSync(sharedData('outlooks', 'spc_day1_cat_20250605_2000z_ENH_only.geojson'));
  const now_ms = Date.parse('2025-06-05T20:12:00Z');
  const layer = { day: 1, hazard: 'categorical', part: 'all' } as const;
  const { rows } = readOutlookGeoJson(bytes, 'x', layer, now_ms);
  const data_root = await scratch(t);
  await publishFeeds(data_root, [{ name: 'day1otlk_cat.lyr.geojson', bytes, received_ms: now_ms }], now_ms);
  const service = await startService({ endpoints: [listOutlooks], data_root, now_ms });
  t.teardown(() => service.close());
  const over = areasOverCities(rows);
  for (const [city, [place, lon, lat]] of CITIES.entries()) {
    const response = await service.call(`/v1/outlooks/spc?lat=${lat}&lon=${lon}&day=1`);
    const answer = (await response.json()) as SpcOutlookAnswer;
    t.is(response.status, 200, `${place}: ${JSON.stringify(answer)} ${service.failures}`);
    const categories = (over[city] ?? []).map(({ label }) => RANKS.indexOf(label as (typeof RANKS)[number]));
    t.is(answer.outlook.category, categories.length === 0 ? null : (RANKS[Math.max(...categories)] ?? null), place);
  }
});

oracleTest('the real warnings of 2023 hold the places of a grid over them that shapely finds inside', async (t) => {
  const file = sharedData('warnings', 'alerts', 'two_real_SVR_with_hail_2023.geojson');
  const bytes = readFileSync(file);
  interface Feature {
    readonly geometry: { readonly coordinates: number[][][] };
    readonly properties: { readonly id: string; readonly sent: string };
  }
  const { features } = JSON.parse(bytes.toString()) as { features: Feature[] };
  const received_ms = Date.parse('2023-09-14T00:00:00Z');
  for (const { geometry, properties } of features) {
    const data_root = await scratch(t, properties.id.slice(-20));
    await publishFeeds(data_root, [{ name: 'alerts.json', bytes, received_ms }], received_ms);
    const now_ms = Date.parse(properties.sent) + 60_000;
    const service = await startService({ endpoints: [listWarnings], data_root, now_ms });
    t.teardown(() => service.close());
    const [ring = []] = geometry.coordinates;
    const [lons, lats] = [ring.map(([lon = 0]) => lon), ring.map(([, lat = 0]) => lat)];
    const along = (values: readonly number[], share: number) =>
      Math.min(...values) + share * (Math.max(...values) - Math.min(...values));
    const shares = [0.03, 0.2, 0.37, 0.51, 0.68, 0.83, 0.97];
    const places = shares.flatMap((x) => shares.map((y) => [along(lons, x), along(lats, y)] as const));
    const wkt = `POLYGON ((${ring.map((position) => position.join(' ')).join(', ')}))`;
    const [expected] = askShapely([{ wkt, places }]) ?? [];
    t.true(expected?.places.includes('inside') && expected.places.includes('outside'));
    for (const [index, [lon, lat]] of places.entries()) {
      const found = (await service.json(`/v1/warnings?lat=${lat}&lon=${lon}&radius_km=0.001`)) as Warnings;
      t.is(found.warnings?.length, expected?.places[index] === 'inside' ? 1 : 0, `${lon} ${lat}`);
    }
  }
});
