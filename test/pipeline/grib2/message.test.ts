import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import {
  type Decoded,
  decodeField,
  type Field,
  nearestPoint,
  parseGrib2,
  positionOf,
  valueReader,
} from '../../../pipeline/grib2/index.ts';
import { fieldsOf, figures, type ModelFigures, type Point, sameAsEcCodes } from '../../support/data/grib2-figures.ts';
import {
  bitmapSection,
  gribFile,
  latLonSection,
  message,
  productSection,
  simplePacking,
} from '../../support/data/grib2-files.ts';
import { sharedTest } from '../../support/data/shared-data.ts';

const PLAIN = { reference: 0, decimal_scale: 0 };

/** Sections 5, 6 and 7 of a tiny field. */
function fieldSections(values: readonly number[]): number[][] {
  const { representation, data } = simplePacking(values, 8, PLAIN);
  return [representation, bitmapSection(null), data];
}

function firstValues(fields: readonly Field[]): number[] {
  return fields.map((field) => valueReader(decodeField(field))(0));
}

test('several messages in one file are read in order, bytes between and behind them skipped', (t) => {
  const one = gribFile(simplePacking([1], 8, PLAIN), { columns: 1, rows: 1 });
  const two = gribFile(simplePacking([2], 8, PLAIN), { columns: 1, rows: 1 });
  const fields = parseGrib2(Buffer.concat([Buffer.from('GR'), one, Buffer.from('G'), two, Buffer.from('tail')]), 'x');
  t.deepEqual(firstValues(fields), [1, 2]);
  t.deepEqual(
    fields.map(({ message: m, number_in_message: n }) => [m, n]),
    [
      [1, 1],
      [2, 1],
    ],
  );
});

test('several fields of one message inherit the grid, and may bring their own', (t) => {
  const file = message([
    latLonSection({ columns: 2, rows: 1 }),
    ...[productSection({ number: 2 }), ...fieldSections([1, 0])],
    ...[productSection({ number: 3 }), ...fieldSections([2, 0])],
    ...[latLonSection({ columns: 1, rows: 3 }), productSection({ number: 4 }), ...fieldSections([3, 0, 0])],
  ]);
  const fields = parseGrib2(file, 'x');
  t.deepEqual(firstValues(fields), [1, 2, 3]);
  t.deepEqual(
    fields.map((field) => [field.number_in_message, field.number, field.grid.columns]),
    [
      [1, 2, 2],
      [2, 3, 2],
      [3, 4, 1],
    ],
  );
});

//                     picture in file order    what rowByRow makes of it (rows of the file, first row first)
for (const [mode, title, written, read] of [
  [0, 'row by row', [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]],
  [0x40, 'from the south (not turned here)', [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]],
  [0x20, 'column by column', [1, 4, 2, 5, 3, 6], [1, 2, 3, 4, 5, 6]],
  [0x10, 'back and forth', [1, 2, 3, 6, 5, 4], [1, 2, 3, 4, 5, 6]],
  [0x30, 'up and down the columns', [1, 4, 5, 2, 3, 6], [1, 2, 3, 4, 5, 6]],
] as const)
  test(`a file written ${title} (scanning mode ${mode}) decodes to plain rows`, (t) => {
    const file = gribFile(simplePacking(written, 8, PLAIN), { columns: 3, rows: 2, scanning_mode: mode });
    t.deepEqual([...decodeField(parseGrib2(file, 'x')[0] as Field).packed], [...read]);
  });

const good = gribFile(simplePacking([1, 2, 3, 4], 8), { columns: 2, rows: 2 });
/** Where the sections of `good` begin: the file has 0, 1, 3, 4, 5, 6, 7 and the closing four octets. */
const START = { 1: 16, 3: 37, 4: 109, 5: 143, 6: 164, 7: 170 };

function changed(offset: number, ...bytes: number[]): Buffer {
  const file = Buffer.from(good);
  file.set(bytes, offset);
  return file;
}

