import test from 'ava';
import fc from 'fast-check';
import {
  conditionalSizeMm,
  hailGivenStorm,
  riskCategory,
  riskScore,
  stormProbability,
} from '../../../pipeline/forecast/hail-law.ts';
import { gaussianMean, hourlyForecast } from '../../../pipeline/forecast/hourly.ts';
import { type CellHour, cellHour } from '../../../pipeline/forecast/model-cells.ts';
import { type ShipInput, ship } from '../../../pipeline/forecast/ship.ts';
import { type ModelGrid, readModelHour } from '../../../pipeline/read/model-hour.ts';
import { KM_PER_DEG } from '../../../schemas/geo/constants.ts';
import { CONUS_CELL_COLS, CONUS_CELLS, GEOHASH4_LAT_DEG } from '../../../schemas/geo/geohash4.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { MS_PER_HOUR, scanTime } from '../../../schemas/time.ts';
import { hourRows } from '../../support/data/hour-rows.ts';
import { firstTable, readDocument, sectionOf } from '../../support/data/markdown.ts';
import { modelFile } from '../../support/data/model-file.ts';
import { EVENING_MS } from '../../support/data/small-evening.ts';

const STORMY = CONUS_CELLS.findIndex(({ geohash4 }) => geohash4 === '9y6e');

interface EchoHour {
  readonly run_h: number;
  readonly valid_h: number;
  readonly dbz?: number | null;
  readonly ship?: number;
  readonly simulated?: boolean;
  /** True for the same echo in every cell. */
  readonly wide?: boolean;
}

/** An hour in which the air is the same everywhere and one cell has an echo; hours count from the evening. */
function hourOf({ run_h, valid_h, dbz = 70, ship = 1, simulated = false, wide = false }: EchoHour): CellHour {
  const everywhere = (value: number) => new Float32Array(CONUS_CELLS.length).fill(value);
  const reflectivity_dbz = dbz === null ? null : everywhere(wide ? dbz : -20);
  if (reflectivity_dbz !== null && dbz !== null) reflectivity_dbz[STORMY] = dbz;
  return {
    run_time: EVENING_MS + run_h * MS_PER_HOUR,
    valid_time: EVENING_MS + valid_h * MS_PER_HOUR,
    simulated,
    covered: new Uint8Array(CONUS_CELLS.length).fill(1),
    largest: {
      reflectivity_dbz,
      updraft_helicity_m2_s2: null,
      hail_mm: null,
      cape_j_kg: everywhere(2000),
      ship: everywhere(ship),
    },
  };
}

function rowsOf(hours: readonly CellHour[], ask: Partial<Parameters<typeof hourlyForecast>[0]> = {}) {
  return hourRows(hourlyForecast({ model: 'hrrr', hours, after: EVENING_MS, count: 1, climatology: null, ...ask }));
}

function stormy(hours: readonly CellHour[], ask: Partial<Parameters<typeof hourlyForecast>[0]> = {}) {
  const row = rowsOf(hours, ask)[0]?.[STORMY];
  if (row === undefined) throw new Error('no rows');
  return row;
}

test('a row tells its model, its runs and who made them', (t) => {
  const row = stormy([hourOf({ run_h: 0, valid_h: 1 }), hourOf({ run_h: -1, valid_h: 1 })]);
  t.is(row.model, 'hrrr');
  t.is(row.run_time, EVENING_MS);
  t.is(row.runs, '20260501T220000Z 20260501T210000Z');
  t.is(row.data_source, 'observed');
  t.is(row.geohash4, '9y6e');
  t.is(stormy([hourOf({ run_h: 0, valid_h: 1, simulated: true })]).data_source, 'simulated');
});

test('hours begin with the first full one that ends after the instant, and end where the runs end', (t) => {
  const hours = [1, 2, 3].map((valid_h) => hourOf({ run_h: 0, valid_h }));
  const times = (after: number, count: number) =>
    rowsOf(hours, { after, count }).map(([row]) => ((row?.valid_time ?? 0) - EVENING_MS) / MS_PER_HOUR);
  t.deepEqual(times(EVENING_MS, 48), [1, 2, 3]);
  t.deepEqual(times(EVENING_MS + 1, 48), [1, 2, 3]);
  t.deepEqual(times(EVENING_MS + MS_PER_HOUR, 48), [2, 3]);
  t.deepEqual(times(EVENING_MS, 2), [1, 2]);
});

test('a run says nothing of its own start', (t) => {
  t.deepEqual(rowsOf([hourOf({ run_h: 1, valid_h: 1 })]), []);
});

