import { readFileSync } from 'node:fs';
import type { VectorTileFeature } from '@mapbox/vector-tile';
import test from 'ava';
import fc from 'fast-check';
import { BadInput } from '../../../pipeline/error.ts';
import type { Grid } from '../../../pipeline/grid.ts';
import { readGrid } from '../../../pipeline/read/mrms.ts';
import { uncoveredBlocks } from '../../../pipeline/read/uncovered.ts';
import { drawTiers } from '../../../pipeline/swath/tiers.ts';
import { type DailyTilesContent, drawDailyTiles } from '../../../pipeline/tiles/daily-tiles.ts';
import { drawReflectivityTiles } from '../../../pipeline/tiles/reflectivity-tiles.ts';
import { drawScanTiles, type ScanTilesContent } from '../../../pipeline/tiles/scan-tiles.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { LATTICE } from '../../../schemas/geo/lattice.ts';
import type { MultiPolygon, Ring } from '../../../schemas/geo/rings.ts';
import { REFLECTIVITY_COLORS } from '../../../schemas/palette.ts';
import { SIZE_BANDS } from '../../../schemas/size.ts';
import { type OpenArchive, openArchive, properties } from '../../support/data/archive.ts';
import { composite, draw, drawTenths } from '../../support/data/draw.ts';
import { pixelsOf, REAL_DAY, REAL_SCAN, realField } from '../../support/data/pixels.ts';
import { cell, DAY, DAY_MS, dayMaxRow, trackPoint } from '../../support/data/rows.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

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

const COUNTS = new Map(SIZE_BANDS.map((band) => [band.threshold_mm as number, 7]));
const SWATHS = drawTiers(
  [20, 30, 30, 40].map((max_mm, i) => dayMaxRow({ col: 3000 + i, max_mm })),
  DAY,
  COUNTS,
);
const minute = (n: number) => DAY_MS + n * 60_000;
const TRACK = [
  trackPoint({ scan_time: minute(4), scan_count: 3, lon: -99.9, estimated_size_mm: 31 }),
  trackPoint({ scan_time: minute(0), scan_count: 1, lon: -99.99, estimated_size_mm: 20, ml_probability: 0.8 }),
  trackPoint({ scan_time: minute(2), scan_count: 2, lon: -99.95, estimated_size_mm: 42 }),
  trackPoint({ scan_time: minute(6), state: 'ended', lon: -99.8, estimated_size_mm: 31 }),
];
const DAILY_CONTENT: DailyTilesContent = {
  storm_date: DAY,
  swaths: SWATHS,
  tracks: TRACK,
  data_time: minute(6),
  provenance: 'observed' as const,
  bounds: [-130, 20, -60, 55],
};

test('tiers are polygons with their bound, category, area and counts', async (t) => {
  const tile = await (await openArchive(drawDailyTiles(DAILY_CONTENT))).tile(...HERE);
  t.deepEqual(properties(tile, 'swaths'), [
    { mm_min: 19, category: 'nickel', area_km2: 3.8, n_detections: 7, max_size_mm: 40 },
    { mm_min: 25, category: 'quarter', area_km2: 2.8, n_detections: 7, max_size_mm: 40 },
    { mm_min: 38, category: 'golf_ball', area_km2: 0.9, n_detections: 7, max_size_mm: 40 },
  ]);
});

test('a track is a line through the scans with a cell, in time order, with its peak', async (t) => {
  const tile = await (await openArchive(drawDailyTiles(DAILY_CONTENT))).tile(...HERE);
  const facts = { track_id: '20260501-a', peak_mm: 42, category: 'golf_ball', prob: 0.8, duration_min: 4 };
  const times = { first_detected: '2026-05-01T00:00:00Z', last_detected: '2026-05-01T00:04:00Z' };
  t.deepEqual(properties(tile, 'tracks'), [{ ...facts, ...times }]);
  t.deepEqual(properties(tile, 'peaks'), [{ ...facts, ...times, time: '2026-05-01T00:02:00Z' }]);
  const line = tile?.layers.tracks?.feature(0).toGeoJSON(HERE[1], HERE[2], HERE[0]).geometry;
  if (line?.type !== 'LineString') return t.fail('no line');
  t.deepEqual(
    line.coordinates.map(([lon]) => Math.round((lon as number) * 100) / 100),
    [-99.99, -99.95, -99.9],
  );
});

