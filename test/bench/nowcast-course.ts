import { localScale } from '../../schemas/geo/local-scale.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { type LeadKey, NOWCAST_LEADS } from '../../schemas/resources/nowcast.ts';
import type { TrackPoint } from '../../schemas/tables/radar.ts';

/** Distances are capped at this, km: hail beyond does not matter. */
export const COURSE_MAX_KM = 30;

const LONGEST_MIN = Math.max(...NOWCAST_LEADS.map(({ minutes }) => minutes));

/** A storm's newest scan, and the pixels of its hail >= 19 mm in it. */
export interface MovingHail {
  readonly seen: Pick<TrackPoint, 'scan_time' | 'speed_kmh' | 'direction_deg'>;
  readonly hail: readonly Position[];
}

/** Smallest distance of the hail of all storms from a point if it keeps its course and shape; capped at 30 km. */
export interface Course {
  /** Now. */
  readonly now_km: number;
  /** At any time between now and each lead. */
  readonly path_km: Readonly<Record<LeadKey, number>>;
}

/** Course of the hail of storms past a point, which forecasts are compared with; a storm of unknown motion does not move. */
export function courseOf(point: Position, storms: readonly MovingHail[], now_ms: number): Course {
  const { east, north } = localScale(point, 1);
  const nearest2 = new Float64Array(1 + NOWCAST_LEADS.length).fill(COURSE_MAX_KM ** 2);
  for (const { seen, hail } of storms) {
    const age_min = Math.max(0, (now_ms - seen.scan_time) / 60_000);
    const km_min = seen.direction_deg === null ? 0 : (seen.speed_kmh ?? 0) / 60;
    const towards = ((seen.direction_deg ?? 0) * Math.PI) / 180;
    const [vx, vy] = [km_min * Math.sin(towards), km_min * Math.cos(towards)];
    const reach2 = (COURSE_MAX_KM + km_min * LONGEST_MIN) ** 2;
    for (const { lat, lon } of hail) {
      const dy = lat - point.lat;
      const x = (lon - point.lon) * (east[0] + dy * east[1]) + vx * age_min;
      const y = dy * north[0] + vy * age_min;
      if (x * x + y * y > reach2) continue;
      nearest2[0] = Math.min(nearest2[0], x * x + y * y);
      const passing_min = km_min === 0 ? 0 : -(x * vx + y * vy) / (km_min * km_min);
      for (const [lead, { minutes }] of NOWCAST_LEADS.entries()) {
        const at_min = Math.min(minutes, Math.max(0, passing_min));
        const distance2 = (x + vx * at_min) ** 2 + (y + vy * at_min) ** 2;
        if (distance2 < nearest2[lead + 1]) nearest2[lead + 1] = distance2;
      }
    }
  }
  const [now_km, ...path_km] = Array.from(nearest2, Math.sqrt) as [number, ...number[]];
  const leads = NOWCAST_LEADS.map(({ key }, lead) => [key, path_km[lead]] as const);
  return { now_km, path_km: Object.fromEntries(leads) as Record<LeadKey, number> };
}
