import type { Kysely, Transaction } from 'kysely';
import { DeletionClock, dueForDeletion, lookAtClock, markForDeletion } from '../../schemas/deletion-clock.ts';
import { readSetting, type Store, writeSetting } from './database.ts';
import type { Database } from './schema.ts';

/** Name of the row. */
const NAME = 'deletion clock';

/** Kinds of rows that are deleted by their age: answers and cursors of requests, reports and exports with their files, events that were sent. */
type DeletionKind = 'requests' | 'jobs' | 'events';

/** Decides which rows may be deleted by their age. */
export type Deletions = ReturnType<typeof openDeletions>;

/** Deletes nothing: the clock is fixed, or this process must not delete. */
export const NO_DELETIONS: Deletions = { due: async () => null, done: async () => {} };

/** Deletions by the clock that the records keep. `now`: the machine's clock, epoch milliseconds. */
export function openDeletions({ forUpdate, transaction }: Pick<Store, 'forUpdate' | 'transaction'>, now: () => number) {
  let looked_ms = 0; // by the monotonic clock, which begins with the process
  const change = (newest_scan_ms: number | null, step: (clock: DeletionClock) => ReturnType<typeof dueForDeletion>) =>
    transaction(async (rows) => {
      const before = await readClock(rows, forUpdate);
      const monotonic_ms = performance.now();
      const newest_own_ms = before === null ? await newestRow(rows) : null;
      const look = { wall_ms: now(), run_ms: monotonic_ms - looked_ms, newest_scan_ms, newest_own_ms };
      const { clock, until_ms } = step(lookAtClock(before, look));
      await writeSetting(rows, NAME, clock, look.wall_ms);
      looked_ms = monotonic_ms;
      return until_ms;
    });
  return {
    /**
     * Looks at the clock, and returns the instant at which things of a kind must have run out to be deleted now, epoch
     * milliseconds; null: nothing is. `newest_scan_ms`: of the newest observed scan, where the caller knows.
     */
    due: (kind: DeletionKind, newest_scan_ms: number | null = null) =>
      change(newest_scan_ms, (clock) => dueForDeletion(clock, kind)),
    /** Marks what has run out by now, once all that was due is deleted. */
    done: async (kind: DeletionKind): Promise<void> => {
      await change(null, (clock) => ({ clock: markForDeletion(clock, kind), until_ms: null }));
    },
  };
}

/** The clock by which the records delete; null: nothing was looked at yet. */
export async function readClock(rows: Kysely<Database>, locking?: Store['forUpdate']): Promise<DeletionClock | null> {
  const clock = await readSetting(rows, NAME, locking);
  return clock === undefined ? null : DeletionClock.parse(clock);
}

/** When the newest row was written that runs out, epoch milliseconds; null: there is none. */
async function newestRow(rows: Transaction<Database>): Promise<number | null> {
  const newest = await Promise.all(
    (['jobs', 'idempotency', 'messages'] as const).map((table) =>
      rows
        .selectFrom(table)
        .select(({ fn }) => fn.max('created_at').as('at'))
        .executeTakeFirst(),
    ),
  );
  const times = newest.flatMap((row) => (row?.at ? Date.parse(row.at) : []));
  return times.length === 0 ? null : Math.max(...times);
}
