import { fromGeojsonVt } from '@maplibre/vt-pbf';
import type { Feature } from 'geojson';
import GeoJSONVT, { type LegacyTile } from 'geojson-vt';
import { type ArchiveTile, gzip, writePmtiles } from '../../../schemas/geo/pmtiles.ts';
import type { Bbox } from '../../../schemas/geo/position.ts';
import { type GroundLayer, groundLayers } from './outlines.ts';

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
export function groundArchive(): Uint8Array {
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
