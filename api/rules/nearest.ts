import { distanceKm, roughDistanceKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import type { Found } from '../published/live.ts';

/** Distances on the sphere are off by up to 0.4 % either way: an item farther by this factor cannot be the nearest. */
const SLACK = 1.01;

/** The nearest of some places within a radius, the first of equals; null when none is. Geodesic distances. */
export function nearestWithin<Item extends Position>(position: Position, items: readonly Item[], radius_km: number) {
  let nearest: Found<Item> | null = null;
  for (const item of items) {
    const limit_km: number = nearest?.distance_km ?? radius_km;
    if (roughDistanceKm(position, item) > limit_km * SLACK) continue;
    const distance_km = distanceKm(position, item);
    if (distance_km < limit_km || (nearest === null && distance_km === radius_km)) nearest = { item, distance_km };
  }
  return nearest;
}
