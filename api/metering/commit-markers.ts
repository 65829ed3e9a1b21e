import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { Store } from '../store/database.ts';
import { CommitInDoubt, isOutage, OutcomeUnknown } from '../store/errors.ts';
import { instant } from '../store/instant.ts';
import { param, prepare } from '../store/prepare.ts';
import type { Database } from '../store/schema.ts';

/** How long anybody waits to hear what became of a commit whose answer was lost. */
const LOOK_UP_MS = 1_000;
const LOOK_UP_EVERY_MS = 50;
/** Marks of transactions whose process ended before it could remove them. Older doubts are not resolved any more. */
const KEPT_MS = 7 * 24 * 3_600_000;

/** Transactions that leave a mark, by which their outcome can be looked up. */
export interface CommitMarkers {
  /**
   * Runs a transaction. Where the answer to its commit is lost, the result is returned all the same when its mark is found, and
   * the failure is thrown when it is not. Throws OutcomeUnknown when that cannot be found out in time.
   */
  readonly transact: <Result>(work: (rows: Transaction<Database>) => Promise<Result>) => Promise<Result>;
}

/** Marks are removed by the next transaction, so that there are never more than a few. */
export function createCommitMarkers(store: Store, now: () => number): CommitMarkers {
  let finished: string[] = [];
  const insert = prepare(
    store.writer.insertInto('commits').values({ id: param<string>('id'), at: param<string>('at') }),
  );
  const remove = prepare(store.writer.deleteFrom('commits').where('id', '=', param<string>('id')));

  async function leaveMark(rows: Transaction<Database>, id: string, removed: readonly string[]): Promise<void> {
    await rows.executeQuery(insert({ id, at: instant(now()) }));
    for (const old of removed) await rows.executeQuery(remove({ id: old }));
  }

  return {
    transact: async (work) => {
      const id = randomUUID();
      const removed = finished;
      finished = [];
      // What `work` returned, once it did.
      const results: Awaited<ReturnType<typeof work>>[] = [];
      try {
        await store.writer.transaction().execute(async (rows) => {
          results.push(await work(rows));
          await leaveMark(rows, id, removed);
        });
      } catch (error) {
        finished.push(...removed);
        if (!(error instanceof CommitInDoubt)) throw error;
        const committed = await outcomeOf(store, id);
        if (committed === null) throw new OutcomeUnknown(id, { cause: error });
        if (!committed) throw error;
      }
      finished.push(id);
      return results[0] as Awaited<ReturnType<typeof work>>;
    },
  };
}

/** Whether a transaction was committed; null when that cannot be found out in time. */
async function outcomeOf(store: Store, id: string): Promise<boolean | null> {
  const until_ms = performance.now() + LOOK_UP_MS;
  for (let left_ms = LOOK_UP_MS; left_ms > 0; left_ms = until_ms - performance.now()) {
    const found = await Promise.race([wasCommitted(store, id).catch(nullAtOutage), sleep(left_ms, null)]);
    if (found !== null) return found;
    await sleep(LOOK_UP_EVERY_MS);
  }
  return null;
}

function nullAtOutage(error: unknown): null {
  if (isOutage(error)) return null;
  throw error;
}

/** Whether a transaction that left a mark was committed. Waits for its end; throws RecordsUnavailable where it cannot. */
export async function wasCommitted(store: Store, id: string): Promise<boolean> {
  const transaction = await store.outOfBand.startTransaction().execute();
  try {
    if (store.kind === 'sqlite')
      return (
        (await transaction.selectFrom('commits').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
      );
    // Waits for a transaction that has inserted the same id; a SELECT would look past it.
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto('commits')
      .values({ id, at: '' })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 0n;
  } finally {
    await transaction.rollback().execute();
  }
}

/** Removes a mark; false when somebody else did. */
export async function removeCommitMarker(rows: Transaction<Database>, id: string): Promise<boolean> {
  const { numDeletedRows } = await rows.deleteFrom('commits').where('id', '=', id).executeTakeFirst();
  return numDeletedRows === 1n;
}

/** Removes marks that nobody asked for any more at an instant, at most `most` of them; returns their count. */
export async function sweepCommitMarkers(
  rows: Transaction<Database>,
  { skipLocked }: Store,
  until_ms: number,
  most: number,
): Promise<number> {
  const until = instant(until_ms - KEPT_MS);
  const old = rows.selectFrom('commits').select('id').where('at', '<=', until).limit(most).modifyEnd(skipLocked);
  const { numDeletedRows } = await rows.deleteFrom('commits').where('id', 'in', old).executeTakeFirst();
  return Number(numDeletedRows);
}
