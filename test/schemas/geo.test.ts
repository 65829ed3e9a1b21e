import { readFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import test from 'ava';
import fc from 'fast-check';
import geodesic from 'geographiclib-geodesic';
import { authalicQ } from '../../schemas/geo/area.ts';
import { boxAround } from '../../schemas/geo/around.ts';
import { type Antenna, beamAt, beamHeightKm, detectionQuality, partialBlockage } from '../../schemas/geo/beam.ts';
import { type Blockage, blockageOf } from '../../schemas/geo/blockage.ts';
import { destination } from '../../schemas/geo/distance.ts';
import { fillPolygons, type PixelRuns } from '../../schemas/geo/fill.ts';
import { CONUS_CELLS, cellsIn } from '../../schemas/geo/geohash4.ts';
import { convexHull, geodesicAreaKm2, pixelHull, ringCentroid } from '../../schemas/geo/hull.ts';
import {
  colLon,
  LATTICE,
  latRow,
  lonCol,
  pixelAreaKm2,
  rowLat,
  WHOLE_LATTICE,
  windowBbox,
} from '../../schemas/geo/lattice.ts';
import { type Archive, type ArchiveTile, gzip, writePmtiles } from '../../schemas/geo/pmtiles.ts';
import { type MultiPolygon, type Ring, traceMultiPolygon } from '../../schemas/geo/rings.ts';
import { findConflicts } from '../../schemas/geo/validity.ts';
import { multiPolygonFromWkt, multiPolygonToWkt, polygonToWkt } from '../../schemas/geo/wkt.ts';
import { openArchive } from '../support/data/archive.ts';
import { drawPixels, type Pixels, pixelsOf, REAL_DAY, realField } from '../support/data/pixels.ts';
import { isValidMultiPolygon, positionsOf } from '../support/data/rings.ts';
import { pluck } from '../support/data/rows.ts';
import { sharedData, sharedTest } from '../support/data/shared-data.ts';

const HERE = { lat: 40, lon: -95 };
const radar = (id: string, distance_km: number, bearing_deg = 90): Antenna => {
  return { id, ...destination(HERE, bearing_deg, distance_km), antenna_m: 0 };
};
const quality = (sites: readonly Antenna[], input: Partial<Parameters<typeof detectionQuality>[1]> = {}) =>
  detectionQuality(HERE, { sites, freezing_level_km: 4, ground_m: 0, ...input });
const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b);
const round2 = (value: number) => Math.round(value * 100) / 100;

/** Range km; centre, half-power bottom and top of the 0.5 degree beam, and its width, m. */
const BEAM = [
  [25, 255, 53, 457, 404],
  [50, 583, 180, 987, 807],
  [75, 986, 380, 1591, 1211],
  [100, 1461, 654, 2268, 1614],
  [125, 2010, 1001, 3019, 2018],
  [150, 2633, 1422, 3843, 2422],
  [175, 3329, 1917, 4741, 2825],
  [200, 4099, 2485, 5712, 3229],
  [230, 5119, 3264, 6974, 3713],
] as const;

test('the lowest beam rises and widens as in the reference table', (t) => {
  for (const [range_km, centre, bottom, top, width] of BEAM) {
    const metres = [0.5, 0.5 - 0.4625, 0.5 + 0.4625].map((tilt) => Math.round(1000 * beamHeightKm(range_km, tilt)));
    t.deepEqual(metres, [centre, bottom, top], `${range_km} km`);
    // Along the ground a place is as far as the range, up to a part in a thousand.
    t.true(Math.abs(beamAt(range_km, 0.5).width_km * 1000 - width) < 0.0015 * width, `${range_km} km`);
  }
});

for (const [y, share] of [
  [-1.2, 0],
  [-1, 0],
  [-0.5, 0.1955],
  [-0.25, 0.3425],
  [0, 0.5],
  [0.25, 0.6575],
  [0.5, 0.8045],
  [1, 1],
  [2, 1],
] as const)
  test(`terrain ${y} beam radii over the centre blocks ${share} of the beam`, (t) =>
    t.is(Math.round(partialBlockage(y * 500, 500) * 1e4) / 1e4, share));

/** Range km; sample coverage and index at a freezing level of 4.0 and of 2.5 km; one radar, flat ground. */
for (const [range_km, coverage4, hdqi4, coverage25, hdqi25] of [
  [3, 0, 0.15, 0, 0.15],
  [15, 0.08, 0.22, 0.32, 0.42],
  [20, 0.38, 0.47, 0.68, 0.73],
  [25, 0.7, 0.75, 0.88, 0.9],
  [40, 0.89, 0.91, 0.92, 0.94],
  [60, 0.88, 0.9, 0.89, 0.91],
  [80, 0.82, 0.85, 0.83, 0.85],
  [100, 0.75, 0.78, 0.75, 0.79],
  [125, 0.64, 0.69, 0.64, 0.69],
  [150, 0.52, 0.59, 0.52, 0.59],
  [175, 0.41, 0.46, 0.41, 0.46],
  [200, 0.31, 0.34, 0.31, 0.34],
  [229.999, 0.22, 0.22, 0.21, 0.22],
] as const)
  test(`${range_km} km from one radar the index is ${hdqi4} below 4.0 km and ${hdqi25} below 2.5 km of melting`, (t) => {
    const sites = [radar('A', range_km)];
    const high = quality(sites);
    const low = quality(sites, { freezing_level_km: 2.5 });
    t.deepEqual([round2(high.components.sample_coverage), high.hdqi], [coverage4, hdqi4]);
    t.deepEqual([round2(low.components.sample_coverage), low.hdqi], [coverage25, hdqi25]);
  });

