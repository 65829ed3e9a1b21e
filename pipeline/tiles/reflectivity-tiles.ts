import { windowBbox } from '../../schemas/geo/lattice.ts';
import { type ArchiveTile, gzip } from '../../schemas/geo/pmtiles.ts';
import { REFLECTIVITY_COLORS } from '../../schemas/palette.ts';
import { timestamp } from '../../schemas/time.ts';
import { BadInput } from '../error.ts';
import type { Grid, UncoveredBlocks } from '../grid.ts';
import { bandLayerTile } from './band-layer.ts';
import { type BandGrid, bandGrid, bandTiles, coarser } from './band-tiles.ts';
import { vectorLayer, writeArchive } from './metadata.ts';
import { MIN_ZOOM } from './pyramid.ts';

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