test('the newest three runs within twelve hours are blended', (t) => {
  const runs = [-18, -13, -12, -6, -3, 0].map((run_h) => hourOf({ run_h, valid_h: 1 }));
  const lags = (hours: readonly CellHour[]) =>
    stormy(hours)
      .runs.split(' ')
      .map((run) => (scanTime(run) - EVENING_MS) / MS_PER_HOUR);
  t.deepEqual(lags(runs), [0, -3, -6]);
  t.deepEqual(lags(runs.filter(({ run_time }) => run_time !== EVENING_MS - 6 * MS_PER_HOUR)), [0, -3, -12]);
  t.deepEqual(lags([runs[0], runs[5]].filter((hour) => hour !== undefined)), [0]);
});

test('runs that disagree make hail less likely than runs that agree', (t) => {
  const both = stormy([hourOf({ run_h: 0, valid_h: 1 }), hourOf({ run_h: -1, valid_h: 1 })]);
  const one = stormy([hourOf({ run_h: 0, valid_h: 1 }), hourOf({ run_h: -1, valid_h: 1, dbz: -20 })]);
  t.true((one.hail_probability ?? 0) > 0.4 * (both.hail_probability ?? 0));
  t.true((one.hail_probability ?? 0) < 0.6 * (both.hail_probability ?? 0));
});

test('a storm an hour early or late in the model counts, two hours off does not', (t) => {
  const at = (storm_h: number) => {
    const hours = [0, 1, 2, 3].map((valid_h) => hourOf({ run_h: -1, valid_h, dbz: valid_h === storm_h ? 70 : -20 }));
    return stormy(hours).hail_probability ?? 0;
  };
  t.is(at(0), at(1));
  t.is(at(2), at(1));
  t.true(at(3) < 0.1 * at(1));
});

test('chances spread around a storm and fall with distance, and stay between 0 and 1', (t) => {
  const [rows = []] = rowsOf([hourOf({ run_h: 0, valid_h: 1 })]);
  const p = (steps: number) => rows[STORMY + steps]?.hail_probability ?? Number.NaN;
  t.true(p(0) > p(1) && p(1) > p(2) && p(2) > p(3), `${p(0)} ${p(1)} ${p(2)} ${p(3)}`);
  t.true(Math.abs(p(-1) - p(1)) < 1e-3);
  t.true(
    rows.every(({ hail_probability }) => hail_probability !== null && hail_probability >= 0 && hail_probability <= 1),
  );
});

test('a longer lead spreads the same storm wider', (t) => {
  const early = stormy([hourOf({ run_h: 0, valid_h: 1 })]).hail_probability ?? 0;
  const late = stormy([hourOf({ run_h: -11, valid_h: 1 })]).hail_probability ?? 0;
  t.true(late < 0.9 * early, `${late} ${early}`);
});

test('the climatology takes a share that grows by 1/60 an hour, to at most .7', (t) => {
  const share = (lead_h: number) => {
    const hours = [hourOf({ run_h: 1 - lead_h, valid_h: 1, dbz: -20 })];
    const without = stormy(hours).hail_probability ?? 0;
    const p = stormy(hours, { climatology: () => 0.5 }).hail_probability ?? 0;
    return (p - without) / (0.5 - without);
  };
  for (const [lead_h, expected] of [
    [1, 1 / 60],
    [12, 0.2],
    [42, 0.7],
    [48, 0.7],
  ] as const)
    t.true(Math.abs(share(lead_h) - expected) < 1e-3, `${lead_h} h: ${share(lead_h)}`);
});

test('where the climatology is not known the model stands alone', (t) => {
  const hours = [hourOf({ run_h: 0, valid_h: 1 })];
  t.deepEqual(stormy(hours, { climatology: () => null }), stormy(hours));
});

test('a model without echoes and helicity gives null, and still the parameter of the air', (t) => {
  const row = stormy([hourOf({ run_h: 0, valid_h: 1, dbz: null })]);
  t.deepEqual(
    [row.hail_probability, row.estimated_size_mm, row.risk_category, row.risk_score, row.ship],
    [null, null, null, null, 1],
  );
});

test('cells that the model does not cover have no row', (t) => {
  const hour = hourOf({ run_h: 0, valid_h: 1 });
  const covered = hour.covered.map((_, k) => (k === STORMY ? 1 : 0));
  t.deepEqual(
    rowsOf([{ ...hour, covered }])[0]?.map(({ geohash4 }) => geohash4),
    ['9y6e'],
  );
});

