import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { BadInput } from '../../pipeline/error.ts';
import { readGridDefinition } from '../../pipeline/grib2/grid.ts';
import {
  type Decoded,
  decodeField,
  END_BYTES,
  type Field,
  findMessage,
  type GridDefinition,
  INDICATOR_BYTES,
  isEndSection,
  nearestPoint,
  PACKING_TEMPLATES,
  parseGrib2,
  placeOf,
  positionOf,
  sectionError,
  statedLength,
  stepsAt,
  valueReader,
} from '../../pipeline/grib2/index.ts';
import { decodePng } from '../../pipeline/grib2/png.ts';
import type { Section } from '../../pipeline/grib2/section.ts';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { fieldsOf, figures, type ModelFigures, type Point, sameAsEcCodes } from '../support/data/grib2-figures.ts';
import {
  bitmapSection,
  type ComplexValue,
  complexPacking,
  encodePng,
  floatPacking,
  gribFile,
  latLonSection,
  MISSING,
  message,
  octets,
  productSection,
  SECONDARY,
  seededRandom,
  signMagnitude,
  simplePacking,
} from '../support/data/grib2-files.ts';
import { pluck } from '../support/data/rows.ts';
import { sharedTest } from '../support/data/shared-data.ts';

function onlyField(file: Uint8Array): Field {
  const fields = parseGrib2(file, 'made.grib2');
  if (fields.length !== 1) throw new Error(`${fields.length} fields`);
  return fields[0] as Field;
}

const PLAIN = { reference: 0, decimal_scale: 0 };

/** Decoded values of a file, null where a point is missing. */
function values(file: Uint8Array): (number | null)[] {
  const decoded = decodeField(onlyField(file));
  return Array.from({ length: decoded.packed.length }, (_, i) => {
    const value = valueReader(decoded)(i);
    return Number.isNaN(value) ? null : value;
  });
}

for (const bits of [1, 3, 7, 8, 9, 12, 16, 17, 23, 24, 25, 31, 32])
  test(`simple packing of ${bits} bits gives back what was packed`, (t) => {
    const random = seededRandom(bits);
    const written = Array.from({ length: 7 * 11 }, () => Math.floor(random() * 2 ** bits));
    t.deepEqual(values(gribFile(simplePacking(written, bits, PLAIN), { columns: 11, rows: 7 })), written);
  });

test('a field of 0 bits is the reference everywhere', (t) => {
  const file = gribFile(simplePacking([0, 0, 0, 0], 0, { reference: 25, decimal_scale: -1 }), { columns: 2, rows: 2 });
  t.deepEqual(values(file), [250, 250, 250, 250]);
});

test('floats of 32 bits come back as they are', (t) => {
  const written = [-20.5, 0, 3.25, 1e30];
  t.deepEqual(values(gribFile(floatPacking(written), { columns: 4, rows: 1 })), [-20.5, 0, 3.25, Math.fround(1e30)]);
});

/** A smooth field with a flat stretch and a jump, as models have them. */
function smooth(count: number, seed: number): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, (_, i) => {
    if (i > 40 && i < 60) return 500;
    return Math.round(1000 + 300 * Math.sin(i / 9) + 20 * random() + (i > 100 ? 4000 : 0));
  });
}

/** Nulls for both kinds of missing points: that is how they come back. */
function asRead(written: readonly ComplexValue[]): (number | null)[] {
  return written.map((value) => (typeof value === 'number' ? value : null));
}

for (const order of [0, 1, 2] as const)
  for (const missing_management of [0, 1, 2] as const)
    for (const group_length of [1, 7, 32, 1000])
      test(`complex packing: order ${order}, missing values by rule ${missing_management}, groups of ${group_length}`, (t) => {
        const random = seededRandom(100 * order + 10 * missing_management + group_length);
        const written = smooth(12 * 15, 5).map((value, i): ComplexValue => {
          const flat = i >= 64 && i < 96;
          if (missing_management >= 1 && (flat || random() < 0.2)) return MISSING;
          return missing_management === 2 && ((i >= 128 && i < 144) || random() < 0.1) ? SECONDARY : value;
        });
        const packed = complexPacking(written, { order, missing_management, group_length, law: PLAIN });
        t.deepEqual(values(gribFile(packed, { columns: 15, rows: 12 })), asRead(written));
      });

