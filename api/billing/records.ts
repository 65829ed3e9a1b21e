import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import { lockBusiness } from '../accounts/businesses.ts';
import { type Caller, createKeyring, type Keyring } from '../accounts/keyring.ts';
import { effectiveCap } from '../accounts/plans.ts';
import { followServerClock, machineClock } from '../records/clock.ts';
import { type CursorNote, sweepCursors } from '../records/cursors.ts';
import {
  type OpenStore,
  openDatabase,
  recordsLocation,
  type Store,
  type Transact,
  type Writer,
} from '../records/database.ts';
import { type Deletions, NO_DELETIONS, openDeletions } from '../records/deletions.ts';
import { BusinessGone, isOutage, OutcomeUnknown, RecordsUnavailable } from '../records/errors.ts';
import { migrate } from '../records/migrate.ts';
import { param, prepare } from '../records/prepare.ts';
import type { Database } from '../records/schema.ts';
import { type DailyQuota, openDailyQuota, sweepDailyQuota } from './daily-quota.ts';
import { createDeferredWrites } from './deferred-writes.ts';
import { createCommitter } from './group-commit.ts';
import {
  type Claim,
  type ClaimRequest,
  claimKey,
  dropClaim,
  finishClaim,
  type StoredAnswer,
  sweepClaims,
} from './idempotency.ts';
import { type Charge, createLedger, type Ledger, type OverCap, periodOf, withRequestId } from './ledger.ts';
import { transactWithOutcome } from './outcome.ts';
import { openUnresolvedCommits } from './unresolved-commits.ts';
import { usedByRotation } from './usage.ts';

/** How often what is over its time is removed. */
const SWEEP_EVERY_MS = 600_000;
/** Rows of a table in one transaction, for which every other writer waits. */
const SWEPT_AT_ONCE = 5_000;

/** How long counts of requests may wait: well within the second in which they are promised. */
const NOTES_WAIT_MS = 500;

/** How long calls wait while another process keeps writers out: several times what the largest upload takes to write. */
const WRITE_WAIT_MS = 1_000;

/** How long one statement of a call may take on a PostgreSQL server. */
const STATEMENT_WAIT_MS = 1_500;
/** How long a caller waits for the health of the records. */
const HEALTH_WAIT_MS = 1_000;

/**
 * The businesses' rows. Every function throws RecordsUnavailable when the store cannot be reached and nothing was done,
 * CommitFailed when a commit failed and was rolled back, and OutcomeUnknown when the answer to a commit was lost and its
 * outcome could not be looked up in time.
 */
export interface Records extends Keyring, OpenStore {
  /**
   * Charges a call; resolves once the charge is committed. `over_cap`, `over_key_cap`: nothing was charged. Charges that arrive while
   * a commit runs are committed together with the next. Throws BusinessGone; after OutcomeUnknown it is refunded if made.
   */
  readonly charge: (charge: Charge) => Promise<'charged' | OverCap>;
  /** The cap that would refuse a charge now, null for none: a look, nothing is reserved. Throws RecordsUnavailable when none can be written. */
  readonly wouldExceed: (caller: Caller, credits: number, now_ms: number) => Promise<OverCap | null>;
  /**
   * Counts a free, refused or replayed call in the key's total of requests; committed within a second, not before the
   * answer. Charged calls are counted by their charge.
   */
  readonly countRequest: (key_id: string, now_ms: number) => void;
  /** Counts a request in the UTC day of its business, and says whether the day still had one. */
  readonly admitToday: DailyQuota['admit'];
  readonly claim: (request: ClaimRequest) => Promise<Claim>;
  /** Forgets a claim whose request ended without anything to keep; when it cannot now, as soon as it can. */
  readonly releaseClaim: (token: string) => Promise<void>;
  /** Keeps a refusal (400, 404, 409) under its claim; when it cannot, it forgets the claim as soon as it can. */
  readonly storeRefusal: (token: string, answer: StoredAnswer) => Promise<void>;
  /**
   * One transaction: `work`, the charge, and the finished claim with the answer that `work` returned. `over_cap`,
   * `over_key_cap`: everything was rolled back. What `work` throws rolls back and is thrown again. Writes of one business take turns. Throws
   * BusinessGone; after OutcomeUnknown rows and charge stand or fall together.
   */
  readonly write: <Result extends StoredAnswer>(
    business_id: string,
    charge: Charge | null,
    claim: string | null,
    now_ms: number,
    work: (writer: Writer) => Promise<Result>,
  ) => Promise<Result | OverCap>;
  /** What may be deleted by its age. */
  readonly deletions: Deletions;
  /** Remembers where a page ended; committed with the next charge, at the latest within a second. */
  readonly rememberCursor: (note: CursorNote) => void;
  /** False when the records cannot be read, what was read or written last failed and still does, or their file is gone or damaged. */
  readonly health: () => Promise<boolean>;
  /** Waits for what is being committed, writes what was noted, and closes. */
  readonly close: () => Promise<void>;
}