test('two radars at 5 and 90 km see each what the other misses', (t) => {
  const { hdqi, components } = quality([radar('A', 5), radar('B', 90, 200)]);
  t.deepEqual([round2(components.sample_coverage), hdqi], [0.79, 0.82]);
});

test('blocking 0.3 of the beam at 40 km lowers the index from .91 to .72', (t) => {
  const { hdqi, components } = quality([radar('A', 40)], { blockage: () => 0.3 });
  t.deepEqual([round2(components.sample_coverage), hdqi, components.beam_blockage], [0.89, 0.72, 0.7]);
});

test('only the azimuth that terrain blocks is lowered', (t) => {
  const blockage = (_: string, azimuth_deg: number) => (azimuth_deg > 180 ? 0.4 : 0);
  const west = quality([radar('A', 60, 90)], { blockage });
  const east = quality([radar('A', 60, 270)], { blockage });
  t.true(west.hdqi < east.hdqi);
  t.is(east.hdqi, quality([radar('A', 60, 270)]).hdqi);
});

test('blocking one of two radars lowers the index, the more the deeper, down to what the other sees alone', (t) => {
  const sites = [radar('A', 40), radar('B', 150, 0)];
  const withBlocked = (share: number) => quality(sites, { blockage: (id) => (id === 'A' ? share : 0) });
  const indices = [0, 0.1, 0.3, 0.5, 0.8, 1].map((share) => withBlocked(share).hdqi);
  t.deepEqual(indices.toReversed(), ascending(indices));
  t.true(indices[2] < indices[0]);
  t.is(withBlocked(1).hdqi, quality([radar('B', 150, 0)]).hdqi);
  t.is(withBlocked(0.1).components.beam_blockage, 0.9);
  t.is(withBlocked(1).components.beam_blockage, 1);
});

test('adding a blocked radar never lowers the index', (t) => {
  const blockage = (id: string) => (id === 'C' ? 0.6 : 0.2);
  for (const distance_km of [5, 40, 120, 220]) {
    const sites = [radar('A', 60), radar('B', 130, 0), radar('C', distance_km, 200)];
    t.true(quality(sites, { blockage }).hdqi >= quality(sites.slice(0, 2), { blockage }).hdqi, `${distance_km} km`);
  }
});

test('a lowest beam blocked by more than half is not used: the next one counts', (t) => {
  const blockage = (_id: string, _azimuth: number, _distance: number, tilt_deg: number) => (tilt_deg < 0.6 ? 0.51 : 0);
  const sites = [radar('A', 100)];
  t.is(quality(sites).beam_height_m, 1462);
  t.is(quality(sites, { blockage }).beam_height_m, Math.round(1000 * beamAt(100, 0.9).centre_km));
  t.is(quality(sites, { blockage: () => 0.9 }).beam_height_m, null);
});

test('the index never rises with distance beyond 50 km and dips inside 25 km', (t) => {
  const along = Array.from({ length: 36 }, (_, n) => quality([radar('A', 50 + 5 * n)]).hdqi);
  t.deepEqual(along.toReversed(), ascending(along));
  t.true(quality([radar('A', 10)]).hdqi < quality([radar('A', 25)]).hdqi);
});

test('adding a second or third radar never lowers the index', (t) => {
  for (const first of [10, 60, 140, 220])
    for (const second of [15, 90, 200])
      for (const third of [30, 170]) {
        const sites = [radar('A', first), radar('B', second, 0), radar('C', third, 220)];
        const indices = [1, 2, 3].map((count) => quality(sites.slice(0, count)).hdqi);
        t.deepEqual(indices, ascending(indices), `${first} ${second} ${third}`);
      }
});

for (const [range_km, word] of [
  [40, 'excellent'],
  [100, 'good'],
  [150, 'fair'],
  [200, 'limited'],
] as const)
  test(`${range_km} km from a radar detection is ${word}`, (t) =>
    t.is(quality([radar('A', range_km)]).detection_word, word));

for (const [range_km, text] of [
  [61.5, 'fine (<1 km)'],
  [62.5, 'standard (1-2 km)'],
  [123, 'standard (1-2 km)'],
  [125, 'coarse (>2 km)'],
] as const)
  test(`${range_km} km from a radar the resolution is ${text}`, (t) =>
    t.is(quality([radar('A', range_km)]).resolution, text));

test('beyond 230 km a place is not covered, and the nearest radar is still named', (t) => {
  const found = quality([radar('B', 400), radar('A', 231)]);
  t.like(found, {
    hdqi: 0,
    covered: false,
    detection_word: 'limited',
    resolution: 'coarse (>2 km)',
    components: { sample_coverage: 0, beam_blockage: 0, dual_pol_availability: 0 },
    beam_height_m: null,
    freezing_level_m: 4000,
  });
  t.is(found.nearest_radar?.id, 'A');
  t.true(Math.abs((found.nearest_radar?.distance_km ?? 0) - 231) < 1e-6);
  t.is(quality([]).nearest_radar, null);
});

test('an index below .10 is not coverage', (t) => {
  const nearlyBlocked = quality([radar('A', 100)], { blockage: () => 0.99 });
  t.true(nearlyBlocked.hdqi < 0.1);
  t.false(nearlyBlocked.covered);
});

test('heights of the beam are above the ground of the place, never below it', (t) => {
  const sites = [{ ...radar('A', 100), antenna_m: 530 }];
  const heightOver = (ground_m: number) => quality(sites, { ground_m }).beam_height_m;
  t.deepEqual([0, 500, 2000].map(heightOver), [1462 + 530, 1462 + 30, 0]);
});

