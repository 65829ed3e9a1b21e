import type { DamageWord } from '../../schemas/resources/hail-cell.ts';

/** Sizes from which damage is possible, likely and severe, mm. */
const ROOF_MM = { possible: 25, likely: 38, severe: 63 } as const;
const VEHICLE_MM = { possible: 19, likely: 25, severe: 38 } as const;

/** What hail of a size may do to a roof. */
export function roofDamage(size_mm: number): DamageWord {
  return word(size_mm, ROOF_MM);
}

/** What hail of a size may do to a vehicle. */
export function vehicleDamage(size_mm: number): DamageWord {
  return word(size_mm, VEHICLE_MM);
}

function word(size_mm: number, from: Readonly<Record<Exclude<DamageWord, 'none'>, number>>): DamageWord {
  if (size_mm >= from.severe) return 'severe';
  if (size_mm >= from.likely) return 'likely';
  return size_mm >= from.possible ? 'possible' : 'none';
}

/** Fall speed of a stone, m/s: 11.45 sqrt(D), D in cm (relation used with POSH and kinetic energy). */
export function terminalVelocity(size_mm: number): number {
  return 11.45 * Math.sqrt(size_mm / 10);
}

/** Longest gap between two scans that counts as lasting hail, minutes; one scan alone counts as half of it. */
const LONGEST_GAP_MIN = 4;
const ONE_SCAN_MIN = 2;

/** Minutes that scans with hail stand for, instants in ascending order: gaps count up to 4 minutes, the first scan as 2. */
export function hailDuration(scan_times: readonly number[]): number {
  if (scan_times.length === 0) return 0;
  const gaps = scan_times.slice(1).map((time, index) => (time - (scan_times[index] as number)) / 60_000);
  return gaps.reduce((sum, gap_min) => sum + Math.min(gap_min, LONGEST_GAP_MIN), ONE_SCAN_MIN);
}
