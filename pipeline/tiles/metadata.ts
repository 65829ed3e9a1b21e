import { windowBbox } from '../../schemas/geo/lattice.ts';
import { type ArchiveTile, writePmtiles } from '../../schemas/geo/pmtiles.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import type { PixelSet } from '../../schemas/geo/rings.ts';
import { ATTRIBUTIONS, type MixedProvenance } from '../../schemas/provenance.ts';
import type { UncoveredBlocks } from '../grid.ts';
import { MAX_ZOOM, MIN_ZOOM } from './pyramid.ts';

/** Type of a tile attribute, as TileJSON names it. */
type FieldType = 'Number' | 'String' | 'Boolean';

/** Entry of `vector_layers` in the metadata: a layer that is present at every zoom up to `maxzoom`. */
export function vectorLayer(
  id: string,
  description: string,
  fields: Readonly<Record<string, FieldType>>,
  maxzoom = MAX_ZOOM,
) {
  return { id, description, minzoom: MIN_ZOOM, maxzoom, fields };
}

interface ArchiveNote {
  readonly name: string;
  readonly description: string;
  readonly provenance: MixedProvenance;
  readonly layers: readonly ReturnType<typeof vectorLayer>[];
  /** Bounds of all drawn hail; null without hail, absent in an archive without hail layers. */
  readonly hail_bounds?: Bbox | null;
  /** Areas without radar coverage; absent or null where unknown. */
  readonly uncovered?: UncoveredBlocks | null;
}

/** Range of the initial zoom: the whole CONUS fits a screen at the first; smaller bounds start closer. */
const CENTER_ZOOM_MIN = 3;
const CENTER_ZOOM_MAX = 8;

/** An archive with metadata, and a centre at which the bounds about fill a screen. */
export function writeArchive(
  note: ArchiveNote,
  bounds: Bbox,
  tiles: readonly ArchiveTile[],
  maxZoom = MAX_ZOOM,
): Uint8Array {
  const [west, south, east, north] = bounds;
  const zoom = Math.floor(Math.log2(360 / Math.max(east - west, north - south, 0.01))) + 1;
  return writePmtiles({
    tiles,
    metadata: {
      name: note.name,
      description: note.description,
      attribution: ATTRIBUTIONS[note.provenance],
      source: note.provenance,
      version: '1',
      type: 'overlay',
      format: 'pbf',
      vector_layers: note.layers,
      ...(note.hail_bounds === undefined ? {} : { hail_bounds: note.hail_bounds }),
      ...(note.uncovered ? { uncovered: note.uncovered } : {}),
    },
    bounds,
    center: {
      lon: (west + east) / 2,
      lat: (south + north) / 2,
      zoom: Math.min(CENTER_ZOOM_MAX, Math.max(CENTER_ZOOM_MIN, zoom)),
    },
    minZoom: MIN_ZOOM,
    maxZoom,
  });
}

/** Bounding box of pixels and places, degrees; null without any. */
export function boundsOf(areas: readonly PixelSet[], places: readonly Position[] = []): Bbox | null {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  const take = ([w, s, e, n]: Bbox) => {
    west = Math.min(west, w);
    south = Math.min(south, s);
    east = Math.max(east, e);
    north = Math.max(north, n);
  };
  for (const { rows, cols } of areas)
    for (let i = 0; i < rows.length; i++) take(windowBbox({ row0: rows[i], col0: cols[i], rows: 1, cols: 1 }));
  for (const { lon, lat } of places) take([lon, lat, lon, lat]);
  return west <= east ? [west, south, east, north] : null;
}
