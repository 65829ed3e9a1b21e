import { writeFile } from 'node:fs/promises';
import { Command, CommanderError } from 'commander';
import { STRIKE_KM, weighed } from '../../api/rules/nowcast.ts';
import { UsageError } from '../../pipeline/error.ts';
import { NOWCAST_MODEL, type NowcastFit } from '../../schemas/reference/nowcast-model.ts';
import { type LeadKey, NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import { STAND_INS } from '../support/data/hail-mask.ts';
import { hasSharedData, sharedData } from '../support/data/shared-folder.ts';
import { type Case, FAR_KM, NEAR_KM } from './nowcast-cases.ts';
import { fitLeads, to4 } from './nowcast-fit.ts';
import { rainFrames, realCases } from './nowcast-frames.ts';
import { crossValidated, type Interval, mean, type Scores, scoresOf, twoProbabilities } from './nowcast-scores.ts';
import { SCAN_AGE_MAX_MIN, simulatedCases } from './nowcast-simulated.ts';
import { fitSurvival, readSizes, survivalCases } from './nowcast-survival.ts';

/** Seeds of the evenings that weights are fitted on, and of those they are scored on, never meet. */
const FIT_SEEDS = 5000;
const SCORE_SEEDS = 9000;
/** The stand-in that marks hail: weights for observed data are fitted on it. */
const FIT_STAND_IN = 'hail';

type Forecast = Readonly<Record<LeadKey, number>>;

/** What the nowcast is judged on, with forecasts by weights that did not learn from the block of a case. */
interface Material {
  readonly name: string;
  readonly cases: readonly Case[];
  readonly said: readonly Forecast[];
  /** By the weights that are published. */
  readonly published: readonly Forecast[];
}

/**
 * The strike nowcast on simulated evenings and on real frames, side by side: Brier score and skill against persistence and
 * against the storms' own hail moved along, reliability, sharpness. On simulated evenings the weights come from others, on
 * real frames from other regions. `--real DIR` names the frames; `--fit FILE` first fits the model and writes it.
 */
export async function nowcast(args: string[]): Promise<void> {
  const { evenings, seed, fit, real } = options(args);
  const reals = real === null ? [] : realMaterials(real);
  let model: typeof NOWCAST_MODEL = NOWCAST_MODEL;
  if (fit !== null) {
    model = fitted(evenings, reals);
    await writeFile(fit, modelFile(model));
    console.log(`nowcast: model written to ${fit}`);
  }
  const simulated = simulatedCases(seed, evenings);
  const materials: Material[] = [
    {
      name: 'simulated',
      cases: simulated,
      said: by(simulated, model.simulated),
      published: by(simulated, model.simulated),
    },
    ...reals.map(({ name, cases, said }) => ({ name, cases, said, published: by(cases, model.observed) })),
  ];
  console.log(
    [
      `nowcast: ${evenings} simulated evenings, seeds from ${seed}, newest scan up to ${SCAN_AGE_MAX_MIN} min old, a block each`,
      real === null
        ? 'real frames need ../shared/data, which is absent'
        : `${real}, regions of 3 degrees are blocks; hail: rate 53.8 mm/h exactly, cores: from 50, rain: all`,
      `points spread evenly within ${NEAR_KM} km of a storm; [5 %, 95 %] over draws of whole blocks; weights and the two`,
      'probabilities of advection (the hail of storms moved along their course) were learnt on other blocks',
    ].join('\n  '),
  );
  for (const { key, minutes } of NOWCAST_LEADS) console.log(report(key, minutes, materials));
}

/** Real frames by every stand-in, forecast by weights of other regions. */
function realMaterials(folder: string): Omit<Material, 'published'>[] {
  const frames = rainFrames(folder);
  return STAND_INS.map((standIn) => {
    const cases = realCases(frames, standIn);
    const block = cases.map((one) => one.block);
    const said = crossValidated(block, (learn) => {
      const leads = fitLeads(learn.map((n) => cases[n] as Case));
      return (n) => weighed(cases[n] as Case, leads);
    });
    return { name: `real ${standIn}`, cases, said };
  });
}

function by(cases: readonly Case[], { leads }: NowcastFit): Forecast[] {
  return cases.map((one) => weighed(one, leads));
}

/** The model as its material has it. Raw probabilities go by the survival in use: where that is new, fit again. */
function fitted(evenings: number, reals: readonly Omit<Material, 'published'>[]): typeof NOWCAST_MODEL {
  const real = reals.find(({ name }) => name === `real ${FIT_STAND_IN}`);
  if (real === undefined) throw new UsageError('--fit needs the real files of ../shared/data, which are absent');
  const { dates, days } = readSizes(sharedData('probsevere'));
  const survival = fitSurvival(survivalCases(days), `ProbSevere objects of ${dates.join(' and ')}`);
  if (JSON.stringify(survival) !== JSON.stringify(NOWCAST_MODEL.survival))
    console.log('nowcast: survival differs from the one in use, put the file in its place and fit again');
  const simulated = simulatedCases(FIT_SEEDS, 2 * evenings);
  const skillOf = (key: LeadKey) => {
    const { scores } = leadScores(key, real.cases, real.said, real.said);
    const skill = scores?.skill.advection;
    return skill === undefined || skill.low === null || skill.high === null
      ? null
      : { low: to4(skill.low), high: to4(skill.high) };
  };
  return {
    survival,
    observed: fitOf('mrms', 'hail cap in MRMS rain rates of 2019-06-10, 38 minutes', real.cases),
    simulated: fitOf('sim', `${2 * evenings} simulated evenings, seeds from ${FIT_SEEDS}`, simulated),
    skill_over_advection: { t15: skillOf('t15'), t30: skillOf('t30'), t45: skillOf('t45') },
  };
}

function fitOf(kind: string, source: string, cases: readonly Case[]): NowcastFit {
  const blocks = new Set(cases.map(({ block }) => block)).size;
  return {
    version: `nowcast-2.0+${kind}`,
    material: { source, cases: cases.length, blocks },
    leads: fitLeads(cases),
  };
}

function modelFile({ survival, observed, simulated, skill_over_advection }: typeof NOWCAST_MODEL): string {
  const fitText = ({ version, material, leads }: NowcastFit) => `{
  "version": ${JSON.stringify(version)},
  "material": ${JSON.stringify(material)},
  "leads": {
${Object.entries(leads)
  .map(([key, weights]) => `   ${JSON.stringify(key)}: ${JSON.stringify(weights)}`)
  .join(',\n')}
  }
 }`;
  return `{
 "survival": ${JSON.stringify(survival)},
 "observed": ${fitText(observed)},
 "simulated": ${fitText(simulated)},
 "skill_over_advection": ${JSON.stringify(skill_over_advection)}
}
`;
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
    .option('--fit <file>', 'fit the model and write it')
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

/** Scores of a lead on every material, a column each; then reliability, material by material. */
function report(key: LeadKey, minutes: number, materials: readonly Material[]): string {
  const columns = materials.map(({ name, cases, said, published }) => ({
    name,
    ...leadScores(key, cases, said, published),
  }));
  const judged = columns.filter(({ scores }) => scores !== null) as { name: string; far: string; scores: Scores }[];
  const row = (label: string, of: (scores: Scores) => string) =>
    `    ${label.padEnd(28)}${judged.map(({ scores }) => of(scores).padStart(24)).join('')}`;
  const rows = [
    `  t${minutes}${''.padEnd(29)}${judged.map(({ name }) => name.padStart(24)).join('')}`,
    row('cases, blocks', ({ cases, blocks }) => `${cases}, ${blocks}`),
    row('base rate', ({ base_rate }) => base_rate.toFixed(4)),
    row('Brier', ({ brier }) => brier.toFixed(5)),
    ...['as published', 'not weighed', 'advection', 'persistence', 'base rate'].map((name) =>
      row(`Brier of ${name}`, ({ rival_brier }) => (rival_brier[name] as number).toFixed(5)),
    ),
    ...['advection', 'persistence', 'not weighed'].map((name) =>
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
  said: readonly Forecast[],
  published: readonly Forecast[],
): { scores: Scores | null; far: string } {
  const known = [...cases.keys()].filter((n) => cases[n]?.struck[key] !== null);
  const caseOf = (n: number) => cases[n] as Case;
  const saidOf = (forecasts: readonly Forecast[], n: number) => (forecasts[n] as Forecast)[key];
  const cameOf = (n: number) => (caseOf(n).struck[key] === true ? 1 : 0);
  const rest = known.filter((n) => caseOf(n).distance_km > NEAR_KM);
  const shares = [mean(rest.map((n) => saidOf(said, n))), mean(rest.map(cameOf))];
  const far = `${rest.length}: ${shares.map((share) => share.toFixed(4)).join(', ')}`;
  const near = known.filter((n) => caseOf(n).distance_km <= NEAR_KM);
  if (near.length === 0) return { scores: null, far };
  const came = near.map(cameOf);
  const block = near.map((n) => caseOf(n).block);
  const holds = near.map((n) => caseOf(n).course.path_km[key] <= STRIKE_KM);
  const base = mean(came);
  const scores = scoresOf({
    block,
    came,
    said: near.map((n) => saidOf(said, n)),
    rivals: {
      'as published': near.map((n) => saidOf(published, n)),
      'not weighed': near.map((n) => caseOf(n).raw[key]),
      advection: crossValidated(block, twoProbabilities(holds, came)),
      persistence: near.map((n) => (caseOf(n).now ? 1 : 0)),
      'base rate': near.map(() => base),
    },
  });
  return { scores, far };
}

function shown({ value, low, high }: Interval): string {
  const bounds = low === null || high === null ? '' : ` [${low.toFixed(2)}, ${high.toFixed(2)}]`;
  return `${value.toFixed(3)}${bounds}`;
}
