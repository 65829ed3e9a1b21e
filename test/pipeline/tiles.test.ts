import { readFileSync } from 'node:fs';
import type { VectorTileFeature } from '@mapbox/vector-tile';
import test from 'ava';
import fc from 'fast-check';
import { BadInput } from '../../pipeline/error.ts';
import type { CompanionValues, Grid, HailField, ScanField } from '../../pipeline/grid.ts';
import { readGrid } from '../../pipeline/read/mrms.ts';
import { uncoveredBlocks } from '../../pipeline/read/uncovered.ts';
import { dayMaxRows, emptyDayMaximum, type ScanOfDay, updateDayMaximum } from '../../pipeline/swath/accumulate.ts';
import { advectBetween, type FilledPixel } from '../../pipeline/swath/advect-between.ts';
import { drawTiers } from '../../pipeline/swath/tiers.ts';
import { drawDailyTiles } from '../../pipeline/tiles/daily-tiles.ts';
import { drawReflectivityTiles } from '../../pipeline/tiles/reflectivity-tiles.ts';
import { drawScanTiles } from '../../pipeline/tiles/scan-tiles.ts';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { MultiPolygon, Ring } from '../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../schemas/geo/wkt.ts';
import { REFLECTIVITY_COLORS } from '../../schemas/palette.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { Swath } from '../../schemas/tables/derived.ts';
import { DayMax } from '../../schemas/tables/radar.ts';
import { type OpenArchive, openArchive, properties } from '../support/data/archive.ts';
import { composite, draw, drawTenths } from '../support/data/draw.ts';
import { pixelsOf, REAL_DAY, REAL_SCAN, realField } from '../support/data/pixels.ts';
import { isValidMultiPolygon } from '../support/data/rings.ts';
import { cell, DAY, DAY_MS, dayMaxRow, pluck, trackPoint } from '../support/data/rows.ts';
import { sharedData, sharedTest } from '../support/data/shared-data.ts';

/** A scan so many minutes into the day; sizes in tenths of a millimetre, confidence 0.01 per mm. */
function scan(minute: number, values: number[][], companions: CompanionValues = {}): ScanOfDay {
  const mesh: HailField = drawTenths(values);
  const detections = values.flatMap((line, r) =>
    line.flatMap((tenths, c) =>
      tenths >= 100 ? [{ row: 1500 + r, col: 3500 + c, confidence: Math.min(1, tenths / 1000) }] : [],
    ),
  );
  return { scan_time: DAY_MS + minute * 60_000, mesh, companions, detections, filled: [] };
}

/** A scan without hail whose storms passed over some pixels. */
function filling(...filled: ScanOfDay['filled']): ScanOfDay {
  return { ...scan(0, [[0]]), filled };
}

function maximumOf(...scans: ScanOfDay[]) {
  const maximum = emptyDayMaximum();
  for (const one of scans) updateDayMaximum(maximum, one);
  return maximum;
}

const minute = (time: number | null) => (time === null ? null : (time - DAY_MS) / 60_000);

test('one row per pixel from 5 mm on, with its place on the lattice', (t) => {
  const rows = dayMaxRows(maximumOf(scan(0, [[49, 50, 100]])), DAY);
  t.deepEqual(
    rows.map(({ row, col, lat, lon, geohash5, max_mm }) => ({ row, col, lat, lon, geohash5, max_mm })),
    [
      { row: 1500, col: 3501, lat: 39.995, lon: -94.985, geohash5: '9zh7w', max_mm: 5 },
      { row: 1500, col: 3502, lat: 39.995, lon: -94.975, geohash5: '9zh7w', max_mm: 10 },
    ],
  );
  for (const row of rows) t.deepEqual(DayMax.parse(row), row);
});

