import { type DamageWord, ROOF_DAMAGE_WORDS } from '../../schemas/resources/hail-cell.ts';

/** Sizes from which damage to a roof is possible, likely and severe, mm. */
const ROOF_MM = { possible: 25, likely: 38, severe: 63 } as const;
const VEHICLE_MM = { possible: 19, likely: 25, severe: 38 } as const;

export function damageWord(size_mm: number, to: 'roof' | 'vehicle'): DamageWord {
  const steps = Object.values(to === 'roof' ? ROOF_MM : VEHICLE_MM);
  return ROOF_DAMAGE_WORDS[steps.filter((from_mm) => size_mm >= from_mm).length] as DamageWord;
}

/** Fall speed of a stone, m/s: 11.45 sqrt(D), D in cm (relation used with POSH and kinetic energy). */
export function terminalVelocity(size_mm: number): number {
  return 11.45 * Math.sqrt(size_mm / 10);
}

/** Longest gap between two scans that counts as lasting hail, minutes; one scan alone counts as half of it. */
const LONGEST_GAP_MIN = 4;
const ONE_SCAN_MIN = 2;

/** Minutes of hail from the ascending instants of scans with hail: gaps count up to 4 minutes, the first scan as 2. */
export function hailDuration(scan_times: readonly number[]): number {
  return minutesOfScans(scan_times).reduce((sum, minutes) => sum + minutes, 0);
}

/** Minutes that each scan counts for, instants in ascending order. */
function minutesOfScans(scan_times: readonly number[]): number[] {
  return scan_times.map((time, index) => {
    const before = scan_times[index - 1];
    return before === undefined ? ONE_SCAN_MIN : Math.min((time - before) / 60_000, LONGEST_GAP_MIN);
  });
}

/** Reflectivities between which an echo turns from rain to hail, dBZ. */
const HAIL_DBZ = { none: 40, all: 50 } as const;

/**
 * Flux of hail kinetic energy at a reflectivity in dBZ, J m-2 s-1: 5e-6 x 10^(0.084 Z) W(Z), where W rises from 0 at 40 dBZ to
 * 1 at 50. Source: Waldvogel et al. 1978; weights of Witt et al. 1998, Weather and Forecasting 13, 286-303.
 */
function kineticEnergyFlux(reflectivity_dbz: number): number {
  const weight = (reflectivity_dbz - HAIL_DBZ.none) / (HAIL_DBZ.all - HAIL_DBZ.none);
  return 5e-6 * 10 ** (0.084 * reflectivity_dbz) * Math.min(1, Math.max(0, weight));
}

/**
 * Kinetic energy of the hail of some scans, oldest first, J/m2, from the echo at the lowest altitude over a place, which is null
 * without the product or an echo there; null when no scan has one.
 */
export function kineticEnergy(
  scans: readonly { readonly scan_time: number; readonly reflectivity_dbz: number | null }[],
): number | null {
  if (scans.every(({ reflectivity_dbz }) => reflectivity_dbz === null)) return null;
  const minutes = minutesOfScans(scans.map(({ scan_time }) => scan_time));
  const fluxes = scans.map(({ reflectivity_dbz: dbz }) => (dbz === null ? 0 : kineticEnergyFlux(dbz)));
  return fluxes.reduce((sum, flux, index) => sum + flux * minutes[index] * 60, 0);
}
