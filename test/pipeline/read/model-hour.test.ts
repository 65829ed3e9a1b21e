import { readFileSync } from 'node:fs';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { readModelHour } from '../../../pipeline/read/model-hour.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { seededRandom } from '../../support/data/grib2-files.ts';
import { type ModelFieldSpec, modelFile, writeModelField } from '../../support/data/model-file.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { EVENING_MS } from '../../support/data/small-evening.ts';

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
  t.deepEqual(
    [...(hour.fields.temperature_500_c as Float32Array)].map((c) => Math.round(c * 100) / 100),
    [-13.15, -12.15, -11.15, -10.15, -9.15, -7.65],
  );
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
  test(`a model file with ${title} is refused with both sides named`, (t) => {
    t.regex(t.throws(() => read(bytes, claim), { instanceOf: BadInput }).message, reason);
  });

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
  test(`a simulated file that ends early is refused, never read in part: cut ${k + 1}`, (t) => {
    t.throws(() => read(FILE.bytes.subarray(0, Math.floor(FILE.bytes.length * cut))), { instanceOf: BadInput });
  });

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
