import { setTimeout as sleep } from 'node:timers/promises';

/** A failure of the records, named by its class. */
class RecordsError extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`records: ${reason}`, options);
    this.name = new.target.name;
  }
}

/** The records cannot be reached, and nothing was done. */
export class RecordsUnavailable extends RecordsError {}

/** Another transaction held what this one needs for too long, and nothing was done: no fault of either. */
export class LockNotGiven extends RecordsUnavailable {}

/** A write or its commit failed; everything that belonged to it was rolled back. */
export class CommitFailed extends RecordsError {}

/** The answer to a COMMIT was lost: whether it was made is not known. */
export class CommitInDoubt extends CommitFailed {}

/** The answer to a COMMIT was lost, and running the transaction again led to none in time. */
export class OutcomeUnknown extends RecordsError {
  /** `id`: the request of its charge. */
  constructor(id: string, options?: ErrorOptions) {
    super(`whether the transaction of ${id} was made is not known`, options);
  }
}

/** The business of a key that was remembered for a moment is gone, and the key with it. */
export class BusinessGone extends Error {
  constructor(business_id: string) {
    super(`business ${business_id} is gone, expected it to exist`);
    this.name = 'BusinessGone';
  }
}

/** True for failures that pass by themselves: anything else is a bug. */
export function isOutage(error: unknown): error is RecordsError {
  return error instanceof RecordsError;
}

/** Pause between two tries. */
const WAIT_MS = 250;

/** Result of work with the records, repeated for `longest_ms` during an outage. */
export async function persistently<Result>(longest_ms: number, work: () => Promise<Result>): Promise<Result> {
  const until_ms = performance.now() + longest_ms;
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!isOutage(error) || performance.now() > until_ms) throw error;
      await sleep(WAIT_MS);
    }
}

/** SQLite result codes that are faults of the store, not of the statement: busy, locked, memory, read-only, I/O, corrupt, full, cannot open, not a database. */
const SQLITE_TROUBLE: ReadonlySet<number> = new Set([5, 6, 7, 8, 10, 11, 13, 14, 26]);
const SQLITE_BUSY = 5;
/** SQLite: the file is malformed, or is no database. */
const SQLITE_DAMAGE: ReadonlySet<number> = new Set([11, 26]);
/** Classes of SQLSTATE that are faults of the statement: they are bugs of ours. */
const SQLSTATE_BUGS = /^(0A|21|22|23|26|2F|34|42)/;
/** SQLSTATEs of a server that refuses writes now: read-only, a statement that took too long. */
const SQLSTATE_KEPT_OUT = /^(25006|57014)/;
const SQLSTATE_LOCK_NOT_GIVEN = '55P03';
/** PostgreSQL: data_corrupted, index_corrupted. */
const SQLSTATE_DAMAGE = /^XX00[12]/;
/** SQLSTATEs of a connection that is lost: a COMMIT may have been made. */
const SQLSTATE_LOST = /^(08|57P)/;

/** Damage of the database that was seen; it does not pass by itself. */
export interface Damage {
  reason: string | null;
  /** Called with the reason when damage is first seen. */
  found: (reason: string) => void;
}

/** The error to throw for that of a statement; null: of a connection that cannot be had. */
export type Explain = (error: unknown, statement: string | null) => unknown;

/**
 * Errors of a database in words of the records: RecordsUnavailable while nothing was done; CommitFailed once a transaction has begun
 * (it is rolled back); CommitInDoubt when the answer to a COMMIT was lost. Faults of a statement pass unchanged: they are bugs.
 */
export function explainErrors(use: 'reading' | 'writing', damage: Damage): Explain {
  return (error, statement) => {
    const reason = reasonOf(error);
    if (isDamage(error) && damage.reason === null) {
      damage.reason = reason;
      damage.found(reason);
    }
    const unavailable = (what: string) => new RecordsUnavailable(`${what} (${reason})`, { cause: error });
    if (statement === null) return unavailable('cannot be reached');
    if (!isTrouble(error)) return error;
    if (/^(begin|start transaction)/.test(statement))
      return sqliteCode(error) === SQLITE_BUSY
        ? new LockNotGiven('another process holds the write lock', { cause: error })
        : unavailable('cannot begin');
    if (statement === 'commit') {
      const Failure = isLost(error) ? CommitInDoubt : CommitFailed;
      return new Failure(`a commit failed (${reason})`, { cause: error });
    }
    if (use === 'reading') return unavailable('a read failed');
    const state = sqlState(error);
    if (state === SQLSTATE_LOCK_NOT_GIVEN)
      return new LockNotGiven(`another transaction holds what a write needs (${reason})`, { cause: error });
    if (SQLSTATE_KEPT_OUT.test(state)) return unavailable('a write was not let in');
    return new CommitFailed(`a write failed (${reason})`, { cause: error });
  };
}

/** True when the stored data are broken: only an operator can repair them. */
export function isDamage(error: unknown): boolean {
  return SQLITE_DAMAGE.has(sqliteCode(error) ?? 0) || SQLSTATE_DAMAGE.test(sqlState(error));
}

/** False for faults of the statement, such as a column that does not exist or a broken constraint. */
function isTrouble(error: unknown): boolean {
  const code = sqliteCode(error);
  if (code !== null) return SQLITE_TROUBLE.has(code);
  const state = sqlState(error);
  if (state !== '') return !SQLSTATE_BUGS.test(state);
  return !(error instanceof TypeError || error instanceof RangeError);
}

/** True when the answer to a statement was lost: SQLite always answers, and so does PostgreSQL while the connection holds. */
function isLost(error: unknown): boolean {
  if (sqliteCode(error) !== null) return false;
  const state = sqlState(error);
  return state === '' || SQLSTATE_LOST.test(state);
}

function sqliteCode(error: unknown): number | null {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : null;
}

/** The SQLSTATE of an error that a PostgreSQL server sent; empty for any other. */
function sqlState(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : '';
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
