import type { Position } from '../../schemas/geo/position.ts';
import { LOOKBACK_MIN } from '../../schemas/resources/hail-cell.ts';
import type { StormCell, StormTrack } from '../../schemas/resources/storm.ts';
import { sizeCategory } from '../../schemas/size.ts';
import type { TrackPoint } from '../../schemas/tables/radar.ts';
import { timestamp } from '../../schemas/time.ts';
import type { LiveSnapshot } from '../published/live.ts';
import { wholeDirection } from './hail-cells.ts';
import { outsideNote } from './outside.ts';
import { rounded } from './rounded.ts';

export function motionOf({
  speed_kmh,
  direction_deg,
}: Pick<TrackPoint, 'speed_kmh' | 'direction_deg'>): StormCell['motion'] {
  return { speed_kmh: rounded(speed_kmh, 1), direction_deg: wholeDirection(direction_deg) };
}

/** State of a track at one scan, for lists and for the points of its history. */
export function stormState(point: TrackPoint) {
  return {
    scan_time: timestamp(point.scan_time),
    lat: rounded(point.lat, 5),
    lon: rounded(point.lon, 5),
    motion: motionOf(point),
    hail: {
      estimated_size_mm: rounded(point.estimated_size_mm, 1),
      size_category: sizeCategory(point.estimated_size_mm),
      ml_probability: rounded(point.ml_probability, 3),
    },
    trend: point.trend,
    growth: { size_growth_rate_mm_per_min: rounded(point.size_growth_rate_mm_per_min, 2) },
  };
}

/** A tracked storm in a list, without the advanced block. */
export function stormCell(point: TrackPoint, distance_km: number): StormCell {
  return {
    track_id: point.track_id,
    distance_km: rounded(distance_km, 2),
    ...stormState(point),
    track: {
      duration_min: rounded(point.duration_min, 1),
      peak_estimated_size_mm: rounded(point.peak_estimated_size_mm, 1),
    },
  };
}

/** A whole track in short; its points oldest first, at least one. */
export function trackSummary(points: readonly TrackPoint[]): StormTrack['summary'] {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) throw new RangeError('track has no points, expected at least one');
  const peak = (name: 'estimated_size_mm' | 'ml_probability' | 'area_km2') =>
    Math.max(...points.map((point) => point[name]));
  return {
    scan_count: points.length,
    first_detected: timestamp(first.scan_time),
    last_detected: timestamp(last.scan_time),
    duration_min: rounded((last.scan_time - first.scan_time) / 60_000, 1),
    peak_estimated_size_mm: rounded(peak('estimated_size_mm'), 1),
    peak_size_category: sizeCategory(peak('estimated_size_mm')),
    peak_ml_probability: rounded(peak('ml_probability'), 3),
    size_km2: rounded(peak('area_km2'), 1),
  };
}

/** A circle, and the oldest scan that counts in it. */
export type Vicinity = Position & Readonly<Record<'radius_km' | 'since_ms', number>>;

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

/** Why no storm is in range although hail is, or why nothing can be known there; empty without either. `now`: that of `hailNow`. Only where no storm is in range. */
export function hailWithoutStorm(snapshot: LiveSnapshot, near: Vicinity, now: readonly number[]): string[] {
  if (now.length === 0) return hasHailCell(snapshot, near) ? [EARLIER] : [outsideNote('radar', near) ?? []].flat();
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
