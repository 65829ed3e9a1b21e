import test from 'ava';
import { matchScan, type ScanHail } from '../../../api/push/match.ts';
import { indexPlaces } from '../../../api/push/places.ts';
import { POINT_AREA_RADIUS_KM, type WatchedPlace } from '../../../api/records/watched.ts';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';
import { boxRing, type Position } from '../../../schemas/geo/position.ts';
import type { Ring } from '../../../schemas/geo/rings.ts';

const CENTRE = { lat: 35.005, lon: -97.005 };

function circle(id: string, at: Position, radius_km: number, min_size_mm = 25): WatchedPlace {
  return {
    id,
    kind: 'subscription',
    version: 1,
    shape: { kind: 'circle', ...at, radius_km },
    min_size_mm,
    real_time: false,
  };
}

/** Hail of a scan, written as `[lat, lon, mm]`. */
function hail(...rows: readonly (readonly [number, number, number])[]): ScanHail {
  const [lat, lon, size_mm] = [0, 1, 2].map((at) => Float64Array.from(rows, (row) => row[at] as number));
  return { length: rows.length, lat, lon, size_mm } as ScanHail;
}

function area(id: string, ring: number[][]): { place: WatchedPlace; outline: Ring } {
  const [lons, lats] = [0, 1].map((axis) => ring.map((position) => position[axis] as number)) as [number[], number[]];
  const bbox = [Math.min(...lons), Math.min(...lats), Math.max(...lons), Math.max(...lats)] as const;
  const place = { id, kind: 'area' as const, version: 1, shape: { kind: 'polygon' as const, bbox } };
  return {
    place: { ...place, min_size_mm: 25, real_time: false },
    outline: ring,
  };
}

/** Size of the largest detection of each place that was hit, by its id. */
async function hits(
  places: readonly WatchedPlace[],
  scan: ScanHail,
  outlines: Readonly<Record<string, Ring>> = {},
): Promise<Record<string, number>> {
  const read = async (ids: readonly string[]) =>
    new Map(ids.flatMap((id) => (outlines[id] === undefined ? [] : [[id, outlines[id]] as const])));
  const found = await matchScan(await indexPlaces(places), scan, read);
  return Object.fromEntries([...found].map(([place, at]) => [places[place]?.id, scan.size_mm[at] as number]));
}

test('a circle is hit by a detection of its size within its radius, both included', async (t) => {
  const edge = destination(CENTRE, 45, 20);
  const radius_km = distanceKm(CENTRE, edge);
  const at = (mm: number) => hail([edge.lat, edge.lon, mm]);
  t.deepEqual(await hits([circle('a', CENTRE, radius_km)], at(25)), { a: 25 });
  t.deepEqual(await hits([circle('a', CENTRE, radius_km)], at(24.9)), {});
  t.deepEqual(await hits([circle('a', CENTRE, radius_km - 0.001)], at(25)), {});
});

test('a place is given its largest detection, not the nearest and not one outside', async (t) => {
  const far = destination(CENTRE, 90, 30);
  const scan = hail([CENTRE.lat, CENTRE.lon, 26], [far.lat, far.lon, 80], [CENTRE.lat + 0.01, CENTRE.lon, 40]);
  t.deepEqual(await hits([circle('near', CENTRE, 25), circle('wide', CENTRE, 50)], scan), { near: 40, wide: 80 });
});

test('a scan without hail and an index without places hit nothing', async (t) => {
  t.deepEqual(await hits([circle('a', CENTRE, 25)], hail()), {});
  t.deepEqual(await hits([], hail([CENTRE.lat, CENTRE.lon, 50])), {});
});

test('a polygon is hit by a pixel over it or its edge, and not by one in its box alone', async (t) => {
  const { place, outline } = area('triangle', [
    [-97.1, 35],
    [-96.9, 35],
    [-97, 35.2],
    [-97.1, 35],
  ]);
  const outlines = { triangle: outline };
  t.deepEqual(await hits([place], hail([35.05, -97, 30]), outlines), { triangle: 30 });
  t.deepEqual(await hits([place], hail([35, -97, 30]), outlines), { triangle: 30 });
  t.deepEqual(await hits([place], hail([35.185, -97.085, 90]), outlines), {});
  t.deepEqual(await hits([place], hail([35.05, -97, 24]), outlines), {});
});