test('the higher the lowest beam over a valley, the lower the index, down to .6 of what is sampled', (t) => {
  const sites = [{ ...radar('A', 40), antenna_m: 3000 }];
  // The bottom of the beam is 120 m above its antenna there: 1.1, 2.6 and 4.1 km above the ground, where .65, .53 and .39 count.
  const [near, between, far] = [2000, 500, -1000].map((ground_m) => quality(sites, { ground_m }));
  const { sample_coverage } = near.components;
  t.is(near.hdqi, round2(0.85 * sample_coverage + 0.15));
  t.true(Math.abs(between.hdqi - ((0.53 + 0.2) * sample_coverage + 0.15)) < 0.011);
  t.is(far.hdqi, round2(0.59 * sample_coverage + 0.15));
});

/** Radar, tilt, azimuth, distance, share: in the order of the table. */
type Step = readonly [string, number, number, number, number];
const STEPS: readonly Step[] = [
  ['KAAA', 0.5, 0, 0, 0],
  ['KAAA', 0.5, 0, 20, 0.25],
  ['KAAA', 0.5, 0, 20.25, 0.7],
  ['KAAA', 0.5, 270, 0, 0],
  ['KAAA', 0.5, 270, 100, 1],
  ['KAAA', 0.5, 359, 0, 0],
  ['KAAA', 0.5, 359, 50, 0.1],
  ['KAAA', 0.9, 270, 100, 0.33],
  ['KBBB', 0.5, 0, 0, 0],
  ['KBBB', 0.5, 0, 5, 0.01],
];

/** Ground of the cells that begin at 40 N 100 W and in the north-eastern corner of the lattice. */
const CELLS = [
  { row: 1500, col: 3000, ground_m: 812 },
  { row: 0, col: 6990, ground_m: 0 },
];

function made(steps: readonly Step[]): Blockage {
  const [tilt_deg, azimuth_deg, distance_km, blocked] = ([1, 2, 3, 4] as const).map((column) => pluck(steps, column));
  return blockageOf({ radar_id: pluck(steps, 0), tilt_deg, azimuth_deg, distance_km, blocked }, CELLS);
}
const { blocked, groundM } = made(STEPS);

test('the ground of a place is that of the cell that holds it, and unknown in other cells and off the lattice', (t) => {
  for (const [lat, lon, ground_m] of [
    [39.95, -99.95, 812],
    [39.901, -99.901, 812],
    [39.899, -99.95, null],
    [39.95, -100.001, null],
    [54.95, -60.001, 0],
    [54.95, -60, null],
    [55.01, -60.001, null],
    [20, -100, null],
  ] as const)
    t.is(groundM({ lat, lon }), ground_m, `${lat} ${lon}`);
});

test('a share holds from its distance on, up to the next step', (t) => {
  const shares = [0, 19.99, 20, 20.2, 20.25, 230].map((km) => blocked('KAAA', 0, km, 0.5));
  t.deepEqual(shares, [0, 0, 0.25, 0.25, 0.7, 0.7]);
});

test('the ray of the nearest whole azimuth decides, over north too', (t) => {
  const shares = [0.49, 0.51, 269.5, 270.49, 358.6, 359.4, 359.6].map((azimuth) => blocked('KAAA', azimuth, 150, 0.5));
  t.deepEqual(shares, [0.7, 0, 1, 1, 0.1, 0.1, 0.7]);
});

test('a tilt, a ray and a radar without steps are free', (t) => {
  t.is(blocked('KAAA', 270, 150, 0.9), 0.33);
  t.is(blocked('KAAA', 0, 150, 0.9), 0);
  t.is(blocked('KAAA', 270, 150, 1.3), 0);
  t.is(blocked('KBBB', 90, 150, 0.5), 0);
  t.is(blocked('KZZZ', 270, 150, 0.5), 0);
  t.is(blocked('KBBB', 0, 5, 0.5), 0.01);
});

test('without steps nothing is known or blocked', (t) => {
  const empty = made([]);
  t.is(empty.radars.size, 0);
  t.is(empty.blocked('KAAA', 0, 100, 0.5), 0);
});

for (const [title, steps] of [
  ['an azimuth of 360', [['KAAA', 0.5, 360, 0, 0]]],
  ['azimuths that fall', [STEPS[4], STEPS[1]]],
] as const)
  test(`${title} is refused`, (t) =>
    t.throws(() => made(steps as readonly Step[]), { instanceOf: RangeError, message: /KAAA is out of order/ }));

for (const [what, box] of [
  ['inside', [-98.3, 34.2, -96.1, 36.9]],
  ['smaller than a cell, around a centre', [-97.57, 35.24, -97.55, 35.25]],
  ['smaller than a cell, beside every centre', [-97.5, 35.2, -97.45, 35.21]],
  ['over the south-western corner', [-130, 20, -123.9, 24.6]],
  ['over the north-eastern corner', [-67, 49.5, -60, 55]],
  ['over everything', [-180, -90, 180, 90]],
  ['far away', [-10, 40, 10, 55]],
  ['far in the south', [-100, -40, -90, -30]],
] as const)
  test(`cells of a box ${what} are those whose centre lies in it, in their order`, (t) => {
    const [west, south, east, north] = box;
    const expected = CONUS_CELLS.filter(({ lat, lon }) => lat >= south && lat <= north && lon >= west && lon <= east);
    t.deepEqual(cellsIn(box), expected);
  });

test('a centre on the edge of a box lies in it', (t) => {
  const cell = CONUS_CELLS[5000] as (typeof CONUS_CELLS)[number];
  const next = CONUS_CELLS[5001] as (typeof CONUS_CELLS)[number];
  t.deepEqual(cellsIn([cell.lon, cell.lat, next.lon, next.lat]), [cell, next]);
});

