import test from 'ava';
import { hourlyForecast } from '../../../pipeline/forecast/hourly.ts';
import { type CellHour, cellHour } from '../../../pipeline/forecast/model-cells.ts';
import { readModelHour } from '../../../pipeline/read/model.ts';
import { modelGridOf, simulatedModelFile } from '../../../pipeline/simulate/model-grid.ts';
import { truthAt } from '../../../pipeline/simulate/truth.ts';
import { geohash } from '../../../schemas/geo/geohash.ts';
import { CONUS_CELLS } from '../../../schemas/geo/geohash4.ts';
import { MS_PER_HOUR, scanTime } from '../../../schemas/time.ts';
import { EVENING_MS, SMALL } from '../../support/data/small-evening.ts';

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
function hourOf({ run_h, valid_h, dbz = 60, ship = 1, simulated = false, wide = false }: EchoHour): CellHour {
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
  return [...hourlyForecast({ model: 'hrrr', hours, after: EVENING_MS, count: 1, climatology: null, ...ask })];
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

test('observed and simulated runs are never blended', (t) => {
  const hours = [hourOf({ run_h: 0, valid_h: 1 }), hourOf({ run_h: -1, valid_h: 1, simulated: true })];
  t.throws(() => rowsOf(hours), { message: /observed and simulated runs together, expected one kind/ });
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
    const hours = [0, 1, 2, 3].map((valid_h) => hourOf({ run_h: -1, valid_h, dbz: valid_h === storm_h ? 60 : -20 }));
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
    stormy([hourOf({ run_h: 0, valid_h: 1, dbz: 46, wide: true, ship })]),
  );
  t.true((significant?.hail_probability ?? 0) > 0.1);
  t.true((significant?.risk_score ?? 0) >= (plain?.risk_score ?? 0));
  t.not(significant?.risk_category, plain?.risk_category);
});

const GRID = modelGridOf(SMALL);

function simulatedHours(run_time: number, leads: readonly number[]): CellHour[] {
  return leads.map((lead_h) => {
    const { bytes, path } = simulatedModelFile(SMALL, GRID, run_time, lead_h);
    const claim = { model: 'hrrr', run_time, valid_time: run_time + lead_h * MS_PER_HOUR };
    return cellHour(readModelHour([{ bytes, subject: path }], claim).hour, CONUS_CELLS);
  });
}

test('simulated runs forecast hail where the simulated storms are, and little elsewhere', (t) => {
  const hours = [-2, -1, 0].flatMap((run_h) => simulatedHours(EVENING_MS + run_h * MS_PER_HOUR, [1, 2, 3, 4]));
  const [rows = []] = rowsOf(hours);
  const byCell = new Map(rows.map((row) => [row.geohash4, row]));
  const large = truthAt(SMALL, EVENING_MS + 30 * 60_000).filter(({ peak_mm }) => peak_mm >= 25);
  const hits = large.map(({ lat, lon }) => byCell.get(geohash(lat, lon, 4))?.hail_probability ?? null);
  const inside = hits.filter((p) => p !== null);
  t.true(inside.length >= 2);
  const mean = (numbers: readonly number[]) => numbers.reduce((sum, p) => sum + p, 0) / numbers.length;
  const overall = mean(rows.map(({ hail_probability }) => hail_probability ?? 0));
  t.true(mean(inside) > 2 * overall, `${mean(inside)} against ${overall}`);
  t.true(rows.every(({ data_source }) => data_source === 'simulated'));
});

test('every row of a real run of the chain fits the table', async (t) => {
  const { Forecast } = await import('../../../schemas/tables/forecast.ts');
  const [rows = []] = rowsOf(simulatedHours(EVENING_MS, [1, 2]));
  t.true(rows.length > 100);
  for (const row of rows) t.notThrows(() => Forecast.parse(row));
});
