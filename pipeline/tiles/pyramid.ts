import { fromGeojsonVt } from '@maplibre/vt-pbf';
import type { Feature, FeatureCollection } from 'geojson';
import GeoJSONVT, { type LegacyFeature, type LegacyTile } from 'geojson-vt';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import { type ArchiveTile, gzip } from '../../schemas/geo/pmtiles.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { type PixelSet, type Ring, traceMultiPolygon } from '../../schemas/geo/rings.ts';

export const MIN_ZOOM = 0;
/** At this zoom a pixel of the grid is 117 tile units of 4096 wide; clients overzoom from here. */
export const MAX_ZOOM = 10;

const EXTENT = 4096;
/** Extent of a tile beyond each edge, in tile units: outlines do not show at the seams. */
const BUFFER = 64;
const TILE_VERSION = 2;

/** Points and lines of a layer, or areas of pixels. */
type LayerContent = { readonly shapes: readonly Feature[] } | { readonly areas: readonly PixelArea[] };

/** Contents by layer name in drawing order. */
type Layers = Readonly<Record<string, LayerContent>>;

/**
 * Gzipped vector tiles of all layers at zooms 0 to 10, in unspecified order: every tile with content, and always the tile of
 * zoom 0, which names the layers of an empty archive.
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

function tilesOfShapes(features: readonly Feature[]) {
  const collection: FeatureCollection = { type: 'FeatureCollection', features: [...features] };
  // The index is split down to the last zoom wherever there is a point.
  const depth = { maxZoom: MAX_ZOOM, indexMaxZoom: MAX_ZOOM, indexMaxPoints: 0 };
  const index = new GeoJSONVT(collection, { ...depth, extent: EXTENT, buffer: BUFFER });
  return index.tileCoords.flatMap(({ z, x, y }) => {
    const tile = index.getTile(z, x, y);
    return tile?.features.length ? [{ z, x, y, tile }] : [];
  });
}

export function pointFeature({ lon, lat }: Position, properties: Feature['properties']): Feature {
  return { type: 'Feature', properties, geometry: { type: 'Point', coordinates: [lon, lat] } };
}

export function lineFeature(line: readonly Position[], properties: Feature['properties']): Feature {
  const coordinates = line.map(({ lon, lat }) => [lon, lat]);
  return { type: 'Feature', properties, geometry: { type: 'LineString', coordinates } };
}

/** An area of whole pixels of the lattice, with its attributes. */
export interface PixelArea {
  readonly pixels: PixelSet;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** From this zoom on a pixel of 0.01 degrees is at least three tile units wide and drawn without aggregation. */
const PIXEL_ZOOM = 5;

/**
 * Areas of pixels as the polygons of the tiles of all zooms. A polygon is traced from the pixels of its tile and not clipped, so it
 * is valid in the integer coordinates of the tile. Below zoom 5, where a pixel is too small, squares of 2, 4, 8, … pixels with any
 * pixel in them are drawn: an outline grows by less than the side of a square, and no pixel vanishes.
 */
function tilesOfAreas(areas: readonly PixelArea[]) {
  const tiles = new Map<string, { z: number; x: number; y: number; tile: { features: LegacyFeature[] } }>();
  for (let z = MIN_ZOOM; z <= MAX_ZOOM; z++)
    for (const { pixels, properties } of areas) {
      const squares = squareGrid(z);
      for (const cut of squaresByTile(pixels, squares)) {
        const key = `${z}/${cut.x}/${cut.y}`;
        const found = tiles.get(key) ?? { z, x: cut.x, y: cut.y, tile: { features: [] } };
        found.tile.features.push(feature(cut, properties, squares));
        tiles.set(key, found);
      }
    }
  return [...tiles.values()];
}

/** Squares of pixels at a zoom: their edges in tile units from the north-west corner of the world, and their tiles. */
interface SquareGrid {
  /** Pixels along a side of a square. */
  readonly side: number;
  /** Western edge of each column, and the eastern one of the last. */
  readonly x: Int32Array;
  /** Northern edge of each row, and the southern one of the last. */
  readonly y: Int32Array;
  /** First and last tile of each column and of each row. */
  readonly west: Int32Array;
  readonly east: Int32Array;
  readonly north: Int32Array;
  readonly south: Int32Array;
}

/** Cache by zoom: an outbreak has thousands of pixels in every scan. */
const squareGrids = new Map<number, SquareGrid>();

function squareGrid(zoom: number): SquareGrid {
  const known = squareGrids.get(zoom);
  if (known !== undefined) return known;
  const side = 2 ** Math.max(0, PIXEL_ZOOM - zoom);
  const squares = (pixels: number) => ({ side, first: 0, count: Math.ceil(pixels / side) });
  const x = columnEdges(squares(LATTICE.cols), EXTENT * 2 ** zoom);
  const y = rowEdges(squares(LATTICE.rows), EXTENT * 2 ** zoom);
  const first = (units: Int32Array) => units.map((unit) => Math.floor((unit - BUFFER) / EXTENT));
  const last = (units: Int32Array) => units.subarray(1).map((unit) => Math.floor((unit + BUFFER) / EXTENT));
  const made = { side, x, y, west: first(x), east: last(x), north: first(y), south: last(y) };
  squareGrids.set(zoom, made);
  return made;
}

interface TileSquares {
  readonly x: number;
  readonly y: number;
  readonly rows: number[];
  readonly cols: number[];
}

/** Squares of pixels by tile; a square at an edge belongs to several tiles. */
function squaresByTile(pixels: PixelSet, { side, west, east, north, south }: SquareGrid): Iterable<TileSquares> {
  const tiles = new Map<number, TileSquares>();
  const seen = new Set<number>();
  for (let i = 0; i < pixels.rows.length; i++) {
    const row = Math.floor(pixels.rows[i] / side);
    const col = Math.floor(pixels.cols[i] / side);
    if (side > 1) {
      const square = row * LATTICE.cols + col;
      if (seen.has(square)) continue;
      seen.add(square);
    }
    for (let x = west[col]; x <= east[col]; x++)
      for (let y = north[row]; y <= south[row]; y++) {
        const key = x * 2 ** MAX_ZOOM + y;
        let tile = tiles.get(key);
        if (tile === undefined) {
          tile = { x, y, rows: [], cols: [] };
          tiles.set(key, tile);
        }
        tile.rows.push(row);
        tile.cols.push(col);
      }
  }
  return tiles.values();
}

function feature(cut: TileSquares, properties: PixelArea['properties'], { x, y }: SquareGrid): LegacyFeature {
  const inTile = ([lon, lat]: readonly number[]): [number, number] => [
    x[Math.round(((lon as number) - LATTICE.west) / LATTICE.step)] - cut.x * EXTENT,
    y[Math.round((LATTICE.north - (lat as number)) / LATTICE.step)] - cut.y * EXTENT,
  ];
  // Latitude grows to the north, tile units to the south: reversing gives the winding order of the format.
  const ringOf = (ring: Ring) => ring.map(inTile).reverse();
  return {
    type: 3,
    geometry: traceMultiPolygon(cut).flatMap((rings) => rings.map(ringOf)),
    tags: { ...properties },
  };
}

/** Squares of a lattice along one direction: `count` squares of `side` pixels from index `first` on. */
interface SquareLine {
  readonly side: number;
  readonly first: number;
  readonly count: number;
}

/** Western edge of each column of squares and the eastern edge of the last, in units of a world that is `world` units wide. */
export function columnEdges(line: SquareLine, world: number): Int32Array {
  return edges(line, (col) => world * ((LATTICE.west + col * LATTICE.step) / 360 + 0.5));
}

/** Northern edge of each row of squares and the southern edge of the last, in Web Mercator. */
export function rowEdges(line: SquareLine, world: number): Int32Array {
  return edges(line, (row) => world * mercator(LATTICE.north - row * LATTICE.step));
}

function edges({ side, first, count }: SquareLine, place: (pixel: number) => number): Int32Array {
  return Int32Array.from({ length: count + 1 }, (_, k) => Math.round(place((first + k) * side)));
}

/** Web Mercator y of a latitude: 0 at the northern edge of the world, 1 at the southern. */
function mercator(lat: number): number {
  const sine = Math.sin((lat * Math.PI) / 180);
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
}
