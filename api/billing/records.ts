import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { instant, utcDate } from '../../schemas/time.ts';
import { lockBusiness } from '../accounts/businesses.ts';
import { type Caller, createKeyring } from '../accounts/keyring.ts';
import { effectiveCap } from '../accounts/plans.ts';
import { openDatabase, recordsLocation, type Store, type Writer } from '../records/database.ts';
import { type Deletions, NO_DELETIONS, openDeletions } from '../records/deletions.ts';
import { BusinessGone, CommitInDoubt, isOutage, OutcomeUnknown } from '../records/errors.ts';
import { migrate } from '../records/migrate.ts';
import { sweepCursors } from '../records/own-rows.ts';
import type { Waits } from '../records/postgres.ts';
import type { Database } from '../records/schema.ts';
import {
  AnsweredBefore,
  findAnswer,
  type KeyedCall,
  keepAnswer,
  type StoredAnswer,
  sweepAnswers,
} from './idempotency.ts';
import {
  AlreadyCharged,
  type Charge,
  createLedger,
  type OverCap,
  periodOf,
  Refused,
  usedByRotation,
  usedInMonth,
} from './ledger.ts';

/** How often expired rows are removed. */
const SWEEP_EVERY_MS = 600_000;
/** Rows of a table in one transaction, for which every other writer waits. */
const SWEPT_AT_ONCE = 5_000;
/** How long a call whose COMMIT was not answered is asked again, and how often. */
const ASK_AGAIN_MS = 3_000;
const ASK_EVERY_MS = 50;
/** How often health asks the database, and how long a caller waits for the answer. */
const HEALTH_EVERY_MS = 1_000;

/**
 * The businesses' rows. Every function throws RecordsUnavailable when the store cannot be reached and nothing was done, CommitFailed
 * when a commit failed and was rolled back, and OutcomeUnknown when the answer to the commit of a charge was lost and
 * asking again led to none.
 */
export type Records = Awaited<ReturnType<typeof recordsOver>>;

interface RecordsSettings {
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
  /** True where the data clock is fixed: nothing is deleted by its age then. */
  readonly now_is_fixed?: boolean;
  /** Called with a line for each thing done at the start. */
  readonly report?: (line: string) => void;
  /** Called when damaged data are found, which an operator has to see to at once. */
  readonly alarm?: (line: string) => void;
}

interface RecordsOptions extends RecordsSettings {
  readonly data_root: string;
  /** PostgreSQL; null: a SQLite file under the data root. */
  readonly database_url: string | null;
  /** How long statements wait; the waits of a service when left out. */
  readonly waits?: Waits;
}

/** Opens the records of a data root, makes their tables where there are none, and reports it. Throws RecordsUnavailable. */
export async function openRecords({ data_root, database_url, waits, ...settings }: RecordsOptions): Promise<Records> {
  return await recordsOver(openDatabase(recordsLocation(data_root, database_url), waits), settings);
}

