import { type ErrorBody, type ErrorCode, escapeInvisible } from '../../schemas/errors.ts';
import type { EarlierErrorBody, EarlierMeta } from '../../schemas/resources/earlier-envelope.ts';

/** The one body of every error of the current variant. */
export function errorBody(code: ErrorCode, message: string, request_id: string): string {
  const body: ErrorBody = { error: code, message: escapeInvisible(message), request_id };
  return JSON.stringify(body);
}

/** The one body of every error of the earlier variant. */
export function earlierErrorBody(code: ErrorCode, message: string, meta: EarlierMeta): string {
  const body: EarlierErrorBody = { error: { code, message: escapeInvisible(message) }, meta };
  return JSON.stringify(body);
}
