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
  let kept = fault.kind === 'hour_above_day' ? -MOST_SHIFT : MOST_SHIFT;
  let short = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const middle = (kept + short) / 2;
    if (contradiction(day, shifted(middle))?.kind === fault.kind) short = middle;
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

/** How published hours contradict their day. */
type Contradiction =
  | { readonly kind: 'hour_above_day'; readonly hour: number; readonly probability: number }
  | { readonly kind: 'day_above_hours'; readonly together: number };

/**
 * How hours contradict the probability of their day (0 to 1), null when they agree with it: no hour is likelier than the day, and
 * the day is no likelier than all of its hours if they were independent. The second applies only where all hours are known: hail
 * may come in the others.
 */
export function contradiction(day: number, hours: DayHours): Contradiction | null {
  let likeliest = -1;
  let none = 1;
  let is_whole = true;
  for (const [k, p] of hours.entries()) {
    if (p === null) is_whole = false;
    else {
      none *= 1 - p;
      if (p > (hours[likeliest] ?? -1)) likeliest = k;
    }
  }
  const most = hours[likeliest] ?? null;
  if (most !== null && exceeds(most, day)) return { kind: 'hour_above_day', hour: likeliest, probability: most };
  return is_whole && exceeds(day, 1 - none) ? { kind: 'day_above_hours', together: 1 - none } : null;
}

/** True when one probability is larger than another by more than errors of floating point. */
function exceeds(a: number, b: number): boolean {
  return a > b + 1e-9;
}
