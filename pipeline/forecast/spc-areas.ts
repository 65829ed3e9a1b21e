import { bbox } from '@turf/bbox';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import type { Position } from '../../schemas/geo/position.ts';
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
  readonly contains: (at: Position) => boolean;
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
  const area = { type: 'MultiPolygon' as const, coordinates: multiPolygonFromWkt(geometry) as number[][][][] };
  // With its box, an area is searched only for places within that.
  const boxed = { ...area, bbox: bbox(area) };
  return [{ pct: probability_pct, contains: ({ lat, lon }) => booleanPointInPolygon([lon, lat], boxed) }];
}

/**
 * Probability at a place, percent: that of the highest area that contains it; outside all areas a quiet value on days 1 to 3.
 * Null where unknown: outside all areas on later days, and on any day with a rejected area.
 */
export function spcPct(outlook: SpcDay, day: number, at: Position): number | null {
  const area = outlook.areas.find(({ contains }) => contains(at));
  if (area !== undefined) return area.pct * outlook.share;
  return outlook.is_complete ? (QUIET_PCT[day - 1] ?? null) : null;
}