test('the air of significant hail lifts the category, not the chance', (t) => {
  const [plain, significant] = [1, 2].map((ship) =>
    stormy([hourOf({ run_h: 0, valid_h: 1, dbz: 64, wide: true, ship })]),
  );
  t.true((significant?.hail_probability ?? 0) > 0.1);
  t.true((significant?.risk_score ?? 0) >= (plain?.risk_score ?? 0));
  t.not(significant?.risk_category, plain?.risk_category);
});

test('every row of a model file fits the table', async (t) => {
  const { Forecast } = await import('../../../schemas/tables/forecast.ts');
  const hours = [1, 2].map((lead_h) => {
    const { bytes, path } = modelFile(EVENING_MS, lead_h);
    const claim = { model: 'hrrr', run_time: EVENING_MS, valid_time: EVENING_MS + lead_h * MS_PER_HOUR };
    return cellHour(readModelHour([{ bytes, subject: path }], claim).hour, CONUS_CELLS);
  });
  const [rows = []] = rowsOf(hours);
  t.true(rows.length > 100);
  for (const row of rows) t.notThrows(() => Forecast.parse(row));
});

const known = (min: number, max: number) => fc.double({ min, max, noNaN: true });

for (const [helicity, ship, hail_mm, cape, expected] of [
  [0, 0, 0, 0, 0.154],
  [0, 0, 0, 1000, 0.25],
  [75, 1, 0, 2000, 0.502],
  [75, 1, 30, 2000, 0.692],
  [150, 2, 50, 3000, 0.853],
  [300, 4, 50, 4000, 0.929],
] as const)
  test(`helicity ${helicity}, SHIP ${ship}, stones of ${hail_mm} mm and CAPE ${cape} make hail from a storm ${expected} likely`, (t) => {
    const p = hailGivenStorm({ updraft_helicity_m2_s2: helicity, ship, hail_mm, cape_j_kg: cape });
    t.is(Math.round(p * 1000) / 1000, expected);
  });

for (const [hail_mm, ship, expected] of [
  [25, 0, 25],
  [25, 1, 29],
  [50, 2, 46.1],
  [75, 4, 67.1],
  [100, 4, 77.5],
] as const)
  test(`stones of ${hail_mm} mm in the model and SHIP ${ship} make a median of ${expected} mm`, (t) => {
    t.is(Math.round((conditionalSizeMm({ hail_mm, ship }) ?? 0) * 10) / 10, expected);
  });

test('a size comes from what there is: one of the two alone, null without both', (t) => {
  t.is(conditionalSizeMm({ hail_mm: 40, ship: null }), 40);
  t.is(conditionalSizeMm({ hail_mm: null, ship: 1 }), 33.75);
  t.is(conditionalSizeMm({ hail_mm: null, ship: null }), null);
});

test('sizes stay between 10 and 110 mm', (t) => {
  t.is(conditionalSizeMm({ hail_mm: 0, ship: 0 }), 10);
  t.is(conditionalSizeMm({ hail_mm: 300, ship: 40 }), 110);
});

test('without echoes and without helicity nothing is known of storms: null, not zero', (t) => {
  t.is(stormProbability({ reflectivity_dbz: null, updraft_helicity_m2_s2: null }), null);
});

test('more echo, rotation, stones or SHIP never lowers a chance or a size, and chances lie between 0 and 1', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.record({
          reflectivity_dbz: known(-30, 80),
          updraft_helicity_m2_s2: known(-500, 1000),
          hail_mm: known(0, 200),
          cape_j_kg: known(0, 6000),
          ship: known(0, 10),
        }),
        fc.constantFrom('reflectivity_dbz', 'updraft_helicity_m2_s2', 'hail_mm', 'cape_j_kg', 'ship'),
        known(0, 100),
        (low, name, more) => {
          const high = { ...low, [name]: low[name] + more };
          const chances = [low, high].map((each) => (stormProbability(each) ?? 0) * hailGivenStorm(each)) as [
            number,
            number,
          ];
          const sizes = [low, high].map((each) => conditionalSizeMm(each) ?? 0) as [number, number];
          return chances[0] >= 0 && chances[1] <= 1 && chances[1] >= chances[0] && sizes[1] >= sizes[0];
        },
      ),
    ),
  );
});