test('every pixel centre has at most three decimals and lies in its own pixel', (t) => {
  const wrong: string[] = [];
  for (let row = 0; row < LATTICE.rows; row++) {
    const lat = rowLat(row);
    if (lat !== Number(lat.toFixed(3)) || latRow(lat) !== row) wrong.push(`row ${row} at ${lat}`);
  }
  for (let col = 0; col < LATTICE.cols; col++) {
    const lon = colLon(col);
    if (lon !== Number(lon.toFixed(3)) || lonCol(lon) !== col) wrong.push(`column ${col} at ${lon}`);
  }
  t.deepEqual(wrong, []);
});

test('pixels have the area of their box on the ellipsoid, and together the edges of the lattice', (t) => {
  t.deepEqual(windowBbox(WHOLE_LATTICE), LATTICE.bbox);
  for (const row of [0, LATTICE.rows / 2, LATTICE.rows - 1]) {
    const [west, south, east, north] = windowBbox({ row0: row, col0: 7, rows: 1, cols: 1 });
    const box = geodesic.Geodesic.WGS84.Polygon(false);
    // Geodesics bulge off the parallels by less than a millimetre over a pixel.
    for (const lon of [west, east]) box.AddPoint(south, lon);
    for (const lon of [east, west]) box.AddPoint(north, lon);
    const { area } = box.Compute(false, true);
    t.true(Math.abs(pixelAreaKm2(row) / (Math.abs(area as number) / 1e6) - 1) < 1e-6);
  }
});

for (const lat of [20, 24.5, 35, 45, 50, 55, 60])
  for (const radius_km of [0.5, 25, 100])
    test(`at ${lat} N the box around a point holds the circle of ${radius_km} km`, (t) => {
      const from = { lat, lon: -97.3 };
      const [west, south, east, north] = boxAround(from, radius_km);
      for (let bearing = 0; bearing < 360; bearing += 5) {
        const to = destination(from, bearing, radius_km);
        t.true(to.lat > south && to.lat < north && to.lon > west && to.lon < east, `bearing ${bearing}`);
      }
    });

test('a box at a pole spans all longitudes', (t) =>
  t.deepEqual(boxAround({ lat: 89.9, lon: 10 }, 50).map(Math.round), [-180, 89, 180, 90]));

const text = (content: string) => gzip(new TextEncoder().encode(content));

function archiveOf(tiles: readonly ArchiveTile[]): Archive {
  const metadata = { name: 'test', vector_layers: [] };
  const center = { lon: -95, lat: 37.5, zoom: 4 };
  return { tiles, metadata, bounds: [-130, 20, -60, 55], center, minZoom: 0, maxZoom: 10 };
}

/** All places of a zoom. */
function places(z: number): { z: number; x: number; y: number }[] {
  const side = 2 ** z;
  return Array.from({ length: side * side }, (_, i) => ({ z, x: i % side, y: Math.floor(i / side) }));
}

/** All tiles of a zoom, each with its own content. */
function wholeZoom(z: number): ArchiveTile[] {
  return places(z).map(({ x, y }) => ({ z, x, y, data: text(`${z}/${x}/${y}`) }));
}

test('every tile is read back, and the header counts what is there', async (t) => {
  const tiles = [0, 1, 2, 3, 4].flatMap(wholeZoom);
  const archive = await openArchive(writePmtiles(archiveOf(tiles)));
  t.is(archive.coords.length, tiles.length);
  for (const { z, x, y } of archive.coords)
    t.is(new TextDecoder().decode((await archive.bytes(z, x, y)) ?? undefined), `${z}/${x}/${y}`);
  const { numAddressedTiles, numTileEntries, numTileContents } = archive.header;
  t.deepEqual([numAddressedTiles, numTileEntries, numTileContents], [341, 341, 341]);
});

test('equal tiles are stored once and runs of equal neighbours share an entry', async (t) => {
  const tiles = wholeZoom(3).map((tile) => ({ ...tile, data: text('sea') }));
  const archive = await openArchive(writePmtiles(archiveOf([...tiles, { z: 0, x: 0, y: 0, data: text('world') }])));
  const { numAddressedTiles, numTileEntries, numTileContents } = archive.header;
  t.deepEqual([numAddressedTiles, numTileEntries, numTileContents], [65, 2, 2]);
  t.is(archive.coords.length, 65);
  t.is(new TextDecoder().decode((await archive.bytes(3, 7, 0)) ?? undefined), 'sea');
});

test('tiles lie in the order of their ids: the archive is clustered', async (t) => {
  const archive = await openArchive(writePmtiles(archiveOf([0, 1, 2].flatMap(wholeZoom).reverse())));
  t.true(archive.header.clustered);
  const offsets = pluck(archive.entries, 'offset');
  t.deepEqual(offsets, ascending(offsets));
});

/** Bytes that do not shrink, of lengths that vary, one after the other. */
function* noise(): Generator<Uint8Array> {
  let state = 1;
  const next = () => {
    state = (state * 48271) % 2147483647;
    return state;
  };
  for (;;) {
    const bytes = new Uint8Array(20 + (next() % 400));
    for (let i = 0; i < bytes.length; i++) bytes[i] = next();
    yield bytes;
  }
}

test('a directory too long for the first request of a client moves to leaves', async (t) => {
  const source = noise();
  const tiles = places(7).map((place) => ({ ...place, data: source.next().value as Uint8Array }));
  const packed = tiles.map((tile) => ({ ...tile, data: gzipSync(tile.data, { level: 0 }) }));
  const archive = await openArchive(writePmtiles(archiveOf(packed)));
  t.true((archive.header.leafDirectoryLength as number) > 0);
  t.true(archive.header.rootDirectoryOffset + archive.header.rootDirectoryLength <= 16384);
  t.is(archive.coords.length, tiles.length);
  for (const { x, y, data } of [tiles[0], tiles[5000], tiles[8191], tiles[16383]] as ArchiveTile[])
    t.deepEqual(await archive.bytes(7, x, y), data);
});

