import { windowBbox } from '../../schemas/geo/lattice.ts';
import { type ArchiveTile, gzip } from '../../schemas/geo/pmtiles.ts';
import { REFLECTIVITY_COLORS } from '../../schemas/palette.ts';
import { timestamp } from '../../schemas/time.ts';
import { BadInput } from '../error.ts';
import type { Grid, UncoveredBlocks } from '../grid.ts';
import { type BandArea, scratchFor, traceBands } from './band-rings.ts';
import { vectorLayer, writeArchive } from './metadata.ts';
import { columnEdges, MIN_ZOOM, rowEdges } from './pyramid.ts';

/** Version of the drawing. Raise it when the same file would give other tiles: older archives are then drawn again. */
export const REFLECTIVITY_VERSION = 1;

/** At this zoom a pixel is 7 tile units of 4096 wide, about one pixel of a screen; clients overzoom from here. */
const MAX_ZOOM = 6;
const EXTENT = 4096;
const BUFFER = 16;
/**
 * Largest number of changes of band along the rows of a composite: noise would make gigabytes of outlines. A wide real composite
 * (4 July 2022, 452,623 pixels from 20 dBZ on) has 178,055.
 */
const MAX_CHANGES = 2_000_000;

const BOUNDS_DBZ = REFLECTIVITY_COLORS.map(({ dbz_min }) => dbz_min);
const LAYER = { name: 'reflectivity', key: 'dbz', values: BOUNDS_DBZ, extent: EXTENT };

interface ReflectivityContent {
  readonly composite: Grid;
  readonly uncovered: UncoveredBlocks | null;
  /** Name of the file, for error messages. */
  readonly subject: string;
}

/**
 * The vector archive of a composite of reflectivity, zooms 0 to 6: layer `reflectivity`, areas of 5 dBZ that do not overlap, `dbz`
 * the lower bound of each. At zoom 6 single pixels are drawn, at each lower zoom squares of twice the side with the largest band in
 * them. Weaker echoes and areas without coverage are both left empty; the metadata list the areas without coverage. Same grid, same
 * bytes. Throws BadInput on a composite of noise.
 */
export function drawReflectivityTiles({ composite, uncovered, subject }: ReflectivityContent): Uint8Array {
  const pixels = bandGrid(composite, BOUNDS_DBZ);
  if (pixels.changes > MAX_CHANGES)
    throw new BadInput(
      'tiles',
      subject,
      `${pixels.changes} changes between bands of reflectivity, expected at most ${MAX_CHANGES}`,
    );
  const time = timestamp(composite.scan_time);
  const note = {
    name: `Reflectivity ${time}`,
    description: `Composite radar reflectivity at ${time}: the largest of each column, in bands of 5 dBZ from ${BOUNDS_DBZ[0]} dBZ on.`,
    provenance: composite.simulated ? ('simulated' as const) : ('observed' as const),
    layers: [
      vectorLayer(
        LAYER.name,
        'Composite reflectivity; a band reaches from dbz up to the next, the last one is open.',
        { dbz: 'Number' },
        MAX_ZOOM,
      ),
    ],
    uncovered,
  };
  return writeArchive(note, windowBbox(composite.window), tilesOf(pixels), MAX_ZOOM);
}

/** Tiles of all zooms, and always the tile of zoom 0, which names the layer of an empty archive. */
function tilesOf(pixels: BandGrid): ArchiveTile[] {
  const tiles: ArchiveTile[] = [];
  let grid = pixels;
  for (let z = MAX_ZOOM; z >= MIN_ZOOM; z--) {
    if (z < MAX_ZOOM) grid = coarser(grid);
    for (const { x, y, areas } of bandTiles(grid, z, { extent: EXTENT, buffer: BUFFER }))
      tiles.push({ z, x, y, data: gzip(bandLayerTile(areas, LAYER)) });
  }
  if (tiles.every(({ z }) => z > MIN_ZOOM))
    tiles.push({ z: MIN_ZOOM, x: 0, y: 0, data: gzip(bandLayerTile([], LAYER)) });
  return tiles;
}

const TILE_VERSION = 2;
const MAX_VARINT_BYTES = 5;
const POLYGON = 3;
const MOVE_TO = 1;
const LINE_TO = 2;
const CLOSE_PATH = 7;
/** Fields of the format, as (number << 3) | wire type: 0 for a number, 2 for bytes. */
const FIELD = {
  tileLayer: (3 << 3) | 2,
  layerName: (1 << 3) | 2,
  layerFeature: (2 << 3) | 2,
  layerKey: (3 << 3) | 2,
  layerValue: (4 << 3) | 2,
  layerExtent: 5 << 3,
  layerVersion: 15 << 3,
  featureTags: (2 << 3) | 2,
  featureType: 3 << 3,
  featureGeometry: (4 << 3) | 2,
  valueUint: 5 << 3,
} as const;

