import { fromGeojsonVt } from '@maplibre/vt-pbf';
import type { Feature, FeatureCollection } from 'geojson';
import GeoJSONVT, { type LegacyTile } from 'geojson-vt';
import { gzip } from './gzip.ts';
import type { ArchiveTile } from './pmtiles.ts';

export const MIN_ZOOM = 0;
/** A pixel of the grid is 29 tile units of 4096 at this zoom; clients stretch it further. */
export const MAX_ZOOM = 10;

const EXTENT = 4096;
const TILE_VERSION = 2;

/** Features of one layer, by layer name in drawing order. */
export type Layers = Readonly<Record<string, readonly Feature[]>>;

/**
 * Gzipped vector tiles of all layers at zooms 0 to 10: every tile that holds something, and always the tile of zoom 0,
 * so that an archive of nothing still names its layers. In no promised order.
 */
export function pyramid(layers: Layers): ArchiveTile[] {
  const empty = Object.fromEntries(Object.keys(layers).map((name): [string, LegacyTile] => [name, { features: [] }]));
  const tiles = new Map<string, { z: number; x: number; y: number; layers: Record<string, LegacyTile> }>();
  tiles.set('0/0/0', { z: 0, x: 0, y: 0, layers: empty });
  for (const [name, features] of Object.entries(layers)) {
    const index = indexOf(features);
    for (const { z, x, y } of index.tileCoords) {
      const tile = index.getTile(z, x, y);
      if (!tile?.features.length) continue;
      const key = `${z}/${x}/${y}`;
      const filled = tiles.get(key) ?? { z, x, y, layers: {} };
      filled.layers[name] = tile;
      tiles.set(key, filled);
    }
  }
  return Array.from(tiles.values(), ({ z, x, y, layers }) => ({
    z,
    x,
    y,
    data: gzip(fromGeojsonVt(layers, { version: TILE_VERSION, extent: EXTENT })),
  }));
}

/** Splits down to the last zoom at once wherever there is a point, and nowhere else. */
function indexOf(features: readonly Feature[]): GeoJSONVT {
  const collection: FeatureCollection = { type: 'FeatureCollection', features: [...features] };
  return new GeoJSONVT(collection, {
    maxZoom: MAX_ZOOM,
    indexMaxZoom: MAX_ZOOM,
    indexMaxPoints: 0,
    extent: EXTENT,
  });
}
