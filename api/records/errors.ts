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