test('differences may fall below the first value: descriptors carry a sign', (t) => {
  const written = [900, 700, 300, 100, 0, 5, 2];
  for (const order of [1, 2] as const) {
    const packed = complexPacking(written, { order, group_length: 3, law: PLAIN });
    t.deepEqual(values(gribFile(packed, { columns: 7, rows: 1 })), written);
  }
});

test('a bitmap leaves points out, and the values go to the others in order', (t) => {
  const file = gribFile(simplePacking([11, 12, 13], 8, PLAIN), { columns: 3, rows: 2 }, {}, [0, 1, 1, 0, 0, 1]);
  // The representation counts 3 values for 6 points.
  t.deepEqual(values(file), [null, 11, 12, null, null, 13]);
});

test('a later field may repeat the last bitmap of the message (indicator 254), whatever stands between', (t) => {
  const field = (packed: ReturnType<typeof simplePacking>, bitmap: Parameters<typeof bitmapSection>[0]) => [
    ...[productSection(), packed.representation, bitmapSection(bitmap), packed.data],
  ];
  const file = message([
    latLonSection({ columns: 2, rows: 1 }),
    ...field(simplePacking([1], 8, PLAIN), [0, 1]),
    ...field(simplePacking([5, 6], 8, PLAIN), null),
    ...field(simplePacking([2], 8, PLAIN), 'previous'),
  ]);
  const decoded = parseGrib2(file, 'three.grib2').map((field) => decodeField(field));
  const [first, second] = [0, 1].map((point) => decoded.map((one) => valueReader(one)(point)));
  t.deepEqual(first, [Number.NaN, 5, Number.NaN]);
  t.deepEqual(second, [1, 6, 2]);
});

test('repeating a bitmap that was never given is refused', (t) => {
  const file = gribFile(simplePacking([1, 2], 8), { columns: 2, rows: 1 }, {}, 'previous');
  const message = /section 6: repeats the previous bitmap/;
  t.throws(() => parseGrib2(file, 'x.grib2'), { instanceOf: BadInput, message });
});

test('a bitmap with other ones than values is refused', (t) => {
  const file = gribFile(simplePacking([1, 2, 3], 8), { columns: 4, rows: 1 }, {}, [1, 1, 0, 0]);
  const message = /section 7: 3 values, expected 2 as in the bitmap/;
  t.throws(() => decodeField(onlyField(file)), { instanceOf: BadInput, message });
});

/** A file of one row with other octets from some place of section 5 on. */
function altered(packed: ReturnType<typeof simplePacking>, octet: number, size: number, value: number): Uint8Array {
  const columns = packed.representation.slice(5, 9).reduce((count, byte) => 256 * count + byte, 0);
  put(packed.representation, octet, size, value);
  return gribFile(packed, { columns, rows: 1 });
}

/** A file of one row whose section 7 lacks its last octets. */
function shortened(packed: ReturnType<typeof simplePacking>, columns: number, bytes: number): Uint8Array {
  shorten(packed.data, bytes);
  return gribFile(packed, { columns, rows: 1 });
}

const grouped = (order: 0 | 1) => complexPacking([1, 2, 3, 4], { order, group_length: 2 });
const four = () => simplePacking([1, 2, 3, 4], 8);
const singles = complexPacking(smooth(64, 1), { order: 0, group_length: 1 });
const UNKNOWN_PACKING = /packing template 5\.42 is not supported, expected 5\.0, 5\.2, 5\.3, 5\.4 or 5\.41/;
const MANY_GROUPS = /section 7: 4000 groups, expected at most one per value, 4/;
const FEW_TABLES = /section 7: .* bytes, expected .* for the tables of 64 groups/;
const SCALE = /section 5: binary scale factor 300, expected -64 to 64/;
const THIRD_ORDER = /section 5: order of spatial differences is 3, expected 1 to 2/;

for (const [title, file, reason] of [
  ['fewer bytes than the values need', shortened(four(), 4, 2), /section 7: 2 bytes of values, expected 4/],
  ['a packing we do not read', altered(four(), 11, 1, 42), UNKNOWN_PACKING],
  ['more groups than values', altered(grouped(1), 32, 4, 4000), MANY_GROUPS],
  ['groups that hold too many values', altered(grouped(0), 43, 4, 99), /section 7: groups hold more than 4 values/],
  ['groups that hold too few values', altered(grouped(0), 43, 4, 1), /section 7: groups hold 3 values, expected 4/],
  ['group tables beyond the section', shortened(singles, 64, 80), FEW_TABLES],
  ['values of 33 bits', altered(simplePacking([1], 8), 20, 1, 33), /section 5: values of 33 bits, expected 0 to 32/],
  ['a scale factor that no product has', altered(simplePacking([1], 8), 16, 2, 300), SCALE],
  ['differences of third order', altered(grouped(1), 48, 1, 3), THIRD_ORDER],
] as const)
  test(`${title}: refused by name`, (t) =>
    t.regex(t.throws(() => decodeField(onlyField(file)), { instanceOf: BadInput }).message, reason));

