import { type ErrorBody, type ErrorCode, escapeInvisible } from '../../schemas/errors.ts';

/** The one body of every error of the current variant. */
export function errorBody(code: ErrorCode, message: string, request_id: string): string {
  const body: ErrorBody = { error: code, message: escapeInvisible(message), request_id };
  return JSON.stringify(body);
}
