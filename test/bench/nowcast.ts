import { writeFile } from 'node:fs/promises';
import { Command, CommanderError } from 'commander';
import { footprint } from '../../api/rules/footprint.ts';
import { type LeadKey, type NowcastStorm, onCurve, REACH_KM, rawNowcast, STRIKE_MM } from '../../api/rules/nowcast.ts';
import { fitCurve } from '../../pipeline/detect/isotonic.ts';
import { UsageError } from '../../pipeline/error.ts';
import type { ScanInput } from '../../pipeline/grid.ts';
import { emptyMemory, processScan } from '../../pipeline/scan.ts';
import { type SimulatedScan, simulateScan } from '../../pipeline/simulate/fields.ts';
import { scanTimes } from '../../pipeline/simulate/scan-times.ts';
import { type DayType, defaultScenario } from '../../pipeline/simulate/scenario.ts';
import { distanceKm, roughDistanceKm, travel } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { type CalibrationCurve, NOWCAST_CALIBRATION } from '../../schemas/reference/nowcast-calibration.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import type { Detection } from '../../schemas/tables/detections.ts';
import type { TrackPoint } from '../../schemas/tables/tracks.ts';
import { utcDate } from '../../schemas/time.ts';

const MS_PER_MIN = 60_000;
const DAY_TYPES: readonly DayType[] = ['pulse', 'marginal', 'supercell', 'qlcs', 'outbreak'];
/** An evening: storms gather a past, cases are taken, and the longest lead comes true. */
const PAST_MIN = 40;
const CASES_MIN = 70;
const CASE_EVERY_MIN = 10;
const LONGEST_LEAD_MIN = 45;
/** Points around each storm at each time, so far away at most: as far as the interface looks. */
const POINTS_PER_STORM = 4;
const POINT_MAX_KM = 50;
/** The event is hail within this distance of the point. */
const STRIKE_KM = 1;
const FIRST_EVENING_MS = Date.UTC(2025, 4, 1, 21);
/** Seeds of the evenings that the calibration is fitted on, and of those it is judged on, never meet. */
const FIT_SEEDS = 5000;
const JUDGE_SEEDS = 9000;
const KNOTS = 20;
const BINS = [0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0001];

/** A point at a time: what the model said of each lead, and what came. */
interface Case {
  readonly evening: number;
  readonly raw: Readonly<Record<LeadKey, number>>;
  readonly struck: Readonly<Record<LeadKey, boolean>>;
  /** Hail at the point in the scan of the forecast: what persistence goes by. */
  readonly now: boolean;
}

/**
 * The strike nowcast on simulated evenings, where what comes next is known: reliability and Brier score of every lead
 * beside persistence. `--fit FILE` first fits the calibration on other evenings and writes it.
 */
export async function nowcast(args: string[]): Promise<void> {
  const { evenings, fit } = options(args);
  let curves: Readonly<Record<LeadKey, CalibrationCurve>> = NOWCAST_CALIBRATION.leads;
  if (fit !== null) {
    const cases = casesOf(FIT_SEEDS, 2 * evenings);
    curves = calibration(cases);
    await writeFile(fit, calibrationFile(curves, cases.length, 2 * evenings));
    console.log(`nowcast: calibration fitted on ${cases.length} cases of ${2 * evenings} evenings, written to ${fit}`);
  }
  const cases = casesOf(JUDGE_SEEDS, evenings);
  console.log(
    `nowcast: ${cases.length} points up to ${POINT_MAX_KM} km from a storm on ${evenings} simulated evenings`,
  );
  for (const { key, minutes } of NOWCAST_LEADS) console.log(report(key, minutes, cases, curves));
}

function options(args: string[]): { evenings: number; fit: string | null } {
  const command = new Command('nowcast')
    .option('--evenings <n>', 'evenings to judge on; --fit learns from twice as many others', '10')
    .option('--fit <file>', 'fit the calibration and write it')
    .exitOverride();
  try {
    command.parse(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) throw new UsageError(error.message);
    throw error;
  }
  const { evenings, fit } = command.opts<{ evenings: string; fit?: string }>();
  if (!/^[1-9]\d{0,2}$/.test(evenings))
    throw new UsageError(`--evenings is '${evenings}', expected a whole number from 1 to 999`);
  return { evenings: Number(evenings), fit: fit ?? null };
}

function casesOf(seed: number, evenings: number): Case[] {
  return Array.from({ length: evenings }, (_, evening) => eveningCases(seed + evening, evening)).flat();
}

