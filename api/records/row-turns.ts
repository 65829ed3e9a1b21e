import { LockNotGiven } from './errors.ts';

/** Runs a transaction that locks a row, in its turn. Throws LockNotGiven when that does not come in time. */
export type RowTurns = <Result>(row: string, transaction: () => Promise<Result>) => Promise<Result>;

/**
 * Transactions of this process that lock the same row take turns before they take a connection. While another process holds the row,
 * they would take every connection to wait for it, and everyone else would wait with them. `longest_ms`: for a turn.
 */
export function rowTurns(longest_ms: () => number): RowTurns {
  /** Those that wait for their turn, by the row that a transaction is under way for. */
  const waiting = new Map<string, Set<() => void>>();

  async function turn(row: string): Promise<void> {
    const queue = waiting.get(row);
    if (queue === undefined) {
      waiting.set(row, new Set());
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = () => {
      queue.delete(resolve);
      reject(new LockNotGiven(`other transactions that lock ${row} took too long`));
    };
    const timer = setTimeout(giveUp, longest_ms());
    queue.add(resolve);
    await promise.finally(() => clearTimeout(timer));
  }

  function pass(row: string): void {
    const queue = waiting.get(row);
    const [next] = queue ?? [];
    if (next === undefined) waiting.delete(row);
    else {
      queue?.delete(next);
      next();
    }
  }

  return async (row, transaction) => {
    await turn(row);
    try {
      return await transaction();
    } finally {
      pass(row);
    }
  };
}