test('an archive without tiles opens', async (t) => {
  const archive = await openArchive(writePmtiles(archiveOf([])));
  t.is(archive.coords.length, 0);
  t.is(await archive.bytes(0, 0, 0), null);
});

test('header and metadata say what they were given', async (t) => {
  const { header, metadata } = await openArchive(writePmtiles(archiveOf(wholeZoom(1).map((tile) => tile))));
  t.like(header, { specVersion: 3, tileType: 1, tileCompression: 2, internalCompression: 2, minZoom: 0, maxZoom: 10 });
  t.deepEqual([header.minLon, header.minLat, header.maxLon, header.maxLat], [-130, 20, -60, 55]);
  t.deepEqual([header.centerLon, header.centerLat, header.centerZoom], [-95, 37.5, 4]);
  t.deepEqual(metadata, { name: 'test', vector_layers: [] });
});

test('the same tiles in any order give the same bytes', (t) => {
  const tiles = [0, 1, 2, 3].flatMap(wholeZoom);
  t.deepEqual(writePmtiles(archiveOf(tiles.toReversed())), writePmtiles(archiveOf(tiles)));
});

test('a tile that comes twice or outside the zooms is refused', (t) => {
  const tile = { z: 1, x: 0, y: 0, data: text('a') };
  t.throws(() => writePmtiles(archiveOf([tile, tile])), { message: /comes twice/ });
  t.throws(() => writePmtiles(archiveOf([{ ...tile, z: 11 }])), { message: 'tile 11/0/0 is outside zooms 0 to 10' });
});