test('a track of one scan is not shown', async (t) => {
  const archive = await openArchive(drawDailyTiles({ ...DAILY_CONTENT, tracks: [trackPoint({ scan_count: 1 })] }));
  const tile = await archive.tile(...HERE);
  t.is(tile?.layers.tracks, undefined);
  t.is(tile?.layers.peaks, undefined);
});

test('a date without hail gives an archive that names its layers and holds nothing', async (t) => {
  const archive = await openArchive(drawDailyTiles({ ...DAILY_CONTENT, swaths: [], tracks: [], data_time: null }));
  t.deepEqual(archive.coords, [{ z: 0, x: 0, y: 0 }]);
  t.regex(archive.metadata.description as string, /2026-05-01, no scans/);
  t.deepEqual(
    (archive.metadata.vector_layers as { id: string }[]).map(({ id }) => id),
    ['swaths', 'tracks', 'peaks'],
  );
});

test('the same rows give the same bytes', (t) =>
  t.deepEqual(drawDailyTiles(DAILY_CONTENT), drawDailyTiles(DAILY_CONTENT)));

sharedTest('the tiers of the real day open at every zoom and every tile decodes', async (t) => {
  const { rows, cols } = pixelsOf(realField(REAL_DAY), 19);
  const tenths = (i: number) => 19 + (i % 7);
  const swaths = drawTiers(
    rows.map((row, i) => dayMaxRow({ row, col: cols[i], max_mm: tenths(i) })),
    DAY,
    COUNTS,
  );
  const archive = await openArchive(drawDailyTiles({ ...DAILY_CONTENT, swaths }));
  t.is(archive.header.numAddressedTiles, archive.coords.length);
  t.true(archive.coords.length > 200);
  for (const { z, x, y } of archive.coords) t.not(Object.keys((await archive.tile(z, x, y))?.layers ?? {}).length, 0);
});

const MAX_ZOOM = 6;
const EXTENT = 4096;

function drawReflectivity(grid: Grid): Promise<OpenArchive> {
  return openArchive(drawReflectivityTiles({ composite: grid, uncovered: uncoveredBlocks(grid), subject: 'a file' }));
}

/** Column and row of the lattice whose north-western corner lies at a position of a tile. */
function cornerAt(tile: { x: number; y: number }, x: number, y: number) {
  const world = EXTENT * 2 ** MAX_ZOOM;
  const lon = ((tile.x * EXTENT + x) / world - 0.5) * 360;
  const lat = (Math.atan(Math.sinh(Math.PI * (1 - (2 * (tile.y * EXTENT + y)) / world))) * 180) / Math.PI;
  return { col: Math.round((lon - LATTICE.west) * 100), row: Math.round((LATTICE.north - lat) * 100) };
}

/**
 * Band of every pixel as a reader sees it that fills the polygons of zoom 6 by the even-odd rule; 0 where nothing is painted.
 * Throws where two bands overlap or two tiles disagree.
 */
async function paintedPixels(archive: OpenArchive): Promise<Uint8Array> {
  const painted = new Uint8Array(LATTICE.rows * LATTICE.cols);
  /** Tile that a pixel was painted in last, counted from 1. */
  const painter = new Uint16Array(painted.length);
  const fill = (tile: number, dbz: number, pixel: number) => {
    if (painter[pixel] === tile) throw new Error(`two bands at ${pixel}`);
    if (painted[pixel] !== 0 && painted[pixel] !== dbz) throw new Error(`tiles disagree at ${pixel}`);
    painter[pixel] = tile;
    painted[pixel] = dbz;
  };
  for (const [index, { z, x, y }] of archive.coords.filter((tile) => tile.z === MAX_ZOOM).entries()) {
    const layer = (await archive.tile(z, x, y))?.layers.reflectivity;
    for (let i = 0; i < (layer?.length ?? 0); i++) {
      const feature = (layer as NonNullable<typeof layer>).feature(i);
      const crossings = new Map<number, number[]>();
      for (const ring of feature.loadGeometry()) {
        const corners = ring.map((point) => cornerAt({ x, y }, point.x, point.y));
        corners.slice(1).forEach((to, k) => {
          const from = corners[k] as typeof to;
          for (let row = Math.min(from.row, to.row); row < Math.max(from.row, to.row); row++)
            push(crossings, row, to.col);
        });
      }
      for (const [row, cols] of crossings) {
        cols.sort((a, b) => a - b);
        for (let k = 0; k < cols.length; k += 2)
          for (let col = cols[k] as number; col < (cols[k + 1] as number); col++)
            fill(index + 1, Number(feature.properties.dbz), row * LATTICE.cols + col);
      }
    }
  }
  return painted;
}

