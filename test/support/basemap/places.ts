import { createRequire } from 'node:module';
import type { Position } from 'geojson';
import { feature } from 'topojson-client';
import counties from 'us-atlas/counties-10m.json' with { type: 'json' };
import states from 'us-atlas/states-10m.json' with { type: 'json' };
import { usTowns } from './towns.ts';

/** `[name, state, lat, lon]`; the state is a USPS code. */
type PlaceRow = readonly [string, string, number, number];

/** `[zip, town, state, lat, lon]` */
type ZipRow = readonly [string, string, string, number, number];

/** Three decimals are 100 m, which is finer than a town, a county or a ZIP is a point. */
const DECIMALS = 1000;
/** FIPS codes of counties count from 1; from here on they are cities that belong to no county. */
const INDEPENDENT_CITY_FROM = 510;
const OWN_NAME = new Set(['AK', 'DC']);

// The package counts as a CommonJS module with named exports that Node cannot see.
const require = createRequire(import.meta.url);
const { codes }: typeof import('zipcodes/lib/codes.js') = require('zipcodes/lib/codes.js');
const { full }: typeof import('zipcodes/lib/states.js') = require('zipcodes/lib/states.js');

/**
 * Content of `places.json`, what the map page finds by name: towns, largest first (GeoNames), and counties (U.S. Census Bureau
 * through us-atlas) of the 50 states and the District.
 */
export function findablePlaces() {
  const named = feature(states, states.objects.states).features.flatMap(({ id, properties: { name } }) => {
    const code = full[name.toUpperCase()];
    return code === undefined ? [] : [{ fips: String(id), name, code }];
  });
  const codeOf = new Map(named.map(({ fips, code }) => [fips, code]));
  const known = new Set(codeOf.values());
  return {
    states: Object.fromEntries(named.filter(({ fips }) => Number(fips) <= 56).map(({ name, code }) => [name, code])),
    towns: usTowns()
      .filter(({ state }) => known.has(state))
      .map(({ name, state, lat, lon }): PlaceRow => [name, state, rounded(lat), rounded(lon)]),
    counties: feature(counties, counties.objects.counties)
      .features.flatMap(({ id, properties, geometry }): PlaceRow[] => {
        const fips = String(id);
        const state = codeOf.get(fips.slice(0, 2));
        if (state === undefined || Number(fips.slice(2)) >= INDEPENDENT_CITY_FROM) return [];
        const rings = geometry.type === 'Polygon' ? geometry.coordinates : geometry.coordinates.flat();
        return [[countyName(properties.name, state), state, ...middle(rings.flat())]];
      })
      .sort(([a, in_a], [b, in_b]) => a.localeCompare(b, 'en') || in_a.localeCompare(in_b, 'en')),
  };
}

/** Content of `zips.json`, ascending: ZIP codes of the United States that have a place, each with the town of its post office. */
export function findableZips() {
  return Object.values(codes)
    .filter(({ latitude, longitude }) => Number.isFinite(latitude) && Number.isFinite(longitude) && latitude !== 0)
    .map(
      ({ zip, city, state, latitude, longitude }): ZipRow => [zip, city, state, rounded(latitude), rounded(longitude)],
    )
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function countyName(name: string, state: string): string {
  if (OWN_NAME.has(state)) return name;
  return `${name} ${state === 'LA' ? 'Parish' : 'County'}`;
}

/** Middle of the bounding box: `[lat, lon]`. */
function middle(corners: readonly Position[]): [number, number] {
  const lons = corners.map(([lon]) => lon as number);
  const lats = corners.map(([, lat]) => lat as number);
  const between = (values: readonly number[]) => rounded((Math.min(...values) + Math.max(...values)) / 2);
  return [between(lats), between(lons)];
}

function rounded(degrees: number): number {
  return Math.round(degrees * DECIMALS) / DECIMALS;
}
