/**
 * Order of what the writers of a store publish. Each new holder of a lease has a larger fence: what a holder before it still
 * writes is behind. Without a store there are no fences, and commits alone count.
 */
export interface Version {
  readonly commit: number;
  readonly fence?: number | undefined;
}

/** Commits that a holder of a lease may number before it meets the numbers of the next one. */
export const COMMITS_PER_FENCE = 1_000_000;

/**
 * The version after another, for a writer with a fence, or null without one. Numbers of two holders never meet: those of a new
 * one begin at its own million.
 */
export function nextVersion(previous: Version | null, fence: number | null): Version {
  const next = (previous?.commit ?? 0) + 1;
  const held = Math.max(fence ?? 0, previous?.fence ?? 0);
  if (held === 0) return { commit: next };
  const first = held === previous?.fence ? 0 : held * COMMITS_PER_FENCE + 1;
  return { commit: Math.max(next, first), fence: held };
}

/** True for the first number of a writer: with a fence, of each holder of the lease. */
export function isFirst({ commit }: Version): boolean {
  return commit % COMMITS_PER_FENCE === 1;
}

/** True when a version that was found is older than one that was seen: from a stale writer, or a stale answer of a store. */
export function isBehind(found: Version, seen: Version): boolean {
  const [found_fence, seen_fence] = [found.fence ?? 0, seen.fence ?? 0];
  return found_fence === seen_fence ? found.commit < seen.commit : found_fence < seen_fence;
}
