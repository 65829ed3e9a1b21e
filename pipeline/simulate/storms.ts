import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { between, type Draw, drawsOf, gamma2, hashOf, lognormal, normal, poisson } from './random.ts';
import {
  type Boundary,
  bearingOf,
  boundariesAt,
  type DayTypeParameters,
  dailyCycle,
  freezingLevelKm,
  offsetPosition,
  parametersAt,
  type Scenario,
  shifted,
  type Wind,
  windTowards,
} from './weather.ts';

/** Storms are drawn in slots of absolute time, so that every time span has the same storms. */
const SLOT_MS = 60 * MS_PER_MIN;
/** Slots before an instant whose storms may still exist: an hour of births, 480 min of life, a late split. */
const LOOKBACK_SLOTS = 10;
/** Slots after an instant: a feeder may be born before the slot of its target. */
const AHEAD_SLOTS = 1;
/** Cached slots per scenario. */
const KEPT_SLOTS = 48;

/**
 * Largest pixel over the life of a storm divided by its `peak_mm`: the walk of strength and texture raise it. Medians below are
 * those of observed maxima (48 mm supercells, 27 multicells, 9 ordinary cells) divided by this factor.
 */
const OBSERVED_OVER_PEAK = { ordinary: 1.22, organised: 1.4 } as const;
/** Standard deviation of the intensity walk of organised storms, natural logarithm: small hail is intermittent. */
const STRENGTH_LN: BySize = { small: 1.15, large: 0.08, mm: [18, 32] };
/** Typical intensity below the peak intensity, standard deviations. */
const STRENGTH_USUAL = 0.3;
/** Interval of the knots of the intensity walk, and time in which a deviation falls to 1/e, minutes. */
const KNOT_MS = 4 * MS_PER_MIN;
const STRENGTH_MEMORY_MIN = 9;
/** Standard deviation of the intensity walk of ordinary cells: they do not live long enough to reintensify. */
const ORDINARY_STRENGTH_LN = 0.1;
/** Factor on the life of organised storms. */
const LIFE_SHARE: BySize = { small: 0.6, large: 1, mm: [12, 32] };
/** Factor on the width of a core, which is 2.4 km for the smallest and 3.8 km for the largest hail. */
const WIDTH = { ordinary: 1.25, organised: 1.15 } as const;

/**
 * A steady scenario bears a long-lived supercell in its middle every second slot, so that three hours at any time have a
 * swath of 60 km and more. Its least life, and its least `peak_mm`.
 */
const LEADING = { every_slots: 2, life_min: 330, peak_mm: 34 } as const;
/** Least life of other supercells, minutes. */
const SHORTEST_SUPERCELL = { life_min: 40, peak_mm: 0 } as const;

/** Path of a storm: a gentle arc of constant turn and speed. */
interface StormPath {
  readonly birth_ms: number;
  readonly life_ms: number;
  readonly origin: Position;
  /** Direction at birth, and its turn to the right over the life of the storm. */
  readonly direction_deg: number;
  readonly turn_deg: number;
  readonly speed_ms: number;
}

/** The whole life of one storm. */
export interface Storm extends StormPath {
  /** Unique within a scenario: slot of birth and number within it. */
  readonly storm_id: string;
  /** Hash that seeds the storm's texture and pulsation. */
  readonly key: number;
  readonly kind: 'ordinary' | 'multicell' | 'supercell';
  /** Largest MESH before the walk of its strength and texture, mm. */
  readonly peak_mm: number;
  /** Standard deviation of its strength, natural logarithm. */
  readonly strength_ln: number;
  /** Distance in which the core falls to 1/e, geometric mean of both axes, km. */
  readonly core_km: number;
  /** Length along the motion over width. */
  readonly aspect: number;
  readonly freezing_level_km: number;
}

/** A storm at one instant. */
export interface StormState extends Position {
  readonly storm: Storm;
  /** Motion at the instant, which is also the orientation of the storm. */
  readonly direction_deg: number;
  readonly speed_ms: number;
  /** MESH in the core before texture, mm. */
  readonly peak_mm: number;
}

const slotsByScenario = new WeakMap<Scenario, Map<number, readonly Storm[]>>();

