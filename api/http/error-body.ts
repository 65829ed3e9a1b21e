import type { ErrorBody, ErrorCode } from '../../schemas/errors.ts';

/** The one body of every error. */
export function errorBody(code: ErrorCode, message: string, request_id: string): string {
  const body: ErrorBody = { error: code, message, request_id };
  return JSON.stringify(body);
}
