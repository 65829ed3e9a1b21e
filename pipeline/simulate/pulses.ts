import { MS_PER_MIN } from '../../schemas/time.ts';
import { between, drawsOf, normal } from './random.ts';
import type { Storm } from './storms.ts';

/** Interval at which a storm forms a new core, minutes. */
const PULSE_MIN = 8;
/** Shortest and longest life of a core, minutes: those of an ordinary cell are two or three, one after another. */
const PULSE_LIFE_MIN = { ordinary: [18, 26], organised: [18, 30] } as const;
/** Way of a core through its storm, from the right rear to the left front, in widths of the storm's core. */
const CROSSING = { along: 0.4, across: 0.6 } as const;
/** Standard deviation of its place about that way, in the same unit. */
const SCATTER = { along: 0.35, across: 0.6 } as const;
/** Factor on both for an ordinary cell, whose cores have no flank of their own. */
const ORDINARY_UNREST = 0.4;
/** Standard deviation of its strength, natural logarithm. */
const PULSE_LN = 0.1;
/** Its width over that of the storm's core. */
export const PULSE_WIDTH = 0.82;

/** A core within a storm: its place ahead of the storm's centre and to its left, km, and its share of the storm's strength. */
export interface Pulse {
  readonly along_km: number;
  readonly left_km: number;
  readonly share: number;
}

/**
 * Cores of a storm at an instant. Organised storms form one after another on the right rear flank, which grow, drift to the left
 * front while the storm goes straight on, and decay: streaks within the swath. Those of ordinary cells follow each other on nearly
 * the same line, and make it ragged.
 */
export function pulsesAt(storm: Storm, time_ms: number): readonly Pulse[] {
  const pulses: Pulse[] = [];
  const last = Math.floor((time_ms - storm.birth_ms) / MS_PER_MIN / PULSE_MIN);
  for (let number = last - LOOKBACK; number <= last; number += 1) {
    const pulse = pulseAt(storm, number, time_ms);
    if (pulse !== null) pulses.push(pulse);
  }
  return pulses;
}

const LOOKBACK = Math.ceil(PULSE_LIFE_MIN.organised[1] / PULSE_MIN);

function pulseAt(storm: Storm, number: number, time_ms: number): Pulse | null {
  const draw = drawsOf(storm.key, 0x9015e, number);
  const birth_ms = storm.birth_ms + (number + draw()) * PULSE_MIN * MS_PER_MIN;
  const isOrdinary = storm.kind === 'ordinary';
  const [shortest_min, longest_min] = PULSE_LIFE_MIN[isOrdinary ? 'ordinary' : 'organised'];
  const life_ms = between(draw, shortest_min, longest_min) * MS_PER_MIN;
  const age = (time_ms - birth_ms) / life_ms;
  if (age <= 0 || age >= 1) return null;
  const along = CROSSING.along * (2 * age - 1) + SCATTER.along * normal(draw);
  const left = CROSSING.across * (2 * age - 1) + SCATTER.across * normal(draw);
  const unit_km = storm.core_km * (isOrdinary ? ORDINARY_UNREST : 1);
  return {
    along_km: unit_km * along,
    left_km: unit_km * left,
    share: Math.sin(Math.PI * age) ** 0.7 * Math.exp(PULSE_LN * normal(draw)),
  };
}
