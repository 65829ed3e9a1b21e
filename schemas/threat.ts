/** How threatening the hail of an alert is, by its size: inclusive lower bounds in mm, smallest first. */
const THREAT_BANDS = [
  { level: 'LOW', from_mm: 0 },
  { level: 'MODERATE', from_mm: 25 },
  { level: 'HIGH', from_mm: 38 },
  { level: 'EXTREME', from_mm: 63 },
] as const;

/** `CLEAR`: the alert is over. */
export const THREAT_LEVELS = ['CLEAR', 'LOW', 'MODERATE', 'HIGH', 'EXTREME'] as const;
export type ThreatLevel = (typeof THREAT_LEVELS)[number];

/** Level of hail of a size; thresholds of subscriptions may lie below the 19 mm at which the interface begins `LOW`. */
export function threatLevel(size_mm: number): Exclude<ThreatLevel, 'CLEAR'> {
  return THREAT_BANDS.findLast(({ from_mm }) => size_mm >= from_mm)?.level ?? 'LOW';
}