/** The records over an open store, which they close. */
export async function recordsOver(store: Store, settings: RecordsSettings) {
  const { now, now_is_fixed = false, report = () => {}, alarm = () => {} } = settings;
  const { reader, transaction } = store;
  store.damage.found = (reason) => alarm(`records: ${store.name} is damaged (${reason})`);
  await using opening = new AsyncDisposableStack();
  opening.defer(store.close);
  const applied = await migrate(store);
  if (applied.length > 0) report(`records: applied migration ${applied.join(', ')} to ${store.name}`);
  const ledger = createLedger(store);
  const counts = openRequestCounts(store, alarm);
  /** What may be deleted by its age. */
  const deletions = now_is_fixed ? NO_DELETIONS : openDeletions(store, now);
  let sweeping: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    sweeping = sweep(store, deletions).catch((error) => alarm(`records: nothing was swept (${error})`));
  }, SWEEP_EVERY_MS).unref();
  opening.defer(() => sweeping);
  opening.defer(counts.close);
  const opened = opening.move(); // from here on, the caller closes the records
  let closing: Promise<void> | null = null;

  return {
    ...createKeyring(reader),
    ...{ store, reader, transaction, deletions },
    /**
     * Charges a call, in one transaction; resolves once it is committed. `over_cap`, `over_key_cap`: nothing was charged. Throws
     * BusinessGone.
     */
    charge: (charge: Charge): Promise<'charged' | OverCap> => {
      counts.note(charge.key_id, charge.at_ms, false);
      const work = async (rows: Transaction<Database>) => {
        await ledger.enter(rows, charge);
        await ledger.count(rows, charge);
        return 'charged' as const;
      };
      return unlessRefused(untilKnown(store, charge.request_id, work));
    },
    /** The cap that would refuse a charge now, null for none: a look, nothing is reserved. */
    wouldExceed: async (
      { plan, business_id, rate_bucket, key_cap }: Caller,
      credits: number,
      now_ms: number,
    ): Promise<OverCap | null> => {
      const period = periodOf(now_ms);
      if (key_cap !== null && (await usedByRotation(reader, rate_bucket, period)) + credits > key_cap)
        return 'over_key_cap';
      const cap = effectiveCap(plan);
      return cap !== null && (await usedInMonth(reader, business_id, period)) + credits > cap ? 'over_cap' : null;
    },
    /**
     * Counts a free, refused or replayed call in the key's total of requests; committed within a second, not before the
     * answer. Charged calls are counted by their charge.
     */
    countRequest: (key_id: string, now_ms: number): void => counts.note(key_id, now_ms, true),
    /** Counts a request in the UTC day of its business, and says whether the day still had one. */
    admitToday: (business_id: string, limit: number, now_ms: number) => admitToday(store, business_id, limit, now_ms),
    /** What the idempotency key of a call has been answered. */
    answerOf: (call: KeyedCall) => findAnswer(reader, call, now()),
    /** Keeps a refusal (400, 404, 409) for the key of its call; during an outage it is lost, and the same call is refused anew. */
    keepRefusal: async (call: KeyedCall, answer: StoredAnswer): Promise<void> => {
      const keep = async (rows: Transaction<Database>) => {
        const is_first = (await lockBusiness(rows, call.business_id)) && (await findAnswer(rows, call, now())) === null;
        if (is_first) await keepAnswer(rows, call, answer, now());
      };
      await transaction(keep).catch(ignoreOutage);
    },
    /**
     * One transaction: `work`, the charge, and the answer that `work` returned, for the key of its call. `over_cap`,
     * `over_key_cap`: everything was rolled back. What `work` throws rolls back and is thrown again; after a lost COMMIT `work` may run
     * again. Writes of one business take turns. Throws BusinessGone, and AnsweredBefore.
     */
    write: async <Result extends StoredAnswer>(
      business_id: string,
      charge: Charge | null,
      call: KeyedCall | null,
      now_ms: number,
      work: (writer: Writer) => Promise<Result>,
    ): Promise<Result | OverCap> => {
      if (charge) counts.note(charge.key_id, charge.at_ms, false);
      const write = async (rows: Transaction<Database>) => {
        if (!(await lockBusiness(rows, business_id))) throw new BusinessGone(business_id);
        if (charge) await ledger.enter(rows, charge);
        if (call !== null && (await findAnswer(rows, call, now())) !== null) throw new AnsweredBefore(call);
        const result = await work({ rows, business_id, now_ms });
        // Last, because every other charge of the business waits while the row of its month is held.
        if (charge) await ledger.count(rows, charge);
        if (call !== null) await keepAnswer(rows, call, result, now());
        return result;
      };
      return await unlessRefused(charge ? untilKnown(store, charge.request_id, write) : transaction(write));
    },
    /** False when the database cannot be read or written now, or is damaged; asked once a second. */
    health: healthOf(store),
    /** Writes the noted counts, and closes. */
    close: (): Promise<void> => {
      clearInterval(timer);
      closing ??= opened.disposeAsync();
      return closing;
    },
  };
}