/** Names and extent of the layer of band areas in a tile. */
interface BandLayer {
  readonly name: string;
  /** The one attribute of an area. */
  readonly key: string;
  /** Value of the attribute for each band, from the first. */
  readonly values: readonly number[];
  readonly extent: number;
}

/**
 * A vector tile with one layer and one multi-polygon for each band, lowest band first. Encoded directly from the rings: a
 * composite has a million corners, and feature objects would take several times as long.
 * Source: Mapbox Vector Tile specification, version 2.1.
 */
function bandLayerTile(areas: readonly BandArea[], { name, key, values, extent }: BandLayer): Uint8Array {
  const byBand = Map.groupBy(areas, ({ band }) => band);
  const bands = [...byBand.keys()].sort((a, b) => a - b);
  const layer = new Message();
  layer.text(FIELD.layerName, name);
  bands.forEach((band, index) => {
    const feature = new Message();
    feature.bytes(FIELD.featureTags, Uint8Array.of(0, index));
    feature.number(FIELD.featureType, POLYGON);
    feature.bytes(FIELD.featureGeometry, geometry(byBand.get(band) ?? []));
    layer.bytes(FIELD.layerFeature, feature.written());
  });
  layer.text(FIELD.layerKey, key);
  for (const band of bands) {
    const value = new Message();
    value.number(FIELD.valueUint, values[band - 1]);
    layer.bytes(FIELD.layerValue, value.written());
  }
  layer.number(FIELD.layerExtent, extent);
  layer.number(FIELD.layerVersion, TILE_VERSION);
  const tile = new Message();
  tile.bytes(FIELD.tileLayer, layer.written());
  return tile.written();
}

/** Geometry commands of all rings, with delta-encoded corners. */
function geometry(areas: readonly BandArea[]): Uint8Array {
  const all = areas.flatMap(({ rings }) => rings);
  const numbers = all.reduce((sum, ring) => sum + ring.length + 3, 0);
  const commands = new Message(MAX_VARINT_BYTES * numbers);
  let x0 = 0;
  let y0 = 0;
  for (const ring of all) {
    for (let i = 0; i < ring.length; i += 2) {
      if (i === 0) commands.varint((1 << 3) | MOVE_TO);
      else if (i === 2) commands.varint(((ring.length / 2 - 1) << 3) | LINE_TO);
      commands.varint(zigzag(ring[i] - x0));
      commands.varint(zigzag(ring[i + 1] - y0));
      x0 = ring[i];
      y0 = ring[i + 1];
    }
    commands.varint((1 << 3) | CLOSE_PATH);
  }
  return commands.written();
}

function zigzag(value: number): number {
  return (value << 1) ^ (value >> 31);
}

/** Writer of a protocol buffer message. */
class Message {
  #bytes: Uint8Array;
  #length = 0;

  constructor(room = 256) {
    this.#bytes = new Uint8Array(room);
  }

  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** A whole number from 0 to 2^31 - 1. */
  varint(value: number): void {
    this.#room(MAX_VARINT_BYTES);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  number(field: number, value: number): void {
    this.varint(field);
    this.varint(value);
  }

  bytes(field: number, content: Uint8Array): void {
    this.number(field, content.length);
    this.#room(content.length);
    this.#bytes.set(content, this.#length);
    this.#length += content.length;
  }

  text(field: number, content: string): void {
    this.bytes(field, new TextEncoder().encode(content));
  }