/** Settings of the records besides their database. */
export interface RecordsSettings {
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
  /** True where the data clock is fixed: nothing is deleted by its age then. */
  readonly now_is_fixed?: boolean;
  /** Called with a line for each thing done at the start, and for each commit in doubt that was resolved. */
  readonly report?: (line: string) => void;
  /** Called with what an operator has to see to at once: files that were deleted or replaced, damaged data. */
  readonly alarm?: (line: string) => void;
  readonly deferred_wait_ms?: number;
  /** How long writes wait for a SQLite file that another process writes to, or for a lock of another on PostgreSQL. */
  readonly write_wait_ms?: number;
  /** How long one statement may take on a PostgreSQL server. */
  readonly statement_wait_ms?: number;
  /** File that keeps commits in doubt over a restart; null: they are forgotten with the process. */
  readonly journal?: string | null;
}

export interface RecordsOptions extends RecordsSettings {
  readonly data_root: string;
  /** PostgreSQL; null: a SQLite file under the data root. */
  readonly database_url: string | null;
}

/** Opens the records of a data root, makes or migrates their tables, and reports it. Throws RecordsUnavailable. */
export async function openRecords({ data_root, database_url, ...settings }: RecordsOptions): Promise<Records> {
  return await recordsOver(openDatabase(recordsLocation(data_root, database_url)), settings);
}

