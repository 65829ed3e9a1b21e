import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { writeArrayBuffer } from 'geotiff';
import { BadInput } from '../../../pipeline/error.ts';
import { openDem } from '../../../pipeline/read/dem.ts';
import { type DemFile, demFile, KEY, withFloat } from '../../support/data/dem.ts';
import { scratch } from '../../support/data/world.ts';

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
    t.deepEqual(
      (await dem_.readRows(0, 6)).map((row) => [...row]),
      EXPECTED,
    );
    t.deepEqual(
      (await dem_.readRows(3, 2)).map((row) => [...row]),
      EXPECTED.slice(3, 5),
    );
  });

test('a pixel that is a point has its place at the corner that the file gives', async (t) => {
  const dem = await opened(t, { keys: { [KEY.raster]: 2 } });
  t.deepEqual([dem.north_lat, dem.west_lon], [50, -100]);
});

test('what is not a height is not known: the nodata value, NaN, and what no place on earth has', async (t) => {
  const values = [12, -9999, Number.NaN, -32768, 9001, -3.4e38, -11_000, 8848];
  const row = await opened(t, {
    rows: 2,
    type: 'float32',
    nodata: '-9999',
    height: (_, lon) => values[Math.floor((lon + 100) / 0.5)],
  });
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
  const dem = await opened(t, {
    rows: 3,
    cols: 5,
    step_deg,
    nodata: '-9999',
    height: (lat, lon) =>
      heights[Math.floor((50 - lat) / step_deg)]?.[Math.floor((lon + 100) / step_deg)] ?? Number.NaN,
  });
  t.like(dem, { rows: 2, cols: 3, lat_step_deg: 2 * step_deg, north_lat: 50 - step_deg, west_lon: -100 + step_deg });
  t.is(Math.round(dem.step_arcsec * 1000) / 1000, 3);
  t.deepEqual(
    (await dem.readRows(0, 2)).map((row) => [...row]),
    [
      [25, 3, 8],
      [3, Number.NaN, 6],
    ],
  );
});

test('NAD83 is as good as WGS84', async (t) => {
  t.is((await opened(t, { keys: { [KEY.geographic]: 4269 } })).rows, 6);
});

test('a model that does not say its unit is read when somebody vouches for metres', async (t) => {
  t.is((await opened(t, { keys: { [KEY.unit]: null } }, true)).rows, 6);
});

test('a file that another writer made is read too', async (t) => {
  const content = writeArrayBuffer(Float32Array.from([1, 2, 3, 4, 5, 6]), {
    width: 3,
    height: 2,
    GeographicTypeGeoKey: 4326,
    ModelPixelScale: [0.5, 0.5, 0],
    ModelTiepoint: [0, 0, 0, -100, 50, 0],
  });
  const dem = await openDem(await written(t, new Uint8Array(content)), true);
  t.teardown(() => dem.close());
  t.deepEqual(
    (await dem.readRows(0, 2)).map((row) => [...row]),
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
  );
});

const WHOLE = demFile(PLAIN);
for (const [title, content, reason] of [
  ['is no TIFF', 'heights', /is no GeoTIFF that can be read/],
  ['is empty', '', /is no GeoTIFF that can be read/],
  ['ends before its directory', WHOLE.slice(0, WHOLE.length - 150), /is no GeoTIFF|is cut off|expected/],
  [
    'has a projected coordinate system',
    demFile({ ...PLAIN, keys: { [KEY.model]: 1, [KEY.geographic]: null, [KEY.projected]: 32614 } }),
    /projected coordinate system \(32614\), expected longitudes and latitudes on WGS84/,
  ],
  ['names no coordinate system', demFile({ ...PLAIN, keys: { [KEY.geographic]: null } }), /coordinate system none/],
  ['lies on another datum', demFile({ ...PLAIN, keys: { [KEY.geographic]: 4267 } }), /coordinate system 4267/],
  ['counts angles in grads', demFile({ ...PLAIN, keys: { [KEY.angle]: 9105 } }), /angular unit 9105, expected degrees/],
  ['has heights in feet', demFile({ ...PLAIN, keys: { [KEY.unit]: 9002 } }), /heights in unit 9002, expected metres/],
  [
    'does not say its unit',
    demFile({ ...PLAIN, keys: { [KEY.unit]: null } }),
    /does not say the unit of its heights, expected metres; if they are, say so with --metres/,
  ],
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
  const content = writeArrayBuffer(new Float32Array(600), {
    width: 30,
    height: 20,
    GeographicTypeGeoKey: 4326,
    ModelPixelScale: [0.5, 0.5, 0],
    ModelTiepoint: [0, 0, 0, -100, 50, 0],
  });
  const path = await written(t, new Uint8Array(content).slice(0, -100));
  await t.throwsAsync(openDem(path, true), {
    instanceOf: BadInput,
    message: /ends at byte \d+, expected \d+: it is cut off/,
  });
});

test('a block that would fill the memory is refused', async (t) => {
  const content = Buffer.from(demFile(PLAIN));
  // Its width: tag 256, of type LONG, one value.
  content.writeUInt32LE(40_000_000, content.indexOf(Buffer.from([0, 1, 4, 0, 1, 0, 0, 0])) + 8);
  await t.throwsAsync(openDem(await written(t, content), false), {
    instanceOf: BadInput,
    message: /blocks of \d+ bytes/,
  });
});

test('a damaged block is a fault of the file', async (t) => {
  const content = demFile({ ...PLAIN, deflate: true });
  content.fill(0xff, 8, 40);
  const dem = await openDem(await written(t, content), false);
  t.teardown(() => dem.close());
  await t.throwsAsync(dem.readRows(0, 6), { instanceOf: BadInput, message: /is no GeoTIFF that can be read/ });
});

test('a file that is not there is an error of the file system', async (t) => {
  await t.throwsAsync(openDem('/nowhere/dem.tif', false), { code: 'ENOENT' });
});

for (const rows of [1e-300, 5e-324, 0.5, 2.5, -1])
  test(`strips of ${rows} rows are refused before they are walked through`, async (t) => {
    const path = await written(t, withFloat(demFile(PLAIN), 278, rows));
    const error = await t.throwsAsync(openDem(path, false), { instanceOf: BadInput });
    t.is(error.subject, path);
  });
