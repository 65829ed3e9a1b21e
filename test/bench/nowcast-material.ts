import { UsageError } from '../../pipeline/error.ts';
import { weighed } from '../../schemas/nowcast/probability.ts';
import type { NowcastFit } from '../../schemas/reference/nowcast-model.ts';
import type { LeadKey } from '../../schemas/resources/nowcast.ts';
import type { StandIn } from '../support/data/hail-mask.ts';
import type { BenchCase } from './nowcast-cases.ts';
import { type Evening, eveningCases, standInsOf } from './nowcast-frames.ts';
import { learnRivals, RIVALS, type Rival, type RivalCase } from './nowcast-rivals.ts';
import { crossValidated, mean, type Scores, scoresOf } from './nowcast-scores.ts';
import { fitLeads, type NowcastCase } from './train/nowcast-fit.ts';
import { NEAR_KM } from './train/nowcast-points.ts';

type Forecast = Readonly<Record<LeadKey, number>>;

/** An evening of real frames, read by a stand-in. */
export interface Reading {
  readonly name: string;
  readonly evening: string;
  readonly standIn: StandIn;
  readonly cases: readonly BenchCase[];
}

/** Forecasts by some weights; none where nothing could be learnt, for the reason given. */
export interface Said {
  readonly weights: 'published' | 'other evenings' | 'other regions';
  readonly forecasts: readonly Forecast[] | null;
  readonly why: string | null;
}

/** Cases with forecasts by several weights, the published ones first. */
export interface Material {
  readonly name: string;
  readonly cases: readonly BenchCase[];
  readonly said: readonly Said[];
  /** What baselines learn from; where it does not reach a lead, or is not there, they learn from other blocks. */
  readonly others: readonly BenchCase[];
}

/** Readings of evenings by every stand-in that they allow. */
export function readingsOf(evenings: readonly Evening[]): Reading[] {
  return evenings.flatMap((evening) =>
    standInsOf(evening).map((standIn) => ({
      name: `${evening.name} ${standIn}`,
      evening: evening.name,
      standIn,
      cases: eveningCases(evening, standIn),
    })),
  );
}

/** The reading of each evening that comes nearest to hail: its mask where there is one, else its cores. Weights learn from these. */
export function leadingReadings(readings: readonly Reading[]): Reading[] {
  return [...Map.groupBy(readings, ({ evening }) => evening).values()].map(([first]) => first as Reading);
}

/** Leading cases of the evenings but one. */
export function othersOf({ evening }: Reading, readings: readonly Reading[]): BenchCase[] {
  return leadingReadings(readings)
    .filter((other) => other.evening !== evening)
    .flatMap(({ cases }) => cases);
}

/** Forecasts of a reading by the published weights, by those of the other evenings, and by those of other regions of its own. */
export function realMaterial(reading: Reading, readings: readonly Reading[], published: NowcastFit): Material {
  const { name, cases } = reading;
  const others = othersOf(reading, readings);
  const said: Said[] = [{ weights: 'published', forecasts: forecastsBy(cases, published.leads), why: null }];
  if (others.length > 0) said.push(saidByOthers(reading, others));
  said.push(saidByRegions(reading));
  return { name, cases, said, others };
}

/** Forecasts of a reading by weights that learnt from cases of other evenings. */
export function saidByOthers({ evening, cases }: Reading, others: readonly BenchCase[]): Said {
  return learnt('other evenings', () => forecastsBy(cases, fitLeads(others, `the evenings but ${evening}`)));
}

function saidByRegions({ name, cases }: Reading): Said {
  const block = cases.map((one) => one.block);
  return learnt('other regions', () =>
    crossValidated(block, (learn) => {
      const ofFold = learn.map((n) => cases[n] as BenchCase);
      const leads = fitLeads(ofFold, `regions of ${name} but those of a fold`);
      return (n) => weighed((cases[n] as BenchCase).raw, leads);
    }),
  );
}

/** Simulated evenings, forecast by weights of other simulated evenings: that the same program drew both says nothing of nature. */
export function simulatedMaterial(cases: readonly BenchCase[], published: NowcastFit): Material {
  const said: Said = { weights: 'published', forecasts: forecastsBy(cases, published.leads), why: null };
  return { name: 'simulated', cases, said: [said], others: [] };
}

