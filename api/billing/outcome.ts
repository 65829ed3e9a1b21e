import { setTimeout as sleep } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { Store } from '../records/database.ts';
import { CommitInDoubt, isOutage, OutcomeUnknown } from '../records/errors.ts';
import type { Database } from '../records/schema.ts';
import { REQUEST_ID } from './ledger.ts';

/** How long a caller waits for the outcome of a commit whose answer was lost. */
const LOOK_UP_MS = 1_000;
const LOOK_UP_EVERY_MS = 50;

/** Result of a transaction, and the request id of a charge that it made: of any of them, null for none. */
export interface Work<Result> {
  readonly result: Result;
  readonly request_id: string | null;
}

/**
 * Runs a transaction. Where the answer to its COMMIT is lost, its outcome is looked up: by the ledger row of its charge, without
 * one by its number on PostgreSQL. Returns the result when it was committed, throws the failure when it was not, and
 * OutcomeUnknown when that cannot be found out in time.
 */
export async function transactWithOutcome<Result>(
  store: Store,
  work: (rows: Transaction<Database>) => Promise<Work<Result>>,
): Promise<Result> {
  const done: { readonly result: Result; readonly id: string | null }[] = [];
  try {
    await store.writer.transaction().execute(async (rows) => {
      const { result, request_id } = await work(rows);
      done.push({ result, id: request_id ?? (await store.transactionId(rows)) });
    });
  } catch (error) {
    const id = done[0]?.id;
    if (!(error instanceof CommitInDoubt) || typeof id !== 'string') throw error;
    const committed = await outcomeOf(store, id);
    if (committed === null) throw new OutcomeUnknown(id, { cause: error });
    if (!committed) throw error;
  }
  return (done[0] as (typeof done)[number]).result;
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

/**
 * Whether a transaction was committed, by the id of OutcomeUnknown: the request id of a charge, or the transaction's number. Waits
 * for its end; throws RecordsUnavailable where it cannot.
 */
export async function wasCommitted(store: Store, id: string): Promise<boolean> {
  if (!REQUEST_ID.test(id)) return await store.wasCommitted(id);
  const transaction = await store.outOfBand.startTransaction().execute();
  try {
    if (store.kind === 'sqlite') {
      const found = await transaction.selectFrom('ledger').select('id').where('request_id', '=', id).executeTakeFirst();
      return found !== undefined;
    }
    // Waits for a transaction that has inserted the same request id; a SELECT would not see its row.
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto('ledger')
      .values({ business_id: '', key_id: null, operation: '', count: 0, credits: 0, at: '', request_id: id })
      .onConflict((conflict) => conflict.column('request_id').doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 0n;
  } finally {
    await transaction.rollback().execute();
  }
}