/** Storms that exist at some time in [from_ms, to_ms], ordered by birth slot and number. */
export function stormsBetween(scenario: Scenario, from_ms: number, to_ms: number): Storm[] {
  const storms: Storm[] = [];
  const last = Math.floor(to_ms / SLOT_MS) + AHEAD_SLOTS;
  for (let slot = Math.floor(from_ms / SLOT_MS) - LOOKBACK_SLOTS; slot <= last; slot += 1)
    for (const storm of stormsOfSlot(scenario, slot))
      if (storm.birth_ms <= to_ms && storm.birth_ms + storm.life_ms >= from_ms) storms.push(storm);
  return storms;
}

/** State of a storm at an instant from its birth to its end. */
export function stormAt(storm: Storm, time_ms: number): StormState {
  const age = (time_ms - storm.birth_ms) / storm.life_ms;
  const motion = windTowards(storm.direction_deg + storm.turn_deg * age, storm.speed_ms);
  return {
    storm,
    ...positionAt(storm, time_ms),
    direction_deg: bearingOf(motion),
    speed_ms: Math.hypot(motion.east, motion.north),
    peak_mm: storm.peak_mm * lifeCurve(age) * pulsation(storm, time_ms),
  };
}

/** Position on the path. */
function positionAt(path: StormPath, time_ms: number): Position {
  const { east, north } = displacementKm(path, time_ms);
  return offsetPosition(path.origin, east, north);
}

/** Displacement since birth, km: the chord of the arc. */
function displacementKm(path: Omit<StormPath, 'origin'>, time_ms: number): Wind {
  const turn = (((path.turn_deg * Math.PI) / 180) * (time_ms - path.birth_ms)) / path.life_ms;
  const straight_km = (path.speed_ms * (time_ms - path.birth_ms)) / 1e6;
  const chord_km = Math.abs(turn) < 1e-9 ? straight_km : (straight_km * Math.sin(turn / 2)) / (turn / 2);
  return windTowards(path.direction_deg + (turn * 90) / Math.PI, chord_km);
}

/** Rise over 25 % of the life, plateau over 45 %, decay over 30 %; both flanks follow the beta(2, 2) distribution. */
function lifeCurve(age: number): number {
  if (age <= 0 || age >= 1) return 0;
  const part = Math.min(1, age / 0.25, (1 - age) / 0.3);
  return part * part * (3 - 2 * part);
}

/** Factor of the intensity walk: bounded by +1 SD above its mean (smooth limit by tanh), unbounded below. */
function pulsation(storm: Storm, time_ms: number): number {
  const strength = strengthAt(storm, time_ms);
  const bounded = strength < 0 ? strength : Math.tanh(strength);
  return Math.exp(storm.strength_ln * (bounded - STRENGTH_USUAL));
}

const strengths = new WeakMap<Storm, Float64Array>();

/** Strength of a storm at an instant of its life, in standard deviations from its mean; linear between the knots. */
function strengthAt(storm: Storm, time_ms: number): number {
  const knots = strengths.get(storm) ?? strengthKnots(storm);
  strengths.set(storm, knots);
  const turns = Math.min(knots.length - 1, Math.max(0, (time_ms - storm.birth_ms) / KNOT_MS));
  const knot = Math.min(knots.length - 2, Math.floor(turns));
  return knots[knot] + (turns - knot) * (knots[knot + 1] - knots[knot]);
}

/**
 * First-order autoregressive process with standard normal values at the knots, drawn for the whole life at once: a value does not
 * depend on the order of the calls.
 */
function strengthKnots({ key, life_ms }: Storm): Float64Array {
  const draw = drawsOf(key, 0x3a1c);
  const knots = new Float64Array(2 + Math.ceil(life_ms / KNOT_MS));
  const kept = Math.exp(-KNOT_MS / MS_PER_MIN / STRENGTH_MEMORY_MIN);
  const fresh = Math.sqrt(1 - kept * kept);
  knots[0] = normal(draw);
  for (let i = 1; i < knots.length; i += 1) knots[i] = kept * knots[i - 1] + fresh * normal(draw);
  return knots;
}

function stormsOfSlot(scenario: Scenario, slot: number): readonly Storm[] {
  const slots = slotsByScenario.get(scenario) ?? new Map<number, readonly Storm[]>();
  slotsByScenario.set(scenario, slots);
  const known = slots.get(slot);
  if (known) return known;
  const storms = drawSlot(scenario, slot);
  slots.set(slot, storms);
  if (slots.size > KEPT_SLOTS) slots.delete(slots.keys().next().value as number);
  return storms;
}