/**
 * Runs a transaction that may be run again: where the answer to its COMMIT is lost, it is, and it throws AlreadyCharged or does nothing
 * when it was made. Throws OutcomeUnknown when no answer comes in time. `id` names it in that error.
 */
async function untilKnown<Result>(
  { transaction }: Store,
  id: string,
  work: (rows: Transaction<Database>) => Promise<Result>,
): Promise<Result> {
  const results: Result[] = [];
  const attempt = () =>
    transaction(async (rows) => {
      const result = await work(rows);
      results.push(result);
      return result;
    });
  try {
    return await attempt();
  } catch (cause) {
    if (!(cause instanceof CommitInDoubt)) throw cause;
    for (const until_ms = performance.now() + ASK_AGAIN_MS; performance.now() < until_ms; await sleep(ASK_EVERY_MS))
      try {
        return await attempt();
      } catch (error) {
        // An earlier run is committed: the last that returned a result, because a run after the commit throws.
        if (error instanceof AlreadyCharged) return results.at(-1) as Result;
        if (!isOutage(error)) throw error;
      }
    throw new OutcomeUnknown(id, { cause });
  }
}

async function unlessRefused<Result>(charging: Promise<Result>): Promise<Result | OverCap> {
  try {
    return await charging;
  } catch (error) {
    if (error instanceof Refused) return error.by;
    throw error;
  }
}

/** Asks the database once a second whether it can be read and written; who waits longer than that for the answer takes it as false. */
function healthOf(store: Store): () => Promise<boolean> {
  let asked_ms = Number.NEGATIVE_INFINITY;
  let answer = Promise.resolve(false);
  return () => {
    if (performance.now() - asked_ms >= HEALTH_EVERY_MS) {
      asked_ms = performance.now();
      answer = Promise.race([isWell(store), sleep(HEALTH_EVERY_MS, false, { ref: false })]);
    }
    return answer;
  };
}

/** Names the row that this process writes. */
const PROBE = randomUUID().slice(-2);

/** Reads a row, and writes one that few processes share: that of a process which was cut off is locked for a while. */
async function isWell({ reader, transaction, damage }: Store): Promise<boolean> {
  const probe = sql`
    insert into probes (name, "at") values (${`health ${PROBE}`}, ${new Date().toISOString()})
    on conflict (name) do update set "at" = excluded."at"`;
  try {
    await reader.selectFrom('probes').select('name').limit(1).execute();
    await transaction((rows) => probe.execute(rows));
    return damage.reason === null;
  } catch (error) {
    ignoreOutage(error);
    return false;
  }
}

/** Deletes what requests left behind and has run out, a part of it at a time. */
async function sweep(store: Store, deletions: Deletions): Promise<void> {
  const until_ms = await deletions.due('requests');
  if (until_ms === null) return;
  const swept = await store.transaction(async (rows) => {
    await sweepDays(rows, until_ms);
    return Math.max(
      await sweepCursors(rows, store, until_ms, SWEPT_AT_ONCE),
      await sweepAnswers(rows, until_ms, SWEPT_AT_ONCE),
    );
  });
  if (swept < SWEPT_AT_ONCE) await deletions.done('requests');
}

/** What finds the records out of reach is made up for by the next time. */
function ignoreOutage(error: unknown): void {
  if (!isOutage(error)) throw error;
}

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
function openRequestCounts(store: Store, alarm: (line: string) => void) {
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
async function admitToday(
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
async function sweepDays(rows: Kysely<Database>, until_ms: number): Promise<void> {
  const first = utcDate(until_ms - DAYS_KEPT_MS);
  await rows.deleteFrom('request_days').where('day', '<', first).execute();
}
