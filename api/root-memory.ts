import { z } from 'zod';

/** What a data root held when it was looked at. */
export const RootState = z.object({
  /** Name of the root, made by the pipeline; null where no pipeline has opened it. */
  root_id: z.string().nullable(),
  /** Commit of every partition: storm dates, months, and what belongs to no date. */
  commits: z.record(z.string(), z.int().positive()),
});
export type RootState = z.infer<typeof RootState>;

/** Where the catalog notes what a data root held, so that what vanishes is missed also after a restart. */
export interface RootMemory {
  /** What was noted last; null when nothing was, or when it is to be forgotten. */
  readonly recall: () => Promise<RootState | null>;
  /** False when it cannot be noted now; the catalog tries again. */
  readonly remember: (state: RootState) => Promise<boolean>;
}

/** A memory that ends with the process. */
export function processMemory(): RootMemory {
  let noted: RootState | null = null;
  return {
    recall: async () => noted,
    remember: async (state) => {
      noted = state;
      return true;
    },
  };
}

/**
 * What a data root has lost since it was noted, in words; null when nothing. A root that never held anything has nothing to
 * lose; a root of another name is another root, whatever it holds.
 */
export function lossOf(noted: RootState, found: RootState): string | null {
  const names = Object.keys(noted.commits);
  if (names.length === 0) return null;
  if (Object.keys(found.commits).length === 0) return `holds nothing, and held ${names.length} partitions before`;
  if (noted.root_id !== null && found.root_id !== noted.root_id)
    return `is ${found.root_id ?? 'a root without a name'}, expected ${noted.root_id}`;
  for (const name of names) {
    const [before, now] = [noted.commits[name] ?? 0, found.commits[name]];
    if (now === undefined) return `has lost ${name}, which was there before (commit ${before})`;
    if (now < before) return `went back to commit ${now} of ${name}, and was at ${before} before`;
  }
  return null;
}
