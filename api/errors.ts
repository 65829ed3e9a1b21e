import { ERRORS, type ErrorCode } from '../schemas/errors.ts';

/**
 * An answer that is not a success: a code of the table in `schemas/errors.ts`, which owns the status, and a message that
 * begins with the parameter name or JSON pointer at fault where there is one. `headers` go out with it.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ApiError';
    this.code = code;
    this.status = ERRORS[code].status;
    this.headers = headers;
  }
}
