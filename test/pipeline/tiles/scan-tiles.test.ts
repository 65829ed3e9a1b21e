import test from 'ava';
import { drawScanTiles, type ScanTilesContent } from '../../../pipeline/tiles/scan-tiles.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { openArchive, properties } from '../../support/data/archive.ts';
import { draw } from '../../support/data/draw.ts';
import { REAL_SCAN, realField } from '../../support/data/pixels.ts';
import { cell, DAY_MS, trackPoint } from '../../support/data/rows.ts';
import { sharedTest } from '../../support/data/shared-data.ts';

const STORM = draw(
  `
  . 1 1 1 .
  1 2 3 2 1
  1 2 4 3 1
  . 1 2 1 .`,
  { row0: 1498, col0: 2998 },
);
const CONTENT: ScanTilesContent = {
  scan_time: DAY_MS + 20 * 3_600_000,
  mesh: STORM,
  cells: [cell({ estimated_size_mm: 40, ml_probability: 0.62 })],
  tracks: [trackPoint({ speed_kmh: 80, direction_deg: 60, trend: 'intensifying' })],
  provenance: 'observed' as const,
  bounds: [-130, 20, -60, 55],
  uncovered: null,
};
/** The tile of zoom 10 that holds 40 N, 100 W. */
const HERE = [10, 227, 387] as const;

test('hail is drawn in cumulative bands, the smallest first', async (t) => {
  const tile = await (await openArchive(drawScanTiles(CONTENT))).tile(...HERE);
  t.deepEqual(properties(tile, 'hail'), [
    { mm_min: 5 },
    { mm_min: 10 },
    { mm_min: 19, category: 'nickel' },
    { mm_min: 25, category: 'quarter' },
    { mm_min: 38, category: 'golf_ball' },
  ]);
});

test('a storm carries its track, size, motion, trend and probability', async (t) => {
  const tile = await (await openArchive(drawScanTiles(CONTENT))).tile(...HERE);
  t.deepEqual(properties(tile, 'storms'), [
    {
      track_id: '20260501-a',
      mm: 40,
      category: 'golf_ball',
      speed_kmh: 80,
      direction_deg: 60,
      trend: 'intensifying',
      prob: 0.62,
      confidence: 0.7,
    },
  ]);
  const point = tile?.layers.storms?.feature(0).toGeoJSON(HERE[1], HERE[2], HERE[0]).geometry;
  if (point?.type !== 'Point') return t.fail('not a point');
  const [lon, lat] = point.coordinates as [number, number];
  t.true(distanceKm({ lat, lon }, { lat: 39.995, lon: -99.995 }) < 0.01);
});

test('the motion line leads to where the storm will be in 15 minutes', async (t) => {
  const archive = await openArchive(drawScanTiles(CONTENT));
  const line = (await archive.tile(0, 0, 0))?.layers.motion ?? (await archive.tile(6, 14, 24))?.layers.motion;
  const geometry = line?.feature(0).toGeoJSON(14, 24, 6).geometry;
  if (geometry?.type !== 'LineString') return t.fail('no line');
  const [from, to] = geometry.coordinates.map(([lon, lat]) => ({ lon: lon as number, lat: lat as number }));
  t.true(Math.abs(distanceKm(from as never, to as never) - 20) < 0.3);
});

test('a cell without a published track is a point without track or motion', async (t) => {
  const first = trackPoint({ scan_count: 1 });
  const tile = await (await openArchive(drawScanTiles({ ...CONTENT, tracks: [first] }))).tile(...HERE);
  t.deepEqual(Object.keys(properties(tile, 'storms')[0] ?? {}).sort(), ['category', 'confidence', 'mm', 'prob']);
  t.is(tile?.layers.motion, undefined);
});

test('a scan without hail gives an archive that names its layers and holds nothing', async (t) => {
  const archive = await openArchive(drawScanTiles({ ...CONTENT, mesh: draw('. . .'), cells: [], tracks: [] }));
  t.deepEqual(archive.coords, [{ z: 0, x: 0, y: 0 }]);
  t.deepEqual((await archive.tile(0, 0, 0))?.layers, {});
  const layers = archive.metadata.vector_layers as { id: string }[];
  t.deepEqual(
    layers.map(({ id }) => id),
    ['hail', 'motion', 'storms'],
  );
});

test('metadata name the time, the source and every attribute', async (t) => {
  const { metadata, header } = await openArchive(drawScanTiles({ ...CONTENT, provenance: 'simulated' }));
  t.is(metadata.name, 'Hail 2026-05-01T20:00:00Z');
  t.is(metadata.attribution, 'simulated');
  t.regex(metadata.description as string, /2026-05-01T20:00:00Z; an estimate, not a ground measurement/);
  t.deepEqual([header.minLon, header.minLat, header.maxLon, header.maxLat], [-130, 20, -60, 55]);
  const fields = new Map(
    (metadata.vector_layers as { id: string; fields: object }[]).map(({ id, fields }) => [id, Object.keys(fields)]),
  );
  const archive = await openArchive(drawScanTiles(CONTENT));
  const tile = await archive.tile(...HERE);
  for (const layer of ['hail', 'motion', 'storms'])
    for (const feature of properties(tile, layer))
      for (const name of Object.keys(feature)) t.true(fields.get(layer)?.includes(name), `${layer}.${name}`);
});

test('metadata say where all hail lies and where no radar looked, so that readers tell "no hail" from "nobody looked"', async (t) => {
  const uncovered = { north: 55, west: -130, step_deg: 0.1, rows: 350, cols: 700, runs: [[0, 0, 7]] as const };
  const { metadata } = await openArchive(drawScanTiles({ ...CONTENT, uncovered }));
  t.deepEqual(metadata.uncovered, uncovered);
  const [west, south, east, north] = metadata.hail_bounds as number[];
  const { window } = STORM;
  t.deepEqual(
    [west, north].map((value) => Math.round((value as number) * 100)),
    [-13000 + window.col0, 5500 - window.row0],
  );
  t.true((west as number) < (east as number) && (south as number) < (north as number));
});

test('a scan without hail has no bounds of hail', async (t) => {
  const { metadata } = await openArchive(drawScanTiles({ ...CONTENT, mesh: draw('. . .'), cells: [], tracks: [] }));
  t.is(metadata.hail_bounds, null);
  t.false('uncovered' in metadata);
});

test('the same rows give the same bytes of scan tiles', (t) =>
  t.deepEqual(drawScanTiles(CONTENT), drawScanTiles(CONTENT)));

sharedTest('the real scan gives tiles at every zoom that all decode, with the three bands it reaches', async (t) => {
  const archive = await openArchive(drawScanTiles({ ...CONTENT, mesh: realField(REAL_SCAN), cells: [], tracks: [] }));
  t.is(archive.header.numAddressedTiles, archive.coords.length);
  t.deepEqual([...new Set(archive.coords.map(({ z }) => z))], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  const bands = new Set<number>();
  for (const { z, x, y } of archive.coords)
    for (const { mm_min } of properties(await archive.tile(z, x, y), 'hail')) bands.add(mm_min as number);
  t.deepEqual(
    [...bands].sort((a, b) => a - b),
    [5, 10, 19],
    '20.8 mm is the largest of the scan',
  );
});
