import { readFileSync } from 'node:fs';
import { readOutlookGeoJson } from '../../pipeline/read/outlooks.ts';
import { multiPolygonFromWkt, polygonToWkt } from '../../schemas/geo/wkt.ts';
import type { SpcOutlookAnswer } from '../../schemas/resources/convective-outlook.ts';
import type { Warnings } from '../../schemas/resources/warning.ts';
import { publishFeeds } from '../support/data/feeds.ts';
import { askShapely, shapelyTest } from '../support/data/shapely.ts';
import { sharedData } from '../support/data/shared-data.ts';
import { scratch } from '../support/data/world.ts';
import { serviceFor } from '../support/service/service.ts';

/** Places of a grid over the box of some positions. */
function gridOver(positions: readonly (readonly number[])[]): (readonly [lon: number, lat: number])[] {
  const along = (axis: 0 | 1) => {
    const values = positions.map((position) => position[axis] ?? 0);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return [0.03, 0.2, 0.37, 0.51, 0.68, 0.83, 0.97].map((share) => least + share * (most - least));
  };
  return along(0).flatMap((lon) => along(1).map((lat) => [lon, lat] as const));
}

const RANKS = ['TSTM', 'MRGL', 'SLGT', 'ENH', 'MDT', 'HIGH'] as const;

shapelyTest('the outlook of 5 June 2025 at places over it is what shapely finds in its areas', async (t) => {
  const bytes = readFileSync(sharedData('outlooks', 'spc_day1_cat_20250605_2000z_ENH_only.geojson'));
  const now_ms = Date.parse('2025-06-05T20:12:00Z');
  const { rows } = readOutlookGeoJson(bytes, 'x', { day: 1, hazard: 'categorical', part: 'all' }, now_ms);
  const shapes = rows.flatMap(({ label, geometry: wkt }) => (wkt === null ? [] : [{ label, wkt }]));
  const places = gridOver(shapes.flatMap(({ wkt }) => multiPolygonFromWkt(wkt).flat(2)));
  const answers = askShapely(shapes.map(({ wkt }) => ({ wkt, places }))) ?? [];
  const data_root = await scratch(t);
  await publishFeeds(data_root, [{ name: 'day1otlk_cat.lyr.geojson', bytes, received_ms: now_ms }], now_ms);
  const service = await serviceFor(t, { data_root, now_ms });
  const seen = new Set<unknown>();
  for (const [k, [lon, lat]] of places.entries()) {
    const { outlook } = (await service.json(`/v1/outlooks/spc?lat=${lat}&lon=${lon}&day=1`)) as SpcOutlookAnswer;
    const over = shapes.filter((_, shape) => answers[shape]?.places[k] === 'inside');
    const rank = Math.max(-1, ...over.map(({ label }) => RANKS.indexOf(label as (typeof RANKS)[number])));
    t.is(outlook.category, RANKS[rank] ?? null, `${lon} ${lat}`);
    seen.add(outlook.category);
  }
  t.true(seen.size > 1);
});

shapelyTest('the real warnings of 2023 hold the places of a grid over them that shapely finds inside', async (t) => {
  const bytes = readFileSync(sharedData('warnings', 'alerts', 'two_real_SVR_with_hail_2023.geojson'));
  interface Feature {
    readonly geometry: { readonly coordinates: number[][][] };
    readonly properties: { readonly sent: string };
  }
  const { features } = JSON.parse(bytes.toString()) as { features: Feature[] };
  const received_ms = Date.parse('2023-09-14T00:00:00Z');
  for (const { geometry, properties } of features) {
    const data_root = await scratch(t);
    await publishFeeds(data_root, [{ name: 'alerts.json', bytes, received_ms }], received_ms);
    const now_ms = Date.parse(properties.sent) + 60_000;
    const service = await serviceFor(t, { data_root, now_ms });
    const places = gridOver(geometry.coordinates.flat());
    const [expected] = askShapely([{ wkt: polygonToWkt(geometry.coordinates), places }]) ?? [];
    t.true(expected?.places.includes('inside') && expected.places.includes('outside'));
    for (const [index, [lon, lat]] of places.entries()) {
      const found = (await service.json(`/v1/warnings?lat=${lat}&lon=${lon}&radius_km=0.001`)) as Warnings;
      t.is(found.warnings?.length, expected?.places[index] === 'inside' ? 1 : 0, `${lon} ${lat}`);
    }
  }
});