for (const [p, size_mm, score] of [
  [0.05, 25, 15],
  [0.15, 25, 38],
  [0.15, 50, 48],
  [0.3, 25, 62],
  [0.3, 50, 72],
  [0.45, 50, 86],
  [0.6, 75, 96],
] as const)
  test(`a chance of ${p} of ${size_mm} mm scores ${score}`, (t) => t.is(riskScore(p, size_mm), score));

test('a score without a size is that of 25 mm, and no chance scores 0', (t) => {
  t.is(riskScore(0.3, null), 62);
  t.is(riskScore(0, null), 0);
});

for (const [p, word] of [
  [0, 'minimal'],
  [0.0199, 'minimal'],
  [0.02, 'low'],
  [0.05, 'moderate'],
  [0.15, 'elevated'],
  [0.3, 'high'],
  [0.45, 'severe'],
] as const)
  test(`a chance of ${p} in ordinary air is ${word}`, (t) => {
    t.is(riskCategory(p, null), word);
    t.is(riskCategory(p, 1.49), word);
  });

test('SHIP of 1.5 lifts the category by one from a chance of .10 on, never above severe', (t) => {
  t.is(riskCategory(0.0999, 1.5), 'moderate');
  t.is(riskCategory(0.1, 1.5), 'elevated');
  t.is(riskCategory(0.3, 2), 'severe');
  t.is(riskCategory(0.9, 9), 'severe');
});

/** A grid whose points are whole kilometres east and north of the origin; a degree is a kilometre. */
function kilometreGrid(rows: number, cols: number, step_km: number): ModelGrid {
  return {
    rows,
    cols,
    locate: ({ lat, lon }) => ({ row: lat / step_km, col: lon / step_km }),
    stepsAt: () => ({ row_km: step_km, col_km: step_km }),
  };
}

/** Hail of an hour at places, from the hail on the grid of a model. */
function largestAround(grid: ModelGrid, places: readonly Position[], hail_mm: Float32Array): number[] {
  const hour = { run_time: 0, valid_time: 0, simulated: false, grid, fields: { hail_mm } };
  return [...(cellHour(hour, places).largest.hail_mm ?? [])];
}

test('the largest value around a place is that of the points within 40 km', (t) => {
  const grid = kilometreGrid(30, 30, 5);
  const places = [
    { lat: 60, lon: 60 },
    { lat: 61.7, lon: 58.2 },
    { lat: 2, lon: 3 },
    { lat: 145, lon: 0 },
  ];
  const values = Float32Array.from({ length: 900 }, (_, k) => (k * 7919) % 1009);
  const expected = places.map((place) => {
    let most = Number.NaN;
    for (const [k, value] of values.entries()) {
      const distance_km = Math.hypot(5 * Math.floor(k / 30) - place.lat, 5 * (k % 30) - place.lon);
      if (distance_km <= 40 && !(most >= value)) most = value;
    }
    return most;
  });
  t.deepEqual(largestAround(grid, places, values), expected);
});

