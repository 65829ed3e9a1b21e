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

/** The answer to a COMMIT was lost, or was a failure: its outcome has to be looked up. */
export class CommitInDoubt extends CommitFailed {}

/** The answer to a COMMIT was lost, and its outcome could not be looked up in time. */
export class OutcomeUnknown extends Error {
  /** Request id of a charge in the transaction, or the number of the transaction. */
  readonly id: string;

  constructor(id: string, options?: ErrorOptions) {
    super(`records: whether commit ${id} was made is not known yet`, options);
    this.name = 'OutcomeUnknown';
    this.id = id;
  }
}

/** The database did not answer in time: the statement was given up, and its transaction is rolled back. */
export class NoAnswer extends Error {}

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
