import { poolAdjacent } from '../../pipeline/train/isotonic.ts';
import type { CalibrationCurve } from '../../schemas/reference/nowcast-calibration.ts';

/** Groups of equal mass that the cases are taken together in before they are pooled. */
const GROUPS = 20;
/** A case weighs this plus its raw probability: by number alone the many that no storm nears would fill every group but a few. */
const WEIGHT_MIN = 0.02;
/** Cases a group holds at least; with fewer it joins its neighbour (SCIENCE.md, "Nowcast"). */
const GROUP_MIN_CASES = 200;
/**
 * Least probability of a curve: the smallest that an answer of three decimals does not show as 0. Most points are out of
 * every storm's reach and are struck less often than the .005 that other curves are clipped at (SCIENCE.md, "Probability of hail"); with that
 * floor the forecasts of t15 said .016 on average where .012 came.
 */
const PROBABILITY_MIN = 0.0005;
const PROBABILITY_MAX = 0.995;

interface Group {
  raw: number;
  struck: number;
  cases: number;
}

/**
 * Rising curve from raw probabilities to how often they came true; equal ones share a knot.
 * Source: isotonic regression (Ayer et al. 1955) of groups, SCIENCE.md, "Nowcast".
 */
export function fitCalibration(raw: readonly number[], struck: readonly boolean[]): CalibrationCurve {
  const groups = grouped(raw, struck);
  const pooled = poolAdjacent(
    groups.map((group) => group.struck / group.cases),
    groups.map((group) => group.cases),
  );
  const levels = [...new Set(pooled)].map((level) => {
    const members = groups.filter((_, index) => pooled[index] === level);
    const cases = members.reduce((sum, group) => sum + group.cases, 0);
    return { raw: members.reduce((sum, group) => sum + group.raw, 0) / cases, probability: level };
  });
  return {
    raw: levels.map((level) => to4(level.raw)),
    probability: levels.map(({ probability }) =>
      to4(Math.min(PROBABILITY_MAX, Math.max(PROBABILITY_MIN, probability))),
    ),
  };
}

/** Cases by rising raw probability, in groups of about equal mass; what is left over joins the last. */
function grouped(raw: readonly number[], struck: readonly boolean[]): Group[] {
  const order = raw.map((_, index) => index).sort((a, b) => raw[a] - raw[b] || a - b);
  const mass = raw.reduce((sum, value) => sum + WEIGHT_MIN + value, 0) / GROUPS;
  const groups: Group[] = [];
  let [group, weight] = [{ raw: 0, struck: 0, cases: 0 }, 0];
  for (const [place, index] of order.entries()) {
    const value = raw[index];
    group.raw += value;
    group.struck += struck[index] ? 1 : 0;
    group.cases += 1;
    weight += WEIGHT_MIN + value;
    const next = order[place + 1];
    const tied = next !== undefined && raw[next] === value;
    if (tied || weight < mass || group.cases < GROUP_MIN_CASES) continue;
    groups.push(group);
    [group, weight] = [{ raw: 0, struck: 0, cases: 0 }, 0];
  }
  const last = groups.pop();
  if (last === undefined) return [group];
  const rest = group.cases >= GROUP_MIN_CASES ? [last, group] : [sumOf(last, group)];
  return [...groups, ...rest];
}

function sumOf(a: Group, b: Group): Group {
  return { raw: a.raw + b.raw, struck: a.struck + b.struck, cases: a.cases + b.cases };
}

function to4(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
