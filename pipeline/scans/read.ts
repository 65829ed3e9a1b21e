import type { ScanInput } from '../grid.ts';
import type { Root } from '../publish/root.ts';
import { readScan, type ScanFiles } from '../read/scan.ts';
import { uncoveredBlocks } from '../read/uncovered.ts';
import { filesOf, type ScanPlan } from '../sources/plan.ts';
import { drawReflectivityTiles } from '../tiles/reflectivity-tiles.ts';
import { answerRequests, startWorkers } from '../worker-pool.ts';

/** Number of scans that are read while an earlier one is processed. */
export const READ_AHEAD = 3;

/** Reads a planned scan, and some of the next ones ahead. Throws as `ReadPool.read` does. */
export type ReadAhead = (plan: ScanPlan, upcoming: readonly ScanPlan[]) => Promise<ScanInput>;

/** Opens reading of scans; reflectivity is painted where `paints` is true. */
export function openReadAhead(
  readPool: ReadPool,
  { storm_day_start_hour }: Pick<Root, 'storm_day_start_hour'>,
  paints: (plan: ScanPlan) => Promise<boolean>,
): ReadAhead {
  const running = new Map<string, Promise<ScanInput>>();
  const start = (plan: ScanPlan): Promise<ScanInput> => {
    const key = keyOf(plan);
    const begin = async () =>
      readPool.read({
        ...plan,
        mesh: plan.mesh.location,
        storm_day_start_hour,
        paints_reflectivity: await paints(plan),
      });
    const read = running.get(key) ?? begin();
    running.set(key, read);
    // The failure of a scan read ahead is handled with that scan.
    read.catch(() => {});
    return read;
  };
  return async (plan, upcoming) => {
    const input = start(plan);
    for (const ahead of upcoming) void start(ahead);
    try {
      return await input;
    } finally {
      running.delete(keyOf(plan));
    }
  };
}

/** Two files of one name and size may be read for one scan, one after the other: their paths distinguish them. */
function keyOf(plan: ScanPlan): string {
  return [plan.scan_id, ...filesOf(plan).map(({ location }) => location)].join(' ');
}

/** Files of one scan to decode. */
interface ReadRequest extends ScanFiles {
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
