import { type DayHours, dayOfHours, sharesAhead, usualRest } from '../../schemas/outlook-day.ts';
import { rounded } from './rounded.ts';

/** Largest probability that is dealt out. */
const MOST = 0.99999;

/**
 * What remains of a day whose first hours are over, and its hours, percent; null for those that are over. What remains is the
 * usual rest of the day, or what the forecast (`hours`, 0 to 1, null elsewhere) says of the hours ahead where that is more, and
 * never more than the day. The hours ahead share it as if they were independent, in proportion to their rates in the forecast,
 * none above its own; those that the forecast lacks share the rest by the usual course of a day, none above its usual part.
 */
export function hoursAhead(day_pct: number, lon: number, hours: DayHours, over: number) {
  const day = day_pct / 100;
  const ahead = hours.slice(over);
  const known = ahead.filter((p) => p !== null);
  const rest = rate(Math.min(day, Math.max(usualRest(day, lon, over), dayOfHours(known))));
  const shares = sharesAhead(lon, over);
  const forecast = sum(known.map(rate));
  const other_share = sum(shares.filter((_, k) => ahead[k] === null));
  // What the hours ahead would have if those that the forecast lacks were like the others.
  const expected = other_share === 0 ? forecast : (forecast * sum(shares)) / (sum(shares) - other_share);
  const scale = expected > 0 ? Math.min(1, rest / expected) : 0;
  const other = other_share === 0 ? 0 : Math.min(rest / sum(shares), (rest - scale * forecast) / other_share);
  const rates = ahead.map((p, k) => (p === null ? other * shares[k] : scale * rate(p)));
  return {
    remaining_probability: percent(sum(rates)),
    hourly: [...new Array<null>(over).fill(null), ...rates.map(percent)],
  };
}

/** Expected number of events, from the probability of at least one. */
function rate(p: number): number {
  return -Math.log(1 - Math.min(MOST, p));
}

function percent(events: number): number {
  return rounded(100 * (1 - Math.exp(-events)), 4);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
