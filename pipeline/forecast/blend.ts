import {
  CONFIDENCE_STATES,
  type ConfidenceState,
  OUTLOOK_DAYS,
  OUTLOOK_SOURCES,
  type OutlookSource,
} from '../../schemas/tables/outlook.ts';
import { logistic } from './hail-law.ts';

/** Weights of each component on days 1 to 7; a component that is missing is left out and the others share its weight. */
export const BLEND_WEIGHTS: Readonly<Record<OutlookSource, readonly number[]>> = {
  spc: [0.5, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25],
  hrrr: [0.35, 0.2, 0, 0, 0, 0, 0],
  climatology: [0.15, 0.3, 0.55, 0.6, 0.65, 0.7, 0.75],
};

/** How much an agreement of the components is worth on each day. */
const DAY_CONFIDENCE = [0.9, 0.8, 0.7, 0.5, 0.4, 0.3, 0.25] as const;
/** A standard deviation of two in logits leaves no confidence. */
const NO_CONFIDENCE_SD = 2;
const CONFIDENCE_BOUNDS = [0.3, 0.6] as const;

/** Logits are taken within these, percent: no component is ever certain. */
const CERTAINTY_PCT = { low: 0.1, high: 99.9 } as const;
/** What stands for a quiet day where the climatology is not known, percent. */
const QUIET_PCT = 1.5;

/** Components of a day in percent; null is missing. */
export type Components = Readonly<Record<OutlookSource, number | null>>;

export interface BlendedDay {
  readonly probability_pct: number;
  readonly confidence_score: number;
  readonly confidence_state: ConfidenceState | null;
  readonly primary_source: OutlookSource;
}

/**
 * Weighted mean of the components' logits on a day from 1 to 7, one decimal, never outside the components it is made of;
 * null when all that have a weight are missing. Components have at most one decimal themselves.
 */
export function blendDay(day: number, components: Components): BlendedDay | null {
  const parts = usedSources(day, components).map((source) => {
    const pct = components[source] ?? 0;
    return { source, pct, logit: logit(pct), weight: weightOf(source, day) };
  });
  if (parts.length === 0) return null;
  const whole = parts.reduce((sum, { weight }) => sum + weight, 0);
  const mean = parts.reduce((sum, { weight, logit }) => sum + weight * logit, 0) / whole;
  const pcts = parts.map(({ pct }) => pct);
  const blended = Math.round(1000 * logistic(mean)) / 10;
  const usual = logit(components.climatology ?? QUIET_PCT);
  const [primary] = parts.toSorted(
    (a, b) =>
      b.weight * Math.abs(b.logit - usual) - a.weight * Math.abs(a.logit - usual) ||
      OUTLOOK_SOURCES.indexOf(a.source) - OUTLOOK_SOURCES.indexOf(b.source),
  );
  const score = confidence(
    day,
    parts.map(({ logit }) => logit),
  );
  const climatology_alone = parts.every(({ source }) => source === 'climatology');
  return {
    probability_pct: Math.min(Math.max(...pcts), Math.max(Math.min(...pcts), blended)),
    confidence_score: score,
    confidence_state: climatology_alone ? null : confidenceState(score),
    primary_source: primary?.source ?? 'climatology',
  };
}

/** Components that take part on a day: those that are there and have a weight. */
export function usedSources(day: number, components: Components): OutlookSource[] {
  return OUTLOOK_SOURCES.filter((source) => components[source] !== null && weightOf(source, day) > 0);
}

/** Throws RangeError for a day that the outlook does not have. */
function weightOf(source: OutlookSource, day: number): number {
  const weight = BLEND_WEIGHTS[source][day - 1];
  if (weight === undefined) throw new RangeError(`day is ${day}, expected 1 to ${OUTLOOK_DAYS}`);
  return weight;
}

function confidence(day: number, logits: readonly number[]): number {
  const mean = logits.reduce((sum, value) => sum + value, 0) / logits.length;
  const sd = Math.sqrt(logits.reduce((sum, value) => sum + (value - mean) ** 2, 0) / logits.length);
  return Math.round(1000 * (1 - Math.min(1, sd / NO_CONFIDENCE_SD)) * (DAY_CONFIDENCE[day - 1] ?? 0)) / 1000;
}

function confidenceState(score: number): ConfidenceState {
  return CONFIDENCE_STATES[CONFIDENCE_BOUNDS.filter((bound) => score >= bound).length] as ConfidenceState;
}

function logit(pct: number): number {
  const p = Math.min(CERTAINTY_PCT.high, Math.max(CERTAINTY_PCT.low, pct)) / 100;
  return Math.log(p / (1 - p));
}
