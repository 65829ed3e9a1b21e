import type { LngLat } from '../map/coverage.ts';
import { areaKm2, lengthKm } from '../map/geodesy.ts';
import { KM_PER_MILE } from '../page/words.ts';

/** From so many places on there is an area. */
export const RING_MIN = 3;

/** `12.3 mi (19.8 km)`, and the area from three places on. */
export function measuredInWords(places: readonly LngLat[]): string {
  if (places.length === 0) return 'Click the map to set the first place; enter sets its middle.';
  if (places.length === 1) return 'Click the next place.';
  const length = lengthKm(places);
  const distance = `${numberInWords(length / KM_PER_MILE)} mi (${numberInWords(length)} km)`;
  if (places.length < RING_MIN) return distance;
  const area = areaKm2(places);
  return `${distance} · area ${numberInWords(area / KM_PER_MILE ** 2)} sq mi (${numberInWords(area)} km²)`;
}

/** Three digits that count, and whole numbers from 100 on. */
function numberInWords(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
