import test from 'ava';
import { drawTiers } from '../../../pipeline/swath/tiers.ts';
import { type DailyTilesContent, drawDailyTiles } from '../../../pipeline/tiles/daily-tiles.ts';
import { SIZE_BANDS } from '../../../schemas/size.ts';
import { openArchive, properties } from '../../support/data/archive.ts';
import { pixelsOf, REAL_DAY, realField } from '../../support/data/pixels.ts';
import { DAY, DAY_MS, dayMaxRow, trackPoint } from '../../support/data/rows.ts';
import { sharedTest } from '../../support/data/shared-data.ts';

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
const CONTENT: DailyTilesContent = {
  storm_date: DAY,
  swaths: SWATHS,
  tracks: TRACK,
  data_time: minute(6),
  provenance: 'observed' as const,
  bounds: [-130, 20, -60, 55],
};
const HERE = [10, 227, 387] as const;

test('tiers are polygons with their bound, category, area and counts', async (t) => {
  const tile = await (await openArchive(drawDailyTiles(CONTENT))).tile(...HERE);
  t.deepEqual(properties(tile, 'swaths'), [
    { mm_min: 19, category: 'nickel', area_km2: 3.8, n_detections: 7, max_size_mm: 40 },
    { mm_min: 25, category: 'quarter', area_km2: 2.8, n_detections: 7, max_size_mm: 40 },
    { mm_min: 38, category: 'golf_ball', area_km2: 0.9, n_detections: 7, max_size_mm: 40 },
  ]);
});

test('a track is a line through the scans with a cell, in time order, with its peak', async (t) => {
  const tile = await (await openArchive(drawDailyTiles(CONTENT))).tile(...HERE);
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
  const archive = await openArchive(drawDailyTiles({ ...CONTENT, tracks: [trackPoint({ scan_count: 1 })] }));
  const tile = await archive.tile(...HERE);
  t.is(tile?.layers.tracks, undefined);
  t.is(tile?.layers.peaks, undefined);
});

test('a date without hail gives an archive that names its layers and holds nothing', async (t) => {
  const archive = await openArchive(drawDailyTiles({ ...CONTENT, swaths: [], tracks: [], data_time: null }));
  t.deepEqual(archive.coords, [{ z: 0, x: 0, y: 0 }]);
  t.regex(archive.metadata.description as string, /2026-05-01, no scans/);
  t.deepEqual(
    (archive.metadata.vector_layers as { id: string }[]).map(({ id }) => id),
    ['swaths', 'tracks', 'peaks'],
  );
});

test('the same rows give the same bytes', (t) => t.deepEqual(drawDailyTiles(CONTENT), drawDailyTiles(CONTENT)));

sharedTest('the tiers of the real day open at every zoom and every tile decodes', async (t) => {
  const { rows, cols } = pixelsOf(realField(REAL_DAY), 19);
  const tenths = (i: number) => 19 + (i % 7);
  const swaths = drawTiers(
    rows.map((row, i) => dayMaxRow({ row, col: cols[i], max_mm: tenths(i) })),
    DAY,
    COUNTS,
  );
  const archive = await openArchive(drawDailyTiles({ ...CONTENT, swaths }));
  t.is(archive.header.numAddressedTiles, archive.coords.length);
  t.true(archive.coords.length > 200);
  for (const { z, x, y } of archive.coords) t.not(Object.keys((await archive.tile(z, x, y))?.layers ?? {}).length, 0);
});
