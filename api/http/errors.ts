import { ERRORS, type ErrorCode } from '../../schemas/errors.ts';

/** Why a call was refused for load or for its rate, as operators count it. */
export const REFUSAL_REASONS = {
  overloaded: ['engine', 'thread', 'guests', 'cache'],
  rate_limited: ['key', 'day', 'guest'],
} as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[keyof typeof REFUSAL_REASONS][number];

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

  constructor(
    code: ErrorCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions & { readonly reason?: RefusalReason },
  ) {
    super(message, options);
    this.name = 'ApiError';
    this.code = code;
    this.status = ERRORS[code].status;
    this.headers = headers;
    this.reason = options?.reason ?? null;
  }
}