test('gzip names neither time nor system', (t) => {
  const zipped = text('hail');
  t.deepEqual([...zipped.subarray(0, 10)], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
  t.is(gunzipSync(zipped).toString(), 'hail');
});

/** Area inside a ring in pixels, negative when it runs clockwise. */
function pixelsInside(ring: Ring): number {
  let sum = 0;
  for (let i = 1; i < ring.length; i++) {
    const [ax, ay] = ring[i - 1] as [number, number];
    const [bx, by] = ring[i] as [number, number];
    sum += Math.round(ax * 100) * Math.round(by * 100) - Math.round(bx * 100) * Math.round(ay * 100);
  }
  return sum / 2;
}

/** Rings of each polygon, as the pixels inside them. */
function shape(polygons: MultiPolygon): number[][] {
  return polygons.map((polygon) => polygon.map(pixelsInside));
}

/** Area on the ellipsoid inside edges that run along meridians and parallels, by Green's theorem on the authalic sphere. */
function ellipsoidAreaKm2(polygons: MultiPolygon): number {
  let sum = 0;
  for (const ring of polygons.flat())
    for (let i = 1; i < ring.length; i++) {
      const [ax, ay] = ring[i - 1] as [number, number];
      const [bx] = ring[i] as [number, number];
      sum -= (bx - ax) * authalicQ(ay);
    }
  return (sum * (6378.137 ** 2 / 2) * Math.PI) / 180;
}

/** 4-connected groups of pixels, by flood fill: the slow and obvious way. */
function countGroups({ rows, cols }: Pixels): number {
  const left = new Set(rows.map((row, i) => `${row} ${cols[i]}`));
  let groups = 0;
  for (const start of left) {
    groups++;
    const stack = [start];
    while (stack.length > 0) {
      const place = stack.pop() as string;
      if (!left.delete(place)) continue;
      const [row, col] = place.split(' ').map(Number) as [number, number];
      stack.push(`${row - 1} ${col}`, `${row + 1} ${col}`, `${row} ${col - 1}`, `${row} ${col + 1}`);
    }
  }
  return groups;
}

test('a single pixel is its own box, counter-clockwise from its north-west corner', (t) =>
  t.deepEqual(traceMultiPolygon(drawPixels('1')), [
    [positionsOf('-100 40, -100 39.99, -99.99 39.99, -99.99 40, -100 40')],
  ]));

for (const [what, picture, expected] of [
  [
    'a donut has a clockwise hole',
    `
    1 1 1 1
    1 . . 1
    1 . . 1
    1 1 1 1`,
    [[16, -4]],
  ],
  [
    'a hole that reaches the outside through a diagonal gap is a hole that touches the shell',
    `
    1 1 1
    1 . 1
    1 1 .`,
    [[8, -1]],
  ],
  [
    'an island that fills a hole but for its corners touches the shell four times',
    `
    1 1 1 1 1
    1 1 . 1 1
    1 . 1 . 1
    1 1 . 1 1
    1 1 1 1 1`,
    [[25, -5], [1]],
  ],
] as const)
  test(what, (t) => {
    const polygons = traceMultiPolygon(drawPixels(picture));
    t.is(isValidMultiPolygon(polygons), null);
    const areas = expected.map((rings) => [...rings]);
    t.deepEqual(shape(polygons), areas);
  });

test('the corners of the lattice are traced to the edge of the grid', (t) => {
  const rings = traceMultiPolygon({ rows: [0, 3499], cols: [0, 6999] }).flat();
  t.deepEqual(rings[0]?.[0], [-130, 55]);
  t.deepEqual(rings[1]?.[2], [-60, 20]);
});

test('coordinates are exact hundredths of a degree', (t) => {
  const polygons = traceMultiPolygon(pixelsFromSeed(7, 40));
  for (const value of polygons.flat(3)) t.is(value, Number(value.toFixed(2)));
});

test('the order of the pixels does not matter and a pixel named twice counts once', (t) => {
  const pixels = pixelsFromSeed(3, 25);
  const twice = (indices: readonly number[]) => [...indices, ...indices].reverse();
  const again = { rows: twice(pixels.rows), cols: twice(pixels.cols) };
  t.deepEqual(traceMultiPolygon(again), traceMultiPolygon(pixels));
});

/** Pixels of a square, about two thirds of them, the same for the same seed. */
function pixelsFromSeed(seed: number, side: number): Pixels {
  const pixels: Pixels = { rows: [], cols: [] };
  let state = seed;
  for (let i = 0; i < side * side; i++) {
    state = (state * 48271) % 2147483647;
    if (state % 3 === 0) continue;
    pixels.rows.push(1500 + Math.floor(i / side));
    pixels.cols.push(3000 + (i % side));
  }
  return pixels;
}

test('any pixels give a valid MultiPolygon of their area, one polygon per 4-connected group, a turn at every vertex', (t) => {
  const mask = fc.array(fc.boolean(), { minLength: 196, maxLength: 196 });
  const property = fc.property(fc.integer({ min: 1, max: 14 }), mask, (side, cells) => {
    const chosen = cells.slice(0, side * side).flatMap((on, i) => (on ? [i] : []));
    const pixels = { rows: chosen.map((i) => 1500 + Math.floor(i / side)), cols: chosen.map((i) => 3000 + (i % side)) };
    const polygons = traceMultiPolygon(pixels);
    const area = shape(polygons)
      .flat()
      .reduce((sum, ring) => sum + ring, 0);
    const turns = polygons.flat().every((ring) =>
      ring.slice(0, -1).every((position, i) => {
        const before = ring.at(i === 0 ? -2 : i - 1) as number[];
        return turnsAt(before, position, ring[i + 1] as number[]);
      }),
    );
    return (
      isValidMultiPolygon(polygons) === null &&
      area === pixels.rows.length &&
      polygons.length === countGroups(pixels) &&
      turns
    );
  });
  t.notThrows(() => fc.assert(property, { numRuns: 300 }));
});

/** True when the way turns at `b`. */
function turnsAt(a: readonly number[], b: readonly number[], c: readonly number[]): boolean {
  return (a[0] === b[0]) !== (b[0] === c[0]);
}

for (const [mm, groups] of [
  [5, 2896],
  [19, 198],
] as const)
  sharedTest(`${mm} mm of the real day is valid, ${groups} polygons, and has the area of its pixels to 1e-9`, (t) => {
    const pixels = pixelsOf(realField(REAL_DAY), mm);
    const polygons = traceMultiPolygon(pixels);
    t.is(isValidMultiPolygon(polygons), null);
    t.is(polygons.length, groups);
    const expected = pixels.rows.reduce((sum, row) => sum + pixelAreaKm2(row), 0);
    t.true(Math.abs(ellipsoidAreaKm2(polygons) / expected - 1) < 1e-9);
  });

/** A closed ring from corners in hundredths of a degree. */
function ring(...corners: (readonly [number, number])[]): Ring {
  return [...corners, corners[0] as [number, number]].map(([x, y]) => [x / 100, y / 100]);
}

function box(west: number, south: number, east: number, north: number): Ring {
  return ring([west, south], [east, south], [east, north], [west, north]);
}

const shell = box(0, 0, 10, 10);
const hole = (west: number, south: number, east: number, north: number) => box(west, south, east, north).toReversed();

for (const [what, polygons] of [
  ['nothing at all', []],
  ['a shell with a hole', [[shell, hole(2, 2, 4, 4)]]],
  [
    'a hole that touches its shell at a vertex of both',
    [[ring([0, 0], [10, 0], [10, 10], [5, 10], [0, 10]), ring([5, 10], [6, 8], [4, 8])]],
  ],
  ['two holes that touch at a corner', [[shell, hole(2, 2, 4, 4), hole(4, 4, 6, 6)]]],
  ['two polygons that touch at two corners', [[shell], [ring([10, 0], [14, 5], [10, 10], [12, 5])]]],
  ['a polygon inside the hole of another', [[shell, hole(2, 2, 8, 8)], [box(4, 4, 6, 6)]]],
] as const)
  test(`${what} is valid`, (t) =>
    t.is(isValidMultiPolygon(polygons.map((rings) => rings.map((r) => r as Ring))), null));

for (const [what, polygons, reason] of [
  ['a ring of three positions', [[ring([0, 0], [1, 0])]], 'ring 0 has 3 positions, expected 4 or more'],
  ['an open ring', [[shell.slice(0, -1)]], 'ring 0 is not closed'],
  [
    'a ring that passes a position twice',
    [[ring([0, 0], [4, 0], [4, 4], [2, 2], [0, 4], [2, 2])]],
    'ring 0 passes a position twice',
  ],
  ['a figure of eight', [[ring([0, 0], [4, 4], [4, 0], [0, 4])]], 'rings 0 and 0 cross or overlap'],
  ['a spike', [[ring([0, 0], [4, 0], [4, 4], [4, 9], [4, 5], [0, 4])]], 'rings 0 and 0 cross or overlap'],
  ['a clockwise shell', [[shell.toReversed()]], 'ring 0 winds the wrong way, expected counter-clockwise'],
  ['a counter-clockwise hole', [[shell, box(2, 2, 4, 4)]], 'ring 1 winds the wrong way, expected clockwise'],
  ['a hole across its shell', [[shell, hole(8, 2, 12, 4)]], 'rings 0 and 1 cross or overlap'],
  ['a hole along its shell', [[shell, hole(0, 2, 4, 4)]], 'rings 0 and 1 cross or overlap'],
  ['a hole outside its shell', [[shell, hole(20, 2, 24, 4)]], 'hole 1 is outside its shell 0'],
  ['a hole in a hole', [[shell, hole(2, 2, 8, 8), hole(4, 4, 6, 6)]], 'holes 1 and 2 are nested'],
  ['overlapping polygons', [[shell], [box(5, 5, 15, 15)]], 'rings 0 and 1 cross or overlap'],
  ['a polygon inside another', [[shell], [box(4, 4, 6, 6)]], 'shell 1 lies inside the polygon of shell 0'],
  [
    'polygons that cross at a common vertex',
    [[ring([0, 0], [10, 0], [10, 10], [5, 5])], [ring([2, 8], [4, 0.5], [5, 5])]],
    'rings 0 and 1 cross',
  ],
  [
    'a polygon cut in two by a hole',
    [[ring([0, 0], [5, 0], [10, 0], [10, 10], [5, 10], [0, 10]), ring([5, 0], [4, 5], [5, 10], [6, 5])]],
    'polygon 0 is cut in two',
  ],
] as const)
  test(`${what} is not valid`, (t) => {
    const found = isValidMultiPolygon(polygons.map((rings) => rings.map((r) => r as Ring)));
    t.true(found?.startsWith(reason), `found '${found}', expected '${reason}'`);
  });

test('a conflict names the rings involved, counted through all polygons', (t) => {
  const conflicts = findConflicts([[box(20, 20, 30, 30)], [shell, hole(2, 2, 4, 4)], [box(3, 3, 5, 5)]]);
  t.deepEqual([...new Set(conflicts.flatMap((conflict) => conflict.rings))].sort(), [2, 3]);
});

const SCATTERED = drawPixels(`
  . . 1 . . . . 1
  1 . . . 1 . . .
  . . . . . . . .
  . 1 . 1 . . . 1
  . . . . . 1 . .`);

/** Least distance to the left of all edges; not negative inside a counter-clockwise ring. */
function depth(ring: Ring, lon: number, lat: number): number {
  return Math.min(
    ...ring.slice(1).map(([bx, by], i) => {
      const [ax, ay] = ring[i] as [number, number];
      return ((bx as number) - ax) * (lat - ay) - ((by as number) - ay) * (lon - ax);
    }),
  );
}

test('the hull of a square with points inside and on its sides is the square, counter-clockwise', (t) => {
  const points = positionsOf('0 0, 2 2, 1 1, 2 0, 1 0, 0 2, 0 1, 2 0');
  t.deepEqual(convexHull(points), positionsOf('0 0, 2 0, 2 2, 0 2, 0 0'));
});

test('the hull of one pixel is its own box, of two neighbours the box of both', (t) => {
  t.deepEqual(pixelHull(drawPixels('1')), positionsOf('-100 39.99, -99.99 39.99, -99.99 40, -100 40, -100 39.99'));
  t.deepEqual(pixelHull(drawPixels('1 1')), positionsOf('-100 39.99, -99.98 39.99, -99.98 40, -100 40, -100 39.99'));
});

test('the hull holds every corner and at least the area of the pixels', (t) => {
  const hull = pixelHull(SCATTERED);
  SCATTERED.rows.forEach((row, i) => {
    for (const dx of [-0.005, 0.005])
      for (const dy of [-0.005, 0.005]) t.true(depth(hull, colLon(SCATTERED.cols[i]) + dx, rowLat(row) + dy) > -1e-12);
  });
  t.true(geodesicAreaKm2(hull) > SCATTERED.rows.reduce((sum, row) => sum + pixelAreaKm2(row), 0));
});

test('the centroid of a tall box lies south of its middle, where the globe is wider', (t) => {
  // Mean latitude of 30..50 N weighted by its cosine: (phi sin phi + cos phi) / sin phi between the bounds = 39.511.
  const { lat } = ringCentroid(positionsOf('-100 30, -90 30, -90 50, -100 50, -100 30'));
  t.true(Math.abs(lat - 39.511) < 0.005, `${lat}`);
});

test('the centroid of a sliver lies inside it', (t) => {
  const sliver = convexHull(positionsOf('-100 30, -80 42, -80 42.01'));
  const { lat, lon } = ringCentroid(sliver);
  t.true(depth(sliver, lon, lat) > 0);
});

interface Region {
  bbox: [number, number, number, number] | null;
  convex_hull_ge_19: {
    pixels: number;
    hull_vertices: number;
    hull_lonlat: [number, number][];
    area_km2_geodesic_edges_of_lonlat_hull_of_pixel_corners: number;
    area_km2_geodesic_edges_of_lonlat_hull_of_centres: number;
  } | null;
}

for (const name of ['whole_grid', 'IL', 'MI'])
  sharedTest(
    `the hull of the real day in ${name} has the vertices and the geodesic area of shapely and pyproj`,
    (t) => {
      const file = JSON.parse(readFileSync(sharedData('expected.json'), 'utf8'));
      const { bbox, convex_hull_ge_19: expected } = file.mesh_regions.regions[name] as Required<Region>;
      if (!expected) return t.fail('no hull among the expected figures');
      const all = pixelsOf(realField(REAL_DAY), 19);
      const pixels = within(all, bbox ?? [-130, 20, -60, 55]);
      t.is(pixels.rows.length, expected.pixels);
      const centres = convexHull(pixels.rows.map((row, i) => [colLon(pixels.cols[i]), rowLat(row)]));
      t.deepEqual([...new Set(centres.map(String))].sort(), [...new Set(expected.hull_lonlat.map(String))].sort());
      const relative = (area: number, figure: number) => Math.abs(area / figure - 1);
      t.true(
        relative(geodesicAreaKm2(pixelHull(pixels)), expected.area_km2_geodesic_edges_of_lonlat_hull_of_pixel_corners) <
          1e-8,
      );
      t.true(relative(geodesicAreaKm2(centres), expected.area_km2_geodesic_edges_of_lonlat_hull_of_centres) < 1e-8);
    },
  );

function within({ rows, cols }: Pixels, [west, south, east, north]: readonly [number, number, number, number]): Pixels {
  const chosen = rows.flatMap((row, i) => {
    const [lat, lon] = [rowLat(row), colLon(cols[i])];
    return lat >= south && lat <= north && lon >= west && lon <= east ? [i] : [];
  });
  return { rows: chosen.map((i) => rows[i]), cols: chosen.map((i) => cols[i]) };
}

const WHOLE = { row0: 0, col0: 0, rows: LATTICE.rows, cols: LATTICE.cols };
/** Forty by forty pixels from 40 N, 100 W. */
const WINDOW = { row0: 1500, col0: 3000, rows: 40, cols: 40 };

function fillPixelsOf({ row, start, end }: PixelRuns): string[] {
  return [...row].flatMap((r, k) => Array.from({ length: end[k] - start[k] }, (_, i) => `${r} ${start[k] + i}`));
}

/** Even-odd rule for one point, as slow and obvious as it can be. */
function holds(polygons: MultiPolygon, lon: number, lat: number): boolean {
  let inside = false;
  for (const ring of polygons.flat())
    for (let i = 1; i < ring.length; i++) {
      const [ax, ay] = ring[i - 1] as [number, number];
      const [bx, by] = ring[i] as [number, number];
      if (ay >= lat !== by >= lat && lon < ax + ((lat - ay) / (by - ay)) * (bx - ax)) inside = !inside;
    }
  return inside;
}

const PICTURE = `
  1 1 1 . . 1
  1 . 1 . 1 .
  1 1 1 . . 1`;

test('filling the outline of pixels gives the pixels again, with their hole and their diagonal touch', (t) => {
  const drawn = drawPixels(PICTURE);
  const filled = fillPolygons(traceMultiPolygon(drawn), WHOLE);
  t.deepEqual(
    fillPixelsOf(filled),
    drawn.rows.map((row, i) => `${row} ${drawn.cols[i]}`),
  );
});

const place = fc.record({
  lon: fc.double({ min: -100, max: -99.6, noNaN: true }),
  lat: fc.double({ min: 39.6, max: 40, noNaN: true }),
});

test('a pixel is filled when a polygon holds its centre, whatever the polygon', (t) =>
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.array(place, { minLength: 3, maxLength: 9 }), (places) => {
        const ring = [...places, places[0] as (typeof places)[0]].map(({ lon, lat }) => [lon, lat]);
        const filled = new Set(fillPixelsOf(fillPolygons([[ring]], WINDOW)));
        for (let row = WINDOW.row0; row < WINDOW.row0 + WINDOW.rows; row++)
          for (let col = WINDOW.col0; col < WINDOW.col0 + WINDOW.cols; col++)
            if (filled.has(`${row} ${col}`) !== holds([[ring]], colLon(col), rowLat(row))) return false;
        return true;
      }),
      { numRuns: 40, seed: 4 },
    ),
  ));