for (const [title, file, reason] of [
  ['no message at all', Buffer.from('hello'), /no GRIB message in 5 bytes/],
  ['an empty file', Buffer.alloc(0), /no GRIB message in 0 bytes/],
  ['edition 1', changed(7, 1), /section 0: edition 1, expected 2/],
  ['a message longer than the file', good.subarray(0, -1), /section 0: message of \d+ bytes, expected at most the \d+/],
  ['a message without its end', changed(good.length - 4, 0), /section 0: message of \d+ bytes does not end in 7777/],
  ['a section longer than the message', changed(START[4], 0x7f), /section 4: \d+ bytes long, expected 5 to/],
  ['a section of length 0', changed(START[5], 0, 0, 0, 0), /section 5: 0 bytes long, expected 5 to/],
  [
    'a section too short for its template',
    Buffer.from(
      gribFile(
        { ...simplePacking([1], 8), representation: [0, 0, 0, 11, 5, 0, 0, 0, 1, 0, 0] },
        { columns: 1, rows: 1 },
      ),
    ),
    /section 5: 11 bytes of template 5.0, expected 21/,
  ],
  ['sections out of order', changed(START[4] + 4, 5), /section 5: comes after section 3, expected 4/],
  ['an unknown section', changed(START[4] + 4, 9), /section 9: comes after section 3, expected 4/],
  ['a month 13', changed(START[1] + 14, 13), /section 1: reference time is no date/],
  ['a grid that is not columns x rows', changed(START[3] + 9, 5), /section 3: 2 x 2 grid, expected 5 points/],
  ['other values than grid points', changed(START[5] + 8, 3), /section 5: 3 values for 4 grid points/],
  ['a reference that is no number', changed(START[5] + 11, 0x7f, 0xc0, 0, 0), /section 5: octet 12 holds NaN/],
  ['a bitmap indicator that does not exist', changed(START[6] + 5, 7), /section 6: bitmap indicator 7/],
  ['a bitmap that is too short', changed(START[6] + 5, 0), /section 6: bitmap of 0 bytes, expected 1/],
] as const)
  test(`${title}: refused, naming the place`, (t) => {
    const error = t.throws(() => parseGrib2(file, 'mesh.grib2'), { instanceOf: BadInput });
    t.true(error.message.startsWith('read mesh.grib2: '));
    t.regex(error.message, reason);
  });

test('a field larger than the CONUS lattice is refused before memory is taken', (t) => {
  const file = gribFile(
    { ...simplePacking([1], 0), representation: simplePacking([1], 0).representation },
    { columns: 1, rows: 1 },
  );
  const huge = Buffer.from(file);
  for (const offset of [START[3] + 6, START[5] + 5]) huge.writeUInt32BE(70_000 * 35_000, offset);
  huge.writeUInt32BE(70_000, START[3] + 30);
  huge.writeUInt32BE(35_000, START[3] + 34);
  const [field] = parseGrib2(huge, 'x');
  t.throws(() => decodeField(field as Field), {
    instanceOf: BadInput,
    message: /2450000000 points, expected at most 24500000/,
  });
});

test('decoding does not touch the bytes of the file', (t) => {
  const file = gribFile(simplePacking([1, 2, 3, 4], 8, PLAIN), { columns: 2, rows: 2 });
  const before = Buffer.from(file);
  const decoded = decodeField(parseGrib2(file, 'x')[0] as Field);
  decoded.packed.fill(9);
  t.deepEqual(file, before);
});

// Real files, against figures that ecCodes and GDAL found.

for (const name of [
  'MRMS_MESH_00.50_20240228-025239.grib2',
  'GUAM_MRMS_MultiSensor_QPE_01H_Pass1_00.00_20220601-120000.grib2.gz',
])
  sharedTest(`${name} decodes to the figures of ecCodes: header, sentinels, counts, sum, extremes, points`, (t) =>
    sameAsEcCodes(t, name),
  );

const CITIES: Readonly<Record<string, { lat: number; lon: number }>> = {
  'nearest to Oklahoma City': { lat: 35.47, lon: -97.52 },
  'nearest to Denver': { lat: 39.74, lon: -104.99 },
  'nearest to Chicago': { lat: 41.88, lon: -87.63 },
};