/** Overwrites a number in a section; octets count from 1. */
function put(section: number[], octet: number, size: number, value: number): void {
  section.splice(octet - 1, size, ...octets(value, size));
}

function shorten(section: number[], bytes: number): void {
  section.splice(section.length - bytes, bytes);
  put(section, 1, 4, section.length);
}

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
  t.deepEqual(pluck(fields, 'message'), [1, 2]);
  t.deepEqual(pluck(fields, 'number_in_message'), [1, 1]);
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
  t.deepEqual(pluck(fields, 'number_in_message'), [1, 2, 3]);
  t.deepEqual(pluck(fields, 'number'), [2, 3, 4]);
  t.deepEqual(pluck(pluck(fields, 'grid'), 'columns'), [2, 2, 1]);
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

const CUT_OFF = { ...simplePacking([1], 8), representation: [0, 0, 0, 11, 5, 0, 0, 0, 1, 0, 0] };
const TOO_SHORT = Buffer.from(gribFile(CUT_OFF, { columns: 1, rows: 1 }));

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
  ['a section too short for its template', TOO_SHORT, /section 5: 11 bytes of template 5.0, expected 21/],
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
  const huge = Buffer.from(gribFile(simplePacking([1], 0), { columns: 1, rows: 1 }));
  for (const offset of [START[3] + 6, START[5] + 5]) huge.writeUInt32BE(70_000 * 35_000, offset);
  huge.writeUInt32BE(70_000, START[3] + 30);
  huge.writeUInt32BE(35_000, START[3] + 34);
  const [field] = parseGrib2(huge, 'x');
  const message = /2450000000 points, expected at most 24500000/;
  t.throws(() => decodeField(field as Field), { instanceOf: BadInput, message });
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
      const { message, field: number_in_message, discipline, category, number } = figure;
      t.like(field, { message, number_in_message, discipline, category, number });
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

function grid(bytes: readonly number[]): GridDefinition {
  return readGridDefinition({ subject: 'x', message: 1, number: 3, bytes: Uint8Array.from(bytes) });
}

interface Cone {
  readonly la1: number;
  readonly lo1: number;
  readonly lov: number;
  readonly latin1: number;
  readonly latin2: number;
  readonly shape?: number;
  readonly mode?: number;
}

/** Section 3, template 3.30: 40 x 30 points, 3 km apart. */
function lambertSection({ la1, lo1, lov, latin1, latin2, shape = 6, mode = 0x40 }: Cone): number[] {
  const micro = (degrees: number) => signMagnitude(Math.round(degrees * 1e6), 4);
  const body = [
    ...[0, ...octets(1200, 4), 0, 0, 0, 30, shape, 0, ...octets(0, 4), 0, ...octets(0, 4), 0, ...octets(0, 4)],
    ...[...octets(40, 4), ...octets(30, 4), ...micro(la1), ...micro(lo1), 8, ...micro(latin1), ...micro(lov)],
    ...[...octets(3_000_000, 4), ...octets(3_000_000, 4), 0, mode, ...micro(latin1), ...micro(latin2)],
    ...[...micro(-90), ...micro(0)],
  ];
  return [...octets(body.length + 5, 4), 3, ...body];
}