function push(lists: Map<number, number[]>, key: number, value: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

const REAL = 'MRMS_MergedReflectivityQCComposite_00.50_20220704-110040.grib2';

sharedTest(
  'the bands of a real composite, decoded as any map reads them, hold the values that ecCodes gives',
  async (t) => {
    const expected = JSON.parse(readFileSync(sharedData('expected.json'), 'utf8')).mrms[REAL] as {
      count_ge: Record<string, number>;
      points: { row: number; col: number; value: number }[];
    };
    const archive = await drawReflectivity(readGrid(readFileSync(sharedData(`mrms/${REAL}`)), REAL));
    const painted = await paintedPixels(archive);
    const tally = new Map<number, number>();
    for (const dbz of painted) tally.set(dbz, (tally.get(dbz) ?? 0) + 1);
    for (const [bound, count] of Object.entries(expected.count_ge).filter(([dbz]) => Number(dbz) >= 20)) {
      const found = [...tally].filter(([dbz]) => dbz >= Number(bound)).reduce((sum, [, pixels]) => sum + pixels, 0);
      t.is(found, count, `${bound} dBZ and more`);
    }
    for (const { row, col, value } of expected.points)
      t.is(painted[row * LATTICE.cols + col], value < 20 ? 0 : 5 * Math.floor(value / 5), `${value} at ${row}, ${col}`);
    t.is(archive.header.maxZoom, MAX_ZOOM);
  },
);

test('a band is painted from its bound on, the strongest of a square at lower zooms, and nothing below 20 dBZ', async (t) => {
  const archive = await drawReflectivity(
    composite([
      [19.9, 20, 24.9, 25],
      [-99, 74.9, 75, 90],
      [-999, -99, -999, 19.9],
    ]),
  );
  const painted = await paintedPixels(archive);
  const first = painted.indexOf(20) - 1;
  const rows = [0, 1, 2].map((row) => [...painted.slice(first + row * LATTICE.cols, first + row * LATTICE.cols + 4)]);
  t.deepEqual(rows, [
    [0, 20, 20, 25],
    [0, 70, 75, 75],
    [0, 0, 0, 0],
  ]);
  t.deepEqual(properties(await archive.tile(0, 0, 0), 'reflectivity'), [{ dbz: 75 }]);
});

test('a composite without echoes is an archive that names its layer, and says where nothing was covered', async (t) => {
  const archive = await drawReflectivity(
    composite(Array.from({ length: 20 }, () => Array.from({ length: 20 }, (_, c) => (c < 10 ? -999 : -99)))),
  );
  t.deepEqual(archive.coords, [{ z: 0, x: 0, y: 0 }]);
  t.true(new TextDecoder().decode((await archive.bytes(0, 0, 0)) ?? undefined).includes('reflectivity'));
  t.deepEqual((archive.metadata.uncovered as { runs: unknown }).runs, [
    [0, 0, 1],
    [1, 0, 1],
  ]);
});

test('a composite of noise is refused before any outline is traced', (t) => {
  const packed = Uint16Array.from({ length: 2_100_000 }, (_, i) => 9990 + 200 + 300 * (i % 2));
  const noise = {
    ...composite([]),
    window: { row0: 0, col0: 0, rows: 300, cols: 7000 },
    packed,
  };
  const error = t.throws(() => drawReflectivityTiles({ composite: noise, uncovered: null, subject: 'a file' }), {
    instanceOf: BadInput,
  });
  t.is(error?.subject, 'a file');
  t.regex(error?.reason ?? '', /changes between bands of reflectivity, expected at most 2000000$/);
});

test('reflectivity darkens from band to band of 5 dBZ', (t) => {
  const light = (color: string) => {
    const [r, g, b] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  REFLECTIVITY_COLORS.slice(1).forEach(({ dbz_min, color }, i) => {
    const before = REFLECTIVITY_COLORS[i] as (typeof REFLECTIVITY_COLORS)[number];
    t.is(dbz_min, before.dbz_min + 5);
    t.true(light(color) < light(before.color), `${dbz_min} dBZ`);
  });
});

const SHOWN = { provenance: 'observed' as const, bounds: [-130, 20, -60, 55] as [number, number, number, number] };

function scanTiles(mesh: ReturnType<typeof realField>): Uint8Array {
  return drawScanTiles({ scan_time: DAY_MS, mesh, cells: [], tracks: [], uncovered: null, ...SHOWN });
}

/** Rings of a feature as polygons: by the format a ring of positive area in tile coordinates is a shell, others are its holes. */
function polygonsOf(feature: VectorTileFeature): MultiPolygon {
  const polygons: MultiPolygon = [];
  for (const points of feature.loadGeometry()) {
    const ring: Ring = points.map(({ x, y }) => [x, y]);
    const area = ring.slice(1).reduce((sum, [x, y], i) => {
      const [x0, y0] = ring[i] as [number, number];
      return sum + x0 * (y as number) - (x as number) * y0;
    }, 0);
    if (area > 0) polygons.push([ring]);
    else if (area < 0) (polygons.at(-1) ?? polygons[polygons.push([]) - 1])?.push(ring);
    else throw new Error(`a ring of no area: ${ring}`);
  }
  return polygons;
}

/** Polygons of a layer in every tile of an archive, and those that are not valid in tile coordinates. */
async function inspect(archive: OpenArchive, layer: string) {
  const faults: string[] = [];
  const byZoom = new Map<number, number>();
  for (const { z, x, y } of archive.coords) {
    const found = (await archive.tile(z, x, y))?.layers[layer];
    for (let i = 0; i < (found?.length ?? 0); i++) {
      const fault = isValidMultiPolygon(polygonsOf((found as NonNullable<typeof found>).feature(i)));
      byZoom.set(z, (byZoom.get(z) ?? 0) + 1);
      if (fault !== null) faults.push(`${z}/${x}/${y} feature ${i}: ${fault}`);
    }
  }
  return { faults, byZoom };
}

sharedTest('every hail polygon in every tile of a real scan is valid as decoded, at every zoom', async (t) => {
  const { faults, byZoom } = await inspect(await openArchive(scanTiles(realField(REAL_SCAN))), 'hail');
  t.deepEqual(faults, []);
  t.deepEqual(
    [...byZoom.keys()].sort((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
});

sharedTest('every tier in every tile of a real day is valid as decoded, at every zoom', async (t) => {
  const { rows, cols } = pixelsOf(realField(REAL_DAY), 19);
  const swaths = drawTiers(
    Array.from(rows, (row, i) => dayMaxRow({ row, col: cols[i], max_mm: 19 + ((7 * row + 3 * i) % 30) })),
    DAY,
    new Map(SIZE_BANDS.map(({ threshold_mm }) => [threshold_mm, 1])),
  );
  const content = { storm_date: DAY, swaths, tracks: [], data_time: null, ...SHOWN };
  const { faults, byZoom } = await inspect(await openArchive(drawDailyTiles(content)), 'swaths');
  t.deepEqual(faults, []);
  t.is(byZoom.size, 11);
});

test('any pixels across the corner of four tiles are valid polygons in each', async (t) => {
  const side = 12;
  const field = fc.array(fc.constantFrom(0, 0, 60, 200), { minLength: side * side, maxLength: side * side });
  await fc.assert(
    fc.asyncProperty(field, async (tenths) => {
      const rows = Array.from({ length: side }, (_, r) => tenths.slice(r * side, (r + 1) * side));
      // 100.1953 W, 39.9098 N: where the tiles 226 and 227, 387 and 388 of zoom 10 meet.
      const mesh = drawTenths(rows, { row0: 1503, col0: 2974 });
      const { faults } = await inspect(await openArchive(scanTiles(mesh)), 'hail');
      t.deepEqual(faults, []);
    }),
    { numRuns: 40 },
  );
});

test('any bands of reflectivity across the corner of four tiles are valid polygons in each, at every zoom', async (t) => {
  const side = 14;
  const field = fc.array(fc.constantFrom(-99, 20, 25, 70), { minLength: side * side, maxLength: side * side });
  await fc.assert(
    fc.asyncProperty(field, async (dbz) => {
      const rows = Array.from({ length: side }, (_, r) => dbz.slice(r * side, (r + 1) * side));
      // 95.625 W, 40.9799 N: where four tiles of zoom 6 meet.
      const archive = drawReflectivityTiles({
        composite: composite(rows, { row0: 1395, col0: 3430 }),
        uncovered: null,
        subject: 'a drawing',
      });
      const { faults, byZoom } = await inspect(await openArchive(archive), 'reflectivity');
      t.deepEqual(faults, []);
      t.is(byZoom.size, 7);
    }),
    { numRuns: 40 },
  );
});