test('on a grid coarser than the radius the nearest point counts', (t) => {
  const values = Float32Array.from([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  t.deepEqual(largestAround(kilometreGrid(3, 3, 100), [{ lat: 145, lon: 60 }], values), [4]);
});

test('places outside the grid have no value', (t) => {
  const places = [
    { lat: -5, lon: 50 },
    { lat: 50, lon: 500 },
  ];
  const grid = kilometreGrid(20, 20, 5);
  t.deepEqual(largestAround(grid, places, new Float32Array(400)), [Number.NaN, Number.NaN]);
});

test('points without a value are passed over, and a place with none of them has none', (t) => {
  const grid = kilometreGrid(20, 20, 5);
  const values = new Float32Array(400).fill(Number.NaN);
  values[10 * 20 + 10] = -7;
  const places = [
    { lat: 50, lon: 50 },
    { lat: 5, lon: 5 },
  ];
  t.deepEqual(largestAround(grid, places, values), [-7, Number.NaN]);
});

const EVERYWHERE = new Uint8Array(CONUS_CELLS.length).fill(1);

test('a single value spreads as a Gaussian of the asked width', (t) => {
  const values = new Float64Array(CONUS_CELLS.length);
  values[STORMY] = 1;
  const mean = gaussianMean(values, EVERYWHERE, 40);
  for (const rows of [1, -2, 3]) {
    const km = rows * GEOHASH4_LAT_DEG * KM_PER_DEG;
    const share = mean[STORMY + rows * CONUS_CELL_COLS] / mean[STORMY];
    t.true(Math.abs(share - Math.exp(-0.5 * (km / 40) ** 2)) < 1e-9, `${rows}`);
  }
});

test('cells that do not count take no part, and where nothing counts the mean is 0', (t) => {
  const weights = EVERYWHERE.map((_, k) => (k % 3 === 0 ? 1 : 0));
  const values = Float64Array.from(weights, (weight, k) => (weight > 0 ? 0.2 + (k % 5) / 10 : 99));
  t.true(gaussianMean(values, weights, 40).every((mean) => mean >= 0.2 - 1e-12 && mean <= 0.6 + 1e-12));
  t.true(gaussianMean(values, new Uint8Array(values.length), 40).every((mean) => mean === 0));
});

function parameter([
  cape_j_kg,
  mixing_ratio_g_kg,
  lapse_rate_c_km,
  temperature_500_c,
  shear_ms,
  freezing_level_m,
]: readonly [number, number, number, number, number, number]): number {
  return ship({ cape_j_kg, mixing_ratio_g_kg, lapse_rate_c_km, temperature_500_c, shear_ms, freezing_level_m });
}

for (const [input, expected] of [
  [[3000, 14, 7.8, -12, 25, 3800], 2.273],
  [[1000, 10, 6.5, -15, 30, 2200], 0.486],
  [[2500, 15, 7, -10, 20, 4200], 1.133],
  [[500, 12, 5.5, -8, 10, 4500], 0.023],
  [[4500, 16, 8.5, -14, 30, 3900], 4.682],
] as const)
  test(`the significant hail parameter of ${input.join(', ')} is ${expected}`, (t) => {
    t.is(Math.round(parameter(input) * 1000) / 1000, expected);
  });

const AIR: ShipInput = {
  cape_j_kg: 2000,
  mixing_ratio_g_kg: 12,
  lapse_rate_c_km: 7,
  temperature_500_c: -12,
  shear_ms: 20,
  freezing_level_m: 3500,
};

test('moisture, shear and a warm 500 hPa level count within their bounds only', (t) => {
  t.is(ship({ ...AIR, mixing_ratio_g_kg: 5 }), ship({ ...AIR, mixing_ratio_g_kg: 11 }));
  t.is(ship({ ...AIR, mixing_ratio_g_kg: 20 }), ship({ ...AIR, mixing_ratio_g_kg: 13.6 }));
  t.is(ship({ ...AIR, shear_ms: 2 }), ship({ ...AIR, shear_ms: 7 }));
  t.is(ship({ ...AIR, shear_ms: 60 }), ship({ ...AIR, shear_ms: 27 }));
  t.is(ship({ ...AIR, temperature_500_c: 3 }), ship({ ...AIR, temperature_500_c: -5.5 }));
});

test('negative CAPE, a rising temperature or a frozen ground give 0, never less', (t) => {
  t.is(ship({ ...AIR, cape_j_kg: -50 }), 0);
  t.is(ship({ ...AIR, lapse_rate_c_km: -1 }), 0);
  t.is(ship({ ...AIR, freezing_level_m: -200 }), 0);
});

test('more of an input never lowers the significant hail parameter', (t) => {
  const name = fc.constantFrom('cape_j_kg', 'mixing_ratio_g_kg', 'lapse_rate_c_km', 'shear_ms', 'freezing_level_m');
  const holds = fc.property(name, known(0, 6000), known(0, 500), (of, low, more) => {
    return ship({ ...AIR, [of]: low + more }) >= ship({ ...AIR, [of]: low });
  });
  t.notThrows(() => fc.assert(holds, { numRuns: 500 }));
});

test('an unknown input makes the parameter unknown', (t) => {
  for (const name of Object.keys(AIR)) t.is(ship({ ...AIR, [name]: Number.NaN }), Number.NaN, name);
});

test('fields of rising strength expect the circles that the page says, from none to those of an outbreak', (t) => {
  const section = sectionOf(readDocument('pipeline/SCIENCE.md'), '## Hourly forecast');
  const rows = firstTable(section.slice(section.indexOf('| storms |'))).map((row) => row.map(Number));
  t.is(rows.length, 6);
  for (const [storms = 0, reflectivity_dbz = 0, rotation = 0, hail_mm = 0, cape_j_kg = 0, ship = 0, printed] of rows) {
    const predictors = { reflectivity_dbz, updraft_helicity_m2_s2: rotation, hail_mm, cape_j_kg, ship };
    const circles = storms * (stormProbability(predictors) ?? Number.NaN) * hailGivenStorm(predictors);
    t.is(Number(circles.toFixed(circles < 10 ? 2 : circles < 20 ? 1 : 0)), printed);
  }
});
