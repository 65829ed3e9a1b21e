import { distanceKm, roughDistanceKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';

export interface Near<Item> {
  readonly item: Item;
  readonly distance_km: number;
}

/** Distances on the sphere are off by up to 0.4 % either way: an item farther by this factor cannot be the nearest. */
const SLACK = 1.01;

/** The nearest of some places within a radius, the first of equals; null when none is. Geodesic distances. */
export function nearestWithin<Item extends Position>(
  position: Position,
  items: readonly Item[],
  radius_km: number,
): Near<Item> | null {
  const rough = items.map((item) => ({ item, km: roughDistanceKm(position, item) }));
  const smallest = rough.reduce((least, { km }) => Math.min(least, km), radius_km);
  let nearest: Near<Item> | null = null;
  for (const { item, km } of rough) {
    if (km > smallest * SLACK) continue;
    const distance_km = distanceKm(position, item);
    if (distance_km <= radius_km && distance_km < (nearest?.distance_km ?? Number.POSITIVE_INFINITY))
      nearest = { item, distance_km };
  }
  return nearest;
}
