import { type Antenna, detectionQuality } from '../../schemas/geo/beam.ts';
import type { Blockage } from '../../schemas/geo/blockage.ts';
import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { hailDayFreezingLevelKm } from '../../schemas/reference/freezing-level.ts';

/** Below this detection quality a day without hail says nothing. */
const AVAILABLE_MIN = 0.3;
/** The month that stands for the year: most hail falls in May, and where radar sees too little hardly depends on the month. */
const MONTH = 5;
/** A radar alone sees well enough between these distances, km; there the quality need not be worked out. */
const SURE_FROM_KM = 25;
const SURE_TO_KM = 190;

/** For each place 1 where radar sees hail well enough that a day without a detection was a day without hail, else 0. */
export function availableCells(
  places: readonly Position[],
  sites: readonly Antenna[],
  blockage: Blockage | null,
): Float64Array {
  return Float64Array.from(places, (place) => {
    const isSure = blockage === null && sites.some((site) => isBetween(roughDistanceKm(site, place)));
    return isSure || quality(place, sites, blockage) >= AVAILABLE_MIN ? 1 : 0;
  });
}

function isBetween(km: number): boolean {
  return km >= SURE_FROM_KM && km <= SURE_TO_KM;
}

function quality(place: Position, sites: readonly Antenna[], blockage: Blockage | null): number {
  const freezing_level_km = hailDayFreezingLevelKm(place.lat, MONTH);
  return detectionQuality(place, { sites, freezing_level_km, blockage: blockage?.blocked }).hdqi;
}
