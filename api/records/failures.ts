/** The records cannot be reached, and nothing was done. */
export class RecordsUnavailable extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`records: ${reason}`, options);
    this.name = 'RecordsUnavailable';
  }
}

/** A write or its commit failed; everything that belonged to it was rolled back. */
export class CommitFailed extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`records: ${reason}`, options);
    this.name = 'CommitFailed';
  }
}

/** True for the two failures that pass by themselves: anything else is a bug. */
export function isOutage(error: unknown): error is RecordsUnavailable | CommitFailed {
  return error instanceof RecordsUnavailable || error instanceof CommitFailed;
}
