import { readFileSync } from 'node:fs';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import type { MultiPolygon, Polygon } from 'geojson';
import { feature } from 'topojson-client';
import topology from 'us-atlas/counties-10m.json' with { type: 'json' };
import { distanceKm, isWithinKm, offsetKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { nearestWithin } from '../rules/nearest.ts';
import { counted } from './words.ts';

/** Towns (GeoNames) and names of states, which the map page finds places in. */
interface Places {
  /** USPS codes by the name of the state. */
  readonly states: Readonly<Record<string, string>>;
  /** Largest first. */
  readonly towns: readonly (readonly [name: string, state: string, lat: number, lon: number])[];
}

/** The largest town this near names a place, else the nearest up to the other distance. */
const NEAR_KM = 8;
const FAR_KM = 160;
const COMPASS = ['north', 'north-east', 'east', 'south-east', 'south', 'south-west', 'west', 'north-west'];
/** FIPS codes of counties count from 1; from here on they are cities that belong to no county. */
const INDEPENDENT_CITY_FROM = 510;
const OWN_NAME = new Set(['Alaska', 'District of Columbia']);

/** Direction of one place from another, one of eight: `north-east`. */
export function directionFrom(from: Position, to: Position): string {
  const { east_km, north_km } = offsetKm(from, to);
  return COMPASS[Math.round((4 * Math.atan2(east_km, north_km)) / Math.PI + 8) % 8] as string;
}

/**
 * A place by its county and a town in it, if one is listed: `3.2 miles north-east of Norman, Cleveland County, Oklahoma`; at sea by
 * the nearest town. Null far from any town, as abroad.
 */
export function placeInWords(point: Position): string | null {
  const { states, towns }: Places = JSON.parse(
    readFileSync(new URL('../../data/reference/places.json', import.meta.url), 'utf8'),
  );
  const county = feature(topology, topology.objects.counties).features.find((one) => holds(one.geometry, point));
  const places = towns
    .map(([name, state, lat, lon]) => ({ name, state, lat, lon }))
    .filter((town) => county === undefined || holds(county.geometry, town));
  const town = places.find((place) => isWithinKm(point, place, NEAR_KM)) ?? nearestWithin(point, places, FAR_KM)?.item;
  const near = town === undefined ? [] : [fromTown(point, town)];
  const area =
    county === undefined
      ? Object.keys(states).filter((name) => states[name] === town?.state)
      : countyAndState(String(county.id), county.properties.name);
  return [...new Set([...near, ...area])].join(', ') || null;
}

function fromTown(point: Position, town: Position & { readonly name: string }): string {
  const miles = Number(((1000 * distanceKm(point, town)) / METRES_PER_MILE).toFixed(1));
  return miles === 0 ? town.name : `${counted(miles, 'mile')} ${directionFrom(town, point)} of ${town.name}`;
}

function holds(area: Polygon | MultiPolygon, { lat, lon }: Position): boolean {
  return booleanPointInPolygon([lon, lat], area);
}

/** Towns on a state line may stand in the polygon of the other state: the county says the state. */
function countyAndState(fips: string, name: string): string[] {
  const state = topology.objects.states.geometries.find(({ id }) => id === fips.slice(0, 2))?.properties.name ?? '';
  if (Number(fips.slice(2)) >= INDEPENDENT_CITY_FROM) return [`City of ${name}`, state];
  if (OWN_NAME.has(state)) return [name, state];
  return [`${name} ${state === 'Louisiana' ? 'Parish' : 'County'}`, state];
}
