import { readdirSync, readFileSync } from 'node:fs';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import fc from 'fast-check';
import { readOutlookGeoJson } from '../../../pipeline/read/outlooks.ts';
import { checkPolygon } from '../../../pipeline/read/polygon.ts';
import { readDiscussion, readWatch } from '../../../pipeline/read/watches.ts';
import type { MultiPolygon } from '../../../schemas/geo/rings.ts';
import { multiPolygonFromWkt, polygonToWkt } from '../../../schemas/geo/wkt.ts';
import { askShapely, type ShapelyQuestion, shapelyTest } from '../../support/data/shapely.ts';
import { sharedData } from '../../support/data/shared-data.ts';

const NOW = Date.parse('2026-11-22T00:00:00Z');
/** When the watches with outlines were received; their texts have no month and year. */
const SAW_RECEIVED: Readonly<Record<string, number>> = {
  'SAW3.txt': Date.parse('2021-07-10T03:30:00Z'),
  'SAW9_PDS.txt': Date.parse('2021-07-29T00:16:00Z'),
};

interface Shape {
  readonly name: string;
  readonly wkt: string;
}

const read = (...parts: string[]) => readFileSync(sharedData(...parts));
const list = (...parts: string[]) => readdirSync(sharedData(...parts));

/** Every polygon that the readers make of the real files. */
function realShapes(): Shape[] {
  const alerts = list('warnings', 'alerts').flatMap((name) => {
    const { features } = JSON.parse(read('warnings', 'alerts', name).toString()) as {
      features: { geometry: { coordinates: unknown } | null; properties: { id: string } }[];
    };
    return features.flatMap(({ geometry, properties }) => {
      const polygon = geometry === null ? null : checkPolygon(geometry.coordinates);
      return polygon === null || typeof polygon === 'string' ? [] : [{ name: properties.id, wkt: polygon.geometry }];
    });
  });
  const discussions = list('warnings', 'discussions').map((name) => ({
    name,
    wkt: readDiscussion(read('warnings', 'discussions', name), name, NOW).rows[0]!.geometry!,
  }));
  const watches = Object.keys(SAW_RECEIVED).map((name) => ({
    name,
    wkt: readWatch(read('warnings', 'watches', name), name, SAW_RECEIVED[name]!).rows[0]!.geometry!,
  }));
  const layer = 'spc_day1_cat_20250605_2000z_ENH_only.geojson';
  const { rows } = readOutlookGeoJson(
    read('outlooks', layer),
    layer,
    { day: 1, hazard: 'categorical', part: 'all' },
    NOW,
  );
  return [...alerts, ...discussions, ...watches, { name: layer, wkt: rows[0]!.geometry! }];
}

/** Places over a shape and a little around it, on a grid that meets no corner of the hundredths the feeds use. */
function placesOver(polygons: MultiPolygon): [number, number][] {
  const positions = polygons.flat(2);
  const [lons, lats] = [0, 1].map((axis) => positions.map((position) => position[axis]!)) as [number[], number[]];
  const [west, east, south, north] = [Math.min(...lons), Math.max(...lons), Math.min(...lats), Math.max(...lats)];
  return Array.from({ length: 24 * 24 }, (_, i) => [
    west + ((i % 24) / 21 - 1 / 21) * (east - west) + 0.00123,
    south + (Math.floor(i / 24) / 21 - 1 / 21) * (north - south) + 0.00321,
  ]);
}

function holds(polygons: MultiPolygon, place: readonly number[]): boolean {
  return booleanPointInPolygon([...place], { type: 'MultiPolygon', coordinates: polygons });
}

shapelyTest('shapely finds every polygon of the real files valid, and the same places inside', (t) => {
  const shapes = realShapes();
  t.true(shapes.length > 50, `${shapes.length} polygons`);
  const questions = shapes.map(({ wkt }) => ({ wkt, places: placesOver(multiPolygonFromWkt(wkt)) }));
  const answers = askShapely(questions)!;
  for (const [index, { name, wkt }] of shapes.entries()) {
    const { is_valid, has_positive_area, places } = answers[index]!;
    t.true(is_valid && has_positive_area, name);
    const polygons = multiPolygonFromWkt(wkt);
    const different = questions[index]!.places.filter(
      (place, i) => places[i] !== 'edge' && holds(polygons, place) !== (places[i] === 'inside'),
    );
    t.deepEqual(different, [], name);
    t.true(places.includes('inside'), name);
  }
});

shapelyTest('of the rings of the alerts shapely calls those valid that our check accepts', (t) => {
  const rings = list('warnings', 'alerts').flatMap((name) => {
    const { features } = JSON.parse(read('warnings', 'alerts', name).toString()) as {
      features: { geometry: { coordinates: MultiPolygon[number] } | null }[];
    };
    return features.flatMap(({ geometry }) => (geometry === null ? [] : [geometry.coordinates]));
  });
  const answers = askShapely(rings.map((coordinates) => ({ wkt: polygonToWkt(coordinates), places: [] })))!;
  t.is(rings.length, 74);
  t.deepEqual(
    rings.map((coordinates) => typeof checkPolygon(coordinates) !== 'string'),
    answers.map(({ is_valid }) => is_valid),
  );
});

for (const [grid, span] of [
  ['fine', 384],
  ['coarse', 6],
] as const)
  shapelyTest(`of random rings on a ${grid} grid our check accepts those that shapely calls valid`, (t) => {
    // Steps are binary fractions, so that what lies on one line does so exactly.
    const degrees = (least: number) => fc.integer({ min: 0, max: span }).map((step) => least + (3 * step) / span);
    const rings = fc
      .sample(fc.array(fc.tuple(degrees(-99), degrees(34)), { minLength: 3, maxLength: 7 }), { numRuns: 3000, seed: 9 })
      .map((ring) => [...ring, ring[0]!].map(([lon, lat]) => [lon, lat]));
    const questions: ShapelyQuestion[] = rings.map((ring) => ({ wkt: polygonToWkt([ring]), places: [] }));
    const answers = askShapely(questions)!;
    const isAccepted = rings.map((ring) => typeof checkPolygon([ring]) !== 'string');
    t.true(isAccepted.filter((accepted) => accepted).length > 300);
    t.deepEqual(
      rings.filter((_, i) => isAccepted[i] !== (answers[i]!.is_valid && answers[i]!.has_positive_area)),
      [],
    );
  });
