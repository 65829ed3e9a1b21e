import { ERRORS, type ErrorCode } from '../../schemas/errors.ts';

/** Why a call was refused for load or for its rate, as operators count it. */
export const REFUSAL_REASONS = {
  overloaded: ['engine', 'thread', 'guests', 'cache'],
  rate_limited: ['key', 'day', 'guest'],
} as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[keyof typeof REFUSAL_REASONS][number];

interface ApiErrorOptions extends ErrorOptions {
  readonly reason?: RefusalReason;
  /** True: the same request may be answered otherwise later, so that the answer is not kept under its key. */
  readonly may_change?: boolean;
}

/**
 * An answer that is not a success: a code of the table in `schemas/errors.ts`, which owns the status, and a message that
 * begins with the parameter name or JSON pointer at fault where there is one. `headers` go out with it.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: the code says it all. */
  readonly reason: RefusalReason | null;
  readonly may_change: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    options?: ApiErrorOptions,
  ) {
    super(message, options);
    this.name = 'ApiError';
    this.code = code;
    this.status = ERRORS[code].status;
    this.headers = headers;
    this.reason = options?.reason ?? null;
    this.may_change = options?.may_change ?? false;
  }
}

/** The resource; throws `not_found` where there is none: an unknown id and one of another business get the same answer. */
export function found<Resource>(resource: Resource | null | false, noun: string): Resource {
  if (resource === null || resource === false) throw new ApiError('not_found', `no such ${noun}`);
  return resource;
}
