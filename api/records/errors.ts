/** The records cannot be reached, and nothing was done. */
export class RecordsUnavailable extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`records: ${reason}`, options);
    this.name = 'RecordsUnavailable';
  }
}

/** Another transaction held what this one needs for too long, and nothing was done: no fault of either. */
export class LockNotGiven extends RecordsUnavailable {}

/** A write or its commit failed; everything that belonged to it was rolled back. */
export class CommitFailed extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`records: ${reason}`, options);
    this.name = 'CommitFailed';
  }
}

/** The answer to a COMMIT was lost: whether it was made is not known. */
export class CommitInDoubt extends CommitFailed {}

/** The answer to a COMMIT was lost, and running the transaction again led to none in time. */
export class OutcomeUnknown extends Error {
  /** `id`: the request of its charge. */
  constructor(id: string, options?: ErrorOptions) {
    super(`records: whether the transaction of ${id} was made is not known`, options);
    this.name = 'OutcomeUnknown';
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
export function isOutage(error: unknown): error is RecordsUnavailable | CommitFailed | OutcomeUnknown {
  return error instanceof RecordsUnavailable || error instanceof CommitFailed || error instanceof OutcomeUnknown;
}
