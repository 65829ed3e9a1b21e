import type { ScanInput } from '../grid.ts';
import { readScan, type ScanFiles } from '../read/scan.ts';
import { uncoveredBlocks } from '../read/uncovered.ts';
import { drawReflectivityTiles } from '../tiles/reflectivity-tiles.ts';

/** What a reader is asked for. */
export interface ReadRequest extends ScanFiles {
  /** The archive of its reflectivity, too: whoever reads has the whole composite in memory, and whoever tracks no time for it. */
  readonly paints_reflectivity?: boolean;
}

/** Reads a scan and paints its reflectivity where that is asked for. Throws BadInput as `readScan` does. */
export async function readAndPaint(request: ReadRequest): Promise<ScanInput> {
  let reflectivity_tiles: Uint8Array | undefined;
  const input = await readScan(request, (companion, composite, subject) => {
    if (request.paints_reflectivity === true && companion === 'max_reflectivity_dbz')
      reflectivity_tiles = drawReflectivityTiles({ composite, uncovered: uncoveredBlocks(composite), subject });
  });
  return reflectivity_tiles === undefined ? input : { ...input, reflectivity_tiles };
}
