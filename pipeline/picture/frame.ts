import { cellAreaKm2 } from '../../schemas/geo/area.ts';
import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import type { MultiPolygon, Polygon } from '../../schemas/geo/rings.ts';

/** Hail this close to other hail belongs to the same outbreak. */
const OUTBREAK_GAP_KM = 150;
/** Share of the area of hail that a map holds at least: single pixels far away do not shrink everything else. */
const SHOWN_SHARE = 0.9;

/** An outbreak: hail areas of which each is near another one of it. */
interface Outbreak {
  readonly polygons: Polygon[];
  readonly area_km2: number;
}

/** Positions of the largest outbreaks of hail that together hold nine tenths of its area; empty without hail. */
export function mainHail(hail: MultiPolygon): Position[] {
  const sorted = outbreaks(hail).toSorted((a, b) => b.area_km2 - a.area_km2);
  const enough_km2 = SHOWN_SHARE * hail.reduce((sum, polygon) => sum + polygonAreaKm2(polygon), 0);
  const shown: Outbreak[] = [];
  for (let sum_km2 = 0; sum_km2 < enough_km2; sum_km2 += (shown.at(-1) as Outbreak).area_km2)
    shown.push(sorted[shown.length] as Outbreak);
  return shown.flatMap(({ polygons }) => polygons.flat(2).map(([lon, lat]) => ({ lat, lon }) as Position));
}

/** Groups areas whose middles are linked by steps of at most `OUTBREAK_GAP_KM`. */
function outbreaks(hail: MultiPolygon): Outbreak[] {
  let rest = hail.map((polygon) => ({ polygon, middle: middleOf(polygon) }));
  const found: Outbreak[] = [];
  while (rest.length > 0) {
    const members = rest.splice(0, 1);
    for (const { middle } of members) {
      const isNear = (other: { middle: Position }) => roughDistanceKm(middle, other.middle) <= OUTBREAK_GAP_KM;
      members.push(...rest.filter(isNear));
      rest = rest.filter((other) => !isNear(other));
    }
    const polygons = members.map(({ polygon }) => polygon);
    found.push({ polygons, area_km2: polygons.reduce((sum, polygon) => sum + polygonAreaKm2(polygon), 0) });
  }
  return found;
}

/** Area of a polygon whose sides are parallels and meridians, as outlines of pixels are. */
export function polygonAreaKm2(polygon: Polygon): number {
  let sum_km2 = 0;
  for (const ring of polygon)
    for (let i = 1; i < ring.length; i++) {
      const [lon, from] = ring[i - 1] as [number, number];
      const [, to] = ring[i] as [number, number];
      sum_km2 += cellAreaKm2(from, to, lon);
    }
  return sum_km2;
}

/** Middle of the box around a polygon. */
function middleOf(polygon: Polygon): Position {
  const [west, south, east, north] = boxOf(polygon);
  return { lat: (south + north) / 2, lon: (west + east) / 2 };
}

/** Box around lines of `[lon, lat]`, or of pixels: least x, least y, greatest x, greatest y. */
export function boxOf(lines: readonly (readonly (readonly number[])[])[]): Bbox {
  const far = Number.POSITIVE_INFINITY;
  let [west, south, east, north] = [far, far, -far, -far];
  for (const line of lines)
    for (const [lon, lat] of line as readonly [number, number][]) {
      west = Math.min(west, lon);
      south = Math.min(south, lat);
      east = Math.max(east, lon);
      north = Math.max(north, lat);
    }
  return [west, south, east, north];
}