test('the maximum keeps its time, confidence and companions; times widen and counts add up', (t) => {
  const seen = (at: number, tenths: number, posh: number) =>
    scan(at, [[tenths]], { posh_pct: Float32Array.of(posh), vil_kg_m2: Float32Array.of(Number.NaN) });
  const maximum = maximumOf(seen(2, 120, 10), seen(4, 250, 60), seen(6, 190, 30), seen(8, 60, 0));
  const [row, ...others] = dayMaxRows(maximum, DAY);
  t.deepEqual(others, []);
  t.deepEqual(
    [row?.max_time, row?.first_detected, row?.last_detected].map((time) => minute(time ?? null)),
    [4, 2, 6],
  );
  t.like(row, { max_mm: 25, detection_scans: 3, severe_scans: 2, confidence: 0.25, posh_pct: 60, vil_kg_m2: null });
});

test('the earliest of equal maxima counts, whichever came first', (t) =>
  t.is(minute((dayMaxRows(maximumOf(scan(6, [[200]]), scan(4, [[200]])), DAY)[0] as DayMax).max_time), 4));

test('sizes above 150 mm are stored as 150', (t) =>
  t.is((dayMaxRows(maximumOf(scan(0, [[6800]])), DAY)[0] as DayMax).max_mm, 150));

test('a filled pixel is marked, and gone once a scan has seen as much', (t) => {
  const maximum = maximumOf(scan(0, [[80, 80]]));
  const place = { row: 1500, time: DAY_MS + 60_000 };
  updateDayMaximum(maximum, filling({ ...place, col: 3500, mm: 30 }, { ...place, col: 3501, mm: 8 }));
  const mark = (row: DayMax) => `${row.col} ${row.max_mm}${row.interpolated ? ' filled' : ''}`;
  t.deepEqual(dayMaxRows(maximum, DAY).map(mark), ['3500 8', '3500 30 filled', '3501 8']);
  updateDayMaximum(maximum, scan(10, [[310, 0]]));
  t.deepEqual(dayMaxRows(maximum, DAY).map(mark), ['3500 31', '3501 8']);
});

test('rows come in squares of half a degree, then by row and column', (t) => {
  const places = [
    [49, 50],
    [0, 49],
    [50, 0],
    [49, 0],
  ] as const;
  const maximum = maximumOf(filling(...places.map(([row, col]) => ({ row, col, mm: 10, time: DAY_MS }))));
  t.deepEqual(pluck(dayMaxRows(maximum, DAY), 'row'), [0, 49, 49, 50]);
  t.deepEqual(pluck(dayMaxRows(maximum, DAY), 'col'), [49, 0, 50, 0]);
});

/** A scan so many minutes into the day. */
function echo(minute: number, picture: string): ScanField {
  return { scan_time: DAY_MS + minute * 60_000, mesh: draw(picture) };
}

/** Position of a pixel of a picture, from its top left corner. */
function at(row: number, col: number) {
  return { lat: 39.995 - 0.01 * row, lon: -94.995 + 0.01 * col };
}

/** Filled pixels as a picture of tens of millimetres, rounded. */
function picture(pixels: readonly FilledPixel[], rows: number, cols: number): string[] {
  return Array.from({ length: rows }, (_, r) =>
    Array.from({ length: cols }, (_, c) => {
      const pixel = pixels.find(({ row, col }) => row === 1500 + r && col === 3500 + c);
      return pixel ? String(Math.round(pixel.mm / 10)) : '.';
    }).join(' '),
  );
}

const BEFORE = `
  . . . . . . . . . .
  4 . . . . . . . . .
  . . . . . . . . . .`;
const AFTER = `
  . . . . . . . . . .
  . . . . . . . . 2 .
  . . . . . . . . . .`;
const EASTWARD = [{ from: at(1, 0), to: at(1, 8) }];

test('a storm that jumps eight pixels in eight minutes leaves a line that fades from one size to the other', (t) =>
  t.deepEqual(picture(advectBetween(echo(0, BEFORE), echo(8, AFTER), EASTWARD), 3, 10), [
    '. . . . . . . . . .',
    '. 4 4 3 3 3 3 2 . .',
    '. . . . . . . . . .',
  ]));

