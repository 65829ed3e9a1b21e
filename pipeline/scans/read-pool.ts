import type { ScanInput } from '../grid.ts';
import { readScan, type ScanFiles } from '../read/scan.ts';
import { uncoveredBlocks } from '../read/uncovered.ts';
import { drawReflectivityTiles } from '../tiles/reflectivity-tiles.ts';
import { answerRequests, startWorkers } from '../worker-pool.ts';

/** Files of one scan to decode. */
export interface ReadRequest extends ScanFiles {
  /** Whether to paint the archive of its reflectivity: the reader has the whole composite in memory, and the tracker no time. */
  readonly paints_reflectivity?: boolean;
}

/** Threads that decode scans, so that one scan is read while the one before it is tracked and published. */
export interface ReadPool {
  /** Throws BadInput when a file cannot be used, Unreadable when the file system does not give it. */
  readonly read: (request: ReadRequest) => Promise<ScanInput>;
  readonly close: () => Promise<void>;
}

/** Starts `threads` reader threads. */
export function startReadPool(threads: number): ReadPool {
  const { run, close } = startWorkers<ReadRequest, ScanInput>(import.meta.url, { name: 'reader thread', threads });
  return { read: run, close };
}

/** A scan, with its reflectivity painted where the request says so. Throws as `readScan` does. */
export async function readAndPaint(request: ReadRequest): Promise<ScanInput> {
  let reflectivity_tiles: Uint8Array | undefined;
  const input = await readScan(request, (companion, composite, subject) => {
    if (request.paints_reflectivity === true && companion === 'max_reflectivity_dbz')
      reflectivity_tiles = drawReflectivityTiles({ composite, uncovered: uncoveredBlocks(composite), subject });
  });
  return reflectivity_tiles === undefined ? input : { ...input, reflectivity_tiles };
}

answerRequests(import.meta.url, readAndPaint);