  #room(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.#length + more));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

/**
 * The tiles of one zoom with at least one band. Tiles are cut along whole squares, which keeps every polygon valid in the integer
 * coordinates of its tile. A square must be wider than a tile unit. `buffer`: extent of a tile beyond its edge, tile units.
 */
function* bandTiles(
  grid: BandGrid,
  zoom: number,
  { extent, buffer }: { readonly extent: number; readonly buffer: number },
) {
  const world = extent * 2 ** zoom;
  const xs = columnEdges({ side: grid.side, first: grid.col0, count: grid.cols }, world);
  const ys = rowEdges({ side: grid.side, first: grid.row0, count: grid.rows }, world);
  const columns = spans(xs, extent, buffer);
  const rows = spans(ys, extent, buffer);
  const widest = (all: typeof rows) => Math.max(...all.map(([, from, to]) => to - from + 2));
  const scratch = scratchFor(widest(columns) * widest(rows));
  for (const [y, north, south] of rows)
    for (const [x, west, east] of columns) {
      const cut = cutOut(grid, { north, south, west, east });
      if (cut === null) continue;
      const areas = traceBands(cut, scratch);
      for (const { rings } of areas)
        for (const ring of rings)
          for (let i = 0; i < ring.length; i += 2) {
            // The border of the cut is one square wide.
            ring[i] = xs[west + ring[i] - 1] - x * extent;
            ring[i + 1] = ys[north + ring[i + 1] - 1] - y * extent;
          }
      yield { x, y, areas };
    }
}

/** Tiles along one direction that contain squares: number of the tile, its first square, and the square after its last. */
function spans(edges: Int32Array, extent: number, buffer: number): [tile: number, from: number, to: number][] {
  const found: [number, number, number][] = [];
  const first = Math.floor((edges[0] - buffer) / extent);
  const last = Math.floor((edges[edges.length - 1] + buffer) / extent);
  for (let tile = Math.max(0, first); tile <= last; tile++) {
    const from = edges.findIndex((edge) => edge > tile * extent - buffer) - 1;
    const end = edges.findIndex((edge) => edge >= (tile + 1) * extent + buffer);
    found.push([tile, Math.max(0, from), end === -1 ? edges.length - 1 : end]);
  }
  return found.filter(([, from, to]) => from < to);
}

/** Squares of a part of a grid with an empty border; null when it has no band. */
function cutOut(
  { cols, bands }: BandGrid,
  { north, south, west, east }: Readonly<Record<'north' | 'south' | 'west' | 'east', number>>,
) {
  const width = east - west + 2;
  const height = south - north + 2;
  const cut = new Uint8Array(width * height);
  for (let row = north; row < south; row++)
    cut.set(bands.subarray(row * cols + west, row * cols + east), (row - north + 1) * width + 1);
  const isEmpty = Buffer.compare(cut, new Uint8Array(cut.length)) === 0;
  return isEmpty ? null : { width, height, bands: cut };
}

/**
 * Band of each square of pixels: 0 for unpainted, k for the k-th band. Squares are aligned with the lattice: square (r, c) of
 * side s begins at lattice row s x (row0 + r), lattice column s x (col0 + c).
 */
interface BandGrid {
  /** Pixels along a side of a square. */
  readonly side: number;
  readonly row0: number;
  readonly col0: number;
  readonly rows: number;
  readonly cols: number;
  readonly bands: Uint8Array;
}

/** Tolerance of a bound in packed units, which are integers. */
const ROUNDING = 1e-6;

/**
 * Band of each pixel of a grid: the last of the ascending `bounds` that its value reaches. Sentinels are below all bounds.
 * `changes`: number of changes of band along the rows, a measure of the length of the outlines.
 */
function bandGrid(grid: Grid, bounds: readonly number[]): BandGrid & { readonly changes: number } {
  const { packed, window } = grid;
  const least = bounds.map((bound) =>
    Math.ceil((bound * 10 ** grid.decimal_scale - grid.reference) / 2 ** grid.binary_scale - ROUNDING),
  );
  const bands = new Uint8Array(packed.length);
  let changes = 0;
  let before = 0;
  for (let i = 0; i < packed.length; i++) {
    const value = packed[i];
    let band = 0;
    while (band < least.length && value >= least[band]) band++;
    if (band === before) {
      if (band > 0) bands[i] = band;
      continue;
    }
    bands[i] = band;
    before = band;
    changes++;
  }
  return { side: 1, ...window, bands, changes };
}

/** Grid of squares of twice the side, each with the highest band of its four squares: no echo vanishes and peaks keep their band. */
function coarser({ side, row0, col0, rows, cols, bands }: BandGrid): BandGrid {
  const [top, left] = [row0 >> 1, col0 >> 1];
  const height = ((row0 + rows + 1) >> 1) - top;
  const width = ((col0 + cols + 1) >> 1) - left;
  const merged = new Uint8Array(height * width);
  for (let r = 0; r < rows; r++) {
    const line = (((row0 + r) >> 1) - top) * width - left;
    for (let c = 0, at = r * cols; c < cols; c++, at++) {
      const band = bands[at];
      if (band === 0) continue;
      const to = line + ((col0 + c) >> 1);
      if (merged[to] < band) merged[to] = band;
    }
  }
  return { side: 2 * side, row0: top, col0: left, rows: height, cols: width, bands: merged };
}
