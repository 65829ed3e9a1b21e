import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { decodeField, type Field, parseGrib2, valueReader } from '../../../pipeline/grib2/index.ts';
import {
  bitmapSection,
  type ComplexValue,
  complexPacking,
  floatPacking,
  gribFile,
  latLonSection,
  MISSING,
  message,
  octets,
  productSection,
  SECONDARY,
  seededRandom,
  simplePacking,
} from '../../support/data/grib2-files.ts';

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
    const file = gribFile(simplePacking(written, bits, PLAIN), { columns: 11, rows: 7 });
    t.deepEqual(values(file), written);
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
  for (const order of [1, 2] as const)
    t.deepEqual(
      values(gribFile(complexPacking(written, { order, group_length: 3, law: PLAIN }), { columns: 7, rows: 1 })),
      written,
    );
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
  t.deepEqual(
    decoded.map((one) => [valueReader(one)(0), valueReader(one)(1)]),
    [
      [Number.NaN, 1],
      [5, 6],
      [Number.NaN, 2],
    ],
  );
});

test('repeating a bitmap that was never given is refused', (t) => {
  const file = gribFile(simplePacking([1, 2], 8), { columns: 2, rows: 1 }, {}, 'previous');
  t.throws(() => parseGrib2(file, 'x.grib2'), {
    instanceOf: BadInput,
    message: /section 6: repeats the previous bitmap/,
  });
});

test('a bitmap with other ones than values is refused', (t) => {
  const file = gribFile(simplePacking([1, 2, 3], 8), { columns: 4, rows: 1 }, {}, [1, 1, 0, 0]);
  t.throws(() => decodeField(onlyField(file)), {
    instanceOf: BadInput,
    message: /section 7: 3 values, expected 2 as in the bitmap/,
  });
});

/** A field whose section 5 or 7 was changed before the message was put together. */
function altered(
  packed: ReturnType<typeof simplePacking>,
  change: (packed: ReturnType<typeof simplePacking>) => void,
  columns: number,
): Field {
  change(packed);
  return onlyField(gribFile(packed, { columns, rows: 1 }));
}

for (const [title, file, reason] of [
  [
    'fewer bytes than the values need',
    () => altered(simplePacking([1, 2, 3, 4], 8), (packed) => shorten(packed.data, 2), 4),
    /section 7: 2 bytes of values, expected 4/,
  ],
  [
    'a packing we do not read',
    () => altered(simplePacking([1, 2, 3, 4], 8), (packed) => (packed.representation[10] = 42), 4),
    /packing template 5\.42 is not supported, expected 5\.0, 5\.2, 5\.3, 5\.4 or 5\.41/,
  ],
  [
    'more groups than values',
    () =>
      altered(
        complexPacking([1, 2, 3, 4], { order: 1, group_length: 2 }),
        (packed) => put(packed.representation, 32, 4, 4000),
        4,
      ),
    /section 7: 4000 groups, expected at most one per value, 4/,
  ],
  [
    'groups that hold too many values',
    () =>
      altered(
        complexPacking([1, 2, 3, 4], { order: 0, group_length: 2 }),
        (packed) => put(packed.representation, 43, 4, 99),
        4,
      ),
    /section 7: groups hold more than 4 values/,
  ],
  [
    'groups that hold too few values',
    () =>
      altered(
        complexPacking([1, 2, 3, 4], { order: 0, group_length: 2 }),
        (packed) => put(packed.representation, 43, 4, 1),
        4,
      ),
    /section 7: groups hold 3 values, expected 4/,
  ],
  [
    'group tables beyond the section',
    () =>
      altered(complexPacking(smooth(64, 1), { order: 0, group_length: 1 }), (packed) => shorten(packed.data, 80), 64),
    /section 7: .* bytes, expected .* for the tables of 64 groups/,
  ],
  [
    'values of 33 bits',
    () => altered(simplePacking([1], 8), (packed) => (packed.representation[19] = 33), 1),
    /section 5: values of 33 bits, expected 0 to 32/,
  ],
  [
    'a scale factor that no product has',
    () => altered(simplePacking([1], 8), (packed) => put(packed.representation, 16, 2, 300), 1),
    /section 5: binary scale factor 300, expected -64 to 64/,
  ],
  [
    'differences of third order',
    () =>
      altered(complexPacking([1, 2, 3], { order: 1, group_length: 2 }), (packed) => (packed.representation[47] = 3), 3),
    /section 5: order of spatial differences is 3, expected 1 to 2/,
  ],
] as const)
  test(`${title}: refused by name`, (t) => {
    const error = t.throws(() => decodeField(file()), { instanceOf: BadInput });
    t.regex(error.message, reason);
  });

/** Overwrites a number in a section; octets count from 1. */
function put(section: number[], octet: number, size: number, value: number): void {
  section.splice(octet - 1, size, ...octets(value, size));
}

function shorten(section: number[], bytes: number): void {
  section.splice(section.length - bytes, bytes);
  put(section, 1, 4, section.length);
}
