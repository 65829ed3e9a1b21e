import { destination } from '../schemas/geo/distance.ts';
import type { Position } from '../schemas/geo/position.ts';
import type { TrackPoint } from '../schemas/tables/radar.ts';

/** A published track over a span of scans: its path and its peak. */
export interface StormPath {
  readonly track_id: string;
  /** Positions of its cells, in time order. */
  readonly line: readonly Position[];
  readonly first_detected: number;
  readonly last_detected: number;
  readonly peak: Position;
  readonly peak_time: number;
  /** Largest size within the span. */
  readonly peak_mm: number;
  /** Largest probability within the span. */
  readonly prob: number;
}

/** A track is published from this scan on. */
const PUBLISHED_SCANS = 2;

export function isPublished(point: TrackPoint): boolean {
  return point.scan_count >= PUBLISHED_SCANS;
}

/** Lead time of the drawn motion of a storm. */
export const MOTION_LEAD_MIN = 15;

/** Position of a storm after MOTION_LEAD_MIN at its present motion; null while the motion is unknown. */
export function positionAhead(from: Position, track: TrackPoint): Position | null {
  if (track.speed_kmh === null || track.direction_deg === null) return null;
  return destination(from, track.direction_deg, (track.speed_kmh * MOTION_LEAD_MIN) / 60);
}

/**
 * Paths of the published tracks, ordered by track_id; `rows` may have any order. Only rows with a cell count: no hail was observed
 * at a predicted position. Of equal peaks the earliest counts.
 */
export function stormPaths(rows: readonly TrackPoint[]): StormPath[] {
  const byTrack = Map.groupBy(
    rows.filter((row) => row.state === 'tracked'),
    (row) => row.track_id,
  );
  return Array.from(byTrack, ([track_id, unordered]): StormPath | null => {
    const points = unordered.toSorted((a, b) => a.scan_time - b.scan_time);
    const first = points[0] as TrackPoint;
    const last = points.at(-1) as TrackPoint;
    if (!isPublished(last)) return null;
    const peak = points.reduce((a, b) => (b.estimated_size_mm > a.estimated_size_mm ? b : a));
    return {
      track_id,
      line: points.map(({ lat, lon }) => ({ lat, lon })),
      first_detected: first.scan_time,
      last_detected: last.scan_time,
      peak: { lat: peak.lat, lon: peak.lon },
      peak_time: peak.scan_time,
      peak_mm: peak.estimated_size_mm,
      prob: Math.max(...points.map((point) => point.ml_probability)),
    };
  })
    .filter((path) => path !== null)
    .sort((a, b) => (a.track_id < b.track_id ? -1 : 1));
}