test('areas that share a border through pixel centres share no pixel and leave none out', (t) => {
  const [west, east] = [-99.995, -99.895];
  const middle = positionsOf('-99.945 39.605, -99.935 39.805, -99.945 39.995');
  const left = [[west, 39.605], ...middle, [west, 39.995], [west, 39.605]];
  const right = [[east, 39.605], [east, 39.995], ...middle.toReversed(), [east, 39.605]];
  const pixels = [left, right].flatMap((ring) => fillPixelsOf(fillPolygons([[ring]], WHOLE)));
  t.is(new Set(pixels).size, pixels.length);
  t.is(pixels.length, 39 * 10, '39 rows between the edges, 10 columns each');
});

const DONUT_AND_PIXEL = traceMultiPolygon(
  drawPixels(`
  1 1 1 . .
  1 . 1 . 1
  1 1 1 . .`),
);

test('a multipolygon reads back as it was written', (t) =>
  t.deepEqual(multiPolygonFromWkt(multiPolygonToWkt(DONUT_AND_PIXEL)), DONUT_AND_PIXEL));

test('the text is plain WKT, longitude first', (t) => {
  const [pixel] = traceMultiPolygon(drawPixels('1'));
  t.is(polygonToWkt(pixel ?? []), 'POLYGON ((-100 40, -100 39.99, -99.99 39.99, -99.99 40, -100 40))');
});

test('no polygons are an empty multipolygon, both ways', (t) => {
  t.is(multiPolygonToWkt([]), 'MULTIPOLYGON EMPTY');
  t.deepEqual(multiPolygonFromWkt('multipolygon empty'), []);
  t.deepEqual(multiPolygonFromWkt('POLYGON EMPTY'), []);
});

test('other spacing, case and exponents are read', (t) =>
  t.deepEqual(multiPolygonFromWkt(' Polygon((0 0,1e1 0 , 0 -2.5,0 0)) '), [[positionsOf('0 0, 10 0, 0 -2.5, 0 0')]]));

for (const wkt of [
  '',
  'POINT (1 2)',
  'POLYGON (1 2)',
  'POLYGON ((1 2, 3))',
  'POLYGON ((a b, c d))',
  'POLYGON ((1 2, 3 4)',
  'MULTIPOLYGON ((1 2, 3 4))',
  'POLYGON Z ((1 2 3, 4 5 6))',
])
  test(`'${wkt}' is refused with what was found`, (t) =>
    t.throws(() => multiPolygonFromWkt(wkt), {
      instanceOf: SyntaxError,
      message: /^geometry is '.*', expected the WKT of a polygon or multipolygon$/,
    }));
