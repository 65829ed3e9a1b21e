import type { ErrorBody } from '../../schemas/errors.ts';
import { ApiError } from '../errors.ts';
import { BusinessGone, CommitFailed, OutcomeUnknown, RecordsUnavailable } from '../records/failures.ts';
import { withoutSecrets } from '../records/key-text.ts';
import type { StoredAnswer } from '../records/records.ts';
import { keyInvalid } from './authenticate.ts';
import { JSON_TYPE, pairs, type Reply } from './reply.ts';

const METER_RETRY_S = 5;

/** What went wrong in the words of the interface; anything that is not expected is `internal_error`, its cause untold. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof RecordsUnavailable)
    return new ApiError(
      'metering_unavailable',
      'credits cannot be metered now, nothing was served',
      { 'Retry-After': String(METER_RETRY_S) },
      { cause: error },
    );
  if (error instanceof BusinessGone) return keyInvalid({ cause: error });
  if (error instanceof OutcomeUnknown)
    return new ApiError(
      'upstream_write_failed',
      'the answer to a write was lost, and whether it was made is not known yet: what was read is not charged, or refunded soon; what was written stands or falls together with its charge',
      {},
      { cause: error },
    );
  if (error instanceof CommitFailed)
    return new ApiError('upstream_write_failed', 'a write failed, nothing was charged', {}, { cause: error });
  return new ApiError('internal_error', 'something went wrong on our side', {}, { cause: error });
}

/** The one body of every error. Messages quote what was sent, which may hold a key in the wrong place. */
export function errorAnswer(error: ApiError, request_id: string): StoredAnswer {
  const body: ErrorBody = { error: error.code, message: withoutSecrets(error.message), request_id };
  return { status: error.status, type: JSON_TYPE, body: JSON.stringify(body) };
}

/** `closes`: the connection ends with this answer. */
export function errorReply(error: ApiError, answer: StoredAnswer, closes: boolean): Reply {
  const headers = closes ? { ...error.headers, Connection: 'close' } : error.headers;
  return {
    status: answer.status,
    headers: ['Content-Type', answer.type, 'Cache-Control', 'no-store', ...pairs(headers)],
    body: answer.body,
  };
}
