import test from 'ava';
import fc from 'fast-check';
import { decodeField, nearestPoint, parseGrib2, positionOf, valueReader } from '../../../pipeline/read/grib2/index.ts';
import { writeModelField } from '../../../pipeline/simulate/model-grib2.ts';
import { modelGridOf, simulatedModelFile } from '../../../pipeline/simulate/model-grid.ts';
import { conusScenario } from '../../../pipeline/simulate/scenario.ts';
import { truthAt } from '../../../pipeline/simulate/truth.ts';
import { windowBbox } from '../../../schemas/geo/lattice.ts';
import { EVENING_MS, MS_PER_MINUTE, SMALL } from '../../support/data/small-evening.ts';

const GRID = modelGridOf(SMALL);
const FILE = simulatedModelFile(SMALL, GRID, EVENING_MS, 1);

function fieldOf(file: Uint8Array, category: number, number: number) {
  const field = parseGrib2(file, 'file').find((each) => each.category === category && each.number === number);
  if (field === undefined) throw new Error(`no field ${category}/${number}`);
  return field;
}

test('an hour is named as in the public bucket, and is the same every time', (t) => {
  t.is(FILE.path, 'hrrr.20260501/conus/hrrr.t22z.wrfsfcf01.grib2');
  t.deepEqual(simulatedModelFile(SMALL, modelGridOf(SMALL), EVENING_MS, 1), FILE);
});

test('every field bears the mark of simulated data, the run and the hour', (t) => {
  const fields = parseGrib2(FILE.bytes, 'file');
  t.is(fields.length, 13);
  for (const field of fields) {
    t.is(field.production_status, 192);
    t.is(field.reference_time, EVENING_MS);
    t.is(field.valid_time, EVENING_MS + 60 * MS_PER_MINUTE);
    t.is(field.generating_process, 83);
  }
  t.deepEqual(
    fields.filter(({ statistic }) => statistic === 2).map(({ valid_from }) => valid_from),
    [EVENING_MS, EVENING_MS],
  );
});

test('the index says where each message begins', (t) => {
  const lines = FILE.index.trim().split('\n');
  const offsets = lines.map((line) => Number(line.split(':')[1]));
  const text = Buffer.from(FILE.bytes).toString('latin1');
  t.deepEqual(
    offsets.map((offset) => text.slice(offset, offset + 4)),
    offsets.map(() => 'GRIB'),
  );
  t.is(parseGrib2(FILE.bytes.subarray(offsets[4], offsets[5]), 'one').length, 1);
  t.is(lines[1], `2:${offsets[1]}:d=2026050122:MXUPHL:5000-2000 m above ground:0-1 hour max fcst:`);
});

test('the grid covers the window with room to spare, and its points are where the header says', (t) => {
  const { grid } = fieldOf(FILE.bytes, 16, 196);
  const [west, south, east, north] = windowBbox(SMALL.window);
  for (const lat of [south - 0.8, north + 0.8])
    for (const lon of [west - 0.8, east + 0.8]) t.not(nearestPoint(grid, { lat, lon }), null, `${lat} ${lon}`);
  for (const k of [0, 1, GRID.cols, GRID.rows * GRID.cols - 1]) {
    const at = positionOf(grid, Math.floor(k / GRID.cols), k % GRID.cols);
    const made = GRID.points[k];
    t.true(Math.abs(at.lat - (made?.lat ?? 0)) < 1e-6 && Math.abs(at.lon - (made?.lon ?? 0)) < 1e-6, `point ${k}`);
  }
});

/** Whether the echo of a run's first hour reaches 50 dBZ within 36 km of each storm that lives at its end; null off the grid. */
function findings(run_time: number): (boolean | null)[] {
  const field = fieldOf(simulatedModelFile(SMALL, GRID, run_time, 1).bytes, 16, 196);
  const decoded = decodeField(field);
  const strong = truthAt(SMALL, run_time + 60 * MS_PER_MINUTE).filter(({ peak_mm }) => peak_mm >= 25);
  return strong.map((storm) => {
    const point = nearestPoint(field.grid, storm);
    if (point === null) return null;
    for (let j = Math.max(0, point.j - 3); j <= Math.min(GRID.rows - 1, point.j + 3); j++)
      for (let i = Math.max(0, point.i - 3); i <= Math.min(GRID.cols - 1, point.i + 3); i++)
        if (valueReader(decoded)(j * GRID.cols + i) >= 50) return true;
    return false;
  });
}

test('runs have most of their storms about where the weather has them', (t) => {
  const found = Array.from({ length: 24 }, (_, hour) => hour).flatMap((hour) =>
    findings(EVENING_MS + hour * 60 * MS_PER_MINUTE),
  );
  const judged = found.filter((each) => each !== null);
  t.true(judged.length >= 10, `${judged.length}`);
  t.true(judged.filter(Boolean).length >= 0.7 * judged.length, `${judged.filter(Boolean).length} of ${judged.length}`);
});

test('two runs differ about the same hour', (t) => {
  const older = simulatedModelFile(SMALL, GRID, EVENING_MS - 60 * MS_PER_MINUTE, 2);
  const values = (file: Uint8Array) => decodeField(fieldOf(file, 16, 196)).packed;
  t.notDeepEqual(values(FILE.bytes), values(older.bytes));
});

test('an hour of the whole country stays below a megabyte', (t) => {
  const scenario = conusScenario(3, 'outbreak', []);
  const { bytes } = simulatedModelFile(scenario, modelGridOf(scenario), EVENING_MS, 1);
  t.true(bytes.length < 1_000_000, `${bytes.length}`);
});

test('any whole numbers come back from the packing as they went in', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -100_000, max: 100_000 }), { minLength: 2, maxLength: 200 }),
        fc.integer({ min: 0, max: 3 }),
        (whole, decimals) => {
          const spec = {
            first_lat_udeg: 35_000_000,
            first_lon_udeg: 262_000_000,
            step_m: 3000,
            cols: whole.length,
            rows: 1,
          };
          const bytes = writeModelField(spec, EVENING_MS, 1, {
            name: 'X',
            parameter: [0, 0, 0],
            level: { type: 1, value: 0 },
            level_words: 'surface',
            decimals,
            values: whole.map((value) => value / 10 ** decimals),
          });
          const decoded = decodeField(parseGrib2(bytes, 'x')[0] as ReturnType<typeof fieldOf>);
          return whole.every((value, k) => Math.round(valueReader(decoded)(k) * 10 ** decimals) === value);
        },
      ),
    ),
  );
});
