import { HAIL_CONTOURS_PCT } from '../../schemas/reference/spc-categories.ts';
import {
  CONFIDENCE_STATES,
  type ConfidenceState,
  OUTLOOK_SOURCES,
  type OutlookSource,
} from '../../schemas/tables/forecast.ts';
import { logistic } from './hail-law.ts';

/** Sources that forecast a day. The climatology is used only where none of them has a value. */
type ForecastSource = Exclude<OutlookSource, 'climatology'>;

/** Weights of the forecasts on days 1 to 7. When one is missing, the other has all the weight. */
const FORECAST_WEIGHTS: Readonly<Record<ForecastSource, readonly number[]>> = {
  spc: [0.5, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25],
  hrrr: [0.35, 0.2, 0, 0, 0, 0, 0],
};

/** Confidence in forecasts that agree, by day: skill falls with the lead. */
const DAY_CONFIDENCE = [0.9, 0.8, 0.7, 0.5, 0.4, 0.3, 0.25] as const;
/** Agreement of two forecasts by the number of SPC hail contours between them: 1 up to 1 contour, `LEAST` from 3 on. */
const LEAST_AGREEMENT = 0.5;
/** Agreement of a single forecast. */
const ALONE_AGREEMENT = 0.75;
/** Score of a day without a forecast. */
const CLIMATOLOGY_SCORE = 0.2;
/** Scores from which the confidence state is medium and high. */
const STATE_BOUNDS = [0.4, 0.65] as const;

/** Bounds of a component before its logit is taken, percent. */
const CERTAINTY_PCT = { low: 0.1, high: 99.9 } as const;
/** Substitute for an unknown climatology, percent: a quiet day. */
const QUIET_PCT = 1.5;

/** Components of a day, percent; null where missing. */
export type Components = Readonly<Record<OutlookSource, number | null>>;

/**
 * Weighted mean of the logits of the forecasts of a day from 1 to 7, percent with one decimal, never outside their range; the
 * climatology where there is no forecast. Null without any component. Components have at most one decimal.
 */
export function blendDay(day: number, components: Components) {
  const used = usedSources(day, components);
  const parts = used.map((source) => {
    const pct = components[source] ?? 0;
    return { source, pct, logit: logit(pct), weight: source === 'climatology' ? 1 : FORECAST_WEIGHTS[source][day - 1] };
  });
  if (parts.length === 0) return null;
  const whole = parts.reduce((sum, { weight }) => sum + weight, 0);
  const mean = parts.reduce((sum, { weight, logit }) => sum + weight * logit, 0) / whole;
  const pcts = parts.map(({ pct }) => pct);
  const blended = Math.round(1000 * logistic(mean)) / 10;
  const climatology = logit(components.climatology ?? QUIET_PCT);
  const [primary] = parts.toSorted(
    (a, b) =>
      b.weight * Math.abs(b.logit - climatology) - a.weight * Math.abs(a.logit - climatology) ||
      OUTLOOK_SOURCES.indexOf(a.source) - OUTLOOK_SOURCES.indexOf(b.source),
  );
  const primary_source = primary?.source ?? 'climatology';
  const score = primary_source === 'climatology' ? CLIMATOLOGY_SCORE : confidence(day, pcts);
  return {
    probability_pct: Math.min(Math.max(...pcts), Math.max(Math.min(...pcts), blended)),
    confidence_score: score,
    confidence_state: confidenceState(score),
    primary_source,
    used,
  };
}

/** Components that a day is blended from: the known forecasts with a weight; without any, the climatology. */
function usedSources(day: number, components: Components): OutlookSource[] {
  const forecasts = (['spc', 'hrrr'] as const).filter(
    (source) => FORECAST_WEIGHTS[source][day - 1] > 0 && components[source] !== null,
  );
  if (forecasts.length > 0) return forecasts;
  return components.climatology === null ? [] : ['climatology'];
}

/** Agreement of the forecasts of a day times the confidence of its lead, 0 to 1, three decimals. */
function confidence(day: number, [first, second]: readonly number[]): number {
  const agreed = first === undefined || second === undefined ? ALONE_AGREEMENT : agreement(first, second);
  return Math.round(1000 * agreed * DAY_CONFIDENCE[day - 1]) / 1000;
}

function agreement(a_pct: number, b_pct: number): number {
  const apart = Math.abs(contourSteps(a_pct) - contourSteps(b_pct));
  return 1 + (LEAST_AGREEMENT - 1) * Math.min(1, Math.max(0, (apart - 1) / 2));
}

/** Number of SPC hail contours below a probability, plus its fractional position between two contours. */
function contourSteps(pct: number): number {
  const bounds = [0, ...HAIL_CONTOURS_PCT, 100];
  const above = Math.max(
    1,
    bounds.findIndex((bound) => bound >= pct),
  );
  const below = bounds[above - 1];
  return above - 1 + (pct - below) / (bounds[above] - below);
}

function confidenceState(score: number): ConfidenceState {
  return CONFIDENCE_STATES[STATE_BOUNDS.filter((bound) => score >= bound).length];
}

function logit(pct: number): number {
  const p = Math.min(CERTAINTY_PCT.high, Math.max(CERTAINTY_PCT.low, pct)) / 100;
  return Math.log(p / (1 - p));
}