for (const name of [
  'cfgrib_nam.t00z.awp21100.tm00.grib2',
  'gdal_gfs.t06z.pgrb2.10p0.f010.grib2',
  'gdal_lambert_conformal_conic.grb2',
  'gdal_one_value_and_nodata_points.grb2',
  'gdal_png_nbits_zero_decimal_scaled.grb2',
  'gdal_simple_packing_nbits_zero_decimal_scaled.grb2',
  'gdal_spatial_differencing_order_1.grb2',
  'gdal_subgrids.grib2',
  'gdal_two_bands_with_bitmap.grib2',
  'grib2io_gfs.complex.grib2',
  'grib2io_gfs.png.grib2',
  'gribberish_hrrr.t06z.wrfsfcf01-TMP.grib2',
  'herbie_subset_20201214_hrrr.t00z.wrfsfcf12.grib2',
])
  sharedTest(`${name}: every field decodes to the figures of ecCodes, at its positions`, (t) => {
    const expected = figures().forecast[name] as ModelFigures;
    const fields = fieldsOf('forecast', name);
    t.is(fields.length, expected.fields_total);
    for (const [k, figure] of expected.fields.entries()) {
      const field = fields[k] as Field;
      t.deepEqual(
        [field.message, field.number_in_message, field.discipline, field.category, field.number],
        [figure.message, figure.field, figure.discipline, figure.category, figure.number],
      );
      t.is(field.packing.template, figure.packing.template);
      t.is(new Date(field.reference_time).toISOString().slice(0, 16), figure.reference_time.slice(0, 16));
      const decoded = decodeField(field);
      let [min, max, sum, missing] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0];
      for (let i = 0; i < decoded.packed.length; i++) {
        const value = valueReader(decoded)(i);
        if (Number.isNaN(value)) missing++;
        else [min, max, sum] = [Math.min(min, value), Math.max(max, value), sum + value];
      }
      // 1e-6 of the largest value, and half a unit of the sixth decimal, to which the figures are rounded.
      const tolerance = 1e-6 * Math.max(Math.abs(figure.min), Math.abs(figure.max)) + 5e-7;
      const close = (found: number, wanted: number, what: string) =>
        t.true(Math.abs(found - wanted) <= tolerance, `field ${k + 1} ${what}: ${found}, expected ${wanted}`);
      t.is(missing, figure.missing);
      close(min, figure.min, 'minimum');
      close(max, figure.max, 'maximum');
      close(sum / (decoded.packed.length - missing), figure.mean, 'mean');
      for (const point of figure.points) checkPoint(point, field, decoded, close);
    }

    function checkPoint(
      point: Point,
      field: Field,
      decoded: Decoded,
      close: (found: number, wanted: number, what: string) => void,
    ) {
      const [j, i] = [point.j as number, point.i as number];
      const value = valueReader(decoded)(j * decoded.columns + i);
      if (point.value === null) t.is(value, Number.NaN);
      else close(value, point.value, `at ${j}, ${i}`);
      if (field.grid.projection === null || point.lat === undefined || point.lon === undefined) return;
      const at = positionOf(field.grid, j, i);
      t.true(Math.abs(at.lat - point.lat) < 1.1e-5 && Math.abs(at.lon - point.lon) < 1.1e-5, `position of ${j}, ${i}`);
      t.deepEqual(nearestPoint(field.grid, CITIES[point.at ?? ''] ?? at), { j, i });
    }
  });

sharedTest('a JPEG 2000 field is refused by its packing', (t) => {
  const [field] = fieldsOf('forecast', 'grib2io_gfs.jpeg.grib2') as [Field];
  t.throws(() => decodeField(field), { message: /packing template 5\.40 is not supported/ });
});

// ecCodes 2.28 gives 10,512 values, all 0.
sharedTest('complex packing of 0 groups is the constant that it states', (t) => {
  const [field] = fieldsOf('field', 'constant-complex-5.3-empty-section7.grib2') as [Field];
  const decoded = decodeField(field);
  t.is(decoded.packed.length, 10_512);
  t.true(decoded.packed.every((_, index) => valueReader(decoded)(index) === 0));
});

sharedTest('valid times: the reference time plus the lead, or the end of the interval', (t) => {
  const valid = (name: string) =>
    fieldsOf('forecast', name).map(({ valid_time }) => valid_time && new Date(valid_time).toISOString().slice(0, 16));
  t.deepEqual(valid('grib2io_gfs.complex.grib2'), ['2020-10-27T00:00']);
  t.deepEqual(valid('gribberish_hrrr.t06z.wrfsfcf01-TMP.grib2'), ['2023-07-22T07:00']);
  t.deepEqual(valid('herbie_subset_20201214_hrrr.t00z.wrfsfcf12.grib2'), ['2020-12-14T12:00', '2020-12-14T12:00']);
});