for (const [title, cone] of [
  ['a tangent cone on a sphere', { la1: 21.138, lo1: 237.28, lov: 262.5, latin1: 38.5, latin2: 38.5 }],
  ['two parallels on the ellipsoid', { la1: 33, lo1: 250, lov: 262.5, latin1: 33, latin2: 45, shape: 5 }],
  ['the southern hemisphere', { la1: -35, lo1: 290, lov: 295, latin1: -30, latin2: -60 }],
  ['rows from the north, columns from the east', { la1: 45, lo1: 270, lov: 265, latin1: 25, latin2: 25, mode: 0x80 }],
] as const)
  test(`Lambert positions lead back to their points: ${title}`, (t) => {
    const lambert = grid(lambertSection(cone));
    const first = positionOf(lambert, 0, 0);
    t.true(Math.abs(first.lat - cone.la1) < 1e-9);
    t.true(Math.abs(((first.lon - cone.lo1 + 540) % 360) - 180) < 1e-9);
    for (const [j, i] of [
      [0, 0],
      [29, 39],
      [12, 7],
      [0, 39],
    ] as const)
      t.deepEqual(nearestPoint(lambert, positionOf(lambert, j, i)), { j, i });
  });

test('on the parallel that touches the earth, 3 km of the grid are 3 km on the ground', (t) => {
  const lambert = grid(lambertSection({ la1: 38.5, lo1: 262.5, lov: 262.5, latin1: 38.5, latin2: 38.5 }));
  const [a, b] = [positionOf(lambert, 0, 0), positionOf(lambert, 1, 0)];
  const metres = ((b.lat - a.lat) * Math.PI * 6_371_229) / 180;
  t.true(Math.abs(metres - 3000) < 0.01, `${metres}`);
});

test('the nearest point takes in half a step around the grid and no more', (t) => {
  const corner = grid(latLonSection({ columns: 3, rows: 2 }));
  t.deepEqual(nearestPoint(corner, { lat: 54.9999, lon: -129.9999 }), { j: 0, i: 0 });
  t.deepEqual(nearestPoint(corner, { lat: 54.981, lon: -129.971 }), { j: 1, i: 2 });
  t.is(nearestPoint(corner, { lat: 55.001, lon: -129.995 }), null);
  t.is(nearestPoint(corner, { lat: 54.995, lon: -130.001 }), null);
  t.is(nearestPoint(corner, { lat: 54.995, lon: -129.969 }), null);
});

test('a global grid closes at 0 degrees: 359.9 E is nearest to its first column', (t) => {
  const globe = grid(latLonSection({ columns: 36, rows: 2, la1: 10_000_000, lo1: 0, step: 10_000_000 }));
  t.deepEqual(nearestPoint(globe, { lat: 10, lon: -0.1 }), { j: 0, i: 0 });
  t.deepEqual(nearestPoint(globe, { lat: 0, lon: -10 }), { j: 1, i: 35 });
});

test('positions of another template are refused by its name, its size is still known', (t) => {
  const head = [...octets(72, 4), 3, 0, ...octets(6, 4), 0, 0, 0, 10];
  const mercator = grid([...head, ...octets(0, 16), ...octets(3, 4), ...octets(2, 4), ...octets(0, 34)]);
  t.deepEqual([mercator.columns, mercator.rows], [3, 2]);
  const error = t.throws(() => positionOf(mercator, 0, 0), { instanceOf: BadInput });
  t.is(
    error.message,
    'read x: message 1 section 3: positions of grid template 3.10 are not supported, expected 3.0 or 3.30',
  );
});

for (const [title, cone, reason] of [
  [
    'parallels on both sides of the equator',
    { la1: 0, lo1: 0, lov: 0, latin1: 30, latin2: -30 },
    /both sides of the equator/,
  ],
  ['a parallel at the pole', { la1: 0, lo1: 0, lov: 0, latin1: 90, latin2: 90 }, /first parallel 90, expected between/],
  [
    'an unknown earth',
    { la1: 0, lo1: 0, lov: 0, latin1: 30, latin2: 30, shape: 77 },
    /shape of the earth 77, expected 0 to 8/,
  ],
] as const)
  test(`a Lambert grid with ${title} is refused`, (t) =>
    t.throws(() => grid(lambertSection(cone)), { instanceOf: BadInput, message: reason }));

for (const [title, cone] of [
  ['a tangent cone on a sphere', { la1: 25, lo1: 262, lov: 262.5, latin1: 38.5, latin2: 38.5 }],
  ['two parallels on the ellipsoid', { la1: 45, lo1: 250, lov: 262.5, latin1: 33, latin2: 45, shape: 5 }],
  ['the southern hemisphere', { la1: -35, lo1: 290, lov: 295, latin1: -30, latin2: -60 }],
] as const)
  test(`the steps of a Lambert grid are the distances between its points: ${title}`, (t) => {
    const lambert = grid(lambertSection(cone));
    const at = positionOf(lambert, 10, 10);
    const { column_km, row_km } = stepsAt(lambert, at);
    for (const [neighbour, km] of [
      [positionOf(lambert, 10, 11), column_km],
      [positionOf(lambert, 11, 10), row_km],
    ] as const)
      t.true(Math.abs(distanceKm(at, neighbour) / km - 1) < 0.004, `${distanceKm(at, neighbour)} ${km}`);
  });