test('values pass in time order and the time is that of passing', (t) => {
  const pixels = advectBetween(echo(0, BEFORE), echo(8, AFTER), EASTWARD);
  t.deepEqual(pluck(pixels, 'time').map(minute), [1, 2, 3, 4, 5, 6, 7]);
  t.deepEqual(pluck(pixels, 'mm'), [37.5, 35, 32.5, 30, 27.5, 25, 22.5]);
});

test('scans four minutes apart or closer are not filled', (t) => {
  t.deepEqual(advectBetween(echo(0, BEFORE), echo(4, AFTER), EASTWARD), []);
  t.not(advectBetween(echo(0, BEFORE), echo(5, AFTER), EASTWARD).length, 0);
});

test('an echo that grew on the way is filled from nothing', (t) => {
  const pixels = advectBetween(echo(0, '. . .'), echo(8, AFTER), EASTWARD);
  t.deepEqual(pluck(pixels, 'mm'), [5, 7.5, 10, 12.5, 15, 17.5]);
});

test('each echo moves with the storm nearest to it', (t) => {
  const before = echo(
    0,
    `
    3 . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . 3`,
  );
  const after = echo(
    6,
    `
    . . . . . . 3
    . . . . . . .
    . . . . . . .
    . . . . . . .
    3 . . . . . .`,
  );
  const motions = [
    { from: at(0, 0), to: at(0, 6) },
    { from: at(4, 6), to: at(4, 0) },
  ];
  t.deepEqual(picture(advectBetween(before, after, motions), 5, 7), [
    '. 3 3 3 3 3 .',
    '. . . . . . .',
    '. . . . . . .',
    '. . . . . . .',
    '. 3 3 3 3 3 .',
  ]);
});

test('an echo farther than 30 km from every storm stays where it is', (t) => {
  const far = [{ from: { lat: 40.5, lon: -94.995 }, to: { lat: 40.5, lon: -94.9 } }];
  t.deepEqual(advectBetween(echo(0, BEFORE), echo(8, AFTER), far), []);
});

const NO_COUNTS = new Map(SIZE_BANDS.map((band) => [band.threshold_mm as number, 0]));

test('tiers are cumulative and inclusive, an empty one is absent', (t) => {
  const rows = [18.9, 19, 24.9, 25, 63].map((max_mm, i) => dayMaxRow({ col: 3000 + 2 * i, max_mm }));
  const tiers = drawTiers(rows, DAY, NO_COUNTS);
  t.deepEqual(pluck(tiers, 'threshold_mm') as number[], [19, 25, 38, 63]);
  t.deepEqual(pluck(tiers, 'category') as string[], ['nickel', 'quarter', 'golf_ball', 'tennis_ball']);
  t.deepEqual(pluck(tiers, 'pixels'), [4, 2, 1, 1]);
  for (const tier of tiers) {
    t.deepEqual(Swath.parse(tier), tier);
    t.is(tier.max_size_mm, 63);
  }
});

test('interpolated pixels shape the polygon and the area, never the largest size or the times', (t) => {
  const rows = [
    dayMaxRow({ col: 3000, max_mm: 26, first_detected: DAY_MS + 1, last_detected: DAY_MS + 2 }),
    dayMaxRow({ col: 3001, max_mm: 30, interpolated: true, first_detected: null, last_detected: null }),
  ];
  const [nickel] = drawTiers(rows, DAY, NO_COUNTS);
  t.like(nickel, { pixels: 2, max_size_mm: 26 });
  t.deepEqual([nickel?.first_detected, nickel?.last_detected], [DAY_MS + 1, DAY_MS + 2]);
});

test('a bound without a count is refused by name', (t) =>
  t.throws(() => drawTiers([dayMaxRow({ max_mm: 30 })], DAY, new Map([[19, 1]])), { message: /25 mm/ }));

