import { readFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { writeArrayBuffer } from 'geotiff';
import { BadInput } from '../../../pipeline/error.ts';
import type { HeightGrid } from '../../../pipeline/grid.ts';
import { examineRadars, groundCells, heightWindow, radarBlockage } from '../../../pipeline/read/beam-blockage.ts';
import { openDem } from '../../../pipeline/read/dem.ts';
import { readModelHour } from '../../../pipeline/read/model-hour.ts';
import type { Antenna } from '../../../schemas/geo/beam.ts';
import { distanceKm, roughDistanceKm } from '../../../schemas/geo/distance.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { type DemFile, demFile, KEY, withFloat } from '../../support/data/dem.ts';
import { seededRandom } from '../../support/data/grib2-files.ts';
import { type ModelFieldSpec, modelFile, writeModelField } from '../../support/data/model-file.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { EVENING_MS } from '../../support/data/small-evening.ts';
import { scratch } from '../../support/data/world.ts';

type RadarBlockage = ReturnType<typeof radarBlockage>;

/** Six rows of eight pixels of half a degree from 50 N 100 W; heights tell their row and column. */
const PLAIN: DemFile = {
  rows: 6,
  cols: 8,
  west: -100,
  north: 50,
  step_deg: 0.5,
  height: (lat, lon) => 100 * Math.round((50 - lat) / 0.5 - 0.5) + Math.round((lon + 100) / 0.5 - 0.5),
};

async function written(t: ExecutionContext, content: Uint8Array | string, name = 'dem.tif'): Promise<string> {
  const folder = await scratch(t, 'dem');
  await fs.mkdir(folder);
  await fs.writeFile(join(folder, name), content);
  return join(folder, name);
}

async function opened(t: ExecutionContext, dem: Partial<DemFile> = {}, in_metres = false) {
  const file = await openDem(await written(t, demFile({ ...PLAIN, ...dem })), in_metres);
  t.teardown(() => file.close());
  return file;
}

/** Heights of a model, row by row. */
async function heightsOf(dem: Awaited<ReturnType<typeof openDem>>, first: number, count: number): Promise<number[][]> {
  return (await dem.readRows(first, count)).map((row) => [...row]);
}

/** A model of half a degree as another writer makes it. */
function madeElsewhere(heights: Float32Array, width: number, ModelTiepoint = [0, 0, 0, -100, 50, 0]): Uint8Array {
  const places = { GeographicTypeGeoKey: 4326, ModelPixelScale: [0.5, 0.5, 0], ModelTiepoint };
  return new Uint8Array(writeArrayBuffer(heights, { width, height: heights.length / width, ...places }));
}

const EXPECTED = Array.from({ length: 6 }, (_, row) => Array.from({ length: 8 }, (_, col) => 100 * row + col));

for (const [title, dem] of [
  ['of whole metres in strips of 16 rows', {}],
  ['with one row a strip', { rows_per_strip: 1 }],
  ['of fractions, deflated, with strips of four rows', { type: 'float32', deflate: true, rows_per_strip: 4 }],
] as const)
  test(`heights of a model ${title} are read row by row`, async (t) => {
    const dem_ = await opened(t, dem);
    t.like(dem_, { rows: 6, cols: 8, north_lat: 49.75, west_lon: -99.75, lat_step_deg: 0.5, lon_step_deg: 0.5 });
    t.like(dem_, { file: 'dem.tif', step_arcsec: 1800 });
    t.deepEqual(await heightsOf(dem_, 0, 6), EXPECTED);
    t.deepEqual(await heightsOf(dem_, 3, 2), EXPECTED.slice(3, 5));
  });

test('a pixel that is a point has its place at the corner that the file gives', async (t) => {
  const dem = await opened(t, { keys: { [KEY.raster]: 2 } });
  t.deepEqual([dem.north_lat, dem.west_lon], [50, -100]);
});

// GeoTIFF 1.1, section 7.1.2.2: the raster point I J lies at X Y, so that the corner lies I steps west and J steps north of it.
for (const tie of [
  [3, 2, 0, -98.5, 49, 0],
  [0.5, 0.5, 0, -99.75, 49.75, 0],
])
  test(`the corner of a model follows from the pixel that the file ties, ${tie.slice(0, 2)}`, async (t) => {
    const dem = await openDem(await written(t, madeElsewhere(Float32Array.from([1, 2, 3, 4, 5, 6]), 3, tie)), true);
    t.teardown(() => dem.close());
    t.deepEqual([dem.north_lat, dem.west_lon], [49.75, -99.75]);
  });

test('what is not a height is not known: the nodata value, NaN, and what no place on earth has', async (t) => {
  const values = [12, -9999, Number.NaN, -32768, 9001, -3.4e38, -11_000, 8848];
  const height = (_: number, lon: number) => values[Math.floor((lon + 100) / 0.5)];
  const row = await opened(t, { rows: 2, type: 'float32', nodata: '-9999', height });
  const NONE = Number.NaN;
  t.deepEqual([...((await row.readRows(0, 1))[0] as Float32Array)], [12, NONE, NONE, NONE, NONE, NONE, -11_000, 8848]);
});

test('heights closer than 250 m are averaged in groups, without those that are not known', async (t) => {
  // 3 arc-seconds are 93 m: groups of two by two, the last ones smaller.
  const heights = [
    [10, 20, 1, 3, 7],
    [30, 40, -9999, 5, 9],
    [2, 4, -9999, -9999, 6],
  ];
  const step_deg = 3 / 3600;
  const height = (lat: number, lon: number) =>
    heights[Math.floor((50 - lat) / step_deg)]?.[Math.floor((lon + 100) / step_deg)] ?? Number.NaN;
  const dem = await opened(t, { rows: 3, cols: 5, step_deg, nodata: '-9999', height });
  t.like(dem, { rows: 2, cols: 3, lat_step_deg: 2 * step_deg, north_lat: 50 - step_deg, west_lon: -100 + step_deg });
  t.is(Math.round(dem.step_arcsec * 1000) / 1000, 3);
  t.deepEqual(await heightsOf(dem, 0, 2), [
    [25, 3, 8],
    [3, Number.NaN, 6],
  ]);
});

test('NAD83 is as good as WGS84', async (t) => t.is((await opened(t, { keys: { [KEY.geographic]: 4269 } })).rows, 6));

test('a model that does not say its unit is read when somebody vouches for metres', async (t) =>
  t.is((await opened(t, { keys: { [KEY.unit]: null } }, true)).rows, 6));

test('a file that another writer made is read too', async (t) => {
  const dem = await openDem(await written(t, madeElsewhere(Float32Array.from([1, 2, 3, 4, 5, 6]), 3)), true);
  t.teardown(() => dem.close());
  t.deepEqual(await heightsOf(dem, 0, 2), [
    [1, 2, 3],
    [4, 5, 6],
  ]);
});

const WHOLE = demFile(PLAIN);
const PROJECTED = demFile({ ...PLAIN, keys: { [KEY.model]: 1, [KEY.geographic]: null, [KEY.projected]: 32614 } });
const NO_UNIT = demFile({ ...PLAIN, keys: { [KEY.unit]: null } });
const NOT_DEGREES = /projected coordinate system \(32614\), expected longitudes and latitudes on WGS84/;
const VOUCH = /does not say the unit of its heights, expected metres; if they are, say so with --metres/;
for (const [title, content, reason] of [
  ['is no TIFF', 'heights', /is no GeoTIFF that can be read/],
  ['is empty', '', /is no GeoTIFF that can be read/],
  ['ends before its directory', WHOLE.slice(0, WHOLE.length - 150), /is no GeoTIFF|is cut off|expected/],
  ['has a projected coordinate system', PROJECTED, NOT_DEGREES],
  ['names no coordinate system', demFile({ ...PLAIN, keys: { [KEY.geographic]: null } }), /coordinate system none/],
  ['lies on another datum', demFile({ ...PLAIN, keys: { [KEY.geographic]: 4267 } }), /coordinate system 4267/],
  ['counts angles in grads', demFile({ ...PLAIN, keys: { [KEY.angle]: 9105 } }), /angular unit 9105, expected degrees/],
  ['has heights in feet', demFile({ ...PLAIN, keys: { [KEY.unit]: 9002 } }), /heights in unit 9002, expected metres/],
  ['does not say its unit', NO_UNIT, VOUCH],
  ['is larger than the earth', demFile({ ...PLAIN, step_deg: 60, height: () => 0 }), /expected no more than the earth/],
] as const)
  test(`a model that ${title} is refused by name`, async (t) => {
    const path = await written(t, content, 'found.tif');
    const error = await t.throwsAsync(openDem(path, false), { instanceOf: BadInput });
    t.true(error.message.startsWith('read ') && error.message.includes('found.tif: '), error.message);
    t.regex(error.message, reason);
  });

test('a model that is cut off is refused before its end is read as sea', async (t) => {
  // The library writes the directory first: what is missing are heights.
  const path = await written(t, madeElsewhere(new Float32Array(600), 30).slice(0, -100));
  const message = /ends at byte \d+, expected \d+: it is cut off/;
  await t.throwsAsync(openDem(path, true), { instanceOf: BadInput, message });
});

test('a block that would fill the memory is refused', async (t) => {
  const content = Buffer.from(demFile(PLAIN));
  // Its width: tag 256, of type LONG, one value.
  content.writeUInt32LE(40_000_000, content.indexOf(Buffer.from([0, 1, 4, 0, 1, 0, 0, 0])) + 8);
  const message = /blocks of \d+ bytes/;
  await t.throwsAsync(openDem(await written(t, content), false), { instanceOf: BadInput, message });
});

test('a damaged block is a fault of the file', async (t) => {
  const content = demFile({ ...PLAIN, deflate: true });
  content.fill(0xff, 8, 40);
  const dem = await openDem(await written(t, content), false);
  t.teardown(() => dem.close());
  await t.throwsAsync(dem.readRows(0, 6), { instanceOf: BadInput, message: /is no GeoTIFF that can be read/ });
});

test('a file that is not there is an error of the file system', (t) =>
  t.throwsAsync(openDem('/nowhere/dem.tif', false), { code: 'ENOENT' }));

for (const rows of [1e-300, 5e-324, 0.5, 2.5, -1])
  test(`strips of ${rows} rows are refused before they are walked through`, async (t) => {
    const path = await written(t, withFloat(demFile(PLAIN), 278, rows));
    const error = await t.throwsAsync(openDem(path, false), { instanceOf: BadInput });
    t.is(error.subject, path);
  });

type HeightAt = Parameters<typeof radarBlockage>[1];

const SITE: Antenna = { id: 'KAAA', lat: 40, lon: -95, antenna_m: 300 };
const CELL_KM = 0.25;
const SEA: HeightAt = () => 0;

const examine = (heightAt: HeightAt, site = SITE, cell_km = CELL_KM) => radarBlockage(site, heightAt, cell_km);
const stepsOf = ({ steps }: RadarBlockage, azimuth: number, tilt = 0.5) =>
  steps
    .filter(({ azimuth_deg, tilt_deg }) => azimuth_deg === azimuth && tilt_deg === tilt)
    .map(({ distance_km, blocked }) => [distance_km, blocked]);

/** Terrain of a height where the distance from the site lies between two, sea elsewhere. */
function ring(from_km: number, to_km: number, height_m: number, elsewhere: HeightAt = SEA): HeightAt {
  return (lat, lon) => {
    const rough_km = roughDistanceKm(SITE, { lat, lon });
    if (rough_km < 0.99 * from_km - 0.1 || rough_km > 1.01 * to_km + 0.1) return elsewhere(lat, lon);
    const km = distanceKm(SITE, { lat, lon });
    return km >= from_km && km < to_km ? height_m : elsewhere(lat, lon);
  };
}

/** Height of a beam's centre above the antenna over a ground distance, km, by trying ranges. */
function handHeightKm(ground_km: number, tilt_deg: number): { centre_km: number; range_km: number } {
  const ae = 8494.67;
  const e = (tilt_deg * Math.PI) / 180;
  let [low, high] = [0, 2 * ground_km];
  for (let n = 0; n < 80; n++) {
    const r = (low + high) / 2;
    const h = Math.sqrt(r * r + ae * ae + 2 * r * ae * Math.sin(e)) - ae;
    if (ae * Math.asin((r * Math.cos(e)) / (ae + h)) < ground_km) low = r;
    else high = r;
  }
  return { range_km: low, centre_km: Math.sqrt(low * low + ae * ae + 2 * low * ae * Math.sin(e)) - ae };
}

test('a flat sea blocks nothing: every ray of the lowest tilt is known and free', (t) => {
  const { steps, unknown_share, shadowed_share } = examine(SEA);
  t.is(steps.length, 360);
  t.true(steps.every(({ tilt_deg, distance_km, blocked }) => tilt_deg === 0.5 && distance_km === 0 && blocked === 0));
  for (const [azimuth, { azimuth_deg }] of steps.entries()) t.is(azimuth_deg, azimuth);
  t.deepEqual([unknown_share, shadowed_share], [0, 0]);
});

/** Terrain over the beam's centre, in radii of the beam, and the share of Bech et al. 2003 as SCIENCE.md, "Radar coverage", cites it. */
for (const [y, share] of [
  [-0.5, 0.1955],
  [-0.25, 0.3425],
  [0, 0.5],
  [0.25, 0.6575],
  [0.5, 0.8045],
] as const)
  for (const [distance_km, tilt] of [
    [60, 0.5],
    [100, 0.9],
  ] as const)
    test(`a ridge ${y} radii over the centre of the ${tilt} degree beam at ${distance_km} km blocks ${share} of it`, (t) => {
      const { centre_km, range_km } = handHeightKm(distance_km, tilt);
      const radius_km = (range_km * 0.925 * Math.PI) / 360;
      const height_m = SITE.antenna_m + 1000 * (centre_km + y * radius_km);
      const found = examine(ring(distance_km - 0.05, distance_km + 0.05, height_m));
      t.deepEqual(stepsOf(found, 123, tilt).at(-1), [distance_km, Math.round(100 * share) / 100]);
    });

test('the 0.5 degree beam 100 km away has its centre at 1461 m, as in the reference table', (t) => {
  // Range and ground distance differ by 20 m there, which is one metre of height.
  t.true(Math.abs(1000 * handHeightKm(100, 0.5).centre_km - 1461) < 2);
  t.deepEqual(stepsOf(examine(ring(99.9, 100.1, SITE.antenna_m + 1461)), 0).at(-1), [100, 0.5]);
});

test('the share is the largest so far: a lower ridge behind a higher one changes nothing', (t) => {
  const high = SITE.antenna_m + 1000 * handHeightKm(50, 0.5).centre_km;
  const low = SITE.antenna_m + 1000 * handHeightKm(90, 0.5).centre_km - 300;
  const top = SITE.antenna_m + 1000 * handHeightKm(130, 0.5).centre_km + 2000;
  const found = examine(ring(49.9, 50.1, high, ring(89.9, 90.1, low, ring(129.9, 130.1, top))));
  t.deepEqual(stepsOf(found, 200), [
    [0, 0],
    [50, 0.5],
    [130, 1],
  ]);
  t.is(found.shadowed_share, 1);
  const alone = examine(ring(89.9, 90.1, low));
  const share = stepsOf(alone, 200).at(-1)?.[1] ?? 0;
  t.true(share > 0 && share < 0.5, 'the lower ridge would block something');
});

test('along every ray the share rises with every step, and a higher tilt is never blocked more', (t) => {
  const rough: HeightAt = (lat, lon) => 900 + 700 * Math.sin(40 * lat) * Math.cos(31 * lon);
  const { steps } = examine(rough);
  const rays = Map.groupBy(steps, ({ azimuth_deg, tilt_deg }) => `${azimuth_deg} ${tilt_deg}`);
  t.true(rays.size > 400);
  for (const [ray, of] of rays)
    for (const [index, { blocked, distance_km }] of of.entries()) {
      const before = of[index - 1];
      if (before && (before.blocked >= blocked || before.distance_km >= distance_km)) t.fail(ray);
    }
  for (let azimuth = 0; azimuth < 360; azimuth++) {
    const ends = [0.5, 0.9, 1.3].map((tilt) => stepsOf({ steps } as RadarBlockage, azimuth, tilt).at(-1)?.[1] ?? 0);
    t.true(ends[0] >= ends[1] && ends[1] >= ends[2], `${azimuth}: ${ends}`);
  }
});

test('terrain nearer than a kilometre, or than one cell of the model, is not looked at', (t) => {
  const hill = ring(0, 4.9, 3000);
  t.is(stepsOf(examine(hill), 10)[1]?.[0], 1);
  t.is(stepsOf(examine(hill, SITE, 3), 10)[1]?.[0], 3);
  t.is(stepsOf(examine(hill, SITE, 5), 10).length, 1);
});

test('unknown heights block nothing and are counted', (t) => {
  const half: HeightAt = (_, lon) => (lon < SITE.lon ? Number.NaN : 0);
  const { steps, unknown_share, shadowed_share } = examine(half);
  t.is(steps.length, 360);
  t.true(Math.abs(unknown_share - 0.5) < 0.01, `${unknown_share}`);
  t.is(shadowed_share, 0);
});

test('a ray over the date line meets what lies behind it', (t) => {
  const island: HeightAt = (_, lon) => {
    t.true(Number.isFinite(lon));
    return lon > 0 && lon < 179.5 ? 4000 : 0;
  };
  const found = examine(island, { ...SITE, lat: 20, lon: -179.5 });
  const [, first] = stepsOf(found, 270);
  // One degree of longitude at 20 N is 104.65 km.
  t.true(Math.abs((first?.[0] ?? 0) - 104.65) < 0.3, `${first}`);
  t.is(stepsOf(found, 90).length, 1);
});

/** Ten rows of eight cells of one degree, the first centre at 49.5 N 109.5 W; 100 m for each degree north of 40. */
function grid(changes: Partial<HeightGrid> = {}) {
  const read: number[] = [];
  const made: HeightGrid = {
    rows: 10,
    cols: 8,
    north_lat: 49.5,
    west_lon: -109.5,
    lat_step_deg: 1,
    lon_step_deg: 1,
    readRows: async (first, count) =>
      Array.from({ length: count }, (_, k) => {
        read.push(first + k);
        return new Float32Array(8).fill(100 * (9.5 - first - k));
      }),
    ...changes,
  };
  return { made, read };
}

test('the ground of a cell is the mean of the heights in it that are known; those below the sea count as 0', async (t) => {
  const heights = [-40, 90, Number.NaN, Number.NaN];
  const { made } = grid({
    ...{ rows: 2, cols: 4, north_lat: 54.975, west_lon: 239.825, lat_step_deg: 0.05, lon_step_deg: 0.05 },
    readRows: async (_, count) => Array.from({ length: count }, () => Float32Array.from(heights)),
  });
  t.deepEqual(await groundCells(made), [{ row: 0, col: 980, ground_m: 45 }]);
});

test('heights between cells are bilinear', async (t) => {
  const at = await heightWindow(grid().made)([-109, 41, -103, 49]);
  t.is(at(45.5, -106.5), 550);
  t.is(at(45.75, -106.2), 575);
});

test('a longitude counted from 0 to 360 is the same place', async (t) => {
  const row = Float32Array.from({ length: 8 }, (_, col) => col);
  const sloping = grid({ west_lon: 250.5, readRows: async (_, count) => Array.from({ length: count }, () => row) });
  const at = await heightWindow(sloping.made)([-109, 41, -103, 49]);
  t.is(at(45, -109.5), 0);
  t.is(at(45, -107.25), 2.25);
});

test('outside the outermost centres, and beside an unknown cell, the height is not known', async (t) => {
  const at = await heightWindow(grid().made)([-120, 30, -90, 60]);
  for (const [lat, lon] of [
    [49.6, -106],
    [40.4, -106],
    [45, -109.6],
    [45, -102.4],
    [45, 70],
  ] as const)
    t.true(Number.isNaN(at(lat, lon)), `${lat} ${lon}`);
  t.is(Math.round(at(49.4, -102.6)), 940);
  const unknown = new Float32Array(8).fill(Number.NaN);
  const void_ = grid({ readRows: async (_, count) => Array.from({ length: count }, () => unknown) });
  t.true(Number.isNaN((await heightWindow(void_.made)([-109, 41, -103, 49]))(45, -106)));
});

test('boxes from north to south read every row once', async (t) => {
  const { made, read } = grid();
  const windowOf = heightWindow(made);
  for (const [south, north] of [
    [47, 49],
    [45, 48],
    [45.2, 47],
    [41, 44],
  ] as const) {
    const at = await windowOf([-109, south, -103, north]);
    t.is(Math.round(at((south + north) / 2, -106)), Math.round(100 * ((south + north) / 2 - 40)));
  }
  t.true(
    read.every((row, k) => k === 0 || row > read[k - 1]),
    String(read),
  );
});

/** The real heights of the earth at 20 arc-minutes, south first, from 20 E on; the last column repeats the first. */
function etopo(): number[][] {
  const text = gunzipSync(readFileSync(sharedData('terrain', 'etopo20data.gz'))).toString('latin1');
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
}

async function asGeotiff(t: ExecutionContext): Promise<string> {
  const south = etopo();
  const height = (lat: number, lon: number) =>
    (south[Math.floor((lat + 90) * 3)] as number[])[Math.floor((lon - 20) * 3)];
  const path = `${await scratch(t, 'etopo')}.tif`;
  const world = { rows: 540, cols: 1080, west: 20, north: 90, step_deg: 1 / 3 };
  await fs.writeFile(path, demFile({ ...world, height, type: 'float32', deflate: true }));
  return path;
}

const SITES = ['KTLX', 'KAMX', 'KTBW', 'KMLB', 'KBYX', 'KJAX', 'KICT', 'KHNX', 'KBBX', 'KPDT', 'KHDX', 'KMTX', 'KIWA'];

sharedTest(
  'real heights, though far too coarse, shade radars below western ranges and none on the Gulf coast',
  async (t) => {
    const dem = await openDem(await asGeotiff(t), false);
    t.teardown(() => dem.close());
    const sites = WSR88D.filter(({ id }) => SITES.includes(id));
    const found = new Map<string, RadarBlockage>();
    for await (const radar of examineRadars(sites, dem, () => {})) found.set(radar.id, radar);
    t.deepEqual([...found.keys()].sort(), SITES.toSorted());
    const shadowed = (id: string) => found.get(id)?.shadowed_share ?? Number.NaN;
    for (const id of ['KAMX', 'KTBW', 'KMLB', 'KBYX', 'KJAX', 'KTLX', 'KICT']) {
      t.is(shadowed(id), 0, id);
      for (const { blocked } of found.get(id)?.steps ?? []) t.is(blocked, 0, id);
    }
    // Below the Sierra Nevada, the Blue Mountains and the Sacramento Mountains.
    for (const id of ['KHNX', 'KBBX', 'KPDT', 'KHDX']) t.true(shadowed(id) > 0.2, `${id} ${shadowed(id)}`);
    const isEast = ({ azimuth_deg }: { azimuth_deg: number }) => azimuth_deg > 0 && azimuth_deg < 160;
    const deep = (found.get('KHNX')?.steps ?? []).filter(({ tilt_deg, blocked }) => tilt_deg === 0.5 && blocked > 0.5);
    t.true(deep.length > 0 && deep.every(isEast), 'the Sierra lies east of the San Joaquin valley');
  },
);
const FILE = modelFile(EVENING_MS, 3);
const CLAIM = { model: 'hrrr', run_time: EVENING_MS, valid_time: EVENING_MS + 3 * MS_PER_HOUR };
const NAM_RUN = Date.parse('2018-09-17T00:00:00Z');
const NAM = 'cfgrib_nam.t00z.awp21100.tm00.grib2';

function read(bytes: Uint8Array, claim = CLAIM) {
  return readModelHour([{ bytes, subject: 'file' }], claim);
}

/** A message of our own on a grid of two by three points. */
function message(field: Partial<ModelFieldSpec>, lead_h = 3, grid = { cols: 3, rows: 2, step_m: 3000 }): Uint8Array {
  const spec: ModelFieldSpec = {
    name: 'TMP',
    parameter: [0, 0, 0],
    level: { type: 100, value: 50_000 },
    level_words: '500 mb',
    decimals: 1,
    values: [260, 261, 262, 263, 264, 265.5],
    ...field,
  };
  return writeModelField(
    { first_lat_udeg: 35_000_000, first_lon_udeg: 262_000_000, ...grid },
    EVENING_MS,
    lead_h,
    spec,
  );
}

test('a simulated hour has every field that hail forecasts need, and is known as simulated', (t) => {
  const { hour, set_aside } = read(FILE.bytes);
  t.deepEqual(set_aside, []);
  t.true(hour.simulated);
  t.deepEqual(Object.keys(hour.fields).sort(), [
    'cape_j_kg',
    'freezing_level_m',
    'hail_mm',
    'height_500_m',
    'height_700_m',
    'reflectivity_dbz',
    'shear_u_ms',
    'shear_v_ms',
    'specific_humidity_g_kg',
    'temperature_500_c',
    'temperature_700_c',
    'terrain_m',
    'updraft_helicity_m2_s2',
  ]);
  const most = Math.max(...(hour.fields.hail_mm as Float32Array));
  t.true(most > 10 && most < 150, `${most}`);
});

test('values, units and positions come back as they were written', (t) => {
  const { hour } = read(Buffer.concat([message({})]));
  const celsius = [...(hour.fields.temperature_500_c as Float32Array)].map((c) => Math.round(c * 100) / 100);
  t.deepEqual(celsius, [-13.15, -12.15, -11.15, -10.15, -9.15, -7.65]);
  const place = hour.grid.locate({ lat: 35, lon: -98 });
  t.true(Math.hypot(place.row, place.col) < 1e-6);
  const { row_km, col_km } = hour.grid.stepsAt({ lat: 38.5, lon: -98 });
  t.true(Math.abs(row_km - 3) < 1e-9 && Math.abs(col_km - 3) < 1e-9);
});

sharedTest('the real NAM file gives the fields that the significant hail parameter needs, observed', (t) => {
  const claim = { model: 'nam', run_time: NAM_RUN, valid_time: NAM_RUN };
  const { hour, set_aside } = read(readFileSync(sharedData('forecast', NAM)), claim);
  t.deepEqual(set_aside, []);
  t.false(hour.simulated);
  t.deepEqual([hour.grid.rows, hour.grid.cols], [65, 93]);
  const at = 25 * 93 + 49;
  const value = (name: keyof typeof hour.fields) => Math.round((hour.fields[name] as Float32Array)[at] * 1000) / 1000;
  t.is(value('cape_j_kg'), 1239);
  t.is(value('temperature_500_c'), -5.06);
  t.is(value('freezing_level_m'), 5045.459);
  t.is(value('terrain_m'), 346.268);
  const [row, col] =
    [hour.grid.locate({ lat: 35.69756, lon: -97.65181 })].map((place) => [place.row, place.col])[0] ?? [];
  t.true(Math.abs((row ?? 0) - 25) < 1e-4 && Math.abs((col ?? 0) - 49) < 1e-4);
});

test('of several layers of CAPE the deepest is taken, in whatever order they stand', (t) => {
  const cape = (hpa: number, value: number) =>
    message({
      parameter: [0, 7, 6],
      level: { type: 108, value: 100 * hpa },
      second_level: { type: 108, value: 0 },
      decimals: 0,
      values: new Array(6).fill(value),
    });
  const { hour } = read(Buffer.concat([cape(90, 900), cape(255, 2550), cape(180, 1800)]));
  t.is(hour.fields.cape_j_kg?.[0], 2550);
});

test('a maximum of another interval than an hour is set aside, the rest is kept', (t) => {
  const hail = message({
    parameter: [0, 1, 31],
    level: { type: 1, value: 0 },
    is_maximum: true,
    values: new Array(6).fill(0),
  });
  const threeHours = Buffer.from(hail);
  // Section 4 follows the 16, 21 and 81 octets of sections 0, 1 and 3; its lead stands at octets 19 to 22.
  threeHours.writeUInt32BE(0, 16 + 21 + 81 + 18);
  const { hour, set_aside } = read(Buffer.concat([threeHours, message({})]));
  t.deepEqual(set_aside, [{ item: 'file message 1, hail_mm', reason: 'a maximum of 3 hours, expected 1' }]);
  t.deepEqual(Object.keys(hour.fields), ['temperature_500_c']);
  t.is(read(hail).hour.fields.hail_mm?.[0], 0);
});

test('impossible values are set aside with their bounds', (t) => {
  const { hour, set_aside } = read(Buffer.concat([message({ values: [260, 261, 262, 263, 264, 900] }), FILE_PART]));
  t.is(set_aside.length, 1);
  t.regex(set_aside[0]?.reason ?? '', /^values from -13\.1\d* to 626\.8\d*, expected -100 to 60$/);
  t.deepEqual(Object.keys(hour.fields), ['temperature_700_c']);
});

const FILE_PART = message({ level: { type: 100, value: 70_000 } });

for (const [title, bytes, claim, reason] of [
  ['another model than it is said to be', FILE.bytes, { ...CLAIM, model: 'nam' }, /is made by hrrr, expected nam/],
  [
    'another run',
    FILE.bytes,
    { ...CLAIM, run_time: EVENING_MS - MS_PER_HOUR },
    /run is of 2026-05-01T22:00:00Z, expected 2026-05-01T21:00:00Z/,
  ],
  [
    'another hour of the run',
    FILE.bytes,
    { ...CLAIM, valid_time: EVENING_MS },
    /valid at 2026-05-02T01:00:00Z, expected 2026-05-01T22:00:00Z/,
  ],
  ['an end in the middle of a message', FILE.bytes.subarray(0, -100), CLAIM, /expected at most the \d+ that are there/],
  [
    'an html page',
    Buffer.from('<!DOCTYPE html><html><body>busy</body></html>'),
    CLAIM,
    /an html or xml page, expected GRIB2/,
  ],
  ['nothing in it', new Uint8Array(0), CLAIM, /no GRIB message in 0 bytes/],
  [
    'none of the fields we use',
    message({ parameter: [0, 2, 10] }),
    CLAIM,
    /none of 1 fields is of use, expected at least one of 21/,
  ],
  [
    'fields on two grids',
    Buffer.concat([
      message({}),
      message({ level: { type: 100, value: 70_000 } }, 3, { cols: 2, rows: 3, step_m: 3000 }),
    ]),
    CLAIM,
    /lies on another grid than message \d of file, expected the same/,
  ],
] as const)
  test(`a model file with ${title} is refused with both sides named`, (t) =>
    t.regex(t.throws(() => read(bytes, claim), { instanceOf: BadInput }).message, reason));

test('an hour that is partly simulated is refused', (t) => {
  const observed = Buffer.from(FILE_PART);
  observed[16 + 19] = 0; // octet 20 of section 1
  t.regex(
    t.throws(() => read(Buffer.concat([message({}), observed])), { instanceOf: BadInput }).message,
    /simulated and observed fields in one hour, expected one kind/,
  );
});

test('an hour in two files, as RRFS has it, is read as one', (t) => {
  const { hour } = readModelHour(
    [
      { bytes: message({}), subject: 'levels' },
      {
        bytes: message({ parameter: [0, 3, 5], level: { type: 1, value: 0 }, decimals: 0, values: [1, 2, 3, 4, 5, 6] }),
        subject: 'surface',
      },
    ],
    CLAIM,
  );
  t.deepEqual(Object.keys(hour.fields), ['temperature_500_c', 'terrain_m']);
});

for (const [k, cut] of [0.1, 0.35, 0.6, 0.85, 0.99].entries())
  test(`a simulated file that ends early is refused, never read in part: cut ${k + 1}`, (t) =>
    t.throws(() => read(FILE.bytes.subarray(0, Math.floor(FILE.bytes.length * cut))), { instanceOf: BadInput }));

test('a model file with damaged bytes is read or refused, nothing else', (t) => {
  const random = seededRandom(7);
  for (let round = 0; round < 300; round++) {
    const damaged = Buffer.from(FILE.bytes);
    for (let k = 0; k < 3; k++) damaged[Math.floor(random() * damaged.length)] = Math.floor(random() * 256);
    try {
      const { hour } = read(damaged);
      for (const values of Object.values(hour.fields)) t.is(values.length, hour.grid.rows * hour.grid.cols);
    } catch (error) {
      t.true(error instanceof BadInput, String(error));
    }
  }
});