test('the steps of a latitude-longitude grid narrow towards the pole', (t) => {
  const corner = grid(latLonSection({ columns: 3, rows: 2 }));
  const { column_km, row_km } = stepsAt(corner, { lat: 60, lon: -100 });
  t.true(Math.abs(row_km - 1.112) < 1e-3 && Math.abs(column_km - 0.556) < 1e-3, `${row_km} ${column_km}`);
});

test('a place between points has fractions, and beyond the grid its numbers run on', (t) => {
  const corner = grid(latLonSection({ columns: 3, rows: 2 }));
  const { i, j } = placeOf(corner, { lat: 54.99, lon: -129.992 });
  t.true(Math.abs(i - 0.3) < 1e-9 && Math.abs(j - 0.5) < 1e-9, `${i} ${j}`);
  t.true(placeOf(corner, { lat: 54.9, lon: -129.99 }).j > 9);
});

function inSection(png: Uint8Array): Section {
  return { subject: 'mesh.grib2', message: 1, number: 7, bytes: Uint8Array.from([0, 0, 0, 0, 7, ...png]) };
}

/** Mostly quiet, as radar grids are: long stretches of one value, a few storms. */
function quietImage(count: number, bits: number, seed: number): number[] {
  const random = seededRandom(seed);
  let value = 0;
  return Array.from({ length: count }, () => {
    if (random() < 0.08) value = Math.floor(random() * 2 ** bits);
    return value;
  });
}

const FILTERS = ['none', 'sub', 'up', 'average', 'paeth'];

for (const bits of [1, 2, 4, 8, 16, 24, 32])
  for (const [filter, name] of FILTERS.entries())
    test(`${bits}-bit samples come back from rows with filter ${name}`, (t) => {
      const [columns, rows] = [37, 23];
      const values = quietImage(columns * rows, bits, 100 * bits + filter);
      const png = encodePng(values, { columns, rows, bits, filters: [filter] });
      t.deepEqual([...decodePng(inSection(png), columns * rows)], values);
    });

test('rows of all filters may follow one another, cut into several chunks', (t) => {
  const [columns, rows] = [64, 40];
  const values = quietImage(columns * rows, 16, 7);
  const png = encodePng(values, { columns, rows, bits: 16, filters: [4, 2, 0, 3, 1], chunks: 5 });
  t.deepEqual([...decodePng(inSection(png), columns * rows)], values);
});

test('8-bit samples stay bytes, 16-bit ones stay short', (t) => {
  t.true(decodePng(inSection(encodePng([1, 2], { columns: 2, rows: 1, bits: 8 })), 2) instanceof Uint8Array);
  t.true(decodePng(inSection(encodePng([1, 2], { columns: 2, rows: 1, bits: 16 })), 2) instanceof Uint16Array);
});

const pngGood = encodePng([1, 2, 3, 4, 5, 6], { columns: 3, rows: 2, bits: 8 });

function damaged(change: (png: Buffer) => void): Section {
  const png = Buffer.from(pngGood);
  change(png);
  return inSection(png);
}

for (const [title, section, reason] of [
  [
    'another size than the grid',
    inSection(encodePng([1, 2, 3, 4], { columns: 2, rows: 2, bits: 8 })),
    /2 x 2 pixels, expected 6/,
  ],
  [
    'a row filter that does not exist',
    inSection(encodePng([1, 2, 3, 4, 5, 6], { columns: 3, rows: 2, bits: 8, filters: [0, 5] })),
    /row 1 has filter 5, expected 0 to 4/,
  ],
  ['a flipped bit in the data', damaged((png) => png.writeUInt8(png.readUInt8(45) ^ 1, 45)), /wrong checksum/],
  ['no signature', damaged((png) => png.writeUInt8(0, 0)), /no signature/],
  ['a chunk longer than the section', damaged((png) => png.writeUInt32BE(0x7fffffff, 33)), /chunk of 2147483647 bytes/],
  ['an end inside a chunk', inSection(pngGood.subarray(0, pngGood.length - 15)), /ends at byte|expected at most/],
] as const)
  test(`a png with ${title} is refused by name`, (t) => {
    const error = t.throws(() => decodePng(section, 6), { instanceOf: BadInput });
    t.regex(error.message, /^read mesh\.grib2: message 1 section 7: png /);
    t.regex(error.message, reason);
  });

