import { writeFile } from 'node:fs/promises';
import { Command, CommanderError } from 'commander';
import { calibrated, STRIKE_KM } from '../../api/rules/nowcast.ts';
import { UsageError } from '../../pipeline/error.ts';
import { type CalibrationCurve, NOWCAST_CALIBRATION } from '../../schemas/reference/nowcast-calibration.ts';
import { type LeadKey, NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import { STAND_INS } from '../support/data/hail-mask.ts';
import { hasSharedData, sharedData } from '../support/data/shared-folder.ts';
import { fitCalibration } from './nowcast-calibration.ts';
import { type Case, FAR_KM, NEAR_KM } from './nowcast-cases.ts';
import { rainFrames, realCases } from './nowcast-frames.ts';
import { crossValidated, type Interval, mean, type Scores, scoresOf, twoProbabilities } from './nowcast-scores.ts';
import { SCAN_AGE_MAX_MIN, simulatedCases } from './nowcast-simulated.ts';

/** Seeds of the evenings that the calibration is fitted on, and of those it is scored on, never meet. */
const FIT_SEEDS = 5000;
const SCORE_SEEDS = 9000;

type Curves = Readonly<Record<LeadKey, CalibrationCurve>>;

/** What the nowcast is judged on. */
interface Material {
  readonly name: string;
  readonly cases: readonly Case[];
}

/**
 * The strike nowcast on simulated evenings and on real frames, side by side: Brier score and skill against persistence and
 * against the storms' own hail moved along, reliability, sharpness. `--real DIR` names the frames; `--fit FILE` first fits
 * the calibration on other evenings and writes it.
 */
export async function nowcast(args: string[]): Promise<void> {
  const { evenings, seed, fit, real } = options(args);
  let curves: Curves = NOWCAST_CALIBRATION.leads;
  if (fit !== null) {
    const cases = simulatedCases(FIT_SEEDS, 2 * evenings);
    curves = calibration(cases);
    await writeFile(fit, calibrationFile(curves, cases.length, 2 * evenings));
    console.log(`nowcast: calibration fitted on ${cases.length} cases of ${2 * evenings} evenings, written to ${fit}`);
  }
  const materials: Material[] = [{ name: 'simulated', cases: simulatedCases(seed, evenings) }];
  if (real === null) console.log('nowcast: real frames need ../shared/data, which is absent');
  else {
    const frames = rainFrames(real);
    for (const standIn of STAND_INS) materials.push({ name: `real ${standIn}`, cases: realCases(frames, standIn) });
  }
  console.log(
    [
      `nowcast: ${evenings} simulated evenings, seeds from ${seed}, newest scan up to ${SCAN_AGE_MAX_MIN} min old, a block each`,
      real === null
        ? ''
        : `${real}, regions of 3 degrees are blocks; hail: rate 53.8 mm/h exactly, cores: from 50, rain: all`,
      `points spread evenly within ${NEAR_KM} km of a storm; [5 %, 95 %] over draws of whole blocks`,
      'advection: the hail of storms moved along their course, with two probabilities fitted on other blocks',
    ]
      .filter((line) => line !== '')
      .join('\n  '),
  );
  for (const { key, minutes } of NOWCAST_LEADS) console.log(report(key, minutes, materials, curves));
}

interface Options {
  readonly evenings: number;
  readonly seed: number;
  readonly fit: string | null;
  readonly real: string | null;
}

function options(args: string[]): Options {
  const command = new Command('nowcast')
    .option('--evenings <n>', 'evenings to score; --fit learns from twice as many others', '60')
    .option('--seed <n>', 'seed of the first evening to score', String(SCORE_SEEDS))
    .option('--fit <file>', 'fit the calibration and write it')
    .option('--real <dir>', 'folder of real PrecipRate frames')
    .exitOverride();
  try {
    command.parse(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) throw new UsageError(error.message);
    throw error;
  }
  const { evenings, seed, fit, real } = command.opts<{ evenings: string; seed: string; fit?: string; real?: string }>();
  if (!/^[1-9]\d{0,2}$/.test(evenings))
    throw new UsageError(`--evenings is '${evenings}', expected a whole number from 1 to 999`);
  if (!/^\d{1,6}$/.test(seed)) throw new UsageError(`--seed is '${seed}', expected a whole number from 0 to 999999`);
  return {
    evenings: Number(evenings),
    seed: Number(seed),
    fit: fit ?? null,
    real: real ?? (hasSharedData ? sharedData('mrms-sequence') : null),
  };
}

function calibration(cases: readonly Case[]): Curves {
  const curve = (key: LeadKey) =>
    fitCalibration(
      cases.map(({ raw }) => raw[key]),
      cases.map(({ struck }) => struck[key] === true),
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

/** Scores of a lead on every material, a column each; then reliability, material by material. */
function report(key: LeadKey, minutes: number, materials: readonly Material[], curves: Curves): string {
  const columns = materials.map(({ name, cases }) => {
    const known = cases.filter(({ struck }) => struck[key] !== null);
    const said = known.map(({ raw }) => calibrated(raw, curves)[key]);
    return { name, ...leadScores(key, known, said) };
  });
  const judged = columns.filter(({ scores }) => scores !== null) as { name: string; far: string; scores: Scores }[];
  const row = (label: string, of: (scores: Scores) => string) =>
    `    ${label.padEnd(28)}${judged.map(({ scores }) => of(scores).padStart(24)).join('')}`;
  const rows = [
    `  t${minutes}${''.padEnd(29)}${judged.map(({ name }) => name.padStart(24)).join('')}`,
    row('cases, blocks', ({ cases, blocks }) => `${cases}, ${blocks}`),
    row('base rate', ({ base_rate }) => base_rate.toFixed(4)),
    row('Brier', ({ brier }) => brier.toFixed(5)),
    ...['not calibrated', 'advection', 'persistence', 'base rate'].map((name) =>
      row(`Brier of ${name}`, ({ rival_brier }) => (rival_brier[name] as number).toFixed(5)),
    ),
    ...['advection', 'persistence', 'not calibrated'].map((name) =>
      row(`skill over ${name}`, ({ skill }) => shown(skill[name] as Interval)),
    ),
    row('said, came from .02 on', ({ said, came }) => `${said.toFixed(3)}, ${came.toFixed(3)}`),
    row('slope from .02 on', ({ slope }) => shown(slope)),
    row('intercept from .02 on', ({ intercept }) => shown(intercept)),
    row('said .2 to .8', ({ unsure }) => `${(100 * unsure).toFixed(1)} %`),
    `    ${`${NEAR_KM}-${FAR_KM} km: cases said, came`.padEnd(28)}${judged.map(({ far }) => far.padStart(24)).join('')}`,
  ];
  const none = columns.filter(({ scores }) => scores === null).map(({ name }) => name);
  if (none.length > 0) rows.push(`    not judged, because the scans do not reach so far: ${none.join(', ')}`);
  for (const { name, scores } of judged) {
    const line = (label: string, of: (bin: Scores['bins'][number]) => string) =>
      `    ${label.padEnd(20)}${scores.bins.map((bin) => of(bin).padStart(7)).join('')}`;
    rows.push(line(`${name} said`, (bin) => bin.said.toFixed(3)));
    rows.push(line('came', (bin) => bin.came.toFixed(3)));
    rows.push(line('cases', (bin) => String(bin.cases)));
  }
  return rows.join('\n');
}

/** Scores of forecasts of a lead near storms, and what is said and comes farther off. */
function leadScores(
  key: LeadKey,
  cases: readonly Case[],
  said: readonly number[],
): { scores: Scores | null; far: string } {
  const near = cases.flatMap(({ distance_km }, n) => (distance_km <= NEAR_KM ? [n] : []));
  const rest = cases.flatMap(({ distance_km }, n) => (distance_km > NEAR_KM ? [n] : []));
  const cameOf = (indices: readonly number[]) => indices.map((n) => (cases[n]?.struck[key] === true ? 1 : 0));
  const far = [mean(rest.map((n) => said[n])), mean(cameOf(rest))].map((share) => share.toFixed(4)).join(', ');
  const came = cameOf(near);
  if (near.length === 0) return { scores: null, far };
  const block = near.map((n) => cases[n]?.block as string);
  const holds = near.map((n) => (cases[n] as Case).course.path_km[key] <= STRIKE_KM);
  const base = mean(came);
  const scores = scoresOf({
    block,
    came,
    said: near.map((n) => said[n]),
    rivals: {
      'not calibrated': near.map((n) => (cases[n] as Case).raw[key]),
      advection: crossValidated(block, twoProbabilities(holds, came)),
      persistence: near.map((n) => (cases[n]?.now ? 1 : 0)),
      'base rate': near.map(() => base),
    },
  });
  return { scores, far: `${rest.length}: ${far}` };
}

function shown({ value, low, high }: Interval): string {
  const bounds = low === null || high === null ? '' : ` [${low.toFixed(2)}, ${high.toFixed(2)}]`;
  return `${value.toFixed(3)}${bounds}`;
}
