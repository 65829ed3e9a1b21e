import type { Price } from '../endpoint.ts';

/** An answer as it is sent: the same for every caller. */
export interface Prepared {
  readonly price: Price | null;
  readonly tag: string | null;
  readonly type: string;
  /** Headers beside type, tag and caching, names and values by turns. */
  readonly headers: readonly string[];
  readonly bytes: Buffer;
  /** Made when first asked for. */
  gzipped: Buffer | null;
}

interface Kept {
  readonly prepared: Prepared;
  /** Whether it is still what would be answered now. */
  readonly holds: () => boolean;
}

export interface KeptAnswers {
  readonly find: (target: string) => Prepared | null;
  readonly keep: (target: string, prepared: Prepared, holds: () => boolean) => void;
}

const MOST = 5000;
/** Of all that are kept. */
const MOST_BYTES = 48_000_000;
/** Of one; a larger answer is made again each time. */
const LARGEST_BYTES = 8_000_000;

/** Answers by path and query, as long as each holds; the oldest go first when there are too many. */
export function keptAnswers(): KeptAnswers {
  const kept = new Map<string, Kept>();
  let bytes = 0;
  const drop = (target: string) => {
    bytes -= kept.get(target)?.prepared.bytes.length ?? 0;
    kept.delete(target);
  };
  return {
    find: (target) => {
      const found = kept.get(target);
      if (!found) return null;
      if (found.holds()) return found.prepared;
      drop(target);
      return null;
    },
    keep: (target, prepared, holds) => {
      if (prepared.bytes.length > LARGEST_BYTES) return;
      drop(target);
      kept.set(target, { prepared, holds });
      bytes += prepared.bytes.length;
      while (kept.size > MOST || bytes > MOST_BYTES) drop(kept.keys().next().value as string);
    },
  };
}
