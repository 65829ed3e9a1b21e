/** Hours of a day, from 12 UTC on, as probabilities from 0 to 1; null for an hour that is not known. */
export type DayHours = readonly (number | null)[];

/** Decimals of published probabilities of hours. Those of days are percents with one decimal: both are multiples of .001. */
const DECIMALS = 3;
/** Bounds of a probability before its odds are taken. The model's hours have four decimals: its zero is less than half of the last. */
const CERTAINTY = { low: 0.00005, high: 0.99995 } as const;
/** Largest shift in log-odds: it takes a probability of `CERTAINTY.low` beyond `CERTAINTY.high`. */
const MOST_SHIFT = 30;
/** Halvings that bring the shift below the precision of floating point. */
const ROUNDS = 55;

/**
 * Hours of a day as they are published: as the model has them where they agree with the day, else all shifted by the same
 * log-odds, no further than it takes. `day` is a multiple of .001.
 */
export function coherentHours(day: number, hours: DayHours): (number | null)[] {
  const own = hours.map(publishedHour);
  const fault = contradiction(day, own);
  if (fault === null) return own;
  const odds = hours.map((p) => (p === null ? null : oddsOf(p)));
  const shifted = (shift: number) => {
    const factor = Math.exp(shift);
    // 1 − 1/(1 + x) and not x/(1 + x): each of its steps keeps the order of two hours that differ in the last bit.
    return odds.map((o) => publishedHour(o === null ? null : 1 - 1 / (1 + o * factor)));
  };
  // Between `kept`, a shift that goes far enough, and `short`, one that does not, the rounded hours change one step at a time.
  let kept = fault === 'hour_above_day' ? -MOST_SHIFT : MOST_SHIFT;
  let short = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const middle = (kept + short) / 2;
    if (contradiction(day, shifted(middle)) === fault) short = middle;
    else kept = middle;
  }
  return shifted(kept);
}

/** Probability of an hour with the decimals that are published; null where it is not known. */
export function publishedHour(p: number | null): number | null {
  return p === null ? null : Math.round(p * 10 ** DECIMALS) / 10 ** DECIMALS;
}

function oddsOf(p: number): number {
  const bounded = Math.min(CERTAINTY.high, Math.max(CERTAINTY.low, p));
  return bounded / (1 - bounded);
}

/**
 * How hours contradict the probability of their day (0 to 1), null when they agree with it: no hour is likelier than the day, and
 * the day is no likelier than all of its hours if they were independent. The second applies only where all hours are known: hail
 * may come in the others.
 */
export function contradiction(day: number, hours: DayHours): 'hour_above_day' | 'day_above_hours' | null {
  const known = hours.filter((p) => p !== null);
  if (known.some((p) => exceeds(p, day))) return 'hour_above_day';
  const none = known.reduce((product, p) => product * (1 - p), 1);
  return known.length === hours.length && exceeds(day, 1 - none) ? 'day_above_hours' : null;
}

/** True when one probability is larger than another by more than errors of floating point. */
function exceeds(a: number, b: number): boolean {
  return a > b + 1e-9;
}