test('rows that unfold to more than the grid needs are refused without taking the memory', (t) => {
  const bomb = encodePng(Array(4000 * 1000).fill(0), { columns: 4000, rows: 1000, bits: 1 });
  // The header claims six pixels; the data behind it unfold to half a megabyte.
  const header = encodePng([1, 2, 3, 4, 5, 6], { columns: 3, rows: 2, bits: 8 }).subarray(0, 33);
  const error = t.throws(() => decodePng(inSection(Buffer.concat([header, bomb.subarray(33)])), 6), {
    instanceOf: BadInput,
  });
  t.regex(error.message, /rows unfold too far, expected 8 bytes/);
});

const PACKAGE = new URL('../../pipeline/grib2/', import.meta.url);
const README = readFileSync(new URL('README.md', PACKAGE), 'utf8');

const folder = mkdtempSync(join(tmpdir(), 'hail-grib2-'));
test.after.always(() => rmSync(folder, { recursive: true }));

const MESH = gribFile(simplePacking([20, 130, 20, 330, 20, 20], 16), { columns: 3, rows: 2 });
const [mesh] = parseGrib2(MESH, 'mesh.grib2') as [Field];

test('the example of the README runs and prints the nearest point with its value', (t) => {
  const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(README) ?? [];
  writeFileSync(join(folder, 'mesh.grib2'), MESH);
  writeFileSync(join(folder, 'example.mts'), example.replace("'./index.ts'", `'${new URL('index.ts', PACKAGE)}'`));
  const printed = execFileSync(process.execPath, [join(folder, 'example.mts')], { cwd: folder, encoding: 'utf8' });
  t.is(printed, '{ j: 0, i: 1 } 10\n');
});

test('the README lists the packings that are read, and no other', (t) =>
  t.deepEqual(
    [...README.matchAll(/\| (?:5, 7 data)? ?\| 5\.(\d+) /g)].map(([, template]) => template),
    Object.keys(PACKING_TEMPLATES),
  ));

test('a field of more points than the caller allows is refused, whatever it holds', (t) => {
  t.is(decodeField(mesh, { max_points: 6 }).packed.length, 6);
  t.throws(() => decodeField(mesh, { max_points: 5 }), {
    instanceOf: BadInput,
    message: 'read mesh.grib2: message 1 section 7: field of 6 points, expected at most 5',
  });
});

for (const [title, law, value] of [
  ['tenths are exact', { reference: 0, decimal_scale: 1 }, 0.3],
  ['a negative decimal scale multiplies', { reference: 1, decimal_scale: -2 }, 400],
  [
    'a binary scale multiplies what is packed, not the reference',
    { reference: 1, binary_scale: 2, decimal_scale: 0 },
    13,
  ],
] as const)
  test(`values follow the packing law: ${title}`, (t) => {
    const [field] = parseGrib2(gribFile(simplePacking([3], 8, law), { columns: 1, rows: 1 }), 'x') as [Field];
    t.is(valueReader(decodeField(field))(0), value);
  });

test('a message is framed by its indicator, the length in it, and 7777', (t) => {
  const bytes = Buffer.concat([Buffer.from('GRI'), MESH, Buffer.from('tail')]);
  const at = findMessage(bytes);
  t.is(at, 3);
  const length = statedLength(bytes.subarray(at, at + INDICATOR_BYTES));
  t.is(length, MESH.length);
  t.true(isEndSection(bytes.subarray(at + length - END_BYTES, at + length)));
  t.false(isEndSection(bytes.subarray(at + length - END_BYTES - 1, at + length - 1)));
  t.false(isEndSection(Buffer.from('777')));
  t.is(findMessage(bytes, at + 1), -1);
});

test('the error of a section names file, message and section, and keeps its cause', (t) => {
  const cause = new Error('deeper');
  const error = sectionError({ ...mesh.data, number: 4 }, 'is odd, expected even', cause);
  t.true(error instanceof BadInput);
  t.is(error.message, 'read mesh.grib2: message 1 section 4: is odd, expected even');
  t.is(error.cause, cause);
});
