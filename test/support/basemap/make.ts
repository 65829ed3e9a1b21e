/** Makes the base map and the places of the map page from packages: `npm run basemap`, whenever one of them or a module here changes. */
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fromGeojsonVt } from '@maplibre/vt-pbf';
import type { Feature, Position } from 'geojson';
import GeoJSONVT, { type LegacyTile } from 'geojson-vt';
import { feature } from 'topojson-client';
import counties from 'us-atlas/counties-10m.json' with { type: 'json' };
import states from 'us-atlas/states-10m.json' with { type: 'json' };
import { type ArchiveTile, gzip, writePmtiles } from '../../../schemas/geo/pmtiles.ts';
import type { Bbox } from '../../../schemas/geo/position.ts';
import { type GroundLayer, groundLayers } from './outlines.ts';
import { usTowns } from './towns.ts';

/** At this zoom a unit of a tile is about 30 m, finer than the outlines; clients overzoom from here. */
const GROUND_MAX_ZOOM = 8;
/** Tiles without any part of the United States end at this zoom, but for those in the box of the contiguous states. */
const ABROAD_MAX_ZOOM = 5;
/** Contiguous states with a margin, so that no corner of a screen shows the end of the neighbours. */
const DETAILED: Bbox = [-132, 20, -60, 55];

const EXTENT = 4096;
const BUFFER = 64;
const TILE_VERSION = 2;
const WORLD: Bbox = [-180, -85, 180, 85];
const ATTRIBUTION = 'U.S. Census Bureau, Natural Earth, GeoNames (CC BY 4.0)';

interface Tile {
  readonly z: number;
  readonly x: number;
  readonly y: number;
  readonly layers: Record<string, LegacyTile>;
}

/** The base map as a PMTiles archive: the same packages give the same bytes. */
function groundArchive(): Uint8Array {
  const layers = groundLayers();
  return writePmtiles({
    tiles: tilesOf(layers),
    metadata: {
      name: 'ground',
      description: 'Land, lines, lakes, names and towns under the hail',
      attribution: ATTRIBUTION,
      version: '1',
      type: 'baselayer',
      format: 'pbf',
      vector_layers: layers.map(({ name, min_zoom }) => ({
        id: name,
        minzoom: min_zoom,
        maxzoom: GROUND_MAX_ZOOM,
        fields: {},
      })),
    },
    bounds: WORLD,
    center: { lon: -97, lat: 38, zoom: 3 },
    minZoom: 0,
    maxZoom: GROUND_MAX_ZOOM,
  });
}

function tilesOf(layers: readonly GroundLayer[]): ArchiveTile[] {
  const tiles = new Map<string, Tile>();
  for (const { name, min_zoom, features } of layers) {
    const index = indexOf(features);
    for (const { z, x, y } of index.tileCoords) {
      if (z < min_zoom) continue;
      const tile = shownFrom(index.getTile(z, x, y), z);
      if (tile === null) continue;
      const key = `${z}/${x}/${y}`;
      const filled = tiles.get(key) ?? { z, x, y, layers: {} };
      filled.layers[name] = tile;
      tiles.set(key, filled);
    }
  }
  return [...tiles.values()].filter(isKept).map(({ z, x, y, layers }) => ({
    z,
    x,
    y,
    data: gzip(fromGeojsonVt(layers, { version: TILE_VERSION, extent: EXTENT })),
  }));
}

/** Tile index that is split down to the last zoom wherever there is a point. */
function indexOf(features: readonly Feature[]): GeoJSONVT {
  return new GeoJSONVT(
    { type: 'FeatureCollection', features: [...features] },
    { maxZoom: GROUND_MAX_ZOOM, indexMaxZoom: GROUND_MAX_ZOOM, indexMaxPoints: 0, extent: EXTENT, buffer: BUFFER },
  );
}

/** The features of a tile that are shown at its zoom, or at the last zoom later; null for none. */
function shownFrom(tile: LegacyTile | null, z: number): LegacyTile | null {
  const features = tile?.features.filter(
    ({ tags }) => z === GROUND_MAX_ZOOM || ((tags?.from_zoom as number | undefined) ?? 0) <= z,
  );
  return features?.length ? { features } : null;
}

function isKept({ z, x, y, layers }: Tile): boolean {
  return z <= ABROAD_MAX_ZOOM || 'land' in layers || 'coasts' in layers || meets(z, x, y, DETAILED);
}

/** True when a tile shares a place with a box. */
function meets(z: number, x: number, y: number, [west, south, east, north]: Bbox): boolean {
  const tiles = 2 ** z;
  const lon = (column: number) => (column / tiles) * 360 - 180;
  const lat = (row: number) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * row) / tiles))) * 180) / Math.PI;
  return lon(x + 1) > west && lon(x) < east && lat(y) > south && lat(y + 1) < north;
}

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
function findablePlaces() {
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
function findableZips() {
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

const write = (name: string, content: string | Uint8Array) =>
  writeFileSync(new URL(`../../../data/reference/${name}`, import.meta.url), content);

write('ground.pmtiles', groundArchive());
write('places.json', JSON.stringify(findablePlaces()));
write('zips.json', JSON.stringify(findableZips()));
