import KDBush from 'kdbush';
import type { HailField } from '../../pipeline/grid.ts';
import { kmPerDegree, type Mover, medianVelocity, type Vector, velocityOf } from '../../pipeline/track/motion.ts';
import { blockMotions } from '../../pipeline/track/pattern-motion.ts';
import { boxAround } from '../../schemas/geo/around.ts';
import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { type HailSource, STRIKE_KM } from '../../schemas/nowcast/probability.ts';
import { type LeadKey, NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { courseOf } from './nowcast-course.ts';
import { mean } from './nowcast-scores.ts';
import { fitLogistic, sigmoid } from './train/logistic.ts';

/** Moved hail is looked for at such steps of time: 60 km/h are 3 km, and the disc is nearly as wide by then. */
const STEP_MIN = 3;
/**
 * The disc in which moved hail is counted: its radius at once, and how it grows. Of .1 to .7 km/min and of 1 to 2.5 km these
 * serve the rivals best on the American evening; on the Swiss one .7 is better by 1 to 2 %.
 */
const DISC_KM = 1;
const DISC_KM_PER_MIN = 0.5;
/** Storms within this distance lend hail their motion, and so do the blocks of a flow. */
const LENT_KM = 100;
/** A flow is matched over about so many minutes: over 2 it is worse by 5 % of the Brier score, over 10 as good; 10 at most. */
const FLOW_MIN = 6;
const FLOW_MAX_MIN = 10;
/** Shares of 0 and of 1 have finite logits with this; .002 serves the rivals worse. */
const SHARE_MIN = 0.02;
/** Keeps the two parameters finite where shares separate what came. */
const RIDGE = 1;

type OfLeads<Value> = Readonly<Record<LeadKey, Value>>;

/** What the baselines know of a point. */
export interface RivalEvidence {
  /** Hail at the point in the newest scan. */
  readonly persistence: boolean;
  /** The hail of storms, moved along their course, passes within 1 km. */
  readonly advection: OfLeads<boolean>;
  /** Largest share of the growing disc that all hail covers on its way, moved with the nearest storm … */
  readonly lagrangian: OfLeads<number>;
  /** … or with the flow of the field. */
  readonly flow: OfLeads<number>;
}

/** Baselines, from the simplest on. */
export const RIVALS = ['persistence', 'advection', 'lagrangian', 'flow'] as const;
export type Rival = (typeof RIVALS)[number];

/** The pattern of a scan, whose motion is the flow. */
export interface PatternOfScan {
  readonly time_ms: number;
  readonly pattern: HailField;
}

/** Motion of the blocks of the newest pattern since the one about six minutes before; none without one. */
export function flowOf(patterns: readonly PatternOfScan[]): Mover[] {
  const newest = patterns.at(-1);
  if (newest === undefined) return [];
  const [before] = patterns
    .map(({ time_ms, pattern }) => ({ pattern, minutes: (newest.time_ms - time_ms) / MS_PER_MIN }))
    .filter(({ minutes }) => minutes > 0 && minutes <= FLOW_MAX_MIN)
    .sort((a, b) => Math.abs(a.minutes - FLOW_MIN) - Math.abs(b.minutes - FLOW_MIN));
  return before === undefined ? [] : blockMotions(before.pattern, newest.pattern, before.minutes);
}

/** What the baselines know of points after a scan: of its storms, of all its hail, and of the flow of its pattern. */
export function rivalsAfter(
  scan_time: number,
  storms: readonly HailSource[],
  hail: readonly Position[],
  flow: readonly Mover[],
): (point: Position, now_ms: number, persistence: boolean) => RivalEvidence {
  const withStorms = movingField(hail, stormVelocity(storms));
  const withFlow = movingField(hail, flowVelocity(flow));
  return (point, now_ms, persistence) => {
    const age_min = (now_ms - scan_time) / MS_PER_MIN;
    const { path_km } = courseOf(point, storms, now_ms);
    return {
      persistence,
      advection: ofLeads(({ key }) => path_km[key] <= STRIKE_KM),
      lagrangian: passingShare(withStorms, point, age_min),
      flow: passingShare(withFlow, point, age_min),
    };
  };
}

function ofLeads<Value>(of: (lead: (typeof NOWCAST_LEADS)[number]) => Value): OfLeads<Value> {
  return Object.fromEntries(NOWCAST_LEADS.map((lead) => [lead.key, of(lead)])) as Record<LeadKey, Value>;
}

/** Hail of a scan on its way: velocities in km/min, one for each pixel. */
export interface MovingField {
  readonly hail: readonly Position[];
  readonly velocities: readonly Vector[];
  readonly index: KDBush | null;
  readonly fastest_km_min: number;
}

/** All hail of a scan, each pixel with the velocity at its place. */
export function movingField(hail: readonly Position[], velocityAt: (place: Position) => Vector): MovingField {
  const velocities = hail.map(velocityAt);
  const fastest_km_min = velocities.reduce((most, { east, north }) => Math.max(most, Math.hypot(east, north)), 0);
  if (hail.length === 0) return { hail, velocities, index: null, fastest_km_min };
  const index = new KDBush(hail.length);
  for (const { lat, lon } of hail) index.add(lon, lat);
  index.finish();
  return { hail, velocities, index, fastest_km_min };
}

const STILL: Vector = { east: 0, north: 0 };

/** Velocity of the nearest storm that moves, within 100 km of a place; none without one. */
export function stormVelocity(storms: readonly HailSource[]): (place: Position) => Vector {
  const movers = storms.flatMap(({ seen: { lat, lon, speed_kmh, direction_deg } }) =>
    speed_kmh === null || direction_deg === null
      ? []
      : [{ lat, lon, velocity: velocityOf({ speed_kmh, direction_deg }) }],
  );
  return (place) => {
    let [nearest_km, velocity] = [LENT_KM, STILL];
    for (const mover of movers) {
      const km = roughDistanceKm(mover, place);
      if (km < nearest_km) [nearest_km, velocity] = [km, mover.velocity];
    }
    return velocity;
  };
}

/** Median velocity of the blocks of a flow within 100 km of a place; none without one. */
export function flowVelocity(blocks: readonly Mover[]): (place: Position) => Vector {
  return (place) => {
    const near = blocks.filter((block) => roughDistanceKm(block, place) <= LENT_KM);
    return medianVelocity(near.map(({ velocity }) => velocity)) ?? STILL;
  };
}

/** Largest share of the growing disc around a point that hail covers between now and each lead; 0 to 1. */
export function passingShare(
  { hail, velocities, index, fastest_km_min }: MovingField,
  point: Position,
  age_min: number,
): OfLeads<number> {
  const longest_min = Math.max(...NOWCAST_LEADS.map(({ minutes }) => minutes));
  const steps = Array.from({ length: 1 + Math.floor(longest_min / STEP_MIN) }, (_, step) => age_min + STEP_MIN * step);
  const radius_km = (min: number) => DISC_KM + DISC_KM_PER_MIN * min;
  const reach_km = radius_km(age_min + longest_min) + fastest_km_min * (age_min + longest_min);
  const km = kmPerDegree(point.lat);
  const pixel_km2 = km.east * km.north * LATTICE.step ** 2;
  const pixels = new Float64Array(steps.length);
  for (const n of index?.range(...boxAround(point, reach_km)) ?? []) {
    const [{ lat, lon }, { east, north }] = [hail[n] as Position, velocities[n] as Vector];
    const [x, y] = [(lon - point.lon) * km.east, (lat - point.lat) * km.north];
    for (const [step, min] of steps.entries())
      if ((x + east * min) ** 2 + (y + north * min) ** 2 <= radius_km(min) ** 2) pixels[step] = pixels[step] + 1;
  }
  const shares = steps.map((min, step) => Math.min(1, (pixels[step] * pixel_km2) / (Math.PI * radius_km(min) ** 2)));
  return ofLeads(({ minutes }) => Math.max(...shares.filter((_, step) => STEP_MIN * step <= minutes)));
}

/** A point of which the outcome at a lead is known, and what the baselines know of it. */
export interface RivalCase {
  readonly rivals: RivalEvidence;
  readonly came: number;
}

/** Forecast of a lead by each baseline, learnt from cases; persistence has nothing to learn. */
export function learnRivals(
  cases: readonly RivalCase[],
  key: LeadKey,
): (rivals: RivalEvidence) => Record<Rival, number> {
  const came = cases.map((one) => one.came);
  const passes = twoProbabilities(
    cases.map(({ rivals }) => rivals.advection[key]),
    came,
  );
  const [storms, flow] = (['lagrangian', 'flow'] as const).map((name) =>
    calibrated(
      cases.map(({ rivals }) => rivals[name][key]),
      came,
    ),
  ) as [Calibration, Calibration];
  return ({ persistence, advection, ...share }) => ({
    persistence: persistence ? 1 : 0,
    advection: passes(advection[key]),
    lagrangian: storms(share.lagrangian[key]),
    flow: flow(share.flow[key]),
  });
}

/** How often it came true where something held and where it did not: the two probabilities of a yes-or-no forecast. */
export function twoProbabilities(holds: readonly boolean[], came: readonly number[]): (holds: boolean) => number {
  const shareOf = (value: boolean) => mean(came.filter((_, n) => holds[n] === value));
  const [yes, no] = [shareOf(true), shareOf(false)];
  return (value) => (value ? yes : no);
}

type Calibration = (share: number) => number;

/** Probability of a share by a logistic in its logit; the mean of what came where that was always the same. */
export function calibrated(shares: readonly number[], came: readonly number[]): Calibration {
  const rate = mean(came);
  if (rate === 0 || rate === 1) return () => rate;
  const logit = (share: number) => Math.log((share + SHARE_MIN) / (1 - share + SHARE_MIN));
  const { intercept, weights } = fitLogistic(
    shares.map((share) => [logit(share)]),
    came,
    came.map(() => 1),
    RIDGE,
  );
  return (share) => sigmoid(intercept + weights[0] * logit(share));
}
