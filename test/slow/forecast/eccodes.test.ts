import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { shipField } from '../../../pipeline/forecast/ship.ts';
import type { ModelHour } from '../../../pipeline/grid.ts';
import { readModelHour } from '../../../pipeline/read/model-hour.ts';
import { askEccodes } from '../../support/data/eccodes.ts';
import { MODEL_GRID, modelFile } from '../../support/data/model-file.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { EVENING_MS } from '../../support/data/small-evening.ts';

const NAM_RUN = Date.parse('2018-09-17T00:00:00Z');

/** Reads fields by ecCodes into `f`, keyed by parameter, level type and level, with the grid's latitudes and longitudes. */
const READ = `
import json
import numpy as np
import eccodes
eccodes.codes_grib_multi_support_on()
f, lats, lons = {}, None, None
with open(PATH, 'rb') as file:
    while True:
        h = eccodes.codes_grib_new_from_file(file)
        if h is None:
            break
        get = lambda key: eccodes.codes_get_long(h, key)
        key = (get('discipline'), get('parameterCategory'), get('parameterNumber'), get('typeOfFirstFixedSurface'),
               get('scaledValueOfFirstFixedSurface'))
        f[key] = eccodes.codes_get_values(h)
        if lats is None:
            lats = eccodes.codes_get_array(h, 'latitudes')
            lons = eccodes.codes_get_array(h, 'longitudes')
        eccodes.codes_release(h)
`;

/** The significant hail parameter of NAM, written again from the text of its definition. */
const SHIP = `
def pick(c, n, s, v):
    return f[(0, c, n, s, v)]
cape = pick(7, 6, 108, 18000)
t2 = pick(0, 0, 103, 2) - 273.15
e = pick(1, 1, 103, 2) / 100 * 6.112 * np.exp(17.67 * t2 / (t2 + 243.5))
p = pick(3, 0, 1, 0) / 100
mr = np.clip(1000 * 0.622 * e / (p - e), 11, 13.6)
t5, t7 = pick(0, 0, 100, 50000) - 273.15, pick(0, 0, 100, 70000) - 273.15
lr = np.maximum(0, (t7 - t5) / ((pick(3, 5, 100, 50000) - pick(3, 5, 100, 70000)) / 1000))
du = pick(2, 2, 100, 50000) - pick(2, 2, 103, 10)
dv = pick(2, 3, 100, 50000) - pick(2, 3, 103, 10)
shear = np.clip(np.sqrt(du ** 2 + dv ** 2), 7, 27)
fzl = np.maximum(0, pick(3, 5, 4, 0) - pick(3, 5, 1, 0))
ship = cape * mr * lr * -np.minimum(t5, -5.5) * shear / 42e6
ship = np.where(cape < 1300, ship * cape / 1300, ship)
ship = np.where(lr < 5.8, ship * lr / 5.8, ship)
ship = np.where(fzl < 2400, ship * fzl / 2400, ship)
print(json.dumps({"ship": ship.tolist(), "lats": lats.tolist(), "lons": lons.tolist()}))
`;

/** Runs a program on a file. */
function ask(path: string, program: string): unknown {
  return askEccodes(`PATH = ${JSON.stringify(path)}\n${READ}${program}`);
}

function largestDifference(ours: ArrayLike<number>, theirs: readonly number[]): number {
  return theirs.reduce((most, value, k) => Math.max(most, Math.abs(value - (ours[k] ?? Number.NaN))), 0);
}

const hasEccodes = askEccodes('import json, eccodes, numpy\nprint(json.dumps(True))') !== null;

/** Registers a test against ecCodes; without what it needs the test shows as skipped, with the reason in its title. */
function eccodesTest(title: string, needs_shared_data: boolean, body: (t: ExecutionContext) => void): void {
  if (!hasEccodes) test.skip(`${title} (needs python3 with eccodes and numpy, which are absent)`, body);
  else (needs_shared_data ? sharedTest : test)(title, body);
}

eccodesTest(
  'the significant hail parameter of the real NAM file is that of an independent calculation at every point',
  true,
  (t) => {
    const path = sharedData('forecast', 'cfgrib_nam.t00z.awp21100.tm00.grib2');
    const claim = { model: 'nam', run_time: NAM_RUN, valid_time: NAM_RUN };
    const { hour } = readModelHour([{ bytes: readFileSync(path), subject: path }], claim);
    const answer = ask(path, SHIP) as { ship: number[]; lats: number[]; lons: number[] };
    const ours = shipField(hour) as Float32Array;
    t.is(answer.ship.length, ours.length);
    const difference = largestDifference(ours, answer.ship);
    t.true(difference < 1e-4, `${difference}`);
    const most = Math.max(...answer.ship);
    t.log(
      `largest ${most.toFixed(3)}, above 1 at ${answer.ship.filter((value) => value > 1).length} of ${ours.length} points`,
    );
    t.true(most > 1);
    checkPlaces(t, hour, answer);
  },
);

/** Every hundredth point of ecCodes lies where our grid has it. */
function checkPlaces(t: ExecutionContext, hour: ModelHour, { lats, lons }: { lats: number[]; lons: number[] }): void {
  for (let k = 0; k < lats.length; k += 100) {
    const at = hour.grid.locate({ lat: lats[k] ?? 0, lon: (((lons[k] ?? 0) + 540) % 360) - 180 });
    const wrong = Math.hypot(at.row - Math.floor(k / hour.grid.cols), at.col - (k % hour.grid.cols));
    t.true(wrong < 1e-6, `point ${k} is off by ${wrong} steps`);
  }
}

eccodesTest('ecCodes reads a simulated hour as we do: every field, every point, every position', false, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hail-eccodes-'));
  try {
    const { bytes } = modelFile(EVENING_MS, 2);
    const path = join(folder, 'hour.grib2');
    writeFileSync(path, bytes);
    const answer = ask(
      path,
      `print(json.dumps({"fields": {"/".join(map(str, k)): v.tolist() for k, v in f.items()}, "lats": lats.tolist(), "lons": lons.tolist()}))`,
    ) as { fields: Record<string, number[]>; lats: number[]; lons: number[] };
    const claim = { model: 'hrrr', run_time: EVENING_MS, valid_time: EVENING_MS + 2 * 3_600_000 };
    const { hour } = readModelHour([{ bytes, subject: 'hour' }], claim);
    t.is(Object.keys(answer.fields).length, 13);
    for (const [key, name, factor, offset] of [
      ['0/16/196/10/0', 'reflectivity_dbz', 1, 0],
      ['0/7/199/103/5000', 'updraft_helicity_m2_s2', 1, 0],
      ['0/1/31/1/0', 'hail_mm', 1000, 0],
      ['0/7/6/108/25500', 'cape_j_kg', 1, 0],
      ['0/0/0/100/50000', 'temperature_500_c', 1, -273.15],
      ['0/3/5/4/0', 'freezing_level_m', 1, 0],
      ['0/2/15/103/0', 'shear_u_ms', 1, 0],
      ['0/1/0/103/2', 'specific_humidity_g_kg', 1000, 0],
    ] as const) {
      const theirs = answer.fields[key]?.map((value) => value * factor + offset) ?? [];
      const difference = largestDifference(hour.fields[name] ?? [], theirs);
      t.is(theirs.length, MODEL_GRID.rows * MODEL_GRID.cols, name);
      t.true(difference < 1e-3, `${name} differs by ${difference}`);
    }
    checkPlaces(t, hour, answer);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