/** Cases of one evening, through the pipeline's own cells, tracks and confidence. */
function eveningCases(seed: number, evening: number): Case[] {
  const scenario = {
    ...defaultScenario(seed, WSR88D),
    day_type: DAY_TYPES[evening % DAY_TYPES.length] as DayType,
    window: { row0: 1800, col0: 2900, rows: 400, cols: 500 },
  };
  const start_ms = FIRST_EVENING_MS + evening * 24 * 60 * MS_PER_MIN;
  const end_ms = start_ms + (PAST_MIN + CASES_MIN + LONGEST_LEAD_MIN) * MS_PER_MIN;
  const hail: { scan_time: number; pixels: Detection[] }[] = [];
  const asked: { time_ms: number; point: Position; raw: Case['raw'] }[] = [];
  let memory = emptyMemory;
  let next_ms = start_ms + PAST_MIN * MS_PER_MIN;
  for (const time_ms of scanTimes(scenario.seed, start_ms, end_ms)) {
    const scan = processScan(scanInput(simulateScan(scenario, time_ms)), memory, utcDate(time_ms), '', null);
    memory = scan.memory;
    const { detections, tracks } = scan.products;
    hail.push({ scan_time: time_ms, pixels: detections.filter((pixel) => pixel.estimated_size_mm >= STRIKE_MM) });
    if (time_ms < next_ms || time_ms > end_ms - LONGEST_LEAD_MIN * MS_PER_MIN) continue;
    next_ms += CASE_EVERY_MIN * MS_PER_MIN;
    const storms = liveStorms(tracks, detections);
    for (const point of pointsAround(storms, asked.length)) {
      const near = storms.filter(({ seen }) => distanceKm(seen, point) <= REACH_KM);
      asked.push({ time_ms, point, raw: rawNowcast(point, near, time_ms) });
    }
  }
  return asked.map(({ time_ms, point, raw }) => {
    const strikes = hail
      .filter(({ scan_time, pixels }) => scan_time >= time_ms && pixels.some((pixel) => isAt(pixel, point)))
      .map(({ scan_time }) => (scan_time - time_ms) / MS_PER_MIN);
    const first_min = strikes[0] ?? Number.POSITIVE_INFINITY;
    const struck = NOWCAST_LEADS.map(({ key, minutes }) => [key, first_min <= minutes]);
    return { evening, raw, struck: Object.fromEntries(struck), now: first_min === 0 };
  });
}

function isAt(pixel: Position, point: Position): boolean {
  return roughDistanceKm(pixel, point) <= 1.01 * STRIKE_KM && distanceKm(pixel, point) <= STRIKE_KM;
}

function liveStorms(tracks: readonly TrackPoint[], detections: readonly Detection[]): NowcastStorm[] {
  return tracks
    .filter(({ state, scan_count }) => state === 'tracked' && scan_count > 1)
    .map((seen) => ({
      seen,
      footprint: footprint(
        detections.filter((d) => d.cell_index === seen.cell_index && d.estimated_size_mm >= STRIKE_MM),
        seen,
      ),
    }));
}

/** Points around storms, in every direction and at every distance alike; spread by the golden ratio and its like. */
function pointsAround(storms: readonly NowcastStorm[], from: number): Position[] {
  return storms.flatMap(({ seen }, storm) =>
    Array.from({ length: POINTS_PER_STORM }, (_, index) => {
      const number = from + storm * POINTS_PER_STORM + index + 1;
      return travel(seen, 360 * ((number * 0.7548776662) % 1), POINT_MAX_KM * ((number * 0.569840291) % 1));
    }),
  );
}

/** A simulated scan as the reader would hand it over, with POSH as its only companion. */
function scanInput({ scan_time, window, index, values }: SimulatedScan): ScanInput {
  const kept = Uint32Array.from(index.keys().filter((n) => (values.MESH[n] as number) > 0));
  const rowStart = new Uint32Array(window.rows + 1);
  for (const n of kept) {
    const next = Math.floor((index[n] as number) / window.cols) + 1;
    rowStart[next] = (rowStart[next] as number) + 1;
  }
  for (let row = 0; row < window.rows; row++)
    rowStart[row + 1] = (rowStart[row + 1] as number) + (rowStart[row] as number);
  return {
    scan_time,
    simulated: true,
    mesh: {
      window,
      rowStart,
      col: Uint16Array.from(kept, (n) => window.col0 + ((index[n] as number) % window.cols)),
      tenths: Uint16Array.from(kept, (n) => values.MESH[n] as number),
      covered_px: window.rows * window.cols,
      uncovered_px: 0,
    },
    companions: {
      posh_pct: Float32Array.from(kept, (n) => Math.max(0, values.POSH[n] as number) / 10),
      vil_kg_m2: null,
      echo_top_18_km: null,
      echo_top_50_km: null,
      max_reflectivity_dbz: null,
    },
    probsevere: null,
    products: ['MESH', 'POSH'],
  };
}

