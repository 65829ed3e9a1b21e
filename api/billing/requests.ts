import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { instant, utcDate } from '../../schemas/time.ts';
import type { Store } from '../records/database.ts';
import { isOutage } from '../records/errors.ts';
import type { Database } from '../records/schema.ts';

/** How long counts of requests may wait: well within the second in which they are promised. */
const NOTES_WAIT_MS = 500;
/** A clock may be set back by an hour, not by days. */
const DAYS_KEPT_MS = 2 * 86_400_000;

interface KeyNote {
  readonly key_id: string;
  readonly day: string;
  /** Requests that no charge counts. */
  readonly requests: number;
  /** Epoch milliseconds. */
  readonly last_used_ms: number;
}

/**
 * Counts of the requests of keys, and when each was last used: noted in memory, and written about twice a second. `alarm` is called
 * with counts that are lost because they cannot be written.
 */
export function openRequestCounts(store: Store, alarm: (line: string) => void) {
  let notes = new Map<string, KeyNote>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  function add({ key_id, day, requests, last_used_ms }: KeyNote): void {
    const name = `${key_id} ${day}`;
    const before = notes.get(name) ?? { requests: 0, last_used_ms: 0 };
    notes.set(name, {
      ...{ key_id, day, requests: before.requests + requests },
      last_used_ms: Math.max(before.last_used_ms, last_used_ms),
    });
    timer ??= setTimeout(() => {
      writing = writing.then(write);
    }, NOTES_WAIT_MS).unref();
  }

  async function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    // Always in the same order, so that two processes never wait for each other.
    const batch = [...notes.values()].toSorted((a, b) => (a.key_id < b.key_id ? -1 : 1));
    notes = new Map();
    if (batch.length === 0) return;
    try {
      await store.transaction(async (rows) => {
        for (const note of batch) await writeNote(rows, store.forKeyShare, note);
      });
    } catch (error) {
      if (isOutage(error)) batch.forEach(add);
      else alarm(`records: requests of ${batch.length} keys are not counted (${error})`);
    }
  }

  return {
    /** A request of a key: `free` when no charge counts it. */
    note: (key_id: string, now_ms: number, free: boolean) =>
      add({ key_id, day: utcDate(now_ms), requests: free ? 1 : 0, last_used_ms: now_ms }),
    /** Writes the noted counts; those that cannot be written then are lost. */
    close: async () => {
      await writing;
      await write();
      clearTimeout(timer);
    },
  };
}

/** Counts for a key that is there, and stays there until the transaction ends. */
async function writeNote(
  rows: Transaction<Database>,
  forKeyShare: RawBuilder<unknown>,
  { key_id, day, requests, last_used_ms }: KeyNote,
): Promise<void> {
  if (requests > 0)
    await sql`
      insert into request_counts (key_id, day, requests)
      select id, ${day}, ${requests} from keys where id = ${key_id} ${forKeyShare}
      on conflict (key_id, day) do update set requests = request_counts.requests + excluded.requests`.execute(rows);
  const last_used_at = instant(last_used_ms);
  await rows
    .updateTable('keys')
    .set({ last_used_at })
    .where('id', '=', key_id)
    .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', last_used_at)]))
    .execute();
}

/**
 * Counts a request in the UTC day of its business. Returns false beyond the limit, which holds over all processes. During an outage
 * of the records nothing is counted and it returns true; a charge fails by itself then.
 */
export async function admitToday(
  { transaction, forKeyShare }: Store,
  business_id: string,
  limit: number,
  now_ms: number,
): Promise<boolean> {
  if (limit < 1) return false;
  try {
    const admitted = sql`
      insert into request_days (business_id, day, requests)
      select id, ${utcDate(now_ms)}, 1 from businesses where id = ${business_id} ${forKeyShare}
      on conflict (business_id, day) do update set requests = request_days.requests + 1
      where request_days.requests < ${limit}`;
    return (await transaction((rows) => admitted.execute(rows))).numAffectedRows === 1n;
  } catch (error) {
    if (isOutage(error)) return true;
    throw error;
  }
}

/** Removes the counts of days that were over at an instant. */
export async function sweepDays(rows: Kysely<Database>, until_ms: number): Promise<void> {
  await rows
    .deleteFrom('request_days')
    .where('day', '<', utcDate(until_ms - DAYS_KEPT_MS))
    .execute();
}
