import { BadInput, Unreadable } from '../error.ts';
import type { ScanInput } from '../grid.ts';
import type { NamedFile, ScanFiles } from '../read/scan.ts';
import type { SourceFile } from '../sources/names.ts';
import { type FileIndex, filesOf, type ScanPlan } from '../sources/plan.ts';
import type { ReadPool } from './read-pool.ts';

/** Scans that are being read while an earlier one is worked on. */
export const READ_AHEAD = 3;

/** A scan with what was read of it; `scan` names the files that were really used. */
export interface ReadScan {
  readonly scan: ScanPlan;
  readonly input: ScanInput;
}

/** Called with a file that cannot be used (BadInput) or not be read (Unreadable). An error thrown here ends the reading. */
export type Drop = (file: SourceFile, fault: BadInput | Unreadable) => void;

/** Reads planned scans, some ahead of the one that is wanted. */
export interface Reading {
  /**
   * What `work` makes of the scan that was read; null when its MESH file cannot be used. `upcoming` are the scans that will
   * be read next. A fault that `work` finds in a file is handled like one found while reading.
   */
  readonly read: <Result>(
    scan: ScanPlan,
    upcoming: readonly ScanPlan[],
    work: (read: ReadScan) => Promise<Result>,
  ) => Promise<Result | null>;
}

/**
 * Opens a reading of scans planned from `pile`. A file at fault leaves it; a scan that wanted it is planned again without it.
 * `paints` tells for which scans the reflectivity is painted, too.
 */
export function openReading(
  readPool: ReadPool,
  pile: FileIndex,
  storm_day_start_hour: number,
  drop: Drop,
  paints: (scan: ScanPlan) => Promise<boolean> = async () => false,
): Reading {
  const running = new Map<string, Promise<ScanInput>>();
  const start = (scan: ScanPlan): Promise<ScanInput> => {
    const key = keyOf(scan);
    const begin = async () =>
      readPool.read({ ...scanFiles(scan, storm_day_start_hour), paints_reflectivity: await paints(scan) });
    const read = running.get(key) ?? begin();
    running.set(key, read);
    // A failure of a scan read ahead is handled when that scan is processed; until then it must not count as unhandled.
    read.catch(() => {});
    return read;
  };
  const current = (scan: ScanPlan): ScanPlan | null =>
    filesOf(scan).every(pile.has) ? scan : pile.planAt(scan.scan_time);
  const read: Reading['read'] = async (planned, upcoming, work) => {
    const scan = current(planned);
    if (scan === null) return null;
    const input = start(scan);
    for (const ahead of upcoming.slice(0, READ_AHEAD)) void start(ahead);
    try {
      return await work({ scan, input: await input });
    } catch (error) {
      if (!(error instanceof BadInput || error instanceof Unreadable)) throw error;
      const dropped = filesOf(scan).find((file) => file.location === error.subject);
      if (dropped === undefined) throw error;
      drop(dropped, error);
      pile.remove(dropped);
      return read(planned, upcoming, work);
    } finally {
      running.delete(keyOf(scan));
    }
  };
  return { read };
}

/** Two files of one name and size may be read for one scan, one after the other: their paths distinguish them. */
function keyOf(scan: ScanPlan): string {
  return [scan.scan_id, ...filesOf(scan).map(({ location }) => location)].join(' ');
}

function scanFiles(scan: ScanPlan, storm_day_start_hour: number): ScanFiles {
  return {
    scan_time: scan.scan_time,
    mesh: scan.mesh.location,
    companions: Object.fromEntries(Object.entries(scan.companions).map(([name, file]) => [name, named(file)])),
    probsevere: scan.probsevere && named(scan.probsevere),
    previous_probsevere: scan.previous_probsevere && named(scan.previous_probsevere),
    storm_day_start_hour,
  };
}

function named({ location, time_ms }: SourceFile): NamedFile {
  return { location, time_ms };
}
