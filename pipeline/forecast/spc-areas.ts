import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import type { Position } from '../../schemas/geo/position.ts';
import type { MultiPolygon } from '../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../schemas/geo/wkt.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import type { SpcOutlook } from '../../schemas/tables/feeds.ts';

/** Mean share of hail in severe weather of all kinds, by season. */
const HAIL_SHARE = { spring: 0.55, summer: 0.45, otherwise: 0.3 } as const;
const SPRING = [3, 4, 5];
const SUMMER = [6, 7, 8];

/** Probability outside all areas on days 1 to 3, percent; unknown on later days. */
const QUIET_PCT: readonly number[] = [1, 1.5, 1.5];

/** Hail in the convective outlook of one date. */
export interface SpcDay {
  /** False when an area was rejected: the probability outside the others is then unknown. */
  readonly is_complete: boolean;
  /** Probability areas, the largest probability first. */
  readonly areas: readonly SpcArea[];
  /** 1 for hail itself; the share of hail in a combined value. */
  readonly share: number;
  readonly provenance: Provenance;
}

interface SpcArea {
  readonly pct: number;
  readonly geometry: MultiPolygon;
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/**
 * The outlook of one date: the layer of hail, else that of all hazards, from the shortest lead that has either. Null when
 * none was issued.
 */
export function spcDay(rows: readonly SpcOutlook[], forecast_date: string): SpcDay | null {
  const layers = rows.filter((row) => row.forecast_date === forecast_date && row.part !== 'significant');
  const days = [...new Set(layers.map(({ day }) => day))].sort((a, b) => a - b);
  for (const day of days)
    for (const hazard of ['hail', 'any_severe'] as const) {
      const layer = layers.filter((row) => row.day === day && row.hazard === hazard);
      const [first] = layer;
      if (first === undefined) continue;
      return {
        is_complete: layer.every(({ is_complete }) => is_complete),
        areas: layer.flatMap(areaOf).sort((a, b) => b.pct - a.pct),
        share: hazard === 'hail' ? 1 : hailShare(forecast_date),
        provenance: first.data_source,
      };
    }
  return null;
}

function hailShare(date: string): number {
  const month = Number(date.slice(5, 7));
  if (SPRING.includes(month)) return HAIL_SHARE.spring;
  return SUMMER.includes(month) ? HAIL_SHARE.summer : HAIL_SHARE.otherwise;
}

function areaOf({ probability_pct, geometry }: SpcOutlook): SpcArea[] {
  if (probability_pct === null || geometry === null) return [];
  const polygons = multiPolygonFromWkt(geometry);
  let [west, south, east, north] = [180, 90, -180, -90];
  for (const [lon, lat] of polygons.flat(2)) {
    west = Math.min(west, lon);
    east = Math.max(east, lon);
    south = Math.min(south, lat);
    north = Math.max(north, lat);
  }
  return [{ pct: probability_pct, geometry: polygons, west, south, east, north }];
}

/**
 * Probability at a place, percent: that of the highest area that contains it; outside all areas a quiet value on days 1 to 3.
 * Null where unknown: outside all areas on later days, and on any day with a rejected area.
 */
export function spcPct(outlook: SpcDay, day: number, at: Position): number | null {
  const area = outlook.areas.find((each) => contains(each, at));
  if (area !== undefined) return area.pct * outlook.share;
  return outlook.is_complete ? (QUIET_PCT[day - 1] ?? null) : null;
}

function contains({ geometry, west, south, east, north }: SpcArea, { lat, lon }: Position): boolean {
  if (lon < west || lon > east || lat < south || lat > north) return false;
  return booleanPointInPolygon([lon, lat], { type: 'MultiPolygon', coordinates: geometry as number[][][][] });
}