/** A slot while its storms are drawn. */
interface Slot {
  readonly scenario: Scenario;
  readonly number: number;
  readonly draw: Draw;
  readonly character: DayTypeParameters;
  readonly storms: Storm[];
}

function drawSlot(scenario: Scenario, number: number): Storm[] {
  const start_ms = number * SLOT_MS;
  const character = parametersAt(scenario, start_ms);
  const slot: Slot = { scenario, number, draw: drawsOf(scenario.seed, 0x510, number), character, storms: [] };
  const boundaries = boundariesAt(scenario, start_ms);
  const cycle = dailyCycle(start_ms + SLOT_MS / 2) / 24;
  const [organised, ordinary] = scenario.steady
    ? [character.steady_organised_per_hour, character.steady_ordinary_per_hour]
    : [character.organised_per_day * cycle, character.ordinary_per_day * cycle];
  drawClusters(slot, boundaries, organised, 2, bearOrganised);
  drawClusters(slot, boundaries, ordinary, 4, bearOrdinary);
  if (scenario.steady && number % LEADING.every_slots === 0) {
    const middle = boundaries[boundaries.length >> 1];
    bearSupercell(slot, middle, middle.centre, (number + slot.draw()) * SLOT_MS, LEADING);
  }
  return slot.storms;
}

/** Neyman-Scott: clusters at random along the boundaries, each with members 30-80 km from its centre. */
function drawClusters(
  slot: Slot,
  boundaries: readonly Boundary[],
  storms: number,
  members: number,
  bear: (slot: Slot, boundary: Boundary, origin: Position, birth_ms: number) => void,
): void {
  const { draw } = slot;
  const mean = storms / members;
  const clusters = slot.scenario.steady ? Math.floor(mean + draw()) : poisson(draw, mean);
  for (let i = 0; i < clusters; i += 1) {
    const line = boundaries[Math.floor(draw() * boundaries.length)];
    const centre = shifted(line.centre, line.bearing_deg, between(draw, -0.5, 0.5) * line.length_km);
    for (let member = 1 + poisson(draw, members - 1); member > 0; member -= 1) {
      const origin = shifted(centre, between(draw, 0, 360), between(draw, 30, 80));
      bear(slot, line, origin, (slot.number + draw()) * SLOT_MS);
    }
  }
}

function bearOrganised(slot: Slot, line: Boundary, origin: Position, birth_ms: number): void {
  if (slot.draw() < slot.character.supercell_share) bearSupercell(slot, line, origin, birth_ms);
  else bearMulticell(slot, line, origin, birth_ms);
}

function bearSupercell(
  slot: Slot,
  line: Boundary,
  origin: Position,
  birth_ms: number,
  least: { readonly life_min: number; readonly peak_mm: number } = SHORTEST_SUPERCELL,
): void {
  const { draw } = slot;
  const peak_mm = Math.max(least.peak_mm, observedPeak(slot, 48 * slot.character.size_factor, 0.28));
  const parent = bear(slot, {
    kind: 'supercell',
    birth_ms,
    life_ms:
      Math.min(480, Math.max(least.life_min, bySize(LIFE_SHARE, peak_mm) * lognormal(draw, 130, 0.5))) * MS_PER_MIN,
    origin,
    ...near(draw, line.right, 3, between(draw, 4, 12)),
    peak_mm,
  });
  const splits = draw() < (slot.scenario.steady ? 0.35 : 0.2);
  const split_min = between(draw, 30, 60);
  if (splits && parent.life_ms > 1.5 * split_min * MS_PER_MIN) bearLeftMover(slot, line, parent, split_min);
  if (draw() < 0.3) bearFeeder(slot, line, parent);
}

/** The left mover of a split: it separates from the parent's left flank at 30-60 minutes of age. */
function bearLeftMover(slot: Slot, line: Boundary, parent: Storm, split_min: number): void {
  const { draw } = slot;
  const birth_ms = parent.birth_ms + split_min * MS_PER_MIN;
  bear(slot, {
    kind: 'supercell',
    birth_ms,
    life_ms: Math.min(240, lognormal(draw, 70, 0.35)) * MS_PER_MIN,
    origin: shifted(positionAt(parent, birth_ms), parent.direction_deg - 70, 1.3 * parent.core_km),
    ...near(draw, line.left, 4, between(draw, -8, 0)),
    peak_mm: parent.peak_mm * between(draw, 0.55, 0.9),
  });
}

