import { BadInput, Unreadable } from '../error.ts';
import type { ScanInput } from '../grid.ts';
import type { Root } from '../publish/root.ts';
import { type NamedFile, readScan, type ScanFiles } from '../read/scan.ts';
import { uncoveredBlocks } from '../read/uncovered.ts';
import type { SourceFile } from '../sources/names.ts';
import { type FileIndex, filesOf, type ScanPlan } from '../sources/plan.ts';
import { drawReflectivityTiles } from '../tiles/reflectivity-tiles.ts';
import { answerRequests, startWorkers } from '../worker-pool.ts';

/** Number of scans that are read while an earlier one is processed. */
export const READ_AHEAD = 3;

/** A raw file that cannot be used (BadInput) or not be read (Unreadable). */
export interface FileFault {
  readonly ok: false;
  readonly file: SourceFile;
  readonly fault: BadInput | Unreadable;
}

/** Outcome of one step with a scan: its result, or the file at fault. */
export type Outcome<Scan> = { readonly ok: true; readonly scan: Scan } | FileFault;

/** A decoded scan; `plan` names the files it was read from. */
export interface ReadScan {
  readonly plan: ScanPlan;
  readonly input: ScanInput;
}

/** Reads planned scans, some ahead of the one that is asked for. */
export interface ReadAhead {
  /**
   * The planned scan, read from the files that are left in the index; null when its MESH file is not among them. `upcoming`
   * are the scans that will be asked for next.
   */
  readonly read: (planned: ScanPlan, upcoming: readonly ScanPlan[]) => Promise<Outcome<ReadScan> | null>;
}

/** Opens reading of scans that were planned from `index`; reflectivity is painted where `paints` is true. */
export function openReadAhead(
  readPool: ReadPool,
  index: FileIndex,
  { storm_day_start_hour }: Pick<Root, 'storm_day_start_hour'>,
  paints: (plan: ScanPlan) => Promise<boolean> = async () => false,
): ReadAhead {
  const running = new Map<string, Promise<ScanInput>>();
  const start = (plan: ScanPlan): Promise<ScanInput> => {
    const key = keyOf(plan);
    const begin = async () =>
      readPool.read({ ...scanFiles(plan), storm_day_start_hour, paints_reflectivity: await paints(plan) });
    const read = running.get(key) ?? begin();
    running.set(key, read);
    // A failure of a scan read ahead is handled when that scan is asked for; until then it must not count as unhandled.
    read.catch(() => {});
    return read;
  };
  return {
    read: async (planned, upcoming) => {
      const plan = filesOf(planned).every(index.has) ? planned : index.planAt(planned.scan_time);
      if (plan === null) return null;
      const input = start(plan);
      for (const ahead of upcoming.slice(0, READ_AHEAD)) void start(ahead);
      try {
        return { ok: true, scan: { plan, input: await input } };
      } catch (error) {
        if (!(error instanceof BadInput || error instanceof Unreadable)) throw error;
        // Reader threads know a file by its location only.
        const file = filesOf(plan).find(({ location }) => location === error.subject);
        if (file === undefined) throw error;
        return { ok: false, file, fault: error };
      } finally {
        running.delete(keyOf(plan));
      }
    },
  };
}

/** Two files of one name and size may be read for one scan, one after the other: their paths distinguish them. */
function keyOf(plan: ScanPlan): string {
  return [plan.scan_id, ...filesOf(plan).map(({ location }) => location)].join(' ');
}

function scanFiles(plan: ScanPlan): ScanFiles {
  return {
    scan_time: plan.scan_time,
    mesh: plan.mesh.location,
    companions: Object.fromEntries(Object.entries(plan.companions).map(([name, file]) => [name, named(file)])),
    probsevere: plan.probsevere && named(plan.probsevere),
    previous_probsevere: plan.previous_probsevere && named(plan.previous_probsevere),
  };
}

function named({ location, time_ms }: SourceFile): NamedFile {
  return { location, time_ms };
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