test('a polygon smaller than a pixel is hit by the pixel that it lies in, and by no other', async (t) => {
  const { place, outline } = area('roof', boxRing([-97.0081, 35.0011, -97.008, 35.0012]));
  const outlines = { roof: outline };
  t.deepEqual(await hits([place], hail([CENTRE.lat, CENTRE.lon, 30]), outlines), { roof: 30 });
  t.deepEqual(await hits([place], hail([CENTRE.lat + 0.01, CENTRE.lon, 30]), outlines), {});
});

test('a corridor narrower than a pixel is hit by every pixel that it runs through, and by none beside it', async (t) => {
  const { place, outline } = area('line', boxRing([-98, 35.001, -96, 35.002]));
  const outlines = { line: outline };
  for (const lon of [-97.995, -97.005, -96.005])
    t.deepEqual(await hits([place], hail([35.005, lon, 30]), outlines), { line: 30 }, `${lon}`);
  for (const lat of [34.995, 35.015])
    t.deepEqual(await hits([place], hail([lat, -97.005, 30]), outlines), {}, `${lat}`);
});

test('a polygon along lines of the lattice is not hit by the pixels around it, however many vertices it has', async (t) => {
  const corners = boxRing([-97, 35, -96.9, 35.1]);
  const dense = corners.slice(1).flatMap(([lon = 0, lat = 0], k) => {
    const [lon0 = 0, lat0 = 0] = corners[k] as number[];
    return Array.from({ length: 20 }, (_, i) => [lon0 + (i * (lon - lon0)) / 20, lat0 + (i * (lat - lat0)) / 20]);
  });
  for (const ring of [corners, [...dense, [-97, 35]]]) {
    const { place, outline } = area('field', ring);
    const outlines = { field: outline };
    for (const at of [
      [34.995, -96.955],
      [35.055, -97.005],
      [34.995, -97.005],
      [35.105, -96.895],
    ] as const)
      t.deepEqual(await hits([place], hail([...at, 30]), outlines), {}, `${at}`);
    t.deepEqual(await hits([place], hail([35.005, -96.995, 30]), outlines), { field: 30 });
  }
});

test('an area that was deleted since the index was made is not hit', async (t) => {
  t.deepEqual(await hits([area('gone', boxRing([-98, 34, -96, 36])).place], hail([35, -97, 30])), {});
});

test('a point area is hit within a mile', async (t) => {
  const point = circle('depot', CENTRE, POINT_AREA_RADIUS_KM);
  const [inside, outside] = [1.6, 1.62].map((km) => destination(CENTRE, 200, km)) as [Position, Position];
  t.deepEqual(await hits([point], hail([inside.lat, inside.lon, 30])), { depot: 30 });
  t.deepEqual(await hits([point], hail([outside.lat, outside.lon, 30])), {});
});

test('many places and detections are matched as one by one', async (t) => {
  const random = seeded(7);
  const places = Array.from({ length: 400 }, (_, k) =>
    circle(`sub_${k}`, { lat: 33 + 4 * random(), lon: -99 + 4 * random() }, 1 + 60 * random(), 10 + 60 * random()),
  );
  const scan = hail(
    ...Array.from(
      { length: 600 },
      () => [33 + 4 * random(), -99 + 4 * random(), Math.round(10 + 80 * random())] as const,
    ),
  );
  const expected: Record<string, number> = {};
  for (const { id, shape, min_size_mm } of places)
    for (let k = 0; k < scan.length; k++) {
      const [lat, lon, mm] = [scan.lat[k], scan.lon[k], scan.size_mm[k]] as [number, number, number];
      if (shape.kind !== 'circle' || mm < min_size_mm || mm <= (expected[id] ?? 0)) continue;
      if (distanceKm(shape, { lat, lon }) <= shape.radius_km) expected[id] = mm;
    }
  t.deepEqual(await hits(places, scan), expected);
  t.true(Object.keys(expected).length > 100);
});

/** Numbers from 0 to 1, the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
