import { writeFile } from 'node:fs/promises';
import { Command, CommanderError } from 'commander';
import { calibrated, type LeadKey } from '../../api/rules/nowcast.ts';
import { UsageError } from '../../pipeline/error.ts';
import { drawsOf } from '../../pipeline/simulate/random.ts';
import { type CalibrationCurve, NOWCAST_CALIBRATION } from '../../schemas/reference/nowcast-calibration.ts';
import { NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import { fitCalibration, recalibration } from './nowcast-calibration.ts';
import { type Case, casesOf, POINT_MAX_KM, SCAN_AGE_MAX_MIN } from './nowcast-cases.ts';

/** Seeds of the evenings that the calibration is fitted on, and of those it is scored on, never meet. */
const FIT_SEEDS = 5000;
const SCORE_SEEDS = 9000;
const BINS = [0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0001];
/** Cases of an evening hang together: intervals come from so many draws of whole evenings. */
const DRAWS = 200;
const DRAW_SEED = 1;
/** What a well calibrated nowcast keeps to. Source: SCIENCE.md, "Scores". */
const GOALS = {
  error: '0.03 at most',
  slope: '0.9 to 1.1',
  intercept: '-0.15 to 0.15',
  skill: 'above 0, less at each lead',
} as const;

type Curves = Readonly<Record<LeadKey, CalibrationCurve>>;

/**
 * The strike nowcast on simulated evenings, where what comes next is known: reliability and Brier score of every lead
 * beside persistence. `--fit FILE` first fits the calibration on other evenings and writes it.
 */
export async function nowcast(args: string[]): Promise<void> {
  const { evenings, seed, fit } = options(args);
  let curves: Curves = NOWCAST_CALIBRATION.leads;
  if (fit !== null) {
    const cases = casesOf(FIT_SEEDS, 2 * evenings);
    curves = calibration(cases);
    await writeFile(fit, calibrationFile(curves, cases.length, 2 * evenings));
    console.log(`nowcast: calibration fitted on ${cases.length} cases of ${2 * evenings} evenings, written to ${fit}`);
  }
  const cases = casesOf(seed, evenings);
  const said = cases.map(({ raw }) => calibrated(raw, curves));
  console.log(
    `nowcast: ${cases.length} points spread evenly within ${POINT_MAX_KM} km of a storm on ${evenings} simulated evenings, seeds from ${seed}; newest scan up to ${SCAN_AGE_MAX_MIN} min old; [5 %, 95 %] over draws of whole evenings`,
  );
  for (const { key, minutes } of NOWCAST_LEADS) {
    const of = (lead: Readonly<Record<LeadKey, number>>) => lead[key];
    console.log(report(key, minutes, cases, said.map(of)));
  }
}

function options(args: string[]): { evenings: number; seed: number; fit: string | null } {
  const command = new Command('nowcast')
    .option('--evenings <n>', 'evenings to score; --fit learns from twice as many others', '60')
    .option('--seed <n>', 'seed of the first evening to score', String(SCORE_SEEDS))
    .option('--fit <file>', 'fit the calibration and write it')
    .exitOverride();
  try {
    command.parse(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) throw new UsageError(error.message);
    throw error;
  }
  const { evenings, seed, fit } = command.opts<{ evenings: string; seed: string; fit?: string }>();
  if (!/^[1-9]\d{0,2}$/.test(evenings))
    throw new UsageError(`--evenings is '${evenings}', expected a whole number from 1 to 999`);
  if (!/^\d{1,6}$/.test(seed)) throw new UsageError(`--seed is '${seed}', expected a whole number from 0 to 999999`);
  return { evenings: Number(evenings), seed: Number(seed), fit: fit ?? null };
}

function calibration(cases: readonly Case[]): Curves {
  const curve = (key: LeadKey) =>
    fitCalibration(
      cases.map(({ raw }) => raw[key]),
      cases.map(({ struck }) => struck[key]),
    );
  return { t15: curve('t15'), t30: curve('t30'), t45: curve('t45') };
}

function calibrationFile(leads: Curves, cases: number, evenings: number): string {
  const rows = Object.entries(leads).map(([key, curve]) => `  ${JSON.stringify(key)}: ${JSON.stringify(curve)}`);
  return `{
 "version": "nowcast-1.1+sim",
 "material": {"source": "simulated evenings", "evenings": ${evenings}, "cases": ${cases}, "first_seed": ${FIT_SEEDS}},
 "leads": {
${rows.join(',\n')}
 }
}
`;
}

function report(key: LeadKey, minutes: number, cases: readonly Case[], said: readonly number[]): string {
  const came = cases.map(({ struck }) => (struck[key] ? 1 : 0));
  const base = mean(came);
  const brier = (forecast: (index: number) => number) =>
    mean(came.map((event, index) => (forecast(index) - event) ** 2));
  const model = brier((index) => said[index]);
  const raw = brier((index) => cases[index]?.raw[key] ?? 0);
  const persistence = brier((index) => (cases[index]?.now ? 1 : 0));
  const climate = brier(() => base);
  const bins = reliability(said, came);
  const error = bins.reduce((sum, bin) => sum + (bin.cases * Math.abs(bin.said - bin.came)) / cases.length, 0);
  const { slope, intercept } = recalibration(said, came);
  const spread = intervals(cases, said, came);
  const unsure = mean(said.map((value) => (value >= 0.2 && value <= 0.8 ? 1 : 0)));
  return [
    `  t${minutes}: base rate ${base.toFixed(4)}, said ${mean(said).toFixed(4)} on average, ${(100 * unsure).toFixed(1)} % of points between 0.2 and 0.8,`,
    `       Brier ${model.toFixed(5)} (not calibrated ${raw.toFixed(5)}, persistence ${persistence.toFixed(5)}, base rate ${climate.toFixed(5)}),`,
    `       skill ${(1 - model / persistence).toFixed(3)} ${spread.skill} over persistence (goal ${GOALS.skill}), ${(1 - model / climate).toFixed(3)} over the base rate,`,
    `       calibration error ${error.toFixed(4)} (goal ${GOALS.error}), logistic recalibration slope ${slope.toFixed(2)} ${spread.slope} (goal ${GOALS.slope}),`,
    `       intercept ${intercept.toFixed(2)} ${spread.intercept} (goal ${GOALS.intercept})`,
    `       said  ${bins.map((bin) => bin.said.toFixed(3).padStart(7)).join('')}`,
    `       came  ${bins.map((bin) => bin.came.toFixed(3).padStart(7)).join('')}`,
    `       cases ${bins.map((bin) => String(bin.cases).padStart(7)).join('')}`,
  ].join('\n');
}

/** Forecasts in bins, without the empty ones: how many, their mean, and how often it came true. */
function reliability(
  said: readonly number[],
  came: readonly number[],
): { cases: number; said: number; came: number }[] {
  return BINS.slice(0, -1)
    .map((low, bin) => said.flatMap((value, index) => (value >= low && value < BINS[bin + 1] ? [index] : [])))
    .filter((members) => members.length > 0)
    .map((members) => ({
      cases: members.length,
      said: mean(members.map((index) => said[index])),
      came: mean(members.map((index) => came[index])),
    }));
}

/** 5 and 95 % of the recalibration and of the skill over persistence, evenings drawn with replacement. */
function intervals(
  cases: readonly Case[],
  said: readonly number[],
  came: readonly number[],
): { slope: string; intercept: string; skill: string } {
  const evenings = 1 + Math.max(...cases.map(({ evening }) => evening));
  const draw = drawsOf(DRAW_SEED);
  const whole = recalibration(said, came);
  const drawn = Array.from({ length: DRAWS }, () => {
    const times = new Uint16Array(evenings);
    for (let n = 0; n < evenings; n++) {
      const evening = Math.floor(evenings * draw());
      times[evening] = times[evening] + 1;
    }
    const weights = cases.map(({ evening }) => times[evening]);
    const squares = (forecast: (index: number) => number) =>
      came.reduce((sum, event, index) => sum + weights[index] * (forecast(index) - event) ** 2, 0);
    const skill = 1 - squares((index) => said[index]) / squares((index) => (cases[index]?.now ? 1 : 0));
    return { skill, ...recalibration(said, came, weights, { from: whole, steps: 4 }) };
  });
  return {
    slope: middle(drawn.map(({ slope }) => slope)),
    intercept: middle(drawn.map(({ intercept }) => intercept)),
    skill: middle(drawn.map(({ skill }) => skill)),
  };
}

function middle(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(2);
  return `[${at(0.05)}, ${at(0.95)}]`;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