function calibration(cases: readonly Case[]): Readonly<Record<LeadKey, CalibrationCurve>> {
  const curve = (key: LeadKey): CalibrationCurve => {
    // Most points are never struck; they would fill every group of the fit but a few, so each lead has knots by its own mass.
    const raw = cases.map((one) => one.raw[key]);
    const { score, probability } = fitCurve(
      raw,
      cases.map((one) => (one.struck[key] ? 1 : 0)),
      raw.map((value) => 0.02 + value),
      KNOTS,
    );
    const to4 = (value: number) => Math.round(value * 10_000) / 10_000;
    const knots = score.map((value, knot) => ({ raw: to4(value), probability: to4(probability[knot] as number) }));
    const distinct = knots.filter((one, knot) => one.raw !== knots[knot + 1]?.raw);
    return { raw: distinct.map((one) => one.raw), probability: distinct.map((one) => one.probability) };
  };
  return { t15: curve('t15'), t30: curve('t30'), t45: curve('t45') };
}

function calibrationFile(leads: Readonly<Record<LeadKey, CalibrationCurve>>, cases: number, evenings: number): string {
  const rows = Object.entries(leads).map(([key, curve]) => `  ${JSON.stringify(key)}: ${JSON.stringify(curve)}`);
  return `{
 "version": "nowcast-1.0+sim",
 "material": {"source": "simulated evenings", "evenings": ${evenings}, "cases": ${cases}, "first_seed": ${FIT_SEEDS}},
 "leads": {
${rows.join(',\n')}
 }
}
`;
}

function report(
  key: LeadKey,
  minutes: number,
  cases: readonly Case[],
  curves: Readonly<Record<LeadKey, CalibrationCurve>>,
): string {
  const said = cases.map((one) => onCurve(curves[key], one.raw[key]));
  const came = cases.map((one) => (one.struck[key] ? 1 : 0));
  const base = mean(came);
  const brier = (forecast: (index: number) => number) =>
    mean(came.map((event, index) => (forecast(index) - event) ** 2));
  const model = brier((index) => said[index] as number);
  const raw = brier((index) => cases[index]?.raw[key] ?? 0);
  const persistence = brier((index) => (cases[index]?.now ? 1 : 0));
  const climate = brier(() => base);
  const bins = BINS.slice(0, -1).map((low, bin) => {
    const members = said.flatMap((value, index) => (value >= low && value < (BINS[bin + 1] as number) ? [index] : []));
    return {
      low,
      cases: members.length,
      said: mean(members.map((index) => said[index] as number)),
      came: mean(members.map((index) => came[index] as number)),
    };
  });
  const filled = bins.filter((bin) => bin.cases > 0);
  const error = filled.reduce((sum, bin) => sum + (bin.cases * Math.abs(bin.said - bin.came)) / cases.length, 0);
  const { slope, intercept } = recalibration(said, came);
  return [
    `  t${minutes}: base rate ${base.toFixed(3)}, Brier ${model.toFixed(4)} (not calibrated ${raw.toFixed(4)}, persistence ${persistence.toFixed(4)}, base rate ${climate.toFixed(4)}),`,
    `       skill ${(1 - model / persistence).toFixed(3)} over persistence, ${(1 - model / climate).toFixed(3)} over the base rate,`,
    `       calibration error ${error.toFixed(3)}, logistic recalibration slope ${slope.toFixed(2)}, intercept ${intercept.toFixed(2)}`,
    `       said  ${filled.map((bin) => bin.said.toFixed(2).padStart(6)).join('')}`,
    `       came  ${filled.map((bin) => bin.came.toFixed(2).padStart(6)).join('')}`,
    `       cases ${filled.map((bin) => String(bin.cases).padStart(6)).join('')}`,
  ].join('\n');
}

/** Slope and intercept of the logistic that turns the forecasts' logits into what came; 1 and 0 when nothing is left to mend. */
function recalibration(said: readonly number[], came: readonly number[]): { slope: number; intercept: number } {
  let [slope, intercept] = [1, 0];
  const logits = said.map((value) => Math.log(value / (1 - value)));
  for (let step = 0; step < 20; step++) {
    let [g0, g1, h00, h01, h11] = [0, 0, 0, 0, 0];
    for (const [index, x] of logits.entries()) {
      const p = 1 / (1 + Math.exp(-(intercept + slope * x)));
      const [miss, weight] = [(came[index] as number) - p, p * (1 - p)];
      g0 += miss;
      g1 += miss * x;
      h00 += weight;
      h01 += weight * x;
      h11 += weight * x * x;
    }
    const determinant = h00 * h11 - h01 * h01;
    intercept += (h11 * g0 - h01 * g1) / determinant;
    slope += (h00 * g1 - h01 * g0) / determinant;
  }
  return { slope, intercept };
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