sharedTest('tiers of the real 24-hour maximum have the pixels and areas that independent tools found', (t) => {
  const maximum = emptyDayMaximum();
  updateDayMaximum(maximum, { ...scan(0, [[0]]), mesh: realField(REAL_DAY) });
  const tiers = drawTiers(dayMaxRows(maximum, DAY), DAY, NO_COUNTS);
  t.deepEqual(pluck(tiers, 'threshold_mm') as number[], [19, 25, 38, 63, 69]);
  t.deepEqual(pluck(tiers, 'pixels'), [2746, 882, 91, 3, 2]);
  const areas_km2 = tiers.map(({ area_km2 }) => Math.round(area_km2 * 10) / 10);
  t.deepEqual(areas_km2, [2554.3, 820.3, 85, 2.9, 1.8]);
  t.true(Math.abs((tiers[0]?.area_km2 as number) - 2554.3145) < 5e-5);
  t.true(Math.abs((tiers[1]?.area_km2 as number) - 820.3107) < 5e-5);
  for (const tier of tiers) {
    t.is(isValidMultiPolygon(multiPolygonFromWkt(tier.geometry)), null);
    t.is(tier.max_size_mm, 82.8);
  }
});

const STORM = draw(
  `
  . 1 1 1 .
  1 2 3 2 1
  1 2 4 3 1
  . 1 2 1 .`,
  { row0: 1498, col0: 2998 },
);
const CONTENT: Parameters<typeof drawScanTiles>[0] = {
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

test('hail is drawn in cumulative bands, the smallest first', async (t) =>
  t.deepEqual(properties(await (await openArchive(drawScanTiles(CONTENT))).tile(...HERE), 'hail'), [
    { mm_min: 5 },
    { mm_min: 10 },
    { mm_min: 19, category: 'nickel' },
    { mm_min: 25, category: 'quarter' },
    { mm_min: 38, category: 'golf_ball' },
  ]));

test('a storm carries its track, size, motion, trend and probability', async (t) => {
  const tile = await (await openArchive(drawScanTiles(CONTENT))).tile(...HERE);
  const motion = { speed_kmh: 80, direction_deg: 60, trend: 'intensifying' };
  const size = { mm: 40, category: 'golf_ball', prob: 0.62, confidence: 0.7 };
  t.deepEqual(properties(tile, 'storms'), [{ track_id: '20260501-a', ...size, ...motion }]);
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
  t.deepEqual(pluck(archive.metadata.vector_layers as { id: string }[], 'id'), ['hail', 'motion', 'storms']);
});

test('metadata name the time, the source and every attribute', async (t) => {
  const { metadata, header } = await openArchive(drawScanTiles({ ...CONTENT, provenance: 'simulated' }));
  t.like(metadata, { name: 'Hail 2026-05-01T20:00:00Z', attribution: 'simulated' });
  t.regex(metadata.description as string, /2026-05-01T20:00:00Z; an estimate, not a ground measurement/);
  t.deepEqual([header.minLon, header.minLat, header.maxLon, header.maxLat], [-130, 20, -60, 55]);
  const layers = metadata.vector_layers as { id: string; fields: object }[];
  const fields = new Map(layers.map(({ id, fields }) => [id, Object.keys(fields)]));
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
  t.is(Math.round((west as number) * 100), -13000 + window.col0);
  t.is(Math.round((north as number) * 100), 5500 - window.row0);
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
  t.deepEqual(bands, new Set([5, 10, 19]), '20.8 mm is the largest of the scan');
});

const COUNTS = new Map(SIZE_BANDS.map((band) => [band.threshold_mm as number, 7]));
const SWATHS = drawTiers(
  [20, 30, 30, 40].map((max_mm, i) => dayMaxRow({ col: 3000 + i, max_mm })),
  DAY,
  COUNTS,
);
const tilesMinute = (n: number) => DAY_MS + n * 60_000;
const TRACK = [
  trackPoint({ scan_time: tilesMinute(4), scan_count: 3, lon: -99.9, estimated_size_mm: 31 }),
  trackPoint({ scan_time: tilesMinute(0), scan_count: 1, lon: -99.99, estimated_size_mm: 20, ml_probability: 0.8 }),
  trackPoint({ scan_time: tilesMinute(2), scan_count: 2, lon: -99.95, estimated_size_mm: 42 }),
  trackPoint({ scan_time: tilesMinute(6), state: 'ended', lon: -99.8, estimated_size_mm: 31 }),
];
const DAILY_CONTENT: Parameters<typeof drawDailyTiles>[0] = {
  storm_date: DAY,
  swaths: SWATHS,
  tracks: TRACK,
  data_time: tilesMinute(6),
  provenance: 'observed' as const,
  bounds: [-130, 20, -60, 55],
};

test('tiers are polygons with their bound, category, area and counts', async (t) =>
  t.deepEqual(properties(await (await openArchive(drawDailyTiles(DAILY_CONTENT))).tile(...HERE), 'swaths'), [
    { mm_min: 19, category: 'nickel', area_km2: 3.8, n_detections: 7, max_size_mm: 40 },
    { mm_min: 25, category: 'quarter', area_km2: 2.8, n_detections: 7, max_size_mm: 40 },
    { mm_min: 38, category: 'golf_ball', area_km2: 0.9, n_detections: 7, max_size_mm: 40 },
  ]));

test('a track is a line through the scans with a cell, in time order, with its peak', async (t) => {
  const tile = await (await openArchive(drawDailyTiles(DAILY_CONTENT))).tile(...HERE);
  const facts = { track_id: '20260501-a', peak_mm: 42, category: 'golf_ball', prob: 0.8, duration_min: 4 };
  const times = { first_detected: '2026-05-01T00:00:00Z', last_detected: '2026-05-01T00:04:00Z' };
  t.deepEqual(properties(tile, 'tracks'), [{ ...facts, ...times }]);
  t.deepEqual(properties(tile, 'peaks'), [{ ...facts, ...times, time: '2026-05-01T00:02:00Z' }]);
  const line = tile?.layers.tracks?.feature(0).toGeoJSON(HERE[1], HERE[2], HERE[0]).geometry;
  if (line?.type !== 'LineString') return t.fail('no line');
  const lons = line.coordinates.map(([lon]) => Math.round((lon as number) * 100) / 100);
  t.deepEqual(lons, [-99.99, -99.95, -99.9]);
});

test('a track of one scan is not shown', async (t) => {
  const archive = await openArchive(drawDailyTiles({ ...DAILY_CONTENT, tracks: [trackPoint({ scan_count: 1 })] }));
  const tile = await archive.tile(...HERE);
  t.deepEqual([tile?.layers.tracks, tile?.layers.peaks], [undefined, undefined]);
});

test('a date without hail gives an archive that names its layers and holds nothing', async (t) => {
  const archive = await openArchive(drawDailyTiles({ ...DAILY_CONTENT, swaths: [], tracks: [], data_time: null }));
  t.deepEqual(archive.coords, [{ z: 0, x: 0, y: 0 }]);
  t.regex(archive.metadata.description as string, /2026-05-01, no scans/);
  t.deepEqual(pluck(archive.metadata.vector_layers as { id: string }[], 'id'), ['swaths', 'tracks', 'peaks']);
});

test('the same rows give the same bytes', (t) =>
  t.deepEqual(drawDailyTiles(DAILY_CONTENT), drawDailyTiles(DAILY_CONTENT)));

sharedTest('the tiers of the real day open at every zoom and every tile decodes', async (t) => {
  const { rows, cols } = pixelsOf(realField(REAL_DAY), 19);
  const tenths = (i: number) => 19 + (i % 7);
  const maxima = rows.map((row, i) => dayMaxRow({ row, col: cols[i], max_mm: tenths(i) }));
  const swaths = drawTiers(maxima, DAY, COUNTS);
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
  const row = [...Array<number>(10).fill(-999), ...Array<number>(10).fill(-99)];
  const archive = await drawReflectivity(composite(Array.from({ length: 20 }, () => row)));
  t.deepEqual(archive.coords, [{ z: 0, x: 0, y: 0 }]);
  t.true(new TextDecoder().decode((await archive.bytes(0, 0, 0)) ?? undefined).includes('reflectivity'));
  t.deepEqual((archive.metadata.uncovered as { runs: unknown }).runs, [
    [0, 0, 1],
    [1, 0, 1],
  ]);
});

test('a composite of noise is refused before any outline is traced', (t) => {
  const packed = Uint16Array.from({ length: 2_100_000 }, (_, i) => 9990 + 200 + 300 * (i % 2));
  const noise = { ...composite([]), window: { row0: 0, col0: 0, rows: 300, cols: 7000 }, packed };
  const drawn = () => drawReflectivityTiles({ composite: noise, uncovered: null, subject: 'a file' });
  const error = t.throws(drawn, { instanceOf: BadInput });
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
  t.deepEqual(new Set(byZoom.keys()), new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
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
  const property = fc.asyncProperty(field, async (tenths) => {
    const rows = Array.from({ length: side }, (_, r) => tenths.slice(r * side, (r + 1) * side));
    // 100.1953 W, 39.9098 N: where the tiles 226 and 227, 387 and 388 of zoom 10 meet.
    const mesh = drawTenths(rows, { row0: 1503, col0: 2974 });
    const { faults } = await inspect(await openArchive(scanTiles(mesh)), 'hail');
    t.deepEqual(faults, []);
  });
  await fc.assert(property, { numRuns: 40 });
});

test('any bands of reflectivity across the corner of four tiles are valid polygons in each, at every zoom', async (t) => {
  const side = 14;
  const field = fc.array(fc.constantFrom(-99, 20, 25, 70), { minLength: side * side, maxLength: side * side });
  const property = fc.asyncProperty(field, async (dbz) => {
    const rows = Array.from({ length: side }, (_, r) => dbz.slice(r * side, (r + 1) * side));
    // 95.625 W, 40.9799 N: where four tiles of zoom 6 meet.
    const grid = composite(rows, { row0: 1395, col0: 3430 });
    const archive = drawReflectivityTiles({ composite: grid, uncovered: null, subject: 'a drawing' });
    const { faults, byZoom } = await inspect(await openArchive(archive), 'reflectivity');
    t.deepEqual(faults, []);
    t.is(byZoom.size, 7);
  });
  await fc.assert(property, { numRuns: 40 });
});

test('below 10 mm there is no detection: no times, no counts, no confidence', (t) => {
  const [row] = dayMaxRows(maximumOf(scan(0, [[99]])), DAY) as [DayMax];
  t.deepEqual([row.first_detected, row.last_detected, row.detection_scans, row.confidence], [null, null, 0, null]);
});

test('a pixel that was seen and filled is one pixel of the tier', (t) => {
  const rows = [dayMaxRow({ max_mm: 20 }), dayMaxRow({ max_mm: 30, interpolated: true })];
  t.deepEqual(pluck(drawTiers(rows, DAY, NO_COUNTS), 'pixels'), [1, 1]);
});

test('a filled pixel counts no scan and has no detection times', (t) => {
  const maximum = maximumOf(filling({ row: 1500, col: 3500, mm: 30, time: DAY_MS }));
  const [row] = dayMaxRows(maximum, DAY) as [DayMax];
  t.deepEqual([row.detection_scans, row.severe_scans, row.first_detected, row.confidence], [0, 0, null, null]);
});

test('without a storm seen in both scans nothing is filled', (t) =>
  t.deepEqual(advectBetween(echo(0, BEFORE), echo(8, AFTER), []), []));

test('an echo that dies on the way fades out below 5 mm', (t) => {
  const pixels = advectBetween(echo(0, BEFORE), echo(8, '. . .'), EASTWARD);
  t.deepEqual(pluck(pixels, 'mm'), [35, 30, 25, 20, 15, 10, 5]);
});

test('a day below 19 mm has no tiers', (t) =>
  t.deepEqual(drawTiers([dayMaxRow({ max_mm: 18.9 })], DAY, NO_COUNTS), []));

test('detections of a tier are the count given for its bound', (t) => {
  const counts = new Map(SIZE_BANDS.map((band, i) => [band.threshold_mm as number, 100 - i]));
  t.deepEqual(pluck(drawTiers([dayMaxRow({ max_mm: 30 })], DAY, counts), 'n_detections'), [100, 99]);
});