/** A younger storm on the right flank of a right mover: it goes with the mean wind, across which its target moves, and merges. */
function bearFeeder(slot: Slot, line: Boundary, target: Storm): void {
  const { draw } = slot;
  const meeting_ms = target.birth_ms + between(draw, 0.35, 0.65) * target.life_ms;
  const life_ms = between(draw, 26, 44) * MS_PER_MIN;
  const birth_ms = meeting_ms - 0.85 * life_ms;
  const path = { birth_ms, life_ms, ...near(draw, line.mean, 4, 0) };
  const way = displacementKm(path, meeting_ms);
  bear(slot, {
    kind: 'multicell',
    ...path,
    origin: offsetPosition(positionAt(target, meeting_ms), -way.east, -way.north),
    peak_mm: target.peak_mm * between(draw, 0.4, 0.75),
  });
}

function bearMulticell(slot: Slot, line: Boundary, origin: Position, birth_ms: number): void {
  const { draw } = slot;
  const peak_mm = observedPeak(slot, 27 * slot.character.size_factor, 0.34);
  bear(slot, {
    kind: 'multicell',
    birth_ms,
    life_ms: Math.min(180, Math.max(20, bySize(LIFE_SHARE, peak_mm) * gamma2(draw, 50))) * MS_PER_MIN,
    origin,
    ...near(draw, line.mean, 6, between(draw, 0, 4)),
    peak_mm,
  });
}

function bearOrdinary(slot: Slot, line: Boundary, origin: Position, birth_ms: number): void {
  const { draw } = slot;
  bear(slot, {
    kind: 'ordinary',
    birth_ms,
    life_ms: Math.min(120, Math.max(6, gamma2(draw, 24))) * MS_PER_MIN,
    origin,
    ...near(draw, line.mean, 14, 0),
    peak_mm: lognormal(draw, 9 / OBSERVED_OVER_PEAK.ordinary, 0.53),
  });
}

/** Motion that differs from a wind by at most some degrees and 10 % in speed, and turns by some degrees over the life of the storm. */
function near(draw: Draw, wind: Wind, most_deg: number, turn_deg: number) {
  return {
    direction_deg: bearingOf(wind) + between(draw, -most_deg, most_deg) - turn_deg / 2,
    turn_deg,
    speed_ms: Math.min(25, Math.max(5, Math.hypot(wind.east, wind.north) * between(draw, 0.9, 1.1))),
  };
}

/** Values at two hail sizes, mm: linear in between, constant beyond. */
type BySize = Readonly<Record<'small' | 'large', number>> & { readonly mm: readonly [small: number, large: number] };

function bySize({ small, large, mm: [from, to] }: BySize, peak_mm: number): number {
  return small + Math.min(1, Math.max(0, (peak_mm - from) / (to - from))) * (large - small);
}

function observedPeak({ draw }: Slot, median_mm: number, ln_sd: number): number {
  return lognormal(draw, median_mm / OBSERVED_OVER_PEAK.organised, ln_sd);
}

/** Completes a storm with id, key and shape, and adds it to the slot. */
function bear(slot: Slot, birth: StormPath & Pick<Storm, 'kind' | 'peak_mm'>): Storm {
  const { draw, scenario } = slot;
  const number = slot.storms.length;
  const peak_mm = Math.min(105, birth.peak_mm);
  const isOrdinary = birth.kind === 'ordinary';
  const key = hashOf(scenario.seed, 0x5707, slot.number, number);
  const storm: Storm = {
    ...birth,
    storm_id: `${slot.number.toString(36)}-${number}`,
    key,
    peak_mm,
    strength_ln: isOrdinary ? ORDINARY_STRENGTH_LN : bySize(STRENGTH_LN, peak_mm),
    // Distance in which the core falls to 1/e: wider where the hail is larger.
    core_km:
      (2.4 + 1.4 * Math.min(1, peak_mm / 50)) *
      WIDTH[isOrdinary ? 'ordinary' : 'organised'] *
      Math.exp(0.12 * normal(draw)),
    aspect: isOrdinary ? between(draw, 1.5, 2.4) : between(draw, 1.3, 2),
    freezing_level_km: freezingLevelKm(scenario, birth.birth_ms, Math.min(LATTICE.north, birth.origin.lat)),
  };
  slot.storms.push(storm);
  return storm;
}
