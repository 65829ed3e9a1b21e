import { fromGeojsonVt } from '@maplibre/vt-pbf';
import type { Feature, FeatureCollection } from 'geojson';
import GeoJSONVT, { type LegacyTile } from 'geojson-vt';
import { type ArchiveTile, gzip } from '../../schemas/geo/pmtiles.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { areaTiles, type PixelArea } from './pixel-tiles.ts';

export const MIN_ZOOM = 0;
/** At this zoom a pixel of the grid is 117 tile units of 4096 wide; clients overzoom from here. */
export const MAX_ZOOM = 10;

const EXTENT = 4096;
const BUFFER = 64;
const TILE_VERSION = 2;

/** Points and lines of a layer, or areas of pixels. */
type LayerContent = { readonly shapes: readonly Feature[] } | { readonly areas: readonly PixelArea[] };

/** Contents by layer name in drawing order. */
type Layers = Readonly<Record<string, LayerContent>>;

/**
 * Gzipped vector tiles of all layers at zooms 0 to 10, in unspecified order: every tile with content, and always the tile of
 * zoom 0, so that an empty archive still names its layers.
 */
export function pyramid(layers: Layers): ArchiveTile[] {
  const empty = Object.fromEntries(Object.keys(layers).map((name): [string, LegacyTile] => [name, { features: [] }]));
  const tiles = new Map<string, { z: number; x: number; y: number; layers: Record<string, LegacyTile> }>();
  tiles.set('0/0/0', { z: 0, x: 0, y: 0, layers: empty });
  for (const [name, content] of Object.entries(layers))
    for (const { z, x, y, tile } of 'areas' in content ? tilesOfAreas(content.areas) : tilesOfShapes(content.shapes)) {
      const key = `${z}/${x}/${y}`;
      const filled = tiles.get(key) ?? { z, x, y, layers: {} };
      filled.layers[name] = tile;
      tiles.set(key, filled);
    }
  return Array.from(tiles.values(), ({ z, x, y, layers }) => ({
    z,
    x,
    y,
    data: gzip(fromGeojsonVt(layers, { version: TILE_VERSION, extent: EXTENT })),
  }));
}

function tilesOfAreas(areas: readonly PixelArea[]) {
  const zooms = Array.from({ length: MAX_ZOOM - MIN_ZOOM + 1 }, (_, step) => MIN_ZOOM + step);
  return zooms.flatMap((z) =>
    areaTiles(areas, z, { extent: EXTENT, buffer: BUFFER }).map((found) => ({ z, ...found })),
  );
}

function tilesOfShapes(features: readonly Feature[]) {
  const index = indexOf(features);
  return index.tileCoords.flatMap(({ z, x, y }) => {
    const tile = index.getTile(z, x, y);
    return tile?.features.length ? [{ z, x, y, tile }] : [];
  });
}

/** Tile index that is split down to the last zoom wherever there is a point. */
function indexOf(features: readonly Feature[]): GeoJSONVT {
  const collection: FeatureCollection = { type: 'FeatureCollection', features: [...features] };
  return new GeoJSONVT(collection, {
    maxZoom: MAX_ZOOM,
    indexMaxZoom: MAX_ZOOM,
    indexMaxPoints: 0,
    extent: EXTENT,
    buffer: BUFFER,
  });
}

/** A point with attributes. */
export function pointFeature({ lon, lat }: Position, properties: Feature['properties']): Feature {
  return { type: 'Feature', properties, geometry: { type: 'Point', coordinates: [lon, lat] } };
}

/** A line with attributes. */
export function lineFeature(line: readonly Position[], properties: Feature['properties']): Feature {
  const coordinates = line.map(({ lon, lat }) => [lon, lat]);
  return { type: 'Feature', properties, geometry: { type: 'LineString', coordinates } };
}
