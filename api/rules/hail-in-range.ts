import type { Position } from '../../schemas/geo/position.ts';
import { LOOKBACK_MIN } from '../../schemas/resources/hail-cell.ts';
import type { LiveSnapshot } from '../published/live.ts';

/** A circle, and the oldest scan that counts in it. */
export interface Vicinity extends Position {
  readonly radius_km: number;
  readonly since_ms: number;
}

/** Reasons why hail in range has no storm in range, in the order in which a note gives them. */
const UNTRACKED = {
  one_scan:
    'Hail in range belongs to a storm cell that only the newest scan has seen; storms are tracked from their second scan on.',
  too_small: 'Hail in range is too small for a storm cell.',
  beyond: 'Hail in range belongs to a tracked storm whose position is beyond the radius.',
} as const;
const EARLIER = `Hail was detected in range in the last ${LOOKBACK_MIN} minutes, but not in the newest scan, and no tracked storm is in range.`;

/** Detections (>= 10 mm) of the newest scan in range, as indices; none when that scan is too old. */
export function hailNow(snapshot: LiveSnapshot, near: Vicinity): readonly number[] {
  const { newest_scan_ms } = snapshot;
  return newest_scan_ms !== null && newest_scan_ms >= near.since_ms
    ? snapshot.newestHailWithin(near, near.radius_km)
    : [];
}

/** True when GET /v1/hail/current lists a cell in range. */
export function hasHailCell(snapshot: LiveSnapshot, near: Vicinity): boolean {
  return snapshot.placesWithin(near, near.radius_km, near.since_ms).length > 0;
}

/** Why no storm is in range although hail is; empty without hail. `now`: that of `hailNow`. Only where no storm is in range. */
export function hailWithoutStorm(snapshot: LiveSnapshot, near: Vicinity, now: readonly number[]): string[] {
  if (now.length === 0) return hasHailCell(snapshot, near) ? [EARLIER] : [];
  const cells = snapshot.detections.column('cell_index');
  const reasons = now.map((index) => {
    if (snapshot.isTracked(index)) return UNTRACKED.beyond;
    return (cells[index] ?? null) === null ? UNTRACKED.too_small : UNTRACKED.one_scan;
  });
  return Object.values(UNTRACKED).filter((reason) => reasons.includes(reason));
}

/** Sentences as one note; null without any. */
export function noteOf(sentences: readonly string[]): string | null {
  return sentences.length === 0 ? null : sentences.join(' ');
}