function migrationsText([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? `migration ${first}` : `migrations ${first} to ${others.at(-1)}`;
}

/** The records over an open store, which they close. */
export async function recordsOver(store: Store, settings: RecordsSettings): Promise<Records> {
  const { now, report = () => {}, alarm = () => {}, deferred_wait_ms = NOTES_WAIT_MS, journal = null } = settings;
  const { write_wait_ms = WRITE_WAIT_MS, statement_wait_ms = STATEMENT_WAIT_MS } = settings;
  const { reader, files, health } = store;
  health.onDamage = (reason) => alarm(`records: ${store.name} is damaged (${reason})`);
  if (files !== null)
    files.onChange = (fault) =>
      fault === null ? report(`records: ${store.name} is in its place again`) : alarm(`records: ${fault}`);
  await using opening = new AsyncDisposableStack();
  opening.defer(store.close);
  const applied = await migrate(store, now());
  if (applied.length > 0) report(`records: applied ${migrationsText(applied)} to ${store.name}`);
  store.setWaits({ lock_ms: write_wait_ms, statement_ms: statement_wait_ms });
  const endFollowing = store.kind === 'postgres' ? await followServerClock(store, report) : () => {};
  opening.defer(endFollowing);
  const transaction: Transact = (work) =>
    transactWithOutcome(store, async (rows) => ({ result: await work(rows), request_id: null }));
  const unresolvedCommits = openUnresolvedCommits({ store, journal, report });
  const charging = createLedger(store);
  const deferredWrites = createDeferredWrites(store, () => committer.noted());
  const committer = createCommitter({ store, unresolvedCommits, charging, deferredWrites, deferred_wait_ms });
  const keyring = createKeyring(reader);
  const usedOf = prepareUsed(reader);
  const requestDays = openDailyQuota(transaction, store);
  const deletions = settings.now_is_fixed ? NO_DELETIONS : openDeletions(store, transaction, now);
  const sweeping = setInterval(
    () => void sweep(store, transaction, deletions).catch(ignoreUnreachable),
    SWEEP_EVERY_MS,
  ).unref();

  opening.move(); // from here on, the caller closes the records

  let closing: Promise<void> | null = null;
  let looking: Promise<boolean> | null = null;

  const look = async () => (await Promise.all([isReadable(store), committer.works(machineClock())])).every(Boolean);

  /** Ends a claim under which nothing was done; where that is not possible now, it is noted to be forgotten. */
  const endClaim = async (token: string, end: (rows: Transaction<Database>) => Promise<void>) => {
    try {
      await transaction(end);
    } catch (error) {
      if (!isOutage(error)) throw error;
      deferredWrites.release(token);
    }
  };

  return {
    ...keyring,
    charge: (charge) => {
      deferredWrites.request(charge.key_id, charge.at_ms, false);
      return committer.charge(charge);
    },
    wouldExceed: async ({ plan, business_id, rate_bucket, key_cap }, credits, now_ms) => {
      if (store.writersBlocked()) throw new RecordsUnavailable('writers are kept out');
      const cap = effectiveCap(plan);
      const month = { business_id, period: periodOf(now_ms) };
      if (key_cap !== null && (await usedByRotation(reader, rate_bucket, month.period)) + credits > key_cap)
        return 'over_key_cap';
      return cap !== null && (await usedOf(business_id, now_ms)) + credits > cap ? 'over_cap' : null;
    },
    countRequest: (key_id, now_ms) => deferredWrites.request(key_id, now_ms, true),
    admitToday: requestDays.admit,
    claim: async (request) => {
      const token = randomUUID();
      try {
        return await transaction((rows) => claimKey(rows, store, request, token, now));
      } catch (error) {
        if (error instanceof OutcomeUnknown) deferredWrites.release(token);
        throw error;
      }
    },
    releaseClaim: (token) => endClaim(token, (rows) => dropClaim(rows, token)),
    storeRefusal: (token, answer) => endClaim(token, (rows) => finishClaim(rows, token, answer)),
    write: async (business_id, charge, claim, now_ms, work) => {
      if (charge) deferredWrites.request(charge.key_id, charge.at_ms, false);
      const charged = charge && withRequestId(charge);
      return await writeCharged(store, charging, { business_id, now_ms, charge: charged, claim }, work);
    },
    transaction,
    deletions,
    rememberCursor: deferredWrites.cursor,
    reader,
    health: async () => {
      if (store.writersBlocked() || health.damage !== null) return false;
      looking ??= Promise.race([look(), sleep(HEALTH_WAIT_MS, false, { ref: false })]).finally(() => {
        looking = null;
      });
      return await looking;
    },
    store,
    close: async () => {
      closing ??= closeAfter(
        committer
          .drain()
          .finally(() => requestDays.close())
          .finally(endFollowing)
          .finally(() => unresolvedCommits.close()),
        sweeping,
        store,
      );
      await closing;
    },
  };
}

async function closeAfter(drained: Promise<void>, sweeping: NodeJS.Timeout, store: Store): Promise<void> {
  clearInterval(sweeping);
  try {
    await drained;
  } finally {
    await store.close();
  }
}

interface ChargedWrite {
  readonly business_id: string;
  readonly now_ms: number;
  readonly charge: Charge | null;
  readonly claim: string | null;
}

/** Thrown inside a transaction to take everything back. */
class Refused extends Error {
  readonly by: OverCap;

  constructor(by: OverCap) {
    super(by);
    this.by = by;
  }
}

async function writeCharged<Result extends StoredAnswer>(
  store: Store,
  charging: Ledger,
  { business_id, now_ms, charge, claim }: ChargedWrite,
  work: (writer: Writer) => Promise<Result>,
): Promise<Result | OverCap> {
  const write = async (rows: Transaction<Database>) => {
    if (!(await lockBusiness(rows, business_id))) throw new BusinessGone(business_id);
    const result = await work({ rows, business_id, now_ms });
    // Last, because every other charge of the business waits while this row is held.
    const [charged = 'charged'] = charge ? await charging.chargeAll(rows, [charge]) : [];
    if (charged === 'over_cap' || charged === 'over_key_cap') throw new Refused(charged);
    if (claim !== null) await finishClaim(rows, claim, result);
    return { result, request_id: charge?.request_id ?? null };
  };
  try {
    return await store.inTurn(business_id, () => transactWithOutcome(store, write));
  } catch (error) {
    if (error instanceof Refused) return error.by;
    throw error;
  }
}

/** Credits used in the month of an instant. */
function prepareUsed(reader: Kysely<Database>): (business_id: string, now_ms: number) => Promise<number> {
  const query = prepare(
    reader
      .selectFrom('periods')
      .select('used')
      .where('business_id', '=', param<string>('business_id'))
      .where('period', '=', param<string>('period')),
  );
  return async (business_id, now_ms) => {
    const { rows } = await reader.executeQuery(query({ business_id, period: periodOf(now_ms) }));
    return rows[0]?.used ?? 0;
  };
}

/** Deletes what requests left behind and has run out, a part of it at a time. */
async function sweep(store: Store, transaction: Transact, deletions: Deletions): Promise<void> {
  const until_ms = await deletions.due('requests');
  if (until_ms === null) return;
  const swept = await transaction(async (rows) => [
    await sweepCursors(rows, store, until_ms, SWEPT_AT_ONCE),
    await sweepClaims(rows, store, until_ms, SWEPT_AT_ONCE),
    await sweepDailyQuota(rows, until_ms),
  ]);
  if (swept.every((count) => count < SWEPT_AT_ONCE)) await deletions.done('requests');
}

/** A sweep that finds the records out of reach is made up for by the next. */
function ignoreUnreachable(error: unknown): void {
  if (!isOutage(error)) throw error;
}

/** Whether reads work: repeats the one that failed last, else reads anything. */
async function isReadable({ reader, health }: Store): Promise<boolean> {
  const failed = health.failedRead;
  try {
    if (failed === null) await reader.selectFrom('probes').select('name').limit(1).execute();
    else {
      await reader.executeQuery(failed);
      health.readWorked(failed);
    }
    return health.failedRead === null;
  } catch (error) {
    if (isOutage(error)) return false;
    throw error;
  }
}
