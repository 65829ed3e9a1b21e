import type { Position } from '../../schemas/geo/position.ts';
import { hailSeason } from './hail-season.ts';

/**
 * Rates that hold while little was observed: days with hail >= 19 mm within 10 km in a year at the middle of the Plains, and
 * wherever hail is rare. Judgement: reports fill 24 to 28 days a year of an 80 km square from Oklahoma and the Front Range to Indiana,
 * and a storm meets such a square about eight times as often as a circle of 10 km.
 */
const PLAINS_DAYS = 2.5;
const ELSEWHERE_DAYS = 0.15;
/** Middle of the hail of the Plains and standard deviations of the Gaussian around it, degrees. */
const PLAINS = { lat: 38, lon: -98 };
const PLAINS_LAT_SD_DEG = 6.5;
const PLAINS_LON_SD_DEG = 9;
/** Days of each class for one with hail >= 19 mm: any, severe, significant. 6.6 % of reports are of 2 inches and more. */
const CLASS_SHARES = [1, 0.4, 0.05];

/** Built-in days with hail of a class in each month at a place: any, severe or significant. */
export function priorRates(place: Position, hail_class: number): number[] {
  const { lat, lon } = place;
  const distance2 = ((lat - PLAINS.lat) / PLAINS_LAT_SD_DEG) ** 2 + ((lon - PLAINS.lon) / PLAINS_LON_SD_DEG) ** 2;
  const days = ELSEWHERE_DAYS + (PLAINS_DAYS - ELSEWHERE_DAYS) * Math.exp(-distance2 / 2);
  const share = CLASS_SHARES[hail_class];
  if (share === undefined)
    throw new RangeError(`class of hail is ${hail_class}, expected 0 to ${CLASS_SHARES.length - 1}`);
  return hailSeason(place).map((month) => days * share * month);
}
