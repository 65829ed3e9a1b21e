import { readFileSync } from 'node:fs';
import test from 'ava';
import { writeArrayBuffer } from 'geotiff';
import { BadInput } from '../../../pipeline/error.ts';
import { readGeotiff } from '../../../pipeline/read/geotiff.ts';
import { readGrid } from '../../../pipeline/read/mrms.ts';
import { withFloat } from '../../support/data/dem.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const ORIGIN = { product: 'MESH', scan_time: Date.parse('2024-05-01T20:12:34Z') };

/** GeoTIFF of 3 x 2 pixels, uncompressed, with its north-west corner at the given edges. */
function made(values: readonly number[], { west = -129, north = 54, step = 0.01 } = {}): Uint8Array {
  const file = writeArrayBuffer(Float32Array.from(values), {
    width: 3,
    height: 2,
    GeographicTypeGeoKey: 4326,
    ModelPixelScale: [step, step, 0],
    ModelTiepoint: [0, 0, 0, west, north, 0],
  });
  return new Uint8Array(file);
}

const VALUES = [-3, -1, 0.8, 20.8, 82.8, 150];

test('pixels of a GeoTIFF become tenths on their window of the lattice', async (t) => {
  const { packed, ...grid } = await readGeotiff(made(VALUES), 'x.tif', ORIGIN);
  t.deepEqual(grid.window, { row0: 100, col0: 100, rows: 2, cols: 3 });
  t.deepEqual([...packed], [0, 20, 38, 238, 858, 1530]);
  t.deepEqual([grid.product, grid.scan_time, grid.reference, grid.decimal_scale], ['MESH', ORIGIN.scan_time, -30, 1]);
});

test('NaN is no coverage', async (t) => {
  const { packed } = await readGeotiff(made([Number.NaN, -1, 1, 1, 1, 1]), 'x.tif', ORIGIN);
  t.is(packed[0], 0);
});

for (const [title, file, reason] of [
  [
    'strips of 1e-300 rows',
    withFloat(made(VALUES), 278, 1e-300),
    /block height of 1e-300 pixels, expected a whole number/,
  ],
  ['strips of half a row', withFloat(made(VALUES), 278, 0.5), /block height of 0.5 pixels, expected a whole number/],
  ['a width of 2.5 pixels', withFloat(made(VALUES), 256, 2.5), /width of 2.5 pixels, expected a whole number/],
  ['a step that is not the lattice', made(VALUES, { step: 0.02 }), /expected a window of the 0.01 degree lattice/],
  [
    'edges between the pixels of the lattice',
    made(VALUES, { west: -129.005 }),
    /expected a window of the 0.01 degree lattice/,
  ],
  ['pixels beyond the lattice', made(VALUES, { west: -60.02 }), /expected a window of the 0.01 degree lattice/],
  [
    'values that are no tenths',
    made([1.25, 0, 0, 0, 0, 0]),
    /value 1.25 at row 0, column 0, expected tenths, -3, -1 or 0 to 250 mm/,
  ],
  [
    'a value below the sentinels',
    made([0, 0, 0, 0, -999, 0]),
    /value -999 at row 1, column 1, expected tenths, -3, -1 or 0 to 250 mm/,
  ],
  ['no header', Buffer.from('not a tiff'), /tiff has no header/],
  [
    'an end before its directory',
    made(VALUES).slice(0, 12),
    /tiff directory of \d+ entries reaches beyond|reaches beyond the file/,
  ],
] as const)
  test(`a GeoTIFF with ${title} is refused by name`, async (t) => {
    const error = await t.throwsAsync(readGeotiff(file, 'mesh.tif', ORIGIN), { instanceOf: BadInput });
    t.true(error.message.startsWith('read mesh.tif: '));
    t.regex(error.message, reason);
  });

test('a product that MRMS does not have is refused', async (t) => {
  await t.throwsAsync(readGeotiff(made(VALUES), 'x.tif', { ...ORIGIN, product: 'Snow' }), {
    instanceOf: BadInput,
    message: /product 'Snow' is unknown/,
  });
});

sharedTest('the 24 h maximum as GeoTIFF equals the GRIB2 file in every one of its 24,500,000 pixels', async (t) => {
  const name = 'MESH_Max_1440min_20240228-100000.tif';
  const origin = { product: 'MESH_Max_1440min', scan_time: Date.parse('2024-02-28T10:00:00Z') };
  const { packed, ...tiff } = await readGeotiff(readFileSync(sharedData('mrms', name)), name, origin);
  const grib = 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2';
  const { packed: expected, ...grid } = readGrid(readFileSync(sharedData('mrms', grib)), grib);
  t.deepEqual(tiff, grid);
  const bytes = (array: typeof packed) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
  t.is(packed.length, 24_500_000);
  t.is(Buffer.compare(bytes(packed), bytes(expected)), 0);
});
