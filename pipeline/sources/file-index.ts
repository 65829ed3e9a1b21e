import type { SourceFile } from './names.ts';
import { planScans, type ScanPlan } from './plan.ts';

/** Files that scans are planned from. Single files come and go without the cost of a plan of all. */
export interface FileIndex {
  readonly add: (files: Iterable<SourceFile>) => void;
  readonly remove: (file: SourceFile) => void;
  readonly has: (file: SourceFile) => boolean;
  readonly all: () => SourceFile[];
  /** Plan of the scan at an instant (epoch milliseconds) from the files that are here now; null without a MESH file. */
  readonly planAt: (scan_time: number) => ScanPlan | null;
}

/** Length of a slot: no scan looks further back for its files. */
const SLOT_MS = 10 * 60_000;

export function openFileIndex(): FileIndex {
  const files = new Set<SourceFile>();
  const slots = new Map<number, Set<SourceFile>>();
  const slotOf = (time_ms: number) => Math.floor(time_ms / SLOT_MS);
  return {
    add: (added) => {
      for (const file of added) {
        files.add(file);
        const slot = slotOf(file.time_ms);
        slots.set(slot, (slots.get(slot) ?? new Set()).add(file));
      }
    },
    remove: (file) => {
      files.delete(file);
      slots.get(slotOf(file.time_ms))?.delete(file);
    },
    has: (file) => files.has(file),
    all: () => [...files],
    planAt: (scan_time) => {
      const slot = slotOf(scan_time);
      const near = [...(slots.get(slot - 1) ?? []), ...(slots.get(slot) ?? [])];
      return planScans(near).scans.find((scan) => scan.scan_time === scan_time) ?? null;
    },
  };
}
