import { z } from 'zod';

/** Partitions of a data root at one poll. */
export const RootState = z.object({
  /** Name of the root, made by the pipeline; null where no pipeline has opened it. */
  root_id: z.string().nullable(),
  /** Commit of every partition: storm dates, months, and what belongs to no date. */
  commits: z.record(z.string(), z.int().positive()),
});
export type RootState = z.infer<typeof RootState>;

/** Records the partitions of a data root, so that a loss is noticed also after a restart. */
export interface RootMemory {
  /** The last recorded state; null when there is none, or when an operator has cleared it. */
  readonly recall: () => Promise<RootState | null>;
  /** False when it cannot be recorded now; the catalog tries again. */
  readonly remember: (state: RootState) => Promise<boolean>;
}

/** A memory that ends with the process. */
export function processMemory(): RootMemory {
  let recorded: RootState | null = null;
  return {
    recall: async () => recorded,
    remember: async (state) => {
      recorded = state;
      return true;
    },
  };
}

/**
 * Describes the loss of a data root since its recorded state; null without one. A root that never held anything has nothing to
 * lose; a root of another name is another root, whatever it holds.
 */
export function lossOf(recorded: RootState, found: RootState): string | null {
  const names = Object.keys(recorded.commits);
  if (names.length === 0) return null;
  if (Object.keys(found.commits).length === 0) return `holds nothing, and held ${names.length} partitions before`;
  if (recorded.root_id !== null && found.root_id !== recorded.root_id)
    return `is ${found.root_id ?? 'a root without a name'}, expected ${recorded.root_id}`;
  for (const name of names) {
    const [before, now] = [recorded.commits[name] ?? 0, found.commits[name]];
    if (now === undefined) return `has lost ${name}, which was there before (commit ${before})`;
    if (now < before) return `went back to commit ${now} of ${name}, and was at ${before} before`;
  }
  return null;
}
