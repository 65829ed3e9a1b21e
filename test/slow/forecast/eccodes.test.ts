import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { shipField } from '../../../pipeline/forecast/ship.ts';
import { readModelHour } from '../../../pipeline/read/model-hour.ts';
import { askPython } from '../../support/data/ask-python.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

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

const hasEccodes = askPython('import json, eccodes, numpy\nprint(json.dumps(True))') !== null;
const title =
  'the significant hail parameter of the real NAM file is that of an independent calculation at every point';
// Without what it needs the test shows as skipped, with the reason in its title.
const register = hasEccodes ? sharedTest : test.skip;

register(
  hasEccodes ? title : `${title} (needs python3 with eccodes and numpy, which are absent)`,
  (t: ExecutionContext) => {
    const path = sharedData('forecast', 'cfgrib_nam.t00z.awp21100.tm00.grib2');
    const claim = { model: 'nam', run_time: NAM_RUN, valid_time: NAM_RUN };
    const { hour } = readModelHour([{ bytes: readFileSync(path), subject: path }], claim);
    const answer = askPython(`PATH = ${JSON.stringify(path)}\n${READ}${SHIP}`);
    const { ship, lats, lons } = answer as Record<'ship' | 'lats' | 'lons', number[]>;
    const ours = shipField(hour) as Float32Array;
    t.is(ship.length, ours.length);
    const difference = ship.reduce((most, value, k) => Math.max(most, Math.abs(value - (ours[k] ?? Number.NaN))), 0);
    t.true(difference < 1e-4, `${difference}`);
    t.true(Math.max(...ship) > 1);
    // Every hundredth point of ecCodes lies where our grid has it.
    for (let k = 0; k < lats.length; k += 100) {
      const at = hour.grid.locate({ lat: lats[k] ?? 0, lon: (((lons[k] ?? 0) + 540) % 360) - 180 });
      const wrong = Math.hypot(at.row - Math.floor(k / hour.grid.cols), at.col - (k % hour.grid.cols));
      t.true(wrong < 1e-6, `point ${k} is off by ${wrong} steps`);
    }
  },
);
