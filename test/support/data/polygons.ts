import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import type { MultiPolygon } from '../../../schemas/geo/rings.ts';

/** True for a position (longitude, latitude) in or on the edge of polygons, as an independent library sees it. */
export function multiPolygonContains(polygons: MultiPolygon, position: readonly [number, number]): boolean {
  const coordinates = polygons.map((polygon) => polygon.map((ring) => ring.map(([lon, lat]) => [lon, lat])));
  return booleanPointInPolygon([...position], { type: 'MultiPolygon', coordinates });
}