/** Weights that cannot be learnt say why; any other failure goes on. */
function learnt(weights: Said['weights'], forecasts: () => readonly Forecast[]): Said {
  try {
    return { weights, forecasts: forecasts(), why: null };
  } catch (error) {
    if (error instanceof UsageError) return { weights, forecasts: null, why: error.message };
    throw error;
  }
}

function forecastsBy(cases: readonly NowcastCase[], leads: NowcastFit['leads']): Forecast[] {
  return cases.map((one) => weighed(one.raw, leads));
}

/** Scores of forecasts by some weights near storms, and what is said and comes farther off. */
export interface WeightsScores {
  readonly weights: Said['weights'];
  readonly scores: Scores;
  readonly far: { readonly cases: number; readonly said: number; readonly came: number };
}

/** Scores of a lead on some material, beside its baselines. */
export interface LeadScores {
  /** Of each weights that could be learnt, the published ones first; empty where nothing can be scored, `why` says so. */
  readonly byWeights: readonly WeightsScores[];
  /** The baseline with the lowest Brier score. */
  readonly best: Rival;
  /** What the baselines learnt from. */
  readonly learnt_from: 'other evenings' | 'other blocks';
  readonly why: readonly string[];
}

/** Brier score and reliability of a lead, beside its baselines. */
export function leadScores(key: LeadKey, { cases, said, others }: Material): LeadScores {
  const known = [...cases.keys()].filter((n) => cases[n]?.struck[key] !== null);
  const caseOf = (n: number) => cases[n] as BenchCase;
  const cameOf = (n: number) => (caseOf(n).struck[key] === true ? 1 : 0);
  const far = known.filter((n) => caseOf(n).distance_km > NEAR_KM);
  const near = known.filter((n) => caseOf(n).distance_km <= NEAR_KM);
  const came = near.map(cameOf);
  const base = mean(came);
  const learnable = knownNear(others, key);
  const learnt_from = learnable.length > 0 ? 'other evenings' : 'other blocks';
  const nothing = { byWeights: [], best: RIVALS[0], learnt_from } as const;
  if (near.length === 0) return { ...nothing, why: ['no frames show what came by then'] };
  if (base === 0 || base === 1)
    return { ...nothing, why: [`${near.length} cases, ${base * near.length} struck, expected some of both`] };
  const block = near.map((n) => caseOf(n).block);
  const rivals = rivalForecasts(knownNear(cases, key), block, learnable, key);
  const byWeights = said.flatMap(({ weights, forecasts }) => {
    if (forecasts === null) return [];
    const saidOf = (n: number) => (forecasts[n] as Forecast)[key];
    const scores = scoresOf({
      block,
      came,
      said: near.map(saidOf),
      rivals: {
        ...rivals,
        'not weighed': near.map((n) => caseOf(n).raw[key]),
        'base rate': near.map(() => base),
      },
    });
    return [{ weights, scores, far: { cases: far.length, said: mean(far.map(saidOf)), came: mean(far.map(cameOf)) } }];
  });
  const brier = byWeights[0]?.scores.rival_brier ?? {};
  const best = RIVALS.toSorted((a, b) => (brier[a] as number) - (brier[b] as number))[0] as Rival;
  return { byWeights, best, learnt_from, why: said.flatMap(({ why }) => why ?? []) };
}

/** Cases near storms whose outcome at a lead is known. */
function knownNear(cases: readonly BenchCase[], key: LeadKey): RivalCase[] {
  return cases
    .filter(({ struck, distance_km }) => struck[key] !== null && distance_km <= NEAR_KM)
    .map(({ rivals, struck }) => ({ rivals, came: struck[key] === true ? 1 : 0 }));
}

/** Forecasts by each baseline, learnt from other cases, or without any from other blocks of these. */
function rivalForecasts(
  cases: readonly RivalCase[],
  block: readonly string[],
  others: readonly RivalCase[],
  key: LeadKey,
): Readonly<Record<Rival, readonly number[]>> {
  const forecastOf = (learnt: ReturnType<typeof learnRivals>) => (n: number) => learnt((cases[n] as RivalCase).rivals);
  const forecasts =
    others.length > 0
      ? [...cases.keys()].map(forecastOf(learnRivals(others, key)))
      : crossValidated(block, (learn) =>
          forecastOf(
            learnRivals(
              learn.map((n) => cases[n] as RivalCase),
              key,
            ),
          ),
        );
  const of = (rival: Rival) => forecasts.map((forecast) => forecast[rival]);
  return { persistence: of('persistence'), advection: of('advection'), lagrangian: of('lagrangian'), flow: of('flow') };
}
