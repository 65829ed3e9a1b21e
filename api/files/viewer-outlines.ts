import type { FeatureCollection, MultiLineString, MultiPolygon, Point, Position } from 'geojson';
import { feature, mesh } from 'topojson-client';
import topology from 'us-atlas/states-10m.json' with { type: 'json' };

/** Base map of the contiguous states: `[lon, lat]` with three decimals, which is finer than outlines at 1:10 million. */
interface Outlines {
  readonly land: MultiPolygon;
  /** Lines between two states, each once. */
  readonly borders: MultiLineString;
  /** Coasts and borders to other countries. */
  readonly coasts: MultiLineString;
  /** A place well inside each state, with its name and the area of its bounding box, square degrees. */
  readonly names: FeatureCollection<Point, { readonly name: string; readonly extent: number }>;
}

const DECIMALS = 1000;
/** West, south, east, north of the drawn area: the grid with a margin; Alaska, Hawaii and the territories lie outside. */
const SHOWN = [-130, 22, -62, 52] as const;
/** A name is placed at the best place of a lattice with this number of rows and columns. */
const NAME_PLACES = 14;
/** Every fourth corner of an outline is enough to measure the distance to it. */
const NAME_CORNER_STEP = 4;

type Ring = Position[];

/** Outlines of the states. Source: U.S. Census Bureau through us-atlas 3. */
export function stateOutlines(): Outlines {
  const { states } = topology.objects;
  const features = feature(topology, states).features.map(({ properties, geometry }) => ({
    name: properties.name,
    polygons: (geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates).filter(isShown),
  }));
  const shown = features.filter(({ polygons }) => polygons.length > 0);
  return {
    land: {
      type: 'MultiPolygon',
      coordinates: shown.flatMap(({ polygons }) => polygons.map((rings) => rings.map(rounded))),
    },
    borders: lines(mesh(topology, states, (a, b) => a !== b).coordinates),
    coasts: lines(mesh(topology, states, (a, b) => a === b).coordinates),
    names: {
      type: 'FeatureCollection',
      features: shown.map(({ name, polygons }) => {
        const ring = largest(polygons);
        return {
          type: 'Feature',
          properties: { name, extent: Math.round(extent(ring) * 10) / 10 },
          geometry: { type: 'Point', coordinates: round(placeInside(ring)) },
        };
      }),
    },
  };
}

function isShown([outer]: readonly Ring[]): boolean {
  const [west, south, east, north] = SHOWN;
  return (outer as Ring).every(
    ([lon, lat]) => within(lon as number, west, east) && within(lat as number, south, north),
  );
}

function within(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}

function lines(coordinates: readonly Ring[]): MultiLineString {
  return { type: 'MultiLineString', coordinates: coordinates.filter((line) => isShown([line])).map(rounded) };
}

/** Rounded, without consecutive equal corners. */
function rounded(line: Ring): Ring {
  return line
    .map(round)
    .filter(
      ([lon, lat], i, all) => i === 0 || i === all.length - 1 || lon !== all[i - 1]?.[0] || lat !== all[i - 1]?.[1],
    );
}

function round([lon, lat]: Position): Position {
  return [Math.round((lon as number) * DECIMALS) / DECIMALS, Math.round((lat as number) * DECIMALS) / DECIMALS];
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

function box(ring: Ring): [number, number, number, number] {
  const lons = ring.map(([lon]) => lon as number);
  const lats = ring.map(([, lat]) => lat as number);
  return [Math.min(...lons), Math.min(...lats), Math.max(...lons), Math.max(...lats)];
}

/** The place of a regular lattice that is farthest from the outline, where names have most room. */
function placeInside(ring: Ring): Position {
  const [west, south, east, north] = box(ring);
  const corners = ring.filter((_, i) => i % NAME_CORNER_STEP === 0);
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
