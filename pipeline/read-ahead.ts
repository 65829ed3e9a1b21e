import { BadInput } from './error.ts';
import type { ScanInput } from './grid.ts';
import type { ScanFiles } from './read/scan.ts';
import type { SourceFile } from './sources/names.ts';
import { filesOf, planScans, type ScanPlan } from './sources/plan.ts';
import type { Readers } from './workers.ts';

/** Scans that are being read while an earlier one is worked on. */
const READ_AHEAD = 3;

/** A scan with what was read of it; `scan` names the files that were really used. */
export interface ReadScan {
  readonly scan: ScanPlan;
  readonly input: ScanInput;
}

/** What to do with a file that cannot be used. */
export type PutAside = (file: SourceFile, stage: string, reason: string) => Promise<void>;

/** Reads planned scans, some ahead of the one asked for. */
export interface Reading {
  /** The scan, read; null when its MESH file cannot be used. `upcoming` are the scans that will be asked for next. */
  readonly read: (scan: ScanPlan, upcoming: readonly ScanPlan[]) => Promise<ReadScan | null>;
  /** Puts a file aside that was read and turned out to be of no use. */
  readonly refuse: (file: SourceFile, fault: BadInput) => Promise<void>;
}

/**
 * Opens a reading of scans planned from `files`. A file that cannot be used is put aside and leaves `files`; a scan that
 * wanted it is planned again without it.
 */
export function openReading(
  readers: Readers,
  files: Set<SourceFile>,
  storm_day_start_hour: number,
  putAside: PutAside,
): Reading {
  const running = new Map<string, Promise<ScanInput>>();
  const start = (scan: ScanPlan): Promise<ScanInput> => {
    const key = `${scan.scan_id} ${scan.inputs}`;
    const read = running.get(key) ?? readers.read(scanFiles(scan, storm_day_start_hour));
    running.set(key, read);
    // A failure of a scan read ahead is met when its turn comes; until then it must not count as unhandled.
    read.catch(() => {});
    return read;
  };
  const current = (scan: ScanPlan): ScanPlan | null => {
    if (filesOf(scan).every((file) => files.has(file))) return scan;
    return planScans([...files]).scans.find(({ scan_id }) => scan_id === scan.scan_id) ?? null;
  };
  const refuse = async (file: SourceFile, { stage, reason }: BadInput) => {
    await putAside(file, stage, reason);
    files.delete(file);
  };
  const read = async (planned: ScanPlan, upcoming: readonly ScanPlan[]): Promise<ReadScan | null> => {
    const scan = current(planned);
    if (scan === null) return null;
    const input = start(scan);
    for (const ahead of upcoming.slice(0, READ_AHEAD)) void start(ahead);
    try {
      return { scan, input: await input };
    } catch (error) {
      const bad = error instanceof BadInput ? filesOf(scan).find((file) => file.location === error.subject) : undefined;
      if (!(error instanceof BadInput) || bad === undefined) throw error;
      await refuse(bad, error);
      return read(planned, upcoming);
    } finally {
      running.delete(`${scan.scan_id} ${scan.inputs}`);
    }
  };
  return { read, refuse };
}

function scanFiles(scan: ScanPlan, storm_day_start_hour: number): ScanFiles {
  return {
    scan_time: scan.scan_time,
    mesh: scan.mesh.location,
    companions: Object.fromEntries(Object.entries(scan.companions).map(([name, file]) => [name, file.location])),
    probsevere: scan.probsevere?.location ?? null,
    previous_probsevere: scan.previous_probsevere?.location ?? null,
    storm_day_start_hour,
  };
}
